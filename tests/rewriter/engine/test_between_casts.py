"""Types that an operator did not yet take: what may be cast around, and what must not be."""

import numpy as np
import pytest
from helpers import assert_same, convert_version, known, model, refusal, run
from onnx import TensorProto, helper

from split_rewrite.rewriter.engine.between_casts import holds
from split_rewrite.rewriter.opsets import facts
from split_rewrite.rewriter.opsets.facts import Work


@pytest.mark.parametrize(
    "text, opset, target, reason",
    [
        pytest.param(
            "g (bfloat16[N] x) => (bfloat16[N] y) { y = Neg (x) }",
            13,
            12,
            "the model's input is bfloat16, which does not exist before opset 13",
            id="the type is too young for a Cast",
        ),
        pytest.param(
            "g (int8 x) => (int8 y) { y = Sub (x, x) }",
            18,
            5,
            "6→5: Sub cannot compute int32 before opset 6",
            id="the wider type is too young in its turn",
        ),
        pytest.param(
            "g (string[N] x, string[N] y) => (string[M] z) { z = Concat <axis = 0> (x, y) }",
            4,
            3,
            "Concat of opset 1 does not take string",
            id="strings have no wider type",
        ),
        pytest.param(
            "g (int32[N,K] x, int32[K,M] y) => (int32[N,M] z) { z = MatMul (x, y) }",
            9,
            8,
            "MatMul of opset 1 does not take int32",
            id="integers in an operator that rounds",
        ),
    ],
)
def test_refused(text, opset, target, reason):
    assert reason in refusal(model(text, opset), target)


def limits(kind: str) -> np.ndarray:
    if kind == "bool":
        return np.array([True, False, True, True])
    info = np.iinfo(kind)
    return np.array([info.min, info.max, 0, info.max // 3], kind)


@pytest.mark.parametrize("operator, numpy_function", [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("target", [13, 7])
def test_narrow_integers_wrap(operator, numpy_function, kind, target):
    a = limits(kind)
    given = {"a": np.repeat(a, len(a)), "b": np.tile(a, len(a))}
    proto = model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = {operator} (a, b) }}", 14)
    result = convert_version(proto, target)
    np.testing.assert_array_equal(run(result.model, given)[0], numpy_function(given["a"], given["b"]))
    assert not result.report.inexact


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("target", [13, 7])
def test_narrow_integers_divide_towards_zero(kind, target):
    a = limits(kind)
    b = a[a != 0]
    given = {"a": np.repeat(a, len(b)), "b": np.tile(b, len(a))}
    proto = model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Div (a, b) }}", 14)
    expected = [abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(given["a"], given["b"], strict=True)]
    np.testing.assert_array_equal(run(convert_version(proto, target).model, given)[0], np.array(expected, kind))


@pytest.mark.parametrize("operator", ["Max", "Min"])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_order_of_integers(operator, kind):
    a = limits(kind)
    given = {"a": np.repeat(a, len(a)), "b": np.tile(a, len(a))}
    proto = model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = {operator} (a, b) }}", 12)
    function = np.maximum if operator == "Max" else np.minimum
    np.testing.assert_array_equal(run(convert_version(proto, 9).model, given)[0], function(given["a"], given["b"]))


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int16", "uint16", "uint32", "uint64", "int64"])
def test_equality(kind):
    a = limits(kind)
    given = {"a": np.repeat(a, len(a)), "b": np.tile(a, len(a))}
    proto = model(f"g ({kind}[N] a, {kind}[N] b) => (bool[N] y) {{ y = Equal (a, b) }}", 13)
    np.testing.assert_array_equal(run(convert_version(proto, 7).model, given)[0], given["a"] == given["b"])


@pytest.mark.skipif(not known(20), reason="onnx has no opset 20")
@pytest.mark.parametrize("operator, of_nothing", [("ReduceMax", False), ("ReduceMin", True)])
@pytest.mark.parametrize("columns", [0, 2])
def test_extremes_of_booleans_even_of_none(operator, of_nothing, columns):
    proto = model(f"g (bool[N,M] x) => (bool[N] y) <int64[1] a = {{1}}> {{ y = {operator} <keepdims=0> (x, a) }}", 20)
    x = np.array([[True, False], [True, True], [False, False]])[:, :columns]
    expected = (np.max if operator == "ReduceMax" else np.min)(x, axis=1, initial=of_nothing)
    result = convert_version(proto, 18).model
    assert "INT32" not in {TensorProto.DataType.Name(node.attribute[0].i) for node in result.graph.node if node.op_type == "Cast"}
    if columns:
        np.testing.assert_array_equal(run(result, {"x": x})[0], expected)


def test_half_precision_where_the_operator_took_only_float():
    """Celu took only float before opset 28, so this is computed wider and may differ in the last bits: two of float16's."""
    if not known(28):
        pytest.skip("onnx has no opset 28")
    proto = model("g (float16[N] x) => (float16[N] y) { y = Celu (x) }", 28)
    x = np.array([-3, -0.5, 0, 0.5, 3], np.float16)
    result = convert_version(proto, 15)
    assert result.report.inexact
    wide = x.astype(np.float64)
    np.testing.assert_allclose(run(result.model, {"x": x})[0], np.where(wide > 0, wide, np.expm1(wide)), rtol=2e-3)


def test_bfloat16_in_between_is_exact_where_one_rounding_is():
    """The sum is rounded once to bfloat16; expected from integers that show the rounding."""
    text = """g (float[N] x, float[N] y) => (float[N] z) {
        a = Cast <to=16> (x)  b = Cast <to=16> (y)  c = PRelu (a, b)  z = Cast <to=1> (c) }"""
    x = np.array([1, -1.0078125, 3, -256, 0], np.float32)
    y = np.array([1, 1.0078125, 0.5, 3, 7], np.float32)
    result = convert_version(model(text, 16), 15)
    assert not result.report.inexact
    product = np.where(x < 0, x * y, x).astype(np.float32)
    bits = product.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    np.testing.assert_array_equal(run(result.model, {"x": x, "y": y})[0], rounded)


@pytest.mark.parametrize("value", ["int8[1] {-7}", "bool[1] {1}", "uint16[1] {65535}"])
def test_constant_of_shape_of_a_narrow_type_stays(value):
    kind = value.split("[")[0]
    text = f"g (int64[2] s) => ({kind}[A,B] y) {{ y = ConstantOfShape <value = {value}> (s) }}"
    assert_same(model(text, 20), 9, {"s": np.array([2, 3], np.int64)})


@pytest.mark.skipif(not known(20), reason="onnx has no opset 20")
@pytest.mark.parametrize("kind", ["bfloat16", "float8e4m3fn"])
def test_constant_of_shape_of_a_float_that_numpy_lacks(kind):
    proto = model("g (int64[1] s) => (float[A] y) { c = ConstantOfShape (s) y = Cast <to = 1> (c) }", 20, 10)
    value = helper.make_tensor("v", TensorProto.DataType.Value(kind.upper()), [1], [-1.5])
    proto.graph.node[0].attribute.append(helper.make_attribute("value", value))
    result = convert_version(proto, 19).model
    assert run(result, {"s": np.array([2], np.int64)})[0].tolist() == [-1.5, -1.5]


@pytest.mark.skipif(not known(23), reason="onnx has no opset 23")
def test_infinities_of_8_bits_stay():
    """A Cast gives the largest number for them, unless it is told not to saturate."""
    result = convert_version(model("g (float8e5m2[N] x) => (float8e5m2[1,N] y) { y = Flatten <axis = 0> (x) }", 23), 20).model
    kind = helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT8E5M2)
    x = np.array([np.inf, -np.inf, np.nan, 57344, -0.0, 2.0**-16], np.float32).astype(kind)
    np.testing.assert_array_equal(run(result, {"x": x}, "onnx.reference")[0][0].astype(np.float32), x.astype(np.float32))


def test_interface_keeps_its_types():
    proto = model("g (int8[N] a, int8[N] b) => (int8[N] y) { y = Add (a, b) }", 14)
    result = convert_version(proto, 9).model
    assert [value.type.tensor_type.elem_type for value in (*result.graph.input, *result.graph.output)] == [TensorProto.INT8] * 3


@pytest.mark.parametrize(
    "wide, narrow, expected",
    [
        ("int32", "uint16", True),
        ("int32", "uint32", False),
        ("int64", "uint64", False),
        ("float", "int32", False),
        ("double", "int32", True),
        ("float", "uint16", True),
        ("float16", "int16", False),
        ("double", "int64", False),
        ("float", "bfloat16", True),
        ("float16", "bfloat16", False),
        ("float", "double", False),
        ("uint32", "int8", False),
    ],
)
def test_which_types_hold_which(wide, narrow, expected):
    assert holds(wide, narrow) is expected


def test_what_has_state_or_subgraphs_works_in_no_wider_type():
    assert not any(facts.of(name).work for name in ("If", "Loop", "Scan", "Cast", "QuantizeLinear", "RandomNormal"))
    assert facts.of("Equal").work is Work.MOVES and facts.of("Less").work is Work.ORDERS


def test_types_within_the_subgraph_of_another_domain():
    """Inference of the model does not look into it; `i` is int64 as is what it captures, and GreaterOrEqual is new in opset 12."""
    text = """<ir_version: 8, opset_import: ["" : 18, "my" : 1]>
        g (float[2,3] x, int64[3] i) => (float[2,3] y) { j = Neg (i)
        y = my.Each <step = s (float[A,B] a) => (b) {
            dims = Shape (a)  start = Constant <value_ints = [1]> ()  last = Gather <axis=0> (dims, start)
            later = GreaterOrEqual (last, j)  f = CastLike (later, a)  b = Mul (a, f) }> (x) }"""
    result = convert_version(model(text), 10).model
    (graph,) = (attribute.g for node in result.graph.node for attribute in node.attribute if attribute.HasField("g"))
    assert [node.op_type for node in graph.node] == ["Shape", "Constant", "Gather", "Less", "Not", "Cast", "Mul"]


@pytest.mark.skipif(not known(28), reason="onnx has no opset 28")
def test_celu_of_a_type_that_its_first_version_did_not_take():
    text = "g (float[N] x) => (float[N] y) { a = Cast <to=16> (x)  b = Celu (a)  y = Cast <to=1> (b) }"
    assert "Celu 'b' (main graph): it computes in bfloat16, which does not exist before opset 13" in refusal(model(text, 28), 9)
