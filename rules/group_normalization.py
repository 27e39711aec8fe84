"""GroupNormalization: it came with opset 18; scale and bias are for each group until opset 20, for each channel from 21 on.

https://onnx.ai/onnx/operators/onnx__GroupNormalization.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import length
from .shared.normalization import cast_between, mean_and_deviation, working_type
from .shared.tables import require_few


@decompose("GroupNormalization", opset=13, exact=False, any_version=True)
@downgrade("GroupNormalization", 21, exact=False)
def normalize_groups(node: Node) -> None:
    """Each group of channels becomes a row that InstanceNormalization normalizes; then scale and bias are applied.

    In opsets 18 to 20, GroupNormalization is deprecated and has one scale for each group. Where the rank is unknown, and for
    bfloat16, whose powers opset 13 lacks, the node becomes ONNX's function body.
    """
    op = node.op
    kind, groups, is_per_channel = node.need_elem_type(), _groups(node), node.opset >= 21
    stash = working_type(kind, node.attr("stash_type", TensorProto.FLOAT)) if is_per_channel else kind
    if node.rank() is None or stash == TensorProto.BFLOAT16:
        node.expand()
        return
    rank, x = node.need_rank(), node.input(0)
    form = _form(node, x)
    rows = op.Reshape(cast_between(node, x, kind, stash), op.int64([0, groups, -1]))
    normalized = _normalize(node, rows, groups, stash)
    if is_per_channel:
        normalized, per = op.Reshape(normalized, form), [1, -1] + [1] * (rank - 2)
    else:
        per = [1, -1, 1]
    normalized = cast_between(node, normalized, stash, kind)
    scale, bias = (op.Reshape(node.input(i), op.int64(per)) for i in (1, 2))
    scaled = op.Mul(normalized, scale)
    if is_per_channel:
        node.become.Add(scaled, bias)
    else:
        node.become.Reshape(op.Add(scaled, bias), form)


def _groups(node: Node) -> int:
    """The number of groups. Raises Unconvertible where the channels cannot be divided into so many."""
    groups, channels = node.attr("num_groups"), node.dimension(1)
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise Unconvertible(f"{channels or 'the'} channels do not divide into {groups} groups", "correct num_groups")
    require_few(groups)
    return groups


def _form(node: Node, x: str) -> str:
    """The shape of `x`, to be used in a Reshape back."""
    shape = node.shape()
    if shape is not None and not any(dim == 0 or not isinstance(dim, int) for dim in shape[1:]):
        return node.op.int64([dim if isinstance(dim, int) else 0 for dim in shape])
    return node.op.Shape(x)


def _normalize(node: Node, rows: str, groups: int, stash: int) -> str:
    """(rows - mean) / deviation. InstanceNormalization is used only for float, since some runtimes lack it for other types."""
    op = node.op
    epsilon = node.attr("epsilon", 1e-5)
    if stash != TensorProto.FLOAT:
        _, deviation, std = mean_and_deviation(node, rows, [2], epsilon, stash)
        return op.Div(deviation, std)
    ones, zeros = (op.const([number] * groups, np.float32) for number in (1, 0))
    return op.InstanceNormalization(rows, ones, zeros, epsilon=epsilon)


@upgrade("GroupNormalization", 21)
def per_channel(node: Node) -> None:
    """scale and bias of a group are repeated for each of its channels; stash_type is set to the type of the data, as before."""
    kind = node.need_elem_type()
    if kind != TensorProto.FLOAT:
        node.set_attr("stash_type", kind)
    for index in (1, 2):
        node.set_input(index, _repeated(node, index))


def _repeated(node: Node, index: int) -> str:
    """Repeat each of [num_groups] numbers for all channels of the group: [C]."""
    op = node.op
    groups = _groups(node)
    channels, value = node.dimension(1), node.constant(index)
    if value is not None and isinstance(channels, int):
        return op.const(np.repeat(value, channels // groups), value.dtype)
    column = op.Reshape(node.input(index), op.int64([groups, 1]))
    per_group = op.Div(length(node, node.input(0), 1), op.int64([groups]))
    shape = op.Concat(op.int64([groups]), per_group, axis=0)
    spread = op.Expand(column, shape)
    return op.Reshape(spread, op.int64([-1]))
