"""Range: float16 and bfloat16 came with opset 27, and stash_type with them: the type in which they are computed.

https://onnx.ai/onnx/operators/onnx__Range.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import downgrade


@downgrade("Range", 27)
def compute_in_stash_type(node: Node) -> None:
    """Half precision is computed in stash_type, between Casts; for other types it means nothing."""
    kind = node.need_elem_type()
    stash = node.pop_attr("stash_type", TensorProto.FLOAT)
    if kind not in (TensorProto.FLOAT16, TensorProto.BFLOAT16) or stash == kind:
        return
    for index in range(3):
        node.set_input(index, node.before("Cast", [node.input(index)], what="stash", to=stash))
    output = node.output(0)
    node.after("Cast", [node.detach_output(0, "stash")], outputs=[output], to=kind)
