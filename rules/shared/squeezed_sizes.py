"""The shapes that Squeeze and Unsqueeze make, for axes that are only known at run time.

https://onnx.ai/onnx/operators/onnx__Squeeze.html, https://onnx.ai/onnx/operators/onnx__Unsqueeze.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from .indices import double, int64
from .tables import arange


def sizes_without(node: Node, shape: str, axes: str, rank: int, count: int) -> str:
    """`shape`, of `rank` numbers, without those at `axes`, of which there are `count`, known at run time only.

    The places that stay are found by TopK, where an earlier place has a higher key.
    """
    if count == rank:
        return int64(node, [], "sizes")
    column = node.add_constant(arange(rank, dtype=np.float64).reshape(-1, 1), np.float64, "positions")
    gone = how_many(node, "Equal", [as_int(node, column), as_int(node, axes_as_double(node, axes, rank))])
    kept = node.before("Sub", [int64(node, [1] * rank, "ones"), gone], what="kept")
    keys = node.before("Mul", [kept, int64(node, arange(rank, 0, -1).tolist(), "order")], what="keys")
    keys = node.before("Cast", [keys], what="keys", to=TensorProto.FLOAT)
    _, places = node.before_many("TopK", [keys, int64(node, [rank - count], "k")], 2, what="places", axis=0)
    return node.before("Gather", [shape, places], what="sizes", axis=0)


def number_of_axes(node: Node) -> int:
    """How many axes an Unsqueeze adds. Raises Unconvertible where that is unknown."""
    output, data = node.output_shape(), node.shape()
    if output is not None and data is not None:
        return len(output) - len(data)
    count = node.dimension(0, 1)
    if not isinstance(count, int):
        raise Unconvertible(f"not even the number of the axes '{node.input(1)}' is known before run time", node.shape_hint())
    return count


def axes_as_double(node: Node, axes: str, rank: int) -> str:
    """`axes`, counted from the front of `rank` axes, as double."""
    axes = node.before("Cast", [axes], what="axes", to=TensorProto.DOUBLE)
    negative = node.before("Less", [axes, double(node, [0.0])], what="negative")
    as_number = node.before("Cast", [negative], what="negative", to=TensorProto.DOUBLE)
    return node.before("Add", [axes, node.before("Mul", [as_number, double(node, [float(rank)])], what="shift")], what="axes")


def as_int(node: Node, value: str) -> str:
    """`value` as int64."""
    return node.before("Cast", [value], what="int", to=TensorProto.INT64)


def how_many(node: Node, comparison: str, operands: list[str]) -> str:
    """For each row, the number of axes for which the comparison holds."""
    holds = node.before(comparison, operands, what=comparison.lower())
    as_number = node.before("Cast", [holds], what="holds", to=TensorProto.FLOAT)
    return as_int(node, node.before("ReduceSum", [as_number], what="count", opset=11, axes=[1], keepdims=0))
