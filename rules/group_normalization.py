"""GroupNormalization: scale and bias belong to groups in opset 18, to channels from 21 on; older operators normalize the groups as
rows.

The variance is the mean of squared deviations, as runtimes compute it. ONNX's own function body takes E[x²] - E[x]², which loses
every digit where the mean is large compared with the deviation.
https://onnx.ai/onnx/operators/onnx__GroupNormalization.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.graph import bodies
from ..rewriter.graph.node import Node
from .shared.indices import int64, length
from .shared.normalization import cast_between, mean_and_deviation


@decompose("GroupNormalization", opset=13, exact=False, any_version=True)
def normalize_groups(node: Node) -> None:
    """Groups of channels, each flattened to a row; scale and bias are per group until opset 20, per channel from 21."""
    kind, groups = node.need_elem_type(), node.attr("num_groups")
    stash = node.attr("stash_type", TensorProto.FLOAT) if node.opset >= 21 else kind
    rank, x = node.need_rank(), node.input(0)
    shape = node.before("Shape", [x], what="shape")
    rows = node.before("Reshape", [cast_between(node, x, kind, stash), int64(node, [0, groups, -1], "rows")], what="rows")
    _, deviation, std = mean_and_deviation(node, rows, [2], node.attr("epsilon", 1e-5), stash)
    normalized = node.before("Div", [deviation, std], what="normalized")
    per_channel = [1, -1] + [1] * (rank - 2)
    if node.opset >= 21:
        normalized, form = node.before("Reshape", [normalized, shape], what="normalized"), per_channel
    else:
        form = [1, -1, 1]
    normalized = cast_between(node, normalized, stash, kind)
    scale, bias = (node.before("Reshape", [node.input(i), int64(node, form, "form")], what="factor") for i in (1, 2))
    scaled = node.before("Mul", [normalized, scale], what="scaled")
    if node.opset >= 21:
        node.become("Add", [scaled, bias])
    else:
        node.become("Reshape", [node.before("Add", [scaled, bias], what="shifted"), shape])


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
def expand_function_body(node: Node) -> None:
    """Opset 18 to 20 have it as deprecated only, with one scale a group: ONNX's function body takes its place."""
    bodies.expand(node)
