"""The judge of the benchmarks: what it must call invalid, wrong or right, told by hand-written models."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
import validity
from engines import CannotRunError, run
from judge import Original, admitted_types, difference, interface_difference, judge
from onnx import parser

FLOATS = np.arange(6, dtype=np.float32).reshape(2, 3)


def model(opset: int, text: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')


def unary(opset: int, call: str, shape: str = "[2,3]", result: str = "") -> onnx.ModelProto:
    return model(opset, f"g (float{shape} x) => (float{result} y) {{ y = {call} }}")


# Each row: the newest opset that lacks it, the first that has it, a model of both, and the words of the complaint.
LIMITED = [
    pytest.param(9, 11, "Flatten <axis = -1> (x)", "axis -1 is negative", id="negative-axis-of-flatten"),
    pytest.param(9, 11, "Softmax <axis = -1> (x)", "axis -1 is negative", id="negative-axis-of-softmax"),
    pytest.param(10, 11, "ReduceSum <axes = [0, -1]> (x)", "axes [0, -1] is negative", id="negative-among-axes"),
    pytest.param(10, 11, "Concat <axis = -2> (x, x)", "axis -2 is negative", id="negative-axis-of-concat"),
    pytest.param(18, 19, 'Pad <mode = "wrap"> (x, p)', "mode is never 'wrap'", id="pad-wraps-from-19"),
    pytest.param(6, 8, "Max (x, r)", "do not broadcast yet", id="max-broadcasts-from-8"),
    pytest.param(27, 28, "Mod <fmod = 0> (x, x)", "fmod=0 takes integers only", id="float-mod-without-fmod"),
    pytest.param(10, 11, "Gather (x, i)", "indices has negative elements", id="constant-negative-index"),
    pytest.param(10, 11, "Slice (x, zero, one, i)", "axes has negative elements", id="constant-negative-slice-axes"),
    pytest.param(
        18,
        19,
        'Resize <coordinate_transformation_mode = "half_pixel_symmetric"> (x, r, s)',
        "never 'half_pixel_symmetric'",
        id="resize-mode-of-19",
    ),
    pytest.param(16, 18, 'ScatterElements <reduction = "max"> (x, w, x)', "reduction is never 'max'", id="reduction-of-18"),
]

CONSTANTS = """<
    int64[4] p = {0, 1, 0, 1}, float[3] r = {1, 2, 3}, int64[1] i = {-1}, int64[1] zero = {0}, int64[1] one = {1},
    float[2] s = {1, 1}, int64[2,3] w = {0, 0, 0, 1, 1, 1}
>"""


@pytest.mark.parametrize(("before", "since", "call", "complaint"), LIMITED)
def test_text_that_the_checker_does_not_read(before, since, call, complaint):
    old, new = (model(opset, f"g (float[2,3] x) => (float y) {CONSTANTS} {{ y = {call} }}") for opset in (before, since))
    assert complaint in " ".join(validity.text_problems(old, {}))
    assert validity.text_problems(new, {}) == []


@pytest.mark.parametrize(
    ("opset", "text", "complaint"),
    [
        pytest.param(13, "g (float[2,3] x) => (float y) { y = Gelu (x) }", "does not exist at opset 13", id="operator"),
        pytest.param(
            18, "g (float[2,3] x) => (float y) { y = Upsample (x, x) }", "is deprecated at opset 18", id="deprecated"
        ),
        pytest.param(
            13, "g (float[2,3] x) => (float y) { y = Split <num_outputs = 1> (x) }", "no attribute", id="attribute"
        ),
        pytest.param(12, "g (bfloat16[2] x) => (bfloat16 y) { y = Add (x, x) }", "takes no tensor(bfloat16)", id="type"),
        pytest.param(
            8,
            "g () => (int64[1] y) { y = Constant <value = int64[1] {1}> () }",
            "gives no tensor(int64) as output",
            id="integer-constant-before-9",
        ),
        pytest.param(13, "g (float[2] x, int64[2] z) => (float y) { y = Add (x, z) }", "one type for T", id="two-types"),
        pytest.param(13, "g (float[5] x) => (float y, float z) { y, z = Split (x) }", "equal parts", id="uneven-split"),
        pytest.param(18, "g (float[4] x) => (float y, float z) { y, z = Split (x) }", "exactly one of", id="split-18"),
        pytest.param(
            20, 'g (float[2,3,4] x, float[2,3,1] z) => (float y) { y = GridSample <mode = "bilinear"> (x, z) }',
            "mode is never 'bilinear'", id="a-value-that-went-away",
        ),
        pytest.param(
            10,
            "g (int8[2] x, float[1] s) => (float y) { y = DequantizeLinear (x, s) }",
            "scale has rank 1",
            id="per-axis-scale-before-13",
        ),
    ],
)  # fmt: skip
def test_a_model_that_is_not_of_its_opset(opset, text, complaint):
    assert complaint in " ".join(validity.text_problems(model(opset, text), {}))


def test_limits_hold_inside_branches():
    text = """g (float[2,3] x, bool c) => (float y) {
        y = If (c) <then_branch = t () => (float a) { a = Softmax <axis = -1> (x) },
                    else_branch = e () => (float b) { b = Identity (x) }>
    }"""
    assert "Softmax: axis -1 is negative" in " ".join(validity.text_problems(model(9, text), {}))
    assert validity.text_problems(model(11, text), {}) == []


def original(proto: onnx.ModelProto, **feeds: np.ndarray) -> Original:
    return Original(proto, feeds)


def test_softmax_stamped_down_is_wrong():
    start = original(unary(13, "Softmax <axis = 0> (x)", result="[2,3]"), x=FLOATS)
    verdict = judge(start, unary(11, "Softmax <axis = 0> (x)", result="[2,3]"), 11)
    assert (verdict.outcome, verdict.engine) == ("wrong", "onnxruntime")


def test_softmax_over_the_last_axis_is_right():
    start = original(unary(13, "Softmax (x)", result="[2,3]"), x=FLOATS)
    assert judge(start, unary(11, "Softmax <axis = 1> (x)", result="[2,3]"), 11).outcome == "ok"


def test_an_index_that_is_negative_only_at_run_time_is_wrong():
    text = "g (float[2,3] x, int64[1] i) => (float[1,3] y) { j = Identity (i) y = Gather (x, j) }"
    start = original(model(13, text), x=FLOATS, i=np.array([-1], np.int64))
    verdict = judge(start, model(9, text), 9)
    assert (verdict.outcome, verdict.reason) == (
        "wrong",
        "at run time: Gather: indices has negative elements (opset 9)",
    )
    start = original(model(13, text), x=FLOATS, i=np.array([1], np.int64))
    assert judge(start, model(9, text), 9).outcome == "ok"


def test_a_result_that_was_not_converted_is_invalid():
    start = original(unary(13, "Relu (x)", result="[2,3]"), x=FLOATS)
    assert judge(start, start.model, 11).reason == "opset_import says 13"


@pytest.mark.parametrize(
    ("after", "complaint"),
    [
        pytest.param("g (float[2,3] z) => (float[2,3] y) { y = Relu (z) }", "inputs changed", id="name"),
        pytest.param("g (float[2,4] x) => (float[2,3] y) { y = Relu (x) }", "float[2, 3] to float[2, 4]", id="shape"),
        pytest.param("g (float[2,3] x) => (double[2,3] y) { y = Relu (x) }", "float[2, 3] to double[2, 3]", id="type"),
    ],
)
def test_a_changed_interface_is_invalid(after, complaint):
    before = unary(13, "Relu (x)", result="[2,3]")
    assert complaint in str(interface_difference(before.graph, model(13, after).graph))


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        pytest.param(np.float32([1, 2]), np.float32([1, 2.001]), True, id="within-rtol"),
        pytest.param(np.float32([1, 2]), np.float32([1, 2.01]), False, id="beyond-rtol"),
        pytest.param(np.float32([np.nan]), np.float32([np.nan]), True, id="nan-is-nan"),
        pytest.param(np.float32([np.inf]), np.float32([-np.inf]), False, id="infinities-have-signs"),
        pytest.param(np.int64([1000]), np.int64([1001]), False, id="integers-are-exact"),
        pytest.param(np.float32([1]), np.float64([1]), False, id="type"),
        pytest.param(np.float32([1]), np.float32(1), False, id="rank"),
        pytest.param(np.array(["a"], object), np.array(["a"]), True, id="strings"),
        pytest.param(np.array([1.0], ml_dtypes.bfloat16), np.array([1.0078125], ml_dtypes.bfloat16), True, id="bfloat16-one-ulp"),
        pytest.param(np.array([1.0], ml_dtypes.float8_e4m3fn), np.array([1.125], ml_dtypes.float8_e4m3fn), False, id="float8"),
        pytest.param([np.float32([1])], [np.float32([1]), np.float32([2])], False, id="sequence-length"),
        pytest.param([np.float32([1])], np.float32([1]), False, id="sequence-or-tensor"),
    ],
)
def test_values_compare(expected, actual, same):
    assert (difference(expected, actual, 1e-3, 1e-7) is None) == same


def test_the_reference_knows_the_flattening_softmax():
    x = np.random.default_rng(0).random((2, 3, 4), np.float32)
    powers = np.exp(x.reshape(2, 12))
    (got,) = run("reference", unary(11, "Softmax (x)", "[2,3,4]"), {"x": x})
    np.testing.assert_allclose(got, (powers / powers.sum(1, keepdims=True)).reshape(x.shape), rtol=1e-6)


def test_the_reference_refuses_an_uneven_split_below_18():
    uneven = model(13, "g (float[5] x) => (float y, float z) { y, z = Split (x) }")
    with pytest.raises(CannotRunError, match="5 is no multiple of 2"):
        run("reference", uneven, {"x": np.zeros(5, np.float32)})


def test_types_that_arrived_late():
    taken, given = admitted_types(14)
    assert "tensor(float16)" in taken & given
    assert not {"tensor(float8e5m2)", "optional(tensor(float))"} & (taken | given)
    assert "tensor(float8e5m2)" in admitted_types(19)[0]
