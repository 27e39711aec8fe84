"""SoftmaxCrossEntropyLoss below opset 12."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model

SCORES = np.array([[1, 2, -3, 100], [0.5, -np.inf, 7, 7]], np.float32)
LABELS = np.array([1, 2])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("target", [11, 9])
def test_log_probabilities_are_an_output(reduction: str, target: int) -> None:
    """Expected by hand: score - log(sum(exp(scores)))."""
    shape = "[2]" if reduction == "none" else ""
    proto = model(
        f"g (float[2,4] x, int64[2] l) => (float{shape} y, float[2,4] p) "
        f'{{ y, p = SoftmaxCrossEntropyLoss <reduction = "{reduction}"> (x, l) }}',
        13,
    )
    result = convert_version(proto, target).model
    assert "Transpose" not in {node.op_type for node in result.graph.node}
    assert_same(proto, target, {"x": SCORES, "l": LABELS})


@pytest.mark.parametrize("attributes", ["", "<ignore_index = 2>"])
@pytest.mark.parametrize("weights", ["", ", w"])
def test_more_dimensions(attributes: str, weights: str) -> None:
    signature = "float[2,4,3] x, int64[2,3] l" + (", float[4] w" if weights else "")
    text = f"g ({signature}) => (float y) {{ y = SoftmaxCrossEntropyLoss {attributes} (x, l{weights}) }}"
    given = {
        "x": np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32),
        "l": np.array([[0, 2, 3], [1, 1, 2]]),
        "w": np.array([1, 0.5, 2, 3], np.float32),
    }
    assert_same(model(text, 13), 11, {name: given[name] for name in ("x", "l", *(["w"] if weights else []))})


REWRITES = [
    (
        "softmax_cross_entropy_loss.loss_of_log_softmax",
        13,
        11,
        "g (float[2,4] x, int64[2] l) => (float y) { y = SoftmaxCrossEntropyLoss (x, l) }",
        """<int64[1] v6 = {1}> {
        v1 = LogSoftmax <axis = 1> (x) v2 = Unsqueeze <axes = [1]> (l) v3 = GatherElements <axis = 1> (v1, v2) v4 = Neg (v3)
        v5 = Squeeze <axes = [1]> (v4) y = ReduceMean <keepdims = 0> (v5) }""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
