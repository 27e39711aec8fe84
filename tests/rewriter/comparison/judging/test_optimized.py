"""A result that onnxruntime's optimizer, which is on by default, makes wrong is different, though it is right as it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.judging.optimized import _are_alike

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
        (np.float32([1, 100]), np.float32([1, 102]), False),
        (np.float32([0, 1]), np.float32([np.nan, 1]), False),
        (np.float32([np.inf, np.nan]), np.float32([np.inf, np.nan]), True),
        (np.float32([np.inf]), np.float32([-np.inf]), False),
        (np.int64([1]), np.int64([2]), False),
        (np.zeros((0, 2), np.float32), np.zeros((0, 3), np.float32), False),
        ([np.int64([1])], [np.int64([1])], True),
        ([np.int64([1])], [], False),
        (None, None, True),
    ],
)
def test_last_bits_may_differ(one: object, other: object, alike: bool) -> None:
    """Up to a hundredth of the largest number: the optimizer takes other kernels."""
    assert _are_alike(one, other) is alike
