"""What is known of a value: an input that a caller may override decides nothing."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import convert_version, model, run

from split_rewrite.rewriter.errors import UnconvertibleError
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.storage.skeleton import Skeleton

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


def test_an_initializer_is_found_without_a_list_of_what_each_node_makes() -> None:
    source = model("g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {y = Add(x, c)}", 13)
    scope = Model(Skeleton.of(source), constants_as_initializers=True).main
    value = scope.constant("c")
    assert value is not None and value.tolist() == [1, 2]
    assert "producers" not in vars(scope)
