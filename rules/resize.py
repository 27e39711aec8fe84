"""Resize: opset 11 adds roi, sizes and coordinate modes (opset 10 is asymmetric), 13 makes roi and scales optional, 18 adds axes,
antialias and keep_aspect_ratio_policy, 19 half_pixel_symmetric. Before 10 the operator is Upsample.

What an older form cannot state is written out along each axis, where lengths and scales are known: a Gather for mode nearest, a
weighted sum of Gathers for linear and cubic.
https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

import math
from math import prod
from typing import Any, Literal

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.resampling import Filter, Sampling, Tap, is_inside, taps
from .shared.tables import require_few

_ROI, _SCALES, _SIZES = 1, 2, 3
"""Positions among the inputs, from opset 11 on."""
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE)


@upgrade("Resize", 11)
def asymmetric_coordinates(node: Node) -> None:
    """Opset 10's only mode is written out: asymmetric coordinates, rounded down, or up along an axis that shrinks."""
    data, scales, mode = node.input(0), node.input(1), node.attr("mode", "nearest")
    known = node.constant(1)
    rounding = "floor" if mode == "nearest" else None
    if rounding and (known is None or any(_rounding_matters(scale) for scale in known)):
        rounding = "ceil"
        if known is None or (known > 1).any():
            data = _asymmetric(node, data, _limited(node, known, "Max"), mode, "floor")
            scales = _limited(node, known, "Min")
    node.become.Resize(data, _no_roi(node), scales, **_asymmetric_attributes(mode, rounding))


@upgrade("Resize", 13)
def absent_scales(node: Node) -> None:
    """Scales that are an empty tensor beside sizes become absent."""
    if node.has_input(_SIZES) and node.has_input(_SCALES):
        node.set_input(_SCALES, "")


@downgrade("Resize", 19)
def drop_symmetric_coordinates(node: Node) -> None:
    """half_pixel_symmetric with sizes becomes half_pixel, which means the same there; with scales, the Resize is written out."""
    if node.attr("coordinate_transformation_mode", "half_pixel") != "half_pixel_symmetric":
        return
    if not node.has_input(_SIZES):
        _spell_out(node)
        return
    mode = node.attr("mode", "nearest")
    if mode != "nearest":
        if helper.tensor_dtype_to_np_dtype(node.need_elem_type()).kind in "iu":
            raise _rounded_otherwise(mode)
        node.approximate = True
    node.set_attr("coordinate_transformation_mode", "half_pixel")


def _rounded_otherwise(mode: str) -> Unconvertible:
    """The refusal of a mode that cuts off between integers: positions that differ in the last bits give other whole numbers."""
    return Unconvertible(f"mode {mode} of this type is rounded in ways that differ", "cast the input to float")


@downgrade("Resize", 18)
def entries_for_all_axes(node: Node) -> None:
    """axes goes: roi, scales and sizes get entries for all axes. Antialiasing and policies of aspect ratio are written out."""
    if _is_antialiased(node):
        _spell_out(node)
        return
    node.pop_attr("antialias")
    if node.attr("keep_aspect_ratio_policy", "stretch") != "stretch" and node.has_input(_SIZES):
        _spell_out(node)
        return
    node.pop_attr("keep_aspect_ratio_policy")
    axes = node.pop_attr("axes")
    if axes is None:
        return
    axes = from_the_front(axes, node.need_rank())
    if node.has_input(_ROI):
        node.set_input(_ROI, _spread_roi(node, axes))
    if node.has_input(_SCALES):
        node.set_input(_SCALES, _spread(node, node.input(_SCALES), axes, node.op.const([1], np.float32)))
    if node.has_input(_SIZES):
        node.set_input(_SIZES, _spread_sizes(node, axes))


@downgrade("Resize", 13)
def empty_scales(node: Node) -> None:
    """roi and scales, which are required, become empty tensors where they are absent."""
    if not node.has_input(_ROI):
        node.set_input(_ROI, _no_roi(node))
    if not node.has_input(_SCALES):
        node.set_input(_SCALES, node.op.const([], np.float32))


@downgrade("Resize", 11)
def keep_asymmetric(node: Node) -> None:
    """A Resize that is asymmetric and rounds as opset 10 does loses its attributes; any other is written out."""
    mode, scales = node.attr("mode", "nearest"), node.constant(_SCALES)
    asymmetric = node.attr("coordinate_transformation_mode", "half_pixel") == "asymmetric"
    by_scales = not node.has_input(_SIZES)
    if not (asymmetric and by_scales and mode != "cubic" and _rounds_as_10(node, mode, scales)):
        _spell_out(node)
        return
    node.become.Resize(node.input(0), node.input(_SCALES), mode=mode)


@decompose("Resize", opset=9)
def resize_to_upsample(node: Node) -> None:
    """A Resize that shrinks nothing becomes Upsample; any other is written out as Gathers."""
    scales = node.const_input(1, "the scales")
    if (scales >= 1).all():
        node.become.Upsample(node.input(0), node.input(1), mode=node.attr("mode", "nearest"))
    else:
        rounding = "ceil" if any(map(_rounding_matters, scales)) and not (scales > 1).any() else "floor"
        if rounding == "floor" and any(map(_rounding_matters, scales)):
            raise Unconvertible("mode nearest rounds one axis up and another down")
        _spell_out_with(node, _scaled(node, scales), Filter(node.attr("mode", "nearest"), "asymmetric", rounding, 0.0, False))


def _limited(node: Node, known: np.ndarray | None, op_type: Literal["Max", "Min"]) -> str:
    """The scales of a Resize-10, `known` or computed at run time, but 1 at least (Max) or at most (Min)."""
    op = node.op
    if known is None:
        return getattr(op, op_type)(node.input(1), op.const(1, np.float32))
    limited = np.maximum(known, 1) if op_type == "Max" else np.minimum(known, 1)
    return op.const(limited, np.float32)


def _asymmetric(node: Node, data: str, scales: str, mode: str, rounding: str) -> str:
    """A Resize of `data` in the one mode of coordinates that opset 10 has."""
    return node.op.Resize(data, _no_roi(node), scales, **_asymmetric_attributes(mode, rounding))


def _asymmetric_attributes(mode: str, rounding: str | None) -> dict[str, Any]:
    """The attributes of such a Resize."""
    return {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": rounding}


def _no_roi(node: Node) -> str:
    """An empty region of interest."""
    return node.op.const([], np.float32)


def _rounding_matters(scale: float) -> bool:
    """Whether an axis of this scale shrinks, and its elements lie between those of the input."""
    return scale < 1 and not float(1 / np.float32(scale)).is_integer()


def _rounds_as_10(node: Node, mode: str, scales: np.ndarray | None) -> bool:
    """Whether the node rounds to the element that opset 10 takes."""
    if mode != "nearest":
        return True
    if scales is None:
        return False
    up, down = (scales > 1).any(), any(map(_rounding_matters, scales))
    rounding = node.attr("nearest_mode", "round_prefer_floor")
    return (rounding == "floor" and not down) or (rounding == "ceil" and not up)


# Entries for all axes.


def _spread(node: Node, values: str, axes: list[int], other: str) -> str:
    """`values`, one for each of `axes`, as a vector for all axes, where the others have `other`, a vector of one."""
    op = node.op
    extended = op.Concat(values, other, axis=0)
    source = [axes.index(axis) if axis in axes else len(axes) for axis in range(node.need_rank())]
    return op.Gather(extended, op.int64(source), axis=0)


def _spread_roi(node: Node, axes: list[int]) -> str:
    """The region of interest for all axes; those that `axes` does not name are taken whole."""
    op = node.op
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type(_ROI))
    extended = op.Concat(node.input(_ROI), op.const([0, 1], dtype), axis=0)
    rank, count = node.need_rank(), len(axes)
    starts = [axes.index(axis) if axis in axes else 2 * count for axis in range(rank)]
    ends = [count + axes.index(axis) if axis in axes else 2 * count + 1 for axis in range(rank)]
    return op.Gather(extended, op.int64(starts + ends), axis=0)


def _spread_sizes(node: Node, axes: list[int]) -> str:
    """The sizes of all axes; those that `axes` does not name keep their length."""
    op = node.op
    shape = op.Shape(node.input(0))
    extended = op.Concat(node.input(_SIZES), shape, axis=0)
    rank = node.need_rank()
    source = [axes.index(axis) if axis in axes else len(axes) + axis for axis in range(rank)]
    return op.Gather(extended, op.int64(source), axis=0)


# Spelled out along each axis.


def _is_antialiased(node: Node) -> bool:
    """Whether antialias=1 has an effect."""
    return bool(node.attr("antialias", 0)) and node.attr("mode", "nearest") != "nearest"


def _spell_out(node: Node) -> None:
    """Write the node as Gathers. It is of opset 11 to 19, whose inputs are roi, scales and sizes."""
    how = Filter(
        node.attr("mode", "nearest"),
        node.attr("coordinate_transformation_mode", "half_pixel"),
        node.attr("nearest_mode", "round_prefer_floor"),
        node.attr("cubic_coeff_a", -0.75),
        bool(node.attr("exclude_outside", 0)),
        _is_antialiased(node),
    )
    _spell_out_with(node, _samplings(node), how)


def _spell_out_with(node: Node, samplings: dict[int, Sampling], how: Filter) -> None:
    """Write the node as Gathers along the axes of `samplings`."""
    op = node.op
    kind = node.need_elem_type()
    if how.mode != "nearest" and kind not in _FLOATS:
        raise _rounded_otherwise(how.mode)
    weights_dtype = helper.tensor_dtype_to_np_dtype(kind)
    data, rank = node.input(0), node.need_rank()
    node.approximate = how.mode != "nearest"
    for axis, sampling in samplings.items():
        shape = [-1 if index == axis else 1 for index in range(rank)]
        parts = [_tapped(node, data, axis, tap, shape, weights_dtype) for tap in taps(sampling, how)]
        data = parts[0]
        for part in parts[1:]:
            data = op.Add(data, part)
    inside = {axis: is_inside(sampling, how) for axis, sampling in samplings.items()}
    if all(each.all() for each in inside.values()):
        node.become.Identity(data)
        return
    require_few(prod(each.size for each in inside.values()))
    mask = np.ones([1] * rank, bool)
    for axis, each in inside.items():
        mask = mask & each.reshape([-1 if index == axis else 1 for index in range(rank)])
    beyond = op.const(node.attr("extrapolation_value", 0.0), weights_dtype)
    node.become.Where(op.const(mask, np.bool_), data, beyond)


def _tapped(node: Node, data: str, axis: int, tap: Tap, shape: list[int], dtype: np.dtype) -> str:
    """The elements of `data` that `tap` takes along `axis`, times its weights."""
    op = node.op
    taken = op.Gather(data, op.int64(tap.indices.tolist()), axis=axis)
    if tap.weights is None:
        return taken
    return op.Mul(taken, op.const(tap.weights.reshape(shape), dtype))


def _samplings(node: Node) -> dict[int, Sampling]:
    """How each axis is resampled that changes. Raises Unconvertible where that is only known at run time."""
    rank = node.need_rank()
    axes = from_the_front(node.attr("axes", list(range(rank))), rank)
    whole = [0.0] * len(axes) + [1.0] * len(axes)
    cropped = node.attr("coordinate_transformation_mode") == "tf_crop_and_resize"
    roi = node.const_input(_ROI, "the region of interest").tolist() if cropped else whole
    starts, ends = roi[: len(axes)], roi[len(axes) :]
    if not node.has_input(_SIZES):
        if node.constant(_SCALES) is None and (aligned := _aligned(node, axes)) is not None:
            return aligned
        scales = dict(zip(axes, node.const_input(_SCALES, "the scales").tolist(), strict=True))
        found = _scaled(node, [scales.get(axis, 1.0) for axis in range(rank)])
        if not cropped:
            return found
        raise Unconvertible("scales of a cropped region have no older form", "give sizes instead")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    sizes = _sizes(node, axes, policy)
    lengths = [node.need_dimension(axis) for axis in axes]
    if policy == "stretch":
        pairs = [(size, size / length) for size, length in zip(sizes, lengths, strict=True)]
    else:
        common = (min if policy == "not_larger" else max)(size / length for size, length in zip(sizes, lengths, strict=True))
        pairs = [(math.floor(common * length + 0.5), common) for length in lengths]
    return {
        axis: Sampling(length, resized, scale, start, end)
        for axis, length, (resized, scale), start, end in zip(axes, lengths, pairs, starts, ends, strict=True)
        if cropped or resized != length
    }


def _aligned(node: Node, axes: list[int]) -> dict[int, Sampling] | None:
    """As `_samplings`, for aligned corners and a result of known shape, which alone decide; None where that does not apply."""
    if node.attr("coordinate_transformation_mode") != "align_corners" or _is_antialiased(node):
        return None
    before, after = node.shape() or (), node.output_shape() or ()
    found: dict[int, Sampling] = {}
    for axis, (length, resized) in enumerate(zip(before, after, strict=False)):
        if not isinstance(length, int) or not isinstance(resized, int):
            return None
        if axis in axes and length != resized:
            found[axis] = Sampling(length, resized, resized / length, 0.0, 1.0)
    return found if before and after else None


def _sizes(node: Node, axes: list[int], policy: str) -> list[int]:
    """The sizes: constants, or the dimensions of an output whose shape is known."""
    shape = node.output_shape()
    if node.constant(_SIZES) is None and shape is not None and policy == "stretch":
        known = [dim for axis in axes if isinstance(dim := shape[axis], int)]
        if len(known) == len(axes):
            return known
    return node.const_input(_SIZES, "the sizes").tolist()


def _scaled(node: Node, scales: np.ndarray | list[float]) -> dict[int, Sampling]:
    """How each axis is resampled whose scale is not 1.

    Raises Unconvertible where a resized length computed in float32, as some runtimes do, would be another one.
    """
    found: dict[int, Sampling] = {}
    for axis, scale in enumerate(scales):
        if scale != 1:
            length = node.need_dimension(axis)
            resized = math.floor(length * float(scale))
            if resized != math.floor(np.float32(length) * np.float32(scale)):
                raise Unconvertible(
                    f"{length} · {scale:.9g} is {resized} or {resized + 1} depending on rounding", "give sizes instead"
                )
            found[axis] = Sampling(length, resized, float(scale), 0.0, 1.0)
    return found
