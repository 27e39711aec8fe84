"""Reshape: the shape is an attribute until 4, an input from 5; 14 adds allowzero.

https://onnx.ai/onnx/operators/onnx__Reshape.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.graph.node import Node
from .shared.parameters import known_input, to_attribute, to_input


@upgrade("Reshape", 5)
def shape_to_input(node: Node) -> None:
    """The attribute shape becomes an input."""
    to_input(node, "shape", 1)


@downgrade("Reshape", 14)
def drop_allowzero(node: Node) -> None:
    """allowzero=1 goes where the shape cannot hold a 0; else each 0 becomes a -1, which an empty tensor turns into 0 again.

    Several constant zeros are copied from a tensor that is expanded to 0 there. Computed ones are not: exporters compute most
    shapes, and the Expand would copy the data of each Reshape for the sake of the rare one that is empty twice.
    """
    if not node.pop_attr("allowzero", 0) or _is_never_empty(node) or _zeros_copy_themselves(node):
        return
    shape = known_input(node, 1)
    if shape is None:
        _infer_zeros_at_run_time(node)
        if node.shape(1) != (1,):
            node.caution("fails below opset 14 if two dimensions of the input are 0; --overwrite-input-shape avoids it")
    elif np.count_nonzero(shape == 0) == 1:
        node.set_input(1, node.op.int64(np.where(shape == 0, -1, shape).tolist()))
    elif 0 in shape:
        _expand_to_none(node, shape)


def _expand_to_none(node: Node, shape: np.ndarray) -> None:
    """Expand the data, which is certain to be empty, to the rank of `shape` with a 0 wherever `shape` has one to be copied."""
    op = node.op
    ones = op.int64((shape != 0).astype(int).tolist())
    column = op.Reshape(node.input(0), op.int64([-1] + [1] * (len(shape) - 1)))
    node.set_input(0, op.Expand(column, ones))


@downgrade("Reshape", 5)
def shape_to_attribute(node: Node) -> None:
    """A constant shape becomes the attribute."""
    to_attribute(node, 1, "shape", "shape")


def _is_never_empty(node: Node) -> bool:
    """Whether the data is known to have elements."""
    shape = node.shape()
    return shape is not None and all(isinstance(dim, int) and dim > 0 for dim in shape)


def _zeros_copy_themselves(node: Node) -> bool:
    """Whether each dimension of the result that may be 0 is the one of the data that a 0 in its place copies."""
    data, result = node.shape(), node.output_shape()
    if data is None or result is None:
        return False
    known = zip(result, (*data, *[None] * len(result)), strict=False)
    return all(there is not None and there != 0 and (isinstance(there, int) or there == here) for there, here in known)


def _infer_zeros_at_run_time(node: Node) -> None:
    """Subtract 1 where the computed shape is 0."""
    op = node.op
    is_zero = op.Equal(node.input(1), op.int64([0]))
    as_number = op.Cast(is_zero, to=TensorProto.INT64)
    node.set_input(1, op.Sub(node.input(1), as_number))
