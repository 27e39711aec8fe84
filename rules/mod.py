"""Mod: until opset 27 integers have the divisor's sign (fmod=0) and floats the dividend's (fmod=1); from 28 on either may have
both.

Below opset 10, integers are divided and multiplied; floats take a long division by doubling and subtracting, in which nothing is
rounded.
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
from .shared.typed import ANY_FLOATING, FLOATING, typed

_MOST_DOUBLINGS = 2200
"""Steps of a long division: from the smallest double to the largest there are 2098 doublings."""


@downgrade("Mod", 28)
def write_out_other_fmod(node: Node) -> None:
    """fmod=1 of integers becomes a - (a / b) * b; for fmod=0 of floats, the remainder of fmod=1 gets the divisor's sign."""
    is_floating, truncates = node.need_elem_type() in ANY_FLOATING, bool(node.attr("fmod", 0))
    if is_floating and not truncates:
        _floor(node)
    elif truncates and not is_floating:
        quotient = node.before("Div", node.inputs, what="quotient")
        product = node.before("Mul", [quotient, node.input(1)], what="product")
        node.become("Sub", [node.input(0), product])


def _floor(node: Node) -> None:
    """Let the node become a Mod with fmod=1 whose result gets the sign of the divisor, zeros too."""
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


@decompose("Mod", opset=9)
def remainder_of_division(node: Node) -> None:
    """Of integers, a - (a / b) * b, plus b where fmod=0 and the signs differ. Of floats, a long division, which rounds nothing."""
    elem_type = node.need_elem_type()
    if elem_type not in BITS:
        subtract_multiples(node)
        return
    a, b = (to_64_bits(node, name, elem_type) for name in node.inputs)
    quotient = node.before("Div", [a, b], what="quotient")
    rest = node.before("Sub", [a, node.before("Mul", [quotient, b], what="multiple")], what="rest")
    if node.attr("fmod", 0) == 0 and elem_type not in UNSIGNED:
        rest = _with_sign_of(node, rest, b)
    become_cast(node, rest, elem_type)


def _with_sign_of(node: Node, rest: str, b: str) -> str:
    """`rest`, plus `b` where their signs differ.

    Signs are tested in float: rounding changes neither a sign nor a product of zero.
    """
    signs = [node.before("Cast", [name], what="sign", to=TensorProto.FLOAT) for name in (rest, b)]
    product = node.before("Mul", signs, what="signs")
    differ = node.before("Less", [product, node.add_constant(0, np.float32, "zero")], what="differ")
    once = node.before("Cast", [differ], what="once", to=TensorProto.INT64)
    return node.before("Add", [rest, node.before("Mul", [once, b], what="shift")], what="wrapped")


def subtract_multiples(node: Node) -> None:
    """Let `node`, a Mod with fmod=1, become |a| less the multiples of |b| that fit into it, with the sign of a.

    The result is NaN where a is not finite or b is zero or NaN, and a where b is infinite. Raises Unconvertible for other types,
    and for fmod=0.
    """
    kind = node.need_elem_type()
    if kind not in FLOATING or not node.attr("fmod", 0):
        raise Unconvertible("the remainder of these numbers cannot be computed exactly by older operators")
    work = TensorProto.FLOAT if kind == TensorProto.FLOAT16 else kind
    a, b = node.inputs
    if work != kind:
        a, b = (node.before("Cast", [name], what="wide", to=work) for name in (a, b))
    node.become("Cast", [_remainder(node, a, b, work)], to=kind)


def _remainder(node: Node, a: str, b: str, kind: int) -> str:
    """The remainder of `a` divided by `b`, both of floating-point type `kind`."""
    size, divisor = node.before("Abs", [a], what="size"), node.before("Abs", [b], what="divisor")
    rest, by = (_stretched(node, name, other, kind) for name, other in ((size, b), (divisor, a)))
    infinity = typed(node, np.inf, kind, "infinity")
    finite = [node.before("Less", [name, infinity], what="finite") for name in (rest, by)]
    is_some = node.before("Greater", [by, _number(node, 0, kind)], what="is_some")
    live = node.before("And", [node.before("And", finite, what="both"), is_some], what="live")
    rest = _divide(node, rest, by, live, kind)
    zero_or_nan = node.before("Div", [_number(node, 0, kind), divisor], what="zero_or_nan")
    rest = node.before("Add", [rest, zero_or_nan], what="rest")
    rest = node.before("Add", [rest, node.before("Sub", [size, size], what="zero_or_nan")], what="rest")
    # 1 / a is below zero where a is -0.0, too
    is_below = node.before("Less", [node.before("Div", [_number(node, 1, kind), a], what="inverse"), _number(node, 0, kind)])
    twice = node.before("Mul", [_as_number(node, is_below, kind), _number(node, 2, kind)], what="twice")
    sign = node.before("Sub", [_number(node, 1, kind), twice], what="sign")
    return node.before("Mul", [rest, sign], what="remainder")


def _divide(node: Node, rest: str, by: str, live: str, kind: int) -> str:
    """Double the divisors that are below half their dividend; then subtract and halve until each rest is below its divisor.

    A difference of numbers that are at most twice one another is exact.
    """
    half, start = _number(node, 0.5, kind), _largest(node, kind)
    half_rest = node.before("Mul", [rest, half], what="half")
    true = node.add_constant(True, np.bool_, "true")

    def double(body: Body, carried: list[str]) -> Step:
        (multiple,) = carried
        grows = body.add("And", [live, body.add("Less", [multiple, half_rest], "small")], "grows")
        more = body.add("Mul", [body.add("Cast", [grows], "once", to=kind), multiple], "more")
        return Step(body.any(grows), [body.add("Add", [multiple, more], "multiple")])

    def subtract(body: Body, carried: list[str]) -> Step:
        left, multiple = carried
        fits = body.add("And", [live, body.add("Not", [body.add("Less", [left, multiple])])], "fits")
        once = body.add("Mul", [body.add("Cast", [fits], "once", to=kind), multiple], "once")
        left = body.add("Sub", [left, once], "left")
        is_more = body.add("Cast", [body.add("Greater", [multiple, by])], "is_more", to=kind)
        less = body.add("Mul", [body.add("Mul", [is_more, half], "part"), multiple], "less")
        multiple = body.add("Sub", [multiple, less], "multiple")
        still = body.add("And", [live, body.add("Not", [body.add("Less", [left, by])])], "still")
        return Step(body.any(still), [left, multiple])

    finite = node.before("Min", [by, start], what="multiple")
    (multiple,) = repeat(node, _MOST_DOUBLINGS, true, [Typed(finite, kind)], double)
    rest, _ = repeat(node, _MOST_DOUBLINGS, true, [Typed(rest, kind), Typed(multiple, kind)], subtract)
    return rest


def _stretched(node: Node, name: str, other: str, kind: int) -> str:
    """`name` in the shape that it and `other` broadcast to: nothing is less than itself."""
    nothing = _as_number(node, node.before("Less", [other, other]), kind)
    return node.before("Add", [name, nothing], what="stretched")


def _as_number(node: Node, condition: str, kind: int) -> str:
    """A condition as 0 or 1 of type `kind`."""
    return node.before("Cast", [condition], what="as_number", to=kind)


def _number(node: Node, value: float, kind: int) -> str:
    """A scalar constant of type `kind`."""
    return typed(node, value, kind, "number")


def _largest(node: Node, kind: int) -> str:
    """The largest finite number of type `kind`, as a constant."""
    return typed(node, float(np.finfo(helper.tensor_dtype_to_np_dtype(kind)).max), kind, "largest")
