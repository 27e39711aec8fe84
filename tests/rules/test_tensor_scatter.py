"""TensorScatter below opset 24."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, known, model, refusal, run

SINCE_24 = pytest.mark.skipif(not known(24), reason="onnx has no opset 24")


@SINCE_24
def test_refuses_what_older_operators_do_not_scatter():
    text = "g (int4[1, 4, 3] c, int4[1, 2, 3] u) => (int4[1, 4, 3] y) { y = TensorScatter (c, u) }"
    assert "TensorScatter of int4, which ScatterElements does not take" in refusal(model(text, 24, ir_version=11), 23)


@SINCE_24
@pytest.mark.parametrize("mode, starts", [("linear", [1, 2]), ("circular", [3, 5])])
@pytest.mark.parametrize("dims", ["2,3,4,2", "B,H,S,D"])
def test_tensor_scatter(mode, starts, dims):
    text = (
        f'g (float[{dims}] p, float[2,3,2,2] u, int64[2] w) => (float[{dims}] y) {{ y = TensorScatter <mode="{mode}"> (p, u, w) }}'
    )
    past, update = np.zeros((2, 3, 4, 2), np.float32), np.arange(1, 25, dtype=np.float32).reshape(2, 3, 2, 2)
    expected = past.copy()
    for batch in range(2):
        for step in range(2):
            expected[batch, :, (starts[batch] + step) % 4] = update[batch, :, step]
    got = run(convert_version(model(text, 24), 13).model, {"p": past, "u": update, "w": np.array(starts)})[0]
    np.testing.assert_array_equal(got, expected)


REWRITES = [
    (
        "tensor_scatter.scatter_along_the_sequence",
        24,
        23,
        "g (float[1,4,2] x, float[1,2,2] u, int64[1] i) => (float[1,4,2] y) { y = TensorScatter (x, u, i) }",
        """
            <int64[3] form = {-1, 1, 1}, int64[1,2,1] places = {0, 1}, int64[3] shape = {1, 2, 2}>
            {
              starts = Reshape (i, form)
              places_2 = Add (starts, places)
              places_3 = Expand (places_2, shape)
              y = ScatterElements <axis = 1> (x, places_3, u)
            }
        """,
    ),
    (
        "tensor_scatter.scatter_along_the_sequence",
        24,
        23,
        "g (float[1,4,2] x, float[1,1,2] u, int64[1] i) => (float[1,4,2] y) { y = TensorScatter (x, u, i) }",
        """
            <int64[3] form = {-1, 1, 1}, int64[3] shape = {1, 1, 2}>
            {
              starts = Reshape (i, form)
              places = Expand (starts, shape)
              y = ScatterElements <axis = 1> (x, places, u)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
