"""Max, Min and Pow: more types came with opset 12."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model

REWRITES = [
    (
        "pow.power_in_one_type",
        12,
        11,
        "g (float[2] x, int64 e) => (float[2] y) { y = Pow (x, e) }",
        "{ v1 = Cast <to = 11> (x) v2 = Cast <to = 11> (e) v3 = Pow (v1, v2) y = Cast <to = 1> (v3) }",
    ),
    (
        "pow.power_in_one_type",
        12,
        11,
        "g (float[2] x) => (float[2] y) <int64 e = {3}> { y = Pow (x, e) }",
        "<float v1 = {3}> { y = Pow (x, v1) }",
    ),
    (
        "pow.power_in_one_type",
        12,
        11,
        "g (float[2] x) => (float[2] y) <int64 e = {16777217}> { y = Pow (x, e) }",
        "<double v2 = {16777217}> { v1 = Cast <to = 11> (x) v3 = Pow (v1, v2) y = Cast <to = 1> (v3) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("exponent", [2, 3, -1, 0, 7])
def test_an_exponent_that_the_type_of_the_base_holds(exponent: int) -> None:
    proto = model(f"g (float[5] x) => (float[5] y) <int32 e = {{{exponent}}}> {{ y = Pow (x, e) }}", 12)
    assert_same(proto, 11, {"x": np.array([0.1, -3, 1e20, np.nan, -np.inf], np.float32)})


@pytest.mark.parametrize("target", [11, 12, 7])
def test_powers_beyond_the_precision_of_double_are_exact(target: int) -> None:
    """onnxruntime computes them in double, and is not asked."""
    source = model("g (int64[1] x) => (int64[1] y) <int64[1] e = {39}> { y = Pow (x, e) }", 13)
    done = convert_version(source, target, compare="required")
    assert done.report.comparison.runtime.startswith("onnx.reference")
