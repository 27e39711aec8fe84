"""Tile: opset 1 takes one axis and a count, both in the type of the data; from opset 6 on it takes a count for every axis.

https://onnx.ai/onnx/operators/onnx__Tile.html
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING


@upgrade("Tile", 6)
def repeats_for_all_axes(node: Node) -> None:
    """tiles and axis become one vector of repeats for all axes."""
    tiles, axis = (_whole_number(node, index, what) for index, what in ((1, "tiles"), (2, "the axis")))
    rank = node.need_rank()
    if not 0 <= axis < rank:
        raise Unconvertible(f"axis={axis} is out of range for rank {rank}")
    repeats = [1] * rank
    repeats[axis] = tiles
    node.become.Tile(node.input(0), node.op.int64(repeats))


@downgrade("Tile", 6)
def tile_axis_by_axis(node: Node) -> None:
    """The node becomes one Tile for each axis that is repeated."""
    repeats = node.const_input(1, "the repeats").reshape(-1).tolist()
    if node.need_elem_type() not in FLOATING:
        raise Unconvertible("before opset 6, Tile takes floating-point numbers only")
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    data = node.input(0)
    for axis, tiles in enumerate(repeats):
        if tiles != 1:
            operands = [node.op.const(number, dtype) for number in (tiles, axis)]
            data = node.op.Tile(data, *operands)
    node.become.Identity(data)


def _whole_number(node: Node, index: int, what: str) -> int:
    """The number in the constant input `index`, called `what` in messages. Raises Unconvertible where it is not a whole number."""
    value = node.const_input(index, what).reshape(-1)
    if value.size != 1 or value[0] != np.floor(value[0]):
        raise Unconvertible(f"{what} '{node.input(index)}' is not a whole number")
    return int(value[0])
