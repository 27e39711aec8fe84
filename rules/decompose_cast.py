"""CastLike is Cast to a type that is known when the model is converted.

https://onnx.ai/onnx/operators/onnx__CastLike.html
"""

from __future__ import annotations

from ..rewriter.graph import Node
from ..rewriter.rule import decompose


@decompose("CastLike", opset=15)
def cast_to_known_type(node: Node) -> None:
    """CastLike becomes Cast to the type of its second input."""
    node.become("Cast", [node.input(0)], to=node.need_elem_type(1))
