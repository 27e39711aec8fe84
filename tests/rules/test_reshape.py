"""Reshape: the shape between attribute and input; allowzero."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        pytest.param(
            "g (float[2, 3] x, int64[2] s) => (float[A, B] y) { y = Reshape (x, s) }",
            *(4, "the older form needs shape as a constant, and 's' is computed at run time"),
            id="computed_shape_below_5",
        ),
    ],
)
def test_refused(text: str, target: int, message: str) -> None:
    assert message in refusal(model(text, opset=14), target)


def test_a_known_tensor_that_is_not_empty_needs_no_allowzero() -> None:
    proto = model("g (float[2, 3] x, int64[2] s) => (float[A, B] y) { y = Reshape <allowzero = 1> (x, s) }", opset=14)
    result = convert_version(proto, 13).model
    assert [node.op_type for node in result.graph.node] == ["Reshape"]
    assert run(result, {"x": np.ones((2, 3), np.float32), "s": np.array([3, 2])})[0].shape == (3, 2)


def test_a_zero_that_copies_itself_needs_no_allowzero() -> None:
    """Splitting a dimension, as for heads, keeps the others in their places, empty or not."""
    text = """g (float[B, S, 6] x) => (float[B, S, 2, 3] y) <int64[2] heads = {2, 3}> {
        rows = Shape <end = 2> (x)
        s = Concat <axis = 0> (rows, heads)
        y = Reshape <allowzero = 1> (x, s)
    }"""
    result = convert_version(model(text, opset=15), 13).model
    assert [node.op_type for node in result.graph.node if node.op_type in ("Equal", "Reshape")] == ["Reshape"]
    got = run(result, {"x": np.ones((2, 0, 6), np.float32)})[0]
    assert got.shape == (2, 0, 2, 3)


def test_the_name_of_an_outputs_dimension_does_not_say_that_a_zero_copies_itself() -> None:
    """Nothing keeps a computed shape to the names that the model declares."""
    proto = model("g (float[B, S, 6] x, int64[4] s) => (float[B, S, 2, 3] y) { y = Reshape <allowzero = 1> (x, s) }", opset=14)
    result = convert_version(proto, 13).model
    assert run(result, {"x": np.ones((2, 0, 6), np.float32), "s": np.array([0, 5, 2, 3])})[0].shape == (0, 5, 2, 3)


def test_a_zero_in_another_place_does() -> None:
    proto = model("g (float[B, S, 6] x, int64[3] s) => (float[S, B, 6] y) { y = Reshape <allowzero = 1> (x, s) }", opset=14)
    result = convert_version(proto, 13).model
    assert len(result.graph.node) > 1
    assert run(result, {"x": np.ones((2, 0, 6), np.float32), "s": np.array([0, 2, 6])})[0].shape == (0, 2, 6)


@pytest.mark.parametrize(("rows", "shape"), [(0, (3, 0, 2)), (2, (3, 1, 2)), (0, (0, 5, 2))])
@pytest.mark.parametrize("target", [13, 7])
def test_computed_shape_with_a_meant_zero(target: int, rows: int, shape: tuple[int, ...]) -> None:
    proto = model("g (float[N, 3] x, int64[3] s) => (float[A, B, C] y) { y = Reshape <allowzero = 1> (x, s) }", opset=14)
    result = convert_version(proto, target).model
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    np.testing.assert_array_equal(run(result, {"x": x, "s": np.array(shape)})[0], x.reshape(shape), strict=True)


@pytest.mark.parametrize("inferred", [False, True])
def test_one_computed_dimension_with_a_meant_zero(inferred: bool) -> None:
    proto = model("g (float[N, 3] x, int64[1] s) => (float[A] y) { y = Reshape <allowzero = 1> (x, s) }", opset=14)
    conversion = convert_version(proto, 13)
    assert conversion.report.remarks == ()
    x = np.zeros((2 if inferred else 0, 3), np.float32)
    assert run(conversion.model, {"x": x, "s": np.array([-1 if inferred else 0])})[0].shape == (x.size,)


def _from_rows(inputs: str, parts: str) -> tuple[onnx.ModelProto, list[str], list[str]]:
    """x in rows of six, reshaped to `parts`, where B and S are its first dimensions: the result at 13, its operators and remarks."""
    text = f"""g ({inputs}) => (float[a, b, c] y) <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] three = {{3}},
      int64[1] six = {{6}}, int64[1] rest = {{-1}}, int64[2] flat = {{-1, 6}}> {{
        n = Shape(x)
        B = Slice(n, zero, one)
        S = Slice(n, one, two)
        rows = Reshape(x, flat)
        s = Concat<axis = 0>({parts})
        y = Reshape<allowzero = 1>(rows, s)
    }}"""
    conversion = convert_version(model(text, opset=18), 13)
    remarks = [remark.message for remark in conversion.report.remarks]
    return conversion.model, [node.op_type for node in conversion.model.graph.node], remarks


def _shape(parts: str, batch: int, length: int) -> list[int]:
    return [{"B": batch, "S": length, "six": 6, "three": 3}[part] for part in parts.split(", ")]


def test_the_dimension_beside_a_batch_is_inferred() -> None:
    result, operators, remarks = _from_rows("float[B,S,6] x", "B, S, six")
    assert "Equal" not in operators and operators.count("Slice") == 1
    assert remarks == ["it fails at run time if there is a batch of 0, which needs opset 14"]
    for length in (0, 1, 3):
        x = np.arange(12 * length, dtype=np.float32).reshape(2, length, 6)
        np.testing.assert_array_equal(run(result, {"x": x})[0], x, strict=True)
    for length in (0, 3):
        with pytest.raises(Exception, match="cannot be reshaped"):
            run(result, {"x": np.zeros((0, length, 6), np.float32)})


@pytest.mark.parametrize("parts", ["six, B, S", "S, B, six"])
def test_a_batch_of_0_that_would_copy_another_dimension_is_looked_for(parts: str) -> None:
    result, operators, _ = _from_rows("float[B,S,6] x", parts)
    assert "Equal" in operators
    for batch, length in ((0, 3), (2, 0), (2, 3)):
        x = np.arange(6 * batch * length, dtype=np.float32).reshape(batch, length, 6)
        np.testing.assert_array_equal(run(result, {"x": x})[0], x.reshape(_shape(parts, batch, length)), strict=True)


def test_a_single_open_dimension_is_inferred_without_a_remark() -> None:
    result, operators, remarks = _from_rows("float[3,S,6] x", "S, three, six")
    assert "Equal" not in operators and "Concat" not in operators and remarks == []
    assert run(result, {"x": np.zeros((3, 0, 6), np.float32)})[0].shape == (0, 3, 6)


def test_of_two_dimensions_that_are_no_batch_each_may_be_0() -> None:
    assert "Equal" in _from_rows("float[B,S,T] x", "S, S, six")[1]


@pytest.mark.parametrize("parts", ["S, rest, six", "S, p, six", "k, S, six"])
def test_an_entry_that_may_be_a_minus_one_gets_no_second_one(parts: str) -> None:
    """`p` is -1 and B, joined before, and `k` an input."""
    shape = "p = Concat<axis = 0>(rest, B) s = Concat<axis = 0>(" + parts.replace("p, six", "p") + ")"
    constants = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] six = {6}, int64[1] rest = {-1}"
    nodes = f"n = Shape(x) B = Slice(n, zero, one) S = Slice(n, one, two) {shape} y = Reshape<allowzero = 1>(x, s)"
    proto = model(f"g (float[B,S,6] x, int64[1] k) => (float[a, b, c] y) <{constants}> {{ {nodes} }}", 18)
    result = convert_version(proto, 13).model
    inputs = {"x": np.arange(36, dtype=np.float32).reshape(2, 3, 6), "k": np.array([-1])}
    np.testing.assert_array_equal(run(result, inputs)[0], run(proto, inputs)[0], strict=True)


def test_parts_that_a_body_names_otherwise_are_not_read_in_it() -> None:
    proto = model(
        """g (float[B,S,6] x) => (float[a, b, c] y) <int64 once = {1}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] six = {6},
        int64[1] D = {4}, int64[2] flat = {-1, 6}> {
            n = Shape(x) B = Slice(n, zero, one) S = Slice(n, one, two) rows = Reshape(x, flat) s = Concat<axis = 0>(B, S, six)
            t, y = Loop(once, , D) <body = b (int64 i, bool c, int64[1] S) => (bool d, int64[1] e, float[p, q, r] u) {
                d = Identity(c) e = Identity(S) u = Reshape<allowzero = 1>(rows, s) }>
        }""".replace("float[a, b, c] y", "float[a, b, c, d] y"),
        18,
    )
    x = np.arange(36, dtype=np.float32).reshape(2, 3, 6)
    np.testing.assert_array_equal(run(convert_version(proto, 13).model, {"x": x})[0], x[None], strict=True)


@pytest.mark.parametrize("length", ["K", "2"])
def test_a_caution_where_nobody_knows_how_many_zeros_there_are(length: str) -> None:
    proto = model(f"g (float[N, 3] x, int64[{length}] s) => (float[A, B] y) {{ y = Reshape <allowzero = 1> (x, s) }}", opset=14)
    (remark,) = convert_version(proto, 13).report.remarks
    assert "it fails at run time if two dimensions of its input are 0, which needs opset 14" in remark.message


@pytest.mark.parametrize("shape", [(4, 0), (0, 4), (0, 0), (0,), (2, 0, 5, 0)])
def test_constant_shape_with_meant_zeros(shape: tuple[int, ...]) -> None:
    rank, sizes = len(shape), ", ".join(map(str, shape))
    text = f"g (float[N, 3] x) => (float[{sizes}] y) <int64[{rank}] s = {{{sizes}}}> {{ y = Reshape <allowzero = 1> (x, s) }}"
    result = convert_version(model(text, opset=14), 9).model
    assert run(result, {"x": np.zeros((0, 3), np.float32)})[0].shape == shape


@pytest.mark.parametrize(("shape", "result"), [("3, 2", "3, 2"), ("0, -1", "2, 3"), ("-1", "6")])
def test_shape_becomes_the_attribute_and_back(shape: str, result: str) -> None:
    sizes = [int(size) for size in shape.split(",")]
    text = f"g (float[2, 3] x) => (float[{result}] y) <int64[{len(sizes)}] s = {{{shape}}}> {{ y = Reshape (x, s) }}"
    old = convert_version(model(text, opset=13), 4).model
    assert list(old.graph.node[0].attribute[0].ints) == sizes
    assert_same(convert_version(old, 13).model, 9, {"x": np.arange(6, dtype=np.float32).reshape(2, 3)})


def test_the_shape_of_a_number_is_empty() -> None:
    proto = model("g (float[1] x) => (float y) <int64[0] s = {}> { y = Reshape (x, s) }", opset=13)
    old = convert_version(proto, 4).model
    assert list(old.graph.node[0].attribute[0].ints) == []
    assert run(convert_version(old, 13).model, {"x": np.ones(1, np.float32)})[0].shape == ()


REWRITES = [
    (
        "reshape.shape_to_attribute",
        5,
        4,
        "g (float[2,3] x) => (float[6] y) <int64[1] s = {6}> { y = Reshape (x, s) }",
        "{ y = Reshape <shape = [6]> (x) }",
    ),
    (
        "reshape.shape_to_input",
        4,
        5,
        "g (float[2,3] x) => (float[6] y) { y = Reshape <shape = [6]> (x) }",
        "<int64[1] v1 = {6}> { y = Reshape (x, v1) }",
    ),
    (
        "reshape.drop_allowzero",
        14,
        13,
        "g (float[2,3] x) => (float[6] y) <int64[1] s = {6}> { y = Reshape <allowzero = 1> (x, s) }",
        "<int64[1] v1 = {6}> { y = Reshape (x, v1) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("shape", [(0, 0, 4, 2), (2, 0, 0), (0, 3, 0)], ids=str)
@pytest.mark.parametrize("target", [9, 13])
def test_no_elements_have_their_shape_under_the_optimizer_of_onnxruntime(shape, target):
    """It joins Reshapes, whose zeros copy lengths."""
    dims, numbers = ",".join("ABCD"[: len(shape)]), ",".join(map(str, shape))
    text = (
        f"g (float[2,0,3] x) => (float[{dims}] y) <int64[{len(shape)}] s = {{{numbers}}}> {{ y = Reshape <allowzero = 1> (x, s) }}"
    )
    result = convert_version(model(text, 14), target).model
    (y,) = ort.InferenceSession(result.SerializeToString()).run(None, {"x": np.zeros((2, 0, 3), np.float32)})
    assert y.shape == shape
