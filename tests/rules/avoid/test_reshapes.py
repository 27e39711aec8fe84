"""Reshape of an open shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import converted
from helpers import model

from split_rewrite.rewriter import UnconvertibleError

FORM = "Reshape of an open first axis to lengths for another"


def reshape(shape: str, lengths: list[int]) -> str:
    wanted = f"int64[{len(lengths)}] s = {{{', '.join(map(str, lengths))}}}"
    return (
        f"g (float[{shape}] x) => (float[{', '.join('abcdef'[: len(lengths)])}] y) <{wanted}> {{ r = Relu(x) y = Reshape(r, s) }}"
    )


@pytest.mark.parametrize(
    ("shape", "lengths", "needed"),
    [
        ("N,6,4", [2, 3, 2, 4], "2"),
        ("N,6,4", [2, 24], "2"),
        ("N,6,4", [36], "another one than 1"),
        ("N,6,4", [16, -1], "another one than 1"),
        ("N", [2, 3], "6"),
    ],
)
def test_refused(shape: str, lengths: list[int], needed: str, tmp_path: Path) -> None:
    shown = "×".join(map(str, lengths))
    hint = rf"Hint: .*--overwrite-input-shape x:{shape}"
    with pytest.raises(UnconvertibleError, match=rf"Reshape 'y' .*the lengths {shown} need a first length of {needed}\. {hint}"):
        converted(model(reshape(shape, lengths), 13), FORM, tmp_path)


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [
        ("N,6,4", [1, 3, 8]),
        ("N,6,4", [2, -1]),
        ("N,6,4", [-1, 3, 8]),
        ("N,6,4", [0, 24]),
        ("N,6,M", [2, 6, 4]),
        ("2,6,4", [48]),
        ("N,0,4", [2, 0]),
    ],
)
def test_stays(shape: str, lengths: list[int], tmp_path: Path) -> None:
    assert [node.op_type for node in converted(model(reshape(shape, lengths), 13), FORM, tmp_path).graph.node] == [
        "Relu",
        "Reshape",
    ]
