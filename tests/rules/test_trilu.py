"""Trilu below opset 14."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -1, 0, 1, 2, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("target, dims", [(13, "B,M,N"), (13, "2,3,5"), (11, "2,M,N"), (9, "B,3,5"), (8, "2,3,5")])
def test_trilu(upper, k, target, dims):
    if k is not None and abs(k) > 100 and target < 13:
        pytest.skip("onnxruntime's own Trilu decides these; once is enough")
    operands, given = "x", {"x": np.resize(SPECIAL, (2, 3, 5))}
    signature = f"float[{dims}] x"
    if k is not None and target >= 9:
        operands, signature, given["k"] = "x, k", f"{signature}, int64 k", np.array(k)
    proto = model(f"g ({signature}) => (float[{dims}] y) {{ y = Trilu <upper={upper}> ({operands}) }}", 14)
    shown = run(convert_version(proto, target).model, given)[0]
    expected = (np.triu if upper else np.tril)(np.ones((3, 5), bool), max(min(k or 0, 9), -9) if "k" in given else 0)
    np.testing.assert_array_equal(shown, np.where(expected, given["x"], np.float32(0)))


def test_refuses_a_triangle_of_strings() -> None:
    text = "g (string[2,2] x) => (string[2,2] y) {y = Trilu(x)}"
    assert "the specification does not say what Trilu puts in the place of strings" in refusal(model(text, 16), 13)


REWRITES = [
    (
        "trilu.where_the_triangle_is",
        14,
        13,
        "g (float[2,2] x) => (float[2,2] y) { y = Trilu (x) }",
        "<bool[2,2] v1 = {0, 0, 1, 0}, float v2 = {0}> { y = Where (v1, v2, x) }",
    ),
    (  # a causal mask of open length
        "trilu.where_the_triangle_is",
        14,
        13,
        """g (int64[2] n) => (float[S,T] y) <float full = {-inf}, int64 k = {1}> {
          filled = Expand (full, n)
          y = Trilu <upper = 1> (filled, k)
        }""",
        """
            <float full = {-inf}, int64 none = {0}, int64 one = {1}, int64[1] axis = {1}, float zero = {0}>
            {
              filled = Expand (full, n)
              sizes = Shape (filled)
              width = Gather <axis = 0> (sizes, one)
              columns = Range (none, width, one)
              height = Gather <axis = 0> (sizes, none)
              range = Range (none, height, one)
              rows = Unsqueeze (range, axis)
              inside = Less (rows, columns)
              y = Where (inside, full, zero)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
