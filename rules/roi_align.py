"""RoiAlign: it came with opset 10. What it did before opset 16 is called output_half_pixel since then, and is not the default.

Where sampling_ratio gives the number of samples in a bin, it is computed by Gather: each sample is the sum of four weighted pixels.
The value of a bin is the mean of its samples or, with mode=max, the largest of the weighted pixels, as in onnxruntime and
onnx.reference. Samples that are more than a pixel outside count as 0.
https://onnx.ai/onnx/operators/onnx__RoiAlign.html
"""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import length
from .shared.tables import arange, require_few

_ROWS, _COLUMNS = 2, 3
"""The spatial axes of the data, [N, C, H, W]."""
_MODE = "coordinate_transformation_mode"
"""The attribute that opset 16 adds."""


class _Axis(NamedTuple):
    """The samples of every region along one axis: [regions, samples, 1] for rows, [regions, 1, samples] for columns."""

    inside: str
    """Whether the sample counts."""
    pixels: tuple[str, str]
    """The two pixels that the sample is between, as int64."""
    weights: tuple[str, str]
    """The weight of each of the two pixels."""


@upgrade("RoiAlign", 16)
def add_output_half_pixel(node: Node) -> None:
    """coordinate_transformation_mode=output_half_pixel is set, with which regions are not shifted by half a pixel, as before."""
    node.set_attr(_MODE, "output_half_pixel")


@downgrade("RoiAlign", 16)
def drop_output_half_pixel(node: Node) -> None:
    """The mode output_half_pixel, the only one of older opsets, is removed; with half_pixel, the samples are gathered."""
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


@decompose("RoiAlign", opset=13, exact=False, sums=True)
def gather_samples(node: Node) -> None:
    """The samples of each bin are gathered from the flattened data and combined. Refused without sampling_ratio."""
    if node.attr("sampling_ratio", 0) <= 0:
        raise Unconvertible("older operators cannot adapt the number of samples to the size of a region, as sampling_ratio=0 does")
    sample_by_gather(node, is_shifted=False)


def sample_by_gather(node: Node, is_shifted: bool) -> None:
    """Write the nodes that replace a RoiAlign, for any opset from 13 to 15.

    With `is_shifted`, regions are shifted by half a pixel, and may be smaller than one pixel.
    """
    op = node.op
    if not isfinite(node.attr("spatial_scale", 1.0)):
        raise Unconvertible(f"spatial_scale={node.attr('spatial_scale'):g}: no position is a number", "correct the model")
    bins = [node.attr("output_height", 1), node.attr("output_width", 1)]
    if min(bins) < 1:
        raise Unconvertible(f"regions of {bins[0]} × {bins[1]} bins have no samples", "correct the model")
    require_few(max(bins) * node.attr("sampling_ratio"))
    given = node.need_elem_type()
    kind = TensorProto.DOUBLE if given == TensorProto.DOUBLE else TensorProto.FLOAT
    data, regions = (name if given == kind else op.Cast(name, to=kind) for name in node.inputs[:2])
    rows, columns = (_axis(node, regions, kind, axis, is_shifted) for axis in (_ROWS, _COLUMNS))
    parts = _parts(node, _flat(node, data), rows, columns, kind)
    samples = node.attr("sampling_ratio")
    count = op.int64([bins[0], samples, bins[1], samples])
    shape = [length(node, node.input(1), 0), count, length(node, node.input(0), 1)]
    shape = op.Concat(*shape, axis=0)
    is_mean = node.attr("mode", "avg") == "avg"
    merged = (op.Sum if is_mean else op.Max)(*parts)
    binned = op.Reshape(merged, shape)
    pooled = (op.ReduceMean if is_mean else op.ReduceMax)(binned, axes=[2, 4], keepdims=0)
    if given != kind:
        pooled = op.Cast(pooled, to=given)
    node.become.Transpose(pooled, perm=[0, 3, 1, 2])


def _flat(node: Node, data: str) -> str:
    """The pixels of all images, one after the other: [N * H * W, C]."""
    op = node.op
    last = op.Transpose(data, perm=[0, 2, 3, 1])
    shape = op.Concat(op.int64([-1]), length(node, node.input(0), 1), axis=0)
    return op.Reshape(last, shape)


def _axis(node: Node, regions: str, kind: int, axis: int, is_shifted: bool) -> _Axis:
    """The samples of all regions along `axis`."""
    op = node.op
    at, size = _positions(node, regions, kind, axis, is_shifted), length(node, node.input(0), axis, "scalar")
    size = op.Cast(size, to=kind)
    last = op.Sub(size, op.const(1, kind))
    before = op.Less(at, op.const(-1, kind))
    outside = op.Or(before, op.Greater(at, size))
    place = op.Min(op.Relu(at), last)
    low = op.Floor(place)
    high = op.Min(op.Add(low, op.const(1, kind)), last)
    of_high = op.Sub(place, low)
    of_low = op.Sub(op.const(1, kind), of_high)
    low, high = (op.Cast(value, to=TensorProto.INT64) for value in (low, high))
    return _Axis(op.Not(outside), (low, high), (of_low, of_high))


def _positions(node: Node, regions: str, kind: int, axis: int, is_shifted: bool) -> str:
    """The positions of the samples in pixels: each bin starts where the one before ends, with its samples at even distances."""
    op = node.op
    bins = node.attr("output_height" if axis == _ROWS else "output_width", 1)
    samples = node.attr("sampling_ratio")
    column = 1 if axis == _ROWS else 0
    start, end = (_bound(node, regions, column + index, kind, is_shifted) for index in (0, 2))
    extent = op.Sub(end, start)
    if not is_shifted:
        extent = op.Max(extent, op.const(1, kind))
    size = op.Div(extent, op.const(bins, kind))
    number, within = np.repeat(arange(bins), samples), np.tile(arange(samples) + 0.5, bins)
    shape = (-1, 1) if axis == _ROWS else (1, -1)
    starts, steps = (op.const(values.reshape(shape).tolist(), kind) for values in (number, within))
    first = op.Add(start, op.Mul(starts, size))
    step = op.Div(op.Mul(steps, size), op.const(samples, kind))
    return op.Add(first, step)


def _bound(node: Node, regions: str, column: int, kind: int, is_shifted: bool) -> str:
    """One coordinate of every region, in pixels: [regions, 1, 1]."""
    op = node.op
    bound = op.Gather(regions, op.int64([column]), axis=1)
    bound = op.Unsqueeze(bound, op.int64([2]))
    bound = op.Mul(bound, op.const(node.attr("spatial_scale", 1.0), kind))
    return op.Sub(bound, op.const(0.5, kind)) if is_shifted else bound


def _parts(node: Node, pixels: str, rows: _Axis, columns: _Axis, kind: int) -> list[str]:
    """The four pixels of each sample, times their weights: [regions, samples, samples, C]. Outside, this is pixel 0 times 0."""
    op = node.op
    inside = op.And(rows.inside, columns.inside)
    counted = op.Cast(inside, to=TensorProto.INT64)
    share = op.Cast(inside, to=kind)
    height, width = (length(node, node.input(0), axis, "scalar") for axis in (_ROWS, _COLUMNS))
    image = op.Mul(node.input(2), op.Mul(height, width))
    image = op.Unsqueeze(image, op.int64([1, 2]))
    parts: list[str] = []
    for row, of_row in zip(rows.pixels, rows.weights, strict=True):
        first = op.Mul(row, width)
        for column, of_column in zip(columns.pixels, columns.weights, strict=True):
            place = op.Mul(op.Add(first, column), counted)
            place = op.Add(image, place)
            value = op.Gather(pixels, place, opset=10, axis=0)  # whose indices are never negative
            weight = op.Mul(op.Mul(of_row, of_column), share)
            weight = op.Unsqueeze(weight, op.int64([3]))
            parts.append(op.Mul(value, weight))
    return parts
