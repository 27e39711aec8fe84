"""Graphs without a name, and inputs and outputs without a shape."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import command_line, convert_version, invalidity, model, run

from split_rewrite.rewriter import InvalidModelError, Options
from split_rewrite.rewriter.checks.validity import checker_failure

OPEN = "g (float[] x) => (float[] y) { t = Relu (x) y = Softmax <axis = -1> (t) }"


def has_shape(value: onnx.ValueInfoProto) -> bool:
    return value.type.tensor_type.HasField("shape")


def test_an_output_of_no_element_type_is_refused() -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = com.microsoft.Unknown (x) }", 13)
    proto.opset_import.add(domain="com.microsoft", version=1)
    proto.graph.output[0].ClearField("type")
    assert "the input is not a valid model" in invalidity(proto, 11)


def test_what_is_wrong_beside_a_shape_is_refused() -> None:
    assert "MatMul" in invalidity(model("g (float[2,3] x, float[4,5] w) => (float[] y) { y = MatMul (x, w) }", 13), 11)


def test_the_verdict_of_onnx_checker_can_be_required() -> None:
    with pytest.raises(InvalidModelError, match="Field 'shape' of 'type' is required but missing"):
        convert_version(model(OPEN, 13), 11, options=Options(require_valid=True))


@pytest.mark.parametrize("target", [13, 18])
def test_inputs_keep_their_open_shape(target: int) -> None:
    result, report = convert_version(model(OPEN, 13), target, compare="required")
    assert [has_shape(value) for value in (*result.graph.input, *result.graph.output)] == [False, False]
    message = "the model does not state its shape, which onnx.checker requires: it stays open"
    assert report.warnings == [f"Input 'x' (main graph): {message}", f"Output 'y' (main graph): {message}"]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(run(result, {"x": x})[0], np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-6)


def test_outputs_get_the_shape_that_follows() -> None:
    result, report = convert_version(model("g (float[N,3] x) => (float[] y) { y = Concat <axis = 0> (x, x) }", 13), 18)
    assert [dim.dim_value for dim in result.graph.output[0].type.tensor_type.shape.dim] == [0, 3]
    assert [dim.dim_param for dim in result.graph.output[0].type.tensor_type.shape.dim] == ["", ""]
    assert report.warnings == [
        "Output 'y' (main graph): the model does not state its shape: the one that inference finds stands there now"
    ]
    assert not checker_failure(result.SerializeToString(), full=True)


@pytest.mark.parametrize(("opset", "target"), [(14, 13), (9, 11)])
def test_outputs_get_no_shape_from_a_default_that_callers_may_override(opset: int, target: int) -> None:
    text = "g (float[4,4] x, int64[2] c) => (float[] r, int64[2] s) <int64[2] c = {2, 8}> { r = Reshape(x, c) s = Shape(r) }"
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    result = convert_version(model(text, opset), target).model
    assert not any(dim.dim_value for dim in result.graph.output[0].type.tensor_type.shape.dim)
    for lengths in ([2, 8], [8, 2], [1, 16]):
        r, s = run(result, {"x": x, "c": np.array(lengths)})
        np.testing.assert_array_equal(r, x.reshape(lengths))
        assert list(s) == lengths


def test_outputs_get_no_shape_that_the_model_only_declares() -> None:
    text = "g (float[4] x) => (float[] y) <float[4] z> { k = Constant<value_float = 0.5>() m = Greater(x, k) z = Compress<axis = 0>(x, m) y = Identity(z) }"
    result = convert_version(model(text, 18), 12).model
    assert not any(dim.dim_value for dim in result.graph.output[0].type.tensor_type.shape.dim)


def test_outputs_get_the_type_that_follows() -> None:
    proto = model("g (int64[2,3] x) => (float[2,3] y) { y = Cast <to = 1> (x) }", 13)
    proto.graph.output[0].ClearField("type")
    result = convert_version(proto, 18).model
    assert result.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert not checker_failure(result.SerializeToString(), full=True)


def test_graphs_get_a_name(tmp_path) -> None:
    text = """g (float[2] x, bool c) => (float[2] y) { y = If (c)
        <then_branch = a () => (float[2] p) { p = Relu (x) }, else_branch = b () => (float[2] q) { q = Neg (x) }> }"""
    proto = model(text, 13)
    proto.graph.name = ""
    onnx.save(proto, tmp_path / "m.onnx")
    ended = command_line("-t", "11", str(tmp_path / "m.onnx"), str(tmp_path / "o.onnx"))
    assert ended.status == 0
    assert "Graph 'main_graph' (model): it had no name, which onnx.checker requires" in ended.out + ended.err
    assert onnx.load(tmp_path / "o.onnx").graph.name == "main_graph"
    ended = command_line("-t", "11", "--require-valid", str(tmp_path / "m.onnx"), str(tmp_path / "p.onnx"))
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "Field 'name' of 'graph' is required to be non-empty" in ended.err
