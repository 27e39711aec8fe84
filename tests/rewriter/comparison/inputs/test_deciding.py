"""Samples that decide: what they tell apart, what they leave undecided, and what they must not call different."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.reference
import pytest
from helpers import model
from pairs import PAIRS

from split_rewrite.rewriter import Options, Samples, Tolerance, convert_version
from split_rewrite.rewriter.comparison import verification
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.by_region import compare_nodes
from split_rewrite.rewriter.comparison.inputs.deciding import (
    Style,
    as_it_is_read,
    decide_floats,
    decide_integers,
    on_its_side,
    styles,
)
from split_rewrite.rewriter.comparison.inputs.description import Description, description_of
from split_rewrite.rewriter.comparison.inputs.readers import Reading
from split_rewrite.rewriter.comparison.inputs.samples import InputSpace
from split_rewrite.rewriter.comparison.judging.differences import are_one_value, excused, is_empty
from split_rewrite.rewriter.comparison.original import Original
from split_rewrite.rewriter.comparison.verdicts import Comparison
from split_rewrite.rewriter.execution.messages import Outputs
from split_rewrite.rewriter.execution.model_client import Worker
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytest.importorskip("onnxruntime")
NEEDS_BFLOAT16 = pytest.mark.skipif(
    tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 19), reason="onnx.reference has no ml_dtypes"
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(time_limit=60) as worker:
        yield worker


def compared(worker: Worker, one: onnx.ModelProto, other: onnx.ModelProto, tolerance: Tolerance | None = None) -> Comparison:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("one.onnx", "other.onnx")]
        for path, proto in zip(paths, (one, other), strict=True):
            onnx.save(proto, path)
        return compare(*paths, worker=worker, tolerance=tolerance or Tolerance(), thorough=True)


# --- right, and must not be called different --------------------------------------------------------------------------

RIGHT = {
    "positions stay on their axis": ("g (float[5,2] x, int64[3] i) => (float[3,2] y) { y = Gather(x, i) }", 18, 13),
    "NaN, which a maximum takes in one order and not in the other": (
        "g (float[2,6] x) => (int64[1,6] y) { y = ArgMax<select_last_index = 1>(x) }",
        13,
        11,
    ),
    "infinities, which a matrix product makes NaN": ("g (float[1,8,1] x) => (float[1,8,2] y) { y = DFT<axis = 1>(x) }", 19, 13),
    "NaN and infinities that are cast to integers": ("g (float[6] x) => (int32[6] y) { y = Cast<to = 6>(x) }", 19, 9),
    "sizes stay small": ("g (int64[2] s) => (float[a,b] y) { y = ConstantOfShape(s) }", 20, 13),
    "averages that another kernel adds up": (
        "g (float[1,1,6,6] x) => (float[1,1,h,w] y) { y = AveragePool<kernel_shape = [3,3], strides = [2,2], ceil_mode = 1>(x) }",
        19,
        9,
    ),
    "squares beyond their type": ("g (int32[3,4] x) => (int32[3,4] y) { y = ReduceL2<noop_with_empty_axes = 1>(x) }", 18, 17),
    "neighbours that cancel out": (
        'g (float[2,2,5,6] x) => (float[2,2,15,2] y) <float[4] s = {1, 1, 3, 0.33333334}> { y = Resize<mode = "cubic">(x, , s) }',
        13,
        10,
    ),
    "large numbers that cancel out": (
        "g (float[4,16] x, float[16] s, float[16] b) => (float[4,16] y) { y = LayerNormalization(x, s, b) }",
        17,
        13,
    ),
    "averages that another kernel adds up, before they are quantized": (
        "g (float[N,4,5,5] x) => (float[N,4,5,5] y) <float s = {0.05}, float t = {0.1}, int8 z = {0}> { q = QuantizeLinear(x, s, z) "
        "d = DequantizeLinear(q, s, z) p = AveragePool<kernel_shape = [3,3], pads = [1,1,1,1]>(d) r = QuantizeLinear(p, t, z) "
        "y = DequantizeLinear(r, t, z) }",
        13,
        19,
    ),
    "squares of small integers, which are added as floats": (
        "g (uint8[2,4,6,6] x) => (float[2,1,6,6] y) { c = Cast<to = 1>(x) y = ReduceL2<axes = [1]>(c) }",
        13,
        18,
    ),
    "squares of more small integers than those could have a sum": (
        "g (uint8[300] x) => (float[1] y) { c = Cast<to = 1>(x) y = ReduceSumSquare<axes = [0]>(c) }",
        13,
        18,
    ),
    "squares of what was small before, and divided": (
        "g (uint8[2,4,6,6] x) => (int32[1,1,1,1] y) <int32 k = {7}> { a = Cast<to = 6>(x) b = Mod(k, a) c = Cast<to = 1>(b) "
        "d = Sqrt(c) e = Cast<to = 6>(d) y = ReduceSumSquare(e) }",
        13,
        18,
    ),
}


@pytest.mark.parametrize("text, source, target", RIGHT.values(), ids=RIGHT.keys())
def test_right_results_stay_equal(text: str, source: int, target: int) -> None:
    found = convert_version(model(text, source, 9), target, compare="model", options=Options(compare_budget=60)).report.comparison
    assert found is not None and found.status == "equal"


ENLARGED = (
    "g (float[2,4,6,6] x) => (%s y) <float[0] r = {}, float[4] s = {1, 1, 1.5, 2}, float k = {255}, int64[1] two = {2}> "
    '{ a = Resize<mode = "linear", coordinate_transformation_mode = "align_corners">(x, r, s) %s }'
)


@pytest.mark.parametrize(
    ("kind", "behind"),
    [
        ("int64[2,4,9,1]", "y = ArgMax<axis = -1>(a)"),
        ("int64[2,4,9,2]", "v, y = TopK(a, two)"),
        ("float[2,4,9,12]", "m = Mul(a, k) y = Round(m)"),
    ],
    ids=["ArgMax", "TopK", "Round"],
)
def test_what_jumps_behind_last_bits_is_compared_alone(kind: str, behind: str) -> None:
    found = convert_version(model(ENLARGED % (kind, behind), 11, 7), 10, options=Options(compare_budget=60), compare="auto")
    assert found.report.comparison is not None and found.report.comparison.status == "equal"


def test_nobody_says_where_nan_is_sorted_to() -> None:
    """The smallest are the largest of the negated, but for NaN."""
    text = "g (float[3, 5] x) => (float[3, 2] v) <int64[1] k = {2}> { h = Tanh (x) v, i = TopK <largest = 0> (h, k) }"
    found = convert_version(model(text, 11), 10).report.comparison
    assert found is not None and found.status == "equal"


@NEEDS_BFLOAT16
@pytest.mark.parametrize("seed", range(3))
def test_what_is_nearer_to_float64_than_the_original_is_equal(seed: int) -> None:
    text = "g (bfloat16[4,16] x, bfloat16[16] s, bfloat16[16] b) => (bfloat16[4,16] y) { y = LayerNormalization(x, s, b) }"
    options = Options(samples=Samples(seed=seed))
    found = convert_version(model(text, 20, 9), 13, compare="model", options=options).report.comparison
    assert found is not None and found.status == "equal"
    assert "output 'y' is as near to what float64 gives as the original's" in found.reason


def test_what_is_not_nearer_is_different(worker: Worker) -> None:
    text = "g (float16[4,16] x, float16[16] s) => (float16[4,16] y) {{ y = LayerNormalization<epsilon = {}>(x, s) }}"
    one, other = (model(text.format(epsilon), 20, 9) for epsilon in ("0.00001", "0.1"))
    assert compared(worker, one, other, Tolerance(inexact=True)).status == "different"


# --- wrong in a region ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one, other, _", PAIRS.values(), ids=PAIRS.keys())
def test_what_is_wrong_in_a_region_is_different(worker: Worker, one: onnx.ModelProto, other: onnx.ModelProto, _: object) -> None:
    found = compared(worker, one, other)
    assert found.status == "different", found


def test_node_by_node_the_samples_are_the_same() -> None:
    one, other, _ = PAIRS["Clip to 127 and to 128"]
    found = compare_nodes(Original(Skeleton.of(one)), Skeleton.of(other), {})
    assert found.status == "different"


# --- outputs that tell nothing ----------------------------------------------------------------------------------------

UNJUDGED = {
    "empty": (
        "g (float[8] x) => (float[k] y) { t = Constant<value_float = 1e30>() b = Greater(x, t) c = Not(b) d = And(b, c) y = Compress(x, d) }",
        "output 'y' is empty on all inputs tried",
    ),
    "the same": (
        "g (float[8] x) => (bool[8] y) { z = Sub(x, x) a = Abs(x) m = Constant<value_float = -3e30>() y = Less(a, m) }",
        "output 'y' is always the same on all inputs tried",
    ),
}


@pytest.mark.parametrize("text, reason", UNJUDGED.values(), ids=UNJUDGED.keys())
def test_outputs_that_tell_nothing_are_not_judged(worker: Worker, text: str, reason: str) -> None:
    found = compared(worker, model(text), model(text))
    assert (found.status, found.reason.partition(". Hint: ")[0]) == ("not compared", reason)


JUDGED = {
    "empty by its shape": "g (float[8] x) => (float[0] y) <int64[1] z = {0}> { y = Slice(x, z, z) }",
    "a constant of no inputs": "g (float[8] x) => (float[8] y, float[2] c) { y = Neg(x) c = Constant<value_floats = [1.0, 2.0]>() }",
    "of the shape alone": "g (float[8,3] x) => (int64[2] y, float[8,3] z) { y = Shape(x) z = Neg(x) }",
}


@pytest.mark.parametrize("text", JUDGED.values(), ids=JUDGED.keys())
def test_outputs_that_can_be_nothing_else_are_judged(worker: Worker, text: str) -> None:
    assert compared(worker, model(text), model(text)).status == "equal"


# --- the hint ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.00000011920929, 1.0000005])
def test_the_hint_helps_when_followed(worker: Worker, factor: float) -> None:
    text = "g (float[8] x) => (float[8] y) <float c = {{{}}}> {{ y = Mul(x, c) }}"
    one, other = model(text.format(1.0)), model(text.format(factor))
    found = verification._with_hint(compared(worker, one, other))
    option, _, value = found.reason.partition(". Hint: if you can accept that, add ")[2].partition(" ")
    assert (found.status, option) == ("different", "--atol")
    assert compared(worker, one, other, Tolerance(atol=float(value))).status == "equal"
    assert compared(worker, one, other, Tolerance(atol=float(value) / 4)).status == "different"


def test_a_difference_that_is_no_last_bit_gets_no_hint(worker: Worker) -> None:
    one, other, _ = PAIRS["Mod and fmod"]
    assert "--atol" not in verification._with_hint(compared(worker, one, other)).reason


# --- what reads an input ----------------------------------------------------------------------------------------------


def test_floats_of_each_style_hold_what_they_are_for() -> None:
    random = np.random.default_rng(0)
    made = {style.floats: decide_floats(random, style, Reading(landmarks={6.0}), (48,)) for style in styles(1000)}
    assert {0.5, -1.5, 2.5} <= set(made["halves"])
    assert np.signbit(made["halves"][made["halves"] == 0]).any()
    assert np.abs(made["large"]).max() > 500 and np.abs(made["tiny"]).max() < 1e-3
    assert 6.0 in made["landmarks"] and 6.5 in made["landmarks"]
    assert np.isnan(made["nan"]).any() and not np.isnan(made["nan"]).all()
    assert {np.inf, -np.inf} <= set(made["infinite"])
    assert len(set(made["repeated"])) <= 3


def test_each_input_has_nan_and_infinities_alone() -> None:
    found = {floats: {style.alone for style in styles(1, 5) if style.floats == floats} for floats in ("nan", "infinite", "halves")}
    assert found["nan"] == found["infinite"] == set(range(8))
    assert None in found["halves"]
    assert all(style.alone is None for style in styles(1000, 5))


@pytest.mark.parametrize("style", [style for style in styles(1, 4) if style.floats == "infinite"], ids=str)
@pytest.mark.parametrize("dims", [(), (1,), (2, 2)])
def test_each_sample_of_infinities_has_one(style: Style, dims: tuple[int, ...]) -> None:
    """A negative zero is not one."""
    assert np.isinf(decide_floats(np.random.default_rng(0), style, Reading(), dims)).any()


def test_one_scale_is_tiny_and_another_is_not() -> None:
    style = next(style for style in styles(1) if style.floats == "tiny")
    made = [decide_floats(np.random.default_rng(seed), style, Reading(scales=True), (1,)).item() for seed in range(8)]
    assert min(made) < 1e-3 and max(made) >= 0.5


def test_bounds_do_not_pass_each_other() -> None:
    drawn = np.array([3, -2, 1])
    np.testing.assert_array_equal(on_its_side(drawn, Reading(is_lower=True)), [-3, -2, -1])
    np.testing.assert_array_equal(on_its_side(drawn, Reading(is_upper=True)), [3, 2, 1])


def test_every_sample_of_scalar_bounds_runs(worker: Worker, tmp_path: Path) -> None:
    onnx.save(model("g (float[3] x, float a, float b) => (float[3] y) { y = Clip(x, a, b) }", 18), tmp_path / "m.onnx")
    found = description_of(worker, tmp_path / "m.onnx")
    assert isinstance(found, Description)
    space = InputSpace(found, found, Samples())
    with worker.open(tmp_path / "m.onnx") as session:
        for choice in (way for ways in space.deciding(space.choices()[:1]) for way in ways):
            assert isinstance(session.run(space.make(choice)), Outputs), choice


def test_axes_of_usual_samples_are_distinct() -> None:
    assert sorted(as_it_is_read(np.array([2, 1, 1]), Reading(axes={3}), {})) == [0, 1, 2]
    np.testing.assert_array_equal(as_it_is_read(np.array([0, 3]), Reading(strides=True), {}), [1, 3])
    np.testing.assert_array_equal(as_it_is_read(np.array([0, 3]), Reading(sizes=True, shape=(5, 7)), {}), [5, 7])
    np.testing.assert_array_equal(as_it_is_read(np.array([0, 3]), Reading(positions={"N", 9}), {"N": 3}), [0, 0])
    np.testing.assert_array_equal(as_it_is_read(np.array([0, 3]), Reading(positions={""}), {}), [0, 3])


def test_nan_of_halves_is_no_overflow(worker: Worker) -> None:
    """Where arithmetic is written in another order, infinities may be of either; NaN that was fed is not."""
    text = "g (float16[5] x) => (float16[5] y) { %s }"
    wrong = "n = IsNaN(x) o = Constant<value = float16 {1}>() w = Where(n, o, x) y = Elu(w)"
    one, other = (model(text % nodes, 18) for nodes in ("y = Elu(x)", wrong))
    assert compared(worker, one, other, Tolerance(inexact=True)).status == "different"


def test_what_no_runtime_runs_is_different(worker: Worker) -> None:
    """onnxruntime has no kernel of the operator that counts; but that it cannot run the result says the same as the reference."""
    text = "g (float[3,4] x) => (float[3,4] y) { r = ReduceLogSumExp<keepdims = 0>(x) %s }"
    one, other = (
        model(text % nodes, 18) for nodes in ("y = Add(x, r)", "s = Constant<value_ints = [7]>() t = Reshape(x, s) y = Add(t, r)")
    )
    assert compared(worker, one, other).status == "different"


def test_a_diagonal_may_be_far_away() -> None:
    style = next(style for style in styles(1) if style.integers == "extremes")
    limits, reading = (-(2**63), 2**63 - 1), Reading(offsets=True)
    assert abs(decide_integers(np.random.default_rng(0), style, reading, (), limits, {}).item()) > 100
    assert np.abs(decide_integers(np.random.default_rng(0), style, reading, (4,), limits, {})).max() < 10


@pytest.mark.parametrize("style", styles(1), ids=str)
def test_integers_stay_where_they_are_defined(style: object) -> None:
    def made(reading: Reading, low: int = -(2**31)) -> set[int]:
        random = np.random.default_rng(0)
        return set(decide_integers(random, style, reading, (12,), (low, 2**31 - 1), {"n": 5}).tolist())  # type: ignore[arg-type]

    assert made(Reading(positions={"n", 9})) <= set(range(-5, 5))
    assert made(Reading(positions={9}), low=0) <= set(range(9))
    assert made(Reading(shifts=True), low=0) <= set(range(31))
    assert sum(size > 8 for size in made(Reading(sizes=True))) <= (style.integers == "bits")  # type: ignore[attr-defined]
    assert 0 not in made(Reading(divides=True))
    assert made(Reading(axes={3})) <= set(range(-3, 3))
    assert sum(number**2 for number in made(Reading(is_squared=True))) < 2**31


# --- values -----------------------------------------------------------------------------------------------------------


def test_what_is_excused() -> None:
    exact = np.array([1.0, 2.0, 1000.0, np.inf])
    expected = np.array([1.0, 2.0, 1004.0, np.inf], np.float32)
    got = np.array([1.1, 5.0, 997.0, 1.0], np.float32)
    near = excused(expected, got, exact, rtol=0.01, atol=0.0)
    assert near.tolist() == [1.0, 2.0, 1004.0, 1.0]  # 3 and 0.1 are not more than the 4 by which the original is off
    assert excused(expected, got, exact, rtol=1e-5, atol=0.0).tolist() == got.tolist()  # 4 is no rounding error then


def test_a_mistake_of_the_runtime_excuses_nothing() -> None:
    exact = np.array([1.0, 2.0])
    expected, right = np.array([1.5, 2.0], np.float32), exact.astype(np.float32)
    assert excused(expected, right, exact, rtol=1e-4, atol=1e-5).tolist() == right.tolist()
    assert excused(expected, right, exact, rtol=1e-4, atol=1e-5, rounded=right).tolist() == right.tolist()
    rounded = np.array([0.9, 2.0], np.float32)  # another runtime is off by as much: it is rounding
    assert excused(expected, right, exact, rtol=1e-4, atol=1e-5, rounded=rounded).tolist() == expected.tolist()


def test_values_that_tell_nothing() -> None:
    assert is_empty(np.zeros((0, 3))) and is_empty([]) and not is_empty(np.zeros(1))
    assert are_one_value([np.array([1, 2]), np.array([1, 2])])
    assert not are_one_value([np.array([1, 2]), np.array([1, 3])]) and not are_one_value([np.zeros(2), np.zeros(3)])
