"""Images with more pixels around them, or with fewer, and blocks of pixels that become channels, by convolutions whose kernels have
a single 1 for each channel.

https://onnx.ai/onnx/operators/onnx__Pad.html, https://onnx.ai/onnx/operators/onnx__Slice.html,
https://onnx.ai/onnx/operators/onnx__DepthToSpace.html
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)  # runtimes have no Conv of double
_MOST_TURNS = 12
"""The number of convolutions by which pixels are put around an image or cut off."""


@express("Pad", opset=13)
def convolution_of_single_pixels(node: Node) -> None:
    """Zeros around images come from the padding of a convolution of each channel with a kernel of a single 1."""
    pads = _zeros_around(node)
    if pads:
        node.give(_convolved(node, node.input(0), pads=pads))


@express("Pad", opset=13)
def rings_of_zeros(node: Node) -> None:
    """Zeros around images come from several such convolutions, each with a padding of 1."""
    pads, value = _zeros_around(node) or [0], node.input(0)
    if not 1 < max(pads) <= _MOST_TURNS:
        return
    for turn in range(max(pads)):
        value = _convolved(node, value, pads=[int(pad > turn) for pad in pads])
    node.give(value)


def _zeros_around(node: Node) -> list[int] | None:
    """The numbers of zeros that a Pad puts before height and width of images of floats, and behind them; None for other nodes."""
    pads, shape = node.constant(1), node.need_shape(0)
    value = node.constant(2) if node.has_input(2) else np.zeros(1)
    is_plain = node.attr("mode", "constant") == "constant" and not node.has_input(3) and node.opset >= 11
    if pads is None or value is None or value.any() or not is_plain or len(shape) != 4 or node.need_elem_type() not in _FLOATS:
        return None
    if pads.min() < 0 or pads[[0, 1, 4, 5]].any() or 0 in shape:
        return None
    return pads[[2, 3, 6, 7]].tolist()


@express("Slice", opset=13, exact=False, sums=True, zeros=True)
def convolutions_that_cut(node: Node) -> None:
    """Pixels are cut off images, up to two along an axis at a time, by a kernel with a 1 for the pixel that stays, and zeros.

    The last convolution has the steps of the Slice as strides.
    """
    ranges = _ranges(node)
    if ranges is None:
        return
    before = [chosen.start for chosen in ranges]
    behind = [max(length - chosen[-1] - chosen.step, 0) for length, chosen in zip(node.need_shape(0)[2:], ranges, strict=True)]
    value, steps = node.input(0), [chosen.step for chosen in ranges]
    turns = max(1, *(ceil(sum(cut) / 2) for cut in zip(before, behind, strict=True)))
    if turns > _MOST_TURNS:
        return
    for turn in range(turns, 0, -1):
        first = [min(cut, 2) for cut in before]
        last = [min(cut, 2 - done) for cut, done in zip(behind, first, strict=True)]
        before = [cut - done for cut, done in zip(before, first, strict=True)]
        behind = [cut - done for cut, done in zip(behind, last, strict=True)]
        window = [begin + end + 1 for begin, end in zip(first, last, strict=True)]
        strides = {"strides": steps} if turn == 1 and max(steps) > 1 else {}
        value = _convolved(node, value, window, first, **strides)
    node.give(value)


def _ranges(node: Node) -> list[range] | None:
    """The rows and the columns that a Slice takes of images of floats, by constants and forward; None for other nodes."""
    stated = [node.constant(index) if node.has_input(index) else None for index in range(1, 5)]
    starts, ends, axes, steps = stated
    if node.opset < 10 or starts is None or ends is None or axes is None or node.has_input(4) != (steps is not None):
        return None
    shape = node.need_shape(0)
    if len(shape) != 4 or 0 in node.need_shape(node.output(0)) or node.need_elem_type() not in _FLOATS:
        return None
    chosen = [range(length) for length in shape]
    strides = np.ones_like(starts) if steps is None else steps
    for axis, *bounds in zip(axes.tolist(), starts.tolist(), ends.tolist(), strides.tolist(), strict=True):
        chosen[axis] = chosen[axis][slice(*bounds)]
    takes_all = chosen[:2] == [range(length) for length in shape[:2]]  # and in their order
    image = [range(each[0], each[0] + 1) if len(each) == 1 else each for each in chosen[2:]]
    return image if takes_all and min(each.step for each in image) > 0 else None


def _convolved(node: Node, value: str, window: Sequence[int] = (1, 1), place: Sequence[int] = (0, 0), **settings: Any) -> str:
    """`value` after a Conv of each channel with a kernel of the size `window` that has a 1 at `place`."""
    channels = node.need_dimension(1)
    kernel = np.zeros([channels, 1, *window])
    kernel[:, :, place[0], place[1]] = 1
    weights = node.op.const(kernel, node.need_elem_type())
    return node.op.Conv(value, weights, group=channels, kernel_shape=[*window], **settings)


_MOST_WEIGHTS = 2**20
"""The number of weights that may be stored for blocks."""


@express("DepthToSpace", opset=13, exact=False, sums=True, zeros=True, listed="ConvTranspose")
def channels_into_blocks(node: Node) -> None:
    """A ConvTranspose puts each channel at its place in the blocks, by weights of which one is 1 for each, and the others 0."""
    size = node.attr("blocksize")
    weights = _block_weights(node, node.need_dimension(1), size)
    if weights:
        node.become.ConvTranspose(node.input(0), weights, kernel_shape=[size, size], strides=[size, size])


@express("SpaceToDepth", opset=13, exact=False, sums=True, zeros=True, listed="Conv")
def blocks_into_channels(node: Node) -> None:
    """A Conv takes each pixel of the blocks to a channel, by weights of which one is 1 for each, and the others 0."""
    size = node.attr("blocksize")
    weights = _block_weights(node, node.need_dimension(1) * size**2, size)
    if weights:
        node.become.Conv(node.input(0), weights, kernel_shape=[size, size], strides=[size, size])


def _block_weights(node: Node, depth: int, size: int) -> str:
    """The weights [depth, channels, size, size] that have a 1 for each of `depth` channels, where its pixel is in the blocks; ""
    where they are too many, or a convolution does not take the type.
    """
    if depth**2 > _MOST_WEIGHTS or 0 in node.need_shape(0) or node.need_elem_type() not in _FLOATS:
        return ""
    channels, order = depth // size**2, np.arange(depth)
    if node.attr("mode", "DCR") == "CRD":
        places = np.unravel_index(order, [channels, size, size])
    else:
        row, column, channel = np.unravel_index(order, [size, size, channels])
        places = (channel, row, column)
    weights = np.zeros([depth, channels, size, size])
    weights[(order, *places)] = 1
    return node.op.const(weights, node.need_elem_type())
