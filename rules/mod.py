"""Mod: until opset 27, integers get the divisor's sign (fmod=0) and floats the dividend's (fmod=1); from 28 on both are allowed for
both.

Below opset 10, integers are divided and multiplied; floats use a long division by doubling and subtracting, which is exact.
https://onnx.ai/onnx/operators/onnx__Mod.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose, downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.integers import BITS, UNSIGNED, become_cast, to_64_bits
from .shared.loops import Body, Step, Typed, repeat
from .shared.typed import ANY_FLOATING, FLOATING

_MOST_DOUBLINGS = 2200
"""The number of steps of a long division: from the smallest double to the largest there are 2098 doublings."""


@downgrade("Mod", 28)
def write_out_other_fmod(node: Node) -> None:
    """fmod=1 of integers becomes a - (a / b) * b; fmod=0 of floats becomes the remainder of fmod=1, with the divisor's sign."""
    is_floating, truncates = node.need_elem_type() in ANY_FLOATING, bool(node.attr("fmod", 0))
    if is_floating and not truncates:
        _floor(node)
    elif truncates and not is_floating:
        quotient = node.op.Div(*node.inputs)
        product = node.op.Mul(quotient, node.input(1))
        node.become.Sub(node.input(0), product)


def _floor(node: Node) -> None:
    """Turn the node into a Mod with fmod=1 whose result gets the sign of the divisor, even if it is zero."""
    op = node.op
    a, b = node.inputs
    kind = node.need_elem_type()
    zero = op.const(0, kind)
    remainder = op.Mod(a, b, fmod=1)
    is_zero = op.Equal(remainder, zero)
    negative = [op.Less(value, zero) for value in (remainder, b)]
    differ = op.Xor(*negative)
    moves = op.And(differ, op.Not(is_zero))
    moved = op.Where(moves, op.Add(remainder, b), remainder)
    node.become.Mul(op.Abs(moved), op.Sign(b))


@decompose("Mod", opset=9)
def remainder_of_division(node: Node) -> None:
    """For integers, a - (a / b) * b, plus b where fmod=0 and the signs differ. For floats, a long division, which is exact."""
    op = node.op
    elem_type = node.need_elem_type()
    if elem_type not in BITS:
        subtract_multiples(node)
        return
    a, b = (to_64_bits(node, name, elem_type) for name in node.inputs)
    quotient = op.Div(a, b)
    rest = op.Sub(a, op.Mul(quotient, b))
    if node.attr("fmod", 0) == 0 and elem_type not in UNSIGNED:
        rest = _with_sign_of(node, rest, b)
    become_cast(node, rest, elem_type)


def _with_sign_of(node: Node, rest: str, b: str) -> str:
    """`rest`, plus `b` where their signs differ.

    Signs are tested in float: rounding changes neither a sign nor a product of zero.
    """
    op = node.op
    signs = [op.Cast(name, to=TensorProto.FLOAT) for name in (rest, b)]
    product = op.Mul(*signs)
    differ = op.Less(product, op.const(0, np.float32))
    once = op.Cast(differ, to=TensorProto.INT64)
    return op.Add(rest, op.Mul(once, b))


def subtract_multiples(node: Node) -> None:
    """Turn `node`, a Mod with fmod=1, into |a| minus the multiples of |b| that fit into it, with the sign of a.

    The result is NaN where a is not finite or b is zero or NaN, and a where b is infinite. Raises Unconvertible for other types,
    and for fmod=0.
    """
    kind = node.need_elem_type()
    if kind not in FLOATING or not node.attr("fmod", 0):
        raise Unconvertible("the remainder of these numbers cannot be computed exactly by older operators")
    work = TensorProto.FLOAT if kind == TensorProto.FLOAT16 else kind
    a, b = node.inputs
    if work != kind:
        a, b = (node.op.Cast(name, to=work) for name in (a, b))
    node.become.Cast(_remainder(node, a, b, work), to=kind)


def _remainder(node: Node, a: str, b: str, kind: int) -> str:
    """The remainder of `a` divided by `b`, both of floating-point type `kind`."""
    op = node.op
    size, divisor = op.Abs(a), op.Abs(b)
    rest, by = (_stretched(node, name, other, kind) for name, other in ((size, b), (divisor, a)))
    infinity = op.const(np.inf, kind)
    finite = [op.Less(name, infinity) for name in (rest, by)]
    is_some = op.Greater(by, op.const(0, kind))
    live = op.And(op.And(*finite), is_some)
    rest = _divide(node, rest, by, live, kind)
    zero_or_nan = op.Div(op.const(0, kind), divisor)
    rest = op.Add(rest, zero_or_nan)
    rest = op.Add(rest, op.Sub(size, size))
    # 1 / a is below zero where a is -0.0, too
    is_below = op.Less(op.Div(op.const(1, kind), a), op.const(0, kind))
    twice = op.Mul(_as_number(node, is_below, kind), op.const(2, kind))
    sign = op.Sub(op.const(1, kind), twice)
    return op.Mul(rest, sign)


def _divide(node: Node, rest: str, by: str, live: str, kind: int) -> str:
    """Double the divisors that are less than half their dividend; then subtract and halve until each rest is less than its divisor.

    The difference of two numbers is exact if none is more than twice the other.
    """
    op = node.op
    half, start = op.const(0.5, kind), _largest(node, kind)
    half_rest = op.Mul(rest, half)
    true = op.const(True, np.bool_)

    def double(body: Body, carried: list[str]) -> Step:
        op = body.op
        (multiple,) = carried
        grows = op.And(live, op.Less(multiple, half_rest))
        more = op.Mul(op.Cast(grows, to=kind), multiple)
        return Step(body.any(grows), [op.Add(multiple, more)])

    def subtract(body: Body, carried: list[str]) -> Step:
        op = body.op
        left, multiple = carried
        fits = op.And(live, op.Not(op.Less(left, multiple)))
        once = op.Mul(op.Cast(fits, to=kind), multiple)
        left = op.Sub(left, once)
        is_more = op.Cast(op.Greater(multiple, by), to=kind)
        less = op.Mul(op.Mul(is_more, half), multiple)
        multiple = op.Sub(multiple, less)
        still = op.And(live, op.Not(op.Less(left, by)))
        return Step(body.any(still), [left, multiple])

    finite = op.Min(by, start)
    (multiple,) = repeat(node, _MOST_DOUBLINGS, true, [Typed(finite, kind)], double)
    rest, _ = repeat(node, _MOST_DOUBLINGS, true, [Typed(rest, kind), Typed(multiple, kind)], subtract)
    return rest


def _stretched(node: Node, name: str, other: str, kind: int) -> str:
    """`name` in the shape to which it and `other` broadcast, computed from x < x, which is never true."""
    nothing = _as_number(node, node.op.Less(other, other), kind)
    return node.op.Add(name, nothing)


def _as_number(node: Node, condition: str, kind: int) -> str:
    """A condition as 0 or 1 of type `kind`."""
    return node.op.Cast(condition, to=kind)


def _largest(node: Node, kind: int) -> str:
    """The largest finite number of type `kind`, as a constant."""
    return node.op.const(float(np.finfo(helper.tensor_dtype_to_np_dtype(kind)).max), kind)
