"""Concat of what no node makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

FORM = "Concat of an input of the model and a stored value"
WEIGHTS = "<float[1,3] w = {1, 2, 3}>"
CONSTANT = "w = Constant <value = float[1,3] {1, 2, 3}> ()"

REWRITES = [
    (
        "concats.copy_inputs",
        f"g (float[2,3] x, float[1,3] z) => (float[5,3] y) {WEIGHTS} {{ r = Relu(z) y = Concat<axis = 0>(x, w, r, z) }}",
        f"{WEIGHTS} {{ r = Relu (z) a = Identity (x) b = Identity (z) y = Concat <axis = 0> (a, w, r, b) }}",
    ),
    (
        "concats.copy_inputs",
        f"g (float[2,3] x) => (float[3,3] y) {{ {CONSTANT} y = Concat<axis = 0>(x, w) }}",
        f"{{ {CONSTANT} a = Identity (x) y = Concat <axis = 0> (a, w) }}",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, 13, 13, for_a_runtime(FORM, tmp_path))
