"""CastLike, OneHot, Compress, TensorScatter and Bernoulli below the opsets that brought them."""

import numpy as np
import pytest
from helpers import assert_same, convert_version, known, model, refusal, run


@pytest.mark.parametrize(
    "text, opset, target, reason",
    [
        pytest.param(
            "g (float[3] x, bool[C] c) => (float[N] y) { y = Compress (x, c) }",
            9,
            8,
            "the shape (C) of 'c' is not fully known",
            id="kept",
        ),
        pytest.param(
            "g (int64[3] i, int64 d, float[2] v) => (float[3,N] y) { y = OneHot (i, d, v) }",
            9,
            8,
            "the depth 'd' is computed",
            id="depth",
        ),
    ],
)
def test_refused(text, opset, target, reason):
    assert reason in refusal(model(text, opset), target)


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("int64", np.int64), ("bool", np.bool_)])
def test_cast_like(kind, dtype):
    text = f"g (int32[3] x, {kind}[1] t) => ({kind}[3] y) {{ y = CastLike (x, t) }}"
    assert_same(model(text, 15), 9, {"x": np.array([0, 1, -5], np.int32), "t": np.zeros(1, dtype)})


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis):
    text = f"g (int64[2,3] i, float[2] v) => (float[A,B,C] y) <int64 d = {{4}}> {{ y = OneHot <axis={axis}> (i, d, v) }}"
    given = {"i": np.array([[0, 1, 2], [3, 9, 1]]), "v": np.array([-0.5, np.inf], np.float32)}
    assert_same(model(text, 9), 7, given)


@pytest.mark.parametrize("attribute", ["", "<axis=1>"])
def test_compress(attribute):
    rank = "[A,B]" if attribute else "[A]"
    text = f"g (float[2,3] x) => (float{rank} y) <bool[3] c = {{0, 1, 1}}> {{ y = Compress {attribute} (x, c) }}"
    assert_same(model(text, 9), 8, {"x": np.arange(6, dtype=np.float32).reshape(2, 3)})


@pytest.mark.skipif(not known(24), reason="onnx has no opset 24")
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


def test_bernoulli_draws_one_with_the_probability_of_the_input():
    text = "g (float[1000] p) => (float[1000] y) { y = Bernoulli (p) }"
    result = convert_version(model(text, 15), 13).model
    for probability in (0.0, 0.1, 1.0):
        drawn = run(result, {"p": np.full(1000, probability, np.float32)})[0]
        assert abs(drawn.mean() - probability) < 0.06
