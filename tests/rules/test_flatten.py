"""Flatten of types that it does not take below opset 9."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal

TEXT = "g (%s[%s] x) => (%s[A, B] y) { y = Flatten <axis = %d> (x) }"
REWRITES = [
    (
        "flatten.reshape_other_types",
        9,
        8,
        TEXT % ("uint64", "2, 3, 4", "uint64", 2),
        "{ stored = Constant <value = double[2] {6, -1}> () shape = Cast <to = 7> (stored) y = Reshape (x, shape) }",
    ),
]


def test_refuses_lengths_that_are_not_known():
    assert "Flatten of opset 1 does not take int64" in refusal(model(TEXT % ("int64", "M, N", "int64", 1), 9), 8)


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule, opset, target, before, after):
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("kind", ["int64", "uint8", "bool", "int32"])
@pytest.mark.parametrize(
    ("shape", "axis"), [("2, 3, 4", 0), ("2, 3, 4", 1), ("2, 3, 4", 3), ("N, 3, 4", 1), ("2, 3, N", 2), ("2, 0, 4", 1)]
)
def test_its_numbers(kind, shape, axis):
    sizes = [int(size) if size.isdigit() else 5 for size in shape.split(", ")]
    x = (np.arange(np.prod(sizes)) % 7).reshape(sizes).astype(kind)
    assert_same(model(TEXT % (kind, shape, kind, axis), 9), 8, {"x": x})
