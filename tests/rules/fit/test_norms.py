"""The norm by squares for lists that have only LayerNormalization: what is written, and what stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import for_a_list
from helpers import assert_rewrites, convert_version, model, run

from split_rewrite import rewriter
from split_rewrite.rewriter import UnconvertibleError

ALLOWED = ["LayerNormalization", "Concat", "Slice", "Neg", "Mul"]
CONSTANTS = "<float[4] s = {1, 2, 3, 4}, float e = {0.001}, float two = {2}>"
SQUARES = (
    f"g (float[2,3,4] x) => (float[2,3,4] y) {CONSTANTS} {{ q = Pow (x, two) m = ReduceMean <axes = [-1]> (q) w = Add (m, e) "
    "r = Sqrt (w) i = Reciprocal (r) n = Mul (x, i) y = Mul (s, n) }"
)
STORED = """<float[8] twice = {1, 2, 3, 4, 1, 2, 3, 4}, int64[1] from = {0}, int64[1] to = {4}, int64[1] last = {-1}> {
    below = Neg (x)
    both = Concat <axis = -1> (x, below)
    wide = LayerNormalization <axis = -1, epsilon = 0.001> (both, twice)
    y = Slice (wide, from, to, last)
}"""
RMS = "g (float[2,3,2] x, float[3,2] s) => (float[2,3,2] y) { y = RMSNormalization <axis = 1, epsilon = 0.5> (x, s) }"
COMPUTED = """<float[3,4] ones = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, int64[1] from = {0}, int64[1] to = {2}, int64[1] last = {-1}> {
    below = Neg (x)
    both = Concat <axis = -1> (x, below)
    wide = LayerNormalization <axis = -2, epsilon = 0.5> (both, ones)
    half = Slice (wide, from, to, last)
    y = Mul (half, s)
}"""
REWRITES = [
    ("norms.deviation_of_both_signs", SQUARES, STORED, 13, 17),
    ("norms.layer_of_both_signs", RMS, COMPUTED, 23, 23),
]


@pytest.mark.parametrize(("rule", "before", "after", "opset", "target"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, before: str, after: str, opset: int, target: int, tmp_path: Path) -> None:
    options = for_a_list(tmp_path, ALLOWED)
    assert_rewrites(before, after, rule, opset, target, options)
    compared = rewriter.convert_version(model(before, opset), target, options=options, compare="required").report.comparison
    assert compared is not None and compared.status == "equal"


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e15, 1e30])  # the squares of the last are infinite
def test_small_and_large_numbers(size: float, tmp_path: Path) -> None:
    feeds = {"x": (np.random.default_rng(5).standard_normal((2, 3, 4)) * size).astype(np.float32)}
    result = convert_version(model(SQUARES, 13), None, options=for_a_list(tmp_path, ALLOWED)).model
    wanted = run(model(SQUARES, 13), feeds)[0]
    np.testing.assert_allclose(run(result, feeds)[0], wanted, rtol=2e-6, atol=2e-6 * np.abs(wanted).max())


FEW = ["LayerNormalization", "Mul", "Add", "Sqrt", "Reciprocal", "ReduceSum", "Pow"]
STAYS = {
    "the list has other pieces, and nothing to join x with": (SQUARES, FEW, ["Pow", "Mul"]),
    "the list has the pieces": (SQUARES, [*ALLOWED, "Pow", "ReduceMean", "Add", "Sqrt", "Reciprocal"], ["Pow", "Mul"]),
    "the mean goes as well": (
        SQUARES.replace("q = Pow (x,", "a = ReduceMean <axes = [-1]> (x) d = Sub (x, a) q = Pow (d,").replace("(x, i)", "(d, i)"),
        ALLOWED,
        ["LayerNormalization"],
    ),
}


@pytest.mark.parametrize(("before", "allowed", "first_and_last"), STAYS.values(), ids=STAYS)
def test_what_stays(before: str, allowed: list[str], first_and_last: list[str], tmp_path: Path) -> None:
    nodes = convert_version(model(before, 17), None, options=for_a_list(tmp_path, allowed)).model.graph.node
    assert [nodes[0].op_type, nodes[-1].op_type] == [first_and_last[0], first_and_last[-1]]


@pytest.mark.parametrize(
    "before",
    [
        SQUARES.replace("[-1]", "[1]"),
        SQUARES.replace("two = {2}", "two = {3}"),
        SQUARES.replace("float[4] s = {1, 2, 3, 4}", "float[1] s = {3}"),
        SQUARES.replace("float", "double"),
        SQUARES.replace("=> (float[2,3,4] y)", "=> (float[2,3,4] y, float[2,3,1] r)"),
    ],
)
def test_what_is_something_else_is_refused(before: str, tmp_path: Path) -> None:
    with pytest.raises(UnconvertibleError, match="does not allow it: it is not among the operators"):
        convert_version(model(before, 17), None, options=for_a_list(tmp_path, ALLOWED))


def test_an_opset_before_the_operator_has_none(tmp_path: Path) -> None:
    with pytest.raises(UnconvertibleError, match=r"^ReduceMean 'm' .* does not allow it"):
        convert_version(model(SQUARES.replace(" m = ", " [m] m = "), 13), 13, options=for_a_list(tmp_path, ALLOWED))
