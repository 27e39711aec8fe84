"""Nodes of few dimensions for runtimes of images, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import Row, assert_fits, for_a_list, same_as_written
from helpers import model

from split_rewrite import rewriter

FOUR = "[[rule]]\noperators = ['{}']\nrank = {{ '*' = 4 }}"

REWRITES = [
    (
        "more_axes.elementwise",
        ["Add", "Reshape"],
        FOUR.format("Add"),
        "g (float[2,3] x, float[3] z) => (float[2,3] y) { y = Add(x, z) }",
        """
            <int64[4] v1 = {1,1,2,3}, int64[4] v2 = {1,1,1,3}, int64[2] v3 = {2,3}>
            { first = Reshape (x, v1) second = Reshape (z, v2) sum = Add (first, second) y = Reshape (sum, v3) }
        """,
    ),
    (
        "more_axes.along_one_axis",
        ["Softmax", "Reshape"],
        FOUR.format("Softmax"),
        "g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 0>(x) }",
        """
            <int64[4] v1 = {1,1,2,3}, int64[2] v2 = {2,3}>
            { wide = Reshape (x, v1) soft = Softmax <axis = 2> (wide) y = Reshape (soft, v2) }
        """,
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


@pytest.mark.parametrize(
    ("op", "text"),
    [
        ("Relu", "g (float x) => (float y) { y = Relu(x) }"),
        ("Relu", "g (float[2,0] x) => (float[2,0] y) { y = Relu(x) }"),
    ],
    ids=["a scalar", "no elements"],
)
def test_what_has_no_other_form(op: str, text: str, tmp_path: Path) -> None:
    options = for_a_list(tmp_path, [op, "Reshape"], FOUR.format(op))
    with pytest.raises(rewriter.UnconvertibleError, match="NPU 1 does not allow it"):
        rewriter.convert_version(model(text, 13), 13, options=options)


def test_below_opset_13_a_softmax_of_one_axis_of_several_stays(tmp_path: Path) -> None:
    options = for_a_list(tmp_path, ["Softmax", "Reshape"], FOUR.format("Softmax"))
    text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }"
    with pytest.raises(rewriter.UnconvertibleError, match="NPU 1 does not allow it"):
        rewriter.convert_version(model(text, 12), 12, options=options)


@pytest.mark.parametrize("axis", [-2, -1, 0, 1])
def test_parts_and_what_is_joined(axis: int, tmp_path: Path) -> None:
    shape = "2,4" if axis % 2 else "4,2"
    text = f"""g (float[4,4] x) => (float[{shape}] a, float[4,4] y) {{
        {"b, a" if axis % 2 else "a, b"} = Split<axis = {axis}>(x) y = Concat<axis = {axis}>(b, a) }}"""
    text = text.replace("float[2,4] a" if axis % 2 else "float[4,2] a", "float[4,2] a" if axis % 2 else "float[2,4] a")
    rules = FOUR.format("Split").replace("'*'", "input") + "\n" + FOUR.format("Concat").replace("'*'", "concat_result")
    written = same_as_written(
        tmp_path, ["Split", "Concat", "Reshape"], text, {"x": np.arange(16, dtype=np.float32).reshape(4, 4)}, rules
    )
    assert {"Split", "Concat", "Reshape"} == set(written)


def test_the_axis_that_concat_has_below_opset_4(tmp_path: Path) -> None:
    """No runtime runs it. The rows have to stay rows."""
    rules = "[[rule]]\noperators = ['Concat']\nrank = { '*' = 4 }\ndim = { N = [1] }"
    options = for_a_list(tmp_path, ["Concat", "Reshape"], rules)
    proto = model("g (float[3,3] x, float[3,3] z) => (float[3,6] y) { y = Concat(x, z) }", 3, 3)
    result = rewriter.convert_version(proto, 3, options=options).model
    (joined,) = (node for node in result.graph.node if node.op_type == "Concat")
    assert [attribute.i for attribute in joined.attribute] == [3]
