"""Reshape: the shape is an attribute until opset 4 and an input from 5 on; 14 adds allowzero.

https://onnx.ai/onnx/operators/onnx__Reshape.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.graph.node import Node, Shape
from .shared.parameters import known_input, to_attribute, to_input


@upgrade("Reshape", 5)
def shape_to_input(node: Node) -> None:
    """The attribute shape becomes an input."""
    to_input(node, "shape", 1)


@downgrade("Reshape", 14)
def drop_allowzero(node: Node) -> None:
    """allowzero=1 is removed where the shape has no 0; otherwise each 0 becomes a -1, which gives 0 for an empty tensor.

    If several constants are 0, the data is first expanded to a tensor with 0 in these places, from which they are copied. For
    computed shapes this is not done: exporters compute most shapes, and the Expand would copy the data of every Reshape for the
    rare one with two zeros. A computed dimension is -1 always where no other one is 0, but for the batch.
    """
    if not node.pop_attr("allowzero", 0) or _is_never_empty(node) or _zeros_copy_themselves(node):
        return
    shape = known_input(node, 1)
    if shape is None:
        if not _infer_dimension(node):
            _infer_zeros_at_run_time(node)
    elif np.count_nonzero(shape == 0) == 1:
        node.set_input(1, node.op.int64(np.where(shape == 0, -1, shape).tolist()))
    elif 0 in shape:
        _expand_none(node, shape)


def _expand_none(node: Node, shape: np.ndarray) -> None:
    """Expand the data, which is certainly empty, to `shape`: a length of 1 may become 0."""
    op, ones = node.op, np.ones(len(shape), int)
    ones[np.argmin(shape != 0)] = -1
    column = op.Reshape(node.input(0), op.int64(ones.tolist()))
    node.become.Expand(column, op.int64(shape.tolist()))


@downgrade("Reshape", 5)
def shape_to_attribute(node: Node) -> None:
    """A constant shape becomes the attribute."""
    to_attribute(node, 1, "shape", "shape")


def _is_never_empty(node: Node) -> bool:
    """Whether the data is known to have elements."""
    shape = node.shape()
    return shape is not None and all(isinstance(dim, int) and dim > 0 for dim in shape)


def _zeros_copy_themselves(node: Node) -> bool:
    """Whether each dimension of the result that may be 0 is at the same position as the dimension of the data that a 0 copies."""
    data, result = node.shape(), node.shape(node.output(0))
    if data is None or result is None:
        return False
    known = zip(result, (*data, *[None] * len(result)), strict=False)
    return all(there is not None and there != 0 and (isinstance(there, int) or there == here) for there, here in known)


def _infer_dimension(node: Node) -> bool:
    """Write -1 for the only dimension of a computed shape that may be 0, but for batches.

    False, and nothing is written, where it is not certain that there is only one, or where a batch of 0 would not fail but copy
    another dimension.
    """
    concat, dims, data = node.maker(1), node.shape(node.output(0)), node.shape()
    if concat is None or concat.op_type != "Concat" or dims is None or data is None:
        return False
    entries = _entries(node, concat)
    if len(entries) != len(dims) or any(entry is not None and entry < 1 for entry, _ in entries):
        return False
    computed = [place for place, (entry, _) in enumerate(entries) if entry is None]
    others = [place for place in computed if dims[place] not in node.graph.batches]
    if not computed or len(others) > 1:
        return False
    chosen = (others or computed)[-1]
    if not all(_copies_nothing_else(data, dims, place) for place in computed if place != chosen):
        return False
    parts = list(concat.inputs)
    parts[entries[chosen][1]] = node.op.int64([-1])
    node.set_input(1, node.op.Concat(*parts, axis=0))
    if len(computed) > 1:
        node.caution("it fails at run time if there is a batch of 0, which needs opset 14", only_if_empty=True)
    return True


def _entries(node: Node, concat: Node) -> list[tuple[int | None, int]]:
    """The entries of the shape, None where they are computed, each with the index of the input of `concat` that has it. Empty where
    an input has several computed ones, or is another value in the graph of the node.
    """
    found: list[tuple[int | None, int]] = []
    for index, name in enumerate(concat.inputs):
        constant = node.constant(name)
        if not node.graph.is_same(name, concat.graph) or (constant is None and node.shape(name) != (1,)):
            return []
        found += [(None, index)] if constant is None else [(entry, index) for entry in constant.ravel().tolist()]
    return found


def _copies_nothing_else(data: Shape, dims: Shape, place: int) -> bool:
    """Whether a 0 at this place of the shape copies a 0 of the data, if it copies anything."""
    is_only_zero = all(isinstance(dim, int) and dim > 0 for axis, dim in enumerate(data) if axis != place)
    return place >= len(data) or data[place] == dims[place] or is_only_zero


def _infer_zeros_at_run_time(node: Node) -> None:
    """Subtract 1 where the computed shape is 0."""
    op = node.op
    is_zero = op.Equal(node.input(1), op.int64([0]))
    as_number = op.Cast(is_zero, to=TensorProto.INT64)
    node.set_input(1, op.Sub(node.input(1), as_number))
    if node.shape(1) != (1,):
        node.caution("it fails at run time if two dimensions of its input are 0, which needs opset 14", only_if_empty=True)
