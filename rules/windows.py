"""The window functions HannWindow, HammingWindow and BlackmanWindow: a0 - a1 cos(t) + a2 cos(2t), with t from 0 to 2 pi in steps of
2 pi / size, or 2 pi / (size - 1) if periodic=0.

ONNX's own function bodies count in floating point; here the positions are integers, and a constant if the size is constant.

https://onnx.ai/onnx/operators/onnx__HannWindow.html, https://onnx.ai/onnx/operators/onnx__HammingWindow.html,
https://onnx.ai/onnx/operators/onnx__BlackmanWindow.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up
from .shared.parameters import one_number
from .shared.tables import arange
from .shared.typed import FLOATING

_COEFFICIENTS = {"HannWindow": (0.5, 0.5, 0.0), "HammingWindow": (25 / 46, 21 / 46, 0.0), "BlackmanWindow": (0.42, 0.5, 0.08)}
_FLOAT = TensorProto.FLOAT


@decompose(("HannWindow", "HammingWindow", "BlackmanWindow"), opset=13, exact=False)
def sum_of_cosines(node: Node) -> None:
    """The window is computed as a sum of cosines in float, or in double if that is the type of the output."""
    op = node.op
    kind = node.attr("output_datatype", _FLOAT)
    if kind not in (*FLOATING, TensorProto.BFLOAT16):
        name = TensorProto.DataType.Name(kind).lower()
        raise Unconvertible(f"a window of {name}: how an element is truncated depends on its last bit", "use a window of floats")
    known = node.constant(0)
    if known is not None and kind in FLOATING:
        table = _table(node, int(one_number(known))).astype(helper.tensor_dtype_to_np_dtype(kind))
        node.become.Constant(value=numpy_helper.from_array(table))
        return
    work = TensorProto.DOUBLE if kind == TensorProto.DOUBLE else _FLOAT
    a0, a1, a2 = _COEFFICIENTS[node.op_type]
    size = _size(node)
    count = count_up(node, op.int64([0]), size, op.int64([1]))
    places = op.Cast(count, to=work)
    period = op.Cast(size, to=work)
    if not node.attr("periodic", 1):
        period = op.Sub(period, op.const(1, work))
    step = op.Div(op.const(2 * np.pi, work), period)
    angle = op.Mul(places, step)
    first = op.Mul(op.Cos(angle), op.const(a1, work))
    window = op.Sub(op.const(a0, work), first)
    if a2:
        double = op.Cos(op.Mul(angle, op.const(2, work)))
        window = op.Add(window, op.Mul(double, op.const(a2, work)))
    node.become.Cast(window, to=kind)


def _table(node: Node, size: int) -> np.ndarray:
    """The window of a known size, in double."""
    a0, a1, a2 = _COEFFICIENTS[node.op_type]
    period = np.float64(size if node.attr("periodic", 1) else size - 1)
    angle = arange(size) * (2 * np.pi / period)
    return a0 - a1 * np.cos(angle) + a2 * np.cos(2 * angle)


def _size(node: Node) -> str:
    """The size as a vector of one int64."""
    op = node.op
    known = node.constant(0)
    if known is not None:
        return op.int64([int(one_number(known))])
    size = op.Cast(node.input(0), to=TensorProto.INT64)
    return op.Reshape(size, op.int64([1]))
