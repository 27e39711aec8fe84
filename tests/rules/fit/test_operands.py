"""Operands in another order or shape, and what is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from fitting import Row, assert_fits, for_a_list
from helpers import model

from split_rewrite import rewriter

REWRITES = [
    (
        "operands.swapped",
        ["Add"],
        "[[rule]]\noperators = ['Add']\nconst = ['!A', 'B']",
        "g (float[2,3] x) => (float[2,3] y) <float[3] c = {1, 2, 3}> { y = Add(c, x) }",
        "<float[3] c = {1, 2, 3}> { y = Add (x, c) }",
    ),
    (
        "operands.scalars_as_vectors",
        ["Pow"],
        "[all]\nrank = { '*' = { min = 1 } }",
        "g (float[2,3] x) => (float[2,3] y) <float c = {2}> { y = Pow(x, c) }",
        "<float[1] c = {2}> { y = Pow (x, c) }",
    ),
    (
        "operands.less_in_the_other_order",
        ["Less"],
        "",
        "g (float[2,3] x, float[3] z) => (bool[2,3] y) { y = Greater(x, z) }",
        "{ y = Less (z, x) }",
    ),
    (
        "operands.greater_in_the_other_order",
        ["Greater"],
        "",
        "g (float[2,3] x, float[3] z) => (bool[2,3] y) { y = Less(x, z) }",
        "{ y = Greater (z, x) }",
    ),
    (
        "operands.stored_in_full",
        ["Add"],
        "[[rule]]\noperators = ['Add']\nshape = { A = '=B' }",
        "g (float[2,2] x) => (float[2,2] y) <float[2] w = {1,2}> { y = Add(x, w) }",
        "<float[2,2] v = {1,2,1,2}> { y = Add (x, v) }",
    ),
    (
        "operands.expanded_before",
        ["Mul", "Expand"],
        "[[rule]]\noperators = ['Mul']\nshape = { A = '=B' }",
        "g (float[1,2,3,3] x, float[1,2,1,1] z) => (float[1,2,3,3] y) { y = Mul(x, z) }",
        "<int64[4] s = {1,2,3,3}> { wide = Expand (z, s) y = Mul (x, wide) }",
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ("const = ['!A', 'B']", "g (float[2] x, float[2] z) => (float[2] y) { y = Sub(x, z) }"),
        ("shape = { A = '=B' }", "g (float[0,2] x, float[2] z) => (float[0,2] y) { y = Sub(x, z) }"),
        ("rank = { '*' = { min = 1 } }", "g (float x) => (float y) <float c = {2}> { y = Sub(x, c) }"),
        ("rank = { '*' = { min = 1 } }", "g (float[2] x, float c) => (float[2] y) { y = Sub(x, c) }"),
    ],
    ids=["another order", "no elements", "a scalar result", "an operand of run time"],
)
def test_what_has_no_other_form(rules: str, text: str, tmp_path: Path) -> None:
    options = for_a_list(tmp_path, ["Sub"], f"[[rule]]\noperators = ['Sub']\n{rules}")
    with pytest.raises(rewriter.UnconvertibleError, match="NPU 1 does not allow it"):
        rewriter.convert_version(model(text, 13), 13, options=options)


@pytest.mark.parametrize("op", ["Mul", "Add"])
def test_below_opset_7_the_first_operand_is_not_spread(op: str, tmp_path: Path) -> None:
    options = for_a_list(tmp_path, [op], f"[[rule]]\noperators = ['{op}']\nconst = ['!A', 'B']")
    text = f"g (float[3] x) => (float[2,3] y) <float[2,3] w = {{1, 2, 3, 4, 5, 6}}> {{ y = {op}(w, x) }}"
    assert rewriter.convert_version(model(text, 13), 7, options=options).report.comparison
    with pytest.raises(rewriter.UnconvertibleError, match="NPU 1 does not allow it"):
        rewriter.convert_version(model(text, 13), 6, options=options)
