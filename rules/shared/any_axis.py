"""Handles an axis that is only known at run time: the operator is computed along every axis, and one of the results is chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.graph.node import Node
from .indices import wrapped
from .tables import arange


def along_any(node: Node, index: int, axes: Sequence[int]) -> None:
    """Compute `node` along each of `axes`, and choose the result by its input `index`, the axis, when the model runs.

    The result must have the same shape for all axes. Written for any opset from 13 on.
    """
    op = node.op
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.proto.attribute}
    results: list[str] = []
    for axis in axes:
        inputs = node.inputs
        inputs[index] = op.int64(axis)
        result = getattr(op, node.op_type)(*inputs, opset=node.opset, **attributes)
        results.append(op.Unsqueeze(result, op.int64([0])))
    rank = node.need_rank()
    given = op.Cast(node.input(index), to=TensorProto.INT64)
    given = op.Reshape(given, op.int64([]))
    places = np.zeros(rank, np.int64)
    places[list(axes)] = arange(len(axes))
    place = wrapped(node, given, TensorProto.INT64, op.int64(rank))
    place = op.Gather(op.int64(places.tolist()), place, axis=0)
    stacked = op.Concat(*results, axis=0)
    node.become.Gather(stacked, place, axis=0)
