"""What fuzzing found: each model here was once converted wrongly, to no valid model, or not at all."""

from __future__ import annotations

from pathlib import Path

import helpers
import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import convert_version, run_isolated
from onnx import TensorProto, helper

from split_rewrite.rewriter import child_call
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.model_client import Worker
from split_rewrite.rewriter.comparison.model_server import Failure, _onnxruntime_failure
from split_rewrite.rewriter.comparison.runtime_defects import known_defects, lax_operator
from split_rewrite.rewriter.errors import InvalidModelError, UnconvertibleError
from split_rewrite.rewriter.opsets.folding import evaluate
from split_rewrite.rewriter.opsets.inference import infer_node

LOOP = "l = Loop(n, , x) <body = b (int64 i, bool k, float[N] v) => (bool c, float[N] w) {c = Identity(k)\n w = Add(v, x)}>"
REFUSED = {
    "cast-in-a-function-below-6": (
        '<ir_version: 8, opset_import: ["" : 14, "f" : 1]> g (float[3] x) => (int64[3] y) {y = f.f(x)}\n'
        '<domain: "f", opset_import: ["" : 14]> f (x) => (y) {c = Cast<to = 7>(x)\n y = Identity(c)}',
        3,
        "onnx cannot check a function with a Cast before opset 6",
    ),
    "scatter-that-adds-booleans": (
        'g (bool[4] x, bool[2] u) => (bool[4] y) <int64[2] i = {0, 1}> {y = ScatterElements<reduction = "add">(x, i, u)}',
        15,
        "which Add does not take",
    ),
    "scatter-that-adds-complex-numbers": (
        'g (complex64[4] x, complex64[2] u) => (complex64[4] y) <int64[2] i = {0, 1}> {y = ScatterElements<reduction = "add">(x, i, u)}',
        15,
        "reduction=add of complex64, which Add does not take",
    ),
    "mode-that-there-is-not": (
        'g (float[1,1,2,2] x, float[1,1,1,2] p) => (float[1,1,1,1] y) {y = GridSample<mode = "nothing">(x, p)}',
        15,
        "mode=nothing has no meaning",
    ),
    "axis-of-quantization-that-there-is-not": (
        "g (float[2,3] x, float[2] s, uint8[2] z) => (uint8[2,3] y) {y = QuantizeLinear<axis = -9223372036854775808>(x, s, z)}",
        12,
        "is out of range for rank 2",
    ),
    "axis-of-a-slice-that-there-is-not": (
        "g (float[N] x, int64[1] s, int64[1] e) => (float[M] y) <int64[1] a = {7}> {y = Slice(x, s, e, a)}",
        9,
        "axis=7 is out of range for rank 1",
    ),
    "two-numbers-of-largest-elements": (
        "g (float[N] x, int64[R] s) => (float[A] y, int64[B] i) <int64[2] k = {1, 2}> {r = Reshape(x, s)\n y, i = TopK(r, k)}",
        9,
        "a constant of shape [2] is given where a single number is needed",
    ),
    "bounds-that-are-vectors": (
        "g (float[8] x) => (float[8] y) <float[2] a = {1, 2}, float[3] b = {1, 2, 3}> {y = Clip(x, a, b)}",
        12,
        "a constant of shape [2] is given where a single number is needed",
    ),
    "directions-of-nothing": (
        "g (float[1] x, float[2,1] z) => (float[1] y) {y = Scan<num_scan_inputs = 1, scan_input_directions = [0, 0], "
        "body = b (float[1] v, float[1] s) => (float[1] w) {w = Add(v, s)}>(x, z)}",
        7,
        "scan_input_directions has 2 entries for 1 values",
    ),
    "index-of-a-scatter-that-there-is-not": (
        "g (float[2] x, float[1] u) => (float[2] y) <int64[1] i = {5}> {y = ScatterElements(x, i, u)}",
        8,
        "the indices 'i' are out of range",
    ),
    "reduction-that-there-is-not": (
        'g (float[4] x, float[1] u) => (float[4] y) <int64[1,1] i = {0}> {y = ScatterND<reduction = "sum">(x, i, u)}',
        15,
        "reduction=sum has no meaning",
    ),
    "triangle-of-strings": (
        "g (string[2,2] x) => (string[2,2] y) {y = Trilu(x)}",
        13,
        "the specification does not say what Trilu puts in the place of strings",
    ),
    "tile-of-integers-below-6": (
        "g (int64[2] x) => (int64[4] y) <int64[1] r = {2}> {y = Tile(x, r)}",
        4,
        "floating-point numbers only",
    ),
}
CONVERTED = {
    "boolean-constant-folded-in-a-branch": (
        "g (bool c) => (bool[2] y) {y = If(c) <then_branch = t () => (bool[2] p) <bool a = {0}, int64[1] n = {2}> {p = Expand(a, n)}, "
        "else_branch = e () => (bool[2] q) <bool[2] b = {1, 0}> {q = Identity(b)}>}",
        8,
        5,
    ),
    "cast-that-something-reads-below-6": ("g (float[3] x) => (int64[3] y) {c = Cast<to = 7>(x)\n y = Identity(c)}", 9, 3),
    "squeeze-of-axes-out-of-order": ("g (float[1,N,1] x) => (float[N] y) <int64[2] a = {2, 0}> {y = Squeeze(x, a)}", 13, 4),
    "squeeze-of-axes-out-of-order-in-an-attribute": (
        "g (float[1,N,1,1] x) => (float[N] y) {y = Squeeze<axes = [-4, -1, -2]>(x)}",
        12,
        5,
    ),
    "squeeze-of-axes-from-both-ends": ("g (float[1,N,1] x) => (float[N] y) <int64[2] a = {-1, 0}> {y = Squeeze(x, a)}", 13, 12),
    "split-of-a-constant-that-is-empty-in-front": (
        "g () => (float[0,2] a, float[0,3] b) <float[0,5] c = {}> {a, b = Split<axis = 1, split = [2, 3]>(c)}",
        11,
        13,
    ),
    "axis-of-a-softmax-whose-rank-is-worked-out-and-whose-shape-was-not-inferred": (
        "g (float[3,6] x) => (float[A,B] p, float[C,D] y) <int64[2] s = {1, 2}> {"
        "t = Identity(s)\n p, q = Split<axis = 0>(x, t)\n y = Softmax<axis = 0>(q)}",
        15,
        9,
    ),
    "broadcast-of-what-was-not-inferred": (
        "g (float[3,6] x, float[2,1] z) => (float[A,B] p, float[C,D] y) <int64[2] s = {1, 2}> {"
        "t = Identity(s)\n p, q = Split<axis = 0>(x, t)\n y = Sub(z, q)}",
        15,
        6,
    ),
    "sums-of-nothing": ("g (float[0,0] x) => (float[0,0] y) <int64 a = {-1}> {y = CumSum(x, a)}", 14, 9),
    "value-that-a-branch-reads-which-goes-with-its-if": (
        "g (float[2] x, bool c) => (float[2] y, float[2] z) <bool f = {0}> {m = Neg(x)\n"
        "w = If(c) <then_branch = t () => (float[2] a) {a = Exp(m)\n n = Relu(m)}, else_branch = e () => (float[2] b) {b = Abs(x)}>\n"
        "y = If(f) <then_branch = t () => (float[2] p) {p = Abs(w)}, else_branch = e () => (float[2] q) {q = Abs(x)}>\n z = Relu(m)}",
        11,
        8,
    ),
    "cast-of-a-branch-that-takes-the-place-of-its-if": (
        "g (float[2] x, bool b) => (double[2] y) <bool t = {1}> {c = If(t) <"
        'then_branch = t () => (double[2] p) {p = Cast<to = "DOUBLE">(x)\n r, s = Split(x)}, '
        'else_branch = e () => (double[2] n) {n = Cast<to = "DOUBLE">(x)}>\n '
        "y = If(b) <then_branch = t () => (double[2] g) {g = Pow(c, c)}, else_branch = e () => (double[2] h) {h = Identity(c)}>}",
        3,
        1,
    ),
    "celu-of-a-scalar": ("g (float x) => (float y) {y = Celu<alpha = 0.5>(x)}", 13, 10),
    "mask-of-a-dropout-that-nobody-reads": (
        "g (bool c, float[3] x) => (float[3] y) {y = If(c) <then_branch = t () => (float[3] p) {p, m = Dropout(x)}, "
        "else_branch = e () => (float[3] q) {q = Identity(x)}>}",
        14,
        11,
    ),
}


@pytest.mark.parametrize(("text", "target", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, target: int, message: str) -> None:
    assert message in helpers.refusal(helpers.model(text, 16), target)


@pytest.mark.parametrize(("text", "opset", "target"), CONVERTED.values(), ids=CONVERTED)
def test_converted(tmp_path: Path, text: str, opset: int, target: int) -> None:
    proto = helpers.model(text, opset)
    result = convert_version(proto, target).model
    onnx.save(proto, tmp_path / "a.onnx")
    onnx.save(result, tmp_path / "b.onnx")
    found = compare(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert found.status == "equal" or (target < 7 and found.status == "not compared"), found.reason


def test_a_sequence_map_whose_body_gives_nothing() -> None:
    text = "g (float[1] x) => (seq(float[1]) y) {s = SequenceConstruct(x)\n y = SequenceMap<body = b (float[1] v) => (float[1] w) {w = Relu(v)}>(s)}"
    proto = helpers.model(text, 18)
    del proto.graph.node[1].attribute[0].g.output[:]
    assert "onnx cannot write SequenceMap as a function" in helpers.refusal(proto, 16)


def test_tile_of_an_axis_that_there_is_not() -> None:
    proto = helpers.model("g (float[2] x) => (float[4] y) <float[1] n = {2}, float[1] a = {1}> {y = Tile(x, n, a)}", 1)
    assert "axis=1 is out of range for rank 1" in helpers.refusal(proto, 6)


@pytest.mark.parametrize(
    ("node", "opset", "target"),
    [
        ('Pad<mode = "????">(x, p)', 19, 18),
        ('Constant<value_string = "????">()', 13, 9),
        ('Constant<value_strings = ["????"]>()', 13, 9),
    ],
    ids=["mode", "constant", "constants"],
)
def test_an_attribute_that_is_not_utf8_is_refused(node: str, opset: int, target: int) -> None:
    proto = helpers.model(f"g (float[2] x, int64[2] p) => (float[2] z) {{y = {node}\n z = Relu(x)}}", opset)
    damaged = onnx.ModelProto.FromString(proto.SerializeToString().replace(b"????", b"\x80\x80??"))
    assert "is b'\\x80\\x80??', which is not UTF-8" in helpers.refusal(damaged, target)


def test_a_name_that_is_not_utf8_cannot_be_compared_node_by_node() -> None:
    proto = helpers.model("g (float[2] x) => (float[2] y) {tttt = Split(x)\n y = Relu(tttt)}", 11)
    damaged = onnx.ModelProto.FromString(proto.SerializeToString().replace(b"tttt", b"\xff\xfe\xfd\xfc"))
    with pytest.raises(InvalidModelError, match="UTF-8"):
        convert_version(damaged, 13, compare="nodes")


def test_celu_of_double_is_computed_in_double() -> None:
    if not helpers.known(28):
        pytest.skip("onnx has no opset 28")
    proto = helpers.model("g (double[2] x) => (double[2] y) {y = Celu(x)}", 28)
    values = helpers.run(convert_version(proto, 9).model, {"x": np.array([1e-300, 1 + 3e-16])}, "onnx.reference")
    assert values[0].tolist() == [1e-300, 1 + 3e-16]


def test_a_mask_that_nobody_reads_goes() -> None:
    proto = helpers.model(CONVERTED["mask-of-a-dropout-that-nobody-reads"][0], 14)
    graph = convert_version(proto, 11).model.graph
    branches = [attribute.g for node in graph.node for attribute in node.attribute]
    assert [list(node.output) for branch in branches for node in branch.node if node.op_type == "Dropout"] == [["p"]]


def test_axes_that_are_computed_and_leave_nothing() -> None:
    proto = helpers.model("g (float[1,1] x, int64[2] a) => (float y) {y = Squeeze(x, a)}", 13)
    helpers.assert_same(proto, 9, {"x": np.ones((1, 1), np.float32), "a": np.array([1, 0])})


def test_bits_of_nothing() -> None:
    """onnxruntime does not reduce an empty tensor along a negative axis."""
    proto = helpers.model("g (int32[N,1] x) => (int32[N,1] y) {y = BitwiseOr(x, x)}", 18)
    helpers.assert_same(proto, 17, {"x": np.zeros((0, 1), np.int32)})


def test_a_loop_that_captures_is_not_inferred_alone() -> None:
    """onnx died of it."""
    loop = helpers.model(f"g (int64 n, float[N] x) => (float[N] l) {{{LOOP}}}", 11).graph.node[0]
    float_n = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    types = {"n": helper.make_tensor_type_proto(TensorProto.INT64, []), "x": float_n}
    assert run_isolated(infer_node, loop, 11, types, {}, 8) == {}


@pytest.mark.parametrize("operator", ["Add", "Mul", "Min"])
def test_folding_makes_nothing_large(operator: str) -> None:
    wide, high = np.ones((1, 65_536), np.int64), np.ones((65_536, 1), np.int64)
    assert evaluate(helper.make_node(operator, ["a", "b"], ["c"]), [wide, high]) is None


def test_folding_gathers_nothing_large() -> None:
    node = helper.make_node("Gather", ["a", "b"], ["c"])
    assert evaluate(node, [np.ones((1, 65_536), np.int64), np.zeros(65_536, np.int64)]) is None


# What a runtime computes wrongly: model, inputs, and what the specification says. A row goes when the runtime is right.
DEFECTS = {
    "insert-at-the-end": (
        "g (float[1] x, float[1] y) => (float[1] z) <int64 one = {1}> {s = SequenceConstruct(x)\n t = SequenceInsert(s, y, one)\n z = SequenceAt(t, one)}",
        13,
        {"x": [1], "y": [2]},
        [2],
    ),
    "normalization-that-does-not-train": (
        "g (float[1,1] x) => (float[1,1] y) <float[1] one = {1}, float[1] zero = {0}> {y = BatchNormalization<epsilon = 0.0>(x, one, zero, zero, one)}",
        9,
        {"x": [[3]]},
        [[3]],
    ),
    "padding-that-does-not-count": (
        "g (float[1,1,2] x) => (float[1,1,2] y) {y = AveragePool<kernel_shape = [2], pads = [1, 0]>(x)}",
        6,
        {"x": [[[4, 8]]]},
        [[[4, 6]]],
    ),
    "windows-beyond-the-input": (
        "g (float[1,1,6] x) => (float[1,1,2] y) {y = LpPool<kernel_shape = [4], strides = [4], ceil_mode = 1>(x)}",
        18,
        {"x": [[[2, 4, 5, 6, 3, 4]]]},
        [[[9, 5]]],
    ),
    "padding-in-front": (
        "g (float[1,1,6] x) => (float[1,1,2] y) {y = AveragePool<kernel_shape = [4], strides = [4], ceil_mode = 1>(x)}",
        18,
        {"x": [[[1, 2, 3, 4, 5, 6]]]},
        [[[2.5, 5.5]]],
    ),
    "padding-at-the-end": (
        'g (float[1,1,6] x) => (float[1,1,3] y) {y = MaxPool<kernel_shape = [3], strides = [2], auto_pad = "SAME_LOWER">(x)}',
        18,
        {"x": [[[1, 2, 3, 4, 5, 6]]]},
        [[[2, 4, 6]]],
    ),
    "padding-before-rounding-up": (
        "g (float[1,1,3] x) => (float[1,1,4] y) {y = MaxPool<kernel_shape = [2], pads = [1, 1], ceil_mode = 1>(x)}",
        18,
        {"x": [[[1, 2, 3]]]},
        [[[1, 2, 3, 3]]],
    ),
    "padding-at-one-end": (
        "g (float[1,1,3] x) => (float[1,1,3] y) {y = MaxPool<kernel_shape = [2], pads = [0, 1]>(x)}",
        18,
        {"x": [[[1, 2, 3]]]},
        [[[2, 3, 3]]],
    ),
    "neighbours-beyond-the-border": (
        "g (float[1,1,1,4] x, float[1,1,1,2] p) => (float[1,1,1,1] y) "
        '{y = GridSample<align_corners = 1, mode = "cubic", padding_mode = "border">(x, p)}',
        20,
        {"x": [[[[0, 1, 4, 9]]]], "p": [[[[1.25, 0]]]]},  # weights of -225/2048 and 2273/2048 for 4 and 9
        [[[[9 + 5 * 225 / 2048]]]],
    ),
    "row-that-is-no-image": (
        "g (float[1,2,3] x) => (float[1,2,1] y) {y = GlobalMaxPool(x)}",
        18,
        {"x": [[[1, 2, 3], [4, 5, 6]]]},
        [[[3], [6]]],
    ),
    "pixel-that-is-not-single": (
        "g (float[1,1,3] x) => (float[1,1,1] y) <float[3] s = {1, 1, 0.5}> "
        '{y = Resize<coordinate_transformation_mode = "pytorch_half_pixel", mode = "linear">(x, , s)}',
        18,
        {"x": [[[1, 2, 3]]]},
        [[[1]]],
    ),
    "length-that-is-a-fraction": (
        "g (float[1,1,3] x) => (float[1,1,4] y) <float[3] s = {1, 1, 1.5}> "
        '{y = Resize<coordinate_transformation_mode = "align_corners", mode = "linear">(x, , s)}',
        18,
        {"x": [[[0, 3, 9]]]},
        [[[0, 2, 5, 9]]],
    ),
    "sum-without-broadcast": (
        "g (float[1,1] x, float[1,1] c) => (float[1,1] y) {y = Gemm<beta = 0.5>(x, x, c)}",
        6,
        {"x": [[2]], "c": [[1]]},
        [[4.5]],
    ),
    "scan-outputs-of-no-dimension": (
        "g (float[1] x) => (float[1] y, float[2] z) <int64 n = {2}, float one = {1}, bool t = {1}> {"
        "y, z = Loop(n, t, x) <body = b (int64 i, bool k, float[1] v) => (bool c, float[1] w, float o) "
        "{c = Identity(k)\n w = Identity(v)\n o = Identity(one)}>}",
        13,
        {"x": [1]},
        [1, 1],
    ),
    "axes-out-of-order": ("g (float[2] x) => (float[1,1,2] y) {y = Unsqueeze<axes = [1, 0]>(x)}", 7, {"x": [1, 2]}, [[[1, 2]]]),
    "norm-of-signed-numbers": (
        "g (float[1,2] x) => (float[1,2] y) {y = LpNormalization<p = 1>(x)}",
        18,
        {"x": [[-1, 3]]},
        [[-0.25, 0.75]],
    ),
    "sequence-that-ends-early": (
        "g (float[2,1,1] x) => (float[2,1,1,1] y) <float[1,1,1] w = {1}, int32[1] n = {1}> "
        "{y = RNN<hidden_size = 1>(x, w, w, , n)}",
        14,
        {"x": [[[0]], [[1]]]},
        [[[[0]]], [[[0]]]],
    ),
    "rounding-before-the-zero-point": (
        "g (float[1] x) => (uint8[1,1] y) <uint8[1,1] a = {39}, uint8[1,1] b = {1}, float s = {1}, float h = {0.5}, uint8 z = {0}, uint8 o = {1}> "
        "{y = QLinearMatMul(a, s, z, b, h, z, s, o)}",
        13,
        {"x": [1]},
        [[21]],
    ),
}


@pytest.mark.parametrize(("text", "opset", "inputs", "expected"), DEFECTS.values(), ids=DEFECTS)
def test_a_runtime_that_is_wrong_is_not_believed(
    text: str, opset: int, inputs: dict[str, list[float]], expected: list[float]
) -> None:
    proto = helpers.model(text, opset, ir_version=7)
    values = helpers.run(proto, {name: np.array(value, np.float32) for name, value in inputs.items()}, "onnx.reference")
    assert not np.array_equal(values[-1], expected)
    assert "onnx.reference" in known_defects(proto)


def test_a_scalar_that_onnxruntime_takes_by_its_bits_stays_a_scalar() -> None:
    proto = helpers.model("g (bfloat16 x) => (bfloat16 y) {y = Identity(x)}", 18)
    assert helpers.run(proto, {"x": np.array(1.5, ml_dtypes.bfloat16)})[0].shape == ()


def test_onnxruntime_gathers_the_first_strings() -> None:
    proto = helpers.model("g (string[2,2] x, int64[1] i) => (string[1,2] y) {y = Gather(x, i)}", 13)
    inputs = {"x": np.array([["a", "b"], ["c", "d"]], object), "i": np.array([1])}
    assert helpers.run(proto, inputs)[0].tolist() != [["c", "d"]]
    assert "onnxruntime" in known_defects(proto)


def test_onnxruntime_loses_strings_that_a_loop_collects() -> None:
    loop = "Loop(n, , x) <body = b (int64 i, bool k, string[1] v) => (bool c, string[1] w, string[1] o) {c = Identity(k)\n w = Identity(v)\n o = Identity(v)}>"
    proto = helpers.model(f"g (string[1] x, int64 n) => (string[1] y, string[N,1] z) {{y, z = {loop}}}", 16)
    inputs = {"x": np.array(["a"], object), "n": np.array(2)}
    assert helpers.run(proto, inputs)[1].tolist() != [["a"], ["a"]]
    assert "onnxruntime" in known_defects(proto)


def test_onnxruntime_rejects_its_own_work_before_opset_7(tmp_path: Path) -> None:
    """It puts Casts of opset 6 around operators that it has no float16 kernels for."""
    proto = helpers.model("g (float16[1,8,1,1] x) => (float16[1,2,2,2] y) {y = DepthToSpace<blocksize = 2>(x)}", 2, ir_version=3)
    onnx.save(proto, tmp_path / "m.onnx")
    with Worker() as worker:
        failure = worker.run(tmp_path / "m.onnx", {"x": np.ones((1, 8, 1, 1), np.float16)})
    assert isinstance(failure, Failure)
    assert not failure.certain


DEFAULTS = {
    "sizes-of-an-image": (
        'y = Resize<coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor">(x, , , s)',
        19,
        9,
        [1, 1, 2, 8],
    ),
    "a-shape-and-the-parts-of-it": ("v = Reshape(x, s) y, z = Split<axis = 3, num_outputs = 2>(v)", 18, 13, [1, 1, 2, 8]),
    "a-shape-and-what-is-normalized": ("v = Reshape(x, s) y = Softmax<axis = 1>(v)", 13, 11, [1, 4, 2, 2]),
    "repeats": ("v = Tile(x, s) y, z = Split<axis = 2, num_outputs = 2>(v)", 18, 9, [1, 2, 2, 3]),
    "a-size-to-fill": ("v = ConstantOfShape(s) w = Add(v, x) y = CumSum(w, two)", 14, 9, [2, 1, 1, 1]),
}


@pytest.mark.parametrize(("nodes", "opset", "target", "given"), DEFAULTS.values(), ids=DEFAULTS)
def test_what_a_caller_may_override_decides_nothing(nodes: str, opset: int, target: int, given: list[int]) -> None:
    """Shape inference takes the default of an input for its value."""
    text = (
        f"g (float[1, 1, 4, 4] x, int64[4] s) => (float[a, b, c, d] y) <int64[4] s = {{1, 1, 4, 4}}, int64 two = {{2}}> {{{nodes}}}"
    )
    source = helpers.model(text, opset)
    inputs = {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), "s": np.array(given)}
    try:
        result = convert_version(source, target, compare="off").model
    except UnconvertibleError as refusal:
        assert "run time" in str(refusal) or "unknown" in str(refusal) or "overridden" in str(refusal)
        return
    np.testing.assert_allclose(helpers.run(result, inputs)[0], helpers.run(source, inputs)[0], rtol=1e-6)


def test_an_equation_that_onnx_never_finishes_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx 1.23 looks for the rest of the arrow for ever; 1.17 does not look."""
    monkeypatch.setattr(child_call, "_CPU_SECONDS", 2)
    source = helpers.model('g (float[2, 3] x) => (float[A, B] y) {y = Einsum<equation = "ij-">(x)}', 13)
    try:
        assert convert_version(source, 12).model.graph.node[0] == source.graph.node[0]
    except InvalidModelError as refusal:
        assert "time limit of 2 s" in str(refusal) or "insum" in str(refusal)


def test_onnxruntime_divides_by_a_deviation_of_0() -> None:
    proto = helpers.model("g (float[1,3,1,1] x) => (float[1,3,1,1] y) {y = MeanVarianceNormalization(x)}", 13)
    inputs = {"x": np.ones((1, 3, 1, 1), np.float32)}
    assert np.isnan(helpers.run(proto, inputs)[0]).all()
    assert "onnxruntime" in known_defects(proto)


def test_the_reference_pads_strings_with_a_number() -> None:
    proto = helpers.model("g (string[1] x) => (string[3] y) <int64[2] p = {1, 1}> {y = Pad(x, p)}", 13)
    assert helpers.run(proto, {"x": np.array(["a"], object)}, "onnx.reference")[0].tolist() != ["", "a", ""]
    assert "onnx.reference" in known_defects(proto)
    given = helpers.model("g (float[1] x) => (float[3] y) <int64[2] p = {1, 1}> {y = Pad(x, p)}", 13)
    assert known_defects(given) == {}


@pytest.mark.parametrize(("collected", "named"), [(", float[2] u", True), ("", False)])
def test_onnxruntime_makes_up_a_shape_for_no_turn(collected: str, named: bool) -> None:
    """Of what a Loop collects, but in no turn, it tells the dimensions that it happens to know; the reference says nothing."""
    proto = helpers.model(
        f"""g (float[2] x, bool c) => (float[2] z) <int64 n = {{3}}> {{z{", y" if collected else ""} = Loop(n, c, x) <body =
        b (int64 i, bool k, float[2] v) => (bool d, float[2] w{collected}) {{d = Identity(k) w = Neg(v) u = Abs(v)}}>}}""",
        18,
    )
    assert (lax_operator(proto) != "") is named
    inputs = {"x": np.ones(2, np.float32), "c": np.array(False)}
    if named:
        with pytest.raises(AssertionError, match="at least one array"):
            helpers.run(proto, inputs, "onnx.reference")


@pytest.mark.parametrize(
    ("constant", "is_named"),
    [
        pytest.param("2147483648", True, id="the sign of the lower half"),
        pytest.param("-4294967296", True, id="below"),
        pytest.param("2147483647", False, id="an int32"),
        pytest.param("9223372036854775807", False, id="no upper bound"),
        pytest.param("-9223372036854775808", False, id="no lower bound"),
    ],
)
@pytest.mark.parametrize("place", ["<int64 k = {%s}> {", "{k = Constant<value_int = %s>() "])
def test_onnxruntime_compares_int64_by_halves(constant: str, is_named: bool, place: str) -> None:
    proto = helpers.model(f"g (int64[2] x) => (int64[2] y) {place % constant} y = Max(x, k)}}", 13)
    assert ("onnxruntime" in known_defects(proto)) is is_named


def test_what_int64_compare_by_halves_gives() -> None:
    """onnxruntime 1.31 and older look at the lower half alone."""
    proto = helpers.model("g (int64[2] x) => (int64[2] y) <int64 k = {2147483648}> {y = Max(x, k)}", 13)
    assert helpers.run(proto, {"x": np.array([5, 5])})[0].tolist() in ([5, 5], [2147483648] * 2)


def test_onnxruntime_rounds_doubles_to_float_in_shrink() -> None:
    proto = helpers.model("g (double[1] x) => (double[1] y) {y = Shrink<lambd = 0.25, bias = 0.125>(x)}", 18)
    assert "rounds doubles to float in Shrink" in known_defects(proto)["onnxruntime"]
    (y,) = helpers.run(proto, {"x": np.array([0.3])})
    assert y[0] == np.float32(0.3) - np.float32(0.125) != 0.3 - 0.125


def test_payload_of_a_constant_is_left_where_it_is() -> None:
    """The comparison's child works in another folder than the model is in."""
    proto = helpers.model("g (int64[2] x) => (int64[2] y) {k = Constant<value = int64[2] {2147483648, 1}>() y = Max(x, k)}", 13)
    tensor = proto.graph.node[0].attribute[0].t
    tensor.ClearField("int64_data")
    assert known_defects(proto) == {}  # no data at all is for a runtime to find
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="elsewhere.bin")
    assert known_defects(proto) == {}


def test_a_message_of_onnxruntime_that_is_no_text_is_read_all_the_same() -> None:
    """Names of nodes come into its messages as they are."""
    message = b"[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : no kernel for node \xff"
    failure = _onnxruntime_failure(UnicodeDecodeError("utf-8", message, 62, 63, "invalid start byte"), "invalid")
    assert failure.kind == "unsupported" and "no kernel for node \ufffd" in failure.message
