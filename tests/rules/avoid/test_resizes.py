"""The rules that avoid forms of Resize, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model

from split_rewrite.rewriter import UnconvertibleError

REWRITES = [
    (
        "resizes.gather_nearest",
        "Resize to the nearest, half_pixel, ceil",
        13,
        'g (float[2,3] x) => (float[2,6] y) <int64[2] s = {2, 6}> { y = Resize<nearest_mode = "ceil">(x, , , s) }',
        "<int64[6] indices = {0, 1, 1, 2, 2, 2}> { y = Gather <axis = 1> (x, indices) }",
    ),
    (
        "resizes.gather_cubic",
        "Resize cubic, align_corners",
        13,
        """g (float[1,2] x) => (float[1,3] y) <int64[2] s = {1, 3}> {
            y = Resize<mode = "cubic", coordinate_transformation_mode = "align_corners">(x, , , s)
        }""",
        """
            <int64[3] before = {0, 0, 0}, float[1,3] outer = {0, -0.09375, 0}, int64[3] left = {0, 0, 1},
             float[1,3] most = {1, 0.59375, 1}, int64[3] right = {1, 1, 1}, float[1,3] inner = {0, 0.59375, 0}>
            {
              a = Gather <axis = 1> (x, before) weighed_a = Mul (a, outer)
              b = Gather <axis = 1> (x, left) weighed_b = Mul (b, most)
              c = Gather <axis = 1> (x, right) weighed_c = Mul (c, inner)
              weighed_d = Mul (c, outer)
              ab = Add (weighed_a, weighed_b) abc = Add (ab, weighed_c) y = Add (abc, weighed_d)
            }
        """,
    ),
    (
        "resizes.filter_by_gathers",
        "Resize with antialias",
        18,
        """g (float[1,2] x) => (float[1,1] y) <int64[2] s = {1, 1}> {
            y = Resize<mode = "linear", antialias = 1>(x, , , s)
        }""",
        """
            <int64[1] left = {0}, float[1,1] less = {0.125}, float[1,1] more = {0.375}, int64[1] right = {1}>
            {
              a = Gather <axis = 1> (x, left) outer_a = Mul (a, less) inner_a = Mul (a, more)
              b = Gather <axis = 1> (x, right) inner_b = Mul (b, more) outer_b = Mul (b, less)
              both = Add (outer_a, inner_a) three = Add (both, inner_b) y = Add (three, outer_b)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


@pytest.mark.parametrize(
    ("shape", "attributes", "opset", "message"),
    [
        ("2,3", "exclude_outside = 1", 13, "exclude_outside=1 has no meaning in mode nearest, and onnxruntime refuses it"),
        ("N,M", "exclude_outside = 0", 12, "scales has 0 entries for 2 axes"),
    ],
)
def test_refused(shape: str, attributes: str, opset: int, message: str, tmp_path: Path) -> None:
    inputs = "x, , s" if opset == 13 else "x, none, none"
    how = f'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor", {attributes}'
    text = f"g (float[{shape}] x) => (float[A,B] y) <float[2] s = {{1, 2}}, float[0] none = {{}}> {{ y = Resize<{how}>({inputs}) }}"
    with pytest.raises(UnconvertibleError, match=message):
        converted(model(text, opset), "Resize to the nearest, asymmetric, floor", tmp_path)
