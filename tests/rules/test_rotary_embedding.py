"""RotaryEmbedding below opset 23."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, run

from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 23, reason="the installed onnx has no RotaryEmbedding")

RNG = np.random.default_rng(4)
X = RNG.normal(size=(2, 3, 5, 8)).astype(np.float32)
ANGLES = RNG.normal(size=(20, 4)).astype(np.float32)
PLACES = RNG.integers(0, 20, (2, 5))


def expected(x, angles, interleaved=False, turned=8):
    """`x` [batch, heads, length, size] with each pair as a complex number, times exp(i angle); angles [batch, length, turned / 2]."""
    x = x.astype(np.float64)
    part = x[..., :turned]
    first, second = (part[..., 0::2], part[..., 1::2]) if interleaved else np.split(part, 2, axis=-1)
    product = (first + 1j * second) * np.exp(1j * angles.astype(np.float64))[:, None]
    pairs = [product.real, product.imag]
    result = np.stack(pairs, axis=-1).reshape(part.shape) if interleaved else np.concatenate(pairs, axis=-1)
    return np.concatenate([result, x[..., turned:]], axis=-1)


def test_its_numbers():
    result = convert_version(
        model(
            """g (float[2,3,5,8] x, float[20,4] c, float[20,4] s, int64[2,5] p) => (float[2,3,5,8] y) {
          y = RotaryEmbedding (x, c, s, p)
        }""",
            23,
            10,
        ),
        13,
    ).model
    feeds = {"x": X, "c": np.cos(ANGLES), "s": np.sin(ANGLES), "p": PLACES}
    np.testing.assert_allclose(run(result, feeds)[0], expected(X, ANGLES[PLACES]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [9, 13, 21])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turned", [0, 4])
@pytest.mark.parametrize("is_flat", [False, True])
def test_every_layout(is_flat, turned, interleaved, target):
    half = (turned or 8) // 2
    shape, heads = ("2,5,24", ", num_heads = 3") if is_flat else ("2,3,5,8", "")
    text = f"""g (float[{shape}] x, float[2,5,{half}] c, float[2,5,{half}] s) => (float[{shape}] y) {{
      y = RotaryEmbedding <interleaved = {interleaved}, rotary_embedding_dim = {turned}{heads}> (x, c, s)
    }}"""
    angles = ANGLES[PLACES][..., :half]
    x = X.transpose(0, 2, 1, 3).reshape(2, 5, 24) if is_flat else X
    result = convert_version(model(text, 23, 10), target).model
    got = run(result, {"x": x, "c": np.cos(angles), "s": np.sin(angles)})[0]
    want = expected(X, angles, bool(interleaved), turned or 8)
    np.testing.assert_allclose(got, want.transpose(0, 2, 1, 3).reshape(2, 5, 24) if is_flat else want, rtol=1e-4, atol=1e-5)


def test_where_the_size_of_a_head_is_unknown_onnxs_body_takes_its_place():
    text = """g (float[A,B,C,D] x, float[2,5,4] c, float[2,5,4] s) => (float[A,B,C,D] y) { y = RotaryEmbedding (x, c, s) }"""
    result = convert_version(model(text, 23, 10), 18).model
    angles = ANGLES[PLACES]
    got = run(result, {"x": X, "c": np.cos(angles), "s": np.sin(angles)})[0]
    np.testing.assert_allclose(got, expected(X, angles), rtol=1e-4, atol=1e-5)


REWRITES = [
    (
        "rotary_embedding.turn_pairs",
        23,
        13,
        "g (float[1,2,3,4] x, float[1,3,2] c, float[1,3,2] s) => (float[1,2,3,4] y) { y = RotaryEmbedding (x, c, s) }",
        """
            <int64[1] axis = {1}, int64[2] sizes = {2, 2}>
            {
              angles = Unsqueeze (c, axis)
              angles_2 = Unsqueeze (s, axis)
              part, part_2 = Split <axis = 3> (x, sizes)
              product = Mul (part, angles)
              product_2 = Mul (part_2, angles_2)
              real = Sub (product, product_2)
              product_3 = Mul (part, angles_2)
              product_4 = Mul (part_2, angles)
              imaginary = Add (product_3, product_4)
              y = Concat <axis = 3> (real, imaginary)
            }
        """,
    ),
    (
        "rotary_embedding.turn_pairs",
        23,
        13,
        "g (float[2,3,5,8] x, float[20,4] c, float[20,4] s, int64[2,5] p) => (float[2,3,5,8] y) { y = RotaryEmbedding (x, c, s, p) }",
        """
            <int64[1] axis = {1}, int64[2] sizes = {4, 4}>
            {
              angles = Gather <axis = 0> (c, p)
              angles_2 = Unsqueeze (angles, axis)
              angles_3 = Gather <axis = 0> (s, p)
              angles_4 = Unsqueeze (angles_3, axis)
              part, part_2 = Split <axis = 3> (x, sizes)
              product = Mul (part, angles_2)
              product_2 = Mul (part_2, angles_4)
              real = Sub (product, product_2)
              product_3 = Mul (part, angles_4)
              product_4 = Mul (part_2, angles_2)
              imaginary = Add (product_3, product_4)
              y = Concat <axis = 3> (real, imaginary)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
