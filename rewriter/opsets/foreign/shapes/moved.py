"""Shapes of what operators make that insert axes, pad, gather, or take samples."""

from __future__ import annotations

from ..call import Call
from .common import Shapes


def with_axis(call: Call) -> Shapes:
    """An ExpandDims: input 1 says where there is an axis of length 1 in the result."""
    shape, axis = call.shape(0), call.constant(1)
    if shape is None:
        return [None]
    if axis is None:
        return [(None,) * (len(shape) + 1)]
    at = int(axis.reshape(-1)[0]) % (len(shape) + 1)
    return [(*shape[:at], 1, *shape[at:])]


def padded(call: Call) -> Shapes:
    """A Pad: input 1 holds the lengths that are added in front of each axis, and then those behind it."""
    shape, pads = call.shape(0), call.constant(1)
    if shape is None or pads is None:
        return [None if shape is None else (None,) * len(shape)]
    added = pads.reshape(2, -1).sum(axis=0).tolist()
    return [tuple(dim + more if isinstance(dim, int) else None for dim, more in zip(shape, added, strict=True))]


def first_of_each(call: Call) -> Shapes:
    """A Unique: only the number of positions is known."""
    return [(None,), call.shape(0), (None,)]


def sampled(call: Call) -> Shapes:
    """A GridSample of an image: each point of the grid [batch, height, width, 2] gives an element of each channel."""
    image, grid = call.shape(0), call.shape(1)
    return [None if image is None or grid is None else (*image[:2], *grid[1:-1])]


def distances(call: Call) -> Shapes:
    """A CDist: a number for each pair of rows."""
    return [(call.dimension(0, 0), call.dimension(1, 0))]


def transformed(call: Call) -> Shapes:
    """A Rfft: half of the frequencies, each as a real and an imaginary part."""
    shape = call.shape(0)
    if shape is None:
        return [None]
    return [(*shape[:-1], shape[-1] // 2 + 1 if isinstance(shape[-1], int) else None, 2)]


def gathered(call: Call) -> Shapes:
    """A GatherBlockQuantized: of bytes, each holds several elements of the last axis."""
    data, positions = call.shape(0), call.shape(1)
    if data is None or positions is None:
        return [None]
    per_byte = 8 // call.attr("bits", 4) if call.types[call.node.input[0]].tensor_type.elem_type == _BYTES else 1
    axis = call.attr("gather_axis", 0) % len(data)
    dims = [*data[:axis], *positions, *data[axis + 1 :]]
    dims[-1] = dims[-1] * per_byte if isinstance(dims[-1], int) else None
    return [tuple(dims)]


_BYTES = 2
"""TensorProto.UINT8."""
