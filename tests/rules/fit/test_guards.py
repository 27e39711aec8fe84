"""Guards against NaN, for lists of operators without IsNaN, and what is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fitting import for_a_list, refused_for
from helpers import model, run
from onnx import ModelProto, TensorProto, numpy_helper

from split_rewrite import rewriter
from split_rewrite.rewriter.engine.registry import simplify
from split_rewrite.rewriter.graph.node import Node

HALF_HIDDEN = np.array([[0, -np.inf, -1], [-np.inf, 2, -np.inf]], np.float32)
HIDDEN = np.array([[0, -np.inf, -1], [-np.inf, -np.inf, -np.inf]], np.float32)
ALLOWED = ["MatMul", "Gemm", "Conv", "Add", "Mul", "Softmax", "Where", "Transpose", "Log"]


def attention(scores: str, mask: np.ndarray = HALF_HIDDEN, *, ending: str = "b = IsNaN(w) r = Where(b, zero, w)") -> ModelProto:
    """A model whose weights `w` are the Softmax of a value `s`, which `scores` computes of a product `p` and a stored `mask`."""
    softmax = "" if "w =" in scores else "w = Softmax <axis = -1> (s)"
    text = f"""g (float[2,4] q, float[4,3] k, float[2,3] x, float[3,2] v) => (float[2,2] y) <float zero = {{0}}, float scale = {{0.5}}> {{
        p = MatMul(q, k) {scores} {softmax} {ending} y = MatMul(r, v) }}"""
    proto = model(text, 13)
    proto.graph.initializer.append(numpy_helper.from_array(mask, "mask"))
    return proto


def half(scores: str) -> ModelProto:
    """The same in float16, with a row of the lowest number."""
    proto = attention(scores, np.array([[0, -65504, 0], [-65504, -65504, -65504]], np.float16))
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for tensor in proto.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    return proto


def gemm(added: str, mask: np.ndarray = HALF_HIDDEN) -> ModelProto:
    """The same with a Gemm, which adds the mask itself."""
    proto = attention("", mask, ending="b = IsNaN(w) r = Where(b, zero, w)")
    product, softmax = proto.graph.node[:2]
    product.op_type, product.output[0] = "Gemm", "s"
    product.input.append(added)
    assert softmax.input[0] == "s"
    return proto


REFUSED = {
    "a row that is hidden as a whole": attention("s = Add(p, mask)", HIDDEN),
    "a mask with NaN": attention("s = Add(p, mask)", np.full((2, 3), np.nan, np.float32)),
    "a mask with infinity": attention("s = Add(p, mask)", np.abs(HALF_HIDDEN)),
    "a mask that is multiplied": attention("s = Mul(p, mask)"),
    "scores that are an input": attention("s = Add(x, mask)"),
    "scores that may be infinite": attention("l = Log(p) s = Add(l, mask)"),
    "a Softmax along columns": attention("s = Add(p, mask) w = Softmax <axis = 0> (s)"),
    "another number than the Softmax": attention("s = Add(p, mask)", ending="b = IsNaN(w) r = Where(b, zero, x)"),
    "a guard of something else": attention("s = Add(p, mask)", ending="b = IsNaN(s) r = Where(b, zero, w)"),
    "a mask that a Gemm adds": gemm("x"),
    "a stored mask that a Gemm adds": gemm("mask", HIDDEN),
    "a factor with infinities": attention("s = MatMul(p, mask)", np.vstack([HIDDEN, HIDDEN])[:3]),
    "a row of the lowest numbers": half("s = Add(p, mask)"),
    "a guard that is read twice": attention("s = Add(p, mask)", ending="b = IsNaN(w) t = Where(b, zero, w) r = Where(b, t, w)"),
}


@pytest.mark.parametrize("proto", REFUSED.values(), ids=REFUSED)
def test_a_guard_that_may_be_needed_stays(proto: ModelProto, tmp_path: Path) -> None:
    assert "IsNaN 'b' (main graph): NPU 1 does not allow it: it is not among the operators" in refused_for(tmp_path, ALLOWED, proto)


def test_what_a_convolution_adds_may_hide_all(tmp_path: Path) -> None:
    text = """g (float[1,2,3] q, float[2,2,1] k, float[3,2] v) => (float[1,2,2] y) <float zero = {0}> {
        s = Conv(q, k) w = Softmax<axis = -1>(s) b = IsNaN(w) r = Where(b, zero, w) y = MatMul(r, v) }"""
    result = rewriter.convert_version(model(text, 13), options=for_a_list(tmp_path, ALLOWED))
    assert [node.op_type for node in result.model.graph.node] == ["Conv", "Softmax", "MatMul"]
    added = model(text.replace("Conv(q, k)", "Conv(q, k, m)").replace("float[3,2] v", "float[3,2] v, float[2] m"), 13)
    assert "IsNaN 'b' (main graph): NPU 1 does not allow it" in refused_for(tmp_path, ALLOWED, added)


REWRITES = [
    (
        "guards.weights_are_numbers",
        ALLOWED,
        attention("s = Add(p, mask)"),
        ["MatMul", "Add", "Softmax", "MatMul"],
    ),
    (
        "guards.constant_choice",
        ["MatMul", "Add", "Mul", "Softmax"],
        attention("m = Mul(p, scale) s = Add(mask, m)"),
        ["MatMul", "Mul", "Add", "Softmax", "MatMul"],
    ),
    (
        "guards.constant_choice",
        ["MatMul", "Softmax"],
        attention("w = Softmax(p)"),
        ["MatMul", "Softmax", "MatMul"],
    ),
]


@pytest.mark.parametrize(("rule", "allowed", "original", "operators"), REWRITES)
def test_rewrites(rule: str, allowed: list[str], original: ModelProto, operators: list[str], tmp_path: Path) -> None:
    result = rewriter.convert_version(original, options=for_a_list(tmp_path, allowed), compare="required")
    assert rule in result.report.applied
    assert [node.op_type for node in result.model.graph.node] == operators
    random = np.random.default_rng(0)
    feeds = {
        value.name: random.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in original.graph.input
    }
    for wanted, found in zip(run(original, feeds), run(result.model, feeds), strict=True):
        assert np.isfinite(wanted).all() and np.array_equal(wanted, found)


@pytest.mark.parametrize(
    "text",
    [
        "g (float[3] x, float[2,3] z) => (float[2,3] y) <bool c = {0}> { t = Where(c, z, x) y = Add(t, t) }",
        "g (float[2] x, float[2] z) => (float[2] y) <bool[2] c = {0, 1}> { t = Where(c, z, x) y = Add(t, t) }",
        "g (float[2] x, float[2] z, bool c) => (float[2] y) { t = Where(c, z, x) y = Add(t, t) }",
    ],
)
def test_only_a_constant_choice_of_the_whole_shape_goes(text: str, tmp_path: Path) -> None:
    assert "Where 't' (main graph): NPU 1 does not allow it" in refused_for(tmp_path, ["Add"], model(text, 13))


def test_a_batch_may_be_open_and_nodes_are_compared(tmp_path: Path) -> None:
    proto = attention("s = Add(mask, p)", HALF_HIDDEN[:1])
    for value in (proto.graph.input[0], proto.graph.input[2], proto.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    result = rewriter.convert_version(proto, options=for_a_list(tmp_path, ALLOWED), compare="nodes")
    assert [node.op_type for node in result.model.graph.node] == ["MatMul", "Add", "Softmax", "MatMul"]
    assert result.report.comparison is not None and result.report.comparison.status == "equal"


@simplify("Abs", opset=13)
def limited(node: Node) -> None:
    """A wrong rule, which loses infinities."""
    op = node.op
    node.become.Min(op.Max(node.input(0), op.Neg(node.input(0))), op.const(1e30, node.need_elem_type()))


def test_infinities_count_where_no_guard_was(tmp_path: Path) -> None:
    proto = attention("s = Add(p, mask)")
    proto.graph.node.add(op_type="Abs", input=["x"], output=["z"])
    proto.graph.output.add().CopyFrom(proto.graph.input[2])
    proto.graph.output[1].name = "z"
    options = for_a_list(tmp_path, [*ALLOWED, "Abs", "Max", "Min", "Neg"])
    with pytest.raises(rewriter.CompareError, match=r"output 'z' differs"):
        rewriter.convert_version(proto, options=replace(options, rules=[limited]), compare="required")
