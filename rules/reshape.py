"""Reshape: the shape is an attribute until opset 4 and an input from 5 on; 14 adds allowzero.

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
    """allowzero=1 is removed where the shape has no 0; otherwise each 0 becomes a -1, which gives 0 for an empty tensor.

    If several constants are 0, the data is first expanded to a tensor with 0 in these places, from which they are copied. For
    computed shapes this is not done: exporters compute most shapes, and the Expand would copy the data of every Reshape for the
    rare one with two zeros. A computed dimension is -1 always where no other one is 0, but for the batch.
    """
    if not node.pop_attr("allowzero", 0) or _is_never_empty(node) or _zeros_copy_themselves(node):
        return
    shape = known_input(node, 1)
    if shape is None:
        _without_computed_zeros(node)
    elif np.count_nonzero(shape == 0) == 1:
        node.set_input(1, node.op.int64(np.where(shape == 0, -1, shape).tolist()))
    elif 0 in shape:
        _expand_to_none(node, shape)


def _expand_to_none(node: Node, shape: np.ndarray) -> None:
    """Expand the data, which is certainly empty, to the rank of `shape`, with a 0 wherever `shape` has one."""
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
    """Whether each dimension of the result that may be 0 is at the same position as the dimension of the data that a 0 copies."""
    data, result = node.shape(), node.shape(node.output(0))
    if data is None or result is None:
        return False
    known = zip(result, (*data, *[None] * len(result)), strict=False)
    return all(there is not None and there != 0 and (isinstance(there, int) or there == here) for there, here in known)


def _without_computed_zeros(node: Node) -> None:
    """Write -1 where the computed shape may be 0: for a dimension if all others are known or batches, else for those that are 0."""
    concat = node.maker(1)
    parts = [] if concat is None or concat.op_type != "Concat" else list(concat.inputs)
    if any(-1 in constant for part in parts if (constant := node.constant(part)) is not None):
        return  # no other dimension can be 0
    dims, batches = node.shape(node.output(0)) or (), node.graph.batches
    places = [place for place, dim in enumerate(dims) if not isinstance(dim, int) or dim == 0]
    others = [place for place in places if dims[place] not in batches]
    index = _part_of(node, parts, (others or places)[-1]) if places and len(others) < 2 else None
    if index is None:
        _infer_zeros_at_run_time(node)
    else:
        parts[index] = node.op.int64([-1])
        node.set_input(1, node.op.Concat(*parts, axis=0))
    if node.shape(1) != (1,) and (index is None or len(places) > 1):
        which = "two dimensions of its input are 0" if index is None else "there is a batch of 0"
        node.caution(f"it fails at run time if {which}, which needs opset 14", only_if_empty=True)


def _part_of(node: Node, parts: list[str], place: int) -> int | None:
    """The index of the part that has one element, the one at `place` of all; None where there is no such part."""
    begin = 0
    for index, part in enumerate(parts):
        length = (node.shape(part) or (None,))[0]
        if begin == place and length == 1:
            return index
        if not isinstance(length, int):
            return None
        begin += length
    return None


def _infer_zeros_at_run_time(node: Node) -> None:
    """Subtract 1 where the computed shape is 0."""
    op = node.op
    is_zero = op.Equal(node.input(1), op.int64([0]))
    as_number = op.Cast(is_zero, to=TensorProto.INT64)
    node.set_input(1, op.Sub(node.input(1), as_number))
