"""Means over axes, poolings of whole images, and normalizations, in terms of each other.

https://onnx.ai/onnx/operators/onnx__ReduceMean.html, https://onnx.ai/onnx/operators/onnx__GlobalAveragePool.html,
https://onnx.ai/onnx/operators/onnx__BatchNormalization.html, https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html
"""

from __future__ import annotations

from math import ceil, log2, prod

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node
from ..shared.axes import reduced_axes

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16)


def _is_of_the_image(node: Node) -> bool:
    """Whether the node reduces all axes behind the channels, and no pool refuses them for a length of 0."""
    rank = node.need_rank()
    return rank > 2 and reduced_axes(node) == list(range(2, rank)) and 0 not in (node.shape() or ())


def _give_with_rank(node: Node, value: str) -> None:
    """Give `value`, whose reduced axes have the length 1, without these where keepdims is 0."""
    if node.attr("keepdims", 1):
        node.give(value)
    else:
        node.become.Reshape(value, node.op.int64([*node.need_shape(node.output(0))]))


@express("ReduceMean", opset=13, exact=False, sums=True)
def pool_of_the_image(node: Node) -> None:
    """A mean over all axes behind the channels becomes a GlobalAveragePool, with a Reshape where the axes go."""
    if _is_of_the_image(node):
        _give_with_rank(node, node.op.GlobalAveragePool(node.input(0)))


@express("ReduceMax", opset=13)
def largest_of_the_image(node: Node) -> None:
    """A maximum over all axes behind the channels becomes a GlobalMaxPool, with a Reshape where the axes go."""
    if _is_of_the_image(node):
        _give_with_rank(node, node.op.GlobalMaxPool(node.input(0)))


@express("ReduceMean", opset=13, exact=False, sums=True)
def pool_of_an_axis(node: Node) -> None:
    """A mean over the last axis, or all axes behind one, becomes a GlobalAveragePool between Reshapes."""
    axes, shape = reduced_axes(node), node.need_shape()
    if not axes or axes != list(range(axes[0], len(shape))) or axes[0] == 0 or 0 in shape:
        return
    op = node.op
    image = op.Reshape(node.input(0), op.int64([1, prod(shape[: axes[0]]), 1, prod(shape[axes[0] :])]))
    node.become.Reshape(op.GlobalAveragePool(image), op.int64([*node.need_shape(node.output(0))]))


@express(("ReduceMean", "ReduceSum"), opset=13, exact=False, sums=True, listed="Conv")
def convolution_over_the_channels(node: Node) -> None:
    """A mean or a sum over the channels of images becomes a Conv of 1×1 with equal weights, with a Reshape where the axis goes."""
    shape = node.need_shape()
    if (
        len(shape) != 4
        or reduced_axes(node) != [1]
        or 0 in shape
        or node.need_elem_type() not in (TensorProto.FLOAT, TensorProto.FLOAT16)
    ):
        return
    weights = np.full([1, shape[1], 1, 1], 1 if node.op_type == "ReduceSum" else 1 / shape[1])
    _give_with_rank(node, node.op.Conv(node.input(0), node.op.const(weights, node.need_elem_type()), kernel_shape=[1, 1]))


_FEW = 64
"""The number of elements up to which a float16 holds the sum of those that are below 1000."""


@express("ReduceMean", opset=13, exact=False, sums=True)
def sum_by_count(node: Node) -> None:
    """The sum, multiplied by the reciprocal of the number of elements.

    Of many elements of float16, half of the factor comes before the sum, which a float16 might not hold.
    """
    axes, kind = reduced_axes(node), node.need_elem_type()
    count = prod(node.need_dimension(axis) for axis in axes or ())
    if not axes or not count or kind not in _FLOATS:
        return
    op, data, before = node.op, node.input(0), 1
    if kind == TensorProto.FLOAT16 and count > _FEW:
        before = 2 ** ceil(log2(count) / 2)
        data = op.Mul(data, op.const(1 / before, kind))
    total = op.ReduceSum(data, op.int64(axes), keepdims=node.attr("keepdims", 1))
    node.become.Mul(total, op.const(before / count, kind))


_LONGEST_COLUMN = 65_536
"""The number of equal numbers that may be stored for a sum."""


@express(("ReduceMean", "ReduceSum"), opset=13, exact=False, sums=True)
def product_with_a_column(node: Node) -> None:
    """A mean or a sum along the last axis becomes the product with a stored column of equal numbers."""
    shape, axes = node.need_shape(), reduced_axes(node)
    if shape and axes == [len(shape) - 1] and 0 < shape[-1] <= _LONGEST_COLUMN and 0 not in shape and _has_exact_sums(node):
        _give_with_rank(node, _times_a_column(node, node.input(0), shape[-1]))


@express(("GlobalAveragePool", "ReduceMean", "ReduceSum"), opset=13, exact=False, sums=True)
def product_of_a_matrix_with_a_column(node: Node) -> None:
    """A mean or a sum over the last axes becomes the product of a matrix with a stored column, between Reshapes."""
    shape = node.need_shape()
    axes = list(range(2, len(shape))) if node.op_type == "GlobalAveragePool" else reduced_axes(node)
    if not axes or axes != list(range(axes[0], len(shape))) or 0 in shape or not _has_exact_sums(node):
        return
    op, count = node.op, prod(shape[axes[0] :])
    if count <= _LONGEST_COLUMN:
        rows = op.Reshape(node.input(0), op.int64([prod(shape[: axes[0]]), count]))
        node.become.Reshape(_times_a_column(node, rows, count), op.int64([*node.need_shape(node.output(0))]))


def _has_exact_sums(node: Node) -> bool:
    """Whether the type is one whose sums are as exact in a product as by themselves."""
    return node.need_elem_type() in (TensorProto.FLOAT, TensorProto.DOUBLE)


def _times_a_column(node: Node, data: str, length: int) -> str:
    """The product of `data`, whose rows have this `length`, with a column that makes sums or means of them."""
    weight = 1 if node.op_type == "ReduceSum" else 1 / length
    return node.op.MatMul(data, node.op.const(np.full([length, 1], weight), node.need_elem_type()))


@express(("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"), opset=13, exact=False, sums=True)
def over_one_last_axis(node: Node) -> None:
    """The reduced axes are moved to the end and made one, and the node reduces that."""
    axes, shape = reduced_axes(node), node.need_shape()
    last = len(shape) - 1
    if not axes or axes == [last] or 0 in shape:
        return
    op, value = node.op, node.input(0)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    if kept and axes[0] < kept[-1]:
        value = op.Transpose(value, perm=[*kept, *axes])
    value = op.Reshape(value, op.int64([*(shape[axis] for axis in kept), prod(shape[axis] for axis in axes)]))
    make = getattr(op, node.op_type)
    if node.op_type == "ReduceSum":
        reduced = make(value, op.int64([len(kept)]), keepdims=1)
    else:
        reduced = make(value, axes=[len(kept)], keepdims=1)
    node.become.Reshape(reduced, op.int64([*node.need_shape(node.output(0))]))


@express("ReduceL2", opset=13, exact=False, sums=True)
def root_of_squares(node: Node) -> None:
    """The square root of the sum of the squares. A float16 would not hold them."""
    axes = reduced_axes(node)
    if not axes or node.need_elem_type() not in (TensorProto.FLOAT, TensorProto.DOUBLE):
        return
    op, data = node.op, node.input(0)
    node.become.Sqrt(op.ReduceSum(op.Mul(data, data), op.int64(axes), keepdims=node.attr("keepdims", 1)))


@express("ReduceSum", opset=13, exact=False, sums=True)
def mean_times_count(node: Node) -> None:
    """The mean, multiplied by the number of elements."""
    axes, kind = reduced_axes(node), node.need_elem_type()
    if not axes or kind not in (TensorProto.FLOAT, TensorProto.DOUBLE):
        return
    op, count = node.op, prod(node.need_dimension(axis) for axis in axes)
    mean = op.ReduceMean(node.input(0), axes=axes, keepdims=node.attr("keepdims", 1))
    node.become.Mul(mean, op.const(count, kind))


@express("GlobalAveragePool", opset=13, exact=False, sums=True)
def mean_over_the_image(node: Node) -> None:
    """The mean over all axes behind the channels."""
    node.become.ReduceMean(node.input(0), axes=list(range(2, node.need_rank())), keepdims=1)


@express("GlobalAveragePool", opset=13, exact=False, sums=True)
def pool_with_one_window(node: Node) -> None:
    """An AveragePool whose window is the whole image."""
    node.become.AveragePool(node.input(0), kernel_shape=[*node.need_shape()[2:]])


_FEW_PIXELS = 256
"""The number of pixels up to which an average over the whole image is taken at once."""
_WINDOWS = (2, 3, 5, 7)
"""The sizes of these windows."""


@express("GlobalAveragePool", opset=13, exact=False, sums=True)
def average_of_averages(node: Node) -> None:
    """Averages over small windows that stand side by side make an image of many pixels smaller, in turns."""
    sizes, value = [*node.need_shape()[2:]], node.input(0)
    while prod(sizes) > _FEW_PIXELS:
        window = [next((size for size in _WINDOWS if length % size == 0), 1) for length in sizes]
        if max(window) == 1:
            break
        value = node.op.AveragePool(value, kernel_shape=window, strides=window)
        sizes = [length // size for length, size in zip(sizes, window, strict=True)]
    if value != node.input(0):
        node.become.GlobalAveragePool(value)


@express("GlobalMaxPool", opset=13)
def largest_in_one_window(node: Node) -> None:
    """A MaxPool whose window is the whole image."""
    node.become.MaxPool(node.input(0), kernel_shape=[*node.need_shape()[2:]])


@express("BatchNormalization", opset=13, exact=False)
def scaled_and_shifted(node: Node) -> None:
    """With constant statistics, one product and one sum for each channel."""
    found = _scale_and_shift(node)
    if found is None:
        return
    op, kind, rank = node.op, node.need_elem_type(), node.need_rank()
    scale, shift = (op.const(values.reshape(-1, *[1] * (rank - 2)), kind) for values in found)
    node.become.Add(op.Mul(node.input(0), scale), shift)


@express("BatchNormalization", opset=13, exact=False)
def convolution_of_each_channel(node: Node) -> None:
    """With constant statistics, a Conv of 1×1 for each channel by itself."""
    found = _scale_and_shift(node)
    rank = node.need_rank()
    if found is None or rank != 4:
        return
    (scale, shift), kind = found, node.need_elem_type()
    weights = node.op.const(scale.reshape(-1, 1, 1, 1), kind)
    node.become.Conv(node.input(0), weights, node.op.const(shift, kind), kernel_shape=[1, 1], group=scale.size)


def _scale_and_shift(node: Node) -> tuple[np.ndarray, np.ndarray] | None:
    """What the data of a BatchNormalization is multiplied by, and what is added; None where that is not the same in every run."""
    values = [node.constant(index) for index in range(1, 5)]
    is_plain = not node.attr("training_mode", 0) and node.attr("spatial", 1) and not any(node.has_output(i) for i in range(1, 5))
    if not is_plain or any(value is None for value in values) or node.need_rank() < 2:
        return None
    scale, bias, mean, variance = (np.asarray(value, np.float64) for value in values)
    factor = scale / np.sqrt(variance + node.attr("epsilon", 1e-5))
    return factor, bias - mean * factor


@express("InstanceNormalization", opset=13, exact=False)
def deviation_from_the_mean(node: Node) -> None:
    """The deviation from the mean over all axes behind the channels, divided by the standard deviation, scaled and shifted."""
    rank, kind, op = node.need_rank(), node.need_elem_type(), node.op
    axes = list(range(2, rank))
    channels = node.need_dimension(1)
    deviation = op.Sub(node.input(0), op.ReduceMean(node.input(0), axes=axes, keepdims=1))
    variance = op.ReduceMean(op.Mul(deviation, deviation), axes=axes, keepdims=1)
    normal = op.Div(deviation, op.Sqrt(op.Add(variance, op.const(node.attr("epsilon", 1e-5), kind))))
    scale, bias = (_along_the_channels(node, index, [channels, *[1] * (rank - 2)]) for index in (1, 2))
    node.become.Add(op.Mul(normal, scale), bias)


def _along_the_channels(node: Node, index: int, shape: list[int]) -> str:
    value = node.constant(index)
    if value is None:
        return node.op.Reshape(node.input(index), node.op.int64(shape))
    return node.op.const(value.reshape(shape), value.dtype)
