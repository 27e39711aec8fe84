"""AffineGrid below opset 20: homogeneous positions times theta."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal

RNG = np.random.default_rng(11)


def test_refuses_a_computed_size_of_any_rank():
    text = "g (float[1,R,S] t, int64[K] s) => (float[1,A,B,2] y) { y = AffineGrid (t, s) }"
    assert "the axis dimension 'R' of 't' is unknown" in refusal(model(text, 20), 19)


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("sizes", [(3, 5), (1, 4), (2, 3, 4)])
@pytest.mark.parametrize("target", [19, 11])
def test_a_computed_size(align_corners: int, sizes: tuple[int, ...], target: int) -> None:
    rank = len(sizes)
    text = (
        f"g (float[N,{rank},{rank + 1}] t, int64[{rank + 2}] s) => (float[{','.join('ABCDE'[: rank + 2])}] y) "
        f"{{ y = AffineGrid <align_corners={align_corners}> (t, s) }}"
    )
    feeds = {"t": RNG.normal(size=(2, rank, rank + 1)).astype(np.float32), "s": np.array([2, 3, *sizes])}
    assert_same(model(text, 20), target, feeds, rtol=1e-5, atol=1e-6)


def test_refuses_a_single_pixel_between_corners():
    text = "g (float[1,2,3] t) => (float[1,1,4,2] y) <int64[4] s = {1, 1, 1, 4}> { y = AffineGrid <align_corners=1> (t, s) }"
    assert "the position of a single pixel is not defined" in refusal(model(text, 20), 19)


@pytest.mark.parametrize("align_corners", [0, 1])
def test_affine_grid(align_corners):
    text = (
        f"g (float[2,2,3] t) => (float[2,4,5,2] y) <int64[4] s = {{2, 3, 4, 5}}> "
        f"{{ y = AffineGrid <align_corners={align_corners}> (t, s) }}"
    )
    assert_same(model(text, 20), 11, {"t": RNG.normal(size=(2, 2, 3)).astype(np.float32)}, rtol=1e-5, atol=1e-6)


def test_affine_grid_of_one_image_in_three_dimensions():
    text = "g (float[1,3,4] t) => (float[1,2,3,4,3] y) <int64[5] s = {1, 1, 2, 3, 4}> { y = AffineGrid (t, s) }"
    assert_same(model(text, 20), 13, {"t": RNG.normal(size=(1, 3, 4)).astype(np.float32)}, rtol=1e-5, atol=1e-6)


REWRITES = [
    (
        "affine_grid.transform_a_grid",
        20,
        19,
        "g (float[1,2,3] t) => (float[1,2,2,2] y) <int64[4] n = {1, 1, 2, 2}> { y = AffineGrid (t, n) }",
        """
            <float[3,4] grid = {-0.5, 0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 1, 1, 1, 1}, int64[4] form = {0, 2, 2, 2}>
            {
              moved = MatMul (t, grid)
              positions = Transpose <perm = [0, 2, 1]> (moved)
              y = Reshape (positions, form)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
