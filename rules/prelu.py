"""PRelu below opset 9, which takes floating-point numbers only.

https://onnx.ai/onnx/operators/onnx__PRelu.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.integers import BITS, UNSIGNED


@downgrade("PRelu", 9)
def slope_of_integers(node: Node) -> None:
    """A PRelu of integers becomes x + (x < 0) * (slope * x - x), where overflows cancel out; of unsigned ones, the input."""
    op, kind, x = node.op, node.elem_type(), node.input(0)
    if kind not in BITS:
        return
    if kind in UNSIGNED:
        node.forward(0, x)
        node.remove()
        return
    below = op.Cast(op.Less(op.Cast(x, to=1), op.const(0, np.float32)), to=kind)  # no rounding changes a sign
    node.become.Add(x, op.Mul(below, op.Sub(op.Mul(x, node.input(1)), x)))
