"""Quotients and remainders of integers: what stays refused, and what is written for places along an axis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, convert_version, model, run

from split_rewrite.rewriter import UnconvertibleError

OF_SHAPES = "Div by what follows from open shapes"
KEPT = {
    "of known shapes": "g (float[2,3] x) => (float[2,3] y) { s = Shape(x) n = Cast<to = 1>(s) p = ReduceProd<keepdims = 0>(n) y = Div(x, p) }",
    "by a length that is known": "g (float[N,3] x) => (float[N,3] y) <int64 i = {1}> { s = Shape(x) g = Gather(s, i) n = Cast<to = 1>(g) q = Sqrt(n) y = Div(x, q) }",
    "by numbers": "g (float[N,3] x, float c) => (float[N,3] y) { s = Shape(x) n = Cast<to = 1>(s) p = ReduceProd<keepdims = 0>(n) d = Mul(p, c) y = Div(x, d) }",
    "of a shape": "g (float[N,3] x) => (float[N,3] y) { s = Size(x) n = Cast<to = 1>(s) y = Div(n, x) }",
    "of integers": "g (float[N,3] x, int64[1] z) => (int64[1] y) { s = Size(x) y = Div(z, s) }",
    "by what an If gives": """g (float[N,3] x, bool c) => (float[N,3] y) {
        d = If(c) <then_branch = t () => (float a) { s = Size(x) a = Cast<to = 1>(s) },
                   else_branch = e () => (float b) { b = Constant<value = float {2}>() }> y = Div(x, d) }""",
}

REFUSED = {
    "of the model": "g (int64[3] x) => (int64[3] y) <int64 c = {2}> { y = Div(x, c) }",
    "by what is computed": "g (float[2,3] x, int64 c) => (int64[2,1] y) { p = ArgMax<axis = 1>(x) y = Div(p, c) }",
    "by a negative number": "g (float[2,3] x) => (int64[2,1] y) <int64 c = {-2}> { p = ArgMax<axis = 1>(x) y = Div(p, c) }",
    "by zero": "g (float[2,3] x) => (int64[2,1] y) <int64 c = {0}> { p = ArgMax<axis = 1>(x) y = Div(p, c) }",
    "along an open axis": "g (float[2,N] x) => (int64[2,1] y) <int64 c = {2}> { p = ArgMax<axis = 1>(x) y = Div(p, c) }",
    "by a large number": "g (float[2,3] x) => (int64[2,1] y) <int64 c = {4194304}> { p = ArgMax<axis = 1>(x) y = Div(p, c) }",
    "padded with others": """g (float[2,3] x) => (int64[4,1] y) <int64 c = {2}, int64[4] p = {1,0,1,0}, int64 v = {-5}> {
        p1 = ArgMax<axis = 1>(x) q = Pad(p1, p, v) y = Div(q, c) }""",
    "among others": """g (float[2,3] x, int64[1,1] i, int64[1,1] u) => (int64[2,1] y) <int64 c = {2}> {
        p = ArgMax<axis = 1>(x) q = ScatterElements(p, i, u) y = Div(q, c) }""",
    "of sums": "g (float[2,3] x) => (int64[2,1] y) <int64 c = {2}> { p = ArgMax<axis = 1>(x) q = Add(p, p) y = Div(q, c) }",
}

REWRITES = [
    (
        "divisions.quotients_of_places",
        "Div of integers",
        "g (float[2,12] x) => (int64[1,2] y) <int64 c = {4}> { p = ArgMax<axis = -1>(x) t = Transpose(p) y = Div(t, c) }",
        """<float c = {4}> { p = ArgMax <axis = -1> (x) t = Transpose (p) f = Cast <to = 1> (t) q = Div (f, c) r = Floor (q)
            y = Cast <to = 7> (r) }""",
    ),
    (
        "divisions.remainders_of_places",
        "Mod of integers",
        "g (float[2,12] x) => (int64[2,1] y) <int64 c = {4}> { p = ArgMin<axis = 1>(x) y = Mod(p, c) }",
        "<int64 c = {4}> { p = ArgMin <axis = 1> (x) q = Div (p, c) m = Mul (q, c) y = Sub (p, m) }",
    ),
    (
        "divisions.by_no_more_than_itself",
        OF_SHAPES,
        "g (float[N,3] x) => (float[N,3] y) <float one = {1}> { s = Shape(x) n = Cast<to = 1>(s) l = ReduceProd<keepdims = 0>(n) d = Sub(l, one) y = Div(x, d) }",
        "<float one = {1}> { s = Shape (x) n = Cast <to = 1> (s) l = ReduceProd <keepdims = 0> (n) d = Sub (l, one) u = Max (d, x) e = Min (d, u) y = Div (x, e) }",
    ),
    (
        "divisions.by_no_more_than_itself",
        OF_SHAPES,
        "g (float[N,3] x) => (float[N,3] y) <float[1] one = {1}, int64[1] z = {0}> { s = Shape(x) g = Gather(s, z) n = Cast<to = 1>(g) r = Div(one, n) y = Mul(x, r) }",
        "<int64[1] z = {0}> { s = Shape (x) g = Gather (s, z) n = Cast <to = 1> (g) r = Reciprocal (n) y = Mul (x, r) }",
    ),
]


@pytest.mark.parametrize("dividend", ["n", "two"])
def test_a_length_by_a_length_is_refused(dividend: str, tmp_path: Path) -> None:
    """The reciprocal of 41 times 41 is less than 1, and a Floor would make 0 of it."""
    text = f"g (float[N,3] x) => (float y) <float two = {{2}}> {{ s = Size(x) n = Cast<to = 1>(s) q = Div({dividend}, n) y = Floor(q) }}"
    with pytest.raises(UnconvertibleError) as refused:
        converted(model(text, 13), OF_SHAPES, tmp_path)
    (blocker,) = refused.value.blockers
    assert blocker.reason.endswith("it divides what follows from lengths that are open")
    assert blocker.hint == "fix them with --overwrite-input-shape"


@pytest.mark.parametrize("length", [41, 47])
def test_quotients_by_lengths_are_the_same(length: int, tmp_path: Path) -> None:
    before = model("g (float[N] x) => (float[N] y) { s = Size(x) n = Cast<to = 1>(s) y = Div(x, n) }", 13)
    after = converted(before, OF_SHAPES, tmp_path)
    x = np.arange(length, dtype=np.float32) * length
    x[:3] = np.nan, np.inf, -np.inf
    assert np.array_equal(run(after, {"x": x})[0], run(before, {"x": x})[0], equal_nan=True)
    assert "Min" in [node.op_type for node in after.graph.node]


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_other_quotients_stay(text: str, tmp_path: Path) -> None:
    assert "Div" in [node.op_type for node in converted(model(text, 13), OF_SHAPES, tmp_path).graph.node]


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_other_integers_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnconvertibleError, match="it divides integers, and no other form of it is exact"):
        converted(model(text, 13), "Div of integers", tmp_path)


def test_what_is_spread_by_attributes_is_refused(tmp_path: Path) -> None:
    text = """g (float[3,2,2] x) => (int64[2,2] y) <int64[2] c = {1, 5}> {
        p = ArgMax<axis = 0, keepdims = 0>(x) y = Div<broadcast = 1, axis = 0>(p, c) }"""
    with pytest.raises(UnconvertibleError, match="it divides integers, and no other form of it is exact"):
        converted(model(text, 6), "Div of integers", tmp_path)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_other_remainders_stay(text: str, tmp_path: Path) -> None:
    before = model(text.replace("Div", "Mod"), 13)
    assert converted(before, "Mod of integers", tmp_path).graph.node == before.graph.node


@pytest.mark.parametrize(("rule", "form", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, 13, 13, for_a_runtime(form, tmp_path))


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 49, 50, 4_194_303])
@pytest.mark.parametrize("op_type", ["Div", "Mod"])
def test_each_place_is_divided_as_an_integer(op_type: str, divisor: int, tmp_path: Path) -> None:
    before = model(
        f"g (float[400,400] x) => (int64[400] y) <int64 c = {{{divisor}}}> {{ p = ArgMax<axis = 1, keepdims = 0>(x) y = {op_type}(p, c) }}",
        13,
    )
    after = convert_version(before, 13, options=for_a_runtime(f"{op_type} of integers", tmp_path)).model
    expected = np.arange(400) // divisor if op_type == "Div" else np.arange(400) % divisor
    np.testing.assert_array_equal(run(after, {"x": np.eye(400, dtype=np.float32)})[0], expected)
    assert after.graph.node != before.graph.node


def test_the_largest_quotients_are_exact_as_floats() -> None:
    """The numbers beside multiples are those that a rounded quotient would miss."""
    divisors = np.array([3, 5, 7, 1023, 2047, 2048, 4095, 1_398_101, 4_194_303])
    for divisor in divisors:
        multiples = np.arange(0, 2**22, divisor)
        numbers = np.concatenate([multiples, multiples[1:] - 1])
        quotients = np.floor(numbers.astype(np.float32) / np.float32(divisor))
        np.testing.assert_array_equal(quotients, numbers // divisor)
