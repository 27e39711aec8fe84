"""Operators that only cut, copy or reshape, in terms of each other.

The page of each is https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node


@express(("Flatten", "Squeeze", "Unsqueeze"), opset=13)
def reshaped(node: Node) -> None:
    """The node becomes a Reshape to the shape that it gives; one dimension may be open."""
    shape = node.shape(node.output(0))
    if node.op_type == "Squeeze" and _has_no_axes(node):
        return  # the shape may be that of some lengths alone
    if shape is None or sum(not isinstance(dim, int) for dim in shape) > 1 or 0 in shape:
        return
    node.become.Reshape(node.input(0), node.op.int64([dim if isinstance(dim, int) else -1 for dim in shape]))


def _has_no_axes(node: Node) -> bool:
    """Whether nothing says which axes a Squeeze removes: a list of no axes, which are all of length 1 for runtimes and none by the
    specification, or no list where a length that remains is open.
    """
    if not node.has_attr("axes") and not node.has_input(1):
        return any(not isinstance(dim, int) for dim in node.shape(node.output(0)) or ())
    axes = node.constant(1) if node.has_input(1) else None
    return node.attr("axes") == [] or (axes is not None and not axes.size)


@express("Dropout", opset=13)
def left_out(node: Node) -> None:
    """The node goes, and what reads it reads its input: it does nothing at inference."""
    trains = node.constant(2) if node.has_input(2) else np.array(False)
    is_idle = node.opset >= 7 and trains is not None and not trains.any() and not node.has_output(1)
    if is_idle and not node.graph.is_output(node.output(0)):
        node.forward(0, node.input(0))
        node.remove()


@express("Split", opset=13)
def slices(node: Node) -> None:
    """Each part becomes a Slice."""
    axis = node.attr("axis", 0)
    start, op = 0, node.op
    for index, name in enumerate(node.outputs):
        size = node.need_dimension(axis, name or node.output(index))
        if name:
            op.Slice(node.input(0), op.int64([start]), op.int64([start + size]), op.int64([axis]), output=name)
        start += size
    node.remove()


@express("Slice", opset=13)
def part_of_a_split(node: Node) -> None:
    """A constant range along one axis becomes a part of a Split, whose other parts nobody reads."""
    bounds = _bounds(node)
    if bounds is None:
        return
    axis, start, stop = bounds
    length = node.need_dimension(axis)
    sizes = [start, stop - start, length - stop]
    if 0 in sizes[1:2] or sizes[1] == length:
        return
    kept = [size for size in sizes if size]
    parts = node.op.Split(node.input(0), node.op.int64(kept), axis=axis, outputs=len(kept))
    node.give(parts[1 if start else 0])


def _bounds(node: Node) -> tuple[int, int, int] | None:
    """Axis, start and end of a Slice by constants along one axis of known length, in steps of 1; None for others."""
    if node.opset < 10:
        return None
    starts, ends = node.constant(1), node.constant(2)
    axes, steps = (node.constant(index) if node.has_input(index) else None for index in (3, 4))
    if starts is None or ends is None or starts.size != 1 or (node.has_input(4) and (steps is None or steps.item() != 1)):
        return None
    if node.has_input(3) and axes is None:
        return None
    axis = 0 if axes is None else int(axes.item())
    start, stop, _ = slice(int(starts.item()), int(ends.item())).indices(node.need_dimension(axis))
    return (axis % node.need_rank(), start, stop) if stop > start else None


_MOST_STORED = 65_536
"""The number of indices, or of ones, that may be stored for another form of a node."""
_MOST_COPIES = 64
"""The number of operands that a Concat of copies or of slices may have."""


@express(("Gather", "GatherElements", "GatherND"), opset=13)
def one_number_stored(node: Node) -> None:
    """What takes elements of stored data that are all equal is stored, wherever it takes them."""
    data, shape = node.constant(0), node.shape(node.output(0))
    lengths = [length for length in shape or () if isinstance(length, int)]
    if data is None or shape is None or len(lengths) < len(shape) or prod(lengths) > _MOST_STORED or data.dtype.kind not in "biuf":
        return
    if data.size and (data == data.flat[0]).all() and (data.any() or not np.signbit(data.astype(float)).any()):
        node.give(node.op.const(np.full(lengths, data.flat[0]), data.dtype))


@express("Gather", opset=13)
def slices_at_the_indices(node: Node) -> None:
    """Each run of constant indices becomes a Slice; several are joined, with a Reshape where the axis goes or becomes several."""
    indices = node.constant(1)
    axis = node.attr("axis", 0)
    if indices is None or not indices.size or (indices.ndim != 1 and 0 in node.need_shape(node.output(0))):
        return
    length = node.need_dimension(axis)
    if indices.min() < -length or indices.max() >= length:
        return
    places = np.asarray(indices, np.int64).reshape(-1) % length
    rows = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
    if len(rows) > _MOST_COPIES:
        return
    op, part = node.op, node.input(0)
    if len(rows) > 1 or rows[0].size < length:
        ends = [(int(row[0]), int(row[-1]) + 1) for row in rows]
        parts = [op.Slice(part, op.int64([start]), op.int64([stop]), op.int64([axis])) for start, stop in ends]
        part = op.Concat(*parts, axis=axis) if len(parts) > 1 else parts[0]
    if indices.ndim == 1:
        node.give(part)
    else:
        node.become.Reshape(part, op.int64([*node.need_shape(node.output(0))]))


@express("Gather", opset=13)
def along_the_first_axis(node: Node) -> None:
    """A Transpose before the node moves the axis to the front, and one after it moves what was taken back to its place."""
    rank, count = node.need_rank(), node.need_rank(1)
    axis = node.attr("axis", 0) % rank
    if axis == 0:
        return
    op = node.op
    moved = op.Transpose(node.input(0), perm=[axis, *(other for other in range(rank) if other != axis)])
    taken = op.Gather(moved, node.input(1), axis=0)
    if count == 0:
        node.give(taken)
        return
    node.become.Transpose(taken, perm=[*range(count, count + axis), *range(count), *range(count + axis, count + rank - 1)])


@express("Gather", opset=13)
def from_a_row(node: Node) -> None:
    """Elements of a vector become those of a matrix of one row."""
    if node.need_rank() == 1 and 0 not in node.need_shape(node.output(0)):
        op = node.op
        row = op.Reshape(node.input(0), op.int64([1, -1]))
        taken = op.Gather(row, node.input(1), axis=1)
        node.become.Reshape(taken, op.int64([*node.need_shape(node.output(0))]))


_MOST, _LARGEST = 2**31 - 1, 2**63 - 1
"""The largest numbers of int32 and int64."""


@express("Slice", opset=13)
def with_narrow_bounds(node: Node) -> None:
    """Constant bounds, axes and steps of type int64 become int32; a bound beyond that is one beyond the axis.

    The largest number of each type, as an end, means "to the end" for runtimes, so that only that of int64 becomes that of int32.
    """
    if node.opset < 10:
        return
    values = {index: node.constant(index) for index in range(1, 5) if node.has_input(index)}
    if any(value is None or value.dtype != np.int64 for value in values.values()):
        return
    for index, value in values.items():
        clipped = np.where(value > _MOST, np.where(value == _LARGEST, _MOST, _MOST - 1), np.maximum(value, -_MOST - 1))  # type: ignore[operator, arg-type]
        node.set_input(index, node.op.const(clipped, TensorProto.INT32))


@express("Split", opset=13)
def gathered_parts(node: Node) -> None:
    """Each part becomes a Gather of its indices."""
    axis, start, op = node.attr("axis", 0), 0, node.op
    if node.need_dimension(axis) > _MOST_STORED:
        return
    for index, name in enumerate(node.outputs):
        size = node.need_dimension(axis, name or node.output(index))
        if name:
            op.Gather(node.input(0), op.int64([*range(start, start + size)]), axis=axis, output=name)
        start += size
    node.remove()


@express("Slice", opset=13)
def gathered(node: Node) -> None:
    """A constant range along one axis, also in steps or backward, becomes a Gather of its indices."""
    values = [node.constant(index) if node.has_input(index) else None for index in range(1, 5)]
    known = [node.has_input(index) == (value is not None) for index, value in enumerate(values, 1)]
    starts, ends, axes, steps = values
    if node.opset < 10 or starts is None or ends is None or starts.size != 1 or not all(known):
        return
    axis, step = (0 if axes is None else int(axes.item())), (1 if steps is None else int(steps.item()))
    if step < 0 and ends.item() > _MOST - 1:  # "to the end" for some, and "to the last element" for others
        return
    if node.need_dimension(axis) > _MOST_STORED:
        return
    places = [*range(node.need_dimension(axis))][int(starts.item()) : int(ends.item()) : step]
    if places:
        node.become.Gather(node.input(0), node.op.int64(places), axis=axis)


@express(("Expand", "Tile"), opset=13)
def copies_in_a_row(node: Node) -> None:
    """Each axis that is repeated becomes a Concat of the same value, several times."""
    before, after = node.need_shape(0), node.need_shape(node.output(0))
    if 0 in before or 0 in after:
        return
    op, value, rank = node.op, node.input(0), len(after)
    if len(before) < rank:
        before = (1,) * (rank - len(before)) + before
        value = op.Reshape(value, op.int64([*before]))
    counts = [new // old for old, new in zip(before, after, strict=True)]
    if all(count == 1 for count in counts) or max(counts) > _MOST_COPIES:
        return
    for axis, count in enumerate(counts):
        if count > 1:
            value = op.Concat(*[value] * count, axis=axis)
    node.give(value)


@express("Expand", opset=13)
def with_axes_of_one(node: Node) -> None:
    """Data of fewer axes than the result gets those of length 1 that are missing."""
    before, rank = node.need_shape(0), node.need_rank(node.output(0))
    if len(before) < rank and 0 not in before:
        wide = node.op.Reshape(node.input(0), node.op.int64([*[1] * (rank - len(before)), *before]))
        node.set_input(0, wide)


@express("Expand", opset=13)
def product_with_ones(node: Node) -> None:
    """Numbers are multiplied by a constant of ones, which has the lengths that they are repeated to."""
    before, after, kind = node.need_shape(0), node.need_shape(node.output(0)), node.need_elem_type()
    if kind not in _MULTIPLIED or 0 in after:
        return
    aligned = (1,) * (len(after) - len(before)) + before
    ones = [new if old == 1 else 1 for old, new in zip(aligned, after, strict=True)]
    if prod(ones) > _MOST_STORED:
        return
    node.become.Mul(node.input(0), node.op.const(np.ones(ones), kind))


_MULTIPLIED = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64)


@express("Expand", opset=13)
def tiled(node: Node) -> None:
    """Data of a known shape becomes that of a Tile."""
    before, after = node.need_shape(0), node.need_shape(node.output(0))
    if len(before) != len(after) or 0 in before:
        return
    node.become.Tile(node.input(0), node.op.int64([new // old for old, new in zip(before, after, strict=True)]))


@express("Pad", opset=13)
def joined_with_stored_values(node: Node) -> None:
    """A constant that is added along axes of known length becomes stored values, which are joined with the data."""
    shape, kind, pads = list(node.need_shape(0)), node.need_elem_type(), node.constant(1)
    value = node.constant(2) if node.has_input(2) else np.zeros(1)
    is_plain = node.attr("mode", "constant") == "constant" and not node.has_input(3) and node.opset >= 11
    if pads is None or value is None or value.size != 1 or not is_plain or 0 in shape or not pads.size or pads.min() < 0:
        return
    if prod(node.need_shape(node.output(0))) - prod(shape) > _MOST_STORED or not pads.any():
        return
    op, data = node.op, node.input(0)
    for axis, (before, after) in enumerate(zip(*pads.reshape(2, -1).tolist(), strict=True)):
        around = [np.full([*shape[:axis], size, *shape[axis + 1 :]], value.item()) for size in (before, after)]
        first, last = (op.const(values, kind) if values.size else "" for values in around)
        if first or last:
            data = op.Concat(*filter(None, [first, data, last]), axis=axis)
            shape[axis] += before + after
    node.give(data)


@express("Pad", opset=13)
def elements_again(node: Node) -> None:
    """Elements that are reflected or repeated around the data are taken from it again, by a Gather for each axis."""
    shape, pads, mode = node.need_shape(0), node.constant(1), node.attr("mode", "constant")
    axes = node.constant(3) if node.has_input(3) else np.arange(len(shape))
    if node.opset < 11 or mode not in ("reflect", "edge", "wrap") or pads is None or axes is None or 0 in shape:
        return
    value, rows = node.input(0), list(zip(axes.tolist(), *pads.reshape(2, -1).tolist(), strict=True))
    if not pads.any() or pads.min() < 0 or any(size >= shape[axis] for axis, *sizes in rows for size in sizes if mode != "edge"):
        return
    for axis, before, after in rows:
        if before or after:
            places = np.pad(np.arange(shape[axis]), (before, after), mode)
            value = node.op.Gather(value, node.op.int64(places.tolist()), axis=axis % len(shape))
    node.give(value)


@express("Reshape", opset=13)
def flattened(node: Node) -> None:
    """A Reshape that joins the first axes to one, and the others to another, becomes a Flatten."""
    before, after = node.need_shape(0), node.need_shape(node.output(0))
    axes = [axis for axis in range(1, len(before)) if (prod(before[:axis]), prod(before[axis:])) == after]
    if axes and 0 not in before:
        node.become.Flatten(node.input(0), axis=axes[0])


@express("Reshape", opset=13)
def squeezed(node: Node) -> None:
    """A Reshape that only removes axes of length 1 becomes a Squeeze."""
    before, after = node.need_shape(0), node.need_shape(node.output(0))
    removed = [axis for axis, length in enumerate(before) if length == 1]
    if len(before) > len(after) and [length for length in before if length != 1] == list(after):
        node.become.Squeeze(node.input(0), node.op.int64(removed))


@express(("GatherElements", "ScatterElements"), opset=13)
def along_a_row(node: Node) -> None:
    """Vectors become matrices of one row, and the result loses the first axis again."""
    if node.need_rank() != 1 or 0 in node.need_shape(node.output(0)):
        return
    op, kept = node.op, {"reduction": node.attr("reduction")} if node.has_attr("reduction") else {}
    rows = [op.Reshape(name, op.int64([1, -1])) for name in node.inputs]
    row = getattr(op, node.op_type)(*rows, axis=1, opset=node.opset, **kept)
    node.become.Reshape(row, op.int64([*node.need_shape(node.output(0))]))


@express("Transpose", opset=13)
def transposed_by_reshape(node: Node) -> None:
    """A Transpose that moves only axes of length 1 becomes a Reshape."""
    shape = node.need_shape()
    perm = node.attr("perm", list(range(len(shape)))[::-1])
    moved = [axis for axis in perm if shape[axis] != 1]
    if moved == sorted(moved) and 0 not in shape:
        node.become.Reshape(node.input(0), node.op.int64([shape[axis] for axis in perm]))


@express("Transpose", opset=13)
def neighbours_swapped_in_turn(node: Node) -> None:
    """Two neighbouring blocks of axes change places at a time, as axes 1 and 2 of four."""
    shape = node.need_shape()
    perm = node.attr("perm", list(range(len(shape)))[::-1])
    if 0 in shape or perm == [0, 2, 1, 3]:
        return
    op, value, order = node.op, node.input(0), [axis for axis in range(len(shape)) if shape[axis] != 1]
    wanted = [axis for axis in perm if shape[axis] != 1]
    while order != wanted:
        blocks = _blocks_to_swap(order, wanted)
        value = op.Reshape(value, op.int64([prod(shape[axis] for axis in block) for block in blocks]))
        value = op.Transpose(value, perm=[0, 2, 1, 3])
        order = [*blocks[0], *blocks[2], *blocks[1], *blocks[3]]
    node.become.Reshape(value, op.int64([shape[axis] for axis in perm]))


def _blocks_to_swap(order: list[int], wanted: list[int]) -> list[list[int]]:
    """The axes in `order` in four blocks. As the second and the third change places, the first axes get their `wanted` order."""
    first = next(place for place, axis in enumerate(wanted) if order[place] != axis)
    start = order.index(wanted[first])
    count = next(size for size in range(1, len(order)) if order[start : start + size + 1] != wanted[first : first + size + 1])
    return [order[:first], order[first:start], order[start : start + count], order[start + count :]]


@express("Concat", opset=13)
def along_the_second_of_four(node: Node) -> None:
    """What stands before the axis becomes the first of four axes, what stands behind it the third."""
    shape, axis = node.need_shape(node.output(0)), node.attr("axis", 1) % node.need_rank()
    sizes, op = [node.need_shape(index)[axis] for index in range(len(node.inputs))], node.op
    if 0 in (*shape, *sizes) or (len(shape), axis) == (4, 1):
        return
    before, behind = prod(shape[:axis]), prod(shape[axis + 1 :])
    parts = [op.Reshape(name, op.int64([before, size, behind, 1])) for name, size in zip(node.inputs, sizes, strict=True)]
    node.become.Reshape(op.Concat(*parts, axis=1), op.int64([*shape]))


@express("Concat", opset=13)
def along_the_channels_of_an_image(node: Node) -> None:
    """The axis becomes the second of four, what stands before it the third, by a Transpose before and one behind the node."""
    shape, axis = node.need_shape(node.output(0)), node.attr("axis", 1) % node.need_rank()
    sizes, op = [node.need_shape(index)[axis] for index in range(len(node.inputs))], node.op
    before, behind = prod(shape[:axis]), prod(shape[axis + 1 :])
    if 0 in (*shape, *sizes) or before == 1:
        return
    parts = [op.Reshape(name, op.int64([1, before, size, behind])) for name, size in zip(node.inputs, sizes, strict=True)]
    joined = op.Concat(*[op.Transpose(part, perm=[0, 2, 1, 3]) for part in parts], axis=1)
    node.become.Reshape(op.Transpose(joined, perm=[0, 2, 1, 3]), op.int64([*shape]))
