"""Gemm, MatMul and Conv as each other, and products of 8-bit integers as those of real numbers.

https://onnx.ai/onnx/operators/onnx__Gemm.html, https://onnx.ai/onnx/operators/onnx__MatMul.html, https://onnx.ai/onnx/operators/onnx__Conv.html
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node
from ..shared.real_products import convolve_real_numbers, multiply_real_numbers

_MOST_GROUPS = 64
"""More convolutions, as for each channel alone, cost more than they are worth."""


@express("Gemm", opset=13, exact=False, sums=True)
def matmul_and_add(node: Node) -> None:
    """The node becomes a MatMul and an Add. A constant operand is transposed in the file, another one by a Transpose."""
    op, kind = node.op, node.need_elem_type()
    a, b = (
        _transposed(node, index) if node.attr(name, 0) else node.input(index) for index, name in enumerate(("transA", "transB"))
    )
    product, alpha, beta = op.MatMul(a, b), node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if alpha != 1:
        product = op.Mul(product, op.const(alpha, kind))
    if not node.has_input(2) or beta == 0:
        node.give(product)
        return
    node.become.Add(product, node.input(2) if beta == 1 else op.Mul(node.input(2), op.const(beta, kind)))


def _transposed(node: Node, index: int) -> str:
    """Input `index`, a matrix, with its axes exchanged."""
    value = node.constant(index)
    if value is None:
        return node.op.Transpose(node.input(index), perm=[1, 0])
    return node.op.const(np.ascontiguousarray(value.T), value.dtype)


@express("MatMul", opset=13, exact=False, sums=True)
def gemm(node: Node) -> None:
    """The product of two matrices becomes a Gemm."""
    if node.rank(0) == 2 and node.rank(1) == 2:
        node.become.Gemm(node.input(0), node.input(1))


@express("MatMul", opset=13, exact=False, sums=True)
def rows_of_a_matrix(node: Node) -> None:
    """The product with one matrix becomes that of two: all rows of the first factor are made those of a matrix by a Reshape."""
    a, b = node.need_shape(0), node.need_shape(1)
    if len(a) < 3 or len(b) != 2 or 0 in (*a, *b):
        return
    op = node.op
    product = op.MatMul(op.Reshape(node.input(0), op.int64([prod(a[:-1]), a[-1]])), node.input(1))
    node.become.Reshape(product, op.int64([*a[:-1], b[-1]]))


@express("MatMul", opset=13, exact=False, sums=True)
def product_of_the_transposed(node: Node) -> None:
    """The product of one stored matrix with several becomes that of these, transposed, with the stored one, transposed as well."""
    matrix, rank = node.constant(0), node.need_rank(1)
    if matrix is None or matrix.ndim != 2 or rank < 2:
        return
    op, perm = node.op, [*range(rank - 2), rank - 1, rank - 2]
    product = op.MatMul(op.Transpose(node.input(1), perm=perm), op.const(np.ascontiguousarray(matrix.T), matrix.dtype))
    node.become.Transpose(product, perm=perm)


@express("MatMul", opset=13, exact=False, sums=True)
def factors_of_equal_rank(node: Node) -> None:
    """The factor of fewer dimensions gets axes of length 1, a vector that of a row or a column."""
    a, b, result = node.need_shape(0), node.need_shape(1), node.need_shape(node.output(0))
    if len(a) == len(b) > 1 or 0 in (*a, *b):
        return
    row, column = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    rank, op = max(len(row), len(column)), node.op
    product = op.MatMul(*(_with_rank(node, index, shape, rank) for index, shape in enumerate((row, column))))
    if 1 in (len(a), len(b)):
        product = op.Reshape(product, op.int64([*result]))
    node.give(product)


def _with_rank(node: Node, index: int, shape: tuple[int, ...], rank: int) -> str:
    """Input `index` with `shape`, and axes of length 1 before it, so that they are `rank`."""
    wanted = (1,) * (rank - len(shape)) + shape
    if wanted == node.shape(index):
        return node.input(index)
    return node.op.Reshape(node.input(index), node.op.int64([*wanted]))


@express("Gemm", opset=13, exact=False, sums=True)
def convolution_of_points(node: Node) -> None:
    """The product with a constant matrix becomes a Conv of 1×1, between Reshapes that add and remove two axes of length 1."""
    stored = _stored_as_points(node)
    if stored is None:
        return
    op, (rows, size), (_, width) = node.op, node.need_shape(0), node.need_shape(node.output(0))
    found = op.Conv(op.Reshape(node.input(0), op.int64([rows, size, 1, 1])), *stored, kernel_shape=[1, 1])
    node.become.Reshape(found, op.int64([rows, width]))


@express("Gemm", opset=13, exact=False, sums=True)
def convolution_of_points_in_a_row(node: Node) -> None:
    """The product of several rows with a constant matrix becomes a Conv of 1×1 over an image in which the rows are pixels."""
    stored = _stored_as_points(node) if node.need_shape(0)[0] != 1 else None
    if stored is None:
        return
    op, (rows, size), (_, width) = node.op, node.need_shape(0), node.need_shape(node.output(0))
    pixels = op.Reshape(op.Transpose(node.input(0), perm=[1, 0]), op.int64([1, size, 1, rows]))
    found = op.Conv(pixels, *stored, kernel_shape=[1, 1])
    node.become.Transpose(op.Reshape(found, op.int64([width, rows])), perm=[1, 0])


def _stored_as_points(node: Node) -> list[str] | None:
    """The constant matrix and the bias of a Gemm as those of a Conv of 1×1; None where there are none."""
    weights, bias = node.constant(1), _bias(node, node.need_elem_type())
    if weights is None or node.attr("alpha", 1.0) != 1 or node.attr("transA", 0) or node.rank(0) != 2 or bias is None:
        return None
    matrix = np.ascontiguousarray(weights if node.attr("transB", 0) else weights.T)
    return [node.op.const(matrix[:, :, None, None], matrix.dtype), *bias]


def _bias(node: Node, kind: int) -> list[str] | None:
    """The bias of a Gemm as that of a Conv: none or one; None where it is no constant vector."""
    if not node.has_input(2) or node.attr("beta", 1.0) == 0:
        return []
    value, width = node.constant(2), (node.shape(node.output(0)) or (None, None))[1]
    if value is None or node.attr("beta", 1.0) != 1 or not isinstance(width, int) or value.size not in (1, width):
        return None
    if value.size > 1 and value.shape[-1] != width:  # a column
        return None
    return [node.op.const(np.broadcast_to(value.reshape(-1), (width,)), kind)]


@express("Conv", opset=13, exact=False, sums=True)
def convolution_in_two_dimensions(node: Node) -> None:
    """A Conv along one axis becomes one over two, the first of which has the length 1."""
    shape, kernel = node.need_shape(0), node.need_shape(1)
    if len(shape) != 3 or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return
    tensor = node.graph.tensor(node.input(1))
    if tensor is None:
        return
    op, name = node.op, node.fresh_name("kernel")
    weights = node.add_tensor(node.graph.part_of(tensor, range(prod(kernel)), [*kernel[:2], 1, kernel[2]], name))
    first, last = node.attr("pads", [0, 0])
    found = op.Conv(
        op.Reshape(node.input(0), op.int64([*shape[:2], 1, shape[2]])),
        weights,
        *filter(None, [node.input(2)]),
        kernel_shape=[1, kernel[2]],
        strides=[1, *node.attr("strides", [1])],
        dilations=[1, *node.attr("dilations", [1])],
        pads=[0, first, 0, last],
        group=node.attr("group", 1),
    )
    node.become.Reshape(found, op.int64([*node.need_shape(node.output(0))]))


@express(("Conv", "ConvTranspose"), opset=13, exact=False, sums=True, heavy=True)
def convolution_of_each_group(node: Node) -> None:
    """A convolution in a few groups becomes one for each of them, between a Split and a Concat."""
    count, kernel = node.attr("group", 1), node.need_shape(1)
    stored = [node.graph.tensor(name) for name in node.inputs[1:] if name]
    if not 1 < count <= _MOST_GROUPS or any(tensor is None for tensor in stored):
        return
    op, size = node.op, node.need_dimension(1) // count
    parts = op.Split(node.input(0), op.int64([size] * count), axis=1, outputs=count)
    attributes = {each.name: helper.get_attribute_value(each) for each in node.proto.attribute if each.name != "group"}
    found: list[str] = []
    for group, part in enumerate(parts):
        weights = [_of_group(node, tensor, group, count) for tensor in stored if tensor is not None]
        found.append(getattr(op, node.op_type)(part, *weights, **attributes | {"kernel_shape": [*kernel[2:]]}))
    node.become.Concat(*found, axis=1)


def _of_group(node: Node, tensor: TensorProto, group: int, count: int) -> str:
    """The part of weights or of a bias that is of one group, of `count`."""
    dims = [tensor.dims[0] // count, *tensor.dims[1:]]
    elements = range(group * prod(dims), (group + 1) * prod(dims))
    return node.add_tensor(node.graph.part_of(tensor, elements, dims, node.fresh_name("group")))


@express("Conv", opset=13, exact=False, sums=True)
def product_with_patches(node: Node) -> None:
    """A convolution whose windows stand side by side, as of patches or single pixels, becomes a product of matrices."""
    shape, weights, result = node.need_shape(0), node.need_shape(1), node.need_shape(node.output(0))
    if len(shape) != 4 or 0 in (*shape, *weights, *result) or weights[1] != shape[1] or not _stand_side_by_side(node, weights[2:]):
        return
    (batch, channels, _, _), (count, _, height, width), (rows, columns) = shape, weights, result[2:]
    if (rows * height, columns * width) != shape[2:]:
        return
    op = node.op
    patches = op.Reshape(node.input(0), op.int64([batch, channels, rows, height, columns, width]))
    patches = op.Transpose(patches, perm=[0, 2, 4, 1, 3, 5])
    size = channels * height * width
    factor = op.Transpose(op.Reshape(node.input(1), op.int64([count, size])), perm=[1, 0])
    product = op.MatMul(op.Reshape(patches, op.int64([batch * rows * columns, size])), factor)
    if node.has_input(2):
        product = op.Add(product, node.input(2))
    images = op.Reshape(product, op.int64([batch, rows * columns, count]))
    node.give(op.Reshape(op.Transpose(images, perm=[0, 2, 1]), op.int64([*result])))


def _stand_side_by_side(node: Node, kernel: tuple[int, ...]) -> bool:
    """Whether the stride is the length of the windows, which have neither holes nor padding."""
    ones = [1] * len(kernel)
    is_dense = kernel == (1, 1) or node.attr("dilations", ones) == ones
    is_plain = (
        node.attr("group", 1) == 1 and node.attr("auto_pad", "NOTSET") in ("NOTSET", "VALID") and not any(node.attr("pads", []))
    )
    return is_dense and is_plain and node.attr("strides", ones) == [*kernel]


_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
_MOST_PLACES = 2**18
"""The most places from which the elements of windows are gathered."""


@express("Conv", opset=13, exact=False, sums=True, listed="Gather")
def product_with_gathered_windows(node: Node) -> None:
    """The elements that each window sees are gathered, and the kernel, as a matrix, is multiplied by them."""
    shape, weights, result = node.need_shape(0), node.need_shape(1), node.need_shape(node.output(0))
    if node.attr("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or 0 in (*shape, *weights, *result):
        return
    kernel, counts, group = weights[2:], result[2:], node.attr("group", 1)
    taps, count = prod(kernel), prod(counts)
    if node.need_elem_type() not in _FLOATS or taps * count > _MOST_PLACES or weights[1] * group != shape[1]:
        return
    if group > 1 and count == 1:  # one window of each group, as for a mean, has shorter forms
        return
    op, value, pads = node.op, node.input(0), np.array(node.attr("pads", [0] * 2 * len(kernel))).reshape(2, -1)
    sizes = (shape[2:] + pads.sum(axis=0)).tolist()
    if pads.any():
        value = op.Pad(value, op.int64([0, 0, *pads[0], 0, 0, *pads[1]]))
    if len(sizes) > 1:
        value = op.Reshape(value, op.int64([*shape[:2], prod(sizes)]))
    seen = op.Gather(value, op.int64(_places(node, kernel, sizes, counts)), axis=2)
    several, rows = ([group] if group > 1 else []), weights[1] * taps
    seen = op.Reshape(seen, op.int64([shape[0], *several, rows, count]))
    matrix = op.Reshape(node.input(1), op.int64([*several, weights[0] // group, rows]))
    product = op.Reshape(op.MatMul(matrix, seen), op.int64([*result]))
    if node.has_input(2):
        product = op.Add(product, op.Reshape(node.input(2), op.int64([weights[0], *[1] * len(sizes)])))
    node.give(product)


def _places(node: Node, kernel: Sequence[int], sizes: Sequence[int], counts: Sequence[int]) -> np.ndarray:
    """For each element of the windows of a Conv, and each of their places, of which there are `counts`, where that is in flattened
    data of these sizes.
    """
    ones, found = [1] * len(sizes), np.zeros([1] * 2 * len(sizes), np.int64)
    rows = zip(kernel, sizes, counts, node.attr("strides", ones), node.attr("dilations", ones), strict=True)
    for axis, (length, size, count, stride, step) in enumerate(rows):
        aligned = [*ones, *ones]
        aligned[axis], aligned[len(sizes) + axis] = length, count
        places = np.arange(length)[:, None] * step + np.arange(count) * stride
        found = found * size + places.reshape(aligned)
    return found.reshape(prod(kernel), prod(counts))


@express("QLinearConv", opset=13, exact=False, steps=True)
def convolution_of_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear of x, the weights and the bias, Conv and QuantizeLinear."""
    convolve_real_numbers(node)


@express("QLinearMatMul", opset=13, exact=False, steps=True)
def product_of_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear of both matrices, MatMul and QuantizeLinear."""
    multiply_real_numbers(node)
