"""The evaluator refuses what the specification forbids, and computes the rest as onnx.reference does."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import model, run
from onnx import helper

from split_rewrite.rewriter.execution.strict_reference import SplitSizesError, strict_evaluator
from split_rewrite.rewriter.opsets.transitions import newest_opset

LARGEST = float(np.finfo(np.float32).max)

REFUSED = {
    "sizes-beyond-the-axis": (
        13,
        "(float[4] x, int64[2] s) => (float[A] y, float[B] z) { y, z = Split (x, s) }",
        {"s": [1, 2]},
        (SplitSizesError, r"Split cannot cut a dimension of 4 into parts of sizes \[1, 2\]"),
    ),
    "negative-sizes": (
        13,
        "(float[4] x, int64[2] s) => (float[A] y, float[B] z) { y, z = Split (x, s) }",
        {"s": [5, -1]},
        (SplitSizesError, r"into parts of sizes \[5, -1\]"),
    ),
    "another-number-of-sizes": (
        13,
        "(float[4] x, int64[3] s) => (float[A] y, float[B] z) { y, z = Split (x, s) }",
        {"s": [1, 1, 2]},
        (SplitSizesError, r"Split cannot give sizes \[1, 1, 2\] to 2 outputs"),
    ),
    "unequal-parts": (
        13,
        "(float[3] x) => (float[A] y, float[B] z) { y, z = Split (x) }",
        {},
        (SplitSizesError, "a dimension of 3 into parts"),
    ),
    "parts-of-no-length": (
        13,
        "(float[4] x, int64 s) => (seq(float[A]) y) { y = SplitToSequence (x, s) }",
        {"s": 0},
        (SplitSizesError, "SplitToSequence cannot cut a dimension into parts of size 0"),
    ),
    "an-integer-divided-by-zero": (
        14,
        "(float[4] x, int64[2] s) => (int64[2] y) { y = Div (s, s) }",
        {"s": [1, 0]},
        (ZeroDivisionError, "integers are divided by zero"),
    ),
    "the-remainder-of-a-division-by-zero": (
        14,
        "(float[4] x, int64[2] s) => (int64[2] y) { y = Mod (s, s) }",
        {"s": [1, 0]},
        (ZeroDivisionError, "integers are divided by zero"),
    ),
    "an-axis-given-twice": (
        13,
        "(float[4] x, int64[2] s) => (float[A] y) { y = Slice (x, s, s, s) }",
        {"s": [0, 0]},
        (ValueError, r"Slice has an axis twice in \[0, 0\]"),
    ),
}


@pytest.mark.parametrize(("opset", "text", "inputs", "refusal"), REFUSED.values(), ids=REFUSED.keys())
def test_what_the_specification_forbids_is_refused(
    opset: int, text: str, inputs: dict[str, object], refusal: tuple[type[Exception], str]
) -> None:
    evaluator = strict_evaluator()(model(f"g {text}", opset))
    given = {name: np.array(value) for name, value in inputs.items()}
    kind, message = refusal
    with pytest.raises(kind, match=message):
        evaluator.run(None, {"x": np.arange(4 if "float[4]" in text else 3, dtype=np.float32), **given})


UNDEFINED = {
    "power-beyond-its-type": ("(int32[2] x) => (int32[2] y) { y = Pow (x, x) }", {"x": np.int32([2, 16])}, "beyond their type"),
    "depth-below-zero": (
        "(int64[1] x, int64 d) => (float[1,D] y) <float[2] v = {0, 1}> { y = OneHot (x, d, v) }",
        {"x": np.array([0]), "d": np.array(-1)},
        "the depth of OneHot is -1",
    ),
    "largest-of-an-infinity": (
        '(float[1,1,1,2] x, float[1,4] r) => (float[1,1,1,1] y) <int64[1] b = {0}> { y = RoiAlign <mode = "max", sampling_ratio = 1> (x, r, b) }',
        {"x": np.float32([[[[1, np.inf]]]]), "r": np.float32([[0, 0, 1, 1]])},
        "the largest of numbers and NaN is not defined",
    ),
    "variance-of-few-digits": (
        "(float[1,1,1,2] x) => (float[1,1,1,2] y) { y = MeanVarianceNormalization (x) }",
        {"x": np.float32([[[[1000, 1001]]]])},
        "a variance that is small beside their mean",
    ),
}


@pytest.mark.parametrize(("text", "inputs", "message"), UNDEFINED.values(), ids=UNDEFINED)
def test_what_is_not_defined_is_refused(text: str, inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises((ArithmeticError, ValueError), match=message):
        strict_evaluator()(model(f"g {text}", 16)).run(None, inputs)


def test_what_is_defined_is_computed() -> None:
    x = np.float32([[[[-1, 3]], [[0, 0]]]])
    for text, inputs, expected in (
        ("(int32[2] x) => (int32[2] y) { y = Pow (x, x) }", {"x": np.int32([2, 9])}, [4, 9**9]),
        ("(float[1,2,1,2] x) => (float[1,2,1,2] y) { y = MeanVarianceNormalization (x) }", {"x": x}, [[[[-1, 1]], [[0, 0]]]]),
    ):
        np.testing.assert_allclose(strict_evaluator()(model(f"g {text}", 16)).run(None, inputs)[0], expected)


NORMALIZED = {
    "batch below 14": ("BatchNormalization <epsilon = 0.5> (x, s, b, b, s)", 9),
    "batch of 15": ("BatchNormalization <epsilon = 0.5> (x, s, b, b, s)", 15),
    "channels by an odd size": ("LRN <size = 3, alpha = 0.5, beta = 0.6, bias = 2.0> (x)", 13),
    "more channels than there are": ("LRN <size = 13, alpha = 0.5> (x)", 13),
}


@pytest.mark.parametrize(("node", "opset"), NORMALIZED.values(), ids=NORMALIZED)
def test_normalizations_agree_with_onnxruntime(node: str, opset: int) -> None:
    proto = model(f"g (float[2,5,3,2] x, float[5] s, float[5] b) => (float[2,5,3,2] y) {{ y = {node} }}", opset)
    random = np.random.default_rng(0)
    inputs = {
        "x": random.standard_normal((2, 5, 3, 2), np.float32),
        "s": random.random(5, np.float32),
        "b": random.random(5, np.float32),
    }
    [y] = strict_evaluator()(proto).run(None, inputs)
    np.testing.assert_allclose(y, run(proto, inputs)[0], rtol=1e-5, atol=1e-6)


DEQUANTIZED = {
    "one scale": ("(int8[2,5] x, float s, int8 z)", "(x, s, z)", 10),
    "no zero point": ("(uint8[2,5] x, float s)", "(x, s)", 13),
    "a scale for each column": ("(uint8[2,5] x, float[5] s, uint8[5] z)", "(x, s, z)", 13),
    "a scale for each row": ("(int8[2,5] x, float[2] s, int8[2] z)", "<axis = -2> (x, s, z)", 13),
    "large integers": ("(int32[2,5] x, float s)", "(x, s)", 10),
    "the newest version": ("(int8[2,5] x, float[5] s)", "<axis = 1> (x, s)", 21),
}


@pytest.mark.parametrize(("inputs", "node", "opset"), DEQUANTIZED.values(), ids=DEQUANTIZED)
def test_dequantized_numbers_are_those_of_onnxruntime(inputs: str, node: str, opset: int) -> None:
    proto = model(f"g {inputs} => (float[2,5] y) {{ y = DequantizeLinear {node} }}", opset)
    random, feeds = np.random.default_rng(0), {}
    for value in proto.graph.input:
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        numbers = random.random([dim.dim_value for dim in value.type.tensor_type.shape.dim]) * (1 if dtype == np.float32 else 100)
        feeds[value.name] = np.asarray(numbers).astype(dtype)
    np.testing.assert_array_equal(strict_evaluator()(proto).run(None, feeds)[0], run(proto, feeds)[0])


def test_attributes_of_normalizations_come_from_the_caller() -> None:
    proto = model("""<ir_version: 9, opset_import: ["" : 17, "f" : 1]> g (float[1,2,1,1] x, float[2] s) => (float[1,2,1,1] y, float[1,2,1,1] z)
        { y, z = f.both <eps = 0.5, length = 1> (x, s) }
        <domain: "f", opset_import: ["" : 17]> both <eps, length> (x, s) => (y, z) {
            y = BatchNormalization <epsilon: float = @eps> (x, s, s, s, s) z = LRN <size: int = @length, alpha = 1.0, beta = 1.0> (x) }""")
    inputs = {"x": np.float32([2, 3]).reshape(1, 2, 1, 1), "s": np.float32([1, 4])}
    for got, wanted in zip(strict_evaluator()(proto).run(None, inputs), run(proto, inputs), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_squares_of_halves_do_not_overflow() -> None:
    proto = model("g (float16[1,1,1,1] x) => (float16[1,1,1,1] y) { y = LRN <size = 1, alpha = 1.0, beta = 0.5> (x) }", 13)
    [y] = strict_evaluator()(proto).run(None, {"x": np.full((1, 1, 1, 1), 1000, np.float16)})
    assert (y.dtype, y.item()) == (np.float16, 1)


TRAINS = {
    "outputs of training": ("y, m, v = BatchNormalization (x, s, s, s, s)", 9),
    "no is_test": ("y = BatchNormalization (x, s, s, s, s)", 6),
    "positions apart": ("y = BatchNormalization <spatial = 0> (x, s, s, s, s)", 7),
}


@pytest.mark.parametrize(("node", "opset"), TRAINS.values(), ids=TRAINS)
def test_what_may_train_below_14_is_refused(node: str, opset: int) -> None:
    proto = model(f"g (float[2,1] x, float[1] s) => (float[2,1] y) {{ {node} }}", opset)
    with pytest.raises(ValueError, match="trains, or normalizes each position apart"):
        strict_evaluator()(proto).run(None, {"x": np.ones((2, 1), np.float32), "s": np.ones(1, np.float32)})


@pytest.mark.skipif(newest_opset() < 23, reason="the installed onnx has no Attention")
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("shape", [(3,), (1, 3), (1, 1, 1, 3)])
def test_a_causal_attention_with_one_mask_for_all_queries(kind: str, shape: tuple[int, ...]) -> None:
    """The first query sees the first value, the second the mean of the first two; the third is masked."""
    dims = ",".join(map(str, shape))
    text = f"""g (float[1,1,3,1] x, float[1,1,3,1] v, {kind}[{dims}] m) => (float[1,1,3,1] y) {{
        y = Attention<is_causal = 1>(x, x, v, m) }}"""
    mask = np.array([True, True, False] if kind == "bool" else [0, 0, -np.inf], kind if kind == "bool" else np.float32)
    inputs = {"x": np.zeros((1, 1, 3, 1), np.float32), "v": np.float32([4, 2, 9]).reshape(1, 1, 3, 1), "m": mask.reshape(shape)}
    [y] = strict_evaluator()(model(text, 23)).run(None, inputs)
    assert y.reshape(-1).tolist() == [4, 3, 3]


def test_the_same_holds_in_functions() -> None:
    source = model(
        """
        <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
        g (float[4] x, int64[2] s) => (float[A] y, float[B] z) { y, z = local.cut (x, s) }
        <domain: "local", opset_import: ["" : 13]> cut (x, s) => (y, z) { y, z = Split (x, s) }
        """
    )
    evaluator = strict_evaluator()(source)
    with pytest.raises(SplitSizesError):
        evaluator.run(None, {"x": np.zeros(4, np.float32), "s": np.array([1, 2])})


def test_the_last_part_of_a_split_into_a_number_of_parts_is_smaller() -> None:
    evaluator = strict_evaluator()(model("g (float[5] x) => (float[A] y, float[B] z) { y, z = Split <num_outputs = 2> (x) }", 18))
    first, last = evaluator.run(None, {"x": np.arange(5, dtype=np.float32)})
    np.testing.assert_array_equal(first, [0, 1, 2])
    np.testing.assert_array_equal(last, [3, 4])


def test_sequences_keep_the_axis_or_lose_it() -> None:
    for keepdims, shape in ((1, (1, 2)), (0, (2,))):
        text = f"g (float[2,2] x) => (seq(float[A]) y) {{ y = SplitToSequence <keepdims = {keepdims}> (x) }}"
        (parts,) = strict_evaluator()(model(text, 13)).run(None, {"x": np.ones((2, 2), np.float32)})
        assert [part.shape for part in parts] == [shape, shape]


def test_scatter_is_known_by_its_old_name() -> None:
    text = "g (float[1,4] x, int64[1,2] i, float[1,2] u) => (float[1,4] y) { y = Scatter <axis = 1> (x, i, u) }"
    given = {"x": np.zeros((1, 4), np.float32), "i": np.array([[1, 3]]), "u": np.float32([[5, np.nan]])}
    np.testing.assert_array_equal(strict_evaluator()(model(text, 9)).run(None, given)[0], [[0, 5, 0, np.nan]])


_LONG = np.iinfo(np.int64)


@pytest.mark.parametrize(
    ("attributes", "given", "expected"),
    [
        pytest.param("", [_LONG.min, _LONG.max, 0, 1], [_LONG.min, _LONG.max, 0, 1], id="limits"),
        pytest.param("bias = 1.0", [2**60 + 3, -(2**60) - 3], [2**60 + 2, -(2**60) - 2], id="beyond-double"),
        pytest.param("lambd = -1.5", [-1, 0, 2], [-1, 0, 2], id="negative-bound"),
    ],
)
def test_integers_shrink_exactly(attributes: str, given: list[int], expected: list[int]) -> None:
    proto = model(f"g (int64[N] x) => (int64[N] y) {{ y = Shrink <{attributes}> (x) }}".replace(" <>", ""), 9)
    (got,) = strict_evaluator()(proto).run(None, {"x": np.array(given)})
    assert got.tolist() == expected


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [("bias = -1.0", OverflowError, "beyond int64"), ("bias = 0.5", ValueError, "moves integers by 0.5")],
)
def test_integers_that_shrink_to_what_is_undefined_are_refused(attributes: str, error: type[Exception], message: str) -> None:
    proto = model(f"g (int64[1] x) => (int64[1] y) {{ y = Shrink <{attributes}> (x) }}", 9)
    with pytest.raises(error, match=message):
        strict_evaluator()(proto).run(None, {"x": np.array([_LONG.max])})


@pytest.mark.parametrize(
    ("opset", "inputs", "expected"),
    [
        pytest.param(13, "(x)", [-LARGEST, LARGEST, np.nan, 1], id="no-bounds"),
        pytest.param(13, "(x, low)", [0, LARGEST, np.nan, 1], id="no-max"),
        pytest.param(11, "(x, , low)", [-LARGEST, 0, np.nan, 0], id="no-min"),
        pytest.param(6, "(x)", [-LARGEST, LARGEST, np.nan, 1], id="attributes"),
    ],
)
def test_a_bound_of_clip_that_is_left_out_is_the_largest_number(opset: int, inputs: str, expected: list[float]) -> None:
    """As the specification says, and onnxruntime does; the reference as it comes has no bound there."""
    proto = model(f"g (float[4] x) => (float[4] y) <float low = {{0}}> {{ y = Clip {inputs} }}", opset)
    given = {"x": np.array([-np.inf, np.inf, np.nan, 1], np.float32)}
    expected_array = np.array(expected, np.float32)
    np.testing.assert_array_equal(strict_evaluator()(proto).run(None, given)[0], expected_array)
    np.testing.assert_array_equal(run(proto, given, "onnxruntime")[0], expected_array)


@pytest.mark.parametrize("onesided", [0, 1])
def test_a_real_signal_may_have_no_last_axis(onesided: int) -> None:
    text = f"g (float[2,10] x, int64 step, float[4] w) => (float[2,a,b,2] y) {{ y = STFT <onesided = {onesided}> (x, step, w) }}"
    x, window = np.arange(20, dtype=np.float32).reshape(2, 10) ** 2, np.float32([1, 2, 2, 1])
    (found,) = strict_evaluator()(model(text, 17)).run(None, {"x": x, "step": np.array(3), "w": window})
    frames = np.stack([x[:, start : start + 4] * window for start in (0, 3, 6)], axis=1).astype(np.float64)
    expected = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    np.testing.assert_allclose(found, np.stack([expected.real, expected.imag], axis=-1), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("options", ["", "<exclusive = 1>", "<reverse = 1>"])
def test_a_sum_along_an_axis_in_a_vector(options: str) -> None:
    """Runtimes take it as the number that it holds."""
    proto = model(f"g (float[2,3] x, int64[1] a) => (float[2,3] y) {{ y = CumSum {options} (x, a) }}", 14)
    feeds = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array([-1])}
    np.testing.assert_array_equal(strict_evaluator()(proto).run(None, feeds)[0], run(proto, feeds)[0])
