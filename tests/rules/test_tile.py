"""Tile: one axis in opset 1, all axes from 6 on."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("text", "opset", "target", "message"),
    [
        pytest.param(
            "g (float[2, 3] x, float t) => (float[A, B] y) <float a = {1}> { y = Tile (x, t, a) }",
            *(5, 6, "the older form needs tiles as a constant, and 't' is computed at run time"),
            id="computed_tiles",
        ),
        pytest.param(
            "g (float[2, 3] x) => (float[A, B] y) <float t = {1.5}, float a = {1}> { y = Tile (x, t, a) }",
            *(5, 6, "tiles 't' is not a whole number"),
            id="half_a_copy",
        ),
        pytest.param(
            "g (float[2, 3] x, int64[2] r) => (float[A, B] y) { y = Tile (x, r) }",
            *(6, 5, "the older form needs the repeats as a constant, and 'r' is computed at run time"),
            id="computed_repeats",
        ),
    ],
)
def test_refused(text: str, opset: int, target: int, message: str) -> None:
    assert message in refusal(model(text, opset, ir_version=4), target)


def test_one_axis() -> None:
    proto = model(
        "g (float[2, 3] x) => (float[2, 9] y) <float t = {3}, float a = {1}> { y = Tile (x, t, a) }", opset=5, ir_version=4
    )
    np.testing.assert_array_equal(run(convert_version(proto, 13).model, {"x": X})[0], np.tile(X, (1, 3)))


@pytest.mark.parametrize("repeats", [(3, 1), (1, 2), (1, 1)])
def test_all_axes_there_and_back(repeats: tuple[int, int]) -> None:
    text = f"g (float[2, 3] x) => (float[A, B] y) <int64[2] r = {{{repeats[0]}, {repeats[1]}}}> {{ y = Tile (x, r) }}"
    old = convert_version(model(text, opset=13), 5).model
    assert [node.op_type for node in old.graph.node if node.op_type == "Tile"] == ["Tile"] * sum(r != 1 for r in repeats)
    np.testing.assert_array_equal(run(convert_version(old, 13).model, {"x": X})[0], np.tile(X, repeats))


def test_refuses_integers_below_6() -> None:
    text = "g (int64[2] x) => (int64[4] y) <int64[1] r = {2}> {y = Tile(x, r)}"
    assert "floating-point numbers only" in refusal(model(text, 16), 4)


def test_refuses_an_axis_that_there_is_not() -> None:
    proto = model("g (float[2] x) => (float[4] y) <float[1] n = {2}, float[1] a = {1}> {y = Tile(x, n, a)}", 1)
    assert "axis=1 is out of range for rank 1" in refusal(proto, 6)


REWRITES = [
    (
        "tile.repeats_for_all_axes",
        5,
        6,
        "g (float[2,3] x) => (float[2,6] y) <float n = {2}, float a = {1}> { y = Tile (x, n, a) }",
        "<int64[2] v1 = {1, 2}> { y = Tile (x, v1) }",
    ),
    (
        "tile.tile_axis_by_axis",
        6,
        5,
        "g (float[2,3] x) => (float[4,9] y) <int64[2] r = {2, 3}> { y = Tile (x, r) }",
        """
            {
              tiles = Constant <value = float {2}> ()
              axis = Constant <value = float {0}> ()
              tiled0 = Tile (x, tiles, axis)
              tiles_2 = Constant <value = float {3}> ()
              axis_2 = Constant <value = float {1}> ()
              y = Tile (tiled0, tiles_2, axis_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
