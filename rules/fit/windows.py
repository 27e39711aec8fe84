"""Convolutions as products with the elements that their windows see, and blocks of pixels as convolutions.

https://onnx.ai/onnx/operators/onnx__Conv.html, https://onnx.ai/onnx/operators/onnx__DepthToSpace.html
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
_MOST_PLACES = 2**18
"""The most places from which the elements of windows are gathered."""


class _Windows(NamedTuple):
    """Where the windows of a Conv stand in its data, with a value for each spatial axis."""

    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    """The number of elements before each axis, and then behind each."""


def _windows(node: Node, kernel: Sequence[int]) -> _Windows | None:
    """The windows of a node, whose lengths are `kernel`; None where padding or their number is not plainly stated."""
    count = len(kernel)
    if node.attr("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or node.attr("ceil_mode", 0):
        return None
    ones = [1] * count
    return _Windows(kernel, node.attr("strides", ones), node.attr("dilations", ones), node.attr("pads", [0] * 2 * count))


@express("Conv", opset=13, exact=False, sums=True, listed="Gather")
def product_with_gathered_windows(node: Node) -> None:
    """The elements that each window sees are gathered, and the kernel, as a matrix, is multiplied by them."""
    shape, weights, result = node.need_shape(0), node.need_shape(1), node.need_shape(node.output(0))
    windows, group = _windows(node, weights[2:]), node.attr("group", 1)
    if windows is None or 0 in (*shape, *weights, *result) or node.need_elem_type() not in _FLOATS:
        return
    taps, count = prod(windows.kernel), prod(result[2:])
    if taps * count > _MOST_PLACES or weights[1] * group != shape[1] or (group > 1 and count == 1):
        return  # one window of each group, as for a mean, has shorter forms
    op, (batch, channels), outputs = node.op, shape[:2], weights[0]
    sizes, value = _padded_sizes(shape[2:], windows.pads), node.input(0)
    if any(windows.pads):
        half = len(windows.kernel)
        value = op.Pad(value, op.int64([0, 0, *windows.pads[:half], 0, 0, *windows.pads[half:]]))
    if len(sizes) > 1:
        value = op.Reshape(value, op.int64([batch, channels, prod(sizes)]))
    seen = op.Gather(value, op.int64(_places(windows, sizes, result[2:])), axis=2)
    several, rows = ([group] if group > 1 else []), weights[1] * taps
    seen = op.Reshape(seen, op.int64([batch, *several, rows, count]))
    matrix = op.Reshape(node.input(1), op.int64([*several, outputs // group, rows]))
    product = op.Reshape(op.MatMul(matrix, seen), op.int64([*result]))
    if not node.has_input(2):
        node.give(product)
        return
    bias = op.Reshape(node.input(2), op.int64([outputs, *[1] * len(sizes)]))
    node.become.Add(product, bias)


def _padded_sizes(lengths: Sequence[int], pads: Sequence[int]) -> list[int]:
    return [length + first + last for length, first, last in zip(lengths, pads[: len(lengths)], pads[len(lengths) :], strict=True)]


def _places(windows: _Windows, sizes: Sequence[int], counts: Sequence[int]) -> np.ndarray:
    """For each element of the windows, and each of their `counts` places, where that is in flattened data of these sizes."""
    rank, found = len(sizes), np.zeros([1] * 2 * len(sizes), np.int64)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        steps = np.arange(windows.kernel[axis])[:, None] * windows.dilations[axis] + np.arange(count) * windows.strides[axis]
        aligned = [1] * 2 * rank
        aligned[axis], aligned[rank + axis] = steps.shape
        found = found * size + steps.reshape(aligned)
    return found.reshape(prod(windows.kernel), prod(counts))


@express("DepthToSpace", opset=13, exact=False, sums=True, zeros=True, listed="ConvTranspose")
def transposed_convolution_of_single_pixels(node: Node) -> None:
    """A ConvTranspose puts each channel at its place in the blocks, by weights of which one is 1 for each, and the others 0."""
    size, (_, depth) = node.attr("blocksize"), node.need_shape(0)[:2]
    places = _block_places(depth // size**2, size, node.attr("mode", "DCR") == "CRD")
    if _may_be_stored(node, depth * depth):
        weights = np.zeros([depth, depth // size**2, size, size])
        weights[(np.arange(depth), *places)] = 1
        stored = node.op.const(weights, node.need_elem_type())
        node.become.ConvTranspose(node.input(0), stored, kernel_shape=[size, size], strides=[size, size])


@express("SpaceToDepth", opset=13, exact=False, sums=True, zeros=True, listed="Conv")
def convolution_of_single_pixels_of_blocks(node: Node) -> None:
    """A Conv takes each pixel of the blocks to a channel, by weights of which one is 1 for each, and the others 0."""
    size, (_, channels) = node.attr("blocksize"), node.need_shape(0)[:2]
    depth = channels * size**2
    if _may_be_stored(node, depth * depth):
        weights = np.zeros([depth, channels, size, size])
        weights[(np.arange(depth), *_block_places(channels, size, is_column_first=False))] = 1
        stored = node.op.const(weights, node.need_elem_type())
        node.become.Conv(node.input(0), stored, kernel_shape=[size, size], strides=[size, size])


_MOST_WEIGHTS = 2**20
"""The number of weights that may be stored for moving pixels."""


def _may_be_stored(node: Node, count: int) -> bool:
    """Whether so many weights may be stored for a node of floats that a convolution takes."""
    return (
        count <= _MOST_WEIGHTS and 0 not in node.need_shape(0) and node.need_elem_type() in (TensorProto.FLOAT, TensorProto.FLOAT16)
    )


def _block_places(channels: int, size: int, is_column_first: bool) -> list[np.ndarray]:
    """For each channel before DepthToSpace, its channel, row and column in the blocks behind it."""
    order = [channels, size, size] if is_column_first else [size, size, channels]
    found = list(np.unravel_index(np.arange(prod(order)), order))
    return found if is_column_first else [found[2], found[0], found[1]]
