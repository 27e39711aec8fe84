"""Sequences of known length: https://onnx.ai/onnx/operators/onnx__SplitToSequence.html and those beside it."""

from __future__ import annotations

from .. import terms
from ..calls import Call, models
from ..tensors import DisputedError, NotModelledError, Parts, Tensor, Value, scalar
from ..terms import Whole
from . import movement
from .splits import cut, parts


@models("SplitToSequence")
def split_to_sequence(call: Call) -> list[Value]:
    """The parts of a tensor. Without sizes, parts of length 1, which lose the axis with keepdims=0."""
    tensor = call.tensor(0)
    axis = call.axis(call.attr("axis", 0), tensor.rank)
    keeps = call.flag("keepdims", 1)
    if call.has(1) and not keeps:
        raise DisputedError("runtimes disagree about sizes beside keepdims=0")
    size = _size_of_parts(call)
    length = tensor.dims[axis]
    if size is not None and not (isinstance(length, int) and isinstance(size, int)):
        return [Parts(tensor, axis, size, not keeps)]
    found = parts(tensor, axis, _sizes(call, length, size))
    return [tuple(found if keeps else [movement.without_axes(part, [axis]) for part in found])]


def _size_of_parts(call: Call) -> Whole | None:
    """The size that all parts but the last have; None where each has its own."""
    if call.has(1) and call.tensor(1).rank == 1:
        return None
    size = call.scalar(1) if call.has(1) else 1
    call.require(terms.is_below(0, size), "that parts are not empty")
    if isinstance(size, int) and size < 1:
        raise NotModelledError("its parts are empty")
    return size


def _sizes(call: Call, length: Whole, size: Whole | None) -> list[Whole]:
    if size is not None:
        return [min(size, length - start) for start in range(0, length, size)]
    sizes = call.entries(1)
    call.require(terms.equal(terms.total(sizes), length), "that the sizes of the parts have the right sum")
    call.require(terms.every(terms.is_most(0, part) for part in sizes), "that no size of a part is negative")
    return sizes


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
    value = call.inputs[0]
    return [scalar(value.count if isinstance(value, Parts) else len(call.sequence(0)))]


@models("SequenceAt")
def sequence_at(call: Call) -> list[Value]:
    """The element at a position, which counts from the end where it is negative."""
    value = call.inputs[0]
    if isinstance(value, Parts):
        return [_part(call, value)]
    sequence = call.sequence(0)
    return [sequence[_position(call, 1, len(sequence))]]


def _part(call: Call, sequence: Parts) -> Tensor:
    position = call.scalar(1)
    place = terms.choice(terms.is_below(position, 0), position + sequence.count, position)
    inside = terms.every([terms.is_most(0, place), terms.is_below(place, sequence.count)])
    call.require(inside, "that a position is inside of its sequence")
    tensor, axis = sequence.tensor, sequence.axis
    start = terms.simplified(place * sequence.size)
    part = cut(tensor, axis, start, terms.smaller(tensor.dims[axis] - start, sequence.size))
    return movement.without_axes(part, [axis]) if sequence.is_flat else part


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
    position = call.number(index)
    if not -length <= position < length + beyond:
        raise NotModelledError("a position is outside of its sequence")
    return position + length if position < 0 else position


@models("ConcatFromSequence")
def concat_from_sequence(call: Call) -> list[Value]:
    """The elements, one behind the other along an axis that they have, or with new_axis=1 along a new one."""
    value = call.inputs[0]
    if isinstance(value, Parts):
        return [_joined_again(call, value)]
    tensors = list(call.sequence(0))
    if not tensors:
        raise NotModelledError("an empty sequence is joined")
    if call.flag("new_axis", 0):
        axis = call.axis(call.attr("axis"), tensors[0].rank + 1)
        tensors = [movement.with_axes(tensor, [axis]) for tensor in tensors]
    return [movement.joined(call, tensors, call.axis(call.attr("axis"), tensors[0].rank))]


def _joined_again(call: Call, sequence: Parts) -> Tensor:
    """The tensor that was cut, where its parts are joined along the axis of the cuts. Of no part, nothing is joined."""
    tensor = sequence.tensor
    axis = call.axis(call.attr("axis"), tensor.rank)
    if axis != sequence.axis or sequence.is_flat != call.flag("new_axis", 0):
        raise NotModelledError("the length of a sequence is open")
    call.require(terms.is_below(0, tensor.dims[axis]), "that a sequence has an element")
    return tensor
