"""A pair of models that runs again on the same inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from split_rewrite.rewriter.comparison.runs import Costs, Efforts, Pair, Run, with_outputs
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.effort import Effort
from split_rewrite.rewriter.execution.messages import Failure, Outputs
from split_rewrite.rewriter.execution.model_client import Worker

RELU = "g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"
NEG = "g (float[n,4] x) => (float[n,4] y) { y = Neg(x) }"
GIVEN = Outputs(("y",), (np.zeros((1, 4), np.float32),), "test 1")


def run(columns: int) -> Run:
    return Run({"x": np.ones((1, columns), np.float32)}, GIVEN)


def test_either_model_runs_again(save: Callable[..., Path], worker: Worker) -> None:
    pair = Pair(save(RELU), save(NEG), worker)
    of_original, of_result = pair.outputs_again("onnxruntime", [run(4)]), pair.outputs_again("onnxruntime", [run(4)], pair.result)
    assert of_original is not None and of_result is not None
    assert (of_original[0].values[0] == 1).all() and (of_result[0].values[0] == -1).all()
    assert with_outputs([run(4)], of_result)[0].outputs is of_result[0]


def test_all_have_to_run(save: Callable[..., Path], worker: Worker) -> None:
    pair = Pair(save(RELU), save(NEG), worker)
    kinds = [type(answer) for answer in pair.run_again("onnxruntime", [run(4), run(5)])]
    assert kinds == [Outputs, Failure]
    assert pair.outputs_again("onnxruntime", [run(4), run(5)]) is None


def test_half_of_what_is_left_is_spent_on_each_question(save: Callable[..., Path], worker: Worker) -> None:
    """A run in onnx.reference takes half a second here, and one at least is afforded."""
    half = Effort(0.0, 1e6, 0.25e9, 1.0)
    costs = Costs(Efforts(half, half, 4), Budget(8))
    pair = Pair(save(RELU), save(NEG), worker, costs)
    runs = [run(4)] * 10
    assert [len(pair.affordable("onnx.reference", runs)) for _ in range(5)] == [4, 2, 1, 1, 0]
    assert len(Pair(*pair[:3]).affordable("onnx.reference", runs)) == 10
