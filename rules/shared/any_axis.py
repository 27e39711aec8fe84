"""An axis that is only known when the model runs: the operator is computed along every axis, and one result is taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.graph.node import Node
from .indices import int64, wrapped
from .tables import arange


def along_any(node: Node, index: int, axes: Sequence[int]) -> None:
    """Let `node` be computed along each of `axes`, and take the result of the one that its input `index`, an integer, turns out to
    be.

    The result has the same shape along each of them. Written for any opset from 13 on.
    """
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.proto.attribute}
    results: list[str] = []
    for axis in axes:
        inputs = node.inputs
        inputs[index] = int64(node, axis, "axis")
        result = node.before(node.op_type, inputs, what=f"along{axis}", opset=node.opset, **attributes)
        results.append(node.before("Unsqueeze", [result, int64(node, [0], "first")], what=f"along{axis}"))
    rank = node.need_rank()
    given = node.before("Cast", [node.input(index)], what="axis", to=TensorProto.INT64)
    given = node.before("Reshape", [given, int64(node, [], "scalar")], what="axis")
    places = np.zeros(rank, np.int64)
    places[list(axes)] = arange(len(axes))
    place = wrapped(node, given, TensorProto.INT64, int64(node, rank, "rank"))
    place = node.before("Gather", [int64(node, places.tolist(), "places"), place], what="place", axis=0)
    stacked = node.before("Concat", results, what="stacked", axis=0)
    node.become("Gather", [stacked, place], axis=0)
