"""Col2Im below opset 18: each pixel gathers the elements that are added to it, from constant or computed positions.

https://onnx.ai/onnx/operators/onnx__Col2Im.html
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up
from .shared.tables import index_grid, require_few
from .shared.typed import type_name

_IMAGE, _BLOCK = 1, 2
"""The positions of the image's shape and of the block's shape in the inputs."""


class _Axis(NamedTuple):
    """One axis of the image. `offset` is [block, 1], `step` and `is_there` are [block, image]; other axes have length 1."""

    block: str
    """The number of positions in a block along the axis, as a vector of one int64."""
    steps: str
    """The number of blocks along the axis, as a vector of one int64."""
    offset: str
    """The positions in a block: 0, 1, …"""
    step: str
    """For each position in a block and each pixel, the number of the block that has this position on the pixel."""
    is_there: str
    """Whether there is such a block."""


@decompose("Col2Im", opset=13, exact=False)
def sum_of_blocks(node: Node) -> None:
    """Each pixel gathers the elements that blocks put onto it, or zeros where others get more of them, and sums them."""
    op = node.op
    kind = node.need_elem_type()
    if 0 in (node.shape() or ()):
        raise Unconvertible(f"'{node.input(0)}' has no elements, and a Reshape cannot tell what its shape becomes")
    if kind not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64):
        raise Unconvertible(f"older operators cannot add {type_name(kind)}")
    image, block = node.constant(1), node.constant(2)
    if image is not None and block is not None:
        total = _sum_at_known_places(node, image.tolist(), block.tolist())
    else:
        places, beyond = places_at_run_time(node)
        channels = -1 if block is None else _channels(node, prod(block.tolist()))
        flat = op.Reshape(node.input(0), op.Concat(op.int64([0, channels]), beyond, axis=0))
        total = _sum(node, _with_zero(node, flat), places)
    if image is not None:
        shape = op.int64([0, 0, *image.tolist()])
    else:
        shape = op.Concat(op.int64([0, 0]), node.input(1), axis=0)
    node.become.Reshape(total, shape)


def _channels(node: Node, elements: int) -> int:
    """The number of channels, where blocks of so many elements are in the columns of each; -1 where it is not known."""
    shape = node.shape()
    rows = shape[1] if shape is not None and len(shape) == 3 else None
    return rows // elements if isinstance(rows, int) else -1


def _with_zero(node: Node, flat: str) -> str:
    """The flattened columns with a zero behind them."""
    return node.op.Pad(flat, node.op.int64([0, 0, 0, 0, 0, 1]))


def _sum(node: Node, flat: str, places: str) -> str:
    """For each pixel the sum of what is at its places."""
    parts = node.op.Gather(flat, places, axis=2)
    return node.op.ReduceSum(parts, node.op.int64([2]), keepdims=0)


def _sum_at_known_places(node: Node, image: list[int], block: list[int]) -> str:
    """The sums, gathered at constant places: without a zero where no pixel needs one, without a sum where each has one element."""
    op, rank = node.op, len(image)
    strides, dilations = node.attr("strides", [1] * rank), node.attr("dilations", [1] * rank)
    pads = node.attr("pads", [0] * 2 * rank)
    steps = [(image[d] + pads[d] + pads[rank + d] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in range(rank)]
    require_few(prod(block) * prod(image))
    beyond = prod(block) * prod(steps)
    places = _first_rows(_places(image, block, steps, strides, dilations, pads), beyond)
    flat = op.Reshape(node.input(0), op.int64([0, _channels(node, prod(block)), beyond]))
    if (places == beyond).any():
        flat = _with_zero(node, flat)
    return op.Gather(flat, op.int64(places[0]), axis=2) if len(places) == 1 else _sum(node, flat, op.int64(places))


def _first_rows(places: np.ndarray, beyond: int) -> np.ndarray:
    """The places of each column moved up, in their order, before those that are `beyond`; rows with nothing else are left out."""
    order = np.argsort(places == beyond, axis=0, kind="stable")
    rows = np.take_along_axis(places, order, axis=0)
    return rows[: max(1, int((rows != beyond).any(axis=1).sum()))]


def _places(
    image: list[int], block: list[int], steps: list[int], strides: list[int], dilations: list[int], pads: list[int]
) -> np.ndarray:
    """The positions (positions in a block, pixels) of elements in the flattened columns; where there is
    none, the position after the last.
    """
    pixels = index_grid(image).reshape(len(image), -1)
    columns = prod(steps)
    rows = []
    for number, offset in enumerate(np.ndindex(*block)):
        place, valid = np.zeros(pixels.shape[1], np.int64), np.ones(pixels.shape[1], bool)
        for d in range(len(image)):
            distance = pixels[d] + pads[d] - offset[d] * dilations[d]
            step = distance // strides[d]
            valid &= (distance >= 0) & (distance % strides[d] == 0) & (step < steps[d])
            place = place * steps[d] + step
        rows.append(np.where(valid, number * columns + place, prod(block) * columns))
    return np.stack(rows)


def places_at_run_time(node: Node) -> tuple[str, str]:
    """The same positions as `_places`, computed at run time, and the position after the last one as a vector of one int64."""
    op = node.op
    rank = node.need_dimension(0, _IMAGE)
    axes = [_axis(node, number, rank) for number in range(rank)]
    number, place, columns, count = axes[0].offset, axes[0].step, axes[0].steps, axes[0].block
    is_there = axes[0].is_there
    for axis in axes[1:]:
        number = _multiply_and_add(node, number, axis.block, axis.offset)
        place = _multiply_and_add(node, place, axis.steps, axis.step)
        columns = op.Mul(columns, axis.steps)
        count = op.Mul(count, axis.block)
        is_there = op.And(is_there, axis.is_there)
    place = _multiply_and_add(node, number, columns, place)
    beyond = op.Mul(count, columns)
    there = op.Cast(is_there, to=TensorProto.INT64)
    place = _multiply_and_add(node, op.Sub(place, beyond), there, beyond)
    form = op.Concat(count, op.int64([-1]), axis=0)
    return op.Reshape(place, form), beyond


def _axis(node: Node, number: int, rank: int) -> _Axis:
    """The coverage of axis `number` of an image with `rank` axes by blocks."""
    op = node.op
    stride, dilation = (op.int64([node.attr(name, [1] * rank)[number]]) for name in ("strides", "dilations"))
    pads = node.attr("pads", [0] * 2 * rank)
    zero, one = op.int64([0]), op.int64([1])
    image, block = (_entry(node, index, number) for index in (_IMAGE, _BLOCK))
    pixel = _spread(node, count_up(node, zero, image, one), rank + number, 2 * rank)
    offset = _spread(node, count_up(node, zero, block, one), number, 2 * rank)
    reach = op.Mul(op.Sub(block, one), dilation)
    padded = op.Add(image, op.int64([pads[number] + pads[rank + number] - 1]))
    steps = op.Div(op.Sub(padded, reach), stride)
    steps = op.Add(steps, one)
    distance = op.Add(pixel, op.int64([pads[number]]))
    distance = op.Sub(distance, op.Mul(offset, dilation))
    step = op.Div(distance, stride)
    is_whole = op.Equal(op.Mul(step, stride), distance)
    before = op.Less(_double(node, distance), _double(node, zero))
    within = op.Less(_double(node, step), _double(node, steps))
    within = op.And(within, op.Not(before))
    return _Axis(block, steps, offset, step, op.And(is_whole, within))


def _entry(node: Node, index: int, number: int) -> str:
    """Entry `number` of input `index`, a vector of sizes, as a vector of one int64."""
    op = node.op
    known = node.constant(index)
    if known is not None:
        return op.int64([int(known[number])])
    return op.Gather(node.input(index), op.int64([number]), axis=0)


def _spread(node: Node, vector: str, axis: int, rank: int) -> str:
    """`vector`, reshaped to lie along `axis` of a tensor of rank `rank`."""
    return node.op.Reshape(vector, node.op.int64([-1 if d == axis else 1 for d in range(rank)]))


def _multiply_and_add(node: Node, value: str, factor: str, term: str) -> str:
    """`value` * `factor` + `term`."""
    return node.op.Add(node.op.Mul(value, factor), term)


def _double(node: Node, value: str) -> str:
    """`value` as double, because no operator compares int64 below opset 9."""
    return node.op.Cast(value, to=TensorProto.DOUBLE)
