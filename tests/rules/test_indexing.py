"""Where, GatherElements, GatherND, ScatterND, Scatter and ReverseSequence: places only, so every bit of the data stays."""

import numpy as np
import pytest
from helpers import assert_same, model, refusal

RNG = np.random.default_rng(7)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], np.float32)


@pytest.mark.parametrize(
    "text, opset, target, reason",
    [
        pytest.param(
            "g (bool[2] c, float[N] d, int64[K] s, float[2] y) => (float[A,B] z) { x = Reshape (d, s)  z = Where (c, x, y) }",
            9,
            8,
            "the rank of 'x' is unknown",
            id="where",
        ),
        pytest.param(
            "g (float[3,4] x, int64[N,K] i) => (float y) { y = GatherND (x, i) }",
            11,
            10,
            "axis dimension 'K' of 'i' is unknown",
            id="depth",
        ),
        pytest.param(
            "g (float[3] x, int64[N] i, float[N] u) => (float[3] y) { y = Scatter (x, i, u) }",
            9,
            8,
            "the shape (N) of 'i'",
            id="scatter",
        ),
        pytest.param(
            "g (float[3000] x, int64[3000] i, float[3000] u) => (float[3000] y) { y = Scatter (x, i, u) }",
            9,
            8,
            "3000 updates of 3000 elements are too many",
            id="large scatter",
        ),
    ],
)
def test_refused(text, opset, target, reason):
    assert reason in refusal(model(text, opset), target)


@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param(((5,), (5,), (5,)), id="equal"),
        pytest.param(((2, 1, 5), (3, 1), (1,)), id="all broadcast"),
        pytest.param(((1,), (2, 5), (2, 5)), id="one condition"),
        pytest.param(((2, 0), (2, 1), (1,)), id="nothing"),
        pytest.param(((1,), (0,), (3, 0)), id="of nothing"),
        pytest.param(((3, 1, 1), (), (4, 1)), id="a scalar"),
    ],
)
@pytest.mark.parametrize("are_known", [True, False], ids=["known", "at run time"])
@pytest.mark.parametrize("target", [8, 7])
def test_where(shapes, are_known, target):
    letters = iter("DEFGHIJKL")
    dims = [",".join(str(dim) if are_known else next(letters) for dim in shape) for shape in shapes]
    c, x, y = (f"[{text}]" if text else "" for text in dims)
    out = ",".join("ABC"[: max(map(len, shapes))])
    proto = model(f"g (bool{c} c, float{x} x, float{y} y) => (float[{out}] z) {{ z = Where (c, x, y) }}", 9)
    given = {"c": RNG.random(shapes[0]) < 0.5, "x": np.resize(SPECIAL, shapes[1]), "y": np.resize(SPECIAL[::-1], shapes[2])}
    assert_same(proto, target, given)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    "target, dims, index_dims",
    [
        (9, "3,4,5", "2,4,3"),
        (9, "A,B,C", "D,E,F"),
        (9, "A,4,5", "2,E,3"),
        (7, "3,4,5", "2,4,3"),
        (8, "A,B,C", "D,E,F"),
        (7, "A,4,5", "2,E,3"),
    ],
)
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_gather_elements(axis, target, dims, index_dims, kind):
    proto = model(
        f"g (float[{dims}] x, {kind}[{index_dims}] i) => (float[{index_dims}] y) {{ y = GatherElements <axis={axis}> (x, i) }}", 11
    )
    i = RNG.integers(-3, 3, size=(2, 4, 3)).astype(kind)
    assert_same(proto, target, {"x": np.resize(SPECIAL, (3, 4, 5)), "i": i})


@pytest.mark.parametrize("target", [9, 8])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_gather_elements_of_a_vector(count, target):
    proto = model("g (float[N] x, int64[K] i) => (float[K] y) { y = GatherElements (x, i) }", 11)
    result = assert_same(proto, target, {"x": SPECIAL, "i": RNG.integers(-5, 5, size=count)})
    assert {tensor.name for tensor in result.graph.initializer} <= {name for node in result.graph.node for name in node.input}


@pytest.mark.parametrize("target", [9, 8])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_gather_no_elements(shape, target):
    proto = model("g (float[A,B] x, int64[C,D] i) => (float[C,D] y) { y = GatherElements <axis=1> (x, i) }", 11)
    assert_same(proto, target, {"x": np.resize(SPECIAL, (2, 5)), "i": np.zeros(shape, np.int64)})


@pytest.mark.parametrize(
    "dims, index_dims, out", [("3,4,5", "6,2", (6, 5)), ("3,4,5", "2,3,3", (2, 3)), ("A,B,C", "N,1", (6, 4, 5))]
)
@pytest.mark.parametrize("target", [10, 7])
def test_gather_nd(dims, index_dims, out, target):
    rank = ",".join("PQR"[: len(out)])
    proto = model(f"g (float[{dims}] x, int64[{index_dims}] i) => (float[{rank}] y) {{ y = GatherND (x, i) }}", 11)
    depth = int(index_dims[-1])
    i = RNG.integers(-3, 3, size=(*out[: len(index_dims.split(",")) - 1], depth))
    assert_same(proto, target, {"x": RNG.random((3, 4, 5), np.float32), "i": i})


@pytest.mark.parametrize(
    "dims, index, updates", [("A,B", [[1, 2], [0, -1]], (2,)), ("A,4", [[2], [-3]], (2, 4)), ("A,4", [[[1]], [[0]]], (2, 1, 4))]
)
def test_scatter_nd(dims, index, updates):
    index = np.array(index)
    dims_i, dims_u = (",".join(map(str, shape)) for shape in (index.shape, updates))
    text = f"g (float[{dims}] x, int64[{dims_i}] i, float[{dims_u}] u) => (float[{dims}] y) {{ y = ScatterND (x, i, u) }}"
    assert_same(model(text, 11), 9, {"x": np.resize(SPECIAL, (3, 4)), "i": index, "u": RNG.random(updates, np.float32)})


@pytest.mark.parametrize("axis", [0, 1])
def test_constant_indices_scatter_as_a_gather(axis):
    text = (
        f"g (float[3,4] x, float[2,2] u) => (float[3,4] y) <int64[2,2] i = {{1, 2, 0, 1}}> "
        f"{{ y = Scatter <axis={axis}> (x, i, u) }}"
    )
    assert_same(model(text, 9), 8, {"x": np.resize(SPECIAL, (3, 4)), "u": RNG.random((2, 2), np.float32)})


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("axis, index", [(0, [[1, 2], [1, 0]]), (1, [[-1, 3], [2, 2]]), (-1, [[0], [-4], [1]]), (0, [[], []])])
@pytest.mark.parametrize("opset, target", [(11, 8), (13, 7)])
def test_scatter_at_run_time(opset, target, kind, axis, index):
    index = np.array(index, kind)
    dims = ",".join(map(str, index.shape))
    proto = model(
        f"g (float[3,4] x, {kind}[{dims}] i, float[{dims}] u) => (float[3,4] y) {{ y = ScatterElements <axis={axis}> (x, i, u) }}",
        opset,
    )
    assert_same(proto, target, {"x": np.resize(SPECIAL, (3, 4)), "i": index, "u": RNG.random(index.shape, np.float32)})


@pytest.mark.parametrize("batch_axis, time_axis", [(0, 1), (1, 0)])
@pytest.mark.parametrize("target", [9, 7])
def test_reverse_sequence(batch_axis, time_axis, target):
    shape = (3, 4, 2)
    text = (
        f"g (float[3,4,2] x, int64[{shape[batch_axis]}] n) => (float[3,4,2] y) "
        f"{{ y = ReverseSequence <batch_axis={batch_axis}, time_axis={time_axis}> (x, n) }}"
    )
    lengths = np.arange(1, shape[batch_axis] + 1) % (shape[time_axis] + 1)
    lengths[lengths == 0] = 1
    assert_same(model(text, 10), target, {"x": np.resize(SPECIAL, shape), "n": lengths})
