"""What is known of a value: an input that a caller may override decides nothing."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import convert_version, model, run

from split_rewrite.rewriter.errors import UnconvertibleError

DEFAULTS = {
    "sizes-of-an-image": (
        'y = Resize<coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor">(x, , , s)',
        19,
        9,
        [1, 1, 2, 8],
    ),
    "a-shape-and-the-parts-of-it": ("v = Reshape(x, s) y, z = Split<axis = 3, num_outputs = 2>(v)", 18, 13, [1, 1, 2, 8]),
    "a-shape-and-what-is-normalized": ("v = Reshape(x, s) y = Softmax<axis = 1>(v)", 13, 11, [1, 4, 2, 2]),
    "repeats": ("v = Tile(x, s) y, z = Split<axis = 2, num_outputs = 2>(v)", 18, 9, [1, 2, 2, 3]),
    "a-size-to-fill": ("v = ConstantOfShape(s) w = Add(v, x) y = CumSum(w, two)", 14, 9, [2, 1, 1, 1]),
}


@pytest.mark.parametrize(("nodes", "opset", "target", "given"), DEFAULTS.values(), ids=DEFAULTS)
def test_what_a_caller_may_override_decides_nothing(nodes: str, opset: int, target: int, given: list[int]) -> None:
    """Shape inference takes the default of an input for its value."""
    text = (
        f"g (float[1, 1, 4, 4] x, int64[4] s) => (float[a, b, c, d] y) <int64[4] s = {{1, 1, 4, 4}}, int64 two = {{2}}> {{{nodes}}}"
    )
    source = model(text, opset)
    inputs = {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), "s": np.array(given)}
    try:
        result = convert_version(source, target, compare="off").model
    except UnconvertibleError as refusal:
        assert "run time" in str(refusal) or "unknown" in str(refusal) or "overridden" in str(refusal)
        return
    np.testing.assert_allclose(run(result, inputs)[0], run(source, inputs)[0], rtol=1e-6)
