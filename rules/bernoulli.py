"""Bernoulli: one where a uniform draw is below the probability. ONNX's own body compares the other way round.

https://onnx.ai/onnx/operators/onnx__Bernoulli.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node


@decompose("Bernoulli", opset=13, exact=False)
def draw_below(node: Node) -> None:
    """RandomUniformLike below the input."""
    kind = node.need_elem_type()
    draw = node.before("RandomUniformLike", [node.input(0)], what="draw", low=0.0, high=1.0, seed=node.attr("seed"), dtype=kind)
    below = node.before("Less", [draw, node.input(0)], what="below")
    to = node.attr("dtype", kind)
    node.become("Cast", [below], to=to)
