"""Splits with sizes or numbers of parts that no runtime can compute."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

TEXT = "g (float[6] x) => (float[A] a, float[B] b) {{ a, b = Split{}(x) }}"
SIZES = "g (float[6] x) => (float[A] a, float[B] b) <int64{} s = {}> {{ a, b = Split(x, s) }}"
INVALID = [
    (1, TEXT.format("<axis = 0, split = [2, 5]>"), "the sizes [2, 5] do not add up to the dimension 6"),
    (1, TEXT.format("<axis = 0>").replace("[6]", "[5]"), "a dimension of 5 does not divide into 2 equal parts"),
    (11, TEXT.format("<split = [-1, 7]>"), "split has negative sizes: [-1, 7]"),
    (13, SIZES.format("[3]", "{1, 2, 3}"), "split has 3 sizes and the node 2 outputs"),
    (
        13,
        "g (float[6] x, int64[0] s) => (float[A] a, float[B] b) { a, b = Split(x, s) }",
        "split has 0 sizes and the node 2 outputs",
    ),
    (13, SIZES.format("[1,2]", "{2, 4}"), "split must be 1-D and has rank 2"),
    (18, TEXT.format(""), "it has neither split nor num_outputs"),
    (18, SIZES.format("[2]", "{2, 4}").replace("(x, s)", "<num_outputs = 2>(x, s)"), "it has both split and num_outputs"),
    (18, TEXT.format("<num_outputs = 0>"), "num_outputs is 0"),
    (18, TEXT.format("<num_outputs = 1>"), "it has 2 outputs and num_outputs is 1"),
    (18, TEXT.format("<num_outputs = 5000>"), "num_outputs is 5000, and only 2 of the parts are outputs"),
]


@pytest.mark.parametrize(("opset", "text", "message"), INVALID)
def test_invalid(opset: int, text: str, message: str) -> None:
    assert f"(main graph) is invalid: {message}" in invalidity(model(text, opset), opset + 1)


@pytest.mark.parametrize(
    ("opset", "text"),
    [
        (1, TEXT.format("<axis = 0>")),
        (13, SIZES.format("[2]", "{6, 0}")),
        (18, TEXT.format("<num_outputs = 2>")),
        (13, "g (float[6] x, int64[2] s) => (float[A] a, float[B] b) { a, b = Split(x, s) }"),
        (13, "g (float[6] x, int64[k] s) => (float[A] a, float[B] b) { a, b = Split(x, s) }"),
    ],
)
def test_valid(opset: int, text: str) -> None:
    convert_version(model(text, opset), opset, compare="off")
