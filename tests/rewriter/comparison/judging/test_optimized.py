"""A result that onnxruntime's optimizer, which is on by default, makes wrong is different, though it is right as it stands."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from helpers import model

from split_rewrite.rewriter import CompareError, convert_version
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.inputs.samples import Samples
from split_rewrite.rewriter.comparison.judging.optimized import _are_alike, _are_all, _are_coarsely_alike
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance
from split_rewrite.rewriter.opsets.transitions import newest_opset

LENGTHS = (
    "g (bool d, float[N,2] x) => (int64[2] s, float[q,r] z) { y = If (d) <then_branch = t () => (float[q,b] u) { u = Abs (x) }, "
    "else_branch = e () => (float[q,b] v) { v = ReduceMean <axes = [0]> (x) }> s = Shape (y) z = Neg (y) }"
)
"""Below opset 11, onnxruntime folds the Shape to the lengths of the second branch."""


def _saved(folder: Path, opset: int) -> Path:
    path = folder / f"{opset}.onnx"
    onnx.save(model(LENGTHS, opset), path)
    return path


def test_what_the_optimizer_folds_wrongly_is_different(tmp_path: Path) -> None:
    found = compare(_saved(tmp_path, 11), _saved(tmp_path, 10), runtime="onnxruntime", thorough=True)
    assert found.status == "different"
    assert found.reason == "output 's' differs where onnxruntime's optimizer is on, as it is by default, and not where it is off"


def test_what_it_folds_wrongly_in_both_models_is_not_the_results_fault(tmp_path: Path) -> None:
    found = compare(_saved(tmp_path, 10), _saved(tmp_path, 9), runtime="onnxruntime", thorough=True)
    assert found.status == "equal"


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (np.float32([1, 100]), np.float32([1.5, 100]), True),
        (np.float32([1, 100, 3]), np.float32([1, 102, 3]), True),
        (np.float32([1, 100]), np.float32([1, 102]), False),
        (np.float32([3e-6]), np.float32([-4e-6]), True),
        (np.float32([0, 1]), np.float32([np.nan, 1]), False),
        (np.float32([np.inf, np.nan]), np.float32([np.inf, np.nan]), True),
        (np.float32([np.inf]), np.float32([-np.inf]), False),
        (np.int64([1, 2, 3]), np.int64([1, 2, 4]), True),
        (np.int64([1, 2]), np.int64([1, 3]), False),
        (np.zeros((0, 2), np.float32), np.zeros((0, 3), np.float32), False),
        ([np.int64([1])], [np.int64([1])], True),
        ([np.int64([1])], [], False),
        (None, None, True),
    ],
)
def test_last_bits_may_differ(one: object, other: object, alike: bool) -> None:
    """Up to a hundredth of the largest number, and noise beside inputs of up to 1; and what they turn over in a few places."""
    assert _are_all(partial(_are_alike, noise=1e-4), one, other) is alike


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (np.uint8([10, 50, 100]), np.uint8([20, 60, 101]), True),
        (np.uint8([10, 50, 100]), np.uint8([0, 0, 0]), False),
        (np.int8([-128]), np.int8([127]), False),
        (np.float16([10, 11, 60000]), np.float16([11, 11, np.inf]), True),
        (np.float16([1, 2, 3]), np.float16([np.nan] * 3), False),
        (np.array([True, False]), np.array([False, True]), False),
        (np.float16([10, 10]), np.float16([14, 14]), False),
        (np.array(["a"], object), np.array(["b"], object), True),
    ],
)
def test_what_is_rounded_coarsely_may_differ_more(one: np.ndarray, other: np.ndarray, alike: bool) -> None:
    assert _are_coarsely_alike(one, other, 1e-4) is alike


def test_a_quantized_result_that_does_not_load_is_different() -> None:
    """onnxruntime 1.32 does not load what its optimizer makes of int8 that is moved behind DequantizeLinear, from opset 21 on."""
    given = model(
        """g (int8[2,3] x) => (int8[3,2] y) <float s = {0.1}, int8 z = {3}>
        { d = DequantizeLinear (x, s, z) a = Dropout (d) b = Transpose <perm = [1,0]> (a) c = Relu (b) y = QuantizeLinear (c, s, z) }""",
        13,
    )
    if not is_refused(given, 21):
        pytest.skip("this onnxruntime loads it")
    with pytest.raises(CompareError, match="with its optimizer, onnxruntime runs the original but not the result"):
        convert_version(given, 21)
    assert convert_version(given, 20).report.comparison.status == "equal"


def is_refused(given: onnx.ModelProto, opset: int) -> bool:
    """Whether onnxruntime, by default, does not load the model with another number of its opset."""
    restamped = onnx.ModelProto()
    restamped.CopyFrom(given)
    restamped.opset_import[0].version = opset
    try:
        onnxruntime.InferenceSession(restamped.SerializeToString())
    except Exception:  # of whatever type C++ throws
        return True
    return False


@pytest.mark.parametrize(("apart", "alike"), [(0.2, True), (0.9, False)])
def test_numbers_that_are_mostly_others_are_not_alike(apart: float, alike: bool) -> None:
    """Though few of them are a quarter of the largest away."""
    values = np.random.default_rng(2).standard_normal(1000).astype(np.float32)
    others = values + apart * np.random.default_rng(3).standard_normal(1000).astype(np.float32)
    others[0] = values[0] = 10
    assert _are_coarsely_alike(values, others, 1e-4) is alike
    assert _are_coarsely_alike(values[:50], others[:50], 1e-4)


def test_numbers_that_hardly_vary_are_alike_up_to_two_steps_of_eight_bits() -> None:
    values = np.full(1000, 0.5, np.float32)
    assert _are_coarsely_alike(values, values + np.float32(0.5 / 127), 1e-4)
    assert not _are_coarsely_alike(values, values + np.float32(0.05), 1e-4)


NOISE = "g (float[2,4,6] x) => (float[2,1,1] y) <float[4] s = {1, 1, 1, 1}, float[4] b = {0, 0, 0, 0}> { n = GroupNormalization <num_groups = 1> (x, s, b) y = ReduceMean <keepdims = 1> (n, a) }"


@pytest.mark.skipif(newest_opset() < 21, reason="the installed onnx has no such GroupNormalization")
def test_noise_that_another_kernel_makes_anew_is_none_of_its_faults() -> None:
    """The mean of normalized data is 0 up to last bits."""
    text = NOISE.replace("b = {0, 0, 0, 0}", "b = {0, 0, 0, 0}, int64[2] a = {1, 2}")
    comparison = convert_version(model(text, 21), 17, compare="auto").report.comparison
    assert comparison is not None
    assert comparison.status == "equal"


def test_a_tolerance_of_the_user_counts(tmp_path: Path) -> None:
    for factor in (1.0, 1.05):
        onnx.save(
            model(f"g (float[N] x) => (float[N] y) <float k = {{{factor}}}> {{ y = Mul (x, k) }}", 17), tmp_path / f"{factor}.onnx"
        )
    found = compare(tmp_path / "1.0.onnx", tmp_path / "1.05.onnx", thorough=True, tolerance=Tolerance(rtol=0.1))
    assert found.status == "equal"


GELUS = """g (float[N,4] x, bool b) => (float[N,4] y) <float h = {0.5}, float three = {3}, float w = {0.044715}, float s = {0.7978846},
        float one = {1}> { y = If (b) <then_branch = t () => (float[N,4] a) {
            %s r = Neg (q) a = Add (p, r) }, else_branch = e () => (float[N,4] o) { o = Neg (x) }> }"""
BROKEN = """a0 = Sin (x) q = Mul (a0, h) c = Pow (a0, three) d = Mul (c, w) f = Add (a0, d) k = Mul (f, s) t0 = Tanh (k) u = Add (t0, one)
            half = Mul (a0, h) p = Mul (half, u)"""
WHOLE = BROKEN.replace("half = Mul (a0, h) p = Mul (half, u)", "half = Mul (u, h) p = Mul (a0, half)")


def test_branches_are_run_with_the_optimizer_too(tmp_path: Path) -> None:
    """A fusion removes half of a0, which another node reads; only a run of that branch shows it."""
    for name, nodes in (("one", WHOLE), ("other", BROKEN)):
        onnx.save(model(GELUS % nodes, 17), tmp_path / f"{name}.onnx")
    for seed in range(3):
        found = compare(
            tmp_path / "one.onnx", tmp_path / "other.onnx", samples=Samples(seed=seed), runtime="onnxruntime", thorough=True
        )
        assert found.status == "different"
        assert found.reason.startswith("with its optimizer, onnxruntime runs the original but not the result: ")
