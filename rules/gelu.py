"""Gelu below opset 20, in the forms that exporters wrote before and that runtimes fuse.

https://onnx.ai/onnx/operators/onnx__Gelu.html
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node


@decompose("Gelu", opset=13, exact=False)
def in_elementary_functions(node: Node) -> None:
    """The node becomes 0.5 x (1 + erf(x / sqrt 2)), or with approximate=tanh the same with tanh instead of erf."""
    op, x = node.op, node.input(0)
    kind = node.need_elem_type()
    is_tanh = node.attr("approximate", "none") == "tanh"
    curve = _tanh(node, kind) if is_tanh else _erf(node, kind)
    share = op.Add(curve, op.const(1, kind))
    if not is_tanh:
        node.become.Mul(op.Mul(x, op.const(0.5, kind)), share)
    elif _is_multiplied(node, x) or not node.rank(x):
        node.become.Mul(x, op.Mul(share, op.const(0.5, kind)))
    else:
        node.become.Mul(op.Mul(op.const([0.5], kind), x), share)


def _is_multiplied(node: Node, x: str) -> bool:
    """Whether another node multiplies x, perhaps by 0.5, too.

    onnxruntime removes 0.5 x with the form of tanh that it fuses, although others read it: nodes that are equal are one to it, also
    where their operands only turn out to be equal. It tells a 0.5 with a dimension, as it is written here, from one without, which
    is what others multiply by.
    """
    return not node.graph.is_read_once(x) and any(reader.op_type == "Mul" for reader in node.graph.readers(x))


def _erf(node: Node, kind: int) -> str:
    """erf(x / sqrt 2)."""
    op = node.op
    return op.Erf(op.Div(node.input(0), op.const(sqrt(2), kind)))


def _tanh(node: Node, kind: int) -> str:
    """tanh(sqrt(2 / pi) (x + 0.044715 x³)).

    The constants are rounded to float, as in ONNX's function body that runtimes use for double.
    """
    op, x = node.op, node.input(0)
    weight, scale = np.array([0.044715, 2 / pi], np.float32 if kind == TensorProto.DOUBLE else np.float64).tolist()
    cube = op.Pow(x, op.const(3, kind))
    inner = op.Add(x, op.Mul(cube, op.const(weight, kind)))
    return op.Tanh(op.Mul(inner, op.const(sqrt(scale), kind)))
