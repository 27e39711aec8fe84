"""Types that the target does not have give way to wider ones in the whole model."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import convert_version, model, refusal, run
from onnx import TensorProto, helper

from split_rewrite import rewriter
from split_rewrite.rewriter import ArgumentError, Options, UnconvertibleError
from split_rewrite.rewriter.engine import narrow_types
from split_rewrite.rewriter.structure.survey import all_graphs

NARROW = (TensorProto.INT4, TensorProto.UINT4)


def narrow(text: str, opset: int = 21) -> onnx.ModelProto:
    """The model in `text`, in which two elements of int4 or uint4 share a byte, as ONNX has it and its parser does not."""
    proto = model(text, opset, 10)
    for graph in all_graphs(proto):
        tensors = [*getattr(graph, "initializer", ()), *(attribute.t for node in graph.node for attribute in node.attribute)]
        for tensor in tensors:
            if tensor.data_type in NARROW:
                tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, tensor.dims, tensor.int32_data))
    return proto


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "g (int4[2] x, float s) => (float[2] y) { y = DequantizeLinear (x, s) }",
            "Input 'x' (main graph): the model's input is int4, which does not exist before opset 21. Hint: change the model's",
            id="input",
        ),
        pytest.param(
            "g (int32[2] x) => (int4[2] y) { y = Cast <to = 22> (x) }",
            "Output 'y' (main graph): the model's output is int4, which does not exist before opset 21",
            id="output",
        ),
        pytest.param(
            '<ir_version: 10, opset_import: ["" : 21, "other" : 1]>\n'
            "g () => (float[2] y) <int4[2] w = {1, 2}> { y = other.Unpack (w) }",
            "Unpack 'y' (main graph): it is of the domain other and takes int4, which does not exist before opset 21",
            id="another_domain",
        ),
        pytest.param(
            "g (float[2] x) => (float[2] y) { n = Cast <to = 22> (x)  y = Cast <to = 1> (n) }",
            "Cast 'n' (main graph): it has two meanings: by the specification a cast to a type of 4 or 2 bits drops the fraction",
            id="fractions",
        ),
        pytest.param(
            "g (int32[2] x) => (string[2] y) { n = Cast <to = 22> (x)  y = Cast <to = 8> (n) }",
            "Cast 'y' (main graph): the text of int4 may not be that of int8",
            id="text",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    assert message in refusal(narrow(text), 20)


def test_excluded() -> None:
    given = narrow("g (float s) => (float[2] y) <int4[2] w = {1, -2}> { y = DequantizeLinear (w, s) }")
    with pytest.raises(UnconvertibleError, match="int4"):
        convert_version(given, 20, options=Options(skip=frozenset({narrow_types.NAME})))


def element_types(proto: onnx.ModelProto) -> set[int]:
    """The element types that the model states anywhere."""
    found: set[int] = set()
    for graph in all_graphs(proto):
        if isinstance(graph, onnx.GraphProto):
            values = (*graph.input, *graph.output, *graph.value_info)
            found |= {value.type.tensor_type.elem_type for value in values}
            found |= {tensor.data_type for tensor in graph.initializer}
        for node in graph.node:
            found |= {attribute.t.data_type for attribute in node.attribute} | {attribute.i for attribute in node.attribute}
    return found


MOVING = {
    "one operator after the other": """
        g (float s) => (float[3,2] y) <int4[2,3] w = {1, -8, 7, 0, -1, 2}, int64[2] sizes = {3, 2}> {
            i = Identity (w)  t = Transpose <perm = [1, 0]> (i)  r = Reshape (t, sizes)  y = DequantizeLinear (r, s) }""",
    "constants in nodes": """
        g (float s) => (float[5] y) <int64[1] size = {2}, int64[2] pads = {1, 2}, uint4 nine = {9}> {
            z = ConstantOfShape <value = uint4[1] {5}> (size)  p = Pad (z, pads, nine)  y = DequantizeLinear (p, s) }""",
    "branches": """
        g (bool c, float s) => (float[3] y) <int4[3] w = {1, -8, 7}> {
            q = If (c) <
                then_branch = a () => (int4[3] a1) { a1 = Identity (w) },
                else_branch = b () => (int4[3] b1) { b1 = Constant <value = int4[3] {-1, 2, 3}> () }>
            y = DequantizeLinear (q, s) }""",
    "a loop": """
        g (float s) => (float[4] y) <int4[4] w = {1, -8, 7, 3}, int64 turns = {2}, bool on = {1}> {
            q = Loop (turns, on, w) <body = b (int64 i, bool go, int4[4] v) => (bool go2, int4[4] u) {
                go2 = Identity (go)  u = Identity (v) }>
            y = DequantizeLinear (q, s) }""",
}


@pytest.mark.parametrize("target", [20, 18, 13])
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in MOVING.items()])
def test_moved(text: str, target: int) -> None:
    given = narrow(text)
    result = convert_version(given, target).model
    assert element_types(result).isdisjoint(NARROW)
    feeds = {"s": np.array(0.5, np.float32), "c": np.array(True)}
    feeds = {value.name: feeds[value.name] for value in given.graph.input}
    stored = {"branches": [1, -8, 7], "a loop": [1, -8, 7, 3], "constants in nodes": [9, 5, 5, 9, 9]}
    name = next(name for name in MOVING if MOVING[name] is text)
    expected = np.array(stored.get(name, [[1, 0], [-8, -1], [7, 2]]), np.float32) * np.float32(0.5)
    np.testing.assert_array_equal(run(result, feeds)[0], expected)


def test_functions() -> None:
    given = narrow("""<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        g (float s) => (float[3] y) <int4[3] w = {1, -8, 7}> { y = own.Unpack (w, s) }
        <domain: "own", opset_import: ["" : 21]> Unpack (q, s) => (r) { t = Identity (q)  r = DequantizeLinear (t, s) }""")
    result = convert_version(given, 20).model
    np.testing.assert_array_equal(run(result, {"s": np.array(2, np.float32)})[0], np.float32([2, -16, 14]))


def test_model_without_such_types_is_left_alone() -> None:
    given = model("g (float[2] x) => (float[2] y) { y = Relu (x) }", 21)
    assert not any(name.startswith(narrow_types.NAME) for name in convert_version(given, 13).report.applied)


def test_packed_weight_of_a_branch() -> None:
    given = narrow("""g (bool c, float s) => (float[N] y) {
        q = If (c) <
            then_branch = a () => (int4[70000] a1) { a1 = Identity (w) },
            else_branch = b () => (int4[70000] b1) { b1 = Transpose (w) }>
        y = DequantizeLinear (q, s) }""")
    values = np.random.default_rng(0).integers(-8, 8, 70000)
    given.graph.initializer.append(helper.make_tensor("w", TensorProto.INT4, [70000], values))
    result = convert_version(given, 18, options=Options(unpack_at_run_time=True)).model
    (y,) = run(result, {"s": np.array(2, np.float32), "c": np.array(True)})
    np.testing.assert_array_equal(y, 2 * values.astype(np.float32))


WEIGHT = np.random.default_rng(0).standard_normal((3, 4))
BFLOAT16 = """g (float[2,3] x) => (float[2,4] y) {
    a = Cast <to = 16> (x)  b = MatMul (a, w)  c = Softmax (b)  y = Cast <to = 1> (c) }"""


def bfloat16_model() -> onnx.ModelProto:
    given = model(BFLOAT16, 13)
    raw = WEIGHT.astype(ml_dtypes.bfloat16).tobytes()
    given.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.BFLOAT16, dims=[3, 4], raw_data=raw))
    return given


def test_bfloat16_products_are_refused_unless_allowed() -> None:
    message = refusal(bfloat16_model(), 12)
    assert "MatMul 'b' (main graph): it computes in bfloat16, which does not exist before opset 13" in message
    assert "Hint: --allow float32-for-bfloat16 computes in float" in message


@pytest.mark.parametrize("training", ["", ", ratio, off"])
def test_dropout_that_drops_nothing_only_moves(training: str) -> None:
    text = f"""g (float[4] x) => (float[4] y) <float ratio = {{0.5}}, bool off = {{0}}> {{
        a = Cast <to = 16> (x)  b = Dropout (a{training})  y = Cast <to = 1> (b) }}"""
    x = np.float32([1, -2, 0.3, 1e5])
    (y,) = run(convert_version(model(text, 13), 12).model, {"x": x})
    np.testing.assert_array_equal(y, x.astype(ml_dtypes.bfloat16).astype(np.float32))


def test_zero_points_that_only_said_the_type_go() -> None:
    text = """g (float[4] x, float s) => (float[4] y) <float8e4m3fn z = {0}> {
        q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z) }"""
    assert "z" not in {tensor.name for tensor in convert_version(model(text, 19, 9), 18).model.graph.initializer}


OLD_REFERENCE = pytest.mark.skipif(onnx.__version__.startswith("1.17."), reason="its reference has no bfloat16 to compare nodes in")


@pytest.mark.parametrize("compare", ["model", pytest.param("nodes", marks=OLD_REFERENCE)])
def test_bfloat16_computed_in_float(compare) -> None:
    options = Options(allow=frozenset({"float32-for-bfloat16"}))
    given = bfloat16_model()
    result, report = rewriter.convert_version(given, 12, compare=compare, options=options)
    assert TensorProto.BFLOAT16 not in element_types(result)
    assert report.comparison is not None and report.comparison.status == "equal"
    assert [str(warning) for warning in report.warnings] == [
        "model 'g' (all graphs): what was bfloat16 is computed in float: numbers differ by the rounding of bfloat16"
    ]
    x = np.float32([[1, 2, 3], [-1, 0.3, 2]])
    products = np.exp(x @ WEIGHT.astype(ml_dtypes.bfloat16).astype(np.float32))
    np.testing.assert_allclose(run(result, {"x": x})[0], products / products.sum(axis=1, keepdims=True), rtol=1e-5)


def test_unknown_allowance() -> None:
    with pytest.raises(ArgumentError, match="allow has to be 'float32-for-bfloat16' or 'int32-inputs', not 'speed'"):
        Options(allow=frozenset({"speed"}))


def test_sums_of_rules_are_remembered_beside_types_that_were_widened() -> None:
    """The comparison allows for terms that cancel out, as in a DFT, whether or not types were widened before."""
    text = "g (float[1,8,1] x) => (float[1,8,2] y, float[1] z) <int4[1] w = {1}> { y = DFT (x)  z = Cast <to = 1> (w) }"
    assert convert_version(model(text, 21), 16).report.sums


@pytest.mark.parametrize("target", [13, 11])
def test_a_type_that_the_opset_of_the_model_lacks_is_of_another_domain(target: int) -> None:
    """As onnxruntime's quantization writes it: its own DequantizeLinear takes int4 at any opset."""
    stored = "int4[4,3] q = {1, -2, 3, 4, -5, 6, 7, -8, 1, 2, 3, -4}, float s = {0.5}"
    text = f"g (float[2,4] x) => (float[2,3] y) <{stored}> {{ w = com.microsoft.DequantizeLinear(q, s) y = MatMul(x, w) }}"
    proto = narrow(text, 17)
    proto.opset_import.add(domain="com.microsoft", version=1)
    result = convert_version(proto, target, compare="required").model
    assert [node.op_type for node in result.graph.node] == ["DequantizeLinear", "MatMul"]
    x = np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)
    np.testing.assert_array_equal(run(result, {"x": x})[0], run(proto, {"x": x})[0])
