"""The shapes of the results of Squeeze and Unsqueeze for axes that are only known at run time.

https://onnx.ai/onnx/operators/onnx__Squeeze.html, https://onnx.ai/onnx/operators/onnx__Unsqueeze.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from .indices import double
from .tables import arange


def sizes_without(node: Node, shape: str, axes: str, rank: int, count: int) -> str:
    """`shape`, which has `rank` numbers, without the `count` numbers at `axes`, which are only known at run time.

    TopK finds the positions that stay; earlier positions have higher keys.
    """
    op = node.op
    if count == rank:
        return op.int64([])
    column = op.const(arange(rank, dtype=np.float64).reshape(-1, 1), np.float64)
    gone = how_many(node, "Equal", [as_int(node, column), as_int(node, axes_as_double(node, axes, rank))])
    kept = op.Sub(op.int64([1] * rank), gone)
    keys = op.Mul(kept, op.int64(arange(rank, 0, -1).tolist()))
    keys = op.Cast(keys, to=TensorProto.FLOAT)
    _, places = op.TopK(keys, op.int64([rank - count]), outputs=2, axis=0)
    return op.Gather(shape, places, axis=0)


def number_of_axes(node: Node) -> int:
    """The number of axes that an Unsqueeze adds. Raises Unconvertible where it is unknown."""
    output, data = node.shape(node.output(0)), node.shape()
    if output is not None and data is not None:
        return len(output) - len(data)
    count = node.dimension(0, 1)
    if not isinstance(count, int):
        raise Unconvertible(f"the number of the axes '{node.input(1)}' is known at run time only", node.shape_hint(1))
    return count


def axes_as_double(node: Node, axes: str, rank: int) -> str:
    """`axes` of a tensor of rank `rank` as non-negative numbers, in double."""
    op = node.op
    axes = op.Cast(axes, to=TensorProto.DOUBLE)
    negative = op.Less(axes, double(node, [0.0]))
    as_number = op.Cast(negative, to=TensorProto.DOUBLE)
    return op.Add(axes, op.Mul(as_number, double(node, [float(rank)])))


def as_int(node: Node, value: str) -> str:
    """`value` as int64."""
    return node.op.Cast(value, to=TensorProto.INT64)


def how_many(node: Node, comparison: str, operands: list[str]) -> str:
    """For each row, the number of axes for which the comparison holds."""
    op = node.op
    holds = getattr(op, comparison)(*operands)
    as_number = op.Cast(holds, to=TensorProto.FLOAT)
    return as_int(node, op.ReduceSum(as_number, opset=11, axes=[1], keepdims=0))
