"""Erf below opset 9: a quotient of polynomials in double, which gives the correctly rounded float32 except for a few ties.

https://onnx.ai/onnx/operators/onnx__Erf.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node

_END = 4.0
"""The |x| from which on the error function is 1 in float32."""
_UPPER = (
    *(1.12837916691, 0.324583195414, 0.0775449792224, 0.0107917161094),
    *(0.000893276280355, 6.09791374653e-05, 1.06686891726e-06),
)
_LOWER = (
    *(1.0, 0.620987692473, 0.175718414164, 0.0298472467252),
    *(0.00332505703954, 0.000243678233204, 1.06875477961e-05, 4.51705809131e-08),
)
"""The coefficients of the powers of x² in numerator and denominator of erf(x) / x up to `_END`, fitted by least squares.

The relative error is at most 1.7e-10.
"""


@decompose("Erf", opset=8, exact=False)
def quotient_of_polynomials(node: Node) -> None:
    """The node becomes x P(x²) / Q(x²), computed in double, with x limited to the range where the result is not yet 1."""
    op = node.op
    kind = node.need_elem_type()
    if kind not in (TensorProto.FLOAT, TensorProto.FLOAT16):
        raise Unconvertible("Erf of this type is not accurate in older operators", "cast the input to float")
    x = op.Cast(node.input(0), to=TensorProto.FLOAT)
    x = op.Clip(x, min=-_END, max=_END)
    x = op.Cast(x, to=TensorProto.DOUBLE)
    square = op.Mul(x, x)
    upper, lower = (_polynomial(node, square, coefficients) for coefficients in (_UPPER, _LOWER))
    erf = op.Div(op.Mul(x, upper), lower)
    node.become.Cast(erf, to=kind)


def _polynomial(node: Node, x: str, coefficients: tuple[float, ...]) -> str:
    """The polynomial in `x` with these `coefficients`, starting with the constant term."""
    op = node.op
    *others, last = (op.const(value, np.float64) for value in coefficients)
    result = last
    for coefficient in reversed(others):
        result = op.Add(op.Mul(result, x), coefficient)
    return result
