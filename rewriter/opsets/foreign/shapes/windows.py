"""Shapes of what convolutions and pooling make, with the channels behind the batch or last."""

from __future__ import annotations

import math

from ...type_protos import Dimension, Shape
from ..call import Call
from .common import Shapes


def convolved(call: Call) -> Shapes:
    """A convolution of [batch, channels, …] by weights [maps, channels, …]."""
    weights = call.shape(1)
    return [None if weights is None else _slid(call, call.shape(0), weights[0], weights[2:])]


def convolved_last(call: Call) -> Shapes:
    """A convolution of [batch, …, channels] by weights [maps, channels, …]."""
    weights = call.shape(1)
    return [None if weights is None else _last(_slid(call, _first(call.shape(0)), weights[0], weights[2:]))]


def convolved_quantized(call: Call) -> Shapes:
    """A QLinearConv, whose weights are input 3, with the channels last if `channels_last` is set."""
    shape, weights, is_last = call.shape(0), call.shape(3), call.attr("channels_last", 0)
    if weights is None:
        return [None]
    found = _slid(call, _first(shape) if is_last else shape, weights[0], weights[2:])
    return [_last(found) if is_last else found]


def pooled(call: Call) -> Shapes:
    """Pooling with `kernel_shape`, of [batch, channels, …] or, with `channels_last`, of [batch, …, channels]."""
    return [_pooled(call, is_last=bool(call.attr("channels_last", 0)))]


def pooled_last(call: Call) -> Shapes:
    """Pooling of [batch, …, channels]."""
    return [_pooled(call, is_last=True)]


def pooled_whole(call: Call) -> Shapes:
    """Pooling of all positions into one."""
    shape = call.shape(0)
    if call.attr("channels_last", 0):
        return pooled_whole_last(call)
    return [None if shape is None else (*shape[:2], *[1] * (len(shape) - 2))]


def pooled_whole_last(call: Call) -> Shapes:
    """Pooling of all positions of [batch, …, channels] into one."""
    shape = call.shape(0)
    return [None if shape is None else (shape[0], *[1] * (len(shape) - 2), shape[-1])]


def scaled(call: Call) -> Shapes:
    """Each position of [batch, channels, …] `scales` times."""
    shape = call.shape(0)
    return [None if shape is None else (*shape[:2], *map(_times, shape[2:], call.attr("scales")[2:]))]


def in_blocks(call: Call) -> Shapes:
    """[batch, channels, …], or with `channels_last` [batch, …, channels], with channels that fill the last block up."""
    shape = call.shape(0)
    if shape is None:
        return [None]
    return [(shape[0], None, *(shape[1:-1] if call.attr("channels_last", 0) else shape[2:]))]


def out_of_blocks(call: Call) -> Shapes:
    """[batch, channels, …], or with `channels_last` [batch, …, channels]."""
    shape, channels = call.shape(0), call.attr("channels")
    if shape is None:
        return [None]
    return [(shape[0], *shape[2:], channels) if call.attr("channels_last", 0) else (shape[0], channels, *shape[2:])]


def reduced(call: Call) -> Shapes:
    """A reduction over `axes`, all where there are none, which stay with a length of 1 with `keepdims`."""
    shape = call.shape(0)
    if shape is None:
        return [None]
    axes = {axis % len(shape) for axis in call.attr("axes") or range(len(shape))}
    dims = ((axis, dim) for axis, dim in enumerate(shape) if axis not in axes or call.attr("keepdims", 1))
    return [tuple(1 if axis in axes else dim for axis, dim in dims)]


def _pooled(call: Call, is_last: bool) -> Shape | None:
    shape = call.shape(0)
    if shape is None:
        return None
    found = _slid(call, _first(shape) if is_last else shape, shape[-1 if is_last else 1], tuple(call.attr("kernel_shape")))
    return _last(found) if is_last else found


def _first(shape: Shape | None) -> Shape | None:
    return None if shape is None else (shape[0], shape[-1], *shape[1:-1])


def _last(shape: Shape | None) -> Shape | None:
    return None if shape is None else (shape[0], *shape[2:], shape[1])


def _slid(call: Call, shape: Shape | None, maps: Dimension, kernel: Shape) -> Shape | None:
    """The shape of what a window makes that slides over the positions of [batch, channels, …]."""
    if shape is None:
        return None
    count = len(shape) - 2
    strides, dilations = (list(call.attr(name) or [1] * count) for name in ("strides", "dilations"))
    pads = list(call.attr("pads") or [0] * (2 * count))
    auto, rounding = call.attr("auto_pad", "NOTSET"), math.ceil if call.attr("ceil_mode", 0) else math.floor
    sizes: list[Dimension] = []
    for axis, size in enumerate(shape[2:]):
        window = kernel[axis]
        if not isinstance(size, int) or not isinstance(window, int):
            sizes.append(None)
        elif auto.startswith("SAME"):  # for which onnxruntime ignores the dilations of some operators
            sizes.append(-(-size // strides[axis]) if dilations[axis] == 1 else None)
        else:
            before, after = (0, 0) if auto == "VALID" else (pads[axis], pads[axis + count])
            places = size + before + after - dilations[axis] * (window - 1) - 1
            last = rounding(places / strides[axis])
            is_doubtful = places < 0 or last * strides[axis] >= size + before  # a window that is too large, or behind the data
            sizes.append(None if is_doubtful else last + 1)
    return (shape[0], maps, *sizes)


def _times(size: Dimension, scale: int) -> Dimension:
    return size * scale if isinstance(size, int) else None
