"""Runs both models once more as users do, with onnxruntime's optimizer. It may join or fold nodes that are right as they stand."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...execution.messages import OPTIMIZED, Failure, Outputs
from ..inputs.original_runs import explain
from ..runs import Pair, Run

_MOST = 12
"""The number of inputs on which the models are run. They are spread, so that branches and bodies are run, too."""
_RELATIVE = 0.01
"""How far a float may be from the other, in relation to the largest: the optimizer changes last bits, of which many may gather."""
_COARSELY, _STEPS = 0.25, 16
"""As `_RELATIVE`, and the steps of 8 bits, where models compute in 16-bit floats or with quantized numbers: what is in other words
then need not be rounded alike.
"""
_VARIATION, _ENOUGH = 0.5, 64
"""How far numbers may be apart on the average, in relation to how they vary, where there are enough of them."""
_RESOLUTION = 1 / 64
"""How far at least, in relation to the largest: two steps of 8 bits are nothing, however little numbers vary."""
_OF_INPUTS = 1e-4
"""How far it may be in relation to the largest input: what cancels leaves noise, which another kernel makes anew."""
_SHARE = 0.5
"""The share of the elements that are others where a node was folded wrongly; last bits turn a few integers over."""


def difference_when_optimized(pair: Pair, runs: list[Run], is_coarse: bool) -> str:
    """What the result gives with the optimizer, and gives not without it, nor the original with it; "" for nothing.

    `is_coarse` says that the models compute in 16-bit floats or with quantized numbers.
    """
    usual = [run for run in runs if not run.doubt and run.decides != "odd"]
    runs = pair.affordable(OPTIMIZED, usual[:: math.ceil(len(usual) / _MOST) or 1])
    before = pair.run_again(OPTIMIZED, runs) if runs else []
    runs = [run for run, again in zip(runs, before, strict=True) if _is_undisturbed(run, again, is_coarse)]
    plain = pair.run_again("onnxruntime", runs, pair.result) if runs else []
    answers = pair.run_again(OPTIMIZED, runs, pair.result) if runs else []
    for run, without, answer in zip(runs, plain, answers, strict=True):
        if not isinstance(without, Outputs):
            continue
        if isinstance(answer, Failure) and answer.kind in ("invalid", "runtime") and answer.certain:
            return f"with its optimizer, onnxruntime runs the original but not the result: {explain(answer)}"
        if isinstance(answer, Outputs) and (name := _unlike(run, without, answer, is_coarse)):
            return f"output '{name}' differs where onnxruntime's optimizer is on, as it is by default, and not where it is off"
    return ""


def _is_undisturbed(run: Run, again: Outputs | Failure, is_coarse: bool) -> bool:
    """Whether the original gives the same with the optimizer."""
    return isinstance(again, Outputs) and not _unlike(run, run.outputs, again, is_coarse)


def _unlike(run: Run, one: Outputs, other: Outputs, is_coarse: bool) -> str:
    """The first output that is not alike, on the inputs of `run`; "" where all are."""
    noise = _OF_INPUTS * max((_largest(value) for value in run.inputs.values()), default=0.0)
    pairs = zip(one.names, one.values, other.values, strict=True)
    are_alike = partial(_are_coarsely_alike if is_coarse else _are_alike, noise=noise)
    return next((name for name, value, again in pairs if not _are_all(are_alike, value, again)), "")


def _largest(value: Any) -> float:
    """The largest finite float in an input."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return 0.0
    return float(np.max(np.abs(value[np.isfinite(value)].astype(np.float64)), initial=0))


def _are_all(are_alike: Callable[[np.ndarray, np.ndarray], bool], one: Any, other: Any) -> bool:
    """Whether two outputs, or all elements of two sequences, are alike."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_are_all(are_alike, *pair) for pair in zip(one, other, strict=True))
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return type(one) is type(other)
    return one.dtype == other.dtype and one.shape == other.shape and are_alike(one, other)


def _are_coarsely_alike(one: np.ndarray, other: np.ndarray, noise: float) -> bool:
    """As `_are_alike`, where numbers are rounded coarsely: some may be infinite on one side alone."""
    if one.dtype.kind not in "iufb" or not one.size:
        return True
    values, others = one.astype(np.float64), other.astype(np.float64)
    largest = np.max(np.abs(values), initial=0, where=np.isfinite(values))
    steps = 0 if one.dtype.kind == "b" else _STEPS
    far = steps if one.dtype.kind != "f" else max(_COARSELY * largest, noise)
    with np.errstate(invalid="ignore"):
        is_near = (np.abs(values - others) <= far) | (values == others) | (np.isnan(values) & np.isnan(others))
    return bool(np.mean(~is_near) < _SHARE) and (one.dtype.kind != "f" or not _are_others(values, others, noise))


def _are_others(values: np.ndarray, others: np.ndarray, noise: float) -> bool:
    """Whether floats are mostly other numbers, though none of them far away: they differ as much as half of what they vary."""
    finite = np.isfinite(values) & np.isfinite(others)
    if np.count_nonzero(finite) < _ENOUGH:
        return False
    varies, differs = np.std(values[finite]), np.sqrt(np.mean(np.square(values[finite] - others[finite])))
    return bool(differs > max(_VARIATION * varies, _RESOLUTION * np.max(np.abs(values[finite])), noise))


def _are_alike(one: np.ndarray, other: np.ndarray, noise: float) -> bool:
    if one.dtype.kind == "V" or not one.size:  # bfloat16 and float8 round coarsely
        return True
    if one.dtype.kind != "f":
        return bool(np.mean(one != other) < _SHARE)
    return _are_near(one, other, noise)


def _are_near(one: np.ndarray, other: np.ndarray, noise: float) -> bool:
    """Whether floats are NaN and infinite in the same places, and elsewhere mostly near each other."""
    finite = np.isfinite(one) & np.isfinite(other)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return False
    values, others = one[finite].astype(np.float64), other[finite].astype(np.float64)
    beyond = np.abs(values - others) > max(_RELATIVE * np.max(np.abs(values), initial=0), noise)
    return not values.size or bool(np.mean(beyond) < _SHARE)
