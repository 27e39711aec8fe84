"""What runtimes compute wrongly: each defect is shown, and named for the model that has it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import model, run
from onnx.reference import ReferenceEvaluator

from split_rewrite.rewriter.comparison.judging.runtime_defects import disputed_node, known_defects, lax_operator
from split_rewrite.rewriter.opsets.transitions import newest_opset

# What a runtime computes wrongly: model, inputs, and what the specification says. A row goes when the runtime is right.
DEFECTS = {
    "insert-at-the-end": (
        "g (float[1] x, float[1] y) => (float[1] z) <int64 one = {1}> {s = SequenceConstruct(x)\n t = SequenceInsert(s, y, one)\n z = SequenceAt(t, one)}",
        13,
        {"x": [1], "y": [2]},
        [2],
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
    "positions-of-an-oblong-window": (
        "g (float[1,1,3,2] x) => (float[1,1,1,1] y, int64[1,1,1,1] i) {y, i = MaxPool<kernel_shape = [3, 2]>(x)}",
        18,
        {"x": [[[[1, 2], [3, 4], [6, 5]]]]},
        [[[[4]]]],
    ),
    "sums-that-are-not-clipped": (
        "g (float[1,1,1] x) => (float[1,1,1,1] y) <float[1,1,1] w = {9}> {y = RNN<hidden_size = 1, clip = 0.5>(x, w, w)}",
        14,
        {"x": [[[1]]]},
        [[[[np.tanh(np.float32(0.5))]]]],
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
    proto = model(text, opset, ir_version=7)
    values = run(proto, {name: np.array(value, np.float32) for name, value in inputs.items()}, "onnx.reference")
    assert not np.array_equal(values[-1], expected)
    assert "onnx.reference" in known_defects(proto)


@pytest.mark.parametrize(
    ("values", "is_named"), [("0.0, 1.0", False), ("-1.0, 1.5", False), ("100.0, 0.1", True), ("1e30, 2.0", True)]
)
@pytest.mark.parametrize("place", ["<float[2] v = {%s}> {", "{ v = Constant<value_floats = [%s]>() "])
def test_the_reference_makes_one_hot_of_sums(values: str, is_named: bool, place: str) -> None:
    text = f"g (int64[1] x) => (float[1,2] y) <int64 d = {{2}}> {place % values} y = OneHot(x, d, v) }}"
    proto = model(text.replace("> <", ", "), 13)
    wanted = np.array(values.split(","), np.float32)
    assert np.array_equal(run(proto, {"x": np.array([1])}, "onnx.reference")[0][0], wanted) is not is_named
    assert ("onnx.reference" in known_defects(proto)) is is_named


def test_the_reference_reads_what_has_no_name() -> None:
    text = "g (float[2] x) => (float[1] y) <int64[2] s = {1, 1}, float m = {2}> { a, b = Split(x, s) y = Clip(a, , m) }"
    proto = model(text, 13)
    assert "onnx.reference" not in known_defects(proto)
    proto.graph.node[0].output[1] = ""
    assert run(proto, {"x": np.array([-0.75, 5], np.float32)}, "onnx.reference")[0].tolist() != [-0.75]
    assert "onnx.reference" in known_defects(proto)


def test_the_reference_is_not_believed_about_one_hot_of_unknown_values() -> None:
    proto = model("g (int64[1] x, float[2] v) => (float[1,2] y) <int64 d = {2}> { y = OneHot(x, d, v) }", 13)
    assert "onnx.reference" in known_defects(proto)


@pytest.mark.skipif(newest_opset() < 23, reason="the installed onnx has no Attention")
def test_the_reference_caps_scores_of_attention() -> None:
    text = "g (float[1,1,1,1] q, float[1,1,1,1] k) => (float[1,1,1,1] y, float[1,1,1,1] s) {y, , , s = Attention<softcap = 2.0>(q, k, k)}"
    proto = model(text, 23, ir_version=10)
    two = np.full((1, 1, 1, 1), 2, np.float32)
    assert run(proto, {"q": two, "k": two}, "onnx.reference")[1].item() != 4
    assert "onnx.reference" in known_defects(proto)
    assert known_defects(model(text.replace("softcap = 2.0", "softcap = 0.0"), 23, ir_version=10)) == {}


@pytest.mark.skipif(newest_opset() < 25, reason="the installed onnx has no Attention of opset 25")
def test_onnxruntime_masks_scores_by_the_lowest_number() -> None:
    """The kernel for opset 25 gives -inf, as the specification and onnx.reference do."""
    text = """g (float[1,1,2,1] q) => (float[1,1,2,1] y, float[1,1,2,2] s)
        {y, , , s = Attention<is_causal = 1, qk_matmul_output_mode = 2>(q, q, q)}"""
    ones = {"q": np.ones((1, 1, 2, 1), np.float32)}
    masked = {opset: run(model(text, opset, ir_version=10), ones)[1][0, 0, 0, 1] for opset in (23, 25)}
    assert masked[25] == -np.inf
    assert np.isfinite(masked[23]), (
        "this onnxruntime masks rightly below opset 25, too: the row can go when it is the oldest supported"
    )
    assert "onnxruntime" in known_defects(model(text, 24, ir_version=10))
    assert "onnxruntime" not in known_defects(model(text, 25, ir_version=10))
    assert "onnxruntime" not in known_defects(model(text.replace("is_causal = 1, ", ""), 24, ir_version=10))


def test_the_reference_removes_accents() -> None:
    proto = model("g (string[1] x) => (string[1] y) {y = StringNormalizer(x)}", 10)
    assert run(proto, {"x": np.array(["naïve"], object)}, "onnx.reference")[0].tolist() != ["naïve"]
    assert "onnx.reference" in known_defects(proto)


ALIGNED = "g (float[1,1,4] x) => (float[1,1,3] y) <float[3] s = {1, 1, 0.8}> {y = Resize<%s>(x, , s)}"
DISPUTED = {
    "length-that-is-a-fraction": (
        ALIGNED % 'mode = "linear", coordinate_transformation_mode = "align_corners"',
        {"x": [[[0, 22, 44, 66]]]},
        ([[[0, 33, 66]]], [[[0, 30, 60]]]),  # from the first element to the last, or 3 / (3.2 - 1) elements at a time
    ),
    "pixel-that-is-not-single": (
        "g (float[1,1,3] x) => (float[1,1,1] y) <float[3] s = {1, 1, 0.5}> "
        '{y = Resize<mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel">(x, , s)}',
        {"x": [[[1, 2, 3]]]},
        ([[[1]]], [[[1.5]]]),
    ),
    "place-in-a-larger-output": (
        "g (float[1,1,1] x, int64[1,1,1] i) => (float[1,1,4] y) <int64[3] s = {1, 1, 4}> "
        "{y = MaxUnpool<kernel_shape = [2], strides = [2]>(x, i, s)}",
        {"x": [[[5]]], "i": [[[1]]]},
        ([[[0, 5, 0, 0]]], None),
    ),
}
"""Model, inputs, and what onnxruntime and onnx.reference, which follows the specification, compute of it."""


@pytest.mark.parametrize(("text", "inputs", "expected"), DISPUTED.values(), ids=DISPUTED)
def test_nodes_of_two_meanings(text: str, inputs: dict[str, list[float]], expected: tuple[list[float], list[float] | None]) -> None:
    proto = model(text, 13)
    assert disputed_node(proto) != "" and known_defects(proto) == {}
    kinds = {value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in proto.graph.input}
    given = {name: np.array(value, kinds[name]) for name, value in inputs.items()}
    for runtime, wanted in zip(("onnxruntime", "onnx.reference"), expected, strict=True):
        if wanted is not None:
            np.testing.assert_allclose(run(proto, given, runtime)[0], wanted, rtol=1e-6)


def test_a_resize_by_sizes_has_one_meaning() -> None:
    text = 'g (float[1,1,4] x, int64[3] z) => (float[1,1,3] y) {y = Resize<coordinate_transformation_mode = "align_corners">(x, , , z)}'
    assert disputed_node(model(text, 13)) == ""


def test_the_reference_sorts_what_is_not_to_be_sorted() -> None:
    text = "g (float[3] x) => (float[N] y) {y = Unique<sorted = 0>(x)}"
    proto = model(text, 13)
    assert run(proto, {"x": np.array([3, 1, 3], np.float32)}, "onnx.reference")[0].tolist() != [3, 1]
    assert "onnx.reference" in known_defects(proto)
    assert known_defects(model(text.replace("sorted = 0", "sorted = 1"), 13)) == {}


def test_onnxruntime_gathers_the_first_strings() -> None:
    proto = model("g (string[2,2] x, int64[1] i) => (string[1,2] y) {y = Gather(x, i)}", 13)
    inputs = {"x": np.array([["a", "b"], ["c", "d"]], object), "i": np.array([1])}
    assert run(proto, inputs)[0].tolist() != [["c", "d"]]
    assert "may copy only the first string of each slice that Gather takes" in known_defects(proto)["onnxruntime"]


def test_onnxruntime_loses_strings_that_a_loop_collects() -> None:
    loop = "Loop(n, , x) <body = b (int64 i, bool k, string[1] v) => (bool c, string[1] w, string[1] o) {c = Identity(k)\n w = Identity(v)\n o = Identity(v)}>"
    proto = model(f"g (string[1] x, int64 n) => (string[1] y, string[N,1] z) {{y, z = {loop}}}", 16)
    inputs = {"x": np.array(["a"], object), "n": np.array(2)}
    assert run(proto, inputs)[1].tolist() != [["a"], ["a"]]
    assert "onnxruntime" in known_defects(proto)


def test_onnxruntime_divides_by_a_deviation_of_0() -> None:
    proto = model("g (float[1,3,1,1] x) => (float[1,3,1,1] y) {y = MeanVarianceNormalization(x)}", 13)
    inputs = {"x": np.ones((1, 3, 1, 1), np.float32)}
    assert np.isnan(run(proto, inputs)[0]).all()
    assert "onnxruntime" in known_defects(proto)


def test_the_reference_makes_a_sequence_of_an_element() -> None:
    proto = model("g (float[1] x) => (float[1] y) {o = Optional(x) y = OptionalGetElement(o)}", 18)
    assert isinstance(ReferenceEvaluator(proto).run(None, {"x": np.ones(1, np.float32)})[0], list)
    assert "onnx.reference" in known_defects(proto)
    empty = model("g (float[1] x) => (bool y) {o = Optional<type = float[1]>() y = OptionalHasElement(o)}", 18)
    assert known_defects(empty) == {}


@pytest.mark.parametrize("node", ["Pad(x, p)", "CenterCropPad(x, s)"])
def test_the_reference_pads_strings_with_a_number(node: str) -> None:
    proto = model(f"g (string[1] x) => (string[3] y) <int64[2] p = {{1, 1}}, int64[1] s = {{3}}> {{y = {node}}}", 18)
    assert ReferenceEvaluator(proto).run(None, {"x": np.array(["a"], object)})[0].tolist() != ["", "a", ""]
    assert "onnx.reference" in known_defects(proto)
    given = model("g (float[1] x) => (float[3] y) <int64[2] p = {1, 1}> {y = Pad(x, p)}", 13)
    assert known_defects(given) == {}


@pytest.mark.parametrize(("collected", "named"), [(", float[2] u", True), ("", False)])
def test_onnxruntime_makes_up_a_shape_for_no_turn(collected: str, named: bool) -> None:
    """Of what a Loop collects, but in no turn, it tells the dimensions that it happens to know; the reference says nothing."""
    proto = model(
        f"""g (float[2] x, bool c) => (float[2] z) <int64 n = {{3}}> {{z{", y" if collected else ""} = Loop(n, c, x) <body =
        b (int64 i, bool k, float[2] v) => (bool d, float[2] w{collected}) {{d = Identity(k) w = Neg(v) u = Abs(v)}}>}}""",
        18,
    )
    assert (lax_operator(proto) != "") is named
    inputs = {"x": np.ones(2, np.float32), "c": np.array(False)}
    if named:
        with pytest.raises(AssertionError, match="at least one array"):
            run(proto, inputs, "onnx.reference")


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
    proto = model(f"g (int64[2] x) => (int64[2] y) {place % constant} y = Max(x, k)}}", 13)
    assert ("onnxruntime" in known_defects(proto)) is is_named


def test_what_int64_compare_by_halves_gives() -> None:
    """onnxruntime 1.31 and older look at the lower half alone."""
    proto = model("g (int64[2] x) => (int64[2] y) <int64 k = {2147483648}> {y = Max(x, k)}", 13)
    assert run(proto, {"x": np.array([5, 5])})[0].tolist() in ([5, 5], [2147483648] * 2)


def test_onnxruntime_rounds_doubles_to_float_in_shrink() -> None:
    proto = model("g (double[1] x) => (double[1] y) {y = Shrink<lambd = 0.25, bias = 0.125>(x)}", 18)
    assert "rounds doubles to float in Shrink" in known_defects(proto)["onnxruntime"]
    (y,) = run(proto, {"x": np.array([0.3])})
    assert y[0] == np.float32(0.3) - np.float32(0.125) != 0.3 - 0.125


def test_onnxruntime_shrinks_large_integers_as_floats() -> None:
    proto = model("g (int64[1] x) => (int64[1] y) {y = Shrink(x)}", 18)
    assert run(proto, {"x": np.array([2**25 + 1])})[0].tolist() != [2**25 + 1]
    assert "rounds integers to float in Shrink" in known_defects(proto)["onnxruntime"]
    assert known_defects(model("g (int16[1] x) => (int16[1] y) {y = Shrink(x)}", 18)) == {}


@pytest.mark.parametrize(("kind", "dtype"), [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)])
def test_onnxruntime_overflows_in_reduce_log_sum_exp_of_halves(kind: str, dtype: type) -> None:
    proto = model(f"g ({kind}[2] x) => ({kind}[1] y) {{y = ReduceLogSumExp(x)}}", 18)
    assert np.isinf(run(proto, {"x": np.array([1000, 5], dtype)})[0].astype(float)).all()
    assert "onnxruntime" in known_defects(proto)
    assert known_defects(model(f"g ({kind}[2] x) => ({kind}[1] y) {{y = ReduceLogSumExp(x)}}", 13)) == {}


def test_payload_of_a_constant_is_left_where_it_is() -> None:
    """The comparison's child works in another folder than the model is in."""
    proto = model("g (int64[2] x) => (int64[2] y) {k = Constant<value = int64[2] {2147483648, 1}>() y = Max(x, k)}", 13)
    tensor = proto.graph.node[0].attribute[0].t
    tensor.ClearField("int64_data")
    assert known_defects(proto) == {}  # no data at all is for a runtime to find
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="elsewhere.bin")
    assert known_defects(proto) == {}
