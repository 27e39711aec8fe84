"""Normalization by mean and variance, with the variance as the mean of squared deviations, as runtimes compute it.

ONNX's own bodies take it as E[x²] - E[x]², which loses every digit where the mean is large beside the deviation.

https://onnx.ai/onnx/operators/onnx__LayerNormalization.html, onnx__GroupNormalization.html,
onnx__MeanVarianceNormalization.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import decompose
from .axes import from_the_front, require_axis
from .decompose_comparison import typed
from .indices import int64


def _cast(node: Node, name: str, kind: int, wanted: int) -> str:
    return name if kind == wanted else node.before("Cast", [name], what="cast", to=wanted)


def _mean(node: Node, name: str, axes: list[int], what: str) -> str:
    return node.before("ReduceMean", [name], what=what, axes=axes, keepdims=1)


def _deviation(node: Node, x: str, axes: list[int], epsilon: float, kind: int) -> tuple[str, str, str]:
    """The mean of `x`, what it deviates from it, and the square root of the variance plus `epsilon`."""
    mean = _mean(node, x, axes, "mean")
    deviation = node.before("Sub", [x, mean], what="deviation")
    variance = _mean(node, node.before("Mul", [deviation, deviation], what="square"), axes, "variance")
    padded = node.before("Add", [variance, typed(node, epsilon, kind, "epsilon")], what="padded")
    return mean, deviation, node.before("Sqrt", [padded], what="std")


@decompose("LayerNormalization", opset=13, exact=False)
def normalize_last_axes(node: Node) -> None:
    """In the precision of stash_type, over the axes from `axis` on; then scale and bias."""
    kind, stash = node.need_elem_type(), node.attr("stash_type", TensorProto.FLOAT)
    rank = node.need_rank()
    (axis,) = from_the_front([node.attr("axis", -1)], rank)
    require_axis(axis, rank)
    x = _cast(node, node.input(0), kind, stash)
    mean, deviation, std = _deviation(node, x, list(range(axis, rank)), node.attr("epsilon", 1e-5), stash)
    normalized = _cast(node, node.before("Div", [deviation, std], what="normalized"), stash, kind)
    if node.has_output(1):
        node.before("Identity", [mean], outputs=[node.output(1)])
    if node.has_output(2):
        node.before("Reciprocal", [std], outputs=[node.output(2)])
    operators = [("Mul", node.input(1)), *([("Add", node.input(2))] if node.has_input(2) else [])]
    for operator, operand in operators[:-1]:
        normalized = node.before(operator, [normalized, operand], what="scaled")
    operator, operand = operators[-1]
    node.before(operator, [normalized, operand], outputs=[node.output(0)])
    node.remove()


@decompose("GroupNormalization", opset=13, exact=False, any_version=True)
def normalize_groups(node: Node) -> None:
    """Groups of channels, each flattened to a row; scale and bias are per group until opset 20, per channel from 21."""
    kind, groups = node.need_elem_type(), node.attr("num_groups")
    stash = node.attr("stash_type", TensorProto.FLOAT) if node.opset >= 21 else kind
    rank, x = node.need_rank(), node.input(0)
    shape = node.before("Shape", [x], what="shape")
    rows = node.before("Reshape", [_cast(node, x, kind, stash), int64(node, [0, groups, -1], "rows")], what="rows")
    _, deviation, std = _deviation(node, rows, [2], node.attr("epsilon", 1e-5), stash)
    normalized = node.before("Div", [deviation, std], what="normalized")
    per_channel = [1, -1] + [1] * (rank - 2)
    if node.opset >= 21:
        normalized, form = node.before("Reshape", [normalized, shape], what="normalized"), per_channel
    else:
        form = [1, -1, 1]
    normalized = _cast(node, normalized, stash, kind)
    scale, bias = (node.before("Reshape", [node.input(i), int64(node, form, "form")], what="factor") for i in (1, 2))
    scaled = node.before("Mul", [normalized, scale], what="scaled")
    if node.opset >= 21:
        node.become("Add", [scaled, bias])
    else:
        node.become("Reshape", [node.before("Add", [scaled, bias], what="shifted"), shape])


@decompose("MeanVarianceNormalization", opset=9, exact=False)
def normalize_axes(node: Node) -> None:
    """(x - mean) / (standard deviation + 1e-9), as the body says, over the given axes."""
    kind, axes = node.need_elem_type(), node.attr("axes", [0, 2, 3])
    axes = from_the_front(axes, node.need_rank()) if min(axes, default=0) < 0 else axes
    _, deviation, std = _deviation(node, node.input(0), axes, 0.0, kind)
    node.become("Div", [deviation, node.before("Add", [std, typed(node, 1e-9, kind, "epsilon")], what="padded")])
