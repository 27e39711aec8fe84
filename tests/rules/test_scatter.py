"""Scatter, ScatterElements and ScatterND: name, negative indices, reductions."""

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run
from onnx import numpy_helper

from split_rewrite.rewriter import InvalidModelError, Options

RNG = np.random.default_rng(7)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], np.float32)


NUMPY = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def elements(opset, shape="[2,3]", attributes="axis=1", constant=""):
    inputs = f"float[3,4] x, float{shape} u" if constant else f"float[3,4] x, int64{shape} i, float{shape} u"
    return model(f"g ({inputs}) => (float[3,4] y) {constant} {{ y = ScatterElements <{attributes}> (x, i, u) }}", opset)


def slices(opset, indices="[3,1]", updates="[3,4]", reduction="add"):
    text = f"g (float[3,4] x, int64{indices} i, float{updates} u) => (float[3,4] y)"
    return model(f'{text} {{ y = ScatterND <reduction="{reduction}"> (x, i, u) }}', opset)


def test_a_runtime_of_opset_10_without_scatter_gets_gathers():
    """Where, which the rule for older opsets writes from 9 on, is none of opset 8."""
    proto = model("g (float[3,4] x, int64[2,3] i, float[2,3] u) => (float[3,4] y) { y = Scatter <axis=1> (x, i, u) }", 10)
    result, _ = convert_version(proto, None, options=Options(for_runtimes=["tensorrt-7.2"]), compare="required")
    assert {"Gather", "Where"} <= {node.op_type for node in result.graph.node}


X = np.arange(12, dtype=np.float32).reshape(3, 4)


MANY = [
    pytest.param(elements(18, "[2,N]", 'axis=1, reduction="max"'), 17, 3, id="any number"),
    pytest.param(elements(16, "[N,M]", 'axis=-2, reduction="add"'), 15, 3, id="any number along the first axis"),
    pytest.param(elements(16, "[2,65]", 'axis=1, reduction="add"'), 15, 65, id="many elements"),
    pytest.param(elements(18, "[2,N]", 'axis=1, reduction="mul"'), 11, 5, id="of opset 11"),
    pytest.param(slices(18, "[N,1]", "[N,4]", "min"), 17, 4, id="any number of slices"),
    pytest.param(slices(18, "[70,1]", "[70,4]", "max"), 17, 70, id="many slices"),
    pytest.param(slices(18, "[2,N,2]", "[2,N]"), 12, 3, id="any number of elements"),
]


@pytest.mark.parametrize("proto, target, count", MANY)
def test_many_updates_take_turns(proto: onnx.ModelProto, target: int, count: int) -> None:
    result, report = convert_version(proto, target)
    assert "Loop" in [node.op_type for node in result.graph.node]
    assert sum("each of its updates takes a turn of a Loop" in warning for warning in report.warnings) == 1
    for length in (0, 1, count) if "N" in str(proto.graph.input[2].type) else (count,):
        sizes = {"N": length, "M": 2}
        i, u = (
            [dim.dim_value or sizes[dim.dim_param] for dim in value.type.tensor_type.shape.dim] for value in proto.graph.input[1:]
        )
        feeds = {"x": X, "i": RNG.integers(-3, 3, i), "u": RNG.standard_normal(u).astype(np.float32)}
        np.testing.assert_array_equal(run(result, feeds)[0], run(proto, feeds)[0])


def scattered(indices, updates, combine=lambda old, new: new):
    y = X.copy()
    for (row, column), update in np.ndenumerate(updates):
        y[row, indices[row, column]] = combine(y[row, indices[row, column]], update)
    return y


@pytest.mark.parametrize("target", [10, 9])
def test_negative_indices_count_from_the_front(target):
    indices, updates = np.array([[0, -1, 1], [-4, 2, 3]]), np.float32([[10, 20, 30], [40, 50, 60]])
    result = convert_version(elements(11, attributes="axis=-1"), target).model
    assert result.graph.node[-1].op_type == "Scatter"
    np.testing.assert_array_equal(run(result, {"x": X, "i": indices, "u": updates})[0], scattered(indices, updates))


@pytest.mark.parametrize(("length", "kind"), [(2**31, "int32"), (2**31 + 1, "int64")])
def test_indices_along_a_huge_axis_hold_its_length(length: int, kind: str) -> None:
    text = f"g (float[{length}] x, float[2] u) => (float[{length}] y) <int32[2] i = {{-1, 0}}> {{ y = ScatterElements(x, i, u) }}"
    result = convert_version(model(text, 11), 10, compare="off").model
    (indices,) = (numpy_helper.to_array(tensor) for tensor in result.graph.initializer)
    assert (indices.tolist(), indices.dtype) == ([length - 1, 0], kind)


@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize("op, indices", [("ScatterElements", "int64[4] i"), ("ScatterND", "int64[4,1] i")])
def test_nan_is_combined_as_onnxruntime_does(op: str, indices: str, reduction: str) -> None:
    text = f'g (float[3] x, {indices}, float[4] u) => (float[3] y) {{ y = {op} <reduction = "{reduction}"> (x, i, u) }}'
    places = np.array([0, 1, 2, 0]) if op == "ScatterElements" else np.array([[0], [1], [2], [0]])
    assert_same(model(text, 18), 17, {"x": np.float32([np.nan, 1, 2]), "i": places, "u": np.float32([3, np.nan, 5, 2])})


def test_constant_indices_stay_constant():
    result = convert_version(elements(11, constant="<int64[2,3] i = {0, -1, 1, -4, 2, 3}>"), 10).model
    assert [node.op_type for node in result.graph.node] == ["Scatter"]
    updates = np.float32([[10, 20, 30], [40, 50, 60]])
    expected = scattered(np.array([[0, 3, 1], [0, 2, 3]]), updates)
    np.testing.assert_array_equal(run(result, {"x": X, "u": updates})[0], expected)


def test_up_another_name():
    text = "g (float[3,4] x, int64[2,3] i, float[2,3] u) => (float[3,4] y) { y = Scatter <axis=1> (x, i, u) }"
    indices, updates = np.array([[0, 3, 1], [0, 2, 3]]), np.float32([[10, 20, 30], [40, 50, 60]])
    result = assert_same(model(text, 9), 13, {"x": X, "i": indices, "u": updates})
    assert [node.op_type for node in result.graph.node] == ["ScatterElements"]


@pytest.mark.parametrize("reduction, target", [("add", 15), ("mul", 13), ("max", 17), ("min", 15), ("max", 11)])
def test_reductions_of_elements_with_equal_indices(reduction, target):
    indices, updates = np.array([[1, 1, -1], [2, 2, 2]]), np.float32([[10, -20, 3], [4, 5, -6]])
    result = convert_version(elements(18, attributes=f'axis=1, reduction="{reduction}"'), target).model
    got = run(result, {"x": X, "i": indices, "u": updates})[0]
    np.testing.assert_array_equal(got, scattered(indices, updates, NUMPY[reduction]))


@pytest.mark.parametrize("reduction, target", [("add", 15), ("mul", 15), ("max", 17), ("min", 13)])
@pytest.mark.parametrize("indices, updates", [("[3,1]", "[3,4]"), ("[2,2,2]", "[2,2]")])
def test_reductions_of_slices_with_equal_indices(reduction, target, indices, updates):
    where = np.array([[1], [1], [-1]]) if indices == "[3,1]" else np.array([[[0, 1], [0, 1]], [[2, -1], [2, 3]]])
    u = np.random.default_rng(3).integers(-9, 9, size=(3, 4) if updates == "[3,4]" else (2, 2)).astype(np.float32)
    expected = X.copy()
    for position in np.ndindex(where.shape[:-1]):
        at = tuple(where[position])
        expected[at] = NUMPY[reduction](expected[at], u[position])
    result = convert_version(slices(18, indices, updates, reduction), target).model
    np.testing.assert_array_equal(run(result, {"x": X, "i": where, "u": u})[0], expected)


def test_a_reduction_that_is_there_stays():
    assert [node.op_type for node in convert_version(slices(18), 16).model.graph.node] == ["ScatterND"]


@pytest.mark.parametrize("axis", [-1, -2])
@pytest.mark.parametrize("target", [8, 7])
def test_an_axis_from_the_back_with_computed_indices(axis, target):
    text = f"g (float[3,4] x, int64[2,3] i, float[2,3] u) => (float[3,4] y) {{ y = Scatter <axis = {axis}> (x, i, u) }}"
    x, u = np.arange(12, dtype=np.float32).reshape(3, 4), -np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    assert_same(model(text, 9), target, {"x": x, "i": np.array([[0, 2, 1], [1, 0, 2]]), "u": u})


def test_refuses_computed_indices_of_unknown_length_below_9():
    text = "g (float[3] x, int64[N] i, float[N] u) => (float[3] y) { y = Scatter (x, i, u) }"
    assert "the shape (N) of 'i'" in refusal(model(text, 9), 8)


def test_refuses_too_many_computed_indices_below_9():
    text = "g (float[3000] x, int64[3000] i, float[3000] u) => (float[3000] y) { y = Scatter (x, i, u) }"
    assert "3000 updates of 3000 elements are too many" in refusal(model(text, 9), 8)


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


def test_refuses_to_add_booleans() -> None:
    text = 'g (bool[4] x, bool[2] u) => (bool[4] y) <int64[2] i = {0, 1}> {y = ScatterElements<reduction = "add">(x, i, u)}'
    assert "which Add does not take" in refusal(model(text, 16), 15)


def test_refuses_to_add_complex_numbers() -> None:
    text = 'g (complex64[4] x, complex64[2] u) => (complex64[4] y) <int64[2] i = {0, 1}> {y = ScatterElements<reduction = "add">(x, i, u)}'
    assert "reduction=add of complex64, which Add does not take" in refusal(model(text, 16), 15)


def test_refuses_an_index_that_there_is_not() -> None:
    text = "g (float[2] x, float[1] u) => (float[2] y) <int64[1] i = {5}> {y = ScatterElements(x, i, u)}"
    assert "the indices 'i' are out of range" in refusal(model(text, 16), 8)


def test_refuses_a_reduction_that_there_is_not() -> None:
    text = 'g (float[4] x, float[1] u) => (float[4] y) <int64[1,1] i = {0}> {y = ScatterND<reduction = "sum">(x, i, u)}'
    with pytest.raises(InvalidModelError, match="reduction is 'sum'; ScatterND has only none, add, mul, max, min"):
        convert_version(model(text, 16), 15)


REWRITES = [
    (
        "scatter.scatter_to_scatter_elements",
        9,
        11,
        "g (float[3] x, int64[1] i, float[1] u) => (float[3] y) { y = Scatter (x, i, u) }",
        "{ y = ScatterElements (x, i, u) }",
    ),
    (
        "scatter.scatter_elements_to_scatter",
        11,
        10,
        "g (float[3] x, float[1] u) => (float[3] y) <int64[1] i = {1}> { y = ScatterElements (x, i, u) }",
        "<int64[1] v1 = {1}> { y = Scatter <axis = 0> (x, v1, u) }",
    ),
    (
        "scatter.gather_updated",
        9,
        8,
        "g (float[3] x, float[1] u) => (float[3] y) <int64[1] i = {1}> { y = Scatter (x, i, u) }",
        """
            {
              places_double = Constant <value = double[3] {0, 3, 2}> ()
              places = Cast <to = 7> (places_double)
              both = Concat <axis = 0> (x, u)
              y = Gather <axis = 0> (both, places)
            }
        """,
    ),
    (
        "scatter.gather_updated",
        9,
        8,
        "g (float[3] x, int64[1] i, float[1] u) => (float[3] y) { y = Scatter (x, i, u) }",
        """
            {
              length_double = Constant <value = double {3}> ()
              length = Cast <to = 7> (length_double)
              sign = Cast <to = 1> (i)
              zero = Constant <value = float {0}> ()
              negative = Less (sign, zero)
              negative_2 = Cast <to = 7> (negative)
              shift = Mul (negative_2, length)
              wrapped = Add (i, shift)
              places_2_double = Constant <value = double[3,1] {0, 1, 2}> ()
              places = Cast <to = 7> (places_2_double)
              is_there = Equal (wrapped, places)
              is_there_2 = Cast <to = 1> (is_there)
              last = ReduceMax <axes = [1], keepdims = 0> (is_there_2)
              number = Cast <to = 7> (last)
              is_updated = Cast <to = 9> (last)
              is_updated_2 = Cast <to = 7> (is_updated)
              way_double = Constant <value = double[3] {2, 1, 0}> ()
              way = Cast <to = 7> (way_double)
              way_2 = Add (number, way)
              moved = Mul (way_2, is_updated_2)
              own_double = Constant <value = double[3] {0, 1, 2}> ()
              own = Cast <to = 7> (own_double)
              places_2 = Add (moved, own)
              both = Concat <axis = 0> (x, u)
              y = Gather <axis = 0> (both, places_2)
            }
        """,
    ),
    (
        "scatter.reduce_elements_step_by_step",
        18,
        17,
        'g (float[3] x, int64[2] i, float[2] u) => (float[3] y) { y = ScatterElements <reduction = "max"> (x, i, u) }',
        """
            <int64[1] step = {0}, int64[1] step_2 = {1}>
            {
              index = Gather <axis = 0> (i, step)
              update = Gather <axis = 0> (u, step)
              present = GatherElements <axis = 0> (x, index)
              chosen = Greater (present, update)
              combined = Where (chosen, present, update)
              reduced = ScatterElements <axis = 0> (x, index, combined)
              index_2 = Gather <axis = 0> (i, step_2)
              update_2 = Gather <axis = 0> (u, step_2)
              present_2 = GatherElements <axis = 0> (reduced, index_2)
              chosen_2 = Greater (present_2, update_2)
              combined_2 = Where (chosen_2, present_2, update_2)
              y = ScatterElements <axis = 0> (reduced, index_2, combined_2)
            }
        """,
    ),
    (
        "scatter.reduce_elements_step_by_step",
        16,
        15,
        'g (float[3] x, int64[1] i, float[1] u) => (float[3] y) { y = ScatterElements <reduction = "add"> (x, i, u) }',
        """
            <int64[1] step = {0}>
            {
              index = Gather <axis = 0> (i, step)
              update = Gather <axis = 0> (u, step)
              present = GatherElements <axis = 0> (x, index)
              combined = Add (present, update)
              y = ScatterElements <axis = 0> (x, index, combined)
            }
        """,
    ),
    (
        "scatter.reduce_slices_step_by_step",
        16,
        15,
        'g (float[3,2] x, int64[2,1] i, float[2,2] u) => (float[3,2] y) { y = ScatterND <reduction = "add"> (x, i, u) }',
        """
            <int64[1] step = {0}, int64[1] step_2 = {1}>
            {
              index = Gather <axis = 0> (i, step)
              update = Gather <axis = 0> (u, step)
              present = GatherND (x, index)
              combined = Add (present, update)
              reduced = ScatterND (x, index, combined)
              index_2 = Gather <axis = 0> (i, step_2)
              update_2 = Gather <axis = 0> (u, step_2)
              present_2 = GatherND (reduced, index_2)
              combined_2 = Add (present_2, update_2)
              y = ScatterND (reduced, index_2, combined_2)
            }
        """,
    ),
    (
        "scatter.scatter_rows",
        11,
        10,
        "g (float[3,2] x, int64[2,1] i, float[2,2] u) => (float[3,2] y) { y = ScatterND (x, i, u) }",
        """<int64 v1 = {0}, int64[1] v3 = {3}, int64[2] v7 = {-1,1}, int64 v9 = {2}, int64[2] v11 = {0,1}, int64[1] v13 = {-1}, int64[2] v18 = {3,2}>
        {
        v2 = Less (i, v1)
        v4 = Add (i, v3)
        v5 = Where (v2, v4, i)
        v6 = ReduceSum <axes = [1], keepdims = 0> (v5)
        v8 = Reshape (v6, v7)
        v10 = Mul (v8, v9)
        v12 = Add (v10, v11)
        v14 = Reshape (x, v13)
        v15 = Reshape (v12, v13)
        v16 = Reshape (u, v13)
        v17 = Scatter <axis = 0> (v14, v15, v16)
        y = Reshape (v17, v18)
        }""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("target", [10, 9])
def test_scatter_nd_into_nothing(target):
    text = "g (float[N,M] x, int64[K,2] i, float[K] u) => (float[N,M] y) { y = ScatterND (x, i, u) }"
    result = convert_version(model(text, 13), target).model
    feeds = {"x": np.zeros((2, 0), np.float32), "i": np.zeros((0, 2), np.int64), "u": np.zeros(0, np.float32)}
    np.testing.assert_array_equal(run(result, feeds)[0], feeds["x"], strict=True)
    feeds = {"x": np.zeros((2, 2), np.float32), "i": np.array([[0, 1]]), "u": np.array([5], np.float32)}
    np.testing.assert_array_equal(run(result, feeds)[0], [[0, 5], [0, 0]])


@pytest.mark.parametrize("count", ["70", "N"])
def test_turns_of_halves_are_those_of_the_reference(count: str) -> None:
    """onnxruntime has no kernel for float16 here, and onnx.reference takes no turn of a Loop without a condition."""
    text = f'g (float16[4,2] x, int64[{count},1] i, float16[{count},2] u) => (float16[4,2] y) {{ y = ScatterND<reduction = "add">(x, i, u) }}'
    comparison = convert_version(model(text, 18), 13, compare="auto").report.comparison
    assert comparison is not None and comparison.status == "equal"
