"""Sequences of known length: https://onnx.ai/onnx/operators/onnx__SplitToSequence.html and those beside it."""

from __future__ import annotations

from .. import terms
from ..calls import Call, models
from ..tensors import NotModelledError, Value, scalar
from ..terms import Whole
from . import movement
from .splits import parts


@models("SplitToSequence")
def split_to_sequence(call: Call) -> list[Value]:
    """The parts of a tensor. Without sizes, parts of length 1, which lose the axis with keepdims=0."""
    tensor = call.tensor(0)
    axis = call.axis(call.attr("axis", 0), tensor.rank)
    keeps = call.attr("keepdims", 1)
    if call.has(1) and not keeps:
        raise NotModelledError("runtimes disagree about sizes beside keepdims=0")
    found = parts(tensor, axis, _sizes(call, tensor.dims[axis]))
    return [tuple(found if keeps else [movement.without_axes(part, [axis]) for part in found])]


def _sizes(call: Call, length: Whole) -> list[Whole]:
    if call.has(1) and call.tensor(1).rank == 1:
        sizes = call.entries(1)
        call.require(terms.equal(terms.total(sizes), length), "that the sizes of the parts have the right sum")
        call.require(terms.every(terms.is_most(0, size) for size in sizes), "that no size of a part is negative")
        return sizes
    step = call.numbers(1)[0] if call.has(1) else 1
    if not isinstance(length, int) or step < 1:
        raise NotModelledError("the number of parts is open")
    return [min(step, length - start) for start in range(0, length, step)]


@models("SequenceEmpty")
def sequence_empty(_: Call) -> list[Value]:
    """No elements."""
    return [()]


@models("SequenceConstruct")
def sequence_construct(call: Call) -> list[Value]:
    """The inputs."""
    return [tuple(call.tensor(index) for index in range(len(call.inputs)))]


@models("SequenceLength")
def sequence_length(call: Call) -> list[Value]:
    """The number of elements."""
    return [scalar(len(call.sequence(0)))]


@models("SequenceAt")
def sequence_at(call: Call) -> list[Value]:
    """The element at a position, which counts from the end where it is negative."""
    sequence = call.sequence(0)
    return [sequence[_position(call, 1, len(sequence))]]


@models("SequenceInsert")
def sequence_insert(call: Call) -> list[Value]:
    """With a tensor before a position, or at the end."""
    sequence = call.sequence(0)
    at = _position(call, 2, len(sequence), beyond=1) if call.has(2) else len(sequence)
    return [(*sequence[:at], call.tensor(1), *sequence[at:])]


@models("SequenceErase")
def sequence_erase(call: Call) -> list[Value]:
    """Without the element at a position, or the last one."""
    sequence = call.sequence(0)
    at = _position(call, 1, len(sequence)) if call.has(1) else len(sequence) - 1
    call.require(at >= 0, "that the sequence has an element")
    return [(*sequence[:at], *sequence[at + 1 :])]


def _position(call: Call, index: int, length: int, beyond: int = 0) -> int:
    """The position in a sequence of `length`, counted from the front; `beyond`: how far behind its last element it may be."""
    position = call.numbers(index)[0]
    if not -length <= position < length + beyond:
        raise NotModelledError("a position is outside of its sequence")
    return position + length if position < 0 else position


@models("ConcatFromSequence")
def concat_from_sequence(call: Call) -> list[Value]:
    """The elements, one behind the other along an axis that they have, or with new_axis=1 along a new one."""
    tensors = list(call.sequence(0))
    if not tensors:
        raise NotModelledError("an empty sequence is joined")
    if call.attr("new_axis", 0):
        axis = call.axis(call.attr("axis"), tensors[0].rank + 1)
        tensors = [movement.with_axes(tensor, [axis]) for tensor in tensors]
    return [movement.joined(call, tensors, call.axis(call.attr("axis"), tensors[0].rank))]
