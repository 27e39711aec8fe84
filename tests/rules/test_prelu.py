"""PRelu of integers below opset 9."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, run

TEXT = "g (%s[2,3] x, %s[3] s) => (%s[2,3] y) { y = PRelu (x, s) }"
REWRITES = [
    (
        "prelu.slope_of_integers",
        9,
        8,
        TEXT % (("int32",) * 3),
        """{ f = Cast <to = 1> (x) zero = Constant <value = float {0}> () m = Less (f, zero) below = Cast <to = 6> (m)
            p = Mul (x, s) d = Sub (p, x) t = Mul (below, d) y = Add (x, t) }""",
    ),
]


def test_floats_stay():
    assert [node.op_type for node in convert_version(model(TEXT % (("float",) * 3), 9), 8).model.graph.node] == ["PRelu"]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule, opset, target, before, after):
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("kind", ["int32", "int64", "uint32", "uint64"])
def test_its_numbers(kind):
    limits = np.iinfo(kind)
    x = np.array([[limits.min, 0, 3], [limits.max, limits.min // 2, 1]], kind)
    if limits.min:
        x[0, 2] = -5
    s = np.array([3, 2, 7], kind)
    result = convert_version(model(TEXT % ((kind,) * 3), 9), 8, compare="off").model
    with np.errstate(over="ignore"):
        expected = np.where(x < 0, x * s, x)
    assert np.array_equal(run(result, {"x": x, "s": s})[0], expected)
