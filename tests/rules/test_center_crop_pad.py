"""CenterCropPad below opset 18."""

import numpy as np
import pytest
from helpers import convert_version, model, run


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_sizes_of_both_types(kind):
    """onnxruntime itself takes int64 only."""
    text = f"g (float[4, 5] x) => (float[3, 7] y) <{kind}[2] s = {{3, 7}}> {{ y = CenterCropPad (x, s) }}"
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    (got,) = run(convert_version(model(text, 18), 17).model, {"x": x})
    np.testing.assert_array_equal(got, np.pad(x[:3], ((0, 0), (1, 1))))
