"""CenterCropPad below opset 18."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, run


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_sizes_of_both_types(kind):
    """onnxruntime itself takes int64 only."""
    text = f"g (float[4, 5] x) => (float[3, 7] y) <{kind}[2] s = {{3, 7}}> {{ y = CenterCropPad (x, s) }}"
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    (got,) = run(convert_version(model(text, 18), 17).model, {"x": x})
    np.testing.assert_array_equal(got, np.pad(x[:3], ((0, 0), (1, 1))))


REWRITES = [
    (
        "center_crop_pad.sizes_as_int64",
        18,
        13,
        "g (float[2,4,8] x) => (float[2,4,6] y) <int64[3] n = {2, 4, 6}> { y = CenterCropPad (x, n) }",
        "<int64[3] start_dims = {0, 0, 1}, int64[3] end_dims = {2, 4, 7}> { y = Slice (x, start_dims, end_dims) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
