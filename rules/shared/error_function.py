"""The error function by polynomials. https://onnx.ai/onnx/operators/onnx__Erf.html"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rewriter.graph.node import Node

END = 4.0
"""The |x| from which on the error function is 1 in float32."""
_UPPER = (
    *(1.12837916691, 0.324583195414, 0.0775449792224, 0.0107917161094),
    *(0.000893276280355, 6.09791374653e-05, 1.06686891726e-06),
)
_LOWER = (
    *(1.0, 0.620987692473, 0.175718414164, 0.0298472467252),
    *(0.00332505703954, 0.000243678233204, 1.06875477961e-05, 4.51705809131e-08),
)
"""The coefficients of the powers of x² in numerator and denominator of erf(x) / x up to `END`, fitted by least squares.

The relative error is at most 1.7e-10.
"""


_OF_TANH = (
    *(1.12837925, 0.102769862, -0.000195281549, -0.000614846667),
    *(8.46012464e-05, -4.79581092e-06, 2.77171344e-08, 5.41567226e-09),
)
"""The coefficients of the powers of x² in artanh(erf(x)) / x up to `END`, fitted by weighted least squares.

Computed in float32, the hyperbolic tangent of x times this polynomial is at most 1.5e-7 from the error function.
"""


def tangent(node: Node, x: str) -> str:
    """The error function of `x`, which is float32 and between -4 and 4, as the hyperbolic tangent of a polynomial."""
    op = node.op
    return op.Tanh(op.Mul(x, _polynomial(node, op.Mul(x, x), _OF_TANH, np.float32)))


def quotient(node: Node, x: str, kind: type[np.floating[Any]]) -> str:
    """The error function of `x`, which has the type `kind` and is between -4 and 4."""
    op = node.op
    square = op.Mul(x, x)
    upper, lower = (_polynomial(node, square, coefficients, kind) for coefficients in (_UPPER, _LOWER))
    return op.Div(op.Mul(x, upper), lower)


def _polynomial(node: Node, x: str, coefficients: tuple[float, ...], kind: type[np.floating[Any]]) -> str:
    """The polynomial in `x` with these `coefficients`, starting with the constant term."""
    op = node.op
    *others, last = (op.const(value, kind) for value in coefficients)
    result = last
    for coefficient in reversed(others):
        result = op.Add(op.Mul(result, x), coefficient)
    return result
