"""Swish below opset 24."""

import numpy as np
import pytest
from helpers import assert_becomes, run

from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 24, reason="the installed onnx has no Swish")
X = np.linspace(-4, 4, 6).astype(np.float32)


def test_two_nodes():
    result = assert_becomes(
        "g (float[6] x) => (float[6] y) { y = Swish (x) }",
        "g (float[6] x) => (float[6] y) { s = Sigmoid (x)  y = Mul (x, s) }",
        (24, 13),
    )
    np.testing.assert_allclose(run(result, {"x": X})[0], X / (1 + np.exp(-X)), rtol=1e-4, atol=1e-6)


def test_three_where_alpha_says_something():
    result = assert_becomes(
        "g (float[6] x) => (float[6] y) { y = Swish <alpha = 2.0> (x) }",
        "g (float[6] x) => (float[6] y) <float alpha = {2}> { a = Mul (x, alpha)  s = Sigmoid (a)  y = Mul (x, s) }",
        (24, 13),
    )
    np.testing.assert_allclose(run(result, {"x": X})[0], X / (1 + np.exp(-2 * X)), rtol=1e-4, atol=1e-6)
