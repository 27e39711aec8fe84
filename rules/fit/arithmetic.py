"""Elementwise operators in terms of others.

The page of each is https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node
from ..shared.error_function import END, quotient, tangent

_DTYPES = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.DOUBLE: np.float64}


def _is_float(node: Node) -> bool:
    return node.elem_type() in _DTYPES


@express("Sub", opset=13)
def sum_with_the_negative(node: Node) -> None:
    """The subtrahend is negated and added."""
    if _is_float(node):
        node.become.Add(node.input(0), node.op.Neg(node.input(1)))


@express("Neg", opset=13)
def product_with_minus_one(node: Node) -> None:
    """The data is multiplied by -1."""
    if _is_float(node):
        node.become.Mul(node.input(0), node.op.const(-1, node.need_elem_type()))


@express("Neg", opset=13)
def difference_from_zero(node: Node) -> None:
    """The data is subtracted from -0, which also changes the sign of a zero."""
    if _is_float(node):
        node.become.Sub(node.op.const(-0.0, node.need_elem_type()), node.input(0))


@express("Div", opset=13, exact=False)
def product_with_the_reciprocal(node: Node) -> None:
    """The divisor becomes its reciprocal, which is stored if it is constant, and the data is multiplied by that.

    The reciprocals of the smallest numbers are infinite. A float16 that is computed is often so small.
    """
    op, divisor = node.op, node.constant(1)
    if not _is_float(node) or (divisor is None and node.elem_type() == TensorProto.FLOAT16):
        return
    if divisor is None or (divisor == 0).any():
        node.become.Mul(node.input(0), op.Reciprocal(node.input(1)))
        return
    inverse = (1 / divisor.astype(np.float64)).astype(divisor.dtype)
    if np.isfinite(inverse).all():
        node.become.Mul(node.input(0), op.const(inverse, divisor.dtype))


@express("Reciprocal", opset=13)
def quotient_of_one(node: Node) -> None:
    """1 is divided by the data."""
    node.become.Div(node.op.const(1, node.need_elem_type()), node.input(0))


@express("Reciprocal", opset=13, exact=False)
def power_of_minus_one(node: Node) -> None:
    """The data is raised to the power -1."""
    node.become.Pow(node.input(0), node.op.const(-1, node.need_elem_type()))


@express("Pow", opset=13, exact=False)
def repeated_product(node: Node) -> None:
    """A square or a third power becomes products of the data, a square root a Sqrt."""
    exponent = node.constant(1)
    if exponent is None or not _is_float(node) or exponent.size != 1 or (node.rank(1) or 0) > (node.rank(0) or 0):
        return
    data, power = node.input(0), float(exponent.reshape(-1)[0])
    if power == 2:
        node.become.Mul(data, data)
    elif power == 3:
        node.become.Mul(node.op.Mul(data, data), data)
    elif power == 0.5:
        node.become.Sqrt(data)


@express("Sqrt", opset=13, exact=False)
def power_of_one_half(node: Node) -> None:
    """The data is raised to the power 0.5."""
    node.become.Pow(node.input(0), node.op.const(0.5, node.need_elem_type()))


@express("Abs", opset=13)
def smaller_of_both_signs(node: Node) -> None:
    """The minimum of the data and its negative, subtracted from 0: of a zero, a runtime may take either sign for the minimum."""
    if _is_float(node):
        op = node.op
        node.become.Sub(op.const(0, node.need_elem_type()), op.Min(node.input(0), op.Neg(node.input(0))))


@express("Abs", opset=13)
def larger_of_both_signs(node: Node) -> None:
    """The maximum of the data and its negative, and 0, since a runtime may take -0 for the maximum of both zeros."""
    if _is_float(node):
        op = node.op
        node.become.Add(op.Max(node.input(0), op.Neg(node.input(0))), op.const(0, node.need_elem_type()))


@express("Relu", opset=13)
def larger_than_zero(node: Node) -> None:
    """The maximum of the data and 0."""
    node.become.Max(node.input(0), node.op.const(0, node.need_elem_type()))


@express("Relu", opset=13)
def clipped_at_zero(node: Node) -> None:
    """The data is clipped at 0 and infinity, which is more than the bound that Clip has without one."""
    if _is_float(node):
        kind = node.need_elem_type()
        node.become.Clip(node.input(0), node.op.const(0, kind), node.op.const(np.inf, kind))


@express("Clip", opset=13)
def between_bounds(node: Node) -> None:
    """The minimum of the upper bound and the maximum of the lower bound and the data. A bound left out is the largest number."""
    if node.opset < 11 or not _is_float(node):
        return
    kind = node.need_elem_type()
    most = float(np.finfo(_DTYPES[kind]).max)  # type: ignore[index]
    low, high = node.input(1) or node.op.const(-most, kind), node.input(2) or node.op.const(most, kind)
    node.become.Min(node.op.Max(node.input(0), low), high)


@express("Clip", opset=13)
def rectified(node: Node) -> None:
    """A Clip at 0 and infinity becomes a Relu."""
    low, high = node.constant(1), node.constant(2)
    is_open = high is not None and bool(np.isposinf(high).all())
    if node.opset >= 11 and low is not None and low == 0 and is_open and _is_float(node):
        node.become.Relu(node.input(0))


_MODERATE = 100
"""The bounds of a Clip beside which small numbers keep their digits when they are subtracted."""


@express("Clip", opset=13, exact=False)
def rectified_twice(node: Node) -> None:
    """Between moderate bounds, the upper one less the positive part of its distance to what is above the lower one.

    The lower one must not lose digits beside the upper one.
    """
    low, high, kind = node.constant(1), node.constant(2), node.need_elem_type()
    if node.opset < 11 or kind not in (TensorProto.FLOAT, TensorProto.DOUBLE) or low is None or high is None:
        return
    if not -_MODERATE <= low <= high <= _MODERATE or high - (high - low) != low:
        return
    op = node.op
    data = op.Sub(node.input(0), op.const(low, kind)) if low else node.input(0)
    left = op.Sub(op.const(high - low, kind), op.Relu(data))
    node.become.Sub(op.const(high, kind), op.Relu(left))


@express("Max", opset=13)
def negated_smallest(node: Node) -> None:
    """The negative of the minimum of the negated operands."""
    _mirror(node, "Min")


@express("Min", opset=13)
def negated_largest(node: Node) -> None:
    """The negative of the maximum of the negated operands."""
    _mirror(node, "Max")


def _mirror(node: Node, op_type: str) -> None:
    if _is_float(node) and len(node.inputs) > 1:
        node.become.Neg(getattr(node.op, op_type)(*map(node.op.Neg, node.inputs)))


@express("LeakyRelu", opset=13, exact=False)
def larger_of_two_slopes(node: Node) -> None:
    """For a slope above 0 and up to 1, the maximum of the data and its product with the slope."""
    slope = node.attr("alpha", 0.01)
    if 0 < slope <= 1:
        node.become.Max(node.input(0), node.op.Mul(node.input(0), node.op.const(slope, node.need_elem_type())))


@express("LeakyRelu", opset=13)
def with_a_stored_slope(node: Node) -> None:
    """The slope becomes the operand of a PRelu."""
    slope = node.attr("alpha", 0.01)
    node.become.PRelu(node.input(0), node.op.const(slope if node.rank() == 0 else [slope], node.need_elem_type()))


@express("PRelu", opset=13, exact=False)
def from_two_rectifications(node: Node) -> None:
    """The positive part of the data less the product of the finite slope and the positive part of the negated data."""
    slope = node.constant(1)
    if not _is_float(node) or slope is None or not np.isfinite(slope).all():
        return
    op, data = node.op, node.input(0)
    node.become.Sub(op.Relu(data), op.Mul(op.Relu(op.Neg(data)), node.input(1)))


@express("HardSigmoid", opset=13, exact=False)
def clipped_line(node: Node) -> None:
    """alpha * x + beta, clipped to 0 and 1."""
    op, kind = node.op, node.need_elem_type()
    line = op.Mul(node.input(0), op.const(node.attr("alpha", 0.2), kind))
    line = op.Add(line, op.const(node.attr("beta", 0.5), kind))
    node.become.Clip(line, op.const(0, kind), op.const(1, kind))


@express("Sigmoid", opset=13, exact=False)
def by_tanh(node: Node) -> None:
    """0.5 * tanh(0.5 x) + 0.5."""
    op, half = node.op, node.op.const(0.5, node.need_elem_type())
    node.become.Add(op.Mul(op.Tanh(op.Mul(node.input(0), half)), half), half)


@express("Sigmoid", opset=13, exact=False)
def by_exponential(node: Node) -> None:
    """1 / (1 + exp(-x))."""
    op, one = node.op, node.op.const(1, node.need_elem_type())
    node.become.Div(one, op.Add(op.Exp(op.Neg(node.input(0))), one))


@express("Tanh", opset=13, exact=False)
def by_sigmoid(node: Node) -> None:
    """2 * sigmoid(2 x) - 1. Near 0 it loses digits: its error is that of a number near 1."""
    op, kind = node.op, node.need_elem_type()
    two = op.const(2, kind)
    node.become.Sub(op.Mul(op.Sigmoid(op.Mul(node.input(0), two)), two), op.const(1, kind))


@express("Elu", opset=13, exact=False)
def exponential_below_zero(node: Node) -> None:
    """The positive part, and alpha * (exp(x) - 1) of the negative part."""
    op, kind, data = node.op, node.need_elem_type(), node.input(0)
    below = op.Sub(op.Exp(op.Min(data, op.const(0, kind))), op.const(1, kind))
    node.become.Add(op.Relu(data), op.Mul(below, op.const(node.attr("alpha", 1.0), kind)))


@express("Softplus", opset=13, exact=False)
def logarithm_of_the_smaller_exponential(node: Node) -> None:
    """max(x, 0) + log(1 + exp(-|x|)), which does not overflow. Far below 0 it is 0, as the sum is 1."""
    op, data = node.op, node.input(0)
    smaller = op.Add(op.Exp(op.Neg(op.Abs(data))), op.const(1, node.need_elem_type()))
    node.become.Add(op.Relu(data), op.Log(smaller))


@express("Sum", opset=13)
def added_one_by_one(node: Node) -> None:
    """The operands are added in their order."""
    first, *others = node.inputs
    if not others:
        node.give(first)
        return
    *between, last = others
    for value in between:
        first = node.op.Add(first, value)
    node.become.Add(first, last)


@express("Erf", opset=13, exact=False)
def quotient_in_float(node: Node) -> None:
    """A quotient of two polynomials in float, which is right to about six digits."""
    if node.need_elem_type() == TensorProto.FLOAT:
        node.give(quotient(node, _limited(node), np.float32))


@express("Erf", opset=13, exact=False)
def tangent_in_float(node: Node) -> None:
    """The hyperbolic tangent of a polynomial in float, whose error is about 1e-7."""
    if node.need_elem_type() == TensorProto.FLOAT:
        node.give(tangent(node, _limited(node)))


def _limited(node: Node) -> str:
    """The input where the error function is not yet 1 in float, and else the nearest number where it is."""
    op = node.op
    return op.Clip(node.input(0), op.const(-END, np.float32), op.const(END, np.float32))
