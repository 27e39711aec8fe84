"""Runs both models once more as users do, with onnxruntime's optimizer. It may join or fold nodes that are right as they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...execution.messages import OPTIMIZED, Failure, Outputs
from ..inputs.original_runs import explain
from ..runs import Pair, Run

_MOST = 3
"""The number of inputs on which the models are run."""
_RELATIVE = 0.01
"""How far a float may be from the other, in relation to the largest: the optimizer changes last bits, of which many may gather."""


def difference_when_optimized(pair: Pair, runs: list[Run]) -> str:
    """What the result gives with the optimizer and neither model gives without it, nor the original with it; "" for nothing."""
    runs = pair.affordable(OPTIMIZED, runs[:_MOST])
    before = pair.outputs_again(OPTIMIZED, runs) if runs else None
    if before is None or any(_unlike(run.outputs, again) for run, again in zip(runs, before, strict=True)):
        return ""
    for run, answer in zip(runs, pair.run_again(OPTIMIZED, runs, pair.result), strict=True):
        if isinstance(answer, Failure) and answer.kind in ("invalid", "runtime") and answer.certain:
            return f"with its optimizer, onnxruntime runs the original but not the result: {explain(answer)}"
        if isinstance(answer, Outputs) and (name := _unlike(run.outputs, answer)):
            return f"output '{name}' differs where onnxruntime's optimizer is on, as it is by default, and not where it is off"
    return ""


def _unlike(one: Outputs, other: Outputs) -> str:
    """The first output that is not alike, "" where all are."""
    pairs = zip(one.names, one.values, other.values, strict=True)
    return next((name for name, value, again in pairs if not _are_alike(value, again)), "")


def _are_alike(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_are_alike, one, other))
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return type(one) is type(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return _are_near(one, other) if one.dtype.kind == "f" else bool(np.array_equal(one, other))


def _are_near(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether floats are NaN and infinite in the same places, and elsewhere near each other."""
    finite = np.isfinite(one) & np.isfinite(other)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return False
    values, others = one[finite].astype(np.float64), other[finite].astype(np.float64)
    return bool(np.all(np.abs(values - others) <= _RELATIVE * np.max(np.abs(values), initial=0)))
