"""Truths as numbers, for runtimes whose list does not have bool: false is 0, and true is 1.

What is known to be such a number is cast to bool for each node that has to read bool; a Cast that nothing reads in the end goes.
The page of each operator is https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import EVERY_OPERATOR, in_floats
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Role
from ..shared.moves import adds_zeros, moved
from ..shared.truths import as_float, equal_to_zero, is_counted, is_zero_or_one, number, opposite, other_than_zero
from ..shared.whole_numbers import bounds

_WHOLE = (TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT)
"""The types of numbers that are compared."""
_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)
_NEAR = 2**23
"""How far from 0 one of two whole numbers may be, so that their difference as floats is 0 or less only where it is that of both."""


@in_floats(EVERY_OPERATOR, opset=13)
def moved_as_numbers(node: Node) -> None:
    """A node that moves truths moves the numbers, and what comes out is cast to bool."""
    data, fact = moved(node), facts.of(node.op_type)
    chooses = any(Role.OPERAND in fact.role(index) for index in range(len(node.inputs)))
    if not data or chooses or adds_zeros(node) or not all(is_counted(node, node.input(index)) for index in data):
        return
    for index in data:
        node.set_input(index, _as_float(node, index))
    for index, name in enumerate(node.outputs):
        if name:
            node.after.Cast(node.detach_output(index, "as_number"), output=name, to=TensorProto.BOOL)


@in_floats("Cast", opset=13)
def cast_of_a_number(node: Node) -> None:
    """A Cast to bool takes the square of a whole number, at most 1; one from bool takes the number that stands for it."""
    to = node.attr("to", 0)
    if to != TensorProto.BOOL:
        _cast_from_bool(node, to)
        return
    if is_counted(node, node.output(0)) and not is_zero_or_one(node, node.input(0)):
        node.set_input(0, other_than_zero(node, node.input(0)))


def _cast_from_bool(node: Node, to: int) -> None:
    if not is_counted(node, node.input(0)):
        return
    truth = number(node, node.input(0))
    if node.elem_type(truth) == to:
        node.give(truth)
    else:
        node.set_input(0, truth)


@in_floats("Not", opset=13)
def one_less_the_number(node: Node) -> None:
    """1 less the number."""
    if _are_counted(node):
        _become(node, opposite(node, _as_float(node, 0)))


@in_floats("And", opset=13)
def product_of_truths(node: Node) -> None:
    """The product of both numbers."""
    if _are_counted(node):
        _become(node, node.op.Mul(*_both(node)))


@in_floats("Or", opset=13)
def neither_is_false(node: Node) -> None:
    """1 less the product of both opposites."""
    if _are_counted(node):
        _become(node, opposite(node, node.op.Mul(*(opposite(node, truth) for truth in _both(node)))))


@in_floats("Xor", opset=13)
def square_of_difference(node: Node) -> None:
    """The square of the difference between both numbers."""
    if _are_counted(node):
        _become(node, _square(node, node.op.Sub(*_both(node))))


@in_floats("Equal", opset=13)
def no_difference(node: Node) -> None:
    """1 less the square of the difference between truths, or between whole numbers, at most 1.

    Integers that are subtracted modulo a power of 2 have the difference 0 only where they are equal.
    """
    if _are_counted(node):
        _become(node, opposite(node, _square(node, node.op.Sub(*_both(node)))))
        return
    are_integers = node.elem_type() in (TensorProto.INT32, TensorProto.INT64)
    if are_integers or (node.elem_type() == TensorProto.FLOAT and _are_near(node, needs_both=True)):
        _become(node, equal_to_zero(node, node.op.Sub(*node.inputs)))


@in_floats(("Less", "Greater", "LessOrEqual", "GreaterOrEqual"), opset=13)
def sign_of_the_difference(node: Node) -> None:
    """What the difference between whole numbers, at least 0, lacks to 1; the opposite of that where equal numbers do not count."""
    if node.elem_type() not in _WHOLE or not _are_near(node, needs_both=False):
        return
    first, second = (as_float(node, name) for name in node.inputs)
    allows_equal = node.op_type.endswith("OrEqual")
    subtracts_second = node.op_type in ("Greater", "LessOrEqual")
    difference = node.op.Sub(first, second) if subtracts_second else node.op.Sub(second, first)
    has_none = node.op.Relu(opposite(node, node.op.Relu(difference)))
    _become(node, has_none if allows_equal else opposite(node, has_none))


@in_floats("Where", opset=13)
def weighted_sum(node: Node) -> None:
    """The sum of both operands, which are stored, multiplied by the number and by its opposite; one product where one is 0."""
    first, second, kind = node.constant(1), node.constant(2), node.elem_type(1)
    if first is None or second is None or kind not in _FLOATS or not is_counted(node, node.input(0)):
        return
    if not all(np.isfinite(value).all() and not np.signbit(value[value == 0]).any() for value in (first, second)):
        return
    op, weight = node.op, as_float(node, number(node, node.input(0)), kind)
    shape = np.broadcast_shapes(first.shape, second.shape)
    if not second.any() and (first >= 0).all():
        node.become.Mul(weight, op.const(np.broadcast_to(first, shape), kind))
    elif not first.any() and (second < 0).all():
        node.become.Mul(op.Sub(weight, op.const(1, kind)), op.const(np.broadcast_to(np.abs(second), shape), kind))
    else:
        chosen = op.Mul(weight, node.input(1)), op.Mul(op.Sub(op.const(1, kind), weight), node.input(2))
        node.become.Add(*chosen)


def _are_counted(node: Node) -> bool:
    """Whether the numbers are known that stand for all operands of the node."""
    return all(is_counted(node, name) for name in node.inputs)


def _as_float(node: Node, index: int) -> str:
    return as_float(node, number(node, node.input(index)))


def _both(node: Node) -> list[str]:
    return [_as_float(node, index) for index in (0, 1)]


def _are_near(node: Node, *, needs_both: bool) -> bool:
    """Whether both operands are whole numbers, and both or one of them near 0."""
    found = [bounds(node, name) for name in node.inputs]
    near = [each is not None and each.within(_NEAR) for each in found]
    return None not in found and (all(near) if needs_both else any(near))


def _become(node: Node, truth: str) -> None:
    node.become.Cast(truth, to=TensorProto.BOOL)


def _square(node: Node, value: str) -> str:
    return node.op.Mul(value, value)
