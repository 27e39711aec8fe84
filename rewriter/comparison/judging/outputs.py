"""Compares the outputs of the original with those of the result over all samples, and says which comparisons prove nothing."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from ...execution.effort import inferred
from ...execution.messages import Outputs
from ...execution.values import arrays_in
from ..runs import DISTINCT, Run
from .differences import (
    OutputComparison,
    are_one_value,
    compare_values,
    dtype_name,
    is_empty,
    is_nan_throughout,
    largest_number,
    shape_of_value,
)
from .tolerance import Tolerance

if TYPE_CHECKING:
    from ..verdicts import Evidence

_TELLING = 6
"""After this many samples of the same shapes with the same output, the samples are taken not to influence the output."""
KERNELS = Tolerance(inexact=True, sums=True)
"""The tolerance within which two runtimes agree."""


def compare_outputs(runs: list[Run], results: list[Outputs], tolerance: Tolerance) -> tuple[OutputComparison, ...]:
    """The comparison of each output, the worst over all samples."""
    return functools.reduce(worst, (compare_run(*pair, tolerance) for pair in zip(runs, results, strict=True)))


def are_equal(runs: list[Run], results: list[Outputs], tolerance: Tolerance) -> bool:
    """Whether each output is equal in all samples."""
    return all(output.equal for output in compare_outputs(runs, results, tolerance))


def evidence_of(runs: list[Run], outputs: tuple[OutputComparison, ...]) -> Evidence:
    """What it shows that the `outputs` are equal on `runs`."""
    if any(output.max_abs or output.max_rel for output in outputs):
        return "sampled"
    if sum(run.is_distinct for run in runs) >= DISTINCT:
        return "proved for the shapes tried"
    has_floats = any(array.dtype.kind in "fV" for run in runs for value in run.inputs.values() for array in arrays_in(value))
    telling = "odd" if has_floats else "usual"
    return "same arithmetic" if any(run.decides == telling for run in runs) else "sampled"


def agrees_with_either(outputs: list[Outputs], runs: list[Run], results: list[Outputs]) -> bool:
    """Whether `outputs`, those of another runtime, are in each sample those of the original or those of the result, as far as two
    runtimes agree.
    """
    samples = zip(outputs, runs, results, strict=True)
    return all(
        any(are_equal([run._replace(outputs=expected)], [got], KERNELS) for expected in (run.outputs, result))
        for got, run, result in samples
    )


def compare_run(run: Run, result: Outputs, tolerance: Tolerance) -> tuple[OutputComparison, ...]:
    """The comparison of each output of one sample.

    In a sample of many magnitudes, sums may have terms as large as its largest number, of which nothing is left in any output.
    """
    compared = _compare(run, result, tolerance, 0.0)
    if all(output.equal for output in compared) or not run.decides or not tolerance.sums or tolerance.steps:
        return compared
    return _compare(run, result, tolerance, max(map(largest_number, run.inputs.values()), default=0.0))


def _compare(run: Run, result: Outputs, tolerance: Tolerance, term: float) -> tuple[OutputComparison, ...]:
    triples = zip(run.outputs.names, run.outputs.values, result.values, strict=True)
    bounds = ((*triple, tolerance.of(triple[0], dtype_name(triple[1]))) for triple in triples)
    return tuple(compare_values(name, expected, got, *bound.with_terms_of(term)) for name, expected, got, bound in bounds)


def worst(first: tuple[OutputComparison, ...], second: tuple[OutputComparison, ...]) -> tuple[OutputComparison, ...]:
    """The worse of two comparisons, for each output."""
    return tuple(map(_worse, first, second))


def _worse(first: OutputComparison, second: OutputComparison) -> OutputComparison:
    return replace(
        first,
        max_abs=max(first.max_abs, second.max_abs),
        max_rel=max(first.max_rel, second.max_rel),
        equal=first.equal and second.equal,
        note=first.note or second.note,
        atol=max(first.atol, second.atol),
    )


def unjudged(runs: list[Run], computed: Mapping[str, frozenset[str]], original: Path) -> str:
    """A text about the first output whose comparison proves nothing ("output 'y' is NaN throughout"), or "".

    `computed` maps each output to the inputs whose values it depends on. The model in the file `original` is read where an output
    is empty, to see whether it can be anything else.
    """
    for index, name in enumerate(runs[0].outputs.names):
        values = [run.outputs.values[index] for run in runs]
        if all(map(is_nan_throughout, values)):
            return f"output '{name}' is NaN throughout"
        if all(map(is_empty, values)):
            if not _is_always_empty(name, original):
                return f"output '{name}' is empty"
        elif (deciding := computed.get(name)) and _never_varies(runs, index, sorted(deciding)):
            return f"output '{name}' is always the same"
    return ""


def _never_varies(runs: list[Run], index: int, deciding: Iterable[str]) -> bool:
    """Whether an output stays the same although the inputs `deciding` had many values, with the same shapes."""
    by_shapes: dict[Hashable, list[Run]] = {}
    for run in runs:
        by_shapes.setdefault(tuple(map(shape_of_value, run.inputs.values())), []).append(run)
    if not all(are_one_value([run.outputs.values[index] for run in group]) for group in by_shapes.values()):
        return False
    alike = max(by_shapes.values(), key=len)
    return len({repr([run.inputs.get(name) for name in deciding]) for run in alike}) >= _TELLING


def _is_always_empty(name: str, path: Path) -> bool:
    """Whether a graph output is declared to have no elements, or is of a type without elements."""
    model = inferred(onnx.load(path, load_external_data=False))
    kind = next(value.type for value in model.graph.output if value.name == name)
    return any(dim.HasField("dim_value") and dim.dim_value == 0 for dim in kind.tensor_type.shape.dim)
