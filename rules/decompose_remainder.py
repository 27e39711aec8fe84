"""The remainder of floating point numbers below opset 10: long division by doubling and subtracting, in which nothing is rounded.

https://onnx.ai/onnx/operators/onnx__Mod.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible
from .decompose_comparison import FLOATING, typed
from .loops import Body, Step, Typed, repeat

_MOST_DOUBLINGS = 2200
"""From the smallest double to the largest there are 2098."""


def subtract_multiples(node: Node) -> None:
    """Let `node`, a Mod with fmod=1, become |a| less the multiples of |b| in it, with the sign of a.

    NaN where a is not finite or b is zero or NaN; a where b is infinite. Raises Unconvertible for other types, and fmod=0.
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
    return node.before("Cast", [condition], what="as_number", to=kind)


def _number(node: Node, value: float, kind: int) -> str:
    return typed(node, value, kind, "number")


def _largest(node: Node, kind: int) -> str:
    return typed(node, float(np.finfo(helper.tensor_dtype_to_np_dtype(kind)).max), kind, "largest")
