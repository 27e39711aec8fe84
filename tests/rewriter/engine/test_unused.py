"""Names and nodes that a conversion leaves behind."""

from __future__ import annotations

import helpers
import numpy as np
import onnx
import pytest
from onnx import helper


def test_a_new_value_never_takes_the_name_of_one_that_is_gone() -> None:
    text = """g (float[2, 3] x) => (float[2, 2] y, float[2, 1] z) <int64[2] s = {2, 1}> {
        seq = SplitToSequence<axis = 1>(x, s)
        i = Constant<value_int = 0>() j = Constant<value_int = 1>()
        y_split = SequenceAt(seq, i)
        y = Identity(y_split)
        z = SequenceAt(seq, j) }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for target in (11, 13, 18):
        helpers.assert_same(helpers.model(text, 13), target, {"x": x})


LISTS = """g (float[2] x) => (float[1] y) <int64[2] s = {1, 1}, int64 i = {0}> {
    seq = SplitToSequence<axis = 0>(x, s)
    y = SequenceAt(seq, i) }"""


def annotated(*names: str) -> onnx.ModelProto:
    """A model whose lists go, with quantization annotations of the values `names`."""
    proto = helpers.model(LISTS, 13)
    for name in names:
        proto.graph.quantization_annotation.add(tensor_name=name)
    return proto


def test_annotations_of_values_that_are_gone_go_and_those_of_others_stay() -> None:
    result = helpers.convert_version(annotated("i", "x", "y", "seq"), 13).model
    assert "i" not in {tensor.name for tensor in result.graph.initializer}
    assert [entry.tensor_name for entry in result.graph.quantization_annotation] == ["x", "y"]


def test_types_of_values_that_are_gone_go_and_those_of_others_stay() -> None:
    proto = annotated()
    proto.graph.node.add(op_type="Relu", input=["x"], output=["kept"])
    proto.graph.value_info.extend(
        [helper.make_tensor_sequence_value_info("seq", 1, [1]), helper.make_tensor_value_info("kept", 1, [2])]
    )
    proto.graph.output.add(name="kept").CopyFrom(helper.make_tensor_value_info("kept", 1, [2]))
    del proto.graph.value_info[1]
    result = helpers.convert_version(proto, 13).model
    assert not [value.name for value in result.graph.value_info if value.name == "seq"]
    assert [node.op_type for node in result.graph.node if "kept" in node.output] == ["Relu"]


def test_what_the_author_left_unused_stays() -> None:
    proto = helpers.model("g (float[2] x) => (float[2] y) <float w = {1.0}> { h = Neg(x) y = Relu(x) }", 13)
    result = helpers.convert_version(proto, 17).model
    assert [node.op_type for node in result.graph.node] == ["Neg", "Relu"]
    assert [tensor.name for tensor in result.graph.initializer] == ["w"]


def test_a_random_node_stays_though_nothing_reads_it_any_more() -> None:
    """Without it, the others would draw other numbers."""
    text = """g (float[1] x) => (float[1] y) <int64[2] s = {1, 1}, int64 i = {0}> {
        drawn = RandomNormal<shape = [1]>()
        seq = SequenceConstruct(x, drawn)
        y = SequenceAt(seq, i) }"""
    result = helpers.convert_version(helpers.model(text, 13), 13, compare="off").model
    assert [node.op_type for node in result.graph.node if node.op_type != "Identity"] == ["RandomNormal"]


def test_what_an_annotation_names_as_a_scale_is_kept() -> None:
    """A Split of a constant is folded, and the constant stays: it is the scale of another value."""
    text = "g (float[2] x) => (float[2] y) <float[4] w = {1, 2, 3, 4}> { a, b = Split(w) c = Add(x, a) y = Add(c, b) }"
    proto = helpers.model(text, 13)
    proto.graph.quantization_annotation.add(tensor_name="x").quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    result = helpers.simplify(proto).model
    assert [node.op_type for node in result.graph.node] == ["Add", "Add"]
    assert "w" in {tensor.name for tensor in result.graph.initializer}
    assert result.graph.quantization_annotation == proto.graph.quantization_annotation


def test_an_annotation_follows_a_value_that_stands_for_another() -> None:
    text = """g (float[2] x) => (float[1] y, float[1] z) <int64[2] s = {1, 1}, int64 i = {0}> {
        seq = SplitToSequence<axis = 0>(x, s)
        e = SequenceAt(seq, i)
        y = Neg(e) z = Abs(e) }"""
    proto = helpers.model(text, 13)
    proto.graph.quantization_annotation.add(tensor_name="x").quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="e")
    result = helpers.convert_version(proto, 13).model
    (annotation,) = result.graph.quantization_annotation
    defined = {name for node in result.graph.node for name in node.output}
    assert annotation.quant_parameter_tensor_names[0].value in defined


NEW = 'RegexFullMatch<pattern = "a">(s)'
"""A node of opset 20 that older operators cannot express."""


@pytest.mark.parametrize(
    "text",
    [
        f"g (float[1] x, string[1] s) => (float[1] y, bool[1] q) {{ y = Relu(x) q = {NEW} }}",
        f"g (float[1] x, string[1] s) => (float[1] y, bool[1] q) {{ y = Relu(x) r = {NEW} q = {NEW} }}",
        f"g (float[1] x, string[1] s) => (float[1] y) {{ r = {NEW} y = If(r) <then_branch = t () => (float[1] u) {{ u = Relu(x) }}, else_branch = e () => (float[1] v) {{ v = Neg(x) }}> }}",
        f"g (float[1] x, string[1] s) => (float[1] y) {{ r = {NEW} f = Cast<to = 1>(r) d = RandomNormalLike(f) y = Relu(x) }}",
        f"g (float[1] x, string[1] s, bool c) => (float[1] y) {{ r = {NEW} f = Cast<to = 1>(r) d = If(c) <then_branch = t () => (float[1] u) {{ u = RandomNormalLike(f) }}, else_branch = e () => (float[1] v) {{ v = Neg(f) }}> y = Relu(x) }}",
    ],
    ids=["read by the caller", "one of two", "read by an If", "read where numbers are drawn", "read where a branch draws them"],
)
def test_a_node_that_is_read_is_in_the_way(text: str) -> None:
    proto = helpers.model(text, 20)
    for node in proto.graph.node:
        node.name = ""
    assert "RegexFullMatch is new in opset 20" in helpers.refusal(proto, 13)


@pytest.mark.parametrize(
    "text",
    [
        f"g (float[1] x, string[1] s) => (float[1] y) {{ q = {NEW} y = Relu(x) }}",
        f"g (float[1] x, string[1] s) => (float[1] y) {{ q = {NEW} n = Not(q) c = Cast<to = 1>(n) y = Relu(x) }}",
        f"g (float[1] x, string[1] s) => (float[1] y) {{ q = {NEW} r = {NEW} n = And(q, r) y = Relu(x) }}",
    ],
)
def test_a_node_that_nothing_reads_is_not_in_the_way(text: str) -> None:
    result, report = helpers.convert_version(helpers.model(text, 20), 13, compare="required")
    assert [node.op_type for node in result.graph.node] == ["Relu"]
    warnings = [warning for warning in report.warnings if "nothing reads it" in warning]
    assert warnings[0].startswith("RegexFullMatch 'q' (main graph)")
    assert "nothing reads it, and it cannot be converted, so it is left out: RegexFullMatch is new in opset 20" in warnings[0]


def test_what_nothing_reads_stays_where_it_is_not_in_the_way() -> None:
    result = helpers.convert_version(helpers.model("g (float[1] x) => (float[1] y) { q = Neg(x) y = Relu(x) }", 20), 13).model
    assert [node.op_type for node in result.graph.node] == ["Neg", "Relu"]
