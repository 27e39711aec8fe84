"""Rules that count out numbers, over dimensions that are declared and cannot be: refused, in no time and no memory."""

from __future__ import annotations

import helpers
import numpy as np
import pytest

from split_rewrite.rewriter import check_convertible
from split_rewrite.rewriter.errors import Unconvertible
from split_rewrite.rules.shared.tables import MOST_NUMBERS, arange, index_grid

HUGE = {
    "pixels-of-an-image": (
        "(float[1,{n},{n}] x) => (float[A,B,C,D] y) <int64[2] s = {{{n},{n}}}, int64[2] b = {{1,{n}}}> {{y = Col2Im(x, s, b)}}",
        18,
        17,
    ),
    "places-to-unpool-to": (
        "(float[1,1,{n},{n}] x, int64[1,1,{n},{n}] i) => (float[A,B,C,D] y) {{y = MaxUnpool<kernel_shape = [2,2], strides = [2,2]>(x, i)}}",
        11,
        7,
    ),
    "windows": ("(float[1,1,{n},{n}] x) => (float[A,B,C,D] y) {{y = MaxPool<kernel_shape = [2,2], dilations = [2,2]>(x)}}", 12, 7),
    "elements-to-tell-apart": ("(float[{n}] x) => (float[A] y) {{y = Unique(x)}}", 11, 10),
    "positions-in-a-sequence": ("(float[{n},{n}] x, int64[{n}] l) => (float[A,B] y) {{y = ReverseSequence(x, l)}}", 10, 9),
    "places-on-a-diagonal": ('(float[{n},{n}] x) => (float[A] y) {{y = Einsum<equation = "ii->i">(x)}}', 12, 11),
    "boxes": (
        "(float[1,{n},4] b, float[1,1,{n}] s, int64 m, float i, float t) => (int64[A,3] y) {{y = NonMaxSuppression(b, s, m, i, t)}}",
        11,
        7,
    ),
    "offsets-of-a-kernel": (
        "(float[1,1,{n},{n}] x, float[1,1,3,3] w, float[1,18,{n},{n}] o) => (float[A,B,C,D] y) {{y = DeformConv<pads = [1,1,1,1]>(x, w, o)}}",
        19,
        18,
    ),
    "ones-of-an-eye": ("(float[{n},{n}] x) => (float[A,B] y) {{y = EyeLike(x)}}", 9, 8),
    "pixels-inside": (
        '(float[1,1,7,{n}] x) => (float[A,B,C,D] y) <float[8] r = {{0, 0, 0, 0, 1, 1, 2, 2}}, int64[4] s = {{1, 1, {n}, 5}}> {{y = Resize<coordinate_transformation_mode = "tf_crop_and_resize">(x, r, , s)}}',
        13,
        10,
    ),
}


@pytest.mark.parametrize("dimension", [2**28, 2**31])
@pytest.mark.parametrize("case", HUGE)
def test_a_table_that_no_model_should_hold_is_refused(case: str, dimension: int) -> None:
    text, opset, target = HUGE[case]
    blockers = check_convertible(helpers.model(f"g {text.format(n=dimension)}", opset), target).blockers
    assert any("elements would have to be written into the model as a constant" in blocker.reason for blocker in blockers), blockers


def test_counts_as_numpy_does_up_to_a_size() -> None:
    np.testing.assert_array_equal(arange(5), np.arange(5))
    np.testing.assert_array_equal(arange(2, 9, 3), np.arange(2, 9, 3))
    np.testing.assert_array_equal(arange(3, 0, -1), np.arange(3, 0, -1))
    np.testing.assert_array_equal(index_grid((2, 3)), np.indices((2, 3)))
    assert arange(MOST_NUMBERS).size == MOST_NUMBERS
    for too_many in (
        lambda: arange(MOST_NUMBERS + 1),
        lambda: arange(0, -2 * MOST_NUMBERS, -1),
        lambda: index_grid((MOST_NUMBERS, 2)),
    ):
        with pytest.raises(Unconvertible, match="would have to be written"):
            too_many()
