"""Resize: opset 11 adds roi, sizes and coordinate modes (opset 10 has only asymmetric), 13 makes roi and scales optional, 18 adds
axes, antialias and keep_aspect_ratio_policy, 19 half_pixel_symmetric. Before 10 the operator is called Upsample.

What an older form cannot express is written out along each axis: a Gather for mode nearest, a weighted sum of Gathers for linear
and cubic. Where lengths or scales are only known at run time, nearest and linear compute the positions.
https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.computed_resize import Lengths, Manner, is_computable, may_be_copied, resize_at_run_time
from .shared.parameters import known_input
from .shared.resampling import Filter
from .shared.spelled_resize import (
    ROI,
    SCALES,
    SIZES,
    is_antialiased,
    is_fixed,
    meaning_of_length,
    meaning_of_same_shape,
    require_certain_neighbours,
    require_known_axes,
    require_scales,
    rounded_otherwise,
    scaled,
    spell_out,
    spell_out_with,
)


@upgrade("Resize", 11)
def asymmetric_coordinates(node: Node) -> None:
    """The only mode of opset 10 is written out: asymmetric coordinates, rounded down, or up along an axis that shrinks."""
    data, scales, mode = node.input(0), node.input(1), node.attr("mode", "nearest")
    known = node.constant(1)
    require_scales(known)
    rounding = "floor" if mode == "nearest" else None
    if rounding and (known is None or any(_rounding_matters(scale) for scale in known)):
        rounding = "ceil"
        if known is None or (known > 1).any():
            data = _asymmetric(node, data, _limited(node, known, "Max"), mode, "floor")
            scales = _limited(node, known, "Min")
    node.become.Resize(data, _no_roi(node), scales, **_asymmetric_attributes(mode, rounding))


@upgrade("Resize", 13)
def absent_scales(node: Node) -> None:
    """Scales that are an empty tensor beside sizes are removed."""
    if node.has_input(SIZES) and node.has_input(SCALES):
        node.set_input(SCALES, "")


@downgrade("Resize", 19, sums=True)
def drop_symmetric_coordinates(node: Node) -> None:
    """half_pixel_symmetric becomes half_pixel where the exact sizes are whole numbers; elsewhere the Resize is written out."""
    if node.attr("coordinate_transformation_mode", "half_pixel") != "half_pixel_symmetric":
        return
    if not node.has_input(SIZES) or node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        _write_out(node)
        return
    mode = node.attr("mode", "nearest")
    if mode != "nearest":
        if helper.tensor_dtype_to_np_dtype(node.need_elem_type()).kind in "iu":
            raise rounded_otherwise(mode)
        node.approximate = True
    elif is_fixed(node):
        require_certain_neighbours(node)
    node.set_attr("coordinate_transformation_mode", "half_pixel")


@downgrade("Resize", 18, sums=True)
def entries_for_all_axes(node: Node) -> None:
    """axes is removed: roi, scales and sizes get entries for all axes. Antialiasing and aspect ratio policies are written out."""
    if is_antialiased(node) or (node.attr("keep_aspect_ratio_policy", "stretch") != "stretch" and node.has_input(SIZES)):
        _leave_out_empty(node)
        _write_out(node)
        return
    node.pop_attr("antialias")
    node.pop_attr("keep_aspect_ratio_policy")
    axes = node.pop_attr("axes")
    if axes is None:
        return
    axes = from_the_front(axes, node.need_rank())
    _leave_out_empty(node)
    if node.has_input(ROI):
        node.set_input(ROI, _spread_roi(node, axes))
    if node.has_input(SCALES):
        node.set_input(SCALES, _spread(node, node.input(SCALES), axes, node.op.const([1], np.float32)))
    if node.has_input(SIZES):
        node.set_input(SIZES, _spread_sizes(node, axes))


@downgrade("Resize", 13)
def empty_scales(node: Node) -> None:
    """Absent roi and scales become empty tensors, because they are required. A crop without a region is one of everything."""
    if not node.has_input(ROI):
        crops = node.attr("coordinate_transformation_mode") == "tf_crop_and_resize"
        node.set_input(ROI, _whole_roi(node) if crops else _no_roi(node))
    if not node.has_input(SCALES):
        node.set_input(SCALES, node.op.const([], np.float32))


@downgrade("Resize", 11, sums=True)
def keep_asymmetric(node: Node) -> None:
    """A Resize with the coordinates and rounding of opset 10 loses these attributes; any other is written out."""
    mode, scales = node.attr("mode", "nearest"), node.constant(SCALES)
    require_scales(scales)
    asymmetric = node.attr("coordinate_transformation_mode", "half_pixel") == "asymmetric"
    by_scales = not node.has_input(SIZES)
    if not (asymmetric and by_scales and mode != "cubic" and _rounds_as_10(node, mode, scales)):
        _write_out(node)
        return
    node.become.Resize(node.input(0), node.input(SCALES), mode=mode)


def _write_out(node: Node) -> None:
    """Write the node as Gathers: at fixed positions, or at computed ones if the lengths, here or in the result, are computed."""
    manner = Manner(
        node.attr("mode", "nearest"),
        node.attr("coordinate_transformation_mode", "half_pixel"),
        node.attr("nearest_mode", "round_prefer_floor"),
        is_antialiased(node),
        node.attr("cubic_coeff_a", -0.75),
    )
    policy = node.attr("keep_aspect_ratio_policy", "stretch") if node.has_input(SIZES) else "stretch"
    goes_by_length = manner.coordinates in ("align_corners", "pytorch_half_pixel")
    if is_fixed(node) or not is_computable(manner) or node.attr("exclude_outside", 0):
        spell_out(node)
        return
    if policy != "stretch" and goes_by_length and meaning_of_length(node) == "specification":
        spell_out(node)
        return
    require_known_axes(node)
    axes = from_the_front(node.attr("axes", list(range(node.need_rank()))), node.need_rank())
    if node.has_input(SIZES):
        resize_at_run_time(node, manner, Lengths(axes, sizes=node.input(SIZES), policy=policy))
    else:
        if goes_by_length:
            meaning_of_length(node)
        resize_at_run_time(node, manner, _by_scales(node, axes))


def _by_scales(node: Node, axes: list[int]) -> Lengths:
    """The lengths that the scales of a Resize make; axes that are known to keep theirs are left out."""
    known = node.constant(SCALES)
    require_scales(known)
    if known is None or known.size != len(axes):
        return Lengths(axes, scales=node.input(SCALES))
    changed = [number for number, scale in enumerate(known) if scale != 1]
    if changed and may_be_copied(known[changed], is_antialiased(node)):
        meaning_of_same_shape(node)
    return Lengths([axes[number] for number in changed], scales=node.op.const(known[changed], np.float32))


@decompose("Resize", opset=9, sums=True)
def resize_to_upsample(node: Node) -> None:
    """A Resize that shrinks no axis becomes Upsample; any other, and one whose scales are computed, is written out as Gathers."""
    if node.constant(1) is None:
        manner = Manner(node.attr("mode", "nearest"), "asymmetric", "as_10")
        resize_at_run_time(node, manner, Lengths(list(range(node.need_rank())), scales=node.input(1)))
        return
    scales = node.const_input(1, "the scales")
    require_scales(scales)
    if (scales >= 1).all():
        node.become.Upsample(node.input(0), node.input(1), mode=node.attr("mode", "nearest"))
    else:
        rounding = "ceil" if any(map(_rounding_matters, scales)) and not (scales > 1).any() else "floor"
        if rounding == "floor" and any(map(_rounding_matters, scales)):
            raise Unconvertible("mode nearest rounds one axis up and another down")
        spell_out_with(node, scaled(node, scales), Filter(node.attr("mode", "nearest"), "asymmetric", rounding, 0.0, False))


def _limited(node: Node, known: np.ndarray | None, op_type: Literal["Max", "Min"]) -> str:
    """The scales of a Resize-10, `known` or computed at run time, limited to at least 1 (Max) or at most 1 (Min)."""
    op = node.op
    if known is None:
        return getattr(op, op_type)(node.input(1), op.const(1, np.float32))
    limited = np.maximum(known, 1) if op_type == "Max" else np.minimum(known, 1)
    return op.const(limited, np.float32)


def _asymmetric(node: Node, data: str, scales: str, mode: str, rounding: str) -> str:
    """A Resize of `data` with the coordinates of opset 10."""
    return node.op.Resize(data, _no_roi(node), scales, **_asymmetric_attributes(mode, rounding))


def _asymmetric_attributes(mode: str, rounding: str | None) -> dict[str, Any]:
    """The attributes of a Resize with the coordinates of opset 10."""
    return {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": rounding}


def _no_roi(node: Node) -> str:
    """An empty region of interest."""
    return node.op.const([], np.float32)


def _whole_roi(node: Node) -> str:
    """The region of interest that is everything: from 0 to 1 along each axis."""
    rank = node.need_rank()
    return node.op.const([0] * rank + [1] * rank, np.float32)


def _rounding_matters(scale: float) -> bool:
    """Whether the axis shrinks by `scale` such that its elements lie between those of the input."""
    return scale < 1 and not float(1 / np.float32(scale)).is_integer()


def _rounds_as_10(node: Node, mode: str, scales: np.ndarray | None) -> bool:
    """Whether the node rounds to the same elements as opset 10."""
    if mode != "nearest":
        return True
    if scales is None:
        return False
    up, down = (scales > 1).any(), any(map(_rounding_matters, scales))
    rounding = node.attr("nearest_mode", "round_prefer_floor")
    return (rounding == "floor" and not down) or (rounding == "ceil" and not up)


# Entries for all axes.


def _spread(node: Node, values: str, axes: list[int], other: str) -> str:
    """`values`, one for each of `axes`, as a vector for all axes; the other axes get the entries of `other`, a vector of one."""
    op = node.op
    extended = op.Concat(values, other, axis=0)
    source = [axes.index(axis) if axis in axes else len(axes) for axis in range(node.need_rank())]
    return op.Gather(extended, op.int64(source), axis=0)


def _leave_out_empty(node: Node) -> None:
    """Remove operands that are empty tensors, which below opset 13 stand for absent ones."""
    for index in (ROI, SCALES, SIZES):
        known = known_input(node, index) if node.has_input(index) else None
        if known is not None and known.size == 0:
            node.set_input(index, "")


def _spread_roi(node: Node, axes: list[int]) -> str:
    """The region of interest for all axes. Axes that are not in `axes` are used completely."""
    op = node.op
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type(ROI))
    extended = op.Concat(node.input(ROI), op.const([0, 1], dtype), axis=0)
    rank, count = node.need_rank(), len(axes)
    starts = [axes.index(axis) if axis in axes else 2 * count for axis in range(rank)]
    ends = [count + axes.index(axis) if axis in axes else 2 * count + 1 for axis in range(rank)]
    return op.Gather(extended, op.int64(starts + ends), axis=0)


def _spread_sizes(node: Node, axes: list[int]) -> str:
    """The sizes of all axes. Axes that are not in `axes` keep their length."""
    op = node.op
    shape = op.Shape(node.input(0))
    extended = op.Concat(node.input(SIZES), shape, axis=0)
    rank = node.need_rank()
    source = [axes.index(axis) if axis in axes else len(axes) + axis for axis in range(rank)]
    return op.Gather(extended, op.int64(source), axis=0)
