"""Normalization by mean and variance, with the variance as the mean of squared deviations, as runtimes compute it.

ONNX's own bodies take it as E[x²] - E[x]², which loses every digit where the mean is large beside the deviation.

https://onnx.ai/onnx/operators/onnx__LayerNormalization.html, onnx__GroupNormalization.html,
onnx__MeanVarianceNormalization.html


InstanceNormalization, GroupNormalization and MeanVarianceNormalization.

https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html, https://onnx.ai/onnx/operators/onnx__GroupNormalization.html,
https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose, upgrade
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.normalization import mean_and_deviation
from .shared.typed import typed


@decompose("MeanVarianceNormalization", opset=9, exact=False)
def normalize_axes(node: Node) -> None:
    """(x - mean) / (standard deviation + 1e-9), as the body says, over the given axes."""
    kind, axes = node.need_elem_type(), node.attr("axes", [0, 2, 3])
    axes = from_the_front(axes, node.need_rank()) if min(axes, default=0) < 0 else axes
    _, deviation, std = mean_and_deviation(node, node.input(0), axes, 0.0, kind)
    node.become("Div", [deviation, node.before("Add", [std, typed(node, 1e-9, kind, "epsilon")], what="padded")])


@upgrade("MeanVarianceNormalization", 13)
def spell_out_axes(node: Node) -> None:
    """From 13 on it has a function body, in which onnxruntime misses the default where a local function calls it."""
    if not node.has_attr("axes"):
        node.set_attr("axes", [0, 2, 3])
