"""Swish below opset 24."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, run

from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 24, reason="the installed onnx has no Swish")
X = np.linspace(-4, 4, 6).astype(np.float32)


def test_its_numbers():
    result = convert_version(model("g (float[6] x) => (float[6] y) { y = Swish (x) }", 24, 10), 13).model
    np.testing.assert_allclose(run(result, {"x": X})[0], X / (1 + np.exp(-X)), rtol=1e-4, atol=1e-6)


def test_its_numbers_with_alpha():
    result = convert_version(model("g (float[6] x) => (float[6] y) { y = Swish <alpha = 2.0> (x) }", 24, 10), 13).model
    np.testing.assert_allclose(run(result, {"x": X})[0], X / (1 + np.exp(-2 * X)), rtol=1e-4, atol=1e-6)


REWRITES = [
    (
        "swish.times_a_sigmoid",
        24,
        13,
        "g (float[3] x) => (float[3] y) { y = Swish (x) }",
        "{ sigmoid = Sigmoid (x) y = Mul (x, sigmoid) }",
    ),
    (
        "swish.times_a_sigmoid",
        24,
        13,
        "g (float[3] x) => (float[3] y) { y = Swish <alpha = 2.0> (x) }",
        "<float alpha = {2}> { scaled = Mul (x, alpha) sigmoid = Sigmoid (scaled) y = Mul (x, sigmoid) }",
    ),
    (
        "swish.times_a_sigmoid",
        24,
        13,
        "g (bfloat16[3] x) => (bfloat16[3] y) { y = Swish (x) }",
        "{ sigmoid = Sigmoid (x) y = Mul (x, sigmoid) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
