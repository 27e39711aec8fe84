"""What only moves elements: https://onnx.ai/onnx/operators/onnx__Slice.html and those beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from .. import terms
from ..calls import Call, models
from ..constants import constant
from ..tensors import DisputedError, NotModelledError, Tensor, Value, with_entries
from ..terms import Whole

_FAR = 2**31 - 1
"""From here on, an end means "to the end" to runtimes, some of which differ about it in slices that go backward."""


@models("Identity")
def identity(call: Call) -> list[Value]:
    """The input."""
    value = call.inputs[0]
    if value is None:
        raise NotModelledError("it has no input")
    return [value]


@models("Transpose")
def transpose(call: Call) -> list[Value]:
    """The axes in another order."""
    tensor = call.tensor(0)
    perm = call.attr("perm", list(reversed(range(tensor.rank))))
    if sorted(perm) != list(range(tensor.rank)):
        raise NotModelledError("its perm is not valid")
    places = [perm.index(axis) for axis in range(tensor.rank)]

    def at(index: tuple[Whole, ...]) -> Any:
        return tensor.at(tuple(index[place] for place in places))

    return [Tensor(tensor.elem_type, tuple(tensor.dims[axis] for axis in perm), at, is_sized=tensor.is_sized)]


@models("Squeeze")
def squeeze(call: Call) -> list[Value]:
    """Without axes of length 1: those that are named, or all."""
    tensor, axes = call.tensor(0), call.axes(1)
    if axes == []:
        raise DisputedError("runtimes disagree about axes that are none")
    if axes is None:
        axes = [axis for axis, size in enumerate(tensor.dims) if call.is_certain(terms.equal(size, 1))]
        others = [size for axis, size in enumerate(tensor.dims) if axis not in axes]
        if not all(call.is_certain(terms.negated(terms.equal(size, 1))) for size in others):
            raise NotModelledError("a length may be 1, or not")
    axes = [call.axis(axis, tensor.rank) for axis in axes]
    call.require(terms.every(terms.equal(tensor.dims[axis], 1) for axis in axes), "that what goes has length 1")
    return [without_axes(tensor, axes)]


def without_axes(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """The tensor without axes of length 1."""
    kept = [axis for axis in range(tensor.rank) if axis not in axes]

    def at(index: tuple[Whole, ...]) -> Any:
        places = dict(zip(kept, index, strict=True))
        return tensor.at(tuple(places.get(axis, 0) for axis in range(tensor.rank)))

    return Tensor(tensor.elem_type, tuple(tensor.dims[axis] for axis in kept), at, is_sized=tensor.is_sized)


@models("Unsqueeze")
def unsqueeze(call: Call) -> list[Value]:
    """With new axes of length 1."""
    tensor, axes = call.tensor(0), call.axes(1) or []
    rank = tensor.rank + len(axes)
    places = [call.axis(axis, rank) for axis in axes]
    if len(set(places)) < len(places):
        raise NotModelledError("an axis is named twice")
    return [with_axes(tensor, places)]


def with_axes(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """The tensor with new axes of length 1, which are `axes` of the result."""
    old = [axis for axis in range(tensor.rank + len(axes)) if axis not in axes]
    dims: list[Whole] = [1] * (tensor.rank + len(axes))
    for axis, size in zip(old, tensor.dims, strict=True):
        dims[axis] = size
    return Tensor(
        tensor.elem_type, tuple(dims), lambda index: tensor.at(tuple(index[axis] for axis in old)), is_sized=tensor.is_sized
    )


@models("Concat")
def concat(call: Call) -> list[Value]:
    """The inputs, one behind the other along an axis."""
    tensors = [call.tensor(index) for index in range(len(call.inputs))]
    return [joined(call, tensors, call.axis(call.attr("axis", 1), tensors[0].rank))]


def joined(call: Call, tensors: Sequence[Tensor], axis: int) -> Tensor:
    """The tensors, one behind the other along `axis`."""
    first, *others = tensors
    if any(other.rank != first.rank for other in others):
        raise NotModelledError("its inputs have different ranks")
    for other in others:
        pairs = [pair for place, pair in enumerate(zip(first.dims, other.dims, strict=True)) if place != axis]
        are_equal = terms.every(terms.equal(*pair) for pair in pairs)
        lengths = (*first.dims, *other.dims)
        if not call.is_certain(are_equal) and not all(isinstance(length, int) and length > 0 for length in lengths):
            raise DisputedError("runtimes do not compare the lengths of what is empty")
        call.require(are_equal, "that what is joined has the same other lengths")
    ends = [terms.total(tensor.dims[axis] for tensor in tensors[: number + 1]) for number in range(len(tensors))]
    dims = (*first.dims[:axis], ends[-1], *first.dims[axis + 1 :])

    def at(index: tuple[Whole, ...]) -> Any:
        found = None
        for number in reversed(range(len(tensors))):
            size, start = tensors[number].dims[axis], 0 if number == 0 else ends[number - 1]
            if isinstance(size, int) and size == 0:
                continue
            place = terms.simplified(index[axis] - start)
            own = tensors[number].at((*index[:axis], _clipped(place, size), *index[axis + 1 :]))
            found = own if found is None else terms.choice(terms.is_below(index[axis], ends[number]), own, found)
        if found is None:
            raise NotModelledError("an element of an empty tensor is asked for")
        return found

    return Tensor(first.elem_type, dims, at, is_sized=all(tensor.is_sized for tensor in tensors))


def _clipped(place: Whole, size: Whole) -> Whole:
    """A known place, moved into its tensor: what is there is not chosen."""
    return min(max(place, 0), size - 1) if isinstance(place, int) and isinstance(size, int) else place


@models("Slice")
def cut_out(call: Call) -> list[Value]:
    """The elements from starts to ends in constant steps, along some axes."""
    found = call.tensor(0)
    if call.opset < 10:
        starts, ends, steps = call.stated("starts"), call.stated("ends"), None
        axes = call.attr("axes")
    else:
        starts, ends = call.entries(1), call.entries(2)
        axes, steps = (call.numbers(index) if call.has(index) else None for index in (3, 4))
    places = [call.axis(axis, found.rank) for axis in (range(len(starts)) if axes is None else axes)]
    steps = [1] * len(places) if steps is None else steps
    if len(set(places)) < len(places) or not len(places) == len(starts) == len(ends) == len(steps):
        raise NotModelledError("its axes are not valid")
    for axis, start, end, step in zip(places, starts, ends, steps, strict=True):
        found = _cut_in_steps(found, axis, start, end, step)
    return [found]


def _cut_in_steps(tensor: Tensor, axis: int, start: Whole, end: Whole, step: int) -> Tensor:
    size = tensor.dims[axis]
    if step == 0 or (step < 0 and not (isinstance(end, int) and end < _FAR)):
        raise DisputedError("runtimes disagree about it")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (terms.choice(terms.is_below(place, 0), place + size, place) for place in (start, end))
    begin = terms.within(first, max(low, 0), high) if step > 0 else terms.within(first, 0, high)
    stop = terms.within(last, low, high)
    length = terms.ceiling(stop - begin, step) if step > 0 else terms.ceiling(begin - stop, -step)
    length = terms.choice(terms.equal(size, 0), 0, terms.larger(length, 0))
    dims = (*tensor.dims[:axis], length, *tensor.dims[axis + 1 :])

    def at(index: tuple[Whole, ...]) -> Any:
        return tensor.at((*index[:axis], terms.simplified(begin + index[axis] * step), *index[axis + 1 :]))

    return Tensor(tensor.elem_type, dims, at, is_sized=tensor.is_sized)


@models("Gather")
def gather(call: Call) -> list[Value]:
    """The slices at some positions along an axis."""
    tensor, indices = call.tensor(0), with_entries(call.tensor(1))
    axis = call.axis(call.attr("axis", 0), tensor.rank)
    size = tensor.dims[axis]
    if indices.entries is None:
        raise NotModelledError("the number of its positions is open")
    for entry in np.ravel(indices.entries):
        inside = terms.every([terms.is_most(0 - size, entry), terms.is_below(entry, size)])
        call.require(inside, "that a position is inside of its axis")
    dims = (*tensor.dims[:axis], *indices.dims, *tensor.dims[axis + 1 :])

    def at(index: tuple[Whole, ...]) -> Any:
        place = indices.at(index[axis : axis + indices.rank])
        place = terms.choice(terms.is_below(place, 0), place + size, place)
        return tensor.at((*index[:axis], terms.simplified(place), *index[axis + indices.rank :]))

    return [Tensor(tensor.elem_type, dims, at, is_sized=tensor.is_sized)]


@models("Pad")
def pad(call: Call) -> list[Value]:
    """With a constant around, or without some of the border."""
    tensor = call.tensor(0)
    if call.attr("mode", "constant") != "constant":
        raise NotModelledError("its mode is not constant")
    pads = call.entries(1) if call.has(1) else list(call.attr("pads", call.attr("paddings", [])))
    axes = [call.axis(axis, tensor.rank) for axis in (call.numbers(3) if call.has(3) else range(tensor.rank))]
    if len(pads) != 2 * len(axes) or len(set(axes)) < len(axes):
        raise NotModelledError("its pads are not valid")
    value = _padding(call, tensor)
    found = tensor
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        adds = call.is_certain(terms.every([terms.is_most(0, before), terms.is_most(0, after)]))
        cuts = call.is_certain(terms.every([terms.is_most(before, 0), terms.is_most(after, 0)]))
        if not (adds or cuts):
            raise NotModelledError("it may add on one side and cut on the other")
        found = _padded(call, found, axis, before, after, value)
    return [found]


def _padding(call: Call, tensor: Tensor) -> Any:
    if call.has(2):
        value = call.tensor(2)
        if value.rank:
            raise NotModelledError("its number is not a scalar")
        return value.at(())
    if tensor.elem_type != TensorProto.FLOAT:
        zero = call.attr("value", 0.0)
        if zero or tensor.elem_type not in _WITH_ZERO:
            raise NotModelledError("it pads with a number of another type")
        return 0
    return constant(np.array(call.attr("value", 0.0), np.float32)).at(())


_WITH_ZERO = (TensorProto.INT32, TensorProto.INT64)


def _padded(call: Call, tensor: Tensor, axis: int, before: Whole, after: Whole, value: Any) -> Tensor:
    size = tensor.dims[axis]
    length = terms.total([before, size, after])
    call.require(terms.is_most(0, length), "that no more is cut than there is")
    dims = (*tensor.dims[:axis], length, *tensor.dims[axis + 1 :])

    def at(index: tuple[Whole, ...]) -> Any:
        place = terms.simplified(index[axis] - before)
        inside = terms.every([terms.is_most(0, place), terms.is_below(place, size)])
        return value if inside is False else terms.choice(inside, tensor.at((*index[:axis], place, *index[axis + 1 :])), value)

    return Tensor(tensor.elem_type, dims, at)
