"""FusedGemm: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedGemm"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ..shared.activations import activated
from ..shared.contrib import contrib


@contrib("FusedGemm", opset=13, sums=True)
def multiply_and_activate(node: Node) -> None:
    """The node becomes Gemm and the activation."""
    attributes = {name: node.attr(name) for name in ("alpha", "beta", "transA", "transB")}
    value = node.op.Gemm(*filter(None, node.inputs), **attributes)
    parameters = {
        name: node.attr(f"activation_{name}") for name in ("alpha", "beta", "gamma") if node.has_attr(f"activation_{name}")
    }
    node.give(activated(node, value, node.attr("activation", ""), parameters))
