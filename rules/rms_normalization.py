"""RMSNormalization below opset 23, in the form that exporters wrote before and that runtimes fuse.

https://onnx.ai/onnx/operators/onnx__RMSNormalization.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import adopt, decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.normalization import axes_from, cast_between, normalize_by_squares, root_mean_square, stash_type, working_type
from .shared.typed import FLOATING


@adopt("SimplifiedLayerNormalization", opset=13, exact=False)
def take_from_onnxruntime(node: Node) -> None:
    """A SimplifiedLayerNormalization is an RMSNormalization: onnxruntime has it in ONNX's domain, where ONNX has another name."""
    unknown = next((each.name for each in node.proto.attribute if each.name not in ("axis", "epsilon", "stash_type")), "")
    if unknown:
        raise Unconvertible(f"{node.op_type} has no attribute {unknown}", "correct the model")
    normalize_by_squares(node, node.input(0), node.input(1), node.attr("epsilon", 1e-5), deviation=1)


@decompose("RMSNormalization", opset=13, exact=False)
def divide_by_the_root_mean_square(node: Node) -> None:
    """The node becomes x / sqrt(mean(x²) + epsilon) * scale over the axes from `axis` on, in stash_type or the wider data type."""
    kind = node.need_elem_type()
    work = working_type(kind, stash_type(node))
    if work not in FLOATING or (node.attr("axis", -1) >= 0 and node.rank() is None):
        node.expand()
        return
    x = cast_between(node, node.input(0), kind, work)
    root = root_mean_square(node, x, axes_from(node), node.attr("epsilon", 1e-5), work)
    normalized = node.op.Div(x, root)
    node.become.Mul(cast_between(node, normalized, work, node.need_elem_type(1)), node.input(1))
