"""Round below opset 11, at ties, limits and values that are not numbers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, run

TIES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.49999997, 0.50000006, 2.4, -2.6], np.float32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 8388607.5, -8388608.0, 3e38, 1e-45], np.float32)


@pytest.mark.parametrize("target", [10, 7])
@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64)])
def test_round(target, kind, dtype):
    proto = model(f"g ({kind}[N] x) => ({kind}[N] y) {{ y = Round (x) }}", 11)
    assert_same(proto, target, {"x": np.concatenate([TIES, SPECIAL]).astype(dtype)})


@pytest.mark.parametrize("target", [10, 7])
def test_zero_keeps_its_sign(target: int) -> None:
    x = np.array([-0.0, -0.2, -0.5, 0.0, 0.2, 0.5], np.float32)
    result = convert_version(model("g (float[N] x) => (float[N] y) { y = Round (x) }", 11), target)
    (rounded,) = run(result.model, {"x": x})
    assert np.signbit(rounded).tolist() == np.signbit(np.rint(x)).tolist() == [True, True, True, False, False, False]


@pytest.mark.parametrize("target", [10, 7])
def test_round_of_many(target: int) -> None:
    """All numbers of float16, as float: the magnitudes at which a sum could be rounded are among them."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    x = x[np.isfinite(x)]
    near = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
    result = convert_version(model("g (float[N] x) => (float[N] y) { y = Round (x) }", 11), target)
    (rounded,) = run(result.model, {"x": near})
    np.testing.assert_array_equal(rounded, np.rint(near))


REWRITES = [
    (
        "round.nearest_even",
        11,
        10,
        "g (float[2] x) => (float[2] y) { y = Round (x) }",
        """
            <float half = {0.5}, float zero = {0}>
            {
              ceil = Ceil (x)
              rest = Sub (ceil, x)
              above = Greater (rest, half)
              below = Less (rest, half)
              at_least_half = Not (below)
              halved = Mul (ceil, half)
              pairs = Floor (halved)
              fraction = Sub (halved, pairs)
              odd = Greater (fraction, zero)
              to_even = And (at_least_half, odd)
              down = Or (above, to_even)
              step = Cast <to = 1> (down)
              y = Sub (ceil, step)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
