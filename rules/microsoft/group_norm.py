"""GroupNorm of onnxruntime, with an activation behind it, and with a sum before it.

The wheel for CPUs has no kernel of these operators: the rules follow their documentation.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GroupNorm
"""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import contrib
from ..shared.normalization import cast_between

_CHANNELS_FIRST, _CHANNELS_LAST = [0, 3, 1, 2], [0, 2, 3, 1]


@contrib("GroupNorm", opset=21)
def normalize_groups(node: Node) -> None:
    """The node becomes GroupNormalization between two Transposes, and x · sigmoid(x) if it has that activation."""
    _normalize(node, node.input(0))


@contrib("SkipGroupNorm", opset=21)
def normalize_groups_of_sum(node: Node) -> None:
    """The node becomes the sum of its inputs, GroupNormalization between two Transposes, and perhaps x · sigmoid(x)."""
    op, skip = node.op, node.input(3)
    if not node.attr("channels_last", 1):
        reason = "SkipGroupNorm with the channels in the second axis has an input skip of which no documentation says the shape"
        raise Unconvertible(reason, "set channels_last to 1")
    if node.need_rank(3) == 2:
        skip = op.Unsqueeze(skip, op.int64([1, 2]))
    total = op.Add(node.input(0), skip)
    if node.has_input(4):
        total = op.Add(total, node.input(4))
    if node.has_output(1):
        op.Identity(total, output=node.output(1))
    _normalize(node, total)


def _normalize(node: Node, x: str) -> None:
    op = node.op
    activation, is_last = node.attr("activation", 0), node.attr("channels_last", 1)
    if activation not in (0, 1):
        raise Unconvertible(f"{node.op_type} has no activation {activation}", "correct the model")
    kind = node.need_elem_type()
    work = node.need_elem_type(1)
    x = cast_between(node, x, kind, work)
    if is_last:
        x = op.Transpose(x, perm=_CHANNELS_FIRST)
    y = op.GroupNormalization(x, *node.inputs[1:3], num_groups=node.attr("groups"), epsilon=node.attr("epsilon", 1e-5))
    if is_last:
        y = op.Transpose(y, perm=_CHANNELS_LAST)
    if activation:
        y = op.Mul(y, op.Sigmoid(y))
    last = cast_between(node, y, work, kind)
    op.Identity(last, output=node.output(0))
    node.remove()
