"""What computes with shapes, and what they make: https://onnx.ai/onnx/operators/onnx__Shape.html and those beside it."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from ...storage.payload import is_external
from .. import terms
from ..calls import Call, models, repeated
from ..constants import constant
from ..tensors import NotModelledError, Tensor, Value, reshaped, scalar, vector
from ..terms import Whole


@models("Shape")
def shape(call: Call) -> list[Value]:
    """The lengths, from `start` to `end` from opset 15 on."""
    tensor = call.tensor(0)
    return [vector(tensor.dims[slice(*slice(call.attr("start", 0), call.attr("end")).indices(tensor.rank))])]


@models("Size")
def size(call: Call) -> list[Value]:
    """The number of elements."""
    return [scalar(call.tensor(0).size)]


@models("ConstantOfShape")
def constant_of_shape(call: Call) -> list[Value]:
    """One number everywhere."""
    dims = tuple(call.entries(0))
    call.require(terms.every(terms.is_most(0, length) for length in dims), "that no length is negative")
    value = call.attr("value")
    if value is not None and prod(value.dims) != 1:
        raise NotModelledError("its value is not one element")
    filled = constant(np.zeros(1, np.float32) if value is None else numpy_helper.to_array(value).reshape(1))
    return [Tensor(filled.elem_type, dims, lambda _: filled.at((0,)), is_sized=filled.is_sized)]


@models("Range")
def number_range(call: Call) -> list[Value]:
    """The numbers from a start to a limit in constant steps."""
    start, limit, step = (call.tensor(index) for index in range(3))
    if not (start.is_sized and limit.is_sized and step.is_sized):
        raise NotModelledError("its numbers are computed from data")
    first, end, delta = call.scalar(0), call.scalar(1), call.number(2)
    if delta == 0:
        raise NotModelledError("its step is 0")
    length = terms.larger(terms.ceiling(end - first, delta) if delta > 0 else terms.ceiling(first - end, -delta), 0)
    dims = (length,)
    return [Tensor(start.elem_type, dims, lambda index: terms.simplified(first + index[0] * delta), is_sized=True)]


@models("Reshape")
def reshape(call: Call) -> list[Value]:
    """The elements with other lengths. A 0 keeps a length, unless allowzero says otherwise, and -1 is what is left."""
    tensor = call.tensor(0)
    stated = call.entries(1) if call.has(1) else call.stated("shape")
    dims = [_kept(call, length, tensor, axis) for axis, length in enumerate(stated)]
    open_axes = [axis for axis, length in enumerate(dims) if isinstance(length, int) and length == -1]
    if any(not isinstance(length, int) and not call.is_certain(terms.is_most(0, length)) for length in dims):
        raise NotModelledError("a length that is computed may be -1")
    if any(isinstance(length, int) and length < -1 for length in dims) or len(open_axes) > 1:
        raise NotModelledError("its lengths are not valid")
    for axis in open_axes:
        dims[axis] = _left(call, tensor.dims, [length for place, length in enumerate(dims) if place != axis])
    same = terms.are_same(terms.product(dims), tensor.size)
    call.require(same or terms.equal(terms.product(dims), tensor.size), "that the number of elements stays")
    return [reshaped(tensor, tuple(dims))]


def _kept(call: Call, length: Whole, tensor: Tensor, axis: int) -> Whole:
    """A length that Reshape states, or that of the input in its place where it is 0."""
    if call.flag("allowzero", 0) or (isinstance(length, int) and length != 0):
        return length
    is_zero = terms.equal(length, 0)
    if is_zero is False or call.is_certain(terms.negated(is_zero)):
        return length
    if axis >= tensor.rank:
        call.require(terms.negated(is_zero), "that a length is not 0")
        return length
    return terms.choice(is_zero, tensor.dims[axis], length)


def _left(call: Call, dims: tuple[Whole, ...], others: list[Whole]) -> Whole:
    """The length that is left for -1 beside `others` in place of `dims`. Raises NotModelledError where that is no division by a
    number.
    """
    call.require(terms.every(terms.negated(terms.equal(length, 0)) for length in others), "that -1 stands beside no length of 0")
    whole, rest = terms.factors(dims), []
    for factor in terms.factors(others):
        place = next((place for place, old in enumerate(whole) if terms.are_same(old, factor)), None)
        if place is None:
            rest.append(factor)
        else:
            del whole[place]
    divisor = terms.product(rest)
    if not isinstance(divisor, int):
        raise NotModelledError("it divides by a length that is computed")
    call.require(terms.equal(terms.remainder(terms.product(whole), divisor), 0), "that the number of elements stays")
    return terms.floor(terms.product(whole), divisor)


@models("Flatten")
def flatten(call: Call) -> list[Value]:
    """A matrix: the axes before one, and those from it on."""
    tensor = call.tensor(0)
    axis = call.attr("axis", 1)
    if not -tensor.rank <= axis <= tensor.rank:
        raise NotModelledError("an axis does not exist")
    place = axis + tensor.rank if axis < 0 else axis
    return [reshaped(tensor, (terms.product(tensor.dims[:place]), terms.product(tensor.dims[place:])))]


@models("Expand")
def expand(call: Call) -> list[Value]:
    """The elements, repeated along axes of length 1."""
    tensor, lengths = call.tensor(0), tuple(call.entries(1))
    call.require(terms.every(terms.is_most(0, length) for length in lengths), "that no length is negative")
    target = Tensor(tensor.elem_type, lengths, lambda _: None)
    dims = call.broadcast(tensor, target)
    return [Tensor(tensor.elem_type, dims, repeated(tensor, dims), is_sized=tensor.is_sized)]


@models("Tile")
def tile(call: Call) -> list[Value]:
    """The whole tensor, repeated along each axis."""
    if call.opset < 6:
        raise NotModelledError("its form before opset 6 is another one")
    tensor, repeats = call.tensor(0), call.entries(1)
    if len(repeats) != tensor.rank:
        raise NotModelledError("its repeats are not as many as the dimensions")
    call.require(terms.every(terms.is_most(0, count) for count in repeats), "that no number of repeats is negative")
    dims = tuple(terms.simplified(size * count) for size, count in zip(tensor.dims, repeats, strict=True))

    def at(index: tuple[Whole, ...]) -> Any:
        pairs = zip(index, tensor.dims, dims, strict=True)
        return tensor.at(
            tuple(place if terms.are_same(size, whole) else terms.remainder(place, size) for place, size, whole in pairs)
        )

    return [Tensor(tensor.elem_type, dims, at, is_sized=tensor.is_sized)]


@models("Constant")
def constant_node(call: Call) -> list[Value]:
    """The value of an attribute."""
    value = call.attr("value")
    if isinstance(value, TensorProto) and is_external(value):
        raise NotModelledError("its value is in another file")
    if isinstance(value, TensorProto):
        return [constant(value)]
    for name, kind in (
        ("value_int", np.int64),
        ("value_ints", np.int64),
        ("value_float", np.float32),
        ("value_floats", np.float32),
    ):
        if call.attr(name) is not None:
            return [constant(np.array(call.attr(name), kind))]
    raise NotModelledError("it is a constant of another kind")
