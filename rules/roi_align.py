"""RoiAlign: what it did before opset 16 is called output_half_pixel since, and is not the default. The operator came with opset 10.

Where sampling_ratio says how many samples a bin has, older operators do it by Gather: each sample is the sum of four weighted
pixels. Bins take the mean of their samples or, with mode=max, the largest of the weighted pixels: so do onnxruntime and
onnx.reference. Samples more than a pixel outside count as 0.
https://onnx.ai/onnx/operators/onnx__RoiAlign.html
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import int64, length
from .shared.tables import arange

_ROWS, _COLUMNS = 2, 3
"""The spatial axes of the data, [N, C, H, W]."""
_MODE = "coordinate_transformation_mode"
"""The attribute that opset 16 adds."""


class _Axis(NamedTuple):
    """The samples of every region along one axis: [regions, samples, 1] along the rows, [regions, 1, samples] along the columns."""

    inside: str
    """Whether the sample counts."""
    pixels: tuple[str, str]
    """The two pixels that the sample is between, as int64."""
    weights: tuple[str, str]
    """The weight of each of the two pixels."""


@upgrade("RoiAlign", 16)
def add_output_half_pixel(node: Node) -> None:
    """coordinate_transformation_mode=output_half_pixel is set: regions are not shifted by half a pixel, as before."""
    node.set_attr(_MODE, "output_half_pixel")


@downgrade("RoiAlign", 16)
def drop_output_half_pixel(node: Node) -> None:
    """The mode output_half_pixel, which is all that there was, goes; with half_pixel, pixels are gathered one by one."""
    mode = node.pop_attr(_MODE, "half_pixel")
    if mode == "output_half_pixel":
        return
    if mode != "half_pixel" or node.attr("sampling_ratio", 0) <= 0:
        raise Unconvertible(
            f"before opset 16 RoiAlign does not shift the regions, and {_MODE} is {mode}",
            "set it to output_half_pixel, or sampling_ratio to 2, if the model was trained so, or choose a target from 16 on",
        )
    node.approximate = True
    sample_by_gather(node, is_shifted=True)


@decompose("RoiAlign", opset=13, exact=False)
def gather_samples(node: Node) -> None:
    """Pixels are gathered from the flattened data, and the samples of each bin combined. sampling_ratio has to be given."""
    if node.attr("sampling_ratio", 0) <= 0:
        raise Unconvertible("older operators cannot take as many samples as a region is large, which sampling_ratio=0 asks for")
    sample_by_gather(node, is_shifted=False)


def sample_by_gather(node: Node, is_shifted: bool) -> None:
    """Write the nodes for a RoiAlign, for any opset from 13 to 15.

    With `is_shifted`, regions move by half a pixel and may be smaller than one.
    """
    given = node.need_elem_type()
    kind = TensorProto.DOUBLE if given == TensorProto.DOUBLE else TensorProto.FLOAT
    data, regions = (name if given == kind else node.before("Cast", [name], what="wide", to=kind) for name in node.inputs[:2])
    rows, columns = (_axis(node, regions, kind, axis, is_shifted) for axis in (_ROWS, _COLUMNS))
    parts = _parts(node, _flat(node, data), rows, columns, kind)
    bins = [node.attr("output_height", 1), node.attr("output_width", 1)]
    samples = node.attr("sampling_ratio")
    count = int64(node, [bins[0], samples, bins[1], samples], "bins")
    shape = [length(node, node.input(1), 0), count, length(node, node.input(0), 1)]
    shape = node.before("Concat", shape, what="bins", axis=0)
    is_mean = node.attr("mode", "avg") == "avg"
    merged = node.before("Sum" if is_mean else "Max", parts, what="merged")
    binned = node.before("Reshape", [merged, shape], what="binned")
    pooled = node.before("ReduceMean" if is_mean else "ReduceMax", [binned], what="pooled", axes=[2, 4], keepdims=0)
    if given != kind:
        pooled = node.before("Cast", [pooled], what="narrow", to=given)
    node.become("Transpose", [pooled], perm=[0, 3, 1, 2])


def _number(node: Node, value: float | list[float], kind: int) -> str:
    """A constant of type `kind`."""
    return node.add_constant(value, helper.tensor_dtype_to_np_dtype(kind), "number")


def _flat(node: Node, data: str) -> str:
    """The pixels of all images, one after the other: [N * H * W, C]."""
    last = node.before("Transpose", [data], what="channels_last", perm=[0, 2, 3, 1])
    shape = node.before("Concat", [int64(node, [-1], "pixels"), length(node, node.input(0), 1)], what="pixels", axis=0)
    return node.before("Reshape", [last, shape], what="pixels")


def _axis(node: Node, regions: str, kind: int, axis: int, is_shifted: bool) -> _Axis:
    """The samples of all regions along `axis`."""
    at, size = _positions(node, regions, kind, axis, is_shifted), length(node, node.input(0), axis, "scalar")
    size = node.before("Cast", [size], what="size", to=kind)
    last = node.before("Sub", [size, _number(node, 1, kind)], what="last")
    before = node.before("Less", [at, _number(node, -1, kind)], what="before")
    outside = node.before("Or", [before, node.before("Greater", [at, size], what="behind")], what="outside")
    place = node.before("Min", [node.before("Relu", [at], what="place"), last], what="place")
    low = node.before("Floor", [place], what="low")
    high = node.before("Min", [node.before("Add", [low, _number(node, 1, kind)], what="high"), last], what="high")
    of_high = node.before("Sub", [place, low], what="weight")
    of_low = node.before("Sub", [_number(node, 1, kind), of_high], what="weight")
    low, high = (node.before("Cast", [value], what="pixel", to=TensorProto.INT64) for value in (low, high))
    return _Axis(node.before("Not", [outside], what="inside"), (low, high), (of_low, of_high))


def _positions(node: Node, regions: str, kind: int, axis: int, is_shifted: bool) -> str:
    """Where the samples are, in pixels: each bin starts where the one before ends, with its samples at even distances."""
    bins = node.attr("output_height" if axis == _ROWS else "output_width", 1)
    samples = node.attr("sampling_ratio")
    column = 1 if axis == _ROWS else 0
    start, end = (_bound(node, regions, column + index, kind, is_shifted) for index in (0, 2))
    extent = node.before("Sub", [end, start], what="extent")
    if not is_shifted:
        extent = node.before("Max", [extent, _number(node, 1, kind)], what="extent")
    size = node.before("Div", [extent, _number(node, bins, kind)], what="bin")
    number, within = np.repeat(arange(bins), samples), np.tile(arange(samples) + 0.5, bins)
    shape = (-1, 1) if axis == _ROWS else (1, -1)
    starts, steps = (_number(node, values.reshape(shape).tolist(), kind) for values in (number, within))
    first = node.before("Add", [start, node.before("Mul", [starts, size], what="starts")], what="starts")
    step = node.before("Div", [node.before("Mul", [steps, size], what="steps"), _number(node, samples, kind)], what="steps")
    return node.before("Add", [first, step], what="positions")


def _bound(node: Node, regions: str, column: int, kind: int, is_shifted: bool) -> str:
    """One coordinate of every region, in pixels: [regions, 1, 1]."""
    bound = node.before("Gather", [regions, int64(node, [column], "column")], what="bound", axis=1)
    bound = node.before("Unsqueeze", [bound, int64(node, [2], "axis")], what="bound")
    bound = node.before("Mul", [bound, _number(node, node.attr("spatial_scale", 1.0), kind)], what="bound")
    return node.before("Sub", [bound, _number(node, 0.5, kind)], what="bound") if is_shifted else bound


def _parts(node: Node, pixels: str, rows: _Axis, columns: _Axis, kind: int) -> list[str]:
    """The four pixels of each sample, times their weights: [regions, samples, samples, C]. Outside, pixel 0 times 0."""
    inside = node.before("And", [rows.inside, columns.inside], what="inside")
    counted = node.before("Cast", [inside], what="counted", to=TensorProto.INT64)
    share = node.before("Cast", [inside], what="share", to=kind)
    height, width = (length(node, node.input(0), axis, "scalar") for axis in (_ROWS, _COLUMNS))
    image = node.before("Mul", [node.input(2), node.before("Mul", [height, width], what="image")], what="image")
    image = node.before("Unsqueeze", [image, int64(node, [1, 2], "axes")], what="image")
    parts: list[str] = []
    for row, of_row in zip(rows.pixels, rows.weights, strict=True):
        first = node.before("Mul", [row, width], what="row")
        for column, of_column in zip(columns.pixels, columns.weights, strict=True):
            place = node.before("Mul", [node.before("Add", [first, column], what="place"), counted], what="place")
            place = node.before("Add", [image, place], what="place")
            value = node.before("Gather", [pixels, place], what="pixel", opset=10, axis=0)  # whose indices are never negative
            weight = node.before("Mul", [node.before("Mul", [of_row, of_column], what="weight"), share], what="weight")
            weight = node.before("Unsqueeze", [weight, int64(node, [3], "channel")], what="weight")
            parts.append(node.before("Mul", [value, weight], what="part"))
    return parts
