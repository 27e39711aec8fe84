"""ThresholdedRelu in models before opset 10. What it computes is in test_legacy."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal

BEFORE = "g (float[4] x) => (float[4] y) { y = ThresholdedRelu <alpha = 0.5> (x) }"
REWRITES = [
    ("thresholded_relu.take_from_older_opsets", 7, 13, BEFORE, "{ y = ThresholdedRelu <alpha = 0.5> (x) }"),
    (
        "thresholded_relu.keep_what_is_above",
        10,
        9,
        "g (float16[4] x) => (float16[4] y) { y = ThresholdedRelu <alpha = 0.3> (x) }",
        "<float alpha = {0.3}, float16 zero = {0}> { wide = Cast <to = 1> (x) above = Greater (wide, alpha) y = Where (above, x, zero) }",
    ),
]


def test_refuses_another_attribute():
    text = BEFORE.replace("alpha", "beta")
    assert "ThresholdedRelu has no attribute beta" in refusal(model(text, 7), 13)


def test_rewrites():
    for rule, opset, target, before, after in REWRITES:
        assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize(("kind", "target"), [("float", 9), ("float", 7), ("float16", 9)])
def test_the_number_that_alpha_is_rounded_to(kind: str, target: int) -> None:
    """In float16, 0.3 is rounded up, to a number that is above alpha."""
    text = f"g ({kind}[6] x) => ({kind}[6] y) {{ y = ThresholdedRelu <alpha = 0.3> (x) }}"
    dtype = {"float": np.float32, "float16": np.float16}[kind]
    assert_same(model(text, 10), target, {"x": np.array([0.3, 0.2998, 0.3003, np.nan, np.inf, -1], dtype)})
