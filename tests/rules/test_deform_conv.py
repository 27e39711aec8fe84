"""DeformConv below opset 19: samples between pixels, then a convolution."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, run

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("mask, groups, offset_groups", [("", 1, 1), (", m", 2, 1), (", m", 1, 2), (", m", 2, 2)])
def test_deform_conv(mask, groups, offset_groups):
    text = (
        f"g (float[2,4,5,6] x, float[6,{4 // groups},2,2] w, float[2,{offset_groups * 8},4,5] o, float[6] b, "
        f"float[2,{offset_groups * 4},4,5] m) => (float[2,6,4,5] y) "
        f"{{ y = DeformConv <group={groups}, offset_group={offset_groups}> (x, w, o, b{mask}) }}"
    )
    proto = model(text, 19)
    given = {
        value.name: RNG.normal(size=[dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in proto.graph.input
    }
    assert_same(proto, 16, given, rtol=1e-4, atol=1e-4)


def test_positions_of_halves_are_computed_in_float():
    """The image is an identity as wide as 100 pixels: a position that is off by a hundredth of a pixel shows in the third digit."""
    proto = model(
        "g (float16[1,1,100,100] x, float16[1,1,1,1] w, float16[1,2,100,100] o) => (float16[1,1,100,100] y) { y = DeformConv (x, w, o) }",
        19,
    )
    given = {
        "x": np.eye(100, dtype=np.float16)[None, None],
        "w": np.ones((1, 1, 1, 1), np.float16),
        "o": RNG.choice([0, 0.25, -0.5], size=(1, 2, 100, 100)).astype(np.float16),
    }
    (got,), (expected,) = run(convert_version(proto, 18).model, given), run(proto, given)
    np.testing.assert_allclose(got.astype(np.float32), expected.astype(np.float32), rtol=0, atol=1e-3)


@pytest.mark.parametrize("far", [1e6, -1e6, 3e38, -3e38, np.inf, -np.inf, np.nan])
def test_positions_far_outside_are_zero(far):
    proto = model("g (float[1,1,3,3] x, float[1,1,2,2] w, float[1,8,2,2] o) => (float[1,1,2,2] y) { y = DeformConv (x, w, o) }", 19)
    offsets = np.zeros((1, 8, 2, 2), np.float32)
    offsets[0, 0, 0, 0] = far
    image = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
    (got,) = run(convert_version(proto, 18).model, {"x": image, "w": np.ones((1, 1, 2, 2), np.float32), "o": offsets})
    np.testing.assert_allclose(got[0, 0], [[2 + 4 + 5, 2 + 3 + 5 + 6], [4 + 5 + 7 + 8, 5 + 6 + 8 + 9]], rtol=1e-5)


REWRITES = [
    (
        "deform_conv.sample_then_multiply",
        19,
        18,
        "g (float[1,1,3,3] x, float[1,1,2,2] w, float[1,8,2,2] o) => (float[1,1,2,2] y) { y = DeformConv (x, w, o) }",
        """
            <int64[5] offsets = {1, 4, 2, 2, 2},
             float[4,2,2,2] base = {0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 2, 1, 2, 1, 1, 2, 2, 0, 1, 0, 1, 1, 1, 2, 2, 1, 2, 1, 2},
             float[2,1,1] first = {-2, -2}, float[2,1,1] end = {4, 4},
             float[2,1,1] scale = {0.6666667, 0.6666667}, float[2,1,1] shift = {-0.6666666, -0.6666666},
             int64[2] x_y = {1, 0}, int64[4] grid = {1, -1, 2, 2}, int64[4] taps = {1, 1, 4, 4}, int64[3] rows = {1, 1, 4},
             int64[4] form = {1, 1, 2, 2}>
            {
              offset = Reshape (o, offsets)
              moved = Add (offset, base)
              is_nan = IsNaN (moved)
              number = Where (is_nan, first, moved)
              raised = Max (number, first)
              limited = Min (raised, end)
              scaled = Mul (limited, scale)
              position = Add (scaled, shift)
              last = Transpose <perm = [0, 1, 3, 4, 2]> (position)
              x_y_2 = Gather <axis = 4> (last, x_y)
              grid_2 = Reshape (x_y_2, grid)
              sampled = GridSample <align_corners = 0, mode = "bilinear", padding_mode = "zeros"> (x, grid_2)
              sampled_2 = Reshape (sampled, taps)
              filters = Reshape (w, rows)
              product = MatMul (filters, sampled_2)
              y = Reshape (product, form)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
