"""RewriteRules of onnxscript in a conversion: which are refused, what they leave, and what they read."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from helpers import model
from onnx import numpy_helper
from onnxscript.rewriter import RewriteRule, RewriteRuleSet

from split_rewrite.rewriter import CompareError, ConvertOpset, Options, SplitRewriteError, convert_file, convert_version

ONES = np.ones((64, 64), np.float32)
WEIGHTS = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
SOURCE = """g (float[64,64] x) => (float[64,64] y) {a = Mul(x, ones) b = MatMul(a, w) y = Relu(b)}"""


def source(text: str = SOURCE) -> onnx.ModelProto:
    proto = model(text, 18)
    proto.graph.initializer.append(numpy_helper.from_array(ONES, "ones"))
    proto.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
    return proto


def is_one(_context, w, **_) -> bool:
    return w.const_value is not None and bool((w.const_value.numpy() == 1).all())


def rule(replacement, name="times_one", check=is_one) -> RewriteRule:
    return RewriteRule(lambda op, x, w: op.Mul(x, w), replacement, check, name=name)


TIMES_ONE = rule(lambda op, x, w: op.Identity(x))


def operators(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


def test_a_rule_that_fails_is_named_as_the_cause():
    with pytest.raises(SplitRewriteError, match=r"rules: an onnxscript rule failed \(times_one\): division by zero"):
        convert_version(source(), 13, options=Options(rules=[rule(lambda op, x, w: 1 / 0)]))


def test_a_rule_that_would_end_the_program():
    with pytest.raises(SplitRewriteError, match=r"rules: an onnxscript rule failed \(times_one\): 3"):
        convert_version(source(), 13, options=Options(rules=[rule(lambda op, x, w: sys.exit(3))]))


def test_a_rule_whose_tensor_cannot_be_written():
    def read():
        raise RuntimeError("gone")

    def broken(op, x, **_):
        return op.Mul(
            x, op.initializer(ir.LazyTensor(read, dtype=ir.DataType.FLOAT, shape=ir.Shape([64, 64]), name="lazy"), "lazy")
        )

    with pytest.raises(SplitRewriteError, match=r"rules: an onnxscript rule failed \(times_one\): gone"):
        convert_version(source(), 13, options=Options(rules=[rule(broken)]))


def test_a_model_that_onnx_ir_cannot_hold():
    proto = source()
    sparse = onnx.helper.make_sparse_tensor(numpy_helper.from_array(ONES[0, :1]), numpy_helper.from_array(np.array([1])), [64, 64])
    proto.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["c"], sparse_value=sparse))
    with pytest.raises(SplitRewriteError, match="no onnxscript rule can be applied, as onnx_ir cannot hold the model: Sparse"):
        convert_version(proto, 13, options=Options(rules=[TIMES_ONE]))


def test_what_a_rule_leaves_has_to_be_valid():
    split = rule(lambda op, x, w: op.Split(x))
    with pytest.raises(SplitRewriteError, match=r"rules: the model is not valid after the onnxscript rules \(times_one\): Split"):
        convert_version(source(), 13, options=Options(rules=[split]))


def test_a_rule_that_is_wrong_does_not_pass_the_comparison():
    with pytest.raises(CompareError, match="outputs differ"):
        convert_version(source(), 13, options=Options(rules=[rule(lambda op, x, w: op.Transpose(x))]))


def test_a_number_is_no_rule():
    with pytest.raises(TypeError, match="each of rules has to be a RewriteRule, a function or the name"):
        Options(rules=[3])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "rules", [[TIMES_ONE], RewriteRuleSet([TIMES_ONE]), [RewriteRuleSet([TIMES_ONE])]], ids=["list", "set", "set in a list"]
)
def test_what_rules_leave_walks_on_to_the_target(rules):
    text = "g (float[64,64] x) => (float[64,32] y, float[64,32] z) {a = Mul(x, ones) y, z = Split <axis = 1, num_outputs = 2> (a)}"
    result = convert_version(source(text), 11, compare="required", options=Options(rules=rules))
    assert operators(result.model) == ["Identity", "Split"]
    assert result.report.applied["onnxscript.times_one"] == 1
    assert "ones" not in {tensor.name for tensor in result.model.graph.initializer}


def returns_what_it_matched(_op, x):
    return x


TWICE_NEGATED = RewriteRule(lambda op, x: op.Neg(op.Neg(x)), returns_what_it_matched, name="twice_negated")


@pytest.mark.parametrize(
    ("text", "outputs"),
    [
        ("g (float[N,4] x) => (float[N,4] y) {a = Neg(x) b = Neg(a) y = Relu(b)}", ["Relu"]),
        ("g (float[N,4] x) => (float[N,4] y, float[N,4] z) {a = Neg(x) y = Neg(a) z = Relu(x)}", ["Relu", "Identity"]),
        ("g (float[N,4] x) => (float[N,4] q, float[N,4] b) {q = Relu(x) a = Neg(q) b = Neg(a)}", ["Relu", "Identity"]),
        ("g (float[N,4] x) => (float[N,4] b) {q = Relu(x) a = Neg(q) b = Neg(a)}", ["Relu"]),
    ],
)
def test_inputs_and_outputs_keep_their_names(text, outputs):
    proto = model(text, 18)
    result = convert_version(proto, 13, compare="required", options=Options(rules=[TWICE_NEGATED])).model
    assert sorted(operators(result)) == sorted(outputs)
    assert result.graph.input == proto.graph.input and result.graph.output == proto.graph.output


def test_an_input_that_a_rule_takes_away():
    def drop(op, x, w):
        x.graph.inputs.pop()
        return op.Identity(x)

    with pytest.raises(SplitRewriteError, match="rules: an onnxscript rule removed an input or an output of the model"):
        convert_version(
            source("g (float[64,64] x, float z) => (float[64,64] y) {y = Mul(x, ones)}"), 13, options=Options(rules=[rule(drop)])
        )


def test_where_nothing_matches_nothing_changes():
    never = rule(lambda op, x, w: op.Identity(x), check=lambda _context, **_: False)
    assert convert_version(source(), None, options=Options(rules=[never])).model == convert_version(source(), None).model


@pytest.mark.parametrize("external", [False, True], ids=["inside", "in-a-data-file"])
def test_values_are_read_from_files_and_weights_stay_as_they_are(tmp_path, external):
    onnx.save(source(), tmp_path / "in.onnx", save_as_external_data=external, location="in.data", size_threshold=0)
    convert_file(tmp_path / "in.onnx", tmp_path / "out.onnx", 13, options=Options(rules=[TIMES_ONE]))
    result = onnx.load(tmp_path / "out.onnx")
    assert operators(result) == ["Identity", "MatMul", "Relu"]
    np.testing.assert_array_equal(numpy_helper.to_array(result.graph.initializer[0]), WEIGHTS)


def test_tensors_that_no_rule_asks_for_are_not_read():
    def read():
        raise AssertionError("somebody read it")

    held = ir.from_proto(source())
    held.graph.initializers["w"].const_value = ir.LazyTensor(read, dtype=ir.DataType.FLOAT, shape=ir.Shape([64, 64]), name="w")
    lazy = held.graph.initializers["w"].const_value
    ConvertOpset(13, compare="off", options=Options(rules=[TIMES_ONE]))(held)
    assert [node.op_type for node in held.graph] == ["Identity", "MatMul", "Relu"]
    assert held.graph.initializers["w"].const_value is lazy


def test_sparse_initializers_survive():
    proto = source("g (float[64,64] x) => (float[64,64] y) {a = Mul(x, ones) y = Relu(a)}")
    values = onnx.helper.make_tensor("s", onnx.TensorProto.FLOAT, [1], [2.0])
    indices = onnx.helper.make_tensor("s_indices", onnx.TensorProto.INT64, [1], [5])
    proto.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, indices, [64, 64]))
    result = convert_version(proto, 13, compare="off", options=Options(rules=[TIMES_ONE])).model
    assert operators(result) == ["Identity", "Relu"]
    assert result.graph.sparse_initializer == proto.graph.sparse_initializer
