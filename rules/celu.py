"""Celu below opset 12: an Elu of a scaled input.

https://onnx.ai/onnx/operators/onnx__Celu.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import avoid, decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.typed import typed


@avoid("Celu with alpha", "Celu", opset=7, exact=False)
@decompose("Celu", opset=7, exact=False, any_version=True)
def scaled_elu(node: Node) -> None:
    """alpha * Elu(x / alpha). ONNX's own body makes a vector of a scalar."""
    kind = node.need_elem_type()
    if kind == TensorProto.BFLOAT16:
        raise Unconvertible("bfloat16 does not exist before opset 13, and Celu computes in it", "cast the model to another type")
    alpha = typed(node, node.attr("alpha", 1.0), kind, "alpha")
    scaled = node.before("Div", [node.input(0), alpha], what="scaled")
    node.become("Mul", [alpha, node.before("Elu", [scaled], what="elu")])
