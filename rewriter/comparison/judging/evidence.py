"""Runs the two models again, to find out whether a difference between them is real and where it begins."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ...cached import cached_property
from ...execution.engines import is_installed, other_engine
from ...execution.messages import Failure, Outputs
from ...onnx_model.protos import default_opset
from ...opsets import facts
from ..runs import Pair, Run, with_outputs
from .differences import compare_values, dtype_name, excused, is_number, shape_of_value, within
from .outputs import KERNELS, are_equal, compare_outputs, compare_run
from .tolerance import EXACT, Tolerance

if TYPE_CHECKING:
    from .first_difference import Difference


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


def _hands_on_nan(answer: Outputs | Failure) -> bool:
    return isinstance(answer, Outputs) and _has_nan(dict(zip(answer.names, answer.values, strict=True)))


def _is_certain_failure(answer: Outputs | Failure) -> bool:
    return isinstance(answer, Failure) and answer.kind == "runtime" and answer.certain


_UNASKED = (Failure("timeout", "beyond the budget"),) * 2
"""What the other runtime says of the two models where it is not asked."""


class Evidence:
    """What more runs of two models say about a difference between them."""

    def __init__(self, pair: Pair, tolerance: Tolerance, spread: frozenset[str] = frozenset()) -> None:
        """`spread`: the outputs in which no specification says where NaN and infinities are."""
        self._pair = pair
        self._tolerance = tolerance
        self._spread = spread

    def without_disputed(self, engine: str, runs: list[Run], *, has_halves: bool) -> list[Run]:
        """The runs, without decisive samples whose difference the other runtime does not confirm.

        For NaN and infinities, the other runtime also has to agree about the original: the result of an operator on these is often
        undefined, and another kernel, or another way to compute the same, gives something else. With `has_halves`, and where
        arithmetic was reordered, an overflow in only one of the two orders proves nothing either. Nor do NaN and infinities in
        outputs in which no specification says where they are. A difference that the other runtime could only confirm at a price
        beyond the budget counts as one that it does not run.
        """
        may_overflow = has_halves and self._tolerance.inexact
        deciding = [run for run in runs if run.decides]
        other = other_engine(engine)
        if other is None:
            return [run for run in runs if run.decides != "odd"]
        results = {id(run): answer for run, answer in self.differing(engine, deciding)}
        suspected = [run for run in deciding if id(run) in results]
        asked = self._pair.affordable(other, suspected)
        befores, afters = (self._pair.run_again(other, asked, model) for model in (self._pair.original, self._pair.result))
        answers = {id(run): pair for run, *pair in zip(asked, befores, afters, strict=True)}
        dropped = {
            id(run)
            for run in suspected
            if not self._is_confirmed(run, results[id(run)], *answers.get(id(run), _UNASKED), may_overflow=may_overflow)
        }
        return [run for run in runs if id(run) not in dropped]

    def without_sorted_nan(self, engine: str, runs: list[Run]) -> list[Run]:
        """The runs, without those in which the main graph of the original hands NaN to a node that sorts, or looks for the largest:
        no specification says where NaN goes.
        """
        nodes = onnx.load(self._pair.original, load_external_data=False).graph.node
        sorted_ = {node.input[0] for node in nodes if facts.of(node.op_type, node.domain).has("sorts")}
        names = tuple(name for node in nodes for name in node.output if name in sorted_)
        if not names:
            return runs
        with self._pair.worker.open(self._pair.original, engine, names) as session:
            answers = [answer for _, answer in session.run_all(run.inputs for run in runs)]
        return [run for run, answer in zip(runs, answers, strict=True) if not _hands_on_nan(answer)]

    def differing(self, engine: str, runs: list[Run]) -> list[tuple[Run, Outputs | Failure]]:
        """The runs on which the result gives other outputs in `engine`, or fails, with these."""
        answers = zip(runs, self._pair.run_again(engine, runs, self._pair.result), strict=True)
        return [(run, got) for run, got in answers if isinstance(got, Failure) or not are_equal([run], [got], self._tolerance)]

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
            return run.decides != "odd" and any(_is_wrong(KERNELS, *triple, may_overflow).any() for triple in triples)
        values = zip(run.outputs.names, run.outputs.values, result.values, before.values, after.values, strict=True)
        return any(self._differ_in_both(run, *of_output, may_overflow=may_overflow) for of_output in values)

    def _differ_in_both(
        self, run: Run, name: str, expected: Any, got: Any, other_expected: Any, other_got: Any, *, may_overflow: bool
    ) -> bool:
        kind = dtype_name(expected)
        bounds = self._tolerance.of(name, kind)
        wrong = _is_wrong(self._tolerance, name, other_expected, other_got, may_overflow or name in self._spread)
        if run.decides != "odd":
            return bool(wrong.any())
        here, agreed = ~within(expected, got, *bounds), within(expected, other_expected, *KERNELS.of(name, kind))
        if len({wrong.shape, here.shape, agreed.shape}) > 1:  # shapes differ, so that there is no element to look at
            return bool(wrong.any() and here.any() and agreed.all())
        found = wrong & here & agreed
        if found.sum() <= (wrong & here & ~agreed).sum():
            return False  # they agree about the original by chance
        if self._tolerance.inexact and np.shape(expected) == np.shape(got):
            found = found & (is_number(expected) | is_number(got))
        return bool(np.any(found))

    @cached_property
    def has_other_opset(self) -> bool:
        """Whether the result imports another opset than the original, for which a runtime may have other kernels."""
        protos = [onnx.load(path, load_external_data=False) for path in (self._pair.original, self._pair.result)]
        before, after = (default_opset(proto.opset_import) for proto in protos)
        return before != after

    def is_same_at_opset_of_result(self, runs: list[Run]) -> bool:
        """Whether onnxruntime computes of the original, declared at the result's opset, exactly what it computes of the result.

        Its kernels for this opset then explain what differs, if that is no more than last bits.
        """
        original, result = (onnx.load(path, load_external_data=False) for path in (self._pair.original, self._pair.result))
        if any(tensor.external_data for tensor in original.graph.initializer):
            return False
        del original.opset_import[:]
        original.opset_import.extend(result.opset_import)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "original.onnx"
            onnx.save(original, path)
            expected, results = (self._pair.outputs_again("onnxruntime", runs, model) for model in (path, self._pair.result))
        if expected is None or results is None:
            return False
        return are_equal(with_outputs(runs, expected), results, EXACT)

    def fails_in_onnxruntime(self, engine: str, runs: list[Run]) -> bool:
        """Whether onnxruntime, too, runs the original and not the result, which `engine`, another runtime, could not run."""
        if engine == "onnxruntime" or not is_installed("onnxruntime"):
            return False
        models = self._pair.original, self._pair.result
        answers = zip(*(self._pair.run_again("onnxruntime", runs, model) for model in models), strict=True)
        return any(isinstance(before, Outputs) and _is_certain_failure(after) for before, after in answers)

    def differing_at_edges(self, engine: str, runs: list[Run]) -> tuple[Run, Outputs | Failure] | None:
        """The first run on which the original and the result differ in both runtimes, with what `engine` makes of the result.

        Both have to agree about the original: on empty tensors, the result of an operator is often undefined.
        """
        results = self._pair.run_again(engine, runs, self._pair.result)
        suspected = [pair for pair in zip(runs, results, strict=True) if self._fails_or_differs(*pair)]
        other = other_engine(engine)
        if not suspected or other is None:
            return None
        again = self._pair.affordable(other, [run for run, _ in suspected])
        ways = (self._pair.run_again(other, again), self._pair.run_again(other, again, self._pair.result))
        for (run, result), before, after in zip(suspected, *ways, strict=False):
            if not isinstance(before, Outputs) or not are_equal([run], [before], KERNELS):
                continue
            if self._fails_or_differs(run._replace(outputs=before), after):
                return run, result
        return None

    def _fails_or_differs(self, run: Run, answer: Outputs | Failure) -> bool:
        """Whether the result fails on the inputs of the run, or gives other outputs by more than runtimes differ."""
        if isinstance(answer, Failure):
            return answer.kind == "runtime"
        return not any(are_equal([run], [answer], tolerance) for tolerance in (self._tolerance, KERNELS))

    def are_nearer(self, runs: list[Run], results: list[Outputs]) -> bool:
        """Whether the results, wherever they differ, are as close to the original computed in float64 as the original itself.

        This is for rules that compute in another way, for example in a wider type, and for the tolerances of such rules. Where both
        models give the same in float64, they only round in other places, and the results may be some times further off: what is
        next may make much of what was rounded, as a normalization of nearly equal numbers does.
        """
        if not self._tolerance.inexact or self._tolerance.is_stated:
            return False
        exact = self._pair.run_again("float64", runs)
        if self._are_near(runs, results, exact, None):
            return True
        confirming = self._pair.run_again("float64", runs, self._pair.result)
        if not all(map(self._agree, runs, exact, confirming)):
            return False
        return self._are_near(runs, results, exact, self._pair.run_again("onnx.reference", runs))

    def _agree(self, run: Run, before: Outputs | Failure, after: Outputs | Failure) -> bool:
        """Whether both models give the same in float64, as far as constants in the types of the run tell."""
        if not isinstance(before, Outputs) or not isinstance(after, Outputs):
            return False
        for name, value, wide, other in zip(*run.outputs[:2], before.values, after.values, strict=True):
            if not compare_values(name, wide, other, *self._tolerance.of(name, dtype_name(value))).equal:
                return False
        return True

    def _are_near(
        self, runs: list[Run], results: list[Outputs], exact: list[Outputs | Failure], rounded: list[Outputs | Failure] | None
    ) -> bool:
        """Whether the results are near to `exact`. `rounded`: the original in onnx.reference, where both only round."""
        tolerance = self._tolerance
        for index, (run, result, answer) in enumerate(zip(runs, results, exact, strict=True)):
            if all(output.equal for output in compare_run(run, result, tolerance)):
                continue
            other = None if rounded is None else rounded[index]
            if not isinstance(answer, Outputs) or isinstance(other, Failure):
                return False
            others = [None] * len(answer.values) if other is None else other.values
            values = zip(run.outputs.names, run.outputs.values, result.values, answer.values, others, strict=True)
            bounds = {name: tolerance.of(name, dtype_name(value))[:2] for name, value in zip(*run.outputs[:2], strict=True)}
            near = tuple(excused(expected, got, wide, *bounds[name], rounded=r) for name, expected, got, wide, r in values)
            if not all(output.equal for output in compare_run(run, result._replace(values=near), tolerance)):
                return False
        return True

    def repeats(self, engine: str, runs: list[Run]) -> bool:
        """Whether the original, loaded a second time, gives the same outputs. A Dropout in training mode, for example, does not."""
        outputs = self._pair.outputs_again(engine, runs)
        return outputs is not None and are_equal(runs, outputs, EXACT)

    def first_difference(self, engine: str, runs: list[Run], results: list[Outputs], tolerance: Tolerance) -> Difference:
        """Where the models begin to differ by more than `tolerance`, on the first sample on which they do."""
        from .first_difference import Difference, Models, first_difference, run_by_worker  # equal models need not be read

        def differs(name: str, expected: Any, got: Any) -> bool:
            if tolerance.inexact and shape_of_value(expected) == shape_of_value(got):  # infinity for NaN is no difference then
                wrong = _is_wrong(tolerance, name, expected, got, may_overflow=False)
                return bool((wrong & (is_number(expected) | is_number(got))).any())
            return not compare_values(name, expected, got, *tolerance.of(name, dtype_name(expected))).equal

        def is_slight(name: str, expected: Any, got: Any) -> bool:
            loose = replace(tolerance, inexact=True)
            return compare_values(name, expected, got, *loose.of(name, dtype_name(expected))).equal

        def is_a_step(_name: str, expected: Any, got: Any) -> bool:
            if not isinstance(expected, np.ndarray) or not _are_whole(expected):
                return False
            return expected.shape == shape_of_value(got) and compare_values("", expected, got).max_abs <= 1

        pair = self._pair
        for run, result in zip(runs, results, strict=True):
            different = [output.name for output in compare_outputs([run], [result], tolerance) if not output.equal]
            if different:
                before, after = (run_by_worker(path, engine, pair.worker, run.inputs) for path in (pair.original, pair.result))
                return first_difference(Models(before, after, differs, is_slight, is_a_step), different)
        return Difference()


def _are_whole(numbers: np.ndarray) -> bool:
    """Whether these are integers, or floats that are whole numbers, as Round gives them."""
    return numbers.dtype.kind in "iu" or (numbers.dtype.kind == "f" and bool((numbers == np.round(numbers)).all()))
