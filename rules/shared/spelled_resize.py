"""Writes out a Resize along each axis of known length: as a Gather for mode nearest, as a weighted sum of Gathers for other modes.

https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

import math
from math import prod

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from .axes import from_the_front
from .resampling import Filter, Sampling, Tap, is_inside, taps
from .tables import require_few

ROI, SCALES, SIZES = 1, 2, 3
"""The positions of these inputs in a Resize, from opset 11 on."""
_ROUNDING = 1e-6
"""The excess of a length over a whole number, relative to itself, that comes from rounding the scale to float32 alone."""
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE)


def rounded_otherwise(mode: str) -> Unconvertible:
    """The refusal of a mode that rounds to integers, where positions that differ in the last bits give other numbers."""
    return Unconvertible(f"mode {mode} of this type is rounded in ways that differ", "cast the input to float")


def is_antialiased(node: Node) -> bool:
    """Whether antialias=1 has an effect."""
    return bool(node.attr("antialias", 0)) and node.attr("mode", "nearest") != "nearest"


def is_fixed(node: Node) -> bool:
    """Whether sizes or scales are known, and so are the lengths of the data along the axes that they change."""
    rank = node.need_rank()
    axes = from_the_front(node.attr("axes", list(range(rank))), rank)
    if node.has_input(SIZES):
        axes = _resized(node, axes)
        is_stated = node.constant(SIZES) is not None or (
            node.attr("keep_aspect_ratio_policy", "stretch") == "stretch"
            and all(isinstance(node.dimension(axis, node.output(0)), int) for axis in axes)
        )
        return is_stated and all(isinstance(node.dimension(axis), int) for axis in axes)
    scales = node.constant(SCALES)
    if scales is None:
        return _aligned(node, axes) is not None
    return all(scale == 1 or isinstance(node.dimension(axis), int) for axis, scale in zip(axes, scales, strict=False))


def _resized(node: Node, axes: list[int]) -> list[int]:
    """Those of the axes that a Resize by sizes may resize: one keeps its length if that has the same symbol before and after."""
    if node.constant(SIZES) is not None or node.attr("keep_aspect_ratio_policy", "stretch") != "stretch" or _crops(node):
        return axes
    return [axis for axis in axes if node.dimension(axis) is None or node.dimension(axis) != node.dimension(axis, node.output(0))]


def _crops(node: Node) -> bool:
    return node.attr("coordinate_transformation_mode") == "tf_crop_and_resize"


def spell_out(node: Node) -> None:
    """Write the node as Gathers. It has the form of opset 11 to 19, with the inputs roi, scales and sizes."""
    if 0 in (node.shape(0) or ()):
        raise Unconvertible(f"'{node.input(0)}' has no elements to gather")
    require_known_axes(node)
    if node.attr("mode", "nearest") == "nearest" and node.attr("exclude_outside", 0):
        raise Unconvertible("exclude_outside=1 has no meaning in mode nearest, and onnxruntime refuses it", "leave it out")
    samplings = _samplings(node)
    if _keeps_the_shape(node, samplings):
        node.become.Identity(node.input(0))
        return
    spell_out_with(node, _without_copied(node, samplings), _filter(node))


def weights_along_axes(node: Node) -> dict[int, np.ndarray] | None:
    """For each axis that the node resamples, the weights [resized, length] by which elements of the result are sums of those of the
    data; None where it crops, copies, or computes in integers.

    Raises Unconvertible where they depend on how the runtime rounds, or are only known at run time.
    """
    how = _filter(node)
    if how.coordinates == "tf_crop_and_resize" or node.need_elem_type() not in _FLOATS or 0 in node.need_shape():
        return None
    require_known_axes(node)
    samplings = _samplings(node)
    if not samplings or _keeps_the_shape(node, samplings):
        return None
    return {axis: _weights(sampling, how) for axis, sampling in samplings.items()}


def _weights(sampling: Sampling, how: Filter) -> np.ndarray:
    found = np.zeros([sampling.resized, sampling.length])
    for tap in taps(sampling, how):
        np.add.at(found, (np.arange(sampling.resized), tap.indices), 1.0 if tap.weights is None else tap.weights)
    return found


def require_certain_neighbours(node: Node) -> None:
    """Raises Unconvertible where the nearest element, in a node with known lengths, depends on how the runtime rounds."""
    for axis in _samplings(node).values():
        taps(axis, _filter(node))


def _filter(node: Node) -> Filter:
    return Filter(
        node.attr("mode", "nearest"),
        node.attr("coordinate_transformation_mode", "half_pixel"),
        node.attr("nearest_mode", "round_prefer_floor"),
        node.attr("cubic_coeff_a", -0.75),
        bool(node.attr("exclude_outside", 0)),
        is_antialiased(node),
    )


def _keeps_the_shape(node: Node, samplings: dict[int, Sampling]) -> bool:
    """Whether the node copies its input, by its meaning, though positions shift by `samplings`.

    Raises Unconvertible where nobody said whose meaning counts.
    """
    if is_antialiased(node) or not samplings or any(axis.resized != axis.length for axis in samplings.values()):
        return False
    return meaning_of_same_shape(node) == "onnxruntime"


def _without_copied(node: Node, samplings: dict[int, Sampling]) -> dict[int, Sampling]:
    """The samplings without axes that the node copies, by its meaning, though its region of interest is not all of them.

    Raises Unconvertible where nobody said whose meaning counts.
    """
    kept = [axis for axis, each in samplings.items() if each.scale == 1 and (each.start, each.end) != (0, 1)]
    specification = f"the region of interest counts along the axes {kept}"
    if not kept or node.meaning(specification, "copies these, since their lengths stay") == "specification":
        return samplings
    return {axis: each for axis, each in samplings.items() if axis not in kept}


def meaning_of_same_shape(node: Node) -> str:
    """Whose meaning a Resize has that keeps the shape though its scales are not 1. Raises Unconvertible where nobody said that."""
    return node.meaning("its positions are shifted", "copies its input, since the shape is the same")


def require_known_axes(node: Node) -> None:
    """Raises Unconvertible where lengths follow a policy for axes that count from the end, unless the specification's meaning is
    chosen.
    """
    axes, policy = node.attr("axes", []), node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch" or not node.has_input(SIZES) or min(axes, default=0) >= 0:
        return
    specification = f"keep_aspect_ratio_policy={policy} scales the axes {axes} alike"
    if node.meaning(specification, "leaves the shape as it is, since axes are negative") == "onnxruntime":
        raise Unconvertible(
            "what onnxruntime makes of negative axes cannot be written with older operators", "make the axes positive"
        )


def spell_out_with(node: Node, samplings: dict[int, Sampling], how: Filter) -> None:
    """Write the node as Gathers along the axes of `samplings`."""
    op = node.op
    kind = node.need_elem_type()
    if how.mode != "nearest" and kind not in _FLOATS:
        raise rounded_otherwise(how.mode)
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
    """The sampling of each axis that changes. Raises Unconvertible where it is only known at run time."""
    rank = node.need_rank()
    axes = from_the_front(node.attr("axes", list(range(rank))), rank)
    if node.has_input(SIZES):
        axes = _resized(node, axes)
    whole = [0.0] * len(axes) + [1.0] * len(axes)
    cropped = _crops(node)
    roi = _region(node, 2 * len(axes)) if cropped else whole
    starts, ends = roi[: len(axes)], roi[len(axes) :]
    if not node.has_input(SIZES):
        if node.constant(SCALES) is None and (aligned := _aligned(node, axes)) is not None:
            meaning_of_length(node)
            return aligned
        stated = node.const_input(SCALES, "the scales").tolist()
        if len(stated) != len(axes):
            raise Unconvertible(f"scales has {len(stated)} entries for {len(axes)} axes", "correct the model")
        scales = dict(zip(axes, stated, strict=True))
        found = scaled(node, [scales.get(axis, 1.0) for axis in range(rank)])
        if not cropped:
            return _settled(node, found)
        raise Unconvertible("scales of a cropped region have no older form", "give sizes instead")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    sizes = _sizes(node, axes, policy)
    lengths = [node.need_dimension(axis) for axis in axes]
    if policy == "stretch":
        pairs = [(size, size / length) for size, length in zip(sizes, lengths, strict=True)]
    else:
        common = (min if policy == "not_larger" else max)(size / length for size, length in zip(sizes, lengths, strict=True))
        pairs = [(math.floor(common * length + 0.5), common) for length in lengths]
    found = {
        axis: Sampling(length, resized, scale, start, end)
        for axis, length, (resized, scale), start, end in zip(axes, lengths, pairs, starts, ends, strict=True)
        if cropped or resized != length or scale != 1
    }
    return found if policy == "stretch" else _settled(node, found)


def _settled(node: Node, samplings: dict[int, Sampling]) -> dict[int, Sampling]:
    """The samplings by scales, or by a policy, with the exact lengths if coordinates go by them.

    Raises Unconvertible where a length is no whole number, and nobody said whose meaning counts.
    """
    coordinates = node.attr("coordinate_transformation_mode", "half_pixel")
    fractional = {axis: sampling for axis, sampling in samplings.items() if _goes_by_fraction(sampling, coordinates)}
    if not fractional or meaning_of_length(node, *fractional.values()) == "onnxruntime":
        return samplings
    return samplings | {axis: each._replace(exact=each.length * each.scale) for axis, each in fractional.items()}


def _goes_by_fraction(sampling: Sampling, coordinates: str) -> bool:
    """Whether the coordinates depend on the fraction of the resized length that is rounded."""
    exact = sampling.length * sampling.scale
    if abs(exact - sampling.resized) <= _ROUNDING * exact:
        return False
    if coordinates == "pytorch_half_pixel":
        return sampling.resized == 1
    return coordinates in ("align_corners", "tf_crop_and_resize") and sampling.resized > 1


def meaning_of_length(node: Node, *samplings: Sampling) -> str:
    """Whose meaning a Resize by scales or a policy has whose coordinates go by a length that may be no whole number.

    Raises Unconvertible where nobody said that, and, without `samplings`, where the specification counts but scales are not known.
    """
    coordinates = node.attr("coordinate_transformation_mode")
    lengths = [f"{each.length * each.scale:g}" for each in samplings] or ["length · scale"]
    meaning = node.meaning(f"{coordinates} goes by the length {', '.join(lengths)}", "goes by that of the output, rounded")
    if meaning == "specification" and not samplings and node.has_input(SCALES):
        node.const_input(SCALES, "the scales")
    return meaning


def _region(node: Node, count: int) -> list[float]:
    """The constant region of interest. Raises Unconvertible where it is not a vector of `count` numbers."""
    region = node.const_input(ROI, "the region of interest")
    if region.shape != (count,):
        raise Unconvertible(
            f"the region of interest must have the shape [{count}], and not {list(region.shape)}", "correct the model"
        )
    return region.tolist()


def _aligned(node: Node, axes: list[int]) -> dict[int, Sampling] | None:
    """The samplings for aligned corners and a result of known shape, which are sufficient here; None in other cases."""
    if node.attr("coordinate_transformation_mode") != "align_corners" or is_antialiased(node):
        return None
    before, after = node.shape() or (), node.shape(node.output(0)) or ()
    found: dict[int, Sampling] = {}
    for axis, (length, resized) in enumerate(zip(before, after, strict=False)):
        if not isinstance(length, int) or not isinstance(resized, int):
            return None
        if axis in axes and length != resized:
            found[axis] = Sampling(length, resized, resized / length, 0.0, 1.0)
    return found if before and after else None


def _sizes(node: Node, axes: list[int], policy: str) -> list[int]:
    """The sizes: constants, or the dimensions of the output if its shape is known."""
    shape = node.shape(node.output(0))
    if node.constant(SIZES) is None and shape is not None and policy == "stretch":
        known = [dim for axis in axes if isinstance(dim := shape[axis], int)]
        if len(known) == len(axes):
            return known
    return node.const_input(SIZES, "the sizes").tolist()


def require_scales(scales: np.ndarray | list[float] | None) -> None:
    """Raises Unconvertible where scales are known, and one is not a positive finite number: no length can be multiplied by it."""
    wrong = [float(scale) for scale in ([] if scales is None else scales) if not 0 < scale < math.inf]
    if wrong:
        raise Unconvertible(f"a scale is {wrong[0]:g}, which is not positive and finite", "correct the model")


def scaled(node: Node, scales: np.ndarray | list[float]) -> dict[int, Sampling]:
    """The sampling of each axis whose scale is not 1.

    Raises Unconvertible where the resized length would be another one in float32, in which some runtimes compute it.
    """
    require_scales(scales)
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
