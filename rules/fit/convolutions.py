"""Convolutions without padding, without dilations and without transposition, for runtimes that have none of these.

https://onnx.ai/onnx/operators/onnx__Conv.html, https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)


_MOST_STORED = 2**23
"""The number of weights that may be stored for a Conv with zeros among them."""


@express("Conv", opset=13, exact=False, sums=True, zeros=True, heavy=True)
def dense_groups(node: Node) -> None:
    """A Conv in groups becomes one of all channels, with zeros for those of other groups."""
    count, kernel, channels = node.attr("group", 1), node.need_shape(1), node.need_dimension(1)
    weights = node.constant(1) if count > 1 and kernel[0] * channels * prod(kernel[2:]) <= _MOST_STORED else None
    if weights is None or weights.dtype not in (np.float16, np.float32, np.float64):
        return
    of_each = kernel[0] // count
    dense = np.zeros([kernel[0], channels, *kernel[2:]], weights.dtype)
    for group in range(count):
        rows, columns = (slice(group * size, (group + 1) * size) for size in (of_each, kernel[1]))
        dense[rows, columns] = weights[rows]
    node.set_input(1, node.op.const(dense, weights.dtype))
    node.pop_attr("group")


@express("Conv", opset=13, exact=False, sums=True, zeros=True)
def zeros_between_weights(node: Node) -> None:
    """A dilated Conv becomes one with zeros between its weights."""
    kernel = node.need_shape(1)
    steps = node.attr("dilations", [1] * (len(kernel) - 2))
    lengths = [(size - 1) * step + 1 for size, step in zip(kernel[2:], steps, strict=True)]
    weights = node.constant(1) if max(steps) > 1 and prod([*kernel[:2], *lengths]) <= _MOST_STORED else None
    if weights is None:
        return
    wide = np.zeros([*kernel[:2], *lengths], weights.dtype)
    wide[(..., *(slice(None, None, step) for step in steps))] = weights
    node.set_input(1, node.op.const(wide, weights.dtype))
    node.pop_attr("dilations")
    node.set_attr("kernel_shape", lengths)


@express("Conv", opset=13, exact=False, sums=True, zeros=True)
def with_equal_pads(node: Node) -> None:
    """Where the padding at both ends of an axis differs, the kernel gets zeros at one end, and the padding is as long as there."""
    pads, kernel = node.attr("pads", []), node.need_shape(1)
    count = len(kernel) - 2
    first, last = pads[:count], pads[count:]
    if first == last or node.attr("auto_pad", "NOTSET") != "NOTSET" or node.attr("dilations", [1] * count) != [1] * count:
        return
    weights = node.constant(1)
    if weights is None:
        return
    rows = list(zip(first, last, strict=True))
    if prod(kernel[:2]) * prod(size + abs(end - begin) for size, (begin, end) in zip(kernel[2:], rows, strict=True)) > _MOST_STORED:
        return
    wide = np.pad(weights, [(0, 0), (0, 0), *((max(end - begin, 0), max(begin - end, 0)) for begin, end in rows)])
    node.set_input(1, node.op.const(wide, weights.dtype))
    node.set_attr("pads", [max(row) for row in rows] * 2)
    node.set_attr("kernel_shape", [*wide.shape[2:]])


@express("Conv", opset=13, exact=False, sums=True, zeros=True)
def square_kernel(node: Node) -> None:
    """A kernel that is longer along one axis of an image gets zeros at both ends of the other, where the padding grows as well."""
    kernel, steps, pads = node.need_shape(1), node.attr("dilations", [1, 1]), node.attr("pads", [0] * 4)
    missing = [max(kernel[2:]) - size for size in kernel[2:]]
    if len(missing) != 2 or not any(missing) or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return
    weights = node.constant(1) if prod(kernel[:2]) * max(kernel[2:]) ** 2 <= _MOST_STORED else None
    if weights is None:
        return
    first = [size // 2 for size in missing]
    last = [size - before for size, before in zip(missing, first, strict=True)]
    wide = np.pad(weights, [(0, 0), (0, 0), *zip(first, last, strict=True)])
    node.set_input(1, node.op.const(wide, weights.dtype))
    node.set_attr("kernel_shape", [*wide.shape[2:]])
    node.set_attr("pads", [pad + size * step for pad, size, step in zip(pads, first + last, steps * 2, strict=True)])


@express(("Conv", "AveragePool"), opset=13, exact=False, sums=True)
def padded_with_zeros(node: Node) -> None:
    """A Pad goes before the node, which has no padding of its own then. That of an average has to count."""
    if node.op_type == "Conv" or node.attr("count_include_pad", 0):
        _pad_before(node)


@express("MaxPool", opset=13)
def padded_with_infinity(node: Node) -> None:
    """A Pad with negative infinity goes before the node, which then has none of its own. Each dense window sees an element."""
    kernel = node.attr("kernel_shape")
    is_dense = max(node.attr("dilations", [1])) == 1
    if (
        is_dense
        and not node.has_output(1)
        and all(pad < size for pad, size in zip(node.attr("pads", []), [*kernel, *kernel], strict=False))
    ):
        _pad_before(node, -np.inf)


def _pad_before(node: Node, value: float = 0) -> None:
    """Put a Pad with `value` before a node of floats that states its padding, and remove that."""
    pads, kind = node.attr("pads", []), node.need_elem_type()
    is_plain = node.attr("auto_pad", "NOTSET") == "NOTSET" and not node.attr("ceil_mode", 0)
    if not any(pads) or not is_plain or kind not in _FLOATS:
        return
    count, op = len(pads) // 2, node.op
    stated = [op.const(value, kind)] if value else []
    node.set_input(0, op.Pad(node.input(0), op.int64([0, 0, *pads[:count], 0, 0, *pads[count:]]), *stated))
    node.pop_attr("pads")
    node.pop_attr("count_include_pad")


@express("Gather", opset=13, exact=False, sums=True, zeros=True, listed="Conv")
def convolution_of_chosen_channels(node: Node) -> None:
    """Constant places along an axis, which become channels, come from a Conv of 1×1 with a weight of 1 for each, and zeros."""
    shape, places, kind = node.need_shape(0), node.constant(1), node.need_elem_type()
    if 0 in shape or kind not in (TensorProto.FLOAT, TensorProto.FLOAT16) or places is None:  # runtimes have no Conv of double
        return
    axis = node.attr("axis", 0) % len(shape)
    count, places = shape[axis], places.reshape(-1)
    if not 0 < places.size <= _MOST_STORED // count or abs(places + 0.5).max() > count:
        return
    chosen = np.zeros([places.size, count, 1, 1])
    chosen[np.arange(places.size), places] = 1
    op, weights = node.op, node.op.const(chosen, kind)
    if (len(shape), axis, node.need_rank(1)) == (4, 1, 1):
        node.become.Conv(node.input(0), weights, kernel_shape=[1, 1])
        return
    pixels = op.Reshape(node.input(0), op.int64([prod(shape[:axis]), count, prod(shape[axis + 1 :]), 1]))
    node.become.Reshape(op.Conv(pixels, weights, kernel_shape=[1, 1]), op.int64([*node.need_shape(node.output(0))]))


@express("ConvTranspose", opset=13, exact=False, sums=True)
def blocks_of_a_convolution(node: Node) -> None:
    """Where the windows stand side by side, a Conv of 1×1 gives the pixels of each window, and DepthToSpace puts them in place."""
    weights, bias = node.constant(1), node.constant(2) if node.has_input(2) else None
    if weights is None or (bias is None and node.has_input(2)) or weights.ndim != 4 or node.attr("group", 1) != 1:
        return
    channels, count, size, _ = weights.shape
    stand_side_by_side = node.attr("strides", [1, 1]) == [size, size] == [*weights.shape[2:]]
    is_plain = node.attr("auto_pad", "NOTSET") in ("NOTSET", "VALID") and node.attr("dilations", [1, 1]) == [1, 1]
    is_cut = any((*node.attr("pads", []), *node.attr("output_padding", []))) or node.has_attr("output_shape")
    if size < 2 or not stand_side_by_side or not is_plain or is_cut:
        return
    op = node.op
    kernel = weights.transpose(2, 3, 1, 0).reshape(size * size * count, channels, 1, 1)
    stored = [op.const(kernel, weights.dtype)]
    if bias is not None:
        stored.append(op.const(np.tile(bias, size * size), bias.dtype))
    node.become.DepthToSpace(op.Conv(node.input(0), *stored, kernel_shape=[1, 1]), blocksize=size)


@express("ConvTranspose", opset=13, exact=False, sums=True, zeros=True)
def blocks_of_a_padded_convolution(node: Node) -> None:
    """A Conv gives the pixels of each block by the weights that reach them, and zeros, and DepthToSpace puts them in place."""
    weights, bias = node.constant(1), node.constant(2) if node.has_input(2) else None
    shape, result = node.need_shape(0), node.need_shape(node.output(0))
    if weights is None or (bias is None and node.has_input(2)) or weights.ndim != 4 or node.attr("group", 1) != 1:
        return
    (size, other), pads = node.attr("strides", [1, 1]), node.attr("pads", [0] * 4)
    is_plain = node.attr("auto_pad", "NOTSET") == "NOTSET" and not node.has_attr("output_shape") and 0 not in (*shape, *result)
    if (
        not 1 < size == other
        or not is_plain
        or node.attr("dilations", [1, 1]) != [1, 1]
        or any(length % size for length in result[2:])
    ):
        return
    first = [-((pad - length + 1) // -size) for pad, length in zip(pads[:2], weights.shape[2:], strict=True)]
    last = [(size - 1 + pad) // size for pad in pads[:2]]
    reach = [end - begin for begin, end in zip(first, last, strict=True)]
    after = [
        out // size - length + begin + more for out, length, begin, more in zip(result[2:], shape[2:], first, reach, strict=True)
    ]
    if max(first) > 0 or min(after) < 0:
        return
    kernel = _of_blocks(weights, size, pads[:2], first, reach)
    stored = [node.op.const(kernel, weights.dtype)]
    if bias is not None:
        stored.append(node.op.const(np.tile(bias, size * size), bias.dtype))
    begins = [-begin for begin in first]
    found = node.op.Conv(node.input(0), *stored, kernel_shape=[*kernel.shape[2:]], pads=[*begins, *after])
    node.become.DepthToSpace(found, blocksize=size)


def _of_blocks(weights: np.ndarray, size: int, pads: Sequence[int], first: Sequence[int], reach: Sequence[int]) -> np.ndarray:
    """The weights of a Conv whose channels are the `size` times `size` pixels of each block, and then those of `weights`, of a
    ConvTranspose. Its window begins `first` pixels behind that of the block, and ends `reach` pixels later.
    """
    channels, count, *lengths = weights.shape
    kernel = np.zeros([size, size, count, channels, *(more + 1 for more in reach)], weights.dtype)
    places = [(row, column, *at) for row, column, *at in np.ndindex(size, size, *kernel.shape[4:])]
    for row, column, down, right in places:
        tap = [
            place + pad - (at + begin) * size
            for place, pad, at, begin in zip((row, column), pads, (down, right), first, strict=True)
        ]
        if all(0 <= place < length for place, length in zip(tap, lengths, strict=True)):
            kernel[row, column, :, :, down, right] = weights[:, :, tap[0], tap[1]].T
    return kernel.reshape(size * size * count, channels, *kernel.shape[4:])


@express("ConvTranspose", opset=13, exact=False, sums=True)
def convolution_of_spread_pixels(node: Node) -> None:
    """Zeros between the pixels, as many as the strides ask for, and a Conv with the mirrored kernel."""
    _convolve_spread(node, _spread)


@express("ConvTranspose", opset=13, exact=False, sums=True, zeros=True)
def convolution_of_masked_copies(node: Node) -> None:
    """Copies of the pixels, of which all but the first of each become zeros, and a Conv with the mirrored kernel."""
    if max(node.attr("strides", [1])) > 1:
        _convolve_spread(node, _masked_copies)


def _convolve_spread(node: Node, spread: Callable[[Node, tuple[int, ...], list[int]], str]) -> None:
    """Write a ConvTranspose as a Conv of its data with zeros between the pixels, which `spread` puts there."""
    weights, shape, result = node.constant(1), node.need_shape(0), node.need_shape(node.output(0))
    if weights is None or len(shape) != 4 or 0 in (*shape, *result) or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return
    if node.has_attr("output_shape") or node.need_elem_type() not in _FLOATS:
        return
    ones, kernel, group = [1, 1], weights.shape[2:], node.attr("group", 1)
    strides, dilations, pads = node.attr("strides", ones), node.attr("dilations", ones), node.attr("pads", [0] * 4)
    reach = [step * (size - 1) for step, size in zip(dilations, kernel, strict=True)]
    first = [width - pad for width, pad in zip(reach, pads[:2], strict=True)]
    rows = zip(result[2:], shape[2:], strides, first, reach, strict=True)
    last = [out - length * stride - pad + width for out, length, stride, pad, width in rows]
    if min(*first, *last) < 0:
        return
    mirrored = weights[:, :, ::-1, ::-1].reshape(group, -1, *weights.shape[1:]).swapaxes(1, 2)
    mirrored = np.ascontiguousarray(mirrored).reshape(-1, shape[1] // group, *kernel)
    stored = [node.op.const(mirrored, weights.dtype), *filter(None, [node.input(2)])]
    settings: dict[str, Any] = {"kernel_shape": [*kernel], "pads": [*first, *last]}
    settings |= _unusual(node, "dilations", ones) | _unusual(node, "group", 1)
    node.become.Conv(spread(node, shape, strides), *stored, **settings)


def _unusual(node: Node, name: str, usual: Any) -> dict[str, Any]:
    """The attribute `name` of the node; nothing where it has its usual value."""
    value = node.attr(name, usual)
    return {} if value == usual else {name: value}


def _spread(node: Node, shape: tuple[int, ...], strides: list[int]) -> str:
    """The images with `stride - 1` rows of zeros behind each row, and as many columns behind each column."""
    op, value = node.op, node.input(0)
    batch, channels, height, width = shape
    down, right = strides
    if down > 1:
        value = op.Reshape(value, op.int64([batch * channels, height, 1, width]))
        value = op.Pad(value, op.int64([0, 0, 0, 0, 0, 0, down - 1, 0]))
    if right > 1:
        value = op.Reshape(value, op.int64([batch * channels, height * down, width, 1]))
        value = op.Pad(value, op.int64([0, 0, 0, 0, 0, 0, 0, right - 1]))
    if value == node.input(0):
        return value
    return op.Reshape(value, op.int64([batch, channels, height * down, width * right]))


def _masked_copies(node: Node, shape: tuple[int, ...], strides: list[int]) -> str:
    """The images as `_spread` gives them, by an enlargement and a product with stored zeros and ones."""
    op, lengths = node.op, [length * stride for length, stride in zip(shape[2:], strides, strict=True)]
    scales = op.const([1, 1, *strides], TensorProto.FLOAT)
    copies = op.Resize(node.input(0), "", scales, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    mask = np.zeros([1, 1, *lengths])
    mask[:, :, :: strides[0], :: strides[1]] = 1
    return op.Mul(copies, op.const(mask, node.need_elem_type()))


@express("Conv", opset=13, exact=False, sums=True)
def every_second_pixel(node: Node) -> None:
    """A Conv of an even stride becomes one of half the stride, of whose result every second pixel stays."""
    kernel, strides, result = node.need_shape(1)[2:], node.attr("strides", []), node.need_shape(node.output(0))
    if node.opset < 10:  # whose Slice has no steps
        return
    if not strides or any(stride % 2 for stride in strides) or node.attr("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return
    kept = {name: node.attr(name) for name in ("auto_pad", "pads", "dilations", "group") if node.has_attr(name)}
    op, count = node.op, len(kernel)
    pixels = op.Conv(*node.inputs, kernel_shape=[*kernel], strides=[stride // 2 for stride in strides], **kept)
    ends, axes = [2 * size - 1 for size in result[2:]], [*range(2, count + 2)]
    node.become.Slice(pixels, op.int64([0] * count), op.int64(ends), op.int64(axes), op.int64([2] * count))


@express("Conv", opset=13, exact=False, sums=True)
def convolutions_of_each_phase(node: Node) -> None:
    """A dilated Conv of stride 1 becomes a dense one of images in the batch, each of which has every second pixel, or third."""
    shape, result, kernel = node.need_shape(0), node.need_shape(node.output(0)), node.need_shape(1)[2:]
    if len(shape) != 4 or 0 in (*shape, *result) or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return
    steps, pads = node.attr("dilations", [1, 1]), node.attr("pads", [0] * 4)
    if max(steps) == 1 or max(node.attr("strides", [1, 1])) > 1:
        return
    (batch, channels), (down, right), op = shape[:2], steps, node.op
    sizes = [length + first + last for length, first, last in zip(shape[2:], pads[:2], pads[2:], strict=True)]
    rest = [-size % step for size, step in zip(sizes, steps, strict=True)]
    height, width = ((size + more) // step for size, more, step in zip(sizes, rest, steps, strict=True))
    value, around = node.input(0), [*pads[:2], 0, 0, pads[2] + rest[0], pads[3] + rest[1]]
    if any(around):
        value = op.Pad(value, op.int64([0, 0, *around]))
    value = op.Reshape(value, op.int64([batch, channels, height, down, width, right]))
    value = op.Transpose(value, perm=[0, 3, 5, 1, 2, 4])
    value = op.Reshape(value, op.int64([batch * down * right, channels, height, width]))
    value = op.Conv(value, *node.inputs[1:], kernel_shape=[*kernel], **_unusual(node, "group", 1))
    height, width = (length - size + 1 for length, size in zip((height, width), kernel, strict=True))
    value = op.Reshape(value, op.int64([batch, down, right, result[1], height, width]))
    value = op.Transpose(value, perm=[0, 3, 4, 1, 5, 2])
    value = op.Reshape(value, op.int64([*result[:2], height * down, width * right]))
    if any(rest):
        value = op.Slice(value, op.int64([0, 0]), op.int64([*result[2:]]), op.int64([2, 3]))
    node.give(value)
