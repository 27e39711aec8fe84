"""Decides which samples count in a comparison, and which differences are real."""

from __future__ import annotations

import functools
import importlib.util
import tempfile
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import onnx

from ...cached import cached_property
from ...graph.protos import default_opset
from ..running.messages import Failure, Outputs
from ..running.model_client import Worker
from .declared_outputs import Contradiction
from .differences import (
    OutputComparison,
    are_one_value,
    compare_values,
    dtype_name,
    excused,
    is_empty,
    is_nan_throughout,
    is_number,
    shape_of_value,
    within,
)
from .tolerance import Tolerance

_TELLING = 6
"""After this many samples of the same shapes with the same output, the samples are taken not to influence the output."""


class Run(NamedTuple):
    """One sample on which the original ran.

    `decides` is not empty if the sample was made for decisive values (see `deciding`): "odd" if it contains NaN or infinities.
    `doubt` has the outputs of the original that contradict their own declared shapes. A result that has the declared ones proves
    nothing then, because rules go by them.
    """

    inputs: dict[str, Any]
    outputs: Outputs
    decides: Literal["", "usual", "odd"] = ""
    doubt: tuple[Contradiction, ...] = ()


_KERNELS = Tolerance(inexact=True, sums=True)
"""The tolerance within which two runtimes agree."""


def compare_outputs(runs: list[Run], results: list[Outputs], tolerance: Tolerance) -> tuple[OutputComparison, ...]:
    """The comparison of each output, the worst over all samples."""
    return functools.reduce(worst, (compare_run(*pair, tolerance) for pair in zip(runs, results, strict=True)))


def are_equal(runs: list[Run], results: list[Outputs], tolerance: Tolerance) -> bool:
    """Whether each output is equal in all samples."""
    return all(output.equal for output in compare_outputs(runs, results, tolerance))


def agrees_with_either(outputs: list[Outputs], runs: list[Run], results: list[Outputs]) -> bool:
    """Whether `outputs`, those of another runtime, are in each sample those of the original or those of the result, as far as two
    runtimes agree.
    """
    samples = zip(outputs, runs, results, strict=True)
    return all(
        any(are_equal([run._replace(outputs=expected)], [got], _KERNELS) for expected in (run.outputs, result))
        for got, run, result in samples
    )


def compare_run(run: Run, result: Outputs, tolerance: Tolerance) -> tuple[OutputComparison, ...]:
    """The comparison of each output of one sample."""
    triples = zip(run.outputs.names, run.outputs.values, result.values, strict=True)
    return tuple(compare_values(name, expected, got, *tolerance.of(name, dtype_name(expected))) for name, expected, got in triples)


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


def _is_wrong(tolerance: Tolerance, name: str, expected: Any, got: Any, may_overflow: bool) -> np.ndarray:
    """Which elements of output `name` differ.

    If arithmetic `may_overflow`, elements that are NaN or infinite never count as different.
    """
    wrong = ~within(expected, got, *tolerance.of(name, dtype_name(expected)))
    if may_overflow and np.shape(expected) == np.shape(got):
        return wrong & is_number(expected) & is_number(got)
    return wrong


def _has_nan(inputs: Mapping[str, Any]) -> bool:
    arrays = (value for value in inputs.values() if isinstance(value, np.ndarray) and value.dtype.kind in "fV")
    return any(np.isnan(array.astype(np.float64)).any() for array in arrays)


def _is_certain_failure(answer: Outputs | Failure) -> bool:
    return isinstance(answer, Failure) and answer.kind == "runtime" and answer.certain


class Evidence:
    """Runs the two models again to find out whether a difference between them is real."""

    def __init__(self, original: Path, result: Path, worker: Worker, tolerance: Tolerance) -> None:
        self._original = original
        self._result = result
        self._worker = worker
        self._tolerance = tolerance

    def run_again(self, engine: str, runs: list[Run], model: Path | None = None) -> list[Outputs | Failure]:
        """Load the original, or another `model`, again, and return its outputs for the same inputs."""
        with self._worker.open(model or self._original, engine) as session:
            return [answer for _, answer in session.run_all(run.inputs for run in runs)]

    def without_disputed(self, engine: str, runs: list[Run], *, has_halves: bool) -> list[Run]:
        """The runs, without decisive samples whose difference the other runtime does not confirm.

        For NaN and infinities, the other runtime also has to agree about the original: the result of an operator on these is often
        undefined, and another kernel, or another way to compute the same, gives something else. With `has_halves`, and where
        arithmetic was reordered, an overflow in only one of the two orders proves nothing either.
        """
        may_overflow = has_halves and self._tolerance.inexact
        deciding = [run for run in runs if run.decides]
        other = "onnx.reference" if engine == "onnxruntime" else "onnxruntime"
        if not importlib.util.find_spec(other.partition(".")[0]):
            return [run for run in runs if run.decides != "odd"]
        ways = ((engine, self._result), (other, self._original), (other, self._result))
        answers = zip(*(self.run_again(way[0], deciding, way[1]) for way in ways), strict=True)
        kept = {
            id(run)
            for run, of_run in zip(deciding, answers, strict=True)
            if self._is_confirmed(run, *of_run, may_overflow=may_overflow)
        }
        return [run for run in runs if not run.decides or id(run) in kept]

    def _is_confirmed(
        self, run: Run, result: Outputs | Failure, before: Outputs | Failure, after: Outputs | Failure, *, may_overflow: bool
    ) -> bool:
        """Whether the other runtime, with `before` from the original and `after` from the result, finds a difference, too.

        NaN among small numbers makes no overflow.
        """
        may_overflow = may_overflow and not (run.decides == "odd" and _has_nan(run.inputs))
        if not isinstance(result, Outputs):
            return True
        if not isinstance(before, Outputs) or not isinstance(after, Outputs):
            triples = zip(run.outputs.names, run.outputs.values, result.values, strict=True)
            return run.decides != "odd" and any(_is_wrong(_KERNELS, *triple, may_overflow).any() for triple in triples)
        values = zip(run.outputs.names, run.outputs.values, result.values, before.values, after.values, strict=True)
        return any(self._differ_in_both(run, *of_output, may_overflow=may_overflow) for of_output in values)

    def _differ_in_both(
        self, run: Run, name: str, expected: Any, got: Any, other_expected: Any, other_got: Any, *, may_overflow: bool
    ) -> bool:
        kind = dtype_name(expected)
        bounds = self._tolerance.of(name, kind)
        wrong = _is_wrong(self._tolerance, name, other_expected, other_got, may_overflow)
        if run.decides != "odd":
            return bool(wrong.any())
        here, agreed = ~within(expected, got, *bounds), within(expected, other_expected, *_KERNELS.of(name, kind))
        if len({wrong.shape, here.shape, agreed.shape}) > 1:  # shapes differ, so that there is no element to look at
            return bool(wrong.any() and here.any() and agreed.all())
        found = wrong & here & agreed
        if self._tolerance.inexact and np.shape(expected) == np.shape(got):
            found = found & (is_number(expected) | is_number(got))
        return bool(np.any(found))

    @cached_property
    def has_other_opset(self) -> bool:
        """Whether the result imports another opset than the original, for which a runtime may have other kernels."""
        protos = [onnx.load(path, load_external_data=False) for path in (self._original, self._result)]
        before, after = (default_opset(proto.opset_import) for proto in protos)
        return before != after

    def is_same_at_opset_of_result(self, runs: list[Run]) -> bool:
        """Whether onnxruntime computes of the original, declared at the result's opset, exactly what it computes of the result.

        Its kernels for this opset then explain what differs, if that is no more than last bits.
        """
        original, result = (onnx.load(path, load_external_data=False) for path in (self._original, self._result))
        if any(tensor.external_data for tensor in original.graph.initializer):
            return False
        del original.opset_import[:]
        original.opset_import.extend(result.opset_import)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "original.onnx"
            onnx.save(original, path)
            ways = [self.run_again("onnxruntime", runs, model) for model in (path, self._result)]
        expected, results = ([one for one in of if isinstance(one, Outputs)] for of in ways)
        if not len(expected) == len(results) == len(runs):
            return False
        again = [run._replace(outputs=outputs) for run, outputs in zip(runs, expected, strict=True)]
        return are_equal(again, results, Tolerance())

    def fails_in_onnxruntime(self, engine: str, runs: list[Run]) -> bool:
        """Whether onnxruntime, too, runs the original and not the result, which `engine`, another runtime, could not run."""
        if engine == "onnxruntime" or not importlib.util.find_spec("onnxruntime"):
            return False
        answers = zip(*(self.run_again("onnxruntime", runs, model) for model in (self._original, self._result)), strict=True)
        return any(isinstance(before, Outputs) and _is_certain_failure(after) for before, after in answers)

    def differing_at_edges(self, engine: str, runs: list[Run]) -> tuple[Run, Outputs | Failure] | None:
        """The first run on which the original and the result differ in both runtimes, with what `engine` makes of the result.

        Both have to agree about the original: on empty tensors, the result of an operator is often undefined.
        """
        results = self.run_again(engine, runs, self._result)
        suspected = [pair for pair in zip(runs, results, strict=True) if self._fails_or_differs(*pair)]
        other = "onnx.reference" if engine == "onnxruntime" else "onnxruntime"
        if not suspected or not importlib.util.find_spec(other.partition(".")[0]):
            return None
        again = [run for run, _ in suspected]
        ways = (self.run_again(other, again), self.run_again(other, again, self._result))
        for (run, result), before, after in zip(suspected, *ways, strict=True):
            if not isinstance(before, Outputs) or not are_equal([run], [before], _KERNELS):
                continue
            if self._fails_or_differs(run._replace(outputs=before), after):
                return run, result
        return None

    def _fails_or_differs(self, run: Run, answer: Outputs | Failure) -> bool:
        """Whether the result fails on the inputs of the run, or gives other outputs by more than runtimes differ."""
        if isinstance(answer, Failure):
            return answer.kind == "runtime"
        return not any(are_equal([run], [answer], tolerance) for tolerance in (self._tolerance, _KERNELS))

    def are_nearer(self, runs: list[Run], results: list[Outputs]) -> bool:
        """Whether the results, wherever they differ, are as close to the original computed in float64 as the original itself.

        This is for rules that compute in another way, for example in a wider type, and for the tolerances of such rules.
        """
        tolerance = self._tolerance
        if not tolerance.inexact or tolerance.is_stated:
            return False
        exact = self.run_again("float64", runs)
        for run, result, answer in zip(runs, results, exact, strict=True):
            if all(output.equal for output in compare_run(run, result, tolerance)):
                continue
            if not isinstance(answer, Outputs):
                return False
            values = zip(run.outputs.names, run.outputs.values, result.values, answer.values, strict=True)
            bounds = {name: tolerance.of(name, dtype_name(value))[:2] for name, value in zip(*run.outputs[:2], strict=True)}
            near = tuple(excused(expected, got, wide, *bounds[name]) for name, expected, got, wide in values)
            if not all(output.equal for output in compare_run(run, result._replace(values=near), tolerance)):
                return False
        return True


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
    model = onnx.shape_inference.infer_shapes(onnx.load(path, load_external_data=False), data_prop=True)
    kind = next(value.type for value in model.graph.output if value.name == name)
    return any(dim.HasField("dim_value") and dim.dim_value == 0 for dim in kind.tensor_type.shape.dim)
