"""Erf below opset 9: a quotient of polynomials in double, which gives the correctly rounded float32 except for a few ties.

https://onnx.ai/onnx/operators/onnx__Erf.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.error_function import END, quotient


@decompose("Erf", opset=8, exact=False)
def quotient_of_polynomials(node: Node) -> None:
    """The node becomes x P(x²) / Q(x²), computed in double, with x limited to the range where the result is not yet 1."""
    op = node.op
    kind = node.need_elem_type()
    if kind not in (TensorProto.FLOAT, TensorProto.FLOAT16):
        raise Unconvertible("Erf of this type is not accurate in older operators", "cast the input to float")
    x = op.Cast(node.input(0), to=TensorProto.FLOAT)
    x = op.Clip(x, min=-END, max=END)
    node.become.Cast(quotient(node, op.Cast(x, to=TensorProto.DOUBLE), np.float64), to=kind)
