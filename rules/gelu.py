"""Gelu below opset 20, in the forms that exporters wrote before and that runtimes fuse.

https://onnx.ai/onnx/operators/onnx__Gelu.html
"""

from __future__ import annotations

from math import pi, sqrt

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph import bodies
from ..rewriter.graph.node import Node


@decompose("Gelu", opset=13, exact=False)
def in_elementary_functions(node: Node) -> None:
    """(0.5 x) (1 + erf(x / sqrt 2)), or with tanh in the place of erf where it approximates."""
    op = node.op
    kind = node.need_elem_type()
    if kind == TensorProto.BFLOAT16:  # numpy has no constants of it
        bodies.expand(node)
        return
    curve = _tanh(node, kind) if node.attr("approximate", "none") == "tanh" else _erf(node, kind)
    share = op.Add(curve, op.const(1, kind))
    half = op.Mul(node.input(0), op.const(0.5, kind))
    node.become.Mul(half, share)


def _erf(node: Node, kind: int) -> str:
    op = node.op
    scaled = op.Div(node.input(0), op.const(sqrt(2), kind))
    return op.Erf(scaled)


def _tanh(node: Node, kind: int) -> str:
    """tanh(sqrt(2 / pi) (x + 0.044715 x³))."""
    op = node.op
    x = node.input(0)
    cube = op.Pow(x, op.const(3, kind))
    weighted = op.Mul(cube, op.const(0.044715, kind))
    inner = op.Add(x, weighted)
    scaled = op.Mul(inner, op.const(sqrt(2 / pi), kind))
    return op.Tanh(scaled)
