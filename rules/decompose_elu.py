"""Celu below opset 12: an Elu of a scaled input.

https://onnx.ai/onnx/operators/onnx__Celu.html
"""

from __future__ import annotations

from ..rewriter.graph import Node
from ..rewriter.rule import decompose
from .decompose_comparison import typed


@decompose("Celu", opset=7, exact=False, any_version=True)
def scaled_elu(node: Node) -> None:
    """alpha * Elu(x / alpha). ONNX's own body makes a vector of a scalar."""
    alpha = typed(node, node.attr("alpha", 1.0), node.need_elem_type(), "alpha")
    scaled = node.before("Div", [node.input(0), alpha], what="scaled")
    node.become("Mul", [alpha, node.before("Elu", [scaled], what="elu")])
