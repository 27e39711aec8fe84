"""The rules that avoid forms of bools, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import PROFILE, for_a_runtime
from helpers import assert_rewrites, convert_version, model, run

from split_rewrite.rewriter import Options

REWRITES = [
    (
        "bools.through_int32",
        "Split of bool",
        13,
        "g (bool[4] x) => (bool[2] y, bool[2] z) { y, z = Split(x) }",
        """
            {
              as_int32 = Cast <to = 6> (x)
              as_int32_2, as_int32_2_as_int32 = Split (as_int32)
              y = Cast <to = 9> (as_int32_2)
              z = Cast <to = 9> (as_int32_2_as_int32)
            }
        """,
    ),
    (
        "bools.compare_at_run_time",
        "Where by a constant condition",
        13,
        "g (float[2] x) => (float[2] y) <bool[2] c = {1, 0}> { y = Where(c, x, x) }",
        "<float[2] c = {1, 0}, float zero = {0}> { compared = Greater (c, zero) y = Where (compared, x, x) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


def test_a_triangle_has_no_constant_of_type_bool(tmp_path: Path) -> None:
    before = model("g (float[3,3] x) => (float[3,3] y) { y = Trilu(x) }", 14)
    options = for_a_runtime("Where by a constant condition", tmp_path)
    result = convert_version(before, 13, options=options).model
    assert [node.op_type for node in result.graph.node] == ["Greater", "Where"]
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(run(result, {"x": x})[0], np.triu(x))


def test_operators_on_constants_are_folded_but_for_the_comparison(tmp_path: Path) -> None:
    text = """g (float[2] x) => (float[2] y) <int64[2] a = {1, 2}, int64 b = {1}, float zero = {0}>
        { c = Less(b, a) y = Where(c, x, zero) }"""
    path = tmp_path / "npu.toml"
    quirk = '[[quirk]]\nform = "Operator on constants"\nevidence = "by documentation"\n'
    path.write_text(PROFILE.format("Where by a constant condition") + quirk, encoding="utf-8")
    result = convert_version(model(text, 13), 13, options=Options(for_runtimes=[str(path)])).model
    assert [node.op_type for node in result.graph.node] == ["Greater", "Where"]
    np.testing.assert_array_equal(run(result, {"x": np.array([5, 6], np.float32)})[0], [0, 6])
