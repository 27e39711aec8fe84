"""Guards against NaN, for lists of operators without IsNaN, and what is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fitting import for_a_list, refused_for
from helpers import convert_version, model, run
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
        "guards.known_choice",
        ["MatMul", "Add", "Mul", "Softmax"],
        attention("m = Mul(p, scale) s = Add(mask, m)"),
        ["MatMul", "Mul", "Add", "Softmax", "MatMul"],
    ),
    (
        "guards.known_choice",
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


NUMBERS = ["MatMul", "Add", "Mul", "Sub", "Relu", "Cast", "Softmax"]
HIDING = """g (float[2,4] q, float[4,3] k, int32[2,3] m, float[3,2] v) => (float[2,2] y)
    <float zero = {{0}}, float lowest = {{-3e38}}, float least = {{-inf}}, float large = {{inf}},
    float[2,1,1] zeros = {{0,0}}, float[2,3] causal = {{0,-3e38,-3e38,0,0,-3e38}}> {{
    p = MatMul(q, k) b = Cast<to = 9>(m) h = {} s = Add(p, h) w = Softmax<axis = -1>(s)
    n = IsNaN(w) r = Where(n, {}, w) y = MatMul({}, v) }}"""
HIDDEN_FEEDS = {
    "q": np.array([[1, -2, 3, 0.5], [0, 1, 2, -1]], np.float32),
    "k": np.arange(12, dtype=np.float32).reshape(4, 3) / 8,
    "v": np.array([[1, 2], [-3, 4], [5, 6]], np.float32),
}


@pytest.mark.parametrize("mask", ["Where(b, zero, least)", "Where(b, least, zero)", "Where(b, zero, lowest)"])
@pytest.mark.parametrize("hidden", [[[1, 0, 1], [0, 0, 0]], [[0, 0, 5], [1, -1, 2]]])
def test_rows_that_a_mask_hides_at_run_time(mask: str, hidden: list[list[int]], tmp_path: Path) -> None:
    original = model(HIDING.format(mask, "zero", "r"), 13)
    options = for_a_list(tmp_path, NUMBERS, '[all]\ntype = { "*" = ["float", "int32"] }')
    result = rewriter.convert_version(original, options=options, compare="required").model
    feeds = {**HIDDEN_FEEDS, "m": np.array(hidden, np.int32)}
    (wanted,), (found,) = run(original, feeds), run(result, feeds)
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("mask", "instead", "read"),
    [
        ("Where(b, zero, large)", "zero", "r"),
        ("Where(b, least, lowest)", "lowest", "r"),
        ("Where(b, lowest, least)", "zero", "r"),
        ("Where(b, zero, least) p = Add(p0, causal)", "zero", "r"),
        ("Where(b, zero, least)", "zeros", "r"),
        ("Where(b, zero, least)", "zero", "w"),
    ],
)
def test_rows_that_stay_nan_or_something_else_are_refused(mask: str, instead: str, read: str, tmp_path: Path) -> None:
    text = HIDING.format(mask, instead, read).replace("float[2,2] y)", "float[2,2] y, float[2,3] r)")
    original = model(text.replace("p = MatMul", "p0 = MatMul", 1) if "p0" in mask else text, 13)
    with pytest.raises(rewriter.UnconvertibleError, match=r"Where 'h' \(main graph\): NPU 1 does not allow it"):
        rewriter.convert_version(original, options=for_a_list(tmp_path, NUMBERS))


def test_what_an_input_holds_is_no_stored_mask(tmp_path: Path) -> None:
    text = """g (float[2,4] q, float[4,3] k, float[2,3] m, int64[2] l) => (float[2,3] y) <float zero = {0}> {
        p = MatMul(q, k) h = ReverseSequence<batch_axis = 0, time_axis = 1>(m, l) s = Add(p, h) w = Softmax<axis = -1>(s)
        n = IsNaN(w) y = Where(n, zero, w) }"""
    message = refused_for(tmp_path, [*NUMBERS, "ReverseSequence"], model(text, 13))
    assert "IsNaN 'n' (main graph): NPU 1 does not allow it: it is not among the operators" in message


def test_a_mask_of_float16_leaves_no_room_for_lower_numbers(tmp_path: Path) -> None:
    text = HIDING.format("Where(b, zero, least)", "zero", "r").replace("float", "float16")
    for number, bits in (("-3e38", "64511"), ("-inf", "64512"), ("inf", "31744")):
        text = text.replace(number, bits)
    assert "Where 'h' (main graph): NPU 1 does not allow it" in refused_for(tmp_path, NUMBERS, model(text, 13))


@pytest.mark.parametrize(
    "body",
    [
        "h = Where(b, zero, lowest) g = MatMul(h, eye) a = Add(p, g) s = Add(a, h)",
        "h = Where(b, zero, least) s = MatMul(h, eye)",
        'h = Where(b, zero, lowest) s = ScatterElements<reduction = "add", axis = 1>(h, first, lows)',
        "h = Where(b, zero, least) c = Where(b2, zero, low) d = Mul(c, thousand) a = Add(p, d) s = Add(a, h)",
        "h = Where(b, zero, lowest) c = Where(b2, zero, low) d = Mul(c, thousand) a = Add(p, d) s = Add(a, h)",
        "h = Where(b, zero, lowest) a = Add(p, h) s = Add(a, h)",
        "h = Where(b, zero, lowest) c = Mul(h, thousand) s = Add(p, c)",
    ],
)
def test_masks_that_leave_no_numbers_together_are_guarded(body: str, tmp_path: Path) -> None:
    text = f"""g (float[2,4] q, float[4,3] k, int32[2,3] m, int32[2,3] m2, float[3,2] v) => (float[2,2] y)
        <float zero = {{0}}, float lowest = {{-3.4028234e38}}, float low = {{-1e29}}, float least = {{-inf}}, float thousand = {{1000}},
        float[3,3] eye = {{1,0,0,0,1,0,0,0,1}}, int64[2,1] first = {{0,0}}, float[2,1] lows = {{-3e38,-3e38}}> {{
        p = MatMul(q, k) b = Cast<to = 9>(m) b2 = Cast<to = 9>(m2) {body} w = Softmax<axis = -1>(s)
        n = IsNaN(w) r = Where(n, zero, w) y = MatMul(r, v) }}"""
    for allowed, rules in ((NUMBERS, '[all]\ntype = {{ "*" = ["float", "int32"] }}'), ([*NUMBERS, "Where", "ScatterElements"], "")):
        with pytest.raises(rewriter.UnconvertibleError, match=r"IsNaN 'n' \(main graph\): NPU 1 does not allow it"):
            convert_version(model(text, 18), 18, options=for_a_list(tmp_path, allowed, rules.format()))
