"""Col2Im below opset 18: each pixel gathers what falls onto it, at places that are constants or computed at run time.

https://onnx.ai/onnx/operators/onnx__Col2Im.html
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up, int64
from .shared.tables import index_grid, require_few
from .shared.typed import type_name

_IMAGE, _BLOCK = 1, 2
"""Positions of the image's shape and of the block's shape among the inputs."""


class _Axis(NamedTuple):
    """One axis of the image. `offset` is [block, 1], `step` and `is_there` are [block, image], among axes of length 1."""

    block: str
    """How many places a block has along the axis, as a vector of one int64."""
    steps: str
    """How many blocks there are along the axis, as a vector of one int64."""
    offset: str
    """The numbers of the places in a block: 0, 1, …"""
    step: str
    """The number of the block that puts this place onto the pixel."""
    is_there: str
    """Whether there is such a block."""


@decompose("Col2Im", opset=13, exact=False)
def sum_of_blocks(node: Node) -> None:
    """Each pixel gathers one element for each place in a block, or a zero where no block puts one there, and sums them."""
    kind = node.need_elem_type()
    if kind not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64):
        raise Unconvertible(f"older operators cannot add {type_name(kind)}")
    image, block = node.constant(1), node.constant(2)
    if image is not None and block is not None:
        places, form = _known_places(node, image.tolist(), block.tolist())
    else:
        places, beyond = places_at_run_time(node)
        form = node.before("Concat", [int64(node, [0, -1], "images"), beyond], what="form", axis=0)
    flat = node.before("Reshape", [node.input(0), form], what="flat")
    zero = node.add_constant(0, helper.tensor_dtype_to_np_dtype(kind), "zero")
    padded = node.before("Pad", [flat, int64(node, [0, 0, 0, 0, 0, 1], "pads"), zero], what="padded")
    parts = node.before("Gather", [padded, places], what="parts", axis=2)
    total = node.before("ReduceSum", [parts, int64(node, [2], "axis")], what="sum", keepdims=0)
    if image is not None:
        shape = int64(node, [0, 0, *image.tolist()], "image")
    else:
        shape = node.before("Concat", [int64(node, [0, 0], "images"), node.input(1)], what="image", axis=0)
    node.become("Reshape", [total, shape])


def _known_places(node: Node, image: list[int], block: list[int]) -> tuple[str, str]:
    """(places in a block, pixels): where each element is in the flattened columns, as a constant; and the shape to flatten to."""
    rank = len(image)
    strides, dilations = node.attr("strides", [1] * rank), node.attr("dilations", [1] * rank)
    pads = node.attr("pads", [0] * 2 * rank)
    steps = [(image[d] + pads[d] + pads[rank + d] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in range(rank)]
    require_few(prod(block) * prod(image))
    places = _places(image, block, steps, strides, dilations, pads)
    return node.add_constant(places, np.int64, "places"), int64(node, [0, -1, prod(block) * prod(steps)], "form")


def _places(
    image: list[int], block: list[int], steps: list[int], strides: list[int], dilations: list[int], pads: list[int]
) -> np.ndarray:
    """(places in a block, pixels): where each element is in the flattened columns; the place behind the last one where there is
    none.
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
    """(places in a block, pixels): where each element is in the flattened columns, or the place behind the last one where there is
    none.

    Returns this, and the place behind the last one as a vector of one int64.
    """
    rank = node.need_dimension(0, _IMAGE)
    axes = [_axis(node, number, rank) for number in range(rank)]
    number, place, columns, count = axes[0].offset, axes[0].step, axes[0].steps, axes[0].block
    is_there = axes[0].is_there
    for axis in axes[1:]:
        number = _multiply_and_add(node, number, axis.block, axis.offset)
        place = _multiply_and_add(node, place, axis.steps, axis.step)
        columns = node.before("Mul", [columns, axis.steps], what="columns")
        count = node.before("Mul", [count, axis.block], what="count")
        is_there = node.before("And", [is_there, axis.is_there], what="there")
    place = _multiply_and_add(node, number, columns, place)
    beyond = node.before("Mul", [count, columns], what="beyond")
    there = node.before("Cast", [is_there], what="there", to=TensorProto.INT64)
    place = _multiply_and_add(node, node.before("Sub", [place, beyond], what="way"), there, beyond)
    form = node.before("Concat", [count, int64(node, [-1], "pixels")], what="form", axis=0)
    return node.before("Reshape", [place, form], what="places"), beyond


def _axis(node: Node, number: int, rank: int) -> _Axis:
    """How blocks cover axis `number` of an image of `rank` axes."""
    stride, dilation = (int64(node, [node.attr(name, [1] * rank)[number]], name) for name in ("strides", "dilations"))
    pads = node.attr("pads", [0] * 2 * rank)
    zero, one = int64(node, [0], "zero"), int64(node, [1], "one")
    image, block = (_entry(node, index, number) for index in (_IMAGE, _BLOCK))
    pixel = _spread(node, count_up(node, zero, image, one), rank + number, 2 * rank)
    offset = _spread(node, count_up(node, zero, block, one), number, 2 * rank)
    reach = node.before("Mul", [node.before("Sub", [block, one], what="last"), dilation], what="reach")
    padded = node.before("Add", [image, int64(node, [pads[number] + pads[rank + number] - 1], "pads")], what="padded")
    steps = node.before("Div", [node.before("Sub", [padded, reach], what="rest"), stride], what="steps")
    steps = node.before("Add", [steps, one], what="steps")
    distance = node.before("Add", [pixel, int64(node, [pads[number]], "pad")], what="distance")
    distance = node.before("Sub", [distance, node.before("Mul", [offset, dilation], what="shift")], what="distance")
    step = node.before("Div", [distance, stride], what="step")
    is_whole = node.before("Equal", [node.before("Mul", [step, stride], what="whole"), distance], what="whole")
    before = node.before("Less", [_double(node, distance), _double(node, zero)], what="before")
    within = node.before("Less", [_double(node, step), _double(node, steps)], what="within")
    within = node.before("And", [within, node.before("Not", [before], what="after")], what="within")
    return _Axis(block, steps, offset, step, node.before("And", [is_whole, within], what="there"))


def _entry(node: Node, index: int, number: int) -> str:
    """Entry `number` of input `index`, a vector of sizes, as a vector of one int64."""
    known = node.constant(index)
    if known is not None:
        return int64(node, [int(known[number])], "length")
    return node.before("Gather", [node.input(index), int64(node, [number], "axis")], what="length", axis=0)


def _spread(node: Node, vector: str, axis: int, rank: int) -> str:
    """`vector` along `axis` of a tensor of `rank`."""
    return node.before("Reshape", [vector, int64(node, [-1 if d == axis else 1 for d in range(rank)], "axis")], what="spread")


def _multiply_and_add(node: Node, value: str, factor: str, term: str) -> str:
    """`value` * `factor` + `term`."""
    return node.before("Add", [node.before("Mul", [value, factor], what="product"), term], what="sum")


def _double(node: Node, value: str) -> str:
    """`value` as double, because no operator compares int64 below opset 9."""
    return node.before("Cast", [value], what="double", to=TensorProto.DOUBLE)
