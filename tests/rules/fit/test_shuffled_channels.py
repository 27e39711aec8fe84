"""Channels that change places, for lists without Transpose: what is written, and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from fitting import Row, assert_fits, refused_for
from helpers import model

SHUFFLE = (
    "g (float[2,6,4,3] x) => (float[2,6,4,3] y) <int64[5] a = {2,2,3,4,3}, int64[4] b = {2,6,4,3}> "
    "{ p = Reshape (x, a) q = Transpose <perm = [0,2,1,3,4]> (p) y = Reshape (q, b) }"
)
REWRITES = [
    (
        "shuffled_channels.gathered_channels",
        ["Gather"],
        "",
        SHUFFLE,
        "<int64[6] places = {0,3,1,4,2,5}> { y = Gather <axis = 1> (x, places) }",
    ),
    (
        "shuffled_channels.chosen_channels",
        ["Conv"],
        "",
        SHUFFLE,
        """
            <float[6,6,1,1] w = {1,0,0,0,0,0, 0,0,0,1,0,0, 0,1,0,0,0,0, 0,0,0,0,1,0, 0,0,1,0,0,0, 0,0,0,0,0,1}>
            { y = Conv <kernel_shape = [1,1]> (x, w) }
        """,
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


REFUSED = {
    "the shape changes": SHUFFLE.replace("float[2,6,4,3] y", "float[2,6,12] y").replace(
        "int64[4] b = {2,6,4,3}", "int64[3] b = {2,6,12}"
    ),
    "two axes change places": SHUFFLE.replace("{2,2,3,4,3}", "{2,6,2,2,3}"),
    "the value between is an output": SHUFFLE.replace("float[2,6,4,3] y)", "float[2,6,4,3] y, float[2,3,2,4,3] q)"),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=list(REFUSED))
def test_refused(text: str, tmp_path: Path) -> None:
    assert "Transpose" in refused_for(tmp_path, ["Gather"], model(text, 13))
