"""Sinh, Cosh, Asinh, Acosh and Atanh below opset 9: computed in double, so that what cancels does not show in a float32.

Where double is not enough (near zero, where 1 + x is 1), what the rounding of 1 + x lost is added again. Input of type double is
refused, as there is no wider type for it.
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

_TINY = 1e-300
"""A divisor above zero that is lost beside any float32: it keeps 0 / |0| from being NaN."""
_NARROW = (TensorProto.FLOAT, TensorProto.FLOAT16)
"""The types that are computed accurately in double."""


def _need_narrow(node: Node) -> None:
    """Raises Unconvertible for types that are not computed accurately in double."""
    if node.need_elem_type() not in _NARROW:
        raise Unconvertible(f"{node.op_type} of this type is not accurate in older operators", "cast the input to float")


def _wide(node: Node) -> str:
    """The input as double. Raises Unconvertible for types that are not computed accurately in it."""
    _need_narrow(node)
    return node.before("Cast", [node.input(0)], what="wide", to=TensorProto.DOUBLE)


def _double(node: Node, value: float) -> str:
    """A scalar constant of type double."""
    return node.add_constant(value, np.float64, "double")


def _cosh(node: Node, x: str) -> str:
    """cosh(x) of a double."""
    up = node.before("Exp", [x])
    down = node.before("Exp", [node.before("Neg", [x])])
    return node.before("Mul", [node.before("Add", [up, down], what="both"), _double(node, 0.5)], what="cosh")


@decompose("Cosh", opset=8, exact=False)
def mean_of_exponentials(node: Node) -> None:
    """cosh(x) is (e^x + e^-x) / 2, computed in double."""
    node.become("Cast", [_cosh(node, _wide(node))], to=node.need_elem_type())


@decompose("Sinh", opset=8, exact=False)
def tanh_times_cosh(node: Node) -> None:
    """sinh(x) is tanh(x) cosh(x), computed in double, where nothing cancels."""
    x = _wide(node)
    sinh = node.before("Mul", [node.before("Tanh", [x]), _cosh(node, x)], what="sinh")
    node.become("Cast", [sinh], to=node.need_elem_type())


@decompose("Acosh", opset=8, exact=False)
def log_of_sum(node: Node) -> None:
    """acosh(x) is log(x + sqrt(x - 1) sqrt(x + 1)), computed in double; it is NaN below 1."""
    x, one = _wide(node), _double(node, 1)
    below = node.before("Sqrt", [node.before("Sub", [x, one], what="below")], what="root")
    above = node.before("Sqrt", [node.before("Add", [x, one], what="above")], what="root")
    total = node.before("Add", [x, node.before("Mul", [below, above], what="roots")], what="total")
    node.become("Cast", [node.before("Log", [total])], to=node.need_elem_type())


@decompose("Asinh", opset=8, exact=False)
def signed_log_of_sum(node: Node) -> None:
    """asinh(x) is sign(x) log(1 + u) with u = |x| + x² / (1 + sqrt(x² + 1)), computed in double; infinities stay."""
    _need_narrow(node)
    largest = float(np.finfo(np.float32).max)
    given = node.before("Cast", [node.input(0)], what="single", to=TensorProto.FLOAT)
    finite = node.before("Clip", [given], what="finite", min=-largest, max=largest)
    x, one = node.before("Cast", [finite], what="wide", to=TensorProto.DOUBLE), _double(node, 1)
    size, square = node.before("Abs", [x]), node.before("Mul", [x, x], what="square")
    root = node.before("Sqrt", [node.before("Add", [square, one], what="square")], what="root")
    rest = node.before("Div", [square, node.before("Add", [root, one], what="root")], what="rest")
    u = node.before("Add", [size, rest], what="u")
    rounded = node.before("Add", [u, one], what="rounded")
    lost = node.before("Sub", [u, node.before("Sub", [rounded, one], what="kept")], what="lost")
    lost = node.before("Div", [lost, rounded], what="lost")
    log = node.before("Add", [node.before("Log", [rounded]), lost], what="log")
    sign = node.before("Div", [x, node.before("Add", [size, _double(node, _TINY)], what="size")], what="sign")
    result = node.before("Cast", [node.before("Mul", [log, sign], what="asinh")], what="asinh", to=TensorProto.FLOAT)
    infinite = node.before("Sub", [given, finite], what="infinite")
    node.become("Cast", [node.before("Add", [result, infinite], what="asinh")], to=node.need_elem_type())


@decompose("Atanh", opset=8, exact=False)
def difference_of_logs(node: Node) -> None:
    """atanh(x) is (log(1 + x) - log(1 - x)) / 2, computed in double."""
    x, one = _wide(node), _double(node, 1)
    above, below = node.before("Add", [one, x], what="above"), node.before("Sub", [one, x], what="below")
    logs = node.before("Sub", [node.before("Log", [above]), node.before("Log", [below])], what="logs")
    lost_above = node.before("Sub", [x, node.before("Sub", [above, one], what="kept")], what="lost")
    lost_below = node.before("Sub", [x, node.before("Sub", [one, below], what="kept")], what="lost")
    lost = node.before("Add", [lost_above, lost_below], what="lost")
    twice = node.before("Add", [logs, lost], what="twice")
    node.become("Cast", [node.before("Mul", [twice, _double(node, 0.5)], what="atanh")], to=node.need_elem_type())
