"""Negative indices; a Scatter into data that others read, or of many updates; TopK of all elements; an Unsqueeze of several axes.

https://onnx.ai/onnx/operators/onnx__GatherND.html, https://onnx.ai/onnx/operators/onnx__GatherElements.html,
https://onnx.ai/onnx/operators/onnx__OneHot.html, https://onnx.ai/onnx/operators/onnx__ScatterElements.html,
https://onnx.ai/onnx/operators/onnx__TopK.html, https://onnx.ai/onnx/operators/onnx__Unsqueeze.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ..shared.indices import is_never_negative, length

_MOST_TURNS = 64
"""The number of nodes at most that take turns."""
_UNSIGNED = (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64)
_LEAST = float(np.finfo(np.float32).tiny)
"""The smallest normal number."""


@avoid("Negative index", ("GatherElements", "ScatterElements"), opset=13)
def along_one_axis(node: Node) -> None:
    """Negative indices count from the front, at run time by Mod where they are not constant.

    It is exact for all types. Indices beyond the axis, with which the node fails, would count anew. Beside constant indices, the
    length of the axis has to be known.
    """
    if _may_be_negative_at_run_time(node):
        _wrap(node, length(node, node.input(0), node.attr("axis", 0), "scalar"))
        return
    indices = _negative(node, 1)
    if indices is not None:
        count = node.need_dimension(node.attr("axis", 0))
        _replace(node, 1, np.where(indices < 0, indices + count, indices))


@avoid("Negative index", "GatherND", opset=13)
def along_many_axes(node: Node) -> None:
    """Negative indices count from the front, at run time by Mod where they are not constant.

    It is exact for all types. Indices beyond an axis, with which the node fails, would count anew. Beside constant indices, the
    lengths of the axes with negative ones have to be known; else the number of axes.
    """
    first, indices = node.attr("batch_dims", 0), _negative(node, 1)
    if _may_be_negative_at_run_time(node):
        end = first + node.need_dimension(-1, 1)
        known = [node.dimension(axis) for axis in range(first, end)]
        is_open = any(not isinstance(dim, int) for dim in known)
        _wrap(node, node.op.Shape(node.input(0), start=first, end=end, opset=15) if is_open else node.op.int64(known))
    if indices is None:
        return
    lengths = [node.need_dimension(first + axis) if (indices[..., axis] < 0).any() else 0 for axis in range(indices.shape[-1])]
    _replace(node, 1, np.where(indices < 0, indices + np.array(lengths, indices.dtype), indices))


@avoid("Negative index", "OneHot", opset=12)
def of_classes(node: Node) -> None:
    """The depth is added to negative indices down to -depth, at run time by Where, if they are not constant.

    It is exact for all types. Beside constant indices, the depth has to be constant.
    """
    if node.opset < 11:  # before 11 negative ones select nothing
        return
    if _may_be_negative_at_run_time(node, 0):
        _add_depth(node)
        return
    indices = _negative(node, 0)
    if indices is not None:
        depth = int(node.const_input(1, "the depth").reshape(()))
        _replace(node, 0, np.where((indices < 0) & (indices >= -depth), indices + depth, indices))


def _add_depth(node: Node) -> None:
    """Add the depth to indices, input 0, from -depth to -1. In int64, a small type holds them, and fractions are dropped first."""
    kind = node.need_elem_type(0)
    if kind in _UNSIGNED:
        return
    op, depth, indices = node.op, _depth(node), node.input(0)
    if kind != TensorProto.INT64:
        indices = op.Cast(indices, to=TensorProto.INT64)
    more = op.Add(indices, depth)
    counts = op.And(op.Less(indices, op.int64(0)), op.GreaterOrEqual(more, op.int64(0)))
    node.set_input(0, op.Where(counts, more, indices))


def _depth(node: Node) -> str:
    """The depth of a OneHot, as an int64 scalar."""
    depth = node.constant(1)
    if depth is not None:
        return node.op.const(depth.reshape(()), TensorProto.INT64)
    return node.op.Reshape(node.op.Cast(node.input(1), to=TensorProto.INT64), node.op.int64([]))


@avoid("Scatter into data that other nodes read", "Scatter", opset=9)
@avoid("Scatter into data that other nodes read", ("ScatterElements", "ScatterND"), opset=13)
def scatter_into_a_copy(node: Node) -> None:
    """The data is copied, by a Max of it and itself, since some runtimes write over what others read.

    It is exact for all numbers and bool; strings and complex numbers are refused, which Max does not take.
    """
    data, copier = node.input(0), "Or" if node.need_elem_type(0) == TensorProto.BOOL else "Max"
    maker = node.maker(0)
    is_copy = maker is not None and maker.op_type == copier and maker.input(0) == maker.input(1)
    if not is_copy and _is_shared(node):
        node.set_input(0, getattr(node.op, copier)(data, data))


def _is_shared(node: Node) -> bool:
    """Whether another node reads the data of a Scatter, or what it is another shape of, which may lie in the same memory."""
    data, maker = node.input(0), node.maker(0)
    while node.graph.is_read_once(data):
        if maker is None or not facts.of(maker.op_type).has("only-reshapes"):
            return False
        data, maker = maker.input(0), maker.maker(0)
    return True


@avoid("Scatter of more updates than elements along the axis", ("Scatter", "ScatterElements"), opset=13)
def scatter_in_turns(node: Node) -> None:
    """The node becomes a chain of nodes with as many updates as the axis has elements, in the same order.

    It is exact for all types. The lengths of the axis have to be known.
    """
    axis, attributes = node.attr("axis", 0), {name: node.attr(name) for name in ("axis", "reduction") if node.has_attr(name)}
    most, count = node.need_dimension(axis), node.need_dimension(axis, 1)
    if count <= most or not most:
        return
    if count > _MOST_TURNS * most:
        raise Unconvertible(f"{count} updates of {most} elements", "let the model scatter less at once")
    sizes = [min(most, count - start) for start in range(0, count, most)]
    parts = [node.op.Split(node.input(index), node.op.int64(sizes), axis=axis, outputs=len(sizes)) for index in (1, 2)]
    data = node.input(0)
    *first, last = zip(*parts, strict=True)
    for indices, updates in first:
        data = getattr(node.op, node.op_type)(data, indices, updates, opset=node.opset, **attributes)
    for index, value in enumerate((data, *last)):
        node.set_input(index, value)


@avoid("TopK of all elements", "TopK", opset=13)
def of_one_more(node: Node) -> None:
    """A Pad adds an element that comes last.

    It is exact for all types where NaN does not occur. A length that is not known is taken to be more than k.
    """
    count, axis = node.constant(1), node.attr("axis", -1)
    if count is None or int(count.item()) != node.dimension(axis):
        return
    dtype, rank = helper.tensor_dtype_to_np_dtype(node.need_elem_type()), node.need_rank()
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)
    widths = np.zeros((2, rank), np.int64)
    widths[1, axis] = 1
    last = node.op.const(low if node.attr("largest", 1) else high, dtype)
    node.set_input(0, node.op.Pad(node.input(0), node.op.int64(widths.reshape(-1)), last))


@avoid("Unsqueeze of several axes", "Unsqueeze", opset=13)
def one_by_one(node: Node) -> None:
    """The node becomes a chain of nodes with one axis each.

    It is exact for all types and lengths. The axes have to be constant.
    """
    axes = node.attr("axes") if node.has_attr("axes") else node.const_input(1, "the axes").reshape(-1)
    if len(axes) < 2:
        return
    rank = node.need_rank() + len(axes)
    data, op = node.input(0), node.op
    *first, last = sorted(int(axis) % rank for axis in axes)
    for axis in first:
        data = op.Unsqueeze(data, op.int64([axis]))
    node.become.Unsqueeze(data, op.int64([last]))


def _may_be_negative_at_run_time(node: Node, index: int = 1) -> bool:
    """Whether the indices, input `index`, are not constant, and not proven to be positive."""
    return node.constant(index) is None and not is_never_negative(node, node.input(index))


def _wrap(node: Node, size: str) -> None:
    """Let negative indices, input 1, count from the front, by Mod with the int64 `size`."""
    indices = node.input(1)
    if node.elem_type(indices) != TensorProto.INT64:
        indices = node.op.Cast(indices, to=TensorProto.INT64)
    node.set_input(1, node.op.Mod(indices, size))


def _negative(node: Node, index: int) -> np.ndarray | None:
    """The indices in input `index`, if they are constant and some are negative, else None."""
    indices = node.constant(index)
    return indices if indices is not None and indices.size and (indices < 0).any() else None


def _replace(node: Node, index: int, value: np.ndarray) -> None:
    node.set_input(index, node.op.const(value, value.dtype))


@avoid("GatherElements with fewer indices than data on another axis", "GatherElements", opset=13)
def cut_other_axes(node: Node) -> None:
    """The data is cut to the lengths of the indices on the axes along which nothing is gathered.

    It is exact for all types. Lengths that are not known are taken to be the same.
    """
    rank = node.need_rank()
    others = [axis for axis in range(rank) if axis != node.attr("axis", 0) % rank]
    lengths = {axis: (node.dimension(axis), node.dimension(axis, 1)) for axis in others}
    for axis, (many, few) in lengths.items():
        if isinstance(few, int) and isinstance(many, int) and few < many:
            parts = node.op.Split(node.input(0), node.op.int64([few, many - few]), axis=axis, outputs=2)
            node.set_input(0, parts[0])


@avoid("Tile", "Tile", opset=13)
def repeat_by_concat(node: Node) -> None:
    """The node becomes a Concat of the same value for each axis that is repeated, the last one first.

    It is exact for all types and lengths. The repeats have to be constant. Below opset 6 it repeats one axis, an input.
    """
    value, repeats = node.input(0), node.constant(1)
    axes = node.constant(2) if node.opset < 6 else None
    if repeats is None:
        raise Unconvertible(f"the repeats '{node.input(1)}' are computed at run time", "make them a constant")
    if axes is None and node.opset < 6:
        raise Unconvertible(f"the axes '{node.input(2)}' are computed at run time", "make them a constant")
    places = range(repeats.size) if axes is None else axes.astype(int).reshape(-1).tolist()
    for axis, count in reversed(list(zip(places, repeats.astype(int).reshape(-1).tolist(), strict=True))):
        if not 0 < count <= _MOST_TURNS:
            raise Unconvertible(f"it repeats an axis {count} times", "choose another runtime")
        if count > 1:
            value = node.op.Concat(*[value] * count, axis=axis)
    if value != node.input(0):
        node.give(value)


@avoid("Compress of an open shape without an axis", "Compress", opset=9)
def flatten_first(node: Node) -> None:
    """A Reshape flattens the data, so that there is an axis.

    It is exact for all types and lengths.
    """
    shape = node.shape(0)
    if not node.has_attr("axis") and (shape is None or any(not isinstance(dim, int) for dim in shape)):
        node.set_input(0, node.op.Reshape(node.input(0), node.op.int64([-1])))
        node.set_attr("axis", 0)


@avoid("NonMaxSuppression without a threshold of overlaps", "NonMaxSuppression", opset=11)
def state_threshold(node: Node) -> None:
    """An iou_threshold that is absent, or 0, becomes the smallest normal number.

    It is exact, unless boxes overlap by less than that. A threshold that is computed at run time is taken to be more than 0.
    """
    threshold = node.constant(3) if node.has_input(3) else np.zeros(1)
    if threshold is None or threshold.any() or not node.has_input(2):
        return
    least = node.op.const(np.full(1, _LEAST), np.float32)
    if len(node.inputs) == 3:
        node.add_input(least)
    else:
        node.set_input(3, least)
