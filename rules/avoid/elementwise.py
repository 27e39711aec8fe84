"""Operators that work element by element, with many operands, powers, slopes, 8 bits or casts to bool; and Gemm.

https://onnx.ai/onnx/operators/onnx__Max.html, https://onnx.ai/onnx/operators/onnx__Pow.html,
https://onnx.ai/onnx/operators/onnx__Cast.html, https://onnx.ai/onnx/operators/onnx__PRelu.html,
https://onnx.ai/onnx/operators/onnx__Div.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ..shared.quantized import EIGHT_BITS
from ..shared.typed import FLOATING

_WHOLE = (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8)
_DEEPEST = 4
"""The number of nodes before a Cast that are looked at."""


@avoid("Three or more operands", ("Max", "Min", "Sum", "Mean"), opset=8, exact=False)
def two_by_two(node: Node) -> None:
    """The node becomes a chain of nodes with two operands each.

    It is exact for Max and Min of all types, and right up to the last bits for Sum and Mean.
    """
    if len(node.inputs) < 3:
        return
    is_mean = node.op_type == "Mean"
    op_type = "Sum" if is_mean else node.op_type
    kind = node.need_elem_type() if is_mean else 0
    first, *others = node.inputs
    last = others if is_mean else others[:-1]
    for other in last:
        first = getattr(node.op, op_type)(first, other)
    if is_mean:
        node.become.Div(first, node.op.const(len(others) + 1, kind))
    else:
        getattr(node.become, op_type)(first, others[-1])


@avoid("Pow by 3", "Pow", opset=7, exact=False)
def multiply(node: Node) -> None:
    """The node becomes x * x * x.

    It is right up to the last bits for floating-point types, and exact for integers, which wrap around.
    """
    exponent = node.constant(1)
    if exponent is None or exponent.size != 1 or float(exponent.reshape(())) != 3:
        return
    if exponent.ndim > (node.rank() or 0):
        raise Unconvertible("the exponent has more axes than the base", "make the exponent a scalar")
    base = node.input(0)
    node.become.Mul(node.op.Mul(base, base), base)


@avoid("PRelu with a slope of one axis", "PRelu", opset=13)
def add_axes_of_slope(node: Node) -> None:
    """The slope gets leading axes of length 1, so that nothing takes it for one of channels.

    It is exact for all types. Both ranks have to be known.
    """
    if node.need_rank(1) != 1 or node.shape(1) == (1,):
        return
    missing = node.need_rank() - 1
    if missing > 1:
        node.set_input(1, node.op.Unsqueeze(node.input(1), node.op.int64(list(range(missing)))))


@avoid("Div of integers of 8 bits", "Div", opset=14)
def divide_wider(node: Node) -> None:
    """The operands become int32, and the quotient what they were.

    It is exact for all types.
    """
    kind = node.elem_type()
    if kind is not None and kind in EIGHT_BITS:
        wide = [node.op.Cast(name, to=TensorProto.INT32) for name in node.inputs]
        node.become.Cast(node.op.Div(*wide), to=kind)


@avoid("Where that spreads its last operand", "Where", opset=9)
def spread_last_operand(node: Node) -> None:
    """The last operand is expanded to the shape of the result.

    It is exact for all types. The shape of the result has to be known, or to be that of another operand.
    """
    _spread(node, 2, (0, 1))


def _spread(node: Node, index: int, others: Sequence[int]) -> None:
    """Expand operand `index`, unless it is as large, to the shape of the result, or of one of the `others` that is."""
    if _spans_all(node, index) or any(_is_expanded(node, index, other) for other in others):
        return
    shape, op = node.shape(node.output(0)), node.op
    like = next((other for other in others if _spans_all(node, other)), None)
    if like is None or (shape is not None and all(isinstance(dim, int) for dim in shape)):
        full = node.need_shape(node.output(0))
        if node.shape(index) != tuple(full):
            node.set_input(index, op.Expand(node.input(index), op.int64(full)))
    elif node.shape(index) != node.shape(like):
        node.set_input(index, op.Expand(node.input(index), op.Shape(node.input(like))))


def _is_expanded(node: Node, index: int, like: int) -> bool:
    """Whether operand `index` was expanded to the shape of operand `like`, to which all others are known to spread."""
    maker = node.maker(index)
    if maker is None or facts.of(maker.op_type).word("sized") != "expanded":
        return False
    measure = maker.maker(1)
    if measure is None or measure.op_type != "Shape" or measure.has_attr("start") or measure.has_attr("end"):
        return False
    return measure.input(0) == node.input(like) and _spans_all(node, like, leave_out=index)


def _spans_all(node: Node, index: int, leave_out: int = -1) -> bool:
    """Whether all other operands are known to spread to the shape of operand `index`; one of them may be left out."""
    shape = node.shape(index)
    others = [node.shape(other) for other in range(len(node.inputs)) if other not in (index, leave_out)]
    if all(other == () for other in others):
        return True
    return shape is not None and all(
        other is not None
        and len(other) <= len(shape)
        and all(dim == 1 or (dim is not None and dim == full) for dim, full in zip(other[::-1], shape[::-1], strict=False))
        for other in others
    )


@avoid("Sigmoid of float64 that is multiplied", "Sigmoid", opset=7, exact=False)
def write_out_sigmoid(node: Node) -> None:
    """The node becomes 1 / (1 + exp(-x)), where a Mul reads it.

    It is right up to the last bits.
    """
    if node.elem_type() != TensorProto.DOUBLE or all(reader.op_type != "Mul" for reader in node.graph.readers(node.output(0))):
        return
    one = node.op.const(1.0, np.float64)
    node.become.Div(one, node.op.Add(one, node.op.Exp(node.op.Neg(node.input(0)))))


@avoid("Add of a convolution along three axes", "Add", opset=9)
def sum_of_two(node: Node) -> None:
    """The node becomes a Sum, which no fusion looks for.

    It is exact for all types.
    """
    makers = [node.maker(index) for index in range(2)]
    if any(maker is not None and maker.op_type == "Conv" and len(maker.shape(1) or ()) == 5 for maker in makers):
        node.become.Sum(*node.inputs)


@avoid("Sum of Erf that is scaled before it is multiplied", "Add", opset=9)
def subtract_negative(node: Node) -> None:
    """In x · (0.5 · (1 + erf(x / √2))), the Gelu of x, 1 + erf(…) becomes erf(…) - (-1), which no pattern of a fusion has.

    It is exact for all types.
    """
    erfs = [index for index in range(2) if (maker := node.maker(index)) is not None and maker.op_type == "Erf"]
    if len(erfs) != 1 or not _is_scaled_first(node):
        return
    divided, one = node.maker(erfs[0]).maker(), node.constant(1 - erfs[0])  # pyright: ignore[reportOptionalMemberAccess]
    if divided is None or divided.op_type != "Div":
        return
    if one is None:
        raise Unconvertible("what is added to Erf is computed at run time")
    node.become.Sub(node.input(erfs[0]), node.op.const(-one, one.dtype))


def _is_scaled_first(node: Node) -> bool:
    """Whether a product with the result of the node is multiplied by what is no constant."""
    products = [reader for reader in node.graph.readers(node.output(0)) if reader.op_type == "Mul"]
    others = [
        name
        for product in products
        for reader in node.graph.readers(product.output[0])
        if reader.op_type == "Mul"
        for name in reader.input
        if name != product.output[0]
    ]
    return any(node.constant(name) is None for name in others)


@avoid("Cast to bool", "Cast", opset=11)
def is_not_zero(node: Node) -> None:
    """The node becomes a comparison: not equal to 0. A stored value is compared in float by Greater, so that it is not folded back.

    It is exact for all numbers: NaN is true. Strings are refused.
    """
    if node.attr("to") != TensorProto.BOOL:
        return
    kind = node.need_elem_type()
    if kind == TensorProto.BOOL:
        node.become.Identity(node.input(0))
        return
    if kind == TensorProto.STRING:
        raise Unconvertible("strings cannot be compared with 0", "remove the Cast from the model")
    value = node.constant(0)
    if value is not None:
        node.become.Greater(node.op.const(value != 0, TensorProto.FLOAT), node.op.const(0, TensorProto.FLOAT))
        return
    zero = node.op.const(0, kind)
    node.become.Not(node.op.Equal(node.input(0), zero))


@avoid("Cast of a float to an integer", "Cast", opset=9)
def truncate_first(node: Node) -> None:
    """The data is truncated before the node, unless it is known to be whole: its sign times the floor of its absolute value.

    It is exact for all types, where the integer has the number.
    """
    if node.elem_type() in FLOATING and node.attr("to") in _WHOLE and not _is_whole(node, 0, _DEEPEST):
        op, data = node.op, node.input(0)
        node.set_input(0, op.Mul(op.Sign(data), op.Floor(op.Abs(data))))


def _is_whole(node: Node, index: int, deepest: int) -> bool:
    """Whether input number `index`, of a floating-point type, has only whole numbers, as at most `deepest` nodes before it show."""
    value = node.constant(index)
    if value is not None:
        return bool((np.trunc(value) == value).all())
    maker = node.maker(index)
    if maker is None:
        return False
    fact = facts.of(maker.op_type)
    keeps = fact.kind is facts.Kind.ELEMENTWISE and fact.work in (facts.Work.ORDERS, facts.Work.WRAPS)
    given = [index for index in range(len(maker.inputs)) if maker.has_input(index)]
    return fact.has("whole") or (keeps and deepest > 0 and all(_is_whole(maker, index, deepest - 1) for index in given))


@avoid("Less", "Less", opset=7)
def greater(node: Node) -> None:
    """The node becomes a Greater with its operands swapped.

    It is exact for all types.
    """
    node.become.Greater(node.input(1), node.input(0))


@avoid("Order of floats that spreads its first operand", ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"), opset=9)
def spread_first_operand(node: Node) -> None:
    """The first operand is expanded to the shape of the result, if it has more than one element.

    It is exact for all types. The shape of the result has to be known, or to be that of the other operand.
    """
    shape = node.shape(0)
    is_one_element = shape is not None and all(dim == 1 for dim in shape)
    if not (is_one_element or _spans_all(node, 0)) and node.need_elem_type() in FLOATING:
        _spread(node, 0, (1,))


@avoid("Gemm with transA", "Gemm", opset=7)
def transpose_first(node: Node) -> None:
    """transA=1 becomes a separate Transpose.

    It is exact for all types.
    """
    if node.attr("transA", 0):
        node.pop_attr("transA")
        node.set_input(0, node.op.Transpose(node.input(0), perm=[1, 0]))


@avoid("Gemm with beta 0", "Gemm", opset=7, exact=False)
def drop_beta(node: Node) -> None:
    """C, which does not count, becomes -0, and beta is left out.

    It is right up to the last bits for all types: runtimes add the products in another order where C counts.
    """
    if node.has_input(2) and node.attr("beta", 1.0) == 0:
        node.pop_attr("beta")
        node.set_input(2, node.op.const(-0.0, node.need_elem_type()))


@avoid("HardSigmoid that can be part of a HardSwish", "HardSigmoid", opset=11, exact=False)
def spell_out(node: Node) -> None:
    """The node becomes Clip(x / 6 + 1/2), since some runtimes fuse it wrongly with a product into a HardSwish.

    It is right up to the last bits for all types that HardSigmoid has.
    """
    op = node.op
    alpha, beta = node.attr("alpha", 0.2), node.attr("beta", 0.5)
    if abs(alpha - 1 / 6) > 1e-6 or beta != 0.5:
        return
    kind = node.need_elem_type()
    scaled = op.Mul(node.input(0), op.const(alpha, kind))
    line = op.Add(scaled, op.const(beta, kind))
    node.become.Clip(line, op.const(0, kind), op.const(1, kind))
