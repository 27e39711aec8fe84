"""What must not change does not: names, metadata, other domains, untouched nodes, the caller's model; versions are stamped right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import helpers
import numpy as np
import onnx
import pytest
from helpers import convert_version, round_trip
from onnx import TensorProto, helper, numpy_helper

from split_rewrite.rewriter import Options, SplitRewriteError, convert_file


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


def test_overwritten_input_shapes_make_dimensions_known() -> None:
    source = helpers.model("g (float[N, 3] x) => (float[P, 3] a, float[Q, 3] b) {a, b = Split<num_outputs = 2>(x)}")
    result = convert_version(source, 9, options=Options(overwrite_input_shapes={"x": [5, 3]})).model
    assert list(result.graph.node[0].attribute[-1].ints) == [3, 2]
    for shapes, reason in [({"z": [1]}, "no input 'z'"), ({"x": [5]}, "has rank 2"), ({"x": [5, 4]}, "is 3, not 4")]:
        with pytest.raises(SplitRewriteError, match=reason):
            convert_version(source, 9, options=Options(overwrite_input_shapes=shapes))


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


def test_an_input_whose_name_is_no_text_is_listed_all_the_same(tmp_path: Path) -> None:
    proto = helpers.model("g (float[4] xx) => (float[4] y) {y = Relu(xx)}", 13)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString().replace(b"xx", b"x\x80"))
    with pytest.raises(SplitRewriteError, match=r"there is no input 'x'; inputs are b'x\\x80'"):
        convert_version(tmp_path / "m.onnx", 12, options=Options(overwrite_input_shapes={"x": (4,)}))


def test_a_log_for_those_who_listen(tmp_path, caplog):
    onnx.save(
        helpers.model("g (float[4] x) => (float[2] a, float[2] b) { [cut] a, b = Split<axis = 0, num_outputs = 2>(x) }"),
        tmp_path / "m.onnx",
    )
    with caplog.at_level("DEBUG", "split_rewrite"):
        convert_file(tmp_path / "m.onnx", tmp_path / "o.onnx", 12, compare="off")
    said = [(record.levelname, record.getMessage()) for record in caplog.records if record.name.startswith("split_rewrite")]
    assert said[-1] == ("INFO", f"{tmp_path}/m.onnx: converted to {tmp_path}/o.onnx: opset 18 to 12")
    assert any(level == "DEBUG" and "Split 'cut'" in text for level, text in said[:-1])


def test_warnings_are_not_printed_where_nobody_listens():
    gpt2 = Path(__file__).resolve().parents[3] / "models/gpt2_opset20.onnx"
    program = f"from split_rewrite.rewriter import check_convertible; assert check_convertible({str(gpt2)!r}, 13).remarks"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_is_simplified_where_the_result_of_that_is_not_valid() -> None:
    """Without the list, the shape of its element is known, and onnx.checker refuses the branch for another shape."""
    given = helpers.model(
        """g (float[3,4] x, bool d) => (float[M,N] y) <int64 o = {1}, int64[2] s = {1,2}, float[3,3] w = {1,2,3,4,5,6,7,8,9}>
        { l = SplitToSequence <axis = 0> (x, s) v = SequenceAt (l, o)
          y = If (d) <then_branch = t () => (a) { a = MatMul (w, v) }, else_branch = e () => (b) { b = Neg (v) }> }""",
        16,
    )
    with pytest.raises(SplitRewriteError, match="Incompatible dimensions"):
        convert_version(given, 18, options=Options(strict=True))
    result = convert_version(given, 18)
    assert "SequenceAt" in {node.op_type for node in result.model.graph.node}
    assert any(
        "it is converted as with --minimal, as the result of simplifying it is not valid" in str(warning)
        for warning in result.report.warnings
    )


@pytest.mark.parametrize("target", [11, 13, 15])
def test_a_split_that_comes_out_of_a_branch_is_folded_at_once(target: int) -> None:
    given = helpers.model(
        """g (int64[4] x) => (int64[M] y) <bool c = {1}>
        { a, b = If (c) <then_branch = t () => (p, q) { p, q = Split <axis = 0> (x) },
                         else_branch = e () => (r, s) { r = Neg (x) s = Neg (x) }>
          u = Concat <axis = 0> (a, b) y = Neg (u) }""",
        16,
    )
    once = convert_version(given, target).model
    assert [node.op_type for node in once.graph.node] == ["Neg"]
    assert convert_version(once, target).model == once
