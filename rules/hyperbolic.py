"""Sinh, Cosh, Asinh, Acosh and Atanh below opset 9, computed in double, so that cancellation does not affect a float32 result.

Where double is not enough (near zero, where 1 + x is 1), the error of rounding 1 + x is added again. Input of type double is
refused, because there is no wider type for it.
https://onnx.ai/onnx/operators/onnx__Sinh.html, https://onnx.ai/onnx/operators/onnx__Cosh.html,
https://onnx.ai/onnx/operators/onnx__Asinh.html, https://onnx.ai/onnx/operators/onnx__Acosh.html,
https://onnx.ai/onnx/operators/onnx__Atanh.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node

_LARGE = 1e38
"""A float32 of which two bring every other number but 0 to 1 or beyond."""
_NARROW = (TensorProto.FLOAT, TensorProto.FLOAT16)
"""The types for which double is accurate enough."""


def _need_narrow(node: Node) -> None:
    """Raises Unconvertible for types for which double is not accurate enough."""
    if node.need_elem_type() not in _NARROW:
        raise Unconvertible(f"{node.op_type} of this type is not accurate in older operators", "cast the input to float")


def _wide(node: Node) -> str:
    """The input as double. Raises Unconvertible for types for which double is not accurate enough."""
    _need_narrow(node)
    return node.op.Cast(node.input(0), to=TensorProto.DOUBLE)


def _cosh(node: Node, x: str) -> str:
    """cosh(x) of a double."""
    op = node.op
    up = op.Exp(x)
    down = op.Exp(op.Neg(x))
    return op.Mul(op.Add(up, down), op.const(0.5, np.float64))


@decompose("Cosh", opset=8, exact=False)
def mean_of_exponentials(node: Node) -> None:
    """cosh(x) is (e^x + e^-x) / 2, computed in double."""
    node.become.Cast(_cosh(node, _wide(node)), to=node.need_elem_type())


@decompose("Sinh", opset=8, exact=False)
def tanh_times_cosh(node: Node) -> None:
    """sinh(x) is tanh(x) cosh(x), computed in double, where nothing cancels."""
    x = _wide(node)
    sinh = node.op.Mul(node.op.Tanh(x), _cosh(node, x))
    node.become.Cast(sinh, to=node.need_elem_type())


@decompose("Acosh", opset=8, exact=False)
def log_of_sum(node: Node) -> None:
    """acosh(x) is log(x + sqrt(x - 1) sqrt(x + 1)), computed in double; it is NaN below 1."""
    op = node.op
    x, one = _wide(node), op.const(1, np.float64)
    below = op.Sqrt(op.Sub(x, one))
    above = op.Sqrt(op.Add(x, one))
    total = op.Add(x, op.Mul(below, above))
    node.become.Cast(op.Log(total), to=node.need_elem_type())


@decompose("Asinh", opset=8, exact=False)
def signed_log_of_sum(node: Node) -> None:
    """asinh(x) is sign(x) log(1 + u) with u = |x| + x² / (1 + sqrt(x² + 1)), computed in double; infinities stay."""
    op = node.op
    _need_narrow(node)
    largest = float(np.finfo(np.float32).max)
    given = op.Cast(node.input(0), to=TensorProto.FLOAT)
    finite = op.Clip(given, min=-largest, max=largest)
    x, one = op.Cast(finite, to=TensorProto.DOUBLE), op.const(1, np.float64)
    size, square = op.Abs(x), op.Mul(x, x)
    root = op.Sqrt(op.Add(square, one))
    rest = op.Div(square, op.Add(root, one))
    u = op.Add(size, rest)
    rounded = op.Add(u, one)
    lost = op.Sub(u, op.Sub(rounded, one))
    lost = op.Div(lost, rounded)
    log = op.Add(op.Log(rounded), lost)
    large = op.const(_LARGE, np.float32)
    sign = op.Clip(op.Mul(op.Mul(finite, large), large), min=-1.0, max=1.0)
    result = op.Mul(op.Cast(log, to=TensorProto.FLOAT), sign)
    infinite = op.Sub(finite, given)  # 0 subtracted keeps -0.0, and 0 added does not
    node.become.Cast(op.Sub(result, infinite), to=node.need_elem_type())


@decompose("Atanh", opset=8, exact=False)
def difference_of_logs(node: Node) -> None:
    """atanh(x) is (log(1 + x) - log(1 - x)) / 2, computed in double."""
    op = node.op
    x, one = _wide(node), op.const(1, np.float64)
    above, below = op.Add(one, x), op.Sub(one, x)
    logs = op.Sub(op.Log(below), op.Log(above))
    lost_above = op.Sub(x, op.Sub(above, one))
    lost_below = op.Sub(x, op.Sub(one, below))
    lost = op.Add(lost_above, lost_below)
    twice = op.Sub(lost, logs)  # 0 subtracted keeps -0.0
    node.become.Cast(op.Mul(twice, op.const(0.5, np.float64)), to=node.need_elem_type())
