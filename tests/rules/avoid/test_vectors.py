"""Values of one axis: beside other operands, joined with constants, and with their axis counted from the end."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model, run

from split_rewrite.rewriter import UnconvertibleError

BESIDE = "Vector beside a constant or more axes"
JOINED = "Concat of a vector and a constant"
COUNTED = "Negative axis of a vector"

STAYS = [
    (BESIDE, "g (float[3] x, float[3] w) => (float[3] y) { y = Mul(x, w) }"),
    (BESIDE, "g (float[3] x, float w) => (float[3] y) { y = Sub(w, x) }"),
    (BESIDE, "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}> { y = Mul(x, w) }"),
    (BESIDE, "g (float[2,3] x, float[4,2,3] w) => (float[4,2,3] y) { y = Mul(x, w) }"),
    (JOINED, "g (float[3] x, float[2] w) => (float[5] y) { y = Concat<axis = 0>(x, w) }"),
    (JOINED, "g (float[1,3] x) => (float[2,3] y) <float[1,3] w = {1, 2, 3}> { y = Concat<axis = 0>(x, w) }"),
    (COUNTED, "g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = -1>(x) }"),
    (COUNTED, "g (float[3] x) => (float[3] y) { y = Softmax<axis = 0>(x) }"),
    (COUNTED, "g (float[3] x) => (int64[1] y) { y = ArgMax(x) }"),
    (COUNTED, "g (float[3] x, int64 a) => (float[3] y) { y = CumSum(x, a) }"),
    (COUNTED, "g (float[2,3] x) => (float[2,3] y) <int64 a = {-1}> { y = CumSum(x, a) }"),
]

REWRITES = [
    (
        "vectors.with_two_axes",
        BESIDE,
        "g (float[N] x, float[2,3,N] w) => (float[2,3,N] y) { y = Sub(w, x) }",
        "<int64[2] a = {0, 1}> { m = Unsqueeze (x, a) y = Sub (w, m) }",
    ),
    (
        "vectors.with_two_axes",
        BESIDE,
        "g (float[N] x) => (float[N] y) <float c = {2}> { y = Mod<fmod = 1>(c, x) }",
        "<float c = {2}, int64[1] a = {0}> { m = Unsqueeze (x, a) r = Mod <fmod = 1> (c, m) y = Squeeze (r, a) }",
    ),
    (
        "vectors.with_two_axes",
        BESIDE,
        "g (bool[3] b, float[3] x, float[2,1] w) => (float[2,3] y) { y = Where(b, x, w) }",
        "<int64[1] a = {0}> { c = Unsqueeze (b, a) m = Unsqueeze (x, a) y = Where (c, m, w) }",
    ),
    (
        "vectors.joined_rows",
        JOINED,
        "g (float[N] x) => (float[M] y) <float[2] w = {1, 2}> { y = Concat<axis = -1>(w, x, w) }",
        "<float[1,2] w = {1, 2}, int64[1] a = {0}> { m = Unsqueeze (x, a) r = Concat <axis = 1> (w, m, w) y = Squeeze (r, a) }",
    ),
    (
        "vectors.only_axis",
        COUNTED,
        "g (float[3] x, int64[1] k) => (float[K] y, int64[K] i) { y, i = TopK(x, k) }",
        "{ y, i = TopK <axis = 0> (x, k) }",
    ),
    (
        "vectors.only_axis",
        COUNTED,
        "g (float[3] x) => (int64[1] y) { y = ArgMin<axis = -1>(x) }",
        "{ y = ArgMin <axis = 0> (x) }",
    ),
    (
        "vectors.only_axis",
        COUNTED,
        "g (float[3] x) => (float[3] y) <int32 a = {-1}> { y = CumSum(x, a) }",
        "<int32 b = {0}> { y = CumSum (x, b) }",
    ),
]


@pytest.mark.parametrize(("form", "text"), STAYS)
def test_stays(form: str, text: str, tmp_path: Path) -> None:
    before = model(text, 13)
    assert converted(before, form, tmp_path).graph.node == before.graph.node


def test_what_is_spread_by_attributes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UnconvertibleError, match=r"computes it wrongly .*: an operand has one axis\. Hint: choose a target opset from 7"
    ):
        converted(model("g (float[2,3] x, float[3] w) => (float[2,3] y) { y = Sub<broadcast = 1>(x, w) }", 6), BESIDE, tmp_path)


@pytest.mark.parametrize(("rule", "form", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, 13, 13, for_a_runtime(form, tmp_path))


@pytest.mark.parametrize(("shape", "op_type"), [*product([(1,), (3,), (2, 3), (2, 1, 3)], ["Add", "Sub", "Greater", "Pow", "Max"])])
def test_the_numbers_stay(shape: tuple[int, ...], op_type: str, tmp_path: Path) -> None:
    kind = "bool" if op_type == "Greater" else "float"
    dims = ",".join(map(str, shape))
    result = np.broadcast_shapes((3,), shape)
    text = f"g (float[3] x, float[{dims}] w) => ({kind}[{','.join(map(str, result))}] y) {{ y = {op_type}(x, w) }}"
    feeds = {"x": np.array([0.5, 2, 3], np.float32), "w": np.linspace(-1, 2, np.prod(shape)).reshape(shape).astype(np.float32)}
    after = converted(model(text, 13), BESIDE, tmp_path)
    np.testing.assert_array_equal(run(after, feeds)[0], run(model(text, 13), feeds)[0])


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_the_axis_that_is_left_out_is_the_last(opset: int, tmp_path: Path) -> None:
    before = model("g (float[3] x, int64[1] k) => (float[K] y, int64[K] i) { y, i = TopK(x, k) }", opset)
    (node,) = converted(before, COUNTED, tmp_path).graph.node
    assert [(attribute.name, attribute.i) for attribute in node.attribute] == [("axis", 0)]
