"""Bernoulli below opset 15: a uniform random number is compared with the probability.

ONNX's own function body is not used, because it compares in the opposite direction.
https://onnx.ai/onnx/operators/onnx__Bernoulli.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node


@decompose("Bernoulli", opset=13, exact=False)
def draw_below(node: Node) -> None:
    """The result is 1 where a number drawn by RandomUniformLike is below the input."""
    kind = node.need_elem_type()
    draw = node.op.RandomUniformLike(node.input(0), low=0.0, high=1.0, seed=node.attr("seed"), dtype=kind)
    below = node.op.Less(draw, node.input(0))
    to = node.attr("dtype", kind)
    node.become.Cast(below, to=to)
