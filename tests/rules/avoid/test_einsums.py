"""The rules that avoid forms of Einsum, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model, run

REWRITES = [
    (
        "einsums.use_small_letters",
        "Einsum with capital letters",
        13,
        'g (float[2,3] x, float[3,4] w) => (float[2,4] y) { y = Einsum<equation = "B i, i D -> B D">(x, w) }',
        '{ y = Einsum <equation = "a c, c b -> a b"> (x, w) }',
    ),
    (
        "einsums.name_all_axes",
        "Einsum with an ellipsis",
        12,
        'g (float[2,3,N] x, float[N,2] w) => (float[2,3,2] y) { y = Einsum<equation = "... i, i j">(x, w) }',
        '{ y = Einsum <equation = "abi,ij->abj"> (x, w) }',
    ),
    (
        "einsums.take_diagonals",
        "Einsum of a diagonal",
        13,
        'g (float[2,3,3] x, float[3,4] w) => (float[2,4] y) { y = Einsum<equation = "bii,ij->bj">(x, w) }',
        """<int64[2] form = {2, 9}, int64[3] places = {0, 4, 8}> {
            flat = Reshape (x, form) d = Gather <axis = 1> (flat, places) y = Einsum <equation = "bi,ij->bj"> (d, w) }""",
    ),
    (
        "einsums.take_diagonals",
        "Einsum of a diagonal",
        13,
        'g (float[3,3] x) => (float y) { y = Einsum<equation = "ii">(x) }',
        """<int64[1] form = {9}, int64[3] places = {0, 4, 8}> {
            flat = Reshape (x, form) d = Gather <axis = 0> (flat, places) y = Einsum <equation = "i->"> (d) }""",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


@pytest.mark.parametrize("equation", ["iB,Ba", "...bA,...Ac", "Zz,zA->ZA"])
def test_the_order_of_an_output_that_is_not_stated_stays(equation: str, tmp_path: Path) -> None:
    proto = model(f'g (float[3,3] x, float[3,3] w) => (float[n,m] y) {{ y = Einsum<equation = "{equation}">(x, w) }}', 13)
    result = converted(proto, "Einsum with capital letters", tmp_path)
    assert result.graph.node[0].attribute[0].s.islower()
    inputs = {name: np.arange(9, dtype=np.float32).reshape(3, 3) * factor for name, factor in (("x", 1), ("w", 2))}
    np.testing.assert_array_equal(run(result, inputs)[0], run(proto, inputs)[0])
