"""DFT as one MatMul with a constant matrix, where the length is known.

https://onnx.ai/onnx/operators/onnx__DFT.html


DFT: the axis is an attribute until 19, an input from 20, and its default goes from 1 to -2.

An axis that is only known at run time may show in the shape of the result; else it is computed along all that it can be.

https://onnx.ai/onnx/operators/onnx__DFT.html
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node, Shape
from .shared.any_axis import along_any
from .shared.axes import from_the_front
from .shared.indices import int64, length
from .shared.parameters import one_number
from .shared.tables import arange

MAX_LENGTH = 2048
"""The matrix has 4 * length² elements: 64 MB of float at this length."""


@decompose("DFT", opset=13, exact=False, sums=True)
def multiply_by_roots_of_unity(node: Node) -> None:
    """Axis and complex parts become one axis of the rows that the matrix of the transform takes."""
    rank, kind = node.need_rank(), node.need_elem_type()
    (axis,) = from_the_front([node.attr("axis", 1)], rank)
    size, parts = node.need_dimension(axis), node.need_dimension(-1)
    onesided, inverse = bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    default = 2 * (size - 1) if onesided and inverse else size
    count = int(one_number(node.const_input(1, "the length"))) if node.has_input(1) else default
    if max(size, count) > MAX_LENGTH:
        raise Unconvertible(f"the matrix of a DFT of length {max(size, count)} would be larger than {MAX_LENGTH}² elements")
    if onesided and parts != 1 + inverse:
        raise Unconvertible("a one-sided DFT is of real numbers, and its inverse of complex ones")
    matrix = _real_inverse(size, count) if onesided and inverse else _matrix(size, parts, count, onesided, inverse)
    out_parts = 1 if onesided and inverse else 2
    others = [other for other in range(rank - 1) if other != axis]
    order = [*others, axis, rank - 1]
    moved = node.before("Transpose", [node.input(0)], what="moved", perm=order)
    lengths = [length(node, node.input(0), other) for other in others]
    rows = _reshape(node, moved, [*lengths, int64(node, [size * parts], "row")])
    roots = node.add_constant(matrix, helper.tensor_dtype_to_np_dtype(kind), "roots")
    product = node.before("MatMul", [rows, roots], what="product")
    shaped = _reshape(node, product, [*lengths, int64(node, [matrix.shape[1] // out_parts, out_parts], "parts")])
    node.become("Transpose", [shaped], perm=[order.index(position) for position in range(rank)])


def _reshape(node: Node, name: str, lengths: list[str]) -> str:
    return node.before("Reshape", [name, node.before("Concat", lengths, what="form", axis=0)], what="shaped")


def _matrix(size: int, parts: int, count: int, onesided: bool, inverse: bool) -> np.ndarray:
    """(size * parts, frequencies * 2): a row for each part of each sample; samples beyond `count` have no weight."""
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
    """(size * 2, count): the real signal whose one-sided transform has `size` frequencies; the others are their conjugates."""
    used = min(size, count // 2 + 1)
    cos, sin = _cos_and_sin(np.outer(arange(used), arange(count)), count)
    once = (arange(used) == 0) | (2 * arange(used) == count)
    weight = np.where(once, 1, 2)[:, None] / count
    matrix = np.zeros((size, 2, count))
    matrix[:used, 0], matrix[:used, 1] = weight * cos, -weight * sin
    return matrix.reshape(size * 2, count)


def _cos_and_sin(turns: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Of `turns` / `count` of a whole turn. At quarters they are whole numbers: a sine of π of 1e-16 would break ties."""
    turns = turns % count
    angle = 2 * np.pi * turns / count
    is_quarter = 4 * turns % count == 0
    cos, sin = np.cos(angle), np.sin(angle)
    return np.where(is_quarter, np.rint(cos), cos), np.where(is_quarter, np.rint(sin), sin)


_LENGTH, _AXIS = 1, 2


@upgrade("DFT", 20)
def axis_to_input(node: Node) -> None:
    """The axis, or the default of before, becomes an input."""
    node.set_input(_AXIS, int64(node, node.pop_attr("axis", 1), "axis"))


@downgrade("DFT", 20)
def axis_to_attribute(node: Node) -> None:
    """A constant axis, or the default of 20, becomes the attribute; from the front where the rank is known."""
    possible = _possible_axes(node)
    if len(possible) > 1:
        along_any(node, _AXIS, possible)
        return
    rank = node.rank()
    node.drop_input(_AXIS)
    node.set_attr("axis", possible[0] if rank is None else from_the_front(possible, rank)[0])


def _possible_axes(node: Node) -> list[int]:
    """The axis; if it is only known at run time, those along which the result has the shape that it is known to have."""
    if not node.has_input(_AXIS):
        return [-2]
    given, before, after = node.constant(_AXIS), node.shape(), node.output_shape()
    if given is not None:
        return [int(one_number(given))]
    axes = list(range(len(before) - 1)) if before else []  # the last one has the complex parts
    if node.has_input(_LENGTH) or node.attr("onesided", 0):
        axes = [axis for axis in axes if before and after and _fits(node, axis, before, after)]
    return axes or [int(one_number(node.const_input(_AXIS, "the axis")))]


def _fits(node: Node, axis: int, before: Shape, after: Shape) -> bool:
    """Whether a transform along `axis` takes one shape to the other, both fully known."""
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
