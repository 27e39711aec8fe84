"""Logical operators in terms of arithmetic, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import for_a_list
from helpers import assert_rewrites, model, run

from split_rewrite.rewriter import convert_version

ARITHMETIC = ["Add", "Cast", "Greater", "Mul", "Sub"]
BEFORE = "g (bool[2,2] a, bool[2] b) => (bool[2,2] y) {{ y = {}(a, b) }}"
AFTER = "<float zero = {{0}}> {{ p = Cast <to = 1> (a) q = Cast <to = 1> (b) {} y = Greater (t, zero) }}"
REWRITES = [
    ("logic.product_of_ones", BEFORE.format("And"), AFTER.format("t = Mul (p, q)")),
    ("logic.sum_of_ones", BEFORE.format("Or"), AFTER.format("t = Add (p, q)")),
    ("logic.square_of_the_difference", BEFORE.format("Xor"), AFTER.format("d = Sub (p, q) t = Mul (d, d)")),
    (
        "logic.the_truth_itself",
        "g (bool[2,2] a, bool[2] b) => (bool[2,2] y) <bool k = {0}> { y = Equal(a, k) }",
        "{ y = Not (a) }",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, before: str, after: str, tmp_path: Path) -> None:
    result = assert_rewrites(before, after, rule, 13, 13, for_a_list(tmp_path, [*ARITHMETIC, "Not"]))
    feeds = {"a": np.array([[0, 1], [1, 0]], bool), "b": np.array([0, 1], bool)}
    np.testing.assert_array_equal(run(result, feeds)[0], run(model(before, 13), feeds)[0])


def test_nan_is_found_without_logical_operators(tmp_path: Path) -> None:
    before = model("g (float[3] x) => (bool[3] y) { y = IsNaN(x) }", 13)
    result = convert_version(before, 13, options=for_a_list(tmp_path, [*ARITHMETIC, "Less", "Not"])).model
    np.testing.assert_array_equal(run(result, {"x": np.array([np.nan, -np.inf, 0.5], np.float32)})[0], [True, False, False])


@pytest.mark.parametrize(("stored", "wanted"), [("1", ["Greater", "Cast"]), ("0", ["Greater", "Not", "Cast"])])
@pytest.mark.parametrize("operands", ["t, k", "k, t"])
def test_what_is_compared_with_a_stored_truth_is_that_or_its_negation(
    stored: str, wanted: list[str], operands: str, tmp_path: Path
) -> None:
    text = f"""g (float[2] x) => (float[2] y) <bool k = {{{stored}}}, float zero = {{0}}> {{
        t = Greater(x, zero) e = Equal({operands}) y = Cast<to = 1>(e) }}"""
    result = convert_version(model(text, 13), 13, options=for_a_list(tmp_path, ["Greater", "Not", "Cast"])).model
    assert [node.op_type for node in result.graph.node] == wanted
    feeds = {"x": np.array([-1, 2], np.float32)}
    np.testing.assert_array_equal(run(result, feeds)[0], run(model(text, 13), feeds)[0])
