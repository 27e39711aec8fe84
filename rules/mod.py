"""Mod: until opset 27 floor for integers and truncation for floating point only, from 28 on either for both.

https://onnx.ai/onnx/operators/onnx__Mod.html
"""

from __future__ import annotations

from onnx import TensorProto, helper

from ..rewriter.graph import Node
from ..rewriter.rule import downgrade

_FLOATING = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)


@downgrade("Mod", 28)
def other_rounding(node: Node) -> None:
    """fmod=1 of integers is a - a / b * b; fmod=0 of floating point corrects the sign of what fmod=1 gives."""
    is_floating, truncates = node.need_elem_type() in _FLOATING, bool(node.attr("fmod", 0))
    if is_floating and not truncates:
        _floor(node)
    elif truncates and not is_floating:
        quotient = node.before("Div", node.inputs, what="quotient")
        product = node.before("Mul", [quotient, node.input(1)], what="product")
        node.become("Sub", [node.input(0), product])


def _floor(node: Node) -> None:
    """A remainder of the other sign than the divisor moves by one divisor; then all have the divisor's sign, 0 too."""
    a, b = node.inputs
    kind = node.need_elem_type()
    zero = node.add_constant(0, helper.tensor_dtype_to_np_dtype(kind), "zero")
    remainder = node.before("Mod", [a, b], what="remainder", fmod=1)
    is_zero = node.before("Equal", [remainder, zero], what="is_zero")
    negative = [node.before("Less", [value, zero], what="negative") for value in (remainder, b)]
    differ = node.before("Xor", negative, what="signs_differ")
    moves = node.before("And", [differ, node.before("Not", [is_zero], what="is_not_zero")], what="moves")
    moved = node.before("Where", [moves, node.before("Add", [remainder, b], what="moved"), remainder], what="floored")
    node.become("Mul", [node.before("Abs", [moved], what="abs"), node.before("Sign", [b], what="sign")])
