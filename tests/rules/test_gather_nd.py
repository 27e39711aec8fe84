"""GatherND: batch_dims spelled out."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

RNG = np.random.default_rng(7)


def proto(data, indices, out, batch_dims):
    return model(f"g (float{data} x, int64{indices} i) => (float{out} y) {{ y = GatherND <batch_dims={batch_dims}> (x, i) }}", 12)


def test_refuses_a_batch_of_unknown_length():
    assert "the shape (N, 1) of 'i' is not fully known" in refusal(proto("[N,3,4]", "[N,1]", "[N,4]", 1), 11)


@pytest.mark.parametrize(
    "data, indices, out, batch_dims",
    [
        pytest.param("[2,3,4]", "[2,1]", "[2,4]", 1, id="a slice each"),
        pytest.param("[2,3,4]", "[2,5,2]", "[2,5]", 1, id="elements"),
        pytest.param("[2,3,4,5]", "[2,3,2,1]", "[2,3,2,5]", 2, id="two batch dimensions"),
    ],
)
def test_positions_go_before_the_indices(data, indices, out, batch_dims):
    shape, index_shape = ([int(n) for n in text[1:-1].split(",")] for text in (data, indices))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    i = np.random.default_rng(4).integers(-3, 3, size=index_shape)
    assert_same(proto(data, indices, out, batch_dims), 11, {"x": x, "i": i})


def test_refuses_indices_of_unknown_length():
    text = "g (float[3,4] x, int64[N,K] i) => (float y) { y = GatherND (x, i) }"
    assert "axis dimension 'K' of 'i' is unknown" in refusal(model(text, 11), 10)


@pytest.mark.parametrize(
    "dims, index_dims, out", [("3,4,5", "6,2", (6, 5)), ("3,4,5", "2,3,3", (2, 3)), ("A,B,C", "N,1", (6, 4, 5))]
)
@pytest.mark.parametrize("target", [10, 7])
def test_below_opset_11(dims, index_dims, out, target):
    rank = ",".join("PQR"[: len(out)])
    proto = model(f"g (float[{dims}] x, int64[{index_dims}] i) => (float[{rank}] y) {{ y = GatherND (x, i) }}", 11)
    depth = int(index_dims[-1])
    i = RNG.integers(-3, 3, size=(*out[: len(index_dims.split(",")) - 1], depth))
    assert_same(proto, target, {"x": RNG.random((3, 4, 5), np.float32), "i": i})


REWRITES = [
    (
        "gather_nd.gather_rows",
        11,
        10,
        "g (float[3,4] x, int64[2,1] i) => (float[2,4] y) { y = GatherND (x, i) }",
        """<int64 v1 = {0}, int64[1] v3 = {3}>
        {
        v2 = Less (i, v1)
        v4 = Add (i, v3)
        v5 = Where (v2, v4, i)
        v6 = ReduceSum <axes = [1], keepdims = 0> (v5)
        y = Gather <axis = 0> (x, v6)
        }""",
    ),
    (
        "gather_nd.gather_rows",
        11,
        10,
        "g (float[3,4] x) => (float[2] y) <int64[2,2] i = {0, 1, 2, -1}> { y = GatherND (x, i) }",
        """
            <int64[1] flat = {-1}, int64[2] places = {1, 11}>
            {
              flat_2 = Reshape (x, flat)
              y = Gather <axis = 0> (flat_2, places)
            }
        """,
    ),
    (
        "gather_nd.put_batch_positions_first",
        12,
        11,
        "g (float[2,3] x, int64[2,1] i) => (float[2] y) { y = GatherND <batch_dims = 1> (x, i) }",
        "<int64[2,1] batches = {0, 1}> { indices = Concat <axis = 1> (batches, i) y = GatherND (x, indices) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("target", [10, 8])
@pytest.mark.parametrize("shape", [(2, 3, 0), (2, 3, 2)])
def test_rows_without_elements(target, shape):
    text = "g (float[N,M,K] x) => (float[1,K] y) <int64[1,2] i = {1, 2}> { y = GatherND (x, i) }"
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    result = convert_version(model(text, 13), target).model
    np.testing.assert_array_equal(run(result, {"x": x})[0], x[1, 2][None], strict=True)
