"""Div and Mod of integers. https://onnx.ai/onnx/operators/onnx__Div.html, https://onnx.ai/onnx/operators/onnx__Mod.html"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.broadcasting import SPREADS_BOTH
from ..shared.places import LARGEST, are_places

_WHOLE = (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8)


@avoid("Div of integers", "Div", opset=13)
def quotients_of_places(node: Node) -> None:
    """What an ArgMax or ArgMin found is divided by a stored positive number as a float, and rounded down; others are refused.

    It is exact, since both numbers are below 2^22.
    """
    kind, divisor = node.elem_type(), node.constant(1)
    if kind not in _WHOLE:
        return
    if node.opset < SPREADS_BOTH or divisor is None or not _is_small(divisor) or not are_places(node, node.input(0)):
        raise Unconvertible("it divides integers, and no other form of it is exact", "choose another runtime")
    op = node.op
    quotient = op.Div(op.Cast(node.input(0), to=TensorProto.FLOAT), op.const(divisor, TensorProto.FLOAT))
    node.become.Cast(op.Floor(quotient), to=kind)


@avoid("Mod of integers", "Mod", opset=13)
def remainders_of_places(node: Node) -> None:
    """Of what an ArgMax or ArgMin found, the whole multiples of a stored positive number are subtracted.

    It is exact: neither number is negative.
    """
    divisor = node.constant(1)
    if divisor is None or not _is_small(divisor) or not are_places(node, node.input(0)):
        return
    multiples = node.op.Mul(node.op.Div(node.input(0), node.input(1)), node.input(1))
    node.become.Sub(node.input(0), multiples)


def _is_small(divisor: np.ndarray) -> bool:
    return divisor.size > 0 and 0 < divisor.min() <= divisor.max() < LARGEST
