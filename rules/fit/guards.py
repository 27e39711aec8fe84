"""Guards against NaN, for runtimes whose list has no operator for them: a Softmax of numbers is a number.

torch writes attention as Where(IsNaN(weights), 0, weights), since a row that is masked as a whole would be NaN. None is
where each row has a number.
https://onnx.ai/onnx/operators/onnx__IsNaN.html, https://onnx.ai/onnx/operators/onnx__Softmax.html
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import of_numbers
from ...rewriter.graph.node import Node
from ..shared.magnitudes import magnitude
from ..shared.moves import adds_zeros, moved

_LAST_AXIS_IS_DEFAULT = 13
"""The opset from which on Softmax works along one axis, by default the last."""
_MODERATE = int(np.finfo(np.float16).max) // 2
"""How far from 0 a number may be so that products can be added to it, even in float16."""
_LARGE = 1e30
"""How far from 0 a float may be so that nothing is left of it beside the lowest number, which hides what it is added to."""
_LIMITS: dict[int, float] = {
    TensorProto.FLOAT16: float(np.finfo(np.float16).max),
    TensorProto.FLOAT: float(np.finfo(np.float32).max) + _LARGE,
    TensorProto.DOUBLE: float(np.finfo(np.float32).max),
}
"""How far from 0 the exact numbers may be that are rounded to a number of each type."""
_DEEPEST = 6
"""The number of nodes between a mask and the stored elements that it takes."""


@of_numbers("IsNaN", opset=13)
def weights_are_numbers(node: Node) -> None:
    """The IsNaN of a Softmax along the last axis, by which a Where chooses between another number and the Softmax, is false.

    Only where each row has a number: what is added to products is a constant that has one in each row, or holds numbers alone.
    """
    softmax, name = node.maker(), node.output(0)
    readers = node.graph.readers(name)
    if softmax is None or softmax.op_type != "Softmax" or not node.graph.is_read_once(name) or not readers:
        return
    chooses = readers[0].op_type == "Where" and list(readers[0].input[::2]) == [name, node.input(0)]
    rank = node.rank()
    if chooses and rank and _is_along_last_axis(softmax, rank) and _rows_have_numbers(softmax):
        node.give(node.op.const(np.zeros([1] * rank, bool), bool))


@of_numbers("Where", opset=13)
def known_choice(node: Node) -> None:
    """A Where whose condition is the same for all elements, in every run, is the operand that it chooses.

    One that puts 0 for the NaN of rows that a mask hides as a whole multiplies by 0 there, and the mask holds numbers.
    """
    condition = node.constant(0)
    if condition is None:
        _hide_rows(node)
        return
    if not condition.size or not (condition == condition.flat[0]).all():
        return
    chosen = node.input(1 if condition.flat[0] else 2)
    shape = node.shape(chosen)
    if shape is not None and None not in shape and shape == node.shape(node.output(0)):
        node.give(chosen)


def _hide_rows(node: Node) -> None:
    softmax, zero = node.maker(2), node.constant(1)
    guard, kind = node.maker(0), node.elem_type(2)
    if guard is None or guard.op_type != "IsNaN" or guard.input(0) != node.input(2) or softmax is None:
        return
    if zero is None or zero.any() or zero.size != 1 or kind != TensorProto.FLOAT or softmax.op_type != "Softmax":
        return
    scores, rank = softmax.maker(), node.rank(2)
    if scores is None or scores.op_type != "Add" or not rank or zero.ndim > rank or not _is_along_last_axis(softmax, rank):
        return
    for index in (0, 1):
        masks = isinstance(scores.dimension(-1, index), int) and _hides_or_adds(scores, scores.input(index))
        if masks and _leave_numbers(scores, scores.input(1 - index)):
            _multiply(node, scores, index, softmax.attr("axis", -1))
            return


def _hides_or_adds(reader: Node, name: str, depth: int = _DEEPEST) -> bool:
    """Whether the value, computed in each run, has stored elements alone, which are -infinity or numbers far above the lowest."""
    stored, maker = reader.constant(name), reader.maker(name)
    if stored is not None:
        return depth < _DEEPEST and bool(((np.abs(stored) <= _LARGE) | np.isneginf(stored)).all())
    if maker is None or not depth or adds_zeros(maker) or len(maker.outputs) > 1:
        return False
    data = moved(maker)
    return bool(data) and all(_hides_or_adds(maker, maker.input(index), depth - 1) for index in data)


def _moved_again(node: Node, reader: Node, name: str, change: Callable[[np.ndarray], np.ndarray]) -> str:
    """The value of `name` that `reader` reads, with each stored element of it changed."""
    stored, maker = reader.constant(name), reader.maker(name)
    if stored is not None or maker is None:
        return node.op.const(change(np.asarray(stored)), TensorProto.FLOAT)
    inputs = [*maker.inputs]
    for index in moved(maker):
        inputs[index] = _moved_again(node, maker, inputs[index], change)
    attributes = {attribute.name: maker.attr(attribute.name) for attribute in maker.proto.attribute}
    return getattr(node.op, maker.op_type)(*inputs, opset=maker.opset, **attributes)


def _multiply(node: Node, scores: Node, mask: int, axis: int) -> None:
    """Let the Softmax work on numbers, and multiply by 1 the rows in which the mask leaves one, by 0 the others."""
    op, kind, lowest = node.op, TensorProto.FLOAT, np.finfo(np.float32).min
    numbers = _moved_again(node, scores, scores.input(mask), lambda stored: np.where(np.isneginf(stored), lowest, stored))
    shown = _moved_again(node, scores, scores.input(mask), lambda stored: ~np.isneginf(stored))
    weights = op.Softmax(op.Add(scores.input(1 - mask), numbers), axis=axis)
    counts = op.MatMul(shown, op.const(np.ones((scores.need_dimension(-1, mask), 1)), kind))
    one = op.const(1, kind)
    node.become.Mul(weights, op.Sub(one, op.Relu(op.Sub(one, counts))))


def _is_along_last_axis(softmax: Node, rank: int) -> bool:
    return softmax.opset >= _LAST_AXIS_IS_DEFAULT and softmax.attr("axis", -1) in (-1, rank - 1)


def _rows_have_numbers(softmax: Node) -> bool:
    """Whether each row that the node takes has a number, and neither NaN nor infinity, if all products are numbers."""
    scores = softmax.maker()
    if scores is not None and scores.op_type == "Add":
        for index in (0, 1):
            mask = scores.constant(index)
            if mask is not None and mask.ndim and (mask < np.inf).all() and _is_moderate(mask).any(axis=-1).all():
                return _leave_numbers(scores, scores.input(1 - index))
    return _are_numbers(softmax, softmax.input(0))


def _are_numbers(reader: Node, name: str) -> bool:
    """Whether the value holds numbers alone: none is so far from 0 that it is rounded to infinity."""
    return magnitude(reader, name) <= _LIMITS.get(reader.elem_type(name) or 0, 0)


def _leave_numbers(reader: Node, name: str) -> bool:
    """Whether what is added to the value stays a number, if it is one: the value is moderate."""
    return magnitude(reader, name) <= (_MODERATE if reader.elem_type(name) == TensorProto.FLOAT16 else _LARGE)


def _is_moderate(value: np.ndarray) -> np.ndarray:
    """Which elements are numbers to which a product can be added. The lowest of float16 is not: a few tens less are -infinity."""
    if value.dtype == np.float16:
        return np.abs(value) <= _MODERATE
    return np.isfinite(value)
