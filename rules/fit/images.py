"""Convolutions, poolings and resizes of images in other forms of themselves.

https://onnx.ai/onnx/operators/onnx__Conv.html, https://onnx.ai/onnx/operators/onnx__AveragePool.html,
https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

from itertools import zip_longest
from math import gcd, prod
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node
from ..shared.spelled_resize import weights_along_axes

_SMALL = 3
"""The size of the windows that a larger one is made of."""
_SAME = ("SAME_UPPER", "SAME_LOWER")
_WIDEST_AVERAGE = 17
"""The number of copies of pixels, along an axis, of which an average may be taken."""
_MOST_WEIGHTS = 2**24
"""The number of weights, along an axis, that are looked at for averages."""


@express(("Conv", "MaxPool", "AveragePool"), opset=13)
def with_pads(node: Node) -> None:
    """The padding that auto_pad implies is stated as pads."""
    mode = node.attr("auto_pad", "NOTSET")
    if mode not in (*_SAME, "VALID") or node.attr("ceil_mode", 0):
        return
    sizes, results = node.need_shape()[2:], node.need_shape(node.output(0))[2:]
    count = len(sizes)
    kernel = node.attr("kernel_shape") or [*node.need_shape(1)[2:]]
    strides, dilations = node.attr("strides", [1] * count), node.attr("dilations", [1] * count)
    if mode == "VALID":
        pads = [0] * (2 * count)
    else:
        rows = zip(sizes, results, kernel, strides, dilations, strict=True)
        total = [max((out - 1) * stride + (size - 1) * dilation + 1 - length, 0) for length, out, size, stride, dilation in rows]
        less, more = [pad // 2 for pad in total], [pad - pad // 2 for pad in total]
        pads = [*less, *more] if mode == "SAME_UPPER" else [*more, *less]
    node.pop_attr("auto_pad")
    node.set_attr("pads", pads)


@express(("AveragePool", "MaxPool"), opset=13)
def pooling_in_two_dimensions(node: Node) -> None:
    """Pooling along one axis becomes that over two, the first of which has the length 1."""
    shape, result = node.need_shape(0), node.need_shape(node.output(0))
    if len(shape) != 3 or 0 in (*shape, *result) or node.attr("auto_pad", "NOTSET") != "NOTSET" or node.has_output(1):
        return
    op, (first, last) = node.op, node.attr("pads", [0, 0])
    beside = {name: [1, *node.attr(name)] for name in ("kernel_shape", "strides", "dilations") if node.has_attr(name)}
    beside |= {name: node.attr(name) for name in ("ceil_mode", "count_include_pad") if node.has_attr(name)}
    data = op.Reshape(node.input(0), op.int64([*shape[:2], 1, shape[2]]))
    pooled = getattr(op, node.op_type)(data, pads=[0, first, 0, last], opset=node.opset, **beside)
    node.become.Reshape(pooled, op.int64([*result]))


@express("AveragePool", opset=13)
def without_padding_to_count(node: Node) -> None:
    """Without padding it does not matter whether padding is counted: count_include_pad changes to the other value."""
    if any(node.attr("pads", [])) or node.attr("auto_pad", "NOTSET") in _SAME or node.attr("ceil_mode", 0):
        return
    node.set_attr("count_include_pad", 1 - node.attr("count_include_pad", 0))


@express(("AveragePool", "MaxPool"), opset=13)
def with_whole_windows(node: Node) -> None:
    """ceil_mode goes where all windows are whole."""
    if not node.attr("ceil_mode", 0) or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return
    sizes, kernel = node.need_shape()[2:], node.attr("kernel_shape")
    ones = [1] * len(sizes)
    strides, dilations, pads = node.attr("strides", ones), node.attr("dilations", ones), node.attr("pads", [0] * 2 * len(sizes))
    rows = zip(sizes, kernel, strides, dilations, pads[: len(sizes)], pads[len(sizes) :], strict=True)
    if all((size + first + last - (width - 1) * step - 1) % stride == 0 for size, width, stride, step, first, last in rows):
        node.set_attr("ceil_mode", 0)


@express("MaxPool", opset=13)
def with_padding_for_the_last_windows(node: Node) -> None:
    """ceil_mode goes, and the windows that reach beyond the end reach into padding, which is smaller than any element."""
    if not node.attr("ceil_mode", 0) or node.attr("auto_pad", "NOTSET") != "NOTSET" or node.has_output(1):
        return
    sizes, results, kernel = node.need_shape()[2:], node.need_shape(node.output(0))[2:], node.attr("kernel_shape")
    ones = [1] * len(sizes)
    strides, dilations, pads = node.attr("strides", ones), node.attr("dilations", ones), node.attr("pads", [0] * 2 * len(sizes))
    first, last = pads[: len(sizes)], pads[len(sizes) :]
    rows = zip(sizes, results, kernel, strides, dilations, first, strict=True)
    ends = [(out - 1) * stride + (width - 1) * step + 1 - size - pad for size, out, width, stride, step, pad in rows]
    needed = [max(end, pad) for end, pad in zip(ends, last, strict=True)]
    rows = zip(sizes, results, kernel, strides, dilations, first, needed, strict=True)
    counts_stay = all(
        (size + pad + end - (width - 1) * step - 1) // stride + 1 == out for size, out, width, stride, step, pad, end in rows
    )
    if counts_stay and all(pad < width for pad, width in zip(needed, kernel, strict=True)):
        node.set_attr("ceil_mode", 0)
        node.set_attr("pads", [*first, *needed])


@express("AveragePool", opset=13, exact=False, sums=True)
def convolution_with_equal_weights(node: Node) -> None:
    """An average over whole windows, or windows whose padding counts, becomes a convolution of each channel with equal weights."""
    kernel, channels = node.attr("kernel_shape"), node.need_dimension(1)
    is_plain = not node.attr("ceil_mode", 0) and node.attr("auto_pad", "NOTSET") == "NOTSET"
    if not is_plain or (any(node.attr("pads", [])) and not node.attr("count_include_pad", 0)):
        return
    count = len(kernel)
    pads, steps = node.attr("pads", [0] * 2 * count), node.attr("dilations", [1] * count)
    rows = zip(node.need_shape()[2:], pads[:count], pads[count:], kernel, steps, strict=True)
    if any(length + first + last <= (size - 1) * step for length, first, last, size, step in rows):
        return  # a window that is longer than its data
    weights = np.full((channels, 1, *kernel), 1 / prod(kernel))
    kept = {name: node.attr(name) for name in ("strides", "pads", "dilations") if node.has_attr(name)}
    stored = node.op.const(weights, node.need_elem_type())
    node.become.Conv(node.input(0), stored, group=channels, kernel_shape=[*kernel], **kept)


@express("AveragePool", opset=13, exact=False, sums=True)
def averages_of_averages(node: Node) -> None:
    """Windows whose sizes and strides have common factors are taken over averages of as many elements, which are so, too."""
    _pool_in_turns(node)


@express("MaxPool", opset=13)
def largest_of_the_largest(node: Node) -> None:
    """Windows whose sizes and strides have common factors are taken over the largest of as many elements, which are so, too."""
    if not node.has_output(1):
        _pool_in_turns(node)


def _pool_in_turns(node: Node) -> None:
    kernel = node.attr("kernel_shape")
    ones = [1] * len(kernel)
    strides = node.attr("strides", ones)
    is_plain = not node.attr("ceil_mode", 0) and node.attr("auto_pad", "NOTSET") in ("NOTSET", "VALID")
    if not is_plain or any(node.attr("pads", [])) or node.attr("dilations", ones) != ones:
        return
    if any(length < size for length, size in zip(node.need_shape()[2:], kernel, strict=True)):
        return
    pool, value = getattr(node.op, node.op_type), node.input(0)
    while max(kernel) > _SMALL:
        factors = [_prime_factors(gcd(size, stride)) for size, stride in zip(kernel, strides, strict=True)]
        window = [found[0] if found and size > _SMALL else 1 for found, size in zip(factors, kernel, strict=True)]
        if window == ones:
            break
        value = pool(value, kernel_shape=window, strides=window, opset=node.opset)
        kernel, strides = ([size // factor for size, factor in zip(sizes, window, strict=True)] for sizes in (kernel, strides))
    if value != node.input(0):
        getattr(node.become, node.op_type)(value, kernel_shape=kernel, strides=strides)


@express(("Conv", "MaxPool", "AveragePool"), opset=13)
def with_strides_of_one(node: Node) -> None:
    """Where a window is as long as all of an axis, with its padding, the stride does not matter, and becomes 1."""
    if node.attr("auto_pad", "NOTSET") in _SAME or node.attr("ceil_mode", 0) or not node.has_attr("strides"):
        return
    sizes, kernel, strides = node.need_shape()[2:], node.attr("kernel_shape") or node.need_shape(1)[2:], node.attr("strides")
    pads, dilations = node.attr("pads", [0] * 2 * len(sizes)), node.attr("dilations", [1] * len(sizes))
    rows = zip(sizes, pads[: len(sizes)], pads[len(sizes) :], kernel, dilations, strides, strict=True)
    changed = [1 if size + first + last == (width - 1) * step + 1 else stride for size, first, last, width, step, stride in rows]
    if changed != strides:
        node.set_attr("strides", changed)


@express("MaxPool", opset=13)
def small_windows_in_turn(node: Node) -> None:
    """A window that moves by one becomes several of 3, each over what the one before it gives."""
    kernel = node.attr("kernel_shape")
    ones, none = [1] * len(kernel), [0] * 2 * len(kernel)
    moves = [*node.attr("strides", ones), *node.attr("dilations", ones)]
    is_plain = not node.attr("ceil_mode", 0) and node.attr("auto_pad", "NOTSET") == "NOTSET" and not node.has_output(1)
    if not is_plain or max(moves) > 1 or max(kernel) <= _SMALL:
        return
    value, left, pads = node.input(0), list(kernel), list(node.attr("pads", none))
    while max(left) > _SMALL:
        window = [min(size, _SMALL) for size in left]
        left = [size - small + 1 for size, small in zip(left, window, strict=True)]
        rows = zip(pads, [*window, *window], [*left, *left], strict=True)
        now = [max(min(pad, (small - 1) // 2), pad - rest + 1) for pad, small, rest in rows]
        pads = [pad - done for pad, done in zip(pads, now, strict=True)]
        value = node.op.MaxPool(value, kernel_shape=window, pads=now)
    node.become.MaxPool(value, kernel_shape=left, pads=pads)


@express(("DepthToSpace", "SpaceToDepth"), opset=13)
def transposed_blocks(node: Node) -> None:
    """A Reshape that gives each block axes of its own, a Transpose, and a Reshape."""
    size, shape, result = node.attr("blocksize"), node.need_shape(0), node.need_shape(node.output(0))
    if 0 in shape:
        return
    is_split_apart = node.op_type == "DepthToSpace"
    batch, depth, height, width = result if is_split_apart else shape
    height, width = (height // size, width // size)
    if node.attr("mode", "DCR") == "CRD":
        apart, perm = [batch, depth, size, size, height, width], [0, 1, 4, 2, 5, 3]
    else:
        apart, perm = [batch, size, size, depth, height, width], [0, 3, 4, 1, 5, 2]
    if not is_split_apart:
        apart, perm = [apart[axis] for axis in perm], [perm.index(axis) for axis in range(6)]
    op = node.op
    moved = op.Transpose(op.Reshape(node.input(0), op.int64(apart)), perm=perm)
    node.become.Reshape(moved, op.int64([*result]))


@express("Resize", opset=13)
def with_blocks_of_equal_pixels(node: Node) -> None:
    """An enlargement to the nearest pixel by whole factors takes another of the forms that mean the same.

    These are asymmetric with floor, and half_pixel with round_prefer_floor.
    """
    if not _whole_factors(node):
        return
    mode, rounding = node.attr("coordinate_transformation_mode", "half_pixel"), node.attr("nearest_mode", "round_prefer_floor")
    if (mode, rounding) == ("asymmetric", "floor"):
        node.pop_attr("nearest_mode")
        node.set_attr("coordinate_transformation_mode", "half_pixel")
    elif mode == "half_pixel" and rounding in ("round_prefer_floor", "round_prefer_ceil"):
        node.set_attr("coordinate_transformation_mode", "asymmetric")
        node.set_attr("nearest_mode", "floor")


_LARGEST_FACTOR = 64
"""The factor up to which an enlargement is divided into several."""


@express("Resize", opset=13)
def enlarged_in_turns(node: Node) -> None:
    """An enlargement to the nearest pixel by a factor of 4, 6 or more becomes several, each by one of the factors of that."""
    copies = _copies_of_pixels(node)
    if not copies or max(copies) > _LARGEST_FACTOR:
        return
    steps = [_prime_factors(factor) for factor in copies]
    turns = max(map(len, steps), default=0)
    if turns < 2:
        return
    value, region, op = node.input(0), node.input(1), node.op
    kept = {name: node.attr(name) for name in ("mode", "coordinate_transformation_mode", "nearest_mode") if node.has_attr(name)}
    scales = [op.const(list(turn), TensorProto.FLOAT) for turn in zip_longest(*steps, fillvalue=1)]
    for scale in scales[:-1]:
        value = op.Resize(value, region, scale, opset=node.opset, **kept)
    node.become.Resize(value, region, scales[-1], **kept)


def _prime_factors(number: int) -> list[int]:
    """The prime factors of a number from 1 on, the smallest first."""
    found, factor = [], 2
    while number > 1:
        if number % factor:
            factor += 1
        else:
            found.append(factor)
            number //= factor
    return found


@express("Resize", opset=13)
def transposed_convolution(node: Node) -> None:
    """An enlargement to the nearest pixel by whole factors becomes a ConvTranspose of each channel with a kernel of ones."""
    factors = _copies_of_pixels(node)
    if not factors or len(factors) != 4:
        return
    channels, window = node.need_dimension(1), list(factors[2:])
    weights = node.op.const(np.ones([channels, 1, *window]), node.need_elem_type())
    node.become.ConvTranspose(node.input(0), weights, kernel_shape=window, strides=window, group=channels)


_LARGEST_MATRIX = 2**20
"""The number of weights that may be stored for an axis that is resampled."""


@express("Resize", opset=13, exact=False, sums=True, zeros=True)
def products_with_stored_weights(node: Node) -> None:
    """Along each of the last two axes the data is multiplied by a stored matrix of weights, most of which are 0."""
    rank = node.need_rank()
    matrices = weights_along_axes(node) if node.opset >= 11 and rank >= 2 else None
    if not matrices or min(matrices) < rank - 2 or max(matrix.size for matrix in matrices.values()) > _LARGEST_MATRIX:
        return
    op, kind, value = node.op, node.need_elem_type(), node.input(0)
    if rank - 1 in matrices:
        value = op.MatMul(value, op.const(matrices[rank - 1].T, kind))
    if rank - 2 in matrices:
        value = op.MatMul(op.const(matrices[rank - 2], kind), value)
    node.give(value)


@express("Resize", opset=13, exact=False, sums=True)
def averages_of_copied_pixels(node: Node) -> None:
    """A linear enlargement by whole factors becomes one to the nearest pixel, of which a Conv of each channel takes averages.

    At the border, where its windows see zeros of the padding, a product with stored numbers makes up for them.
    """
    is_linear = node.attr("mode", "nearest") == "linear" and node.opset >= 11 and node.need_rank() == 4
    matrices = weights_along_axes(node) if is_linear else None
    if not matrices or min(matrices) < 2 or node.need_elem_type() != TensorProto.FLOAT:
        return
    windows = [_window_over_copies(matrices[axis]) if axis in matrices else _Window(1, np.ones(1), 0) for axis in (2, 3)]
    if None in windows:
        return
    down, right = (window for window in windows if window)
    op, kind, channels = node.op, TensorProto.FLOAT, node.need_dimension(1)
    height, width = node.need_shape(node.output(0))[2:]
    scales = op.const([1, 1, down.factor, right.factor], TensorProto.FLOAT)
    copies = op.Resize(node.input(0), "", scales, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    kernel = np.broadcast_to(np.outer(down.weights, right.weights), [channels, 1, len(down.weights), len(right.weights)])
    pads = [down.before, right.before, len(down.weights) - 1 - down.before, len(right.weights) - 1 - right.before]
    averages = op.Conv(copies, op.const(kernel, kind), group=channels, kernel_shape=[*kernel.shape[2:]], pads=pads)
    missing = np.outer(1 / down.sums(height), 1 / right.sums(width))[None, None]
    node.become.Mul(averages, op.const(missing, kind))


class _Window(NamedTuple):
    """The copies of pixels, along an axis, of which an element of the result is the average."""

    factor: int
    """How often each pixel is copied."""
    weights: np.ndarray
    before: int
    """How many of the weights are for copies before the place of the element."""

    def sums(self, length: int) -> np.ndarray:
        """For each of `length` elements of the result, the sum of the weights of the copies that there are."""
        behind = len(self.weights) - 1 - self.before
        return np.convolve(np.ones(length), self.weights[::-1])[behind : behind + length]

    def matrix(self, length: int) -> np.ndarray:
        """The weights [resized, length] by which elements of the result are sums of `length` pixels."""
        resized = length * self.factor
        found = np.zeros([resized, length])
        for shift, weight in enumerate(self.weights, -self.before):
            rows = np.arange(max(-shift, 0), min(resized - shift, resized))
            found[rows, (rows + shift) // self.factor] += weight
        return found / found.sum(axis=1, keepdims=True)


def _window_over_copies(wanted: np.ndarray) -> _Window | None:
    """The window that gives the weights [resized, length] of an enlargement: around each element, or beginning at it."""
    resized, length = wanted.shape
    factor, rest = divmod(resized, length)
    if rest or not 1 < factor < _WIDEST_AVERAGE or wanted.size > _MOST_WEIGHTS:
        return None
    around = np.ones(factor + 1 - factor % 2)
    if factor % 2 == 0:
        around[[0, -1]] = 0.5
    known = (_Window(factor, around / factor, factor // 2), _Window(factor, np.ones(factor) / factor, 0))
    return next((window for window in known if np.allclose(window.matrix(length), wanted, rtol=0, atol=1e-6)), None)


_MOST_COPIES = 16
"""The number of times that a pixel may be repeated along an axis by a Concat."""


@express("Resize", opset=13)
def repeated_pixels(node: Node) -> None:
    """An enlargement to the nearest pixel by whole factors joins copies along a new axis behind each axis that grows."""
    factors, sizes = _copies_of_pixels(node), list(node.need_shape(0))
    if not factors or max(factors) > _MOST_COPIES:
        return
    op, value = node.op, node.input(0)
    for axis, factor in enumerate(factors):
        if factor > 1:
            apart = op.Reshape(value, op.int64([prod(sizes[: axis + 1]), 1, prod(sizes[axis + 1 :])]))
            value = op.Concat(*[apart] * factor, axis=1)
            sizes[axis] *= factor
    node.become.Reshape(value, op.int64(sizes))


def _copies_of_pixels(node: Node) -> tuple[int, ...] | None:
    """The whole factors of an enlargement that repeats each pixel as often; None for other nodes."""
    mode, rounding = node.attr("coordinate_transformation_mode", "half_pixel"), node.attr("nearest_mode", "round_prefer_floor")
    known = (("asymmetric", "floor"), ("half_pixel", "round_prefer_floor"), ("half_pixel", "round_prefer_ceil"))
    factors = _whole_factors(node)
    return factors if (mode, rounding) in known and factors and max(factors) > 1 else None


def _whole_factors(node: Node) -> tuple[int, ...] | None:
    """The factors of an enlargement of images to the nearest pixel, all of them whole; None for other nodes."""
    is_plain = node.attr("mode", "nearest") == "nearest" and not node.has_attr("axes") and node.opset >= 11
    if not is_plain or node.attr("antialias", 0) or node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    before, after = node.need_shape(0), node.need_shape(node.output(0))
    factors = tuple(new // old for old, new in zip(before, after, strict=True) if old)
    scales = node.constant(2) if node.has_input(2) else None
    if len(factors) != len(before) or tuple(b * f for b, f in zip(before, factors, strict=True)) != after or factors[:2] != (1, 1):
        return None
    return None if scales is not None and scales.size and tuple(scales.tolist()) != factors else factors
