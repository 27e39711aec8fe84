"""Names, numbers and remarks go; what a failure may depend on stays."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import model, run
from onnx import TensorProto, helper, numpy_helper

from split_rewrite.rewriter.reproducing import anonymous
from split_rewrite.rewriter.storage.payload import tensor_of

TEXT = """<ir_version: 10, opset_import: ["" : 18, "acme" : 1]>
    patients (float[beds, 3] age, bool ill) => (float[beds, 3] risk) <float[3] weights = {7, 8, 9}> {
        [first] half = acme.halve (age)
        risk = If (ill) <then_branch = sick () => (float[beds, 3] p) { p = Mul (half, weights) },
                         else_branch = well () => (float[beds, 3] q) { q = Neg (half) }> }
    <domain: "acme", opset_import: ["" : 18]> halve (value) => (out) { two = Constant <value = float {2.0}> () out = Div (value, two) }"""


def test_the_renamed_model_computes_the_same() -> None:
    before, after = model(TEXT, 18), model(TEXT, 18)
    anonymous.strip(after)
    anonymous.rename(after)
    anonymous.rename_operators(after)
    onnx.checker.check_model(after, full_check=True)
    words = ("patients", "age", "ill", "risk", "beds", "weights", "half", "halve", "acme", "first", "sick", "value ")
    text = onnx.printer.to_text(after)
    assert [word for word in words if word in text] == []
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for condition in (True, False):
        given = [x, np.array(condition)]
        outputs = [run(proto, dict(zip((i.name for i in proto.graph.input), given, strict=True)))[0] for proto in (before, after)]
        np.testing.assert_array_equal(*outputs)


def test_remarks_and_metadata_go() -> None:
    proto = model(TEXT, 18)
    proto.producer_name, proto.doc_string = "acme exporter", "secret"
    proto.graph.node[0].doc_string = proto.graph.input[0].doc_string = "secret"
    proto.metadata_props.add(key="who", value="secret")
    proto.graph.input[0].type.denotation = proto.graph.input[0].type.tensor_type.shape.dim[0].denotation = "secret"
    proto.functions[0].node[0].attribute[0].doc_string = "secret"
    anonymous.strip(proto)
    assert "secret" not in str(proto) and "exporter" not in str(proto)


@pytest.mark.parametrize(
    ("array", "telling"),
    [
        (np.zeros(2, np.float32), True),
        (np.zeros(anonymous.SMALL, np.int64), False),
        (np.zeros(anonymous.SMALL + 1, np.int64), True),
        (np.array(["name"], object), True),
        (np.zeros(4, np.int8), True),
        (np.zeros(0, np.float32), False),
    ],
)
def test_whose_numbers_are_somebodys_own(array: np.ndarray, telling: bool) -> None:
    assert anonymous.is_telling(numpy_helper.from_array(array, "t")) is telling


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.bool_, np.int64, ml_dtypes.bfloat16, ml_dtypes.int4, object])
def test_generated_tensors_have_the_same_type_and_shape(dtype: type) -> None:
    array = np.full((3, 5), "own" if dtype is object else 5).astype(dtype)
    tensor = tensor_of(array, "t")
    before = TensorProto.FromString(tensor.SerializeToString())
    anonymous.generate(tensor)
    assert (tensor.name, tensor.data_type, list(tensor.dims)) == ("t", before.data_type, [3, 5])
    assert tensor != before or dtype is np.bool_  # of these there are only two
    onnx.checker.check_tensor(tensor)


def test_attributes_and_imports_that_nobody_reads_go() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17, "acme" : 1, "unread" : 3]> g (float[2] x) => (float[2] y) { y = acme.Own <key = "secret"> (x) }'
    proto = model(text, 17)
    anonymous.without_own_attributes(proto)
    anonymous.without_unread_imports(proto)
    assert not proto.graph.node[0].attribute
    assert [entry.domain for entry in proto.opset_import] == ["", "acme"]
    assert anonymous.rename_operators(proto) == {"Own": "Op1"}


def test_parameters_of_functions_get_other_names() -> None:
    text = """<ir_version: 10, opset_import: ["" : 18, "f" : 1]> g (float[2, 3] x) => (float[2, 3] y) { y = f.own <secret = 0> (x) }
        <domain: "f", opset_import: ["" : 18]> own <secret> (a) => (b) { b = Softmax <axis: int = @secret> (a) }"""
    before, after = model(text, 18), model(text, 18)
    anonymous.rename(after)
    assert "secret" not in str(after)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    outputs = [run(proto, {proto.graph.input[0].name: x})[0] for proto in (before, after)]
    np.testing.assert_array_equal(*outputs)


def test_words_and_numbers_in_attributes_go() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (string[2] x) => (int64[2] y, string[1] z) {
        y = ai.onnx.ml.LabelEncoder <keys_strings = ["secret", "secret two"], values_int64s = [1, 2]> (x)
        z = Constant <value_strings = ["secret"]> () }"""
    proto = model(text, 17)
    function = helper.make_function("f", "F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    function.attribute_proto.append(helper.make_attribute("word", "secret"))
    proto.functions.append(function)
    anonymous.generate_attributes(proto)
    assert "secret" not in str(proto)


def test_what_stands_beside_the_graph_goes() -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = Relu (x) }", 17)
    proto.training_info.add().algorithm.name = "secret"
    proto.graph.quantization_annotation.add().tensor_name = "secret"
    anonymous.without_training(proto)
    assert "secret" not in str(proto)


def test_values_of_sparse_tensors_go() -> None:
    proto = model("g (float[2, 3] x) => (float[2, 3] y) { y = Mul (x, w) }", 17)
    values = numpy_helper.from_array(np.array([123.5, 321.5], np.float32), "w")
    places = numpy_helper.from_array(np.array([0, 2]), "secret")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [3]))
    for tensor in filter(anonymous.is_telling, anonymous.tensors_of(proto)):
        anonymous.generate(tensor)
    (sparse,) = proto.graph.sparse_initializer
    assert not np.isin(numpy_helper.to_array(sparse.values), [123.5, 321.5]).any()
    anonymous.rename(proto)
    assert "secret" not in str(proto) and sparse.values.name == proto.graph.node[0].input[1]
