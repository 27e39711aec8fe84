"""Max, Min and Pow: more types came with opset 12.

https://onnx.ai/onnx/operators/onnx__Max.html, https://onnx.ai/onnx/operators/onnx__Pow.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, downgrade

_OF_64_BITS = (TensorProto.INT64, TensorProto.UINT64)
_FLOATING = (TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE)


@downgrade(("Max", "Min"), 12)
def compare_integers(node: Node) -> None:
    """Integers that no floating type holds are compared two by two."""
    if node.elem_type() not in _OF_64_BITS:
        return
    comparison = "Greater" if node.op_type == "Max" else "Less"
    chosen, *others = node.inputs
    for other in others:
        is_chosen = node.before(comparison, [chosen, other], what="is_chosen")
        chosen = node.before("Where", [is_chosen, chosen, other], what="chosen")
    node.become("Identity", [chosen])


@downgrade("Pow", 12)
def power_in_one_type(node: Node) -> None:
    """Base and exponent of two types, or of integers, are computed in double."""
    base, exponent = node.need_elem_type(), node.need_elem_type(1)
    if base == exponent and base in _FLOATING:
        return
    if base == TensorProto.INT64:
        raise Unconvertible("a power of int64 is not exact in double", "cast the base to float or int32")
    inputs = [node.before("Cast", [name], what="double", to=TensorProto.DOUBLE) for name in node.inputs]
    node.become("Cast", [node.before("Pow", inputs, what="power")], to=base)
    node.approximate = True
