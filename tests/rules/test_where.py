"""Where below opset 9: a Gather from both, so every bit of the data stays."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

RNG = np.random.default_rng(7)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], np.float32)


def test_refuses_an_unknown_rank():
    text = "g (bool[2] c, float[N] d, int64[K] s, float[2] y) => (float[A,B] z) { x = Reshape (d, s)  z = Where (c, x, y) }"
    assert "the rank of 'x' is unknown" in refusal(model(text, 9), 8)


@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param(((5,), (5,), (5,)), id="equal"),
        pytest.param(((2, 1, 5), (3, 1), (1,)), id="all broadcast"),
        pytest.param(((1,), (2, 5), (2, 5)), id="one condition"),
        pytest.param(((2, 0), (2, 1), (1,)), id="nothing"),
        pytest.param(((1,), (0,), (3, 0)), id="of nothing"),
        pytest.param(((3, 1, 1), (), (4, 1)), id="a scalar"),
        pytest.param(((3, 1), (2,), (1,)), id="one element"),
        pytest.param(((3,), (3,), (1, 1)), id="one element with more axes"),
    ],
)
@pytest.mark.parametrize("are_known", [True, False], ids=["known", "at run time"])
@pytest.mark.parametrize("target", [8, 7])
def test_shapes(shapes, are_known, target):
    letters = iter("DEFGHIJKL")
    dims = [",".join(str(dim) if are_known else next(letters) for dim in shape) for shape in shapes]
    c, x, y = (f"[{text}]" if text else "" for text in dims)
    out = ",".join("ABC"[: max(map(len, shapes))])
    proto = model(f"g (bool{c} c, float{x} x, float{y} y) => (float[{out}] z) {{ z = Where (c, x, y) }}", 9)
    given = {"c": RNG.random(shapes[0]) < 0.5, "x": np.resize(SPECIAL, shapes[1]), "y": np.resize(SPECIAL[::-1], shapes[2])}
    assert_same(proto, target, given)


@pytest.mark.parametrize(
    ("kind", "number", "a"),
    [
        ("string", "b", np.array(["p", "q", "r"], object)),
        ("int64", 9007199254740993, np.array([1, 2, 3])),
        ("bool", True, np.array([False, True, False])),
        ("uint8", 3, np.array([0, 1, 255], np.uint8)),
    ],
)
def test_one_element_of_a_type_that_constants_did_not_have_first(kind, number, a):
    literal = f'"{number}"' if kind == "string" else int(number)
    text = f"g (bool[3] c, {kind}[3] a) => ({kind}[3] y) <{kind} b = {{{literal}}}> {{ y = Where (c, a, b) }}"
    result = convert_version(model(text, 9), 8).model
    assert run(result, {"c": np.array([True, False, True]), "a": a})[0].tolist() == [a[0], number, a[2]]


REWRITES = [
    (
        "where.gather_from_both",
        9,
        8,
        "g (bool[2] c, float[2] a, float[2] b) => (float[2] y) { y = Where (c, a, b) }",
        """{
        v1 = Concat <axis = 0> (a, b)
        v2 = Constant <value = double[2] {-2,-2}> ()
        v3 = Cast <to = 7> (v2)
        v4 = Constant <value = double[2] {2,3}> ()
        v5 = Cast <to = 7> (v4)
        v6 = Cast <to = 7> (c)
        v7 = Mul (v6, v3)
        v8 = Add (v7, v5)
        y = Gather <axis = 0> (v1, v8)
        }""",
    ),
    (
        "where.gather_from_both",
        9,
        8,
        "g (float[2] a, float b) => (float[2] y) <bool[2] c = {1, 0}> { y = Where (c, a, b) }",
        """{
        v1 = Constant <value = double[1] {-1}> ()
        v2 = Cast <to = 7> (v1)
        v3 = Reshape (b, v2)
        v4 = Concat <axis = 0> (v3, a)
        v5 = Constant <value = double[2] {1,0}> ()
        v6 = Cast <to = 7> (v5)
        y = Gather <axis = 0> (v4, v6)
        }""",
    ),
    (
        "where.gather_from_both",
        9,
        8,
        "g (bool[2] c, float[2] a) => (float[2] y) <float b = {5}> { y = Where (c, a, b) }",
        """{
        v1 = Constant <value = float[1] {5}> ()
        v2 = Concat <axis = 0> (v1, a)
        v3 = Constant <value = double[2] {1,2}> ()
        v4 = Cast <to = 7> (v3)
        v5 = Cast <to = 7> (c)
        v6 = Mul (v5, v4)
        y = Gather <axis = 0> (v2, v6)
        }""",
    ),
    (
        "where.gather_from_both",
        9,
        8,
        "g (bool[2] c, float[1] a, float[2] b) => (float[2] y) { y = Where (c, a, b) }",
        """{
        v1 = Concat <axis = 0> (a, b)
        v2 = Not (c)
        v3 = Constant <value = double[2] {1,2}> ()
        v4 = Cast <to = 7> (v3)
        v5 = Cast <to = 7> (v2)
        v6 = Mul (v5, v4)
        y = Gather <axis = 0> (v1, v6)
        }""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
