"""InstanceNormalization, GroupNormalization and MeanVarianceNormalization.

https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html, https://onnx.ai/onnx/operators/onnx__GroupNormalization.html,
https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter import expansion
from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, downgrade, upgrade
from .indices import int64, length


@downgrade("InstanceNormalization", 6)
def only_images(node: Node) -> None:
    """Opset 1 takes 4 dimensions."""
    rank = node.need_rank()
    if rank != 4:
        raise Unconvertible(f"InstanceNormalization of opset 1 takes 4 dimensions, and '{node.input(0)}' has {rank}")


@upgrade("MeanVarianceNormalization", 13)
def spell_out_axes(node: Node) -> None:
    """From 13 on it has a function body, in which onnxruntime misses the default where a local function calls it."""
    if not node.has_attr("axes"):
        node.set_attr("axes", [0, 2, 3])


@upgrade("GroupNormalization", 21)
def per_channel(node: Node) -> None:
    """scale and bias of a group are repeated for each of its channels; the precision is that of the data, as before."""
    kind = node.need_elem_type()
    if kind != TensorProto.FLOAT:
        node.set_attr("stash_type", kind)
    for index, what in ((1, "scale"), (2, "bias")):
        node.set_input(index, _repeated(node, index, what))


def _repeated(node: Node, index: int, what: str) -> str:
    """[num_groups] to [C], each number as often as a group has channels."""
    groups = node.attr("num_groups")
    channels, value = node.dimension(1), node.constant(index)
    if value is not None and isinstance(channels, int):
        return node.add_constant(np.repeat(value, channels // groups), value.dtype, what)
    column = node.before("Reshape", [node.input(index), int64(node, [groups, 1], "column")], what=what)
    per_group = node.before("Div", [length(node, node.input(0), 1), int64(node, [groups], "groups")], what="per_group")
    shape = node.before("Concat", [int64(node, [groups], "groups"), per_group], what="shape", axis=0)
    spread = node.before("Expand", [column, shape], what=what)
    return node.before("Reshape", [spread, int64(node, [-1], "flat")], what=what)


@downgrade("GroupNormalization", 21, exact=False)
def in_its_own_words(node: Node) -> None:
    """Opset 18 to 20 have it as deprecated only, with one scale a group: ONNX's function body takes its place."""
    expansion.expand(node)
