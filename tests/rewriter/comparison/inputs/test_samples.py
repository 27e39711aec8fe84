"""Inputs of a comparison: those that a user gives, and those that it makes up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from split_rewrite.rewriter.comparison.by_model import Samples, compare
from split_rewrite.rewriter.comparison.inputs.description import Description, description_of
from split_rewrite.rewriter.comparison.inputs.original_runs import Plan, run_samples
from split_rewrite.rewriter.comparison.inputs.samples import InputSpace
from split_rewrite.rewriter.errors import SplitRewriteError
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.model_client import Worker

RELU = "g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"


Save = Callable[..., Path]

TWO_INPUTS = "g (float[n,4] x, int64[n] i, float[1] w = {2.0}) => (float[n,4] y) { y = Mul(x, w) }"
ARE = "; the inputs are x float32[n,4], i int64[n]"
REFUSED = {
    "unknown name of a shape": (Samples(shapes={"z": [1]}), f"--test-input-shape z: no such input{ARE}"),
    "unknown name of data": (Samples(data=[{"z": np.ones(1)}]), f"--input-data z: no such input{ARE}"),
    "shape: fixed dimension": (
        Samples(shapes={"x": [1, 5]}),
        "--test-input-shape x: shape [1,5] does not fit the declared float32[n,4]",
    ),
    "shape: rank": (
        Samples(shapes={"x": [4]}),
        "--test-input-shape x: shape [4] does not fit the declared float32[n,4]",
    ),
    "shape: negative": (
        Samples(shapes={"x": [-1, 4]}),
        "--test-input-shape x: shape [-1,4] does not fit the declared float32[n,4]",
    ),
    "data: dtype": (
        Samples(data=[{"x": np.ones((2, 4))}]),
        "--input-data x: float64 does not fit the declared float32[n,4]",
    ),
    "data: shape": (
        Samples(data=[{"x": np.ones((2, 3), np.float32)}]),
        "--input-data x: shape [2,3] does not fit the declared float32[n,4]",
    ),
}


@pytest.mark.parametrize("samples, message", REFUSED.values(), ids=REFUSED.keys())
def test_refused_samples(save: Save, worker: Worker, samples: Samples, message: str) -> None:
    path = save(TWO_INPUTS)
    with pytest.raises(SplitRewriteError) as error:
        compare(path, path, worker=worker, samples=samples)
    assert str(error.value) == message
    assert error.value.exit_status == 2


def test_given_shape_binds_the_symbols_it_names(save: Save, worker: Worker) -> None:
    path = save("g (float[n,m] x, float[m] z) => (float[n,m] y) { y = Add(x, z) }")
    found = compare(path, path, worker=worker, samples=Samples(shapes={"x": [7, 5]}))
    assert found.status == "equal"
    assert found.outputs[0].shape == (7, 5)


def test_a_symbol_that_is_not_utf_8_is_like_none(save: Save, worker: Worker) -> None:
    """The result may have it no more: --overwrite-input-shape replaces it."""
    path = save("g (float[dddd,4] x) => (float[A,4] y) { y = Relu(x) }")
    path.write_bytes(path.read_bytes().replace(b"dddd", b"\xff\xfe\xfd\xfc"))
    assert compare(path, path, worker=worker, samples=Samples(shapes={"x": [3, 4]})).status == "equal"
    assert compare(path, path, worker=worker).outputs[0].shape[1] == 4


@pytest.mark.parametrize(
    "declared, data, dtype",
    [
        ("float[n]", np.array([1.5, -2.0], np.float32), "float32"),
        ("string[n]", np.array(["a", "bc"]), "string"),
        ("bfloat16[n]", np.array([1.5, -2.0], ml_dtypes.bfloat16), "bfloat16"),
        ("bfloat16[n]", np.array([1.5, -2.0], ml_dtypes.bfloat16).view("V2"), "bfloat16"),
    ],
    ids=["float", "fixed-width text, as .npy files keep it", "bfloat16", "bfloat16, as .npy files keep it"],
)
def test_given_data_is_fed(save: Save, worker: Worker, declared: str, data: np.ndarray, dtype: str) -> None:
    path = save(f"g ({declared} x) => ({declared} y) {{ y = Identity(x) }}")
    found = compare(path, path, worker=worker, samples=Samples(data=[{"x": data}]))
    assert (found.status, found.outputs[0].dtype, found.outputs[0].shape) == ("equal", dtype, (2,))


def test_data_for_an_input_with_a_default(save: Save, worker: Worker) -> None:
    original = save(TWO_INPUTS)
    ignores_w = save(TWO_INPUTS.replace("Mul(x, w)", "Add(x, x)"))
    assert compare(original, ignores_w, worker=worker).status == "equal"
    samples = Samples(data=[{"w": np.array([3.0], np.float32)}])
    assert compare(original, ignores_w, worker=worker, samples=samples).status == "different"


def test_seed_decides_the_inputs(save: Save, worker: Worker) -> None:
    original = save("g (float[n] x) => (float[n] y) { y = Identity(x) }")
    result = save("g (float[n] x) => (float[n] y) { y = Neg(x) }")
    found = [compare(original, result, worker=worker, samples=Samples(seed=seed)) for seed in (0, 0, 1)]
    first, again, other = (comparison.outputs[0].max_abs for comparison in found)
    assert first == again != other


def test_sample_that_misfits_is_refused(save: Save, worker: Worker) -> None:
    path = save(RELU)
    samples = Samples(data=[{"x": np.ones((1, 4), np.float32)}, {"x": np.ones((1, 5), np.float32)}])
    with pytest.raises(SplitRewriteError, match=r"--input-data x: shape \[1,5\] does not fit"):
        compare(path, path, worker=worker, samples=samples)


def test_the_batch_of_a_state_is_that_of_the_signal(save: Save, worker: Worker) -> None:
    """As voice detectors have it, whose signal has to be long: a batch of 2 goes with states of 2."""
    path = save(
        "g (float[?,?] x, float[3,?,8] state) => (float[?,100] y, float[3,?,8] z) "
        "<int64[2] to = {-1, 100}, int64[1] low = {0}, int64[1] high = {100}, int64[1] last = {1}, int64[1] first = {0}> {"
        "part = Slice(x, low, high, last) y = Reshape(part, to) sum = ReduceSum(x, last) row = Unsqueeze(sum, first) "
        "z = Add(state, row) }"
    )
    described = description_of(worker, path)
    assert isinstance(described, Description)
    with worker.open(path) as session:
        space = InputSpace(described, described, Samples())
        runs = run_samples(session, "onnxruntime", [space], False, Plan(sys.maxsize, 0.0, Budget()))
    assert isinstance(runs, list)
    assert {run.inputs["state"].shape[1] for run in runs} == {run.inputs["x"].shape[0] for run in runs} == {2}
