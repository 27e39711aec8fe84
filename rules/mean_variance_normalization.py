"""MeanVarianceNormalization: the operator came with opset 9; from 13 on onnxruntime uses its function body.

The variance is the mean of squared deviations, as runtimes compute it. ONNX's own function body computes E[x²] - E[x]², which loses
all digits where the mean is large compared with the deviation.
https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose, upgrade
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.normalization import mean_and_deviation


@upgrade("MeanVarianceNormalization", 13)
def spell_out_axes(node: Node) -> None:
    """The default of axes is written out, since from opset 13 on onnxruntime does not find it inside a local function."""
    if not node.has_attr("axes"):
        node.set_attr("axes", [0, 2, 3])


@decompose("MeanVarianceNormalization", opset=9, exact=False)
def normalize_axes(node: Node) -> None:
    """The node becomes (x - mean) / (standard deviation + 1e-9) over the axes, as in ONNX's function body."""
    kind, axes = node.need_elem_type(), node.attr("axes", [0, 2, 3])
    axes = from_the_front(axes, node.need_rank()) if min(axes, default=0) < 0 else axes
    _, deviation, std = mean_and_deviation(node, node.input(0), axes, 0.0, kind)
    node.become.Div(deviation, node.op.Add(std, node.op.const(1e-9, kind)))
