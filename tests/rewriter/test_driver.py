"""What must not change does not: names, metadata, other domains, untouched nodes, the caller's model; versions are stamped right."""

from __future__ import annotations

from pathlib import Path

import helpers
import numpy as np
import onnx
import pytest
from helpers import convert_version, round_trip
from onnx import TensorProto, helper, numpy_helper

from split_rewrite.rewriter import ArgumentError, CheckError, Options, SplitRewriteError, UnconvertibleError
from split_rewrite.rewriter.checks import validity


def annotated_model() -> onnx.ModelProto:
    """A model with everything that other converters lose; only its Split has to change between 13 and 11."""
    proto = helpers.model(
        """<ir_version: 10, opset_import: ["" : 13, "com.example" : 3, "local" : 1], producer_name: "me", model_version: 7,
            doc_string: "the model">
        g (float[N, 4] x) => (float[N, 2] b, float[N, 2] d)
        <int64[2] s = {2, 2}, float[2] scale = {1, 2}>
        { a, b = Split<axis = 1>(x, s)
          c = com.example.Custom<alpha = 0.5>(a)
          r = Relu(a)
          e = local.twice(r)
          d = Mul(e, scale) }
        <domain: "local", opset_import: ["" : 13], doc_string: "a function"> twice (v) => (w) { w = Add(v, v) }"""
    )
    for index, node in enumerate(proto.graph.node):
        node.name = f"node{index}"
        node.doc_string = f"doc of {index}"
        node.metadata_props.add(key="namespace", value=f"layer{index}")
    proto.graph.doc_string = "the graph"
    proto.metadata_props.add(key="author", value="us")
    proto.graph.initializer[1].doc_string = "a scale"
    proto.graph.input[0].doc_string = "the input"
    proto.graph.input[0].type.denotation = "TENSOR"
    proto.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    proto.graph.value_info.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, ["N", 2]))
    annotation = proto.graph.quantization_annotation.add(tensor_name="r")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    sparse = onnx.SparseTensorProto(dims=[4])
    sparse.values.CopyFrom(numpy_helper.from_array(np.array([1.0], np.float32), "sparse"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([2], np.int64)))
    proto.graph.sparse_initializer.append(sparse)
    return proto


def test_untouched_means_untouched() -> None:
    source = annotated_model()
    untouched = source.SerializeToString()
    result = convert_version(source, 11).model
    assert source.SerializeToString() == untouched, "the caller's model is not changed"
    for before, after in zip(source.graph.node[1:], result.graph.node[1:], strict=True):
        assert after.SerializeToString() == before.SerializeToString()
    split = result.graph.node[0]
    assert (split.name, split.doc_string, split.metadata_props[0].value) == ("node0", "doc of 0", "layer0")
    assert [t.name for t in result.graph.initializer] == ["scale"], "only what the Split alone read is gone"
    for field in ("input", "output", "value_info", "sparse_initializer", "quantization_annotation", "doc_string", "name"):
        assert getattr(result.graph, field) == getattr(source.graph, field), field
    assert result.functions[0].node == source.functions[0].node
    assert (result.producer_name, result.model_version, result.doc_string) == ("me", 7, "the model")
    assert result.metadata_props == source.metadata_props
    assert {entry.domain: entry.version for entry in result.opset_import} == {"": 11, "com.example": 3, "local": 1}


def test_same_input_gives_the_same_bytes() -> None:
    first, second = (convert_version(annotated_model(), 18).model.SerializeToString(deterministic=True) for _ in range(2))
    assert first == second


def test_unknown_fields_survive() -> None:
    source = helpers.model("g (float[4] x) => (float[2] a, float[2] b) {a, b = Split(x)}", 13)
    unknown = onnx.NodeProto.FromString(source.graph.node[0].SerializeToString() + b"\xfa\x3f\x03abc")
    source.graph.node[0].CopyFrom(unknown)
    assert b"\xfa\x3f\x03abc" in convert_version(source, 18).model.SerializeToString()


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_a_model_at_the_target_comes_back_equal(opset: int) -> None:
    body = "Split<num_outputs = 2>(x)" if opset == 18 else "Split(x)"
    source = helpers.model(f"g (float[4] x) => (float[2] a, float[2] b) {{a, b = {body}}}", opset)
    for target in (opset, None):
        result = convert_version(source, target)
        assert result.model == source
        assert not result.report.changes


def test_two_names_for_the_default_domain() -> None:
    source = helpers.model("g (float[4] x) => (float[2] a, float[2] b) {a, b = Split(x)}", 13)
    source.opset_import[0].domain = "ai.onnx"
    result = convert_version(source, 18).model
    assert [(entry.domain, entry.version) for entry in result.opset_import] == [("ai.onnx", 18)]
    source.opset_import.add(domain="", version=12)
    assert "twice, as opset 12 and 13" in helpers.invalidity(source, 18)


def test_all_blockers_are_named_at_once() -> None:
    text = """g (float[N, 4] x, int64[2] s, bool c) => (float[N, P] a, float[N, Q] y) {
        [first] a, b = Split<axis = 1>(x, s)
        [cond] y = If (c) <then_branch = t () => (float[N, R] p) {[inner] p, q = Split<axis = 1>(x, s)},
                           else_branch = e () => (float[N, T] r) {r = Identity(x)}> }"""
    with pytest.raises(UnconvertibleError) as refusal:
        convert_version(helpers.model(text, 13), 5)
    named = {(blocker.node, blocker.where) for blocker in refusal.value.blockers}
    assert {("first", "main graph"), ("inner", "If 'cond' then_branch")} <= named


@pytest.mark.parametrize(
    ("target", "reason"),
    [(0, "target opset 0 is unknown"), (99, "target opset 99 is unknown"), (-1, "target opset -1 is unknown")],
)
def test_unknown_targets(target: int, reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        convert_version(helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}"), target)


def test_a_model_newer_than_onnx() -> None:
    source = helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}")
    source.opset_import[0].version = 99
    error = helpers.invalidity(source, 18)
    assert "the model's opset 99 is unknown" in error and "a newer onnx may know it" in error


def test_a_result_that_fails_the_check_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    source = helpers.model("g (float[4] x) => (float[2] a, float[2] b) {a, b = Split(x)}", 13)
    answers = iter(["", "broken", ""])
    monkeypatch.setattr(validity, "checker_failure", lambda *_, **__: next(answers))
    with pytest.raises(CheckError, match=r"the result failed onnx\.checker: broken"):
        convert_version(source, 18)


IR_VERSIONS = {
    "lowered-on-the-way-down": (18, 8, 11, 6),
    "kept-where-older-already": (18, 4, 13, 4),
    "kept-on-the-way-up": (11, 6, 18, 6),
    "kept-at-the-same-opset": (13, 8, 13, 8),
    "oldest": (9, 8, 7, 3),
}


@pytest.mark.parametrize(("opset", "ir", "target", "expected"), IR_VERSIONS.values(), ids=IR_VERSIONS)
def test_ir_version(opset: int, ir: int, target: int, expected: int) -> None:
    source = helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}", opset, ir_version=ir)
    assert convert_version(source, target).model.ir_version == expected


def test_ir_version_stays_as_new_as_the_model_needs() -> None:
    text = """<ir_version: 9, opset_import: ["" : 18, "local" : 1]> g (float[4] x) => (float[4] y) {y = local.f(x)}
    <domain: "local", opset_import: ["" : 18]> f (v) => (w) {w = Relu(v)}"""
    assert convert_version(helpers.model(text), 11).model.ir_version == 8, "functions came with IR 8"
    source = helpers.model("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {y = Add(x, w)}", 13)
    assert convert_version(source, 7).model.ir_version == 4, "an initializer that is no input came with IR 4"


@pytest.mark.parametrize(("ir", "expected"), [(7, 4), (4, 4), (3, 3)])
def test_ir_version_stays_at_one_that_lets_callers_override(ir: int, expected: int) -> None:
    text = "g (float[4] x, float[4] w) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {y = Mul(x, w)}"
    result = convert_version(helpers.model(text, 13, ir_version=ir), 7).model
    assert result.ir_version == expected
    if expected == 4:
        x, w = np.ones(4, np.float32), np.full(4, 5, np.float32)
        np.testing.assert_array_equal(helpers.run(result, {"x": x, "w": w})[0], w, strict=True)
    older = convert_version(helpers.model(text, 13, ir_version=ir), 7, options=Options(ir_version=3)).model
    assert older.ir_version == 3


def test_ir_version_on_request() -> None:
    source = helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}", 18)
    assert convert_version(source, 18, options=Options(ir_version=7)).model.ir_version == 7
    text = """<ir_version: 9, opset_import: ["" : 18, "local" : 1]> g (float[4] x) => (float[4] y) {y = local.f(x)}
    <domain: "local", opset_import: ["" : 18]> f (v) => (w) {w = Relu(v)}"""
    with pytest.raises(SplitRewriteError, match="needs at least IR version 8"):
        convert_version(helpers.model(text), 18, options=Options(ir_version=7))


def test_overwritten_input_shapes_make_dimensions_known() -> None:
    source = helpers.model("g (float[N, 3] x) => (float[P, 3] a, float[Q, 3] b) {a, b = Split<num_outputs = 2>(x)}")
    result = convert_version(source, 9, options=Options(overwrite_input_shapes={"x": [5, 3]})).model
    assert list(result.graph.node[0].attribute[-1].ints) == [3, 2]
    for shapes, reason in [({"z": [1]}, "no input 'z'"), ({"x": [5]}, "has rank 2"), ({"x": [5, 4]}, "is 3, not 4")]:
        with pytest.raises(SplitRewriteError, match=reason):
            convert_version(source, 9, options=Options(overwrite_input_shapes=shapes))


def test_a_rule_that_is_skipped_blocks_where_it_is_needed() -> None:
    source = helpers.model("g (float[4] x) => (float[2] a, float[2] b) {a, b = Split(x)}", 13)
    with pytest.raises(UnconvertibleError, match=r"rule split\.count_equal_parts is needed here, and --only or --skip excludes it"):
        convert_version(source, 18, options=Options(skip=frozenset({"split"})))
    with pytest.raises(SplitRewriteError, match="no rule 'nonsense'"):
        convert_version(source, 18, options=Options(only=frozenset({"nonsense"})))


@pytest.mark.parametrize("target", [17, 13, 12])
def test_round_trip(target: int) -> None:
    source = helpers.model(
        "g (float[7, N] x) => (float[3, N] a, float[3, N] b, float[1, N] c) {a, b, c = Split<num_outputs = 3>(x)}"
    )
    back = round_trip(source, target).model
    assert back.opset_import[0].version == 18
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    for got, want in zip(helpers.run(back, {"x": x}), np.split(x, [3, 6]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_parts_that_no_rule_looks_into_are_refused() -> None:
    source = helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}", 13)
    source.training_info.add().algorithm.node.add(op_type="Split", input=["x"], output=["a", "b"])
    assert "has training_info, which is not converted" in helpers.invalidity(source, 18)
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[4] x) => (float[4] y) {y = Mish(x)}
    <domain: "", opset_import: ["" : 18]> Mish (v) => (w) {w = Relu(v)}"""
    assert "'Mish' redefines an operator" in helpers.invalidity(helpers.model(text), 13)


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


def test_an_absent_attribute_of_an_operator_with_a_function_body_is_valid() -> None:
    source = helpers.model("g (float[1, 2, 2, 2] x) => (float[1, 2, 2, 2] y) {y = MeanVarianceNormalization(x)}", 13)
    result = convert_version(source, 18).model
    assert result.graph.node == source.graph.node


def test_deprecated_operators_are_converted_away() -> None:
    """onnx.checker refuses them at their own opset; a conversion away from it is the cure."""
    text = "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> {y = Upsample(x, s)}"
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    for target, operator in ((13, "Resize"), (9, "Upsample")):
        result = convert_version(helpers.model(text, 10), target).model
        (got,) = helpers.run(result, {"x": x})
        np.testing.assert_array_equal(got, x.repeat(2, axis=2).repeat(2, axis=3))
        assert [node.op_type for node in result.graph.node] == [operator]


def test_an_input_whose_name_is_no_text_is_listed_all_the_same(tmp_path: Path) -> None:
    proto = helpers.model("g (float[4] xx) => (float[4] y) {y = Relu(xx)}", 13)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString().replace(b"xx", b"x\x80"))
    with pytest.raises(SplitRewriteError, match=r"there is no input 'x'; inputs are b'x\\x80'"):
        convert_version(tmp_path / "m.onnx", 12, options=Options(overwrite_input_shapes={"x": (4,)}))
