"""Convolutions with large kernels as sums of convolutions with parts of them.

https://onnx.ai/onnx/operators/onnx__Conv.html
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
_MOST_PARTS = 25
"""The number of parts of a kernel that are added."""


class _Part(NamedTuple):
    """What a part of the kernel takes along one axis."""

    taps: slice
    """The elements of the kernel."""
    begin: int
    """Where the part's first window begins in the data."""
    end: int
    """Where its last window ends."""


def _parts(node: Node, axis: int, most: int) -> list[_Part]:
    """The parts of the kernel along a spatial axis, of at most so many elements each, and nearly as long as each other."""
    length = node.need_shape(1)[2 + axis]
    stride, dilation, pad = (node.attr(name, [usual] * 2)[axis] for name, usual in (("strides", 1), ("dilations", 1), ("pads", 0)))
    reach = (node.need_shape(node.output(0))[2 + axis] - 1) * stride
    bounds = [int(bound) for bound in np.linspace(0, length, -(-length // most) + 1)]
    return [
        _Part(slice(first, last), first * dilation - pad, reach + (last - 1) * dilation + 1 - pad)
        for first, last in pairwise(bounds)
    ]


@express("Conv", opset=13, exact=False, sums=True, listed="Slice")
def in_parts_of_seven(node: Node) -> None:
    """The kernel is cut into parts of up to seven elements along each axis; the results of all are added."""
    _write_in_parts(node, 7)


@express("Conv", opset=13, exact=False, sums=True, listed="Slice")
def in_parts_of_three(node: Node) -> None:
    """The kernel is cut into parts of up to three elements along each axis; the results of all are added."""
    _write_in_parts(node, 3)


@express("Conv", opset=13, exact=False, sums=True, listed="Slice")
def in_single_elements(node: Node) -> None:
    """Each element of the kernel becomes a Conv of 1×1; the results of all are added."""
    _write_in_parts(node, 1)


@express("Conv", opset=13, exact=False, sums=True, zeros=True)
def in_overlapping_parts_of_seven(node: Node) -> None:
    """The kernel becomes two parts of seven elements along an axis that has more, of which those that overlap are zeros in one."""
    _write_in_overlapping_parts(node, 7)


@express("Conv", opset=13, exact=False, sums=True, zeros=True)
def in_overlapping_parts_of_three(node: Node) -> None:
    """The kernel becomes two parts of three elements along an axis that has more, of which those that overlap are zeros in one."""
    _write_in_overlapping_parts(node, 3)


@express("Conv", opset=13, exact=False, sums=True, zeros=True)
def in_parts_of_three_of_what_is_cut(node: Node) -> None:
    """A dense kernel without padding becomes parts of three elements along each axis, each of data that is cut at both ends.

    Elements of a part that an earlier one has are zeros; a part of zeros alone goes, but for the last one if all are such.
    """
    most, weights, kernel, shape = 3, node.graph.tensor(node.input(1)), node.need_shape(1)[2:], node.need_shape(0)
    longer = [max(length - most, 0) for length in kernel]
    counts = [-(-length // most) for length in kernel]
    is_dense = node.attr("dilations", [1, 1]) == [1, 1] and not any(node.attr("pads", []))
    if weights is None or len(shape) != 4 or not is_dense or node.attr("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return
    if node.need_elem_type() not in _FLOATS or not any(longer) or prod(counts) > _MOST_PARTS:
        return
    if any(length < size for length, size in zip(shape[2:], kernel, strict=True)):
        return
    left, op = node.const_input(1, "the kernel").copy(), node.op
    begins = [np.linspace(0, more, count).astype(int).tolist() for more, count in zip(longer, counts, strict=True)]
    results: list[str] = []
    places = [*product(*begins)]
    for place in places:
        taps = (..., *(slice(begin, begin + most) for begin in place))
        part = left[taps].copy()
        left[taps] = 0
        if not part.any() and (results or place != places[-1]):
            continue
        ends = [length - more + begin for length, more, begin in zip(shape[2:], longer, place, strict=True)]
        data = op.Slice(node.input(0), op.int64(place), op.int64(ends), op.int64([2, 3]))
        settings: dict[str, Any] = {name: node.attr(name) for name in ("strides", "group") if node.has_attr(name)}
        bias = node.inputs[2:] if not results else []
        results.append(op.Conv(data, op.const(part, part.dtype), *bias, kernel_shape=[*part.shape[2:]], **settings))
    node.give(functools.reduce(op.Add, results))


def _write_in_overlapping_parts(node: Node, most: int) -> None:
    """Parts at both ends of the kernel see all of the data, with less padding at one end of it, so that nothing is cut off."""
    weights, kernel = node.graph.tensor(node.input(1)), node.need_shape(1)
    longer = [length - most for length in kernel[2:]]
    if weights is None or not 0 < max(longer) <= most or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return
    count = len(longer)
    reach = [max(more, 0) * step for more, step in zip(longer, node.attr("dilations", [1] * count), strict=True)]
    pads = node.attr("pads", [0] * 2 * count)
    if node.need_elem_type() not in _FLOATS or any(pad < more for pad, more in zip(pads, reach * 2, strict=True)):
        return
    values, op = node.const_input(1, "the kernel"), node.op
    results: list[str] = []
    for places in product(*((False, True) if more > 0 else (False,) for more in longer)):
        taps = [slice(more, None) if is_last else slice(most) for is_last, more in zip(places, longer, strict=True)]
        part = values[(..., *taps)].copy()
        for axis, (is_last, length) in enumerate(zip(places, kernel[2:], strict=True), 2):
            if is_last:
                part[(slice(None),) * axis + (slice(2 * most - length),)] = 0
        cut = [more * is_last for is_last, more in zip(places, reach, strict=True)]
        cut += [more * (not is_last) for is_last, more in zip(places, reach, strict=True)]
        settings: dict[str, Any] = {name: node.attr(name) for name in ("strides", "dilations", "group") if node.has_attr(name)}
        bias = node.inputs[2:] if not results else []
        settings |= {"kernel_shape": [*part.shape[2:]], "pads": [pad - less for pad, less in zip(pads, cut, strict=True)]}
        results.append(op.Conv(node.input(0), op.const(part, part.dtype), *bias, **settings))
    node.give(functools.reduce(op.Add, results))


def _write_in_parts(node: Node, most: int) -> None:
    weights, kernel, shape = node.graph.tensor(node.input(1)), node.need_shape(1), node.need_shape(0)
    if (
        weights is None
        or len(shape) != 4
        or 0 in (*shape, *node.need_shape(node.output(0)))
        or node.need_elem_type() not in _FLOATS
    ):
        return
    if node.attr("auto_pad", "NOTSET") != "NOTSET" or max(kernel[2:]) <= most:
        return
    places = [part for part in product(_parts(node, 0, most), _parts(node, 1, most)) if _sees_data(part, shape)]
    if not 2 <= len(places) <= _MOST_PARTS:
        return
    values, op = node.const_input(1, "the kernel"), node.op
    bias = [node.input(2)] if node.has_input(2) else []
    results = [_part(node, shape, values, part, [] if index else bias) for index, part in enumerate(places)]
    total = results[0]
    for result in results[1:-1]:
        total = op.Add(total, result)
    node.become.Add(total, results[-1])


def _sees_data(part: Sequence[_Part], shape: Sequence[int]) -> bool:
    """Whether windows of the part see more than padding."""
    return all(along.begin < length and along.end > 0 for along, length in zip(part, shape[2:], strict=True))


def _part(node: Node, shape: Sequence[int], weights: np.ndarray, part: Sequence[_Part], bias: list[str]) -> str:
    """The Conv with one part of the kernel, on that part of the data which its windows see."""
    op, lengths = node.op, shape[2:]
    starts = [max(along.begin, 0) for along in part]
    ends = [min(along.end, length) for along, length in zip(part, lengths, strict=True)]
    pads = [
        *(start - along.begin for start, along in zip(starts, part, strict=True)),
        *(along.end - end for end, along in zip(ends, part, strict=True)),
    ]
    data = node.input(0)
    if [*starts, *ends] != [0, 0, *lengths]:
        data = op.Slice(data, op.int64(starts), op.int64(ends), op.int64([2, 3]))
    kernel = np.ascontiguousarray(weights[:, :, part[0].taps, part[1].taps])
    settings: dict[str, Any] = {name: node.attr(name) for name in ("strides", "group") if node.has_attr(name)}
    if node.has_attr("dilations") and max(kernel.shape[2:]) > 1:
        settings["dilations"] = node.attr("dilations")
    if any(pads):
        settings["pads"] = pads
    return op.Conv(data, op.const(kernel, weights.dtype), *bias, kernel_shape=[*kernel.shape[2:]], **settings)
