"""Gelu below opset 20, in the forms that exporters wrote before and that runtimes fuse.

https://onnx.ai/onnx/operators/onnx__Gelu.html
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph import bodies
from ..rewriter.graph.node import Node
from .shared.typed import typed


@decompose("Gelu", opset=13, exact=False)
def in_elementary_functions(node: Node) -> None:
    """(0.5 x) (1 + erf(x / sqrt 2)), or with tanh in the place of erf where it approximates."""
    kind = node.need_elem_type()
    if kind == TensorProto.BFLOAT16:  # numpy has no constants of it
        bodies.expand(node)
        return
    curve = _tanh(node, kind) if node.attr("approximate", "none") == "tanh" else _erf(node, kind)
    share = node.before("Add", [curve, typed(node, 1, kind, "one")], what="share")
    half = node.before("Mul", [node.input(0), typed(node, 0.5, kind, "half")], what="half")
    node.become("Mul", [half, share])


def _erf(node: Node, kind: int) -> str:
    scaled = node.before("Div", [node.input(0), typed(node, sqrt(2), kind, "sqrt2")], what="scaled")
    return node.before("Erf", [scaled], what="erf")


def _tanh(node: Node, kind: int) -> str:
    """tanh(sqrt(2 / pi) (x + 0.044715 x³)). ONNX's function body, by which runtimes compute doubles, has the numbers in float."""
    numbers = np.array([0.044715, 2 / pi], np.float32 if kind == TensorProto.DOUBLE else np.float64).tolist()
    x = node.input(0)
    cube = node.before("Pow", [x, typed(node, 3, kind, "three")], what="cube")
    weighted = node.before("Mul", [cube, typed(node, numbers[0], kind, "weight")], what="weighted")
    inner = node.before("Add", [x, weighted], what="inner")
    scaled = node.before("Mul", [inner, typed(node, sqrt(numbers[1]), kind, "scale")], what="scaled")
    return node.before("Tanh", [scaled], what="tanh")
