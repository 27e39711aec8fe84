"""Expand below opset 8."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)


def test_refuses_a_shape_of_unknown_length():
    text = "g (float[N] x, int64[K] s) => (float y) { y = Expand (x, s) }"
    assert "the length of the shape 's' is unknown" in refusal(model(text, 8), 7)


@pytest.mark.parametrize(
    "shape, sizes",
    [
        pytest.param((3, 1), [2, 1, 4], id="more axes"),
        pytest.param((2, 3, 1), [3, 4], id="fewer axes"),
        pytest.param((2, 1), [1, 3], id="ones keep"),
        pytest.param((1,), [0], id="to nothing"),
        pytest.param((0, 1), [1, 5], id="of nothing"),
        pytest.param((), [2, 2], id="of a scalar"),
        pytest.param((), [], id="scalar to scalar"),
    ],
)
@pytest.mark.parametrize("is_constant", [False, True])
def test_shapes(shape, sizes, is_constant):
    x = np.resize(SPECIAL, shape)
    dims = ",".join(map(str, shape))
    out = "".join(f"[{','.join('ABCD'[: max(len(shape), len(sizes))])}]" if shape or sizes else "")
    data = f"float[{dims}]" if shape else "float"
    given, stored = f", int64[{len(sizes)}] s", f"<int64[{len(sizes)}] s = {{{', '.join(map(str, sizes))}}}>"
    text = f"g ({data} x{'' if is_constant else given}) => (float{out} y) {stored if is_constant else ''} {{ y = Expand (x, s) }}"
    result = convert_version(model(text, 13), 7).model
    got = run(result, {"x": x} | ({} if is_constant else {"s": np.array(sizes, np.int64)}))[0]
    np.testing.assert_array_equal(got, x * np.ones(sizes, np.float32))
    assert got.shape == np.broadcast_shapes(shape, tuple(sizes))


def test_a_shape_that_is_a_matrix_is_taken_as_onnxruntime_takes_it():
    text = "g (float[3,1] x) => (float[A,B] y) <int64[1,2] s = {3, 4}> { y = Expand (x, s) }"
    x = np.float32([[1], [np.nan], [-0.0]])
    for target in (11, 7):
        np.testing.assert_array_equal(run(convert_version(model(text, 13), target).model, {"x": x})[0], np.tile(x, 4))


REWRITES = [
    (
        "expand.shape_as_vector",
        13,
        12,
        "g (float[3,1] x) => (float[A,B] y) <int64[1,2] s = {3, 4}> { y = Expand (x, s) }",
        "<int64[2] v = {3, 4}> { y = Expand (x, v) }",
    ),
    (
        "expand.tile_dimensions_of_one",
        8,
        7,
        "g (float[3,1] x) => (float[3,4] y) <int64[2] s = {3, 4}> { y = Expand (x, s) }",
        """
            {
              repeats_double = Constant <value = double[2] {1, 4}> ()
              repeats = Cast <to = 7> (repeats_double)
              y = Tile (x, repeats)
            }
        """,
    ),
    (
        "expand.tile_dimensions_of_one",
        8,
        7,
        "g (float[3,1] x, int64[2] s) => (float[A,B] y) { y = Expand (x, s) }",
        """
            {
              one_double = Constant <value = double[1] {1}> ()
              one = Cast <to = 7> (one_double)
              dims = Shape (x)
              is_one = Equal (dims, one)
              is_one_2 = Cast <to = 7> (is_one)
              more = Sub (s, one)
              more_2 = Mul (is_one_2, more)
              repeats = Add (more_2, one)
              y = Tile (x, repeats)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
