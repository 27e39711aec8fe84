"""Celu below opset 12."""

import numpy as np
from helpers import assert_rewrites, run

X = np.linspace(-4, 4, 6).astype(np.float32)


def test_an_elu():
    result = assert_rewrites(
        "g (float[6] x) => (float[6] y) { y = Celu (x) }", "g (float[6] x) => (float[6] y) { y = Elu (x) }", (12, 11)
    )
    np.testing.assert_allclose(run(result, {"x": X})[0], np.maximum(X, 0) + np.minimum(0, np.expm1(X)), rtol=1e-5)


def test_with_another_alpha():
    result = assert_rewrites(
        "g (float[6] x) => (float[6] y) { y = Celu <alpha = 2.0> (x) }",
        "g (float[6] x) => (float[6] y) <float alpha = {2}> { s = Div (x, alpha)  e = Elu (s)  y = Mul (alpha, e) }",
        (12, 11),
    )
    np.testing.assert_allclose(run(result, {"x": X})[0], np.maximum(X, 0) + np.minimum(0, 2 * np.expm1(X / 2)), rtol=1e-5)
