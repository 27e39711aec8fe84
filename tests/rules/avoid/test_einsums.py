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


DIAGONALS = {
    "spread": ("...ii,...j->...j", ((1, 3, 3), (4, 2))),
    "around": ("i...i->...i", ((3, 2, 3),)),
    "not stated": ("...ii", ((2, 3, 3),)),
    "three times": ("iiij->ij", ((2, 2, 2, 3),)),
    "both": ("iij,jj->i", ((2, 2, 3), (3, 3))),
}


@pytest.mark.parametrize(("equation", "shapes"), DIAGONALS.values(), ids=DIAGONALS)
def test_diagonals_give_what_numpy_gives(equation: str, shapes: tuple[tuple[int, ...], ...], tmp_path: Path) -> None:
    inputs = {f"x{i}": np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 4 for i, shape in enumerate(shapes)}
    expected = np.einsum(equation, *inputs.values())
    given = ", ".join(f"float[{','.join(map(str, shape))}] x{i}" for i, shape in enumerate(shapes))
    result = ",".join(map(str, expected.shape))
    proto = model(f'g ({given}) => (float[{result}] y) {{ y = Einsum<equation = "{equation}">({", ".join(inputs)}) }}', 13)
    converted_model = converted(proto, "Einsum of a diagonal", tmp_path)
    assert converted_model.graph.node[-1].op_type == "Einsum"
    np.testing.assert_array_equal(run(converted_model, inputs)[0], expected)
