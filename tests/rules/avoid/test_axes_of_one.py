"""Unsqueeze and Squeeze of an open shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model

from split_rewrite.rewriter import UnconvertibleError

FORM = "Unsqueeze or Squeeze of an open first axis"

STAYS = {
    "known": "g (float[2,3,4] x) => (float[2,1,3,4] y) <int64[1] a = {1}> { y = Unsqueeze(x, a) }",
    "another is open": "g (float[N,M,4] x) => (float[N,1,M,4] y) <int64[1] a = {1}> { y = Unsqueeze(x, a) }",
    "nothing would tell its length": "g (float[N,0,4] x) => (float[N,1,0,4] y) <int64[1] a = {1}> { y = Unsqueeze(x, a) }",
    "the first length is known": "g (float[1,N,4] x) => (float[N,4] y) <int64[1] a = {0}> { y = Squeeze(x, a) }",
    "axes of the run": "g (float[N,3,4] x, int64[1] a) => (float[A,B,3,4] y) { y = Unsqueeze(x, a) }",
}

REWRITES = [
    (
        "axes_of_one.reshape",
        "g (float[N,3,4] x) => (float[1,N,3,4,1] y) <int64[2] a = {-1, 0}> { y = Unsqueeze(x, a) }",
        "<int64[5] s = {1, -1, 3, 4, 1}> { y = Reshape (x, s) }",
    ),
    (
        "axes_of_one.reshape",
        "g (float[N,1,3,1] x) => (float[N,3] y) <int64[2] a = {-1, 1}> { y = Squeeze(x, a) }",
        "<int64[2] s = {-1, 3}> { y = Reshape (x, s) }",
    ),
]


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_stays(text: str, tmp_path: Path) -> None:
    assert [node.op_type for node in converted(model(text, 13), FORM, tmp_path).graph.node] == [
        text.split("y = ")[1].partition("(")[0]
    ]


def test_a_squeeze_of_all_axes_of_length_1_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnconvertibleError, match=r"Squeeze 'y' \(main graph\): .*the axis dimension 'N' of 'x' is unknown"):
        converted(model("g (float[N,3,1] x) => (float[N,3] y) { y = Squeeze(x) }", 13), FORM, tmp_path)


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, 13, 13, for_a_runtime(FORM, tmp_path))
