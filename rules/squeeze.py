"""Squeeze and Unsqueeze: axes are an attribute until opset 12 and an input from 13 on; negative axes came with 11.

https://onnx.ai/onnx/operators/onnx__Squeeze.html, https://onnx.ai/onnx/operators/onnx__Unsqueeze.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import MAKE_CONSTANT, Node
from .shared.axes import add_rank, from_the_front
from .shared.parameters import axes_of, to_attribute, to_input
from .shared.squeezed_sizes import as_int, axes_as_double, how_many, number_of_axes, sizes_without
from .shared.tables import arange


@upgrade(("Squeeze", "Unsqueeze"), 13)
def axes_to_input(node: Node) -> None:
    """The attribute axes becomes an input."""
    to_input(node, "axes", 1)


@downgrade(("Squeeze", "Unsqueeze"), 13)
def axes_to_attribute(node: Node) -> None:
    """Constant axes become the attribute; with axes that are only known at run time, the node becomes a Reshape."""
    axes = axes_of(node) if node.has_input(1) else None
    if axes is not None or not node.has_input(1):
        if node.op_type == "Squeeze" and axes == [] and _keeps_all_dimensions(node):
            node.forward(0, node.input(0))
            node.remove()
            return
        to_attribute(node, 1, "axes", "axes")
        _put_axes_in_order(node)
        return
    node.explain(f"its axes '{node.input(1)}' are computed at run time", MAKE_CONSTANT)
    if node.op_type == "Unsqueeze":
        _unsqueeze_at_run_time(node)
    else:
        _squeeze_at_run_time(node)


def _keeps_all_dimensions(node: Node) -> bool:
    """Whether a Squeeze with empty axes does nothing. Raises Unconvertible where it may have another meaning."""
    shape = node.shape()
    if shape is not None and 1 not in shape and all(isinstance(dim, int) for dim in shape):
        return True
    meaning = node.meaning("empty axes remove no dimension", "removes all dimensions of 1, as without axes")
    return meaning == "specification"


def _put_axes_in_order(node: Node) -> None:
    """Sort the axes of a Squeeze, because onnx infers wrong shapes for unsorted axes."""
    axes, rank = node.attr("axes"), node.rank()
    if node.op_type != "Squeeze" or axes is None or rank is None:
        return
    positive = from_the_front(axes, rank)
    if positive != sorted(positive):
        node.set_attr("axes", sorted(positive))


@downgrade("Squeeze", 11)
def squeezed_axes_from_the_front(node: Node) -> None:
    """The rank is added to negative axes."""
    add_rank(node, "axes")
    _put_axes_in_order(node)


@downgrade("Unsqueeze", 11)
def new_axes_from_the_front(node: Node) -> None:
    """The rank of the output is added to negative axes."""
    add_rank(node, "axes", extra=len(node.attr("axes")))


def _unsqueeze_at_run_time(node: Node) -> None:
    """Turn the Unsqueeze into a Reshape, with 1 at the new axes, and the dimensions of the input elsewhere."""
    op = node.op
    count = number_of_axes(node)
    rank = node.need_rank() + count
    if rank == count:
        node.become.Reshape(node.input(0), op.int64([1] * rank))
        return
    column = op.const(arange(rank, dtype=np.float64).reshape(-1, 1), np.float64)
    axes = axes_as_double(node, node.input(1), rank)
    new = how_many(node, "Equal", [as_int(node, column), as_int(node, axes)])
    before = how_many(node, "Less", [axes, column])
    source = op.Sub(op.int64(list(range(rank))), before)
    kept = op.Sub(op.int64([1] * rank), new)
    source = op.Mul(source, kept)
    sizes = op.Gather(op.Shape(node.input(0)), source, axis=0)
    sizes = op.Add(op.Mul(sizes, kept), new)
    _reshape(node, sizes)


def _squeeze_at_run_time(node: Node) -> None:
    """Turn the Squeeze into a Reshape to the dimensions that stay."""
    rank, count = node.need_rank(), node.dimension(0, 1)
    output = node.shape(node.output(0))
    if not isinstance(count, int) and output is not None:
        count = rank - len(output)
    if not isinstance(count, int):
        raise Unconvertible(f"the number of the axes '{node.input(1)}' is known at run time only", node.shape_hint(1))
    shape = node.op.Shape(node.input(0))
    _reshape(node, sizes_without(node, shape, node.input(1), rank, count))


def _reshape(node: Node, sizes: str) -> None:
    """Turn the node into a Reshape with allowzero=1, from opset 14: a 0 in the computed shape is a length, and copies nothing."""
    node.become.Reshape(node.input(0), sizes, opset=14, allowzero=1)
