"""Broadcasting: until opset 6 by the attributes broadcast and axis, from 7 on (Max, Min, Mean, Sum: 8) as in numpy.

Before 7 only the second operand is stretched, and only along leading and trailing dimensions of the first: its shape is a
contiguous part of the first's shape, starting at `axis` (without it: the last part), or it has one element.

https://onnx.ai/onnx/operators/onnx__Add.html (Add-6, Add-7), and the same pages of Sub, Mul, Div, Pow, And, Or, Xor, Equal,
Greater, Less, PRelu, Max, Min, Mean, Sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...rewriter.engine.registry import downgrade, upgrade
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
"""The operators with two operands that broadcast."""
MIRRORED = {
    **{name: name for name in ("Add", "Mul", "And", "Or", "Xor", "Equal")},
    "Greater": "Less",
    "Less": "Greater",
}
"""The operator that computes the same with swapped operands."""
Dims = Sequence[int | str | None]
"""Dimensions: a number, a symbol, or None where unknown."""


@upgrade(BINARY, 7)
def numpy_broadcast(node: Node) -> None:
    """broadcast and axis are removed; a second operand aligned by axis gets trailing dimensions of 1, as numpy needs."""
    broadcast, axis = node.pop_attr("broadcast", 0), node.pop_attr("axis")
    if not broadcast or axis is None or _has_one_element(node.shape(1)):
        return
    rank = node.need_rank(1)
    trailing = node.need_rank(0) - axis - rank
    if axis < 0 and (axis, rank) != (-1, 1):
        hint = "set the attribute axis to a dimension of the first operand"
        raise Unconvertible(f"axis={axis} has no meaning before opset 7", hint)
    if axis < 0 or trailing == 0:
        return
    if trailing < 0:
        raise Unconvertible(f"'{node.input(1)}' of rank {rank} does not fit '{node.input(0)}' from axis {axis} on")
    added = list(range(rank, rank + trailing))
    node.set_input(1, node.op.Unsqueeze(node.input(1), axes=added))


def _has_one_element(shape: Dims | None) -> bool:
    """Whether all dimensions are known to be 1."""
    return shape is not None and all(dim == 1 for dim in shape)


@downgrade(BINARY, 7)
def limited_broadcast(node: Node) -> None:
    """broadcast and axis are set; what the old form cannot stretch is tiled. It must be known which dimensions are 1."""
    if node.input(0) == node.input(1):
        return
    if node.shape(1) == ():
        node.set_attr("broadcast", 1)
        return
    stretch = _Stretch(node)
    if stretch.first and not stretch.second and node.op_type in MIRRORED:
        getattr(node.become, MIRRORED[node.op_type])(node.input(1), node.input(0))
        stretch = _Stretch(node)
    if stretch.first or stretch.rank > node.need_rank(0):
        _fill_first(node, stretch)
    if stretch.second or stretch.rank > node.need_rank(1):
        _fit_second(node, stretch)


class _Stretch:
    """The dimensions of the common shape along which the `first` and the `second` operand have to be stretched.

    Raises Unconvertible where the shapes do not tell.
    """

    def __init__(self, node: Node) -> None:
        ranks = [node.need_rank(index) for index in (0, 1)]
        self.rank = max(ranks)
        self.dims = [_padded(node.shape(index) or (None,) * ranks[index], self.rank) for index in (0, 1)]
        self.first: list[int] = []
        self.second: list[int] = []
        for axis, (one, other) in enumerate(zip(*self.dims, strict=True)):
            if one == other and one is not None:
                continue
            if other == 1:
                self.second.append(axis)
            elif one == 1:
                self.first.append(axis)
            else:
                raise Unconvertible(
                    f"before opset 7 it has to be known which operand broadcasts, and {_shown(one)} may or may not equal "
                    f"{_shown(other)} (dimension {axis - self.rank} of '{node.input(0)}' and '{node.input(1)}')",
                    node.shape_hint(),
                )


def _padded(shape: Dims, rank: int) -> list[int | str | None]:
    """`shape` with dimensions of 1 put before it, up to `rank` dimensions."""
    return [1] * (rank - len(shape)) + list(shape)


def _shown(dim: int | str | None) -> str:
    """A dimension as messages show it."""
    return "an unknown dimension" if dim is None else f"'{dim}'" if isinstance(dim, str) else str(dim)


def _fill_first(node: Node, stretch: _Stretch) -> None:
    """Stretch the first operand to the common shape."""
    name, missing = node.input(0), stretch.rank - node.need_rank(0)
    if missing:
        name = node.op.Unsqueeze(name, axes=list(range(missing)))
    if stretch.first:
        other = stretch.rank - node.need_rank(1)
        repeats = [_length(node, 1, axis - other) if axis in stretch.first else 1 for axis in range(stretch.rank)]
        name = _tile(node, name, repeats)
    node.set_input(0, name)


def _fit_second(node: Node, stretch: _Stretch) -> None:
    """Remove the dimensions of 1 at both ends of the second operand, and repeat those between by Tile."""
    name, rank = node.input(1), stretch.rank
    own = range(rank - node.need_rank(1), rank)
    kept = [axis for axis in own if stretch.dims[1][axis] != 1]
    start, stop = (kept[0], kept[-1] + 1) if kept else (rank, rank)
    inner = [axis for axis in stretch.second if start <= axis < stop]
    if inner:
        name = _tile(node, name, [_length(node, 0, axis) if axis in inner else 1 for axis in own])
    ends = [axis - own.start for axis in own if not start <= axis < stop]
    if kept and ends:
        name = node.op.Squeeze(name, axes=ends)
    node.set_input(1, name)
    node.set_attr("broadcast", 1)
    if stop < rank:
        node.set_attr("axis", start)


def _length(node: Node, index: int, axis: int) -> int | str:
    """The length of `axis` of input `index`, or the name of a tensor that has it at run time."""
    op = node.op
    dim = node.dimension(axis, index)
    if isinstance(dim, int):
        return dim
    shape = op.Shape(node.input(index))
    return op.Gather(shape, op.int64([axis]), axis=0)


def _tile(node: Node, name: str, repeats: list[int | str]) -> str:
    """Repeat `name` along its axes; each of `repeats` is a number, or the name of a vector of one int64."""
    op = node.op
    if all(isinstance(count, int) for count in repeats):
        return op.Tile(name, op.int64(repeats))
    parts = [op.int64([count]) if isinstance(count, int) else count for count in repeats]
    return op.Tile(name, op.Concat(*parts, axis=0))


@upgrade("PRelu", 7)
def slope_per_channel(node: Node) -> None:
    """A slope of shape (C), for dimension 1 of the data, becomes (C, 1, ...), so that it broadcasts as in numpy."""
    if _has_one_element(node.shape(1)) or node.need_rank(1) != 1:
        return
    trailing = node.need_rank(0) - 2
    if trailing > 0:
        node.set_input(1, node.op.Unsqueeze(node.input(1), axes=list(range(1, trailing + 1))))


@downgrade("PRelu", 7)
def slope_of_one_dimension(node: Node) -> None:
    """A slope of one element per channel loses its dimensions of 1; with any other constant slope, the node becomes a product."""
    if _has_one_element(node.shape(1)):
        return
    rank, slope_rank = node.need_rank(0), node.need_rank(1)
    dims = _padded(node.shape(1) or (None,) * slope_rank, rank)
    channel = 1 if rank > 1 else 0
    if len(dims) == rank and all(dim == 1 for axis, dim in enumerate(dims) if axis != channel):
        ones = [axis for axis in range(slope_rank) if axis != channel - (rank - slope_rank)]
        if ones:
            node.set_input(1, node.op.Squeeze(node.input(1), axes=ones))
        return
    _multiply_where_negative(node)


def _multiply_where_negative(node: Node) -> None:
    """Turn the node into x * (slope where x < 0, else 1), in the form of opset 7."""
    op = node.op
    slope = node.const_input(1, "a slope that is not one per channel")
    if not np.isfinite(slope).all():
        raise Unconvertible("the slope is not one per channel, and not finite")
    kind, x = node.need_elem_type(), node.input(0)
    zero = op.const(0, kind)
    negative = op.Less(x, zero, opset=7)
    mask = op.Cast(negative, to=kind, opset=7)
    positive = op.Not(negative, opset=7)
    ones = op.Cast(positive, to=kind, opset=7)
    slopes = op.Mul(mask, node.input(1), opset=7)
    node.become.Mul(x, op.Add(slopes, ones, opset=7), opset=7)


@downgrade(("Max", "Min", "Mean", "Sum"), 8)
def equal_shapes(node: Node) -> None:
    """Inputs whose shapes may differ are multiplied by ones of the common shape, since all must have the same shape."""
    names = node.inputs
    shapes = [node.shape(index) for index in range(len(names))]
    if len(set(names)) == 1 or (_is_known(shapes[0]) and all(shape == shapes[0] for shape in shapes)):
        return
    common = _common_shape(shapes)
    full = [name for name, shape in zip(names, shapes, strict=True) if common is not None and shape == common]
    ones = [_ones_like(node, name) for name in (full[:1] or dict.fromkeys(names))]
    shaped = ones[0]
    for other in ones[1:]:
        shaped = node.op.Mul(shaped, other)
    for index, name in enumerate(names):
        if not full or shapes[index] != common:
            node.set_input(index, node.op.Mul(name, shaped))


def _is_known(shape: Dims | None) -> bool:
    """Whether every dimension of `shape` is a number or a symbol."""
    return shape is not None and None not in shape


def _common_shape(shapes: Sequence[Dims | None]) -> Dims | None:
    """The shape to which all `shapes` broadcast; None where it is unknown."""
    common: list[int | str | None] = []
    for shape in shapes:
        if shape is None or None in shape:
            return None
        rank = max(len(common), len(shape))
        pairs = list(zip(_padded(common, rank), _padded(shape, rank), strict=True))
        if any(1 not in pair and pair[0] != pair[1] for pair in pairs):
            return None
        common = [one if other == 1 else other for one, other in pairs]
    return tuple(common)


def _ones_like(node: Node, name: str) -> str:
    """Ones of the shape and type of `name`, computed from x < x, which is false for all values, including NaN."""
    op = node.op
    kind = node.elem_type(name)
    if kind is None:
        raise Unconvertible(f"the type of '{name}' is unknown", "declare it in value_info")
    nowhere = op.Less(name, name)
    return op.Cast(op.Not(nowhere), to=kind)
