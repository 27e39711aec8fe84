"""DFT: the axis is an attribute until opset 19 with default 1, and an input from 20 on with default -2. Below 17, the transform is
a MatMul.

If the axis is only known at run time, the shape of the result may tell it; otherwise the transform is computed along every possible
axis.
https://onnx.ai/onnx/operators/onnx__DFT.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node, Shape
from .shared.any_axis import along_any
from .shared.axes import from_the_front
from .shared.indices import count_up, length
from .shared.parameters import one_number
from .shared.tables import arange

MAX_LENGTH = 2048
"""The number of samples of the longest transform. Its matrix has 4 * length² elements: 64 MB of float at this length."""
_LENGTH, _AXIS = 1, 2


@upgrade("DFT", 20)
def axis_to_input(node: Node) -> None:
    """The attribute axis, or its default 1, becomes an input."""
    node.set_input(_AXIS, node.op.int64(node.pop_attr("axis", 1)))


@downgrade("DFT", 20)
def axis_to_attribute(node: Node) -> None:
    """A constant axis, or the default of opset 20, becomes the attribute; it is made positive where the rank is known."""
    possible = _possible_axes(node)
    if len(possible) > 1:
        along_any(node, _AXIS, possible)
        return
    rank = node.rank()
    node.drop_input(_AXIS)
    node.set_attr("axis", possible[0] if rank is None else from_the_front(possible, rank)[0])


def _possible_axes(node: Node) -> list[int]:
    """The possible axes: one if it is constant; otherwise those along which a transform gives the known shape of the result."""
    if not node.has_input(_AXIS):
        return [-2]
    given, before, after = node.constant(_AXIS), node.shape(), node.shape(node.output(0))
    if given is not None:
        return [int(one_number(given))]
    axes = list(range(len(before) - 1)) if before else []  # the last one has the complex parts
    if node.has_input(_LENGTH) or node.attr("onesided", 0):
        axes = [axis for axis in axes if before and after and _fits(node, axis, before, after)]
    return axes or [int(one_number(node.const_input(_AXIS, "the axis")))]


def _fits(node: Node, axis: int, before: Shape, after: Shape) -> bool:
    """Whether a transform along `axis` turns the shape `before` into the shape `after`; both are fully known."""
    if not all(isinstance(dim, int) for dim in (*before, *after)) or len(before) != len(after):
        return False
    count, size = node.constant(_LENGTH) if node.has_input(_LENGTH) else None, before[axis]
    others = all(before[other] == after[other] for other in range(len(before) - 1) if other != axis)
    if not others or not isinstance(size, int) or (count is None and node.has_input(_LENGTH)):
        return others
    inverse, onesided = node.attr("inverse", 0), node.attr("onesided", 0)
    default = 2 * (size - 1) if inverse and onesided else size
    length = default if count is None else int(one_number(count))
    return after[axis] == (length // 2 + 1 if onesided and not inverse else length)


@decompose("DFT", opset=13, exact=False, sums=True)
def multiply_by_roots_of_unity(node: Node) -> None:
    """The samples, with real and imaginary parts in one axis, are multiplied by a matrix of roots of unity.

    The matrix is a constant unless the length of the transform, or of the data, is computed.
    """
    op = node.op
    rank, kind = node.need_rank(), node.need_elem_type()
    (axis,) = from_the_front([node.attr("axis", 1)], rank)
    is_open = (node.has_input(1) and node.constant(1) is None) or not isinstance(node.dimension(axis), int)
    if is_open and not (node.attr("onesided", 0) and node.attr("inverse", 0)):
        _multiply_by_computed_roots(node, axis, rank, kind)
        return
    size, parts = node.need_dimension(axis), node.need_dimension(-1)
    onesided, inverse = bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    default = 2 * (size - 1) if onesided and inverse else size
    count = int(one_number(node.const_input(1, "the length"))) if node.has_input(1) else default
    if parts not in (1, 2) or count < 1:
        raise Unconvertible(f"a DFT is of numbers of 1 or 2 parts, and of a length above 0, and not of {parts} and {count}")
    if max(size, count) > MAX_LENGTH:
        raise Unconvertible(f"the matrix of a DFT of length {max(size, count)} would be larger than {MAX_LENGTH}² elements")
    if onesided and parts != 1 + inverse:
        raise Unconvertible("a one-sided DFT is of real numbers, and its inverse of complex ones")
    data, size = _what_counts(node, axis, size, count // 2 + 1 if onesided and inverse else count)
    matrix = _real_inverse(size, count) if onesided and inverse else _matrix(size, parts, count, onesided, inverse)
    out_parts = 1 if onesided and inverse else 2
    others = [other for other in range(rank - 1) if other != axis]
    order = [*others, axis, rank - 1]
    moved = op.Transpose(data, perm=order)
    lengths = [length(node, node.input(0), other) for other in others]
    rows = _reshape(node, moved, [*lengths, op.int64([size * parts])])
    roots = op.const(matrix, kind)
    product = op.MatMul(rows, roots)
    shaped = _reshape(node, product, [*lengths, op.int64([matrix.shape[1] // out_parts, out_parts])])
    node.become.Transpose(shaped, perm=[order.index(position) for position in range(rank)])


def _what_counts(node: Node, axis: int, size: int, count: int) -> tuple[str, int]:
    """The first `count` samples, and how many these are: NaN and infinities behind them do not count, not even times 0."""
    if size <= count:
        return node.input(0), size
    op = node.op
    return op.Slice(node.input(0), op.int64([0]), op.int64([count]), op.int64([axis])), count


def _multiply_by_computed_roots(node: Node, axis: int, rank: int, kind: int) -> None:
    """Turn the node into a product with a matrix that is computed for its length, in double. Whole turns are subtracted before."""
    op = node.op
    parts, onesided, inverse = node.need_dimension(-1), bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    if parts not in (1, 2) or (onesided and parts != 1):
        raise Unconvertible("a one-sided DFT is of real numbers, and its inverse of complex ones")
    zero, one, double = op.int64([0]), op.int64([1]), TensorProto.DOUBLE
    data = node.input(0)
    if node.has_input(1):
        count = op.Reshape(op.Cast(node.input(1), to=TensorProto.INT64), one)
        data = op.Slice(data, zero, count, op.int64([axis]))  # as in _what_counts
    else:
        node.caution("the length of its data is open: each run computes a matrix that grows with the square of it")
        count = length(node, data, axis)
    divisor = count if node.has_input(1) else op.Max(count, one)  # no data is transformed to none
    size = op.Gather(op.Shape(data), op.int64([axis]), axis=0)
    samples = count_up(node, zero, size, one)
    frequencies = count_up(node, zero, op.Add(op.Div(count, op.int64([2])), one) if onesided else count, one)
    column = op.Unsqueeze(samples, one)
    turns = op.Mul(column, frequencies)
    rest = op.Sub(turns, op.Mul(op.Div(turns, divisor), divisor))
    full = op.Cast(divisor, to=double)
    angle = op.Div(op.Mul(op.Cast(rest, to=double), op.const(2 * np.pi, double)), full)
    waves = [op.Cos(angle), op.Sin(angle)]
    cos, sin = (op.Cast(op.Div(wave, full) if inverse else wave, to=kind) for wave in waves)
    minus = op.Neg(sin)
    real, imaginary = (sin, minus) if inverse else (minus, sin)
    last = op.int64([2])
    rows = [[cos, real], [imaginary, cos]][:parts]
    planes = [op.Concat(*(op.Unsqueeze(each, last) for each in row), axis=2) for row in rows]
    roots = op.Concat(*(op.Unsqueeze(plane, one) for plane in planes), axis=1) if parts == 2 else planes[0]
    height = op.Mul(size, op.int64([parts]))
    others = [other for other in range(rank - 1) if other != axis]
    order = [*others, axis, rank - 1]
    lengths = [length(node, node.input(0), other) for other in others]
    signal = _reshape(node, op.Transpose(data, perm=order), [*lengths, height])
    width = op.Shape(frequencies)
    product = op.MatMul(signal, _reshape(node, roots, [height, op.Mul(width, op.int64([2]))]))
    shaped = _reshape(node, product, [*lengths, width, op.int64([2])])
    node.become.Transpose(shaped, perm=[order.index(position) for position in range(rank)])


def _reshape(node: Node, name: str, lengths: list[str]) -> str:
    """Reshape `name` to the shape that `lengths`, vectors of one int64, make together."""
    return node.op.Reshape(name, node.op.Concat(*lengths, axis=0))


def _matrix(size: int, parts: int, count: int, onesided: bool, inverse: bool) -> np.ndarray:
    """The matrix (size * parts, frequencies * 2), with a row for each part of each sample. Samples beyond `count` have weight 0."""
    frequencies = count // 2 + 1 if onesided else count
    used = min(size, count)
    cos, sin = _cos_and_sin(np.outer(arange(used), arange(frequencies)), count)
    sign, scale = (1, 1 / count) if inverse else (-1, 1)
    cos, sin = cos * scale, sign * scale * sin
    matrix = np.zeros((size, parts, frequencies, 2))
    matrix[:used, 0, :, 0], matrix[:used, 0, :, 1] = cos, sin
    if parts == 2:
        matrix[:used, 1, :, 0], matrix[:used, 1, :, 1] = -sin, cos
    return matrix.reshape(size * parts, frequencies * 2)


def _real_inverse(size: int, count: int) -> np.ndarray:
    """The matrix (size * 2, count) that turns a one-sided transform of `size` frequencies back into a real signal.

    The missing frequencies are the conjugates of the given ones.
    """
    used = min(size, count // 2 + 1)
    cos, sin = _cos_and_sin(np.outer(arange(used), arange(count)), count)
    once = (arange(used) == 0) | (2 * arange(used) == count)
    weight = np.where(once, 1, 2)[:, None] / count
    matrix = np.zeros((size, 2, count))
    matrix[:used, 0], matrix[:used, 1] = weight * cos, -weight * sin
    return matrix.reshape(size * 2, count)


def _cos_and_sin(turns: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of `turns` / `count` of a full turn, exact at quarter turns: a sine of π of 1e-16 would decide ties."""
    turns = turns % count
    angle = 2 * np.pi * turns / count
    is_quarter = 4 * turns % count == 0
    cos, sin = np.cos(angle), np.sin(angle)
    return np.where(is_quarter, np.rint(cos), cos), np.where(is_quarter, np.rint(sin), sin)
