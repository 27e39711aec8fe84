"""The rules that avoid forms of constants, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

REWRITES = [
    (
        "constants.plain_tensor",
        "Constant without the attribute value",
        13,
        "g (float[2] x) => (float[2] y) { t = Constant<value_float = 2.0>() y = Mul(x, t) }",
        "{ t = Constant <value = float {2}> () y = Mul (x, t) }",
    ),
    (
        "constants.state_value",
        "ConstantOfShape without value",
        13,
        "g (float[3] x) => (float[2,3] y) <int64[2] s = {2, 3}> { c = ConstantOfShape(s) y = Add(c, x) }",
        "<int64[2] s = {2, 3}> { c = ConstantOfShape <value = float[1] {0}> (s) y = Add (c, x) }",
    ),
    (
        "constants.fold_scalar",
        "ConstantOfShape of a scalar",
        13,
        "g (float[3] x) => (float[3] y) <int64[0] s = {}> { c = ConstantOfShape<value = float[1] {2}>(s) y = Add(c, x) }",
        "{ c = Constant <value = float {2}> () y = Add (c, x) }",
    ),
    (
        "constants.fold_constants",
        "Operator on constants",
        13,
        "g (float[3] x) => (float[3] y) <float a = {1}, float b = {2}> { c = Add(a, b) y = Add(c, x) }",
        "{ c = Constant <value = float {3}> () y = Add (c, x) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)
