"""LayerNormalization below opset 17.

The variance is the mean of squared deviations, as runtimes compute it. ONNX's own function body takes E[x²] - E[x]², which loses
every digit where the mean is large compared with the deviation.
https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front, require_axis
from .shared.normalization import cast_between, mean_and_deviation, working_type


@decompose("LayerNormalization", opset=13, exact=False)
def normalize_last_axes(node: Node) -> None:
    """In the precision of stash_type, or of the data where that is wider, over the axes from `axis` on; then scale and bias."""
    op = node.op
    kind, stash = node.need_elem_type(), node.attr("stash_type", TensorProto.FLOAT)
    work = working_type(kind, stash)
    rank = node.need_rank()
    (axis,) = from_the_front([node.attr("axis", -1)], rank)
    require_axis(axis, rank)
    x = cast_between(node, node.input(0), kind, work)
    mean, deviation, std = mean_and_deviation(node, x, list(range(axis, rank)), node.attr("epsilon", 1e-5), work)
    normalized = cast_between(node, op.Div(deviation, std), work, kind)
    if node.has_output(1):
        op.Identity(cast_between(node, mean, work, stash), output=node.output(1))
    if node.has_output(2):
        op.Reciprocal(cast_between(node, std, work, stash), output=node.output(2))
    if node.has_input(2):
        op.Add(op.Mul(normalized, node.input(1)), node.input(2), output=node.output(0))
    else:
        op.Mul(normalized, node.input(1), output=node.output(0))
    node.remove()
