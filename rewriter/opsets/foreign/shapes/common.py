"""Shapes by the rules that many operators share."""

from __future__ import annotations

from collections.abc import Sequence

from ...type_protos import Dimension, Shape
from ..call import Call

Shapes = Sequence[Shape | None]


def same(call: Call) -> Shapes:
    """The first output has the shape of the first input."""
    return [call.shape(0)]


def broadcast(call: Call) -> Shapes:
    """The output has the shape to which all inputs broadcast."""
    return [broadcast_shape([call.shape(index) for index in range(len(call.node.input))])]


def broadcast_shape(shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape to which tensors of these shapes broadcast; None where a rank is unknown."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes):
        return None
    rank = max(map(len, known), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in known]
    return tuple(_broadcast(dims) for dims in zip(*padded, strict=True))


def _broadcast(dims: Sequence[Dimension]) -> Dimension:
    """The length of an axis to which axes of these lengths broadcast; None where it is unknown."""
    others = {dim for dim in dims if dim != 1}
    sizes = {dim for dim in others if isinstance(dim, int)}
    if sizes:
        return max(sizes)
    return 1 if not others else next(iter(others)) if len(others) == 1 else None


def normalized_sum(call: Call) -> Shapes:
    """The first and the fourth output have the shape of the first input; mean and deviation have one number for each row."""
    shape = call.shape(0)
    row = None if shape is None else (*shape[:-1], 1)
    return [shape, row, row, shape]


def concatenated(call: Call) -> Shapes:
    """A QLinearConcat: the third of each three inputs behind the first two is concatenated. onnxruntime leaves parts out that are
    empty, whatever their other lengths.
    """
    shapes = [call.shape(index) for index in range(2, len(call.node.input), 3)]
    known = [shape for shape in shapes if shape is not None]
    if not known or len(known) != len(shapes):
        return [None]
    known = [shape for shape in known if 0 not in shape] or known
    axis = call.attr("axis") % len(known[0])
    dims = [next(iter(lengths)) if len(lengths) == 1 else None for lengths in map(set, zip(*known, strict=True))]
    sizes, others = [shape[axis] for shape in known], dims[:axis] + dims[axis + 1 :]
    is_known = None not in others and all(isinstance(size, int) for size in sizes)
    dims[axis] = sum(size for size in sizes if isinstance(size, int)) if is_known else None
    return [tuple(dims)]


def quantized_pair(call: Call) -> Shapes:
    """A QLinearAdd or QLinearMul: the operands are inputs 0 and 3."""
    return [broadcast_shape([call.shape(0), call.shape(3)])]


def chosen(call: Call) -> Shapes:
    """A QLinearWhere: the condition and the operands are inputs 0, 1 and 4."""
    return [broadcast_shape([call.shape(0), call.shape(1), call.shape(4)])]


def with_mask(call: Call) -> Shapes:
    """Both outputs have the shape to which the first two inputs broadcast."""
    return [broadcast_shape([call.shape(index) for index in range(2)])] * 2


def half_as_wide(call: Call) -> Shapes:
    """The output is half as wide as the first input."""
    shape = call.shape(0)
    return [None if shape is None else (*shape[:-1], shape[-1] // 2 if isinstance(shape[-1], int) else None)]


def same_twice(call: Call) -> Shapes:
    """Both outputs have the shape of the first input."""
    return [call.shape(0)] * 2


def by_squares(call: Call) -> Shapes:
    """The first output has the shape of the first input; the second one has one number for each part that is normalized."""
    shape = call.shape(0)
    if shape is None:
        return []
    first = call.attr("axis", -1) % len(shape)
    return [shape, (*shape[:first], *[1] * (len(shape) - first))]
