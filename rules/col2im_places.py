"""Where Col2Im finds what it sums, computed when the model runs: the image or the block is not known before.

https://onnx.ai/onnx/operators/onnx__Col2Im.html
"""

from __future__ import annotations

from typing import NamedTuple

from onnx import TensorProto

from ..rewriter.graph import Node
from .indices import count_up, int64

_IMAGE, _BLOCK = 1, 2


class _Axis(NamedTuple):
    """One axis of the image. `offset` is [block, 1], `step` and `is_there` are [block, image], among axes of length 1."""

    block: str
    """How many places a block has along it, a vector of one."""
    steps: str
    """How many blocks there are along it, a vector of one."""
    offset: str
    """The places in a block: 0, 1, …"""
    step: str
    """Which block puts that place onto the pixel."""
    is_there: str
    """Whether one does."""


def places_at_run_time(node: Node) -> tuple[str, str]:
    """(places in a block, pixels): where in the flattened columns the element is, or behind the last; and that, a vector of one."""
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
    known = node.constant(index)
    if known is not None:
        return int64(node, [int(known[number])], "length")
    return node.before("Gather", [node.input(index), int64(node, [number], "axis")], what="length", axis=0)


def _spread(node: Node, vector: str, axis: int, rank: int) -> str:
    """`vector` along `axis` of a tensor of `rank`."""
    return node.before("Reshape", [vector, int64(node, [-1 if d == axis else 1 for d in range(rank)], "axis")], what="spread")


def _multiply_and_add(node: Node, value: str, factor: str, term: str) -> str:
    return node.before("Add", [node.before("Mul", [value, factor], what="product"), term], what="sum")


def _double(node: Node, value: str) -> str:
    """Below opset 9 nothing compares int64 by size."""
    return node.before("Cast", [value], what="double", to=TensorProto.DOUBLE)
