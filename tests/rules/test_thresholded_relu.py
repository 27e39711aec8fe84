"""ThresholdedRelu in models before opset 10. What it computes is in test_legacy."""

from helpers import assert_rewrites, model, refusal

BEFORE = "g (float[4] x) => (float[4] y) { y = ThresholdedRelu <alpha = 0.5> (x) }"
REWRITES = [("thresholded_relu.take_from_older_opsets", 7, 13, BEFORE, "{ y = ThresholdedRelu <alpha = 0.5> (x) }")]


def test_refuses_another_attribute():
    text = BEFORE.replace("alpha", "beta")
    assert "ThresholdedRelu has no attribute beta" in refusal(model(text, 7), 13)


def test_rewrites():
    for rule, opset, target, before, after in REWRITES:
        assert_rewrites(before, after, rule, opset, target)
