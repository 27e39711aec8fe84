"""Shapes of products of matrices."""

from __future__ import annotations

from ...type_protos import Shape
from ..call import Call
from .common import Shapes, broadcast_shape


def of_matrices(call: Call) -> Shapes:
    """The product of two matrices, each of which may be transposed, with its batch or without it."""
    left = _transposed(call.shape(0), call.attr("transA", 0), call.attr("transBatchA", 0))
    right = _transposed(call.shape(1), call.attr("transB", 0), call.attr("transBatchB", 0))
    return [product(left, right)]


def _transposed(shape: Shape | None, is_transposed: int, has_late_batch: int) -> Shape | None:
    """The shape of an operand as it is multiplied. A vector cannot be transposed.

    With `has_late_batch` the dimensions [rows, batch…, columns] stand for [batch…, rows, columns].
    """
    if shape is None or len(shape) < 2:
        return shape
    if has_late_batch:
        shape = (*shape[1:-1], shape[0], shape[-1])
    return (*shape[:-2], shape[-1], shape[-2]) if is_transposed else shape


def product(left: Shape | None, right: Shape | None) -> Shape | None:
    """The shape of the product of tensors of these shapes, as MatMul computes it."""
    if not left or not right:
        return None
    batch = broadcast_shape([left[:-2], right[:-2]])
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    return None if batch is None else (*batch, *rows, *columns)


def of_packed_weights(call: Call) -> Shapes:
    """A product with a matrix of packed weights, which has K rows and N columns, or N and K with transB=0."""
    left = call.shape(0)
    columns = call.attr("N") if call.attr("transB", 1) else call.attr("K")
    return [None if left is None else (*left[:-1], columns)]


def of_quantized_matrices(call: Call) -> Shapes:
    """A QGemm: the matrices are inputs 0 and 3."""
    left = _transposed(call.shape(0), call.attr("transA", 0), 0)
    right = _transposed(call.shape(3), call.attr("transB", 0), 0)
    return [product(left, right)]
