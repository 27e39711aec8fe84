"""Col2Im below opset 18: sums of overlapping blocks."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal

RNG = np.random.default_rng(11)


def test_refuses_an_image_of_unknown_rank():
    text = "g (float[1,4,4] x, int64[N] i, int64[N] b) => (float[1,1,3,3] y) { y = Col2Im (x, i, b) }"
    assert "the axis dimension 'N' of 'i'" in refusal(model(text, 18), 17)


@pytest.mark.parametrize(
    "strides, pads, dilations",
    [([1, 1], [0] * 4, [1, 1]), ([2, 1], [1, 0, 1, 1], [1, 2]), ([2, 2], [1, 0, 0, 0], [1, 1]), ([3, 3], [0] * 4, [1, 1])],
)
def test_col2im(strides, pads, dilations):
    """An infinity stays in the pixels that it belongs to."""
    image, block = [5, 6], [2, 2]
    steps = [(image[d] + pads[d] + pads[d + 2] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in range(2)]
    text = (
        f"g (float[2,12,{steps[0] * steps[1]}] x) => (float[2,3,5,6] y) <int64[2] i = {{5, 6}}, int64[2] b = {{2, 2}}> "
        f"{{ y = Col2Im <strides={strides}, pads={pads}, dilations={dilations}> (x, i, b) }}"
    )
    x = RNG.normal(size=(2, 12, steps[0] * steps[1])).astype(np.float32)
    x[0, 0, 0] = np.inf
    assert_same(model(text, 18), 11, {"x": x}, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("batch", [0, 3])
def test_a_batch_of_any_length(batch: int) -> None:
    text = "g (float[N,8,4] x) => (float[N,2,4,4] y) <int64[2] i = {4, 4}, int64[2] b = {2, 2}> { y = Col2Im <strides = [2, 2]> (x, i, b) }"
    assert_same(model(text, 18), 13, {"x": RNG.normal(size=(batch, 8, 4)).astype(np.float32)}, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", [17, 9, 7])
@pytest.mark.parametrize(
    "known", ["int64[2] b = {2, 3}", "int64[2] i = {5, 6}", "int64 unused = {0}"], ids=["block", "image", "none"]
)
@pytest.mark.parametrize(
    "attributes", ["", "<strides = [2, 1]>", "<pads = [1, 0, 0, 2]>", "<dilations = [2, 1], strides = [2, 3], pads = [0, 1, 1, 1]>"]
)
def test_col2im_at_run_time(attributes, known, target):
    inputs = ", ".join(f"int64[2] {name}" for name in "ib" if f" {name} " not in known)
    proto = model(f"g (float[N,C,L] x, {inputs}) => (float[A,B,H,W] y) <{known}> {{ y = Col2Im {attributes} (x, i, b) }}", 18)
    columns = {"": 16, "<s": 8, "<p": 30, "<d": 4}[attributes[:2]]
    feeds = {"x": RNG.normal(size=(2, 12, columns)).astype(np.float32), "i": np.array([5, 6]), "b": np.array([2, 3])}
    feeds["x"][0, 0, 0] = np.inf
    feeds = {name: value for name, value in feeds.items() if f" {name} " not in known}
    assert_same(proto, target, feeds, rtol=1e-6, atol=1e-6)


REWRITES = [
    (
        "col2im.sum_of_blocks",
        18,
        17,
        "g (float[1,4,2] x) => (float[1,1,2,3] y) <int64[2] size = {2, 3}, int64[2] block = {2, 2}> { y = Col2Im (x, size, block) }",
        """
            <int64[3] form = {0, 1, 8}, int64[6] pads = {0, 0, 0, 0, 0, 1},
             int64[2,6] places = {0, 1, 3, 4, 5, 7, 8, 2, 8, 8, 6, 8},
             int64[1] axis = {2}, int64[4] image = {0, 0, 2, 3}>
            {
              flat = Reshape (x, form)
              padded = Pad (flat, pads)
              parts = Gather <axis = 2> (padded, places)
              sum = ReduceSum <keepdims = 0> (parts, axis)
              y = Reshape (sum, image)
            }
        """,
    ),
    (
        "col2im.sum_of_blocks",
        18,
        17,
        "g (float[1,4,2] x) => (float[1,1,2,4] y) <int64[2] size = {2, 4}, int64[2] block = {2, 2}> "
        "{ y = Col2Im <strides = [2, 2]> (x, size, block) }",
        """
            <int64[3] form = {0, 1, 8}, int64[8] places = {0, 2, 1, 3, 4, 6, 5, 7}, int64[4] image = {0, 0, 2, 4}>
            {
              flat = Reshape (x, form)
              parts = Gather <axis = 2> (flat, places)
              y = Reshape (parts, image)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
