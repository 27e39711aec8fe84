"""Runs the original and the result on the same inputs, and decides whether they compute the same.

"equal" and "different" are only said about what was run. A runtime that lacks a kernel, takes too long or is known to compute an
operator wrongly proves nothing. Then the next runtime is asked; if none can tell, the answer is "not compared", with the reason.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import sys
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import ArgumentError
from .inputs.choice import Choice, SampleError
from .inputs.declared_types import input_types
from .inputs.samples import InputSpace, Samples
from .inputs.search import MOST_RUNS, Search, Tried
from .judging.declared_outputs import Contradiction
from .judging.differences import (
    OutputComparison,
    byte_size,
    compare_values,
    dtype_name,
    is_empty,
    is_nan_throughout,
    shape_of_value,
)
from .judging.evidence import Evidence, Run, agrees_with_either, are_equal, compare_outputs, unjudged, worst
from .judging.tolerance import EXACT, Tolerance
from .running.messages import Description, Failure, Outputs, RejectedError
from .running.model_client import Session, Worker, lent_worker

if TYPE_CHECKING:
    from ..graph.model import Semantics
    from .judging.first_difference import Difference

Runtime = Literal["auto", "onnxruntime", "reference", "both"]
_OTHER_MEANING = {"onnxruntime": "specification", "onnx.reference": "onnxruntime"}
"""For each runtime, the semantics that it does not follow."""
_ENGINES: dict[str, tuple[str, ...]] = {
    "auto": ("onnxruntime", "onnx.reference"),
    "onnxruntime": ("onnxruntime",),
    "reference": ("onnx.reference",),
    "both": ("onnxruntime", "onnx.reference"),
}
# Two choices of the open dimensions: an even and an odd one tell sizes from rules for sizes.
_SAMPLES = 2
# A thorough comparison tries other integers and signs too: a position that is always 0 would not tell one from another.
_THOROUGH_SAMPLES = 10
# All outputs are held until the result has run too: of large ones, no more samples are run than have to be.
_MANY_BYTES = 64 << 20
_LAST_BITS = (
    "; only last bits differ, and no rule used here may change them: either the runtime has another kernel for the other "
    "opset, or a rule is wrong"
)
# After so many failures other inputs are not tried: each crash costs a new child; the second sample is a bonus.
_CRASHES = 3
_FAILURES_AFTER_SUCCESS = 6
# A symbol in the shape of an output may be a mere word: its size is not looked for as long as one that is a number.
_RUNS_FOR_SYMBOLS = 300


@dataclass(frozen=True)
class Piece:
    """Equal changes of nodes, and the result of comparing one of them, old nodes against new ones.

    `example` names the first of the `count` nodes. `change` is "Split → Split, Identity", or the operator alone where the node
    stayed and only the definition of the operator differs at the target opset. `max_abs` is as in OutputComparison. `last_bits`
    says that the nodes are equal, or differ, only up to last bits, which another kernel of the runtime explains.
    """

    change: str
    example: str
    count: int
    status: Literal["equal", "different", "not compared"]
    reason: str = ""
    max_abs: float = 0.0
    last_bits: bool = False


@dataclass(frozen=True)
class Comparison:
    """The result of comparing two models.

    `runtime` is "name version". `reason` is one line: why the models were not compared, or what differs. An "equal" has a reason
    only where the preferred runtime could not be used, or where more was done than running the whole models. `pieces` is for models
    that were compared node by node, `outputs` for others; only the former can be "partly compared". `last_bits`: models that should
    be equal to the last bit are not, but differ by no more than an inexact rule may change. An "equal" has it where a kernel of
    the runtime is the cause. `stayed`: the first tensor that differs is made by nodes that are the same in both models, from
    inputs that are equal within the tolerance. `rounded`: inexact rules were applied, and these nodes round, which can turn a
    difference in the last bits into a whole step. `refused`: the models are equal in another runtime, but the preferred one lacks
    something for the result, and runs the original; `reason` says so.
    """

    status: Literal["equal", "different", "partly compared", "not compared"]
    runtime: str = ""
    reason: str = ""
    outputs: tuple[OutputComparison, ...] = ()
    seed: int = 0
    pieces: tuple[Piece, ...] = ()
    last_bits: bool = False
    stayed: bool = False
    rounded: bool = False
    refused: bool = False

    @property
    def rtol(self) -> float:
        """The largest relative tolerance of any output."""
        return max((output.rtol for output in self.outputs), default=0.0)

    @property
    def atol(self) -> float:
        """The largest absolute tolerance of any output."""
        return max((output.atol for output in self.outputs), default=0.0)


class _Inconclusive(NamedTuple):
    """A runtime could not decide. If `final`, another runtime could not do better; `hint` says what the user can do.

    `refused`: it runs the original, and lacks something for the result.
    """

    reason: str
    final: bool = False
    hint: str = ""
    refused: bool = False


def compare(
    original: Path,
    result: Path,
    *,
    runtime: Runtime = "auto",
    samples: Samples | None = None,
    tolerance: Tolerance = EXACT,
    worker: Worker | None = None,
    thorough: bool = False,
    semantics: Semantics | None = None,
    edges: bool = True,
) -> Comparison:
    """Compare the outputs of two model files on the same seeded inputs, in a child process.

    Models with open dimensions are run with two choices of them. With `thorough`, which is for small models, up to ten choices
    of dimensions, integer ranges and signs are run; with `edges`, also dimensions of 1 and empty vectors. Outputs must agree in
    name, order, dtype and shape, and each element within `tolerance`. NaN agrees with NaN, and -0.0 with 0.0. With `runtime`
    "auto", onnxruntime decides if it is installed and can run both models, else onnx.reference; a named runtime decides alone;
    with "both", both have to find the models equal. If `semantics` gives nodes the meaning of the specification or of
    onnxruntime, the other runtime is not asked about models with such nodes.

    Raises: ArgumentError where `samples` or `tolerance` does not fit the model, or the named runtime is not installed.
    """
    samples = samples or Samples()
    engines = installed(runtime)
    with nullcontext(worker) if worker else lent_worker() as chosen:
        judge = _Judge(original, result, samples, tolerance, chosen, thorough, semantics, thorough and edges)
        found = judge.verdict_of_all(engines) if runtime == "both" else judge.verdict(engines)
    return replace(found, seed=samples.seed)


def run_usual(original: Path, result: Path, samples: Samples, worker: Worker, *, thorough: bool) -> list[Run] | str:
    """Run the original in onnxruntime on the usual samples, without those that look for rare values; or return why this is
    impossible.

    Raises: as `compare`.
    """
    before, after = worker.describe(original), worker.describe(result)
    if isinstance(before, Failure) or isinstance(after, Failure):
        return f"a model cannot be read: {before.message if isinstance(before, Failure) else after.message}"  # type: ignore[union-attr]
    if defect := before.defects.get("onnxruntime"):
        return f"onnxruntime {defect}"
    if before.random:
        return f"{before.random} draws random numbers"
    spaces = [InputSpace(before, after, samples, data) for data in samples.data or [{}]]
    with worker.open(original, "onnxruntime") as session:
        runs = _run_samples(session, "onnxruntime", spaces, thorough)
    if isinstance(runs, _Inconclusive):
        return runs.reason + (f" … hint: {runs.hint}" if runs.hint else "")
    runs = [run for run in runs if not run.decides] or runs
    if what := unjudged(runs, before.readings.computed, original):
        return f"{what} on all inputs tried … hint: {_hint(spaces[0])}"
    return runs


def installed(runtime: Runtime) -> list[str]:
    """The runtimes to ask, in order. Raises ArgumentError where the named one is not installed."""
    engines = [name for name in _ENGINES[runtime] if importlib.util.find_spec(name.partition(".")[0])]
    if not engines or (runtime == "both" and "onnxruntime" not in engines):
        raise ArgumentError(f"--runtime {runtime}: onnxruntime is not installed; pip install onnxruntime")
    return engines


class _Judge:
    """Compares one pair of models."""

    def __init__(
        self,
        original: Path,
        result: Path,
        samples: Samples,
        tolerance: Tolerance,
        worker: Worker,
        thorough: bool,
        semantics: Semantics | None,
        edges: bool,
    ) -> None:
        self._original = original
        self._result = result
        self._samples = samples
        self._tolerance = tolerance
        self._worker = worker
        self._thorough = thorough
        self._semantics = semantics
        self._edges = edges and not samples.are_given
        self._evidence = Evidence(original, result, worker, tolerance)
        self._computed: Mapping[str, frozenset[str]] = {}
        self._engines: Sequence[str] = ()

    def verdict(self, engines: list[str]) -> Comparison:
        """The verdict of the first of `engines` that can tell."""
        self._engines = engines
        interface = self._interface()
        if isinstance(interface, Comparison):
            return interface
        undecided: list[_Inconclusive] = []
        for engine in engines:
            answer = self._ask(engine, *interface)
            if isinstance(answer, Comparison):
                answer = self._unless_at_edges(answer, engine, *interface)
                reasons = [*(found.reason for found in undecided), answer.reason]
                refused = answer.status == "equal" and any(found.refused for found in undecided)
                return replace(answer, reason="; ".join(filter(None, reasons)), refused=refused)
            undecided.append(answer)
            if answer.final:
                break
        return _not_compared(undecided)

    def verdict_of_all(self, engines: list[str]) -> Comparison:
        """The verdict of all `engines`: "different" if one of them says so, "equal" only if all do."""
        interface = self._interface()
        if isinstance(interface, Comparison):
            return interface
        answers = [self._ask(engine, *interface) for engine in engines]
        verdicts = [answer for answer in answers if isinstance(answer, Comparison)]
        different = next((verdict for verdict in verdicts if verdict.status == "different"), None)
        if different is not None:
            return different
        if len(verdicts) < len(engines):
            return _not_compared([answer for answer in answers if isinstance(answer, _Inconclusive)])
        outputs = functools.reduce(worst, (verdict.outputs for verdict in verdicts))
        found = Comparison("equal", " and ".join(verdict.runtime for verdict in verdicts), outputs=outputs)
        return self._unless_at_edges(found, engines[0], *interface)

    def _interface(self) -> Comparison | tuple[list[InputSpace], Description, Description]:
        """The inputs to run and the descriptions of both models; or a verdict, where the descriptions are enough for one."""
        before = self._worker.describe(self._original)
        if isinstance(before, Failure):
            return Comparison("not compared", reason=f"the original cannot be read: {before.message}")
        after = self._worker.describe(self._result)
        if isinstance(after, Failure):
            return Comparison("different", reason=f"the result cannot be read: {after.message}")
        spaces = [InputSpace(before, after, self._samples, data) for data in self._samples.data or [{}]]
        self._tolerance.check_names(before.outputs)
        self._computed = before.readings.computed
        if mismatch := _interface_mismatch(before, after):
            return Comparison("different", reason=mismatch)
        if node := before.random or after.random:
            return Comparison("not compared", reason=f"{node} draws random numbers")
        return spaces, before, after

    def _ask(self, engine: str, spaces: list[InputSpace], before: Description, after: Description) -> Comparison | _Inconclusive:
        for which, description in (("original", before), ("result", after)):
            if defect := self._defect(engine, description):
                return _Inconclusive(f"{engine} {defect} of the {which}")
        with self._worker.open(self._original, engine) as session:
            runs = _run_samples(session, engine, spaces, self._thorough)
        if isinstance(runs, _Inconclusive):
            return runs
        found = self._run_and_judge(engine, spaces, runs)
        if isinstance(found, Comparison) and found.status == "different" and any(run.decides for run in runs):
            runs = self._evidence.without_disputed(engine, runs, has_halves=before.readings.has_halves)
            if not runs:
                return _Inconclusive(f"{found.reason}, on unusual inputs alone, which another runtime does not confirm")
            found = self._run_and_judge(engine, spaces, runs)
        if engine != "onnxruntime" or not isinstance(found, Comparison) or found.status != "different":
            return found
        if kernel := self._another_kernel(found, runs, before, after):
            return _excused(found, kernel)
        if doubt := before.doubt or after.doubt:
            second = self._second_opinion(spaces, runs, before, after)
            if second is not None and (second.status == "equal" or (second.last_bits and not found.last_bits)):
                return replace(second, reason="; ".join(filter(None, [f"onnxruntime {doubt.reason}", second.reason])))
            if second is None and found.stayed and doubt.of_same_nodes:
                return _Inconclusive(f"onnxruntime {doubt.reason}, which is all that differs", final=True)
        if not before.lax or spaces[0].is_given:
            return found
        allowed = self._allowed(runs)
        if not allowed:
            reason = f"{before.lax}, which onnx.reference refuses on any inputs tried ({len(runs)})"
            return _Inconclusive(reason, hint=_hint(spaces[0]))
        return found if len(allowed) == len(runs) else self._run_and_judge(engine, spaces, allowed)

    def _unless_at_edges(
        self, found: Comparison, engine: str, spaces: list[InputSpace], before: Description, after: Description
    ) -> Comparison:
        """`found`; or "different", where equal models differ on dimensions of 1 or empty vectors, as both runtimes find."""
        choices = spaces[0].edges() if self._edges and found.status == "equal" else []
        if not choices or any(self._defect(name, model) for name in _OTHER_MEANING for model in (before, after)):
            return found
        runs = _run_edges(self._worker.open(self._original, engine), spaces[0], choices)
        differing = self._evidence.differing_at_edges(engine, runs)
        if differing is None:
            return found
        run, result = differing
        shapes = ", ".join(f"'{name}' {shape_of_value(value)}" for name, value in run.inputs.items())
        if isinstance(result, Failure):
            return Comparison("different", found.runtime, f"the result fails on inputs of shapes {shapes}: {_explain(result)}")
        outputs = compare_outputs([run], [result], self._tolerance)
        first = next(output for output in outputs if not output.equal)
        return Comparison(
            "different", found.runtime, f"output '{first.name}' differs on inputs of shapes {shapes}: {first.note}", outputs
        )

    def _defect(self, engine: str, description: Description) -> str:
        """Why the results of `engine` on this model prove nothing; "" where they can be trusted."""
        if self._semantics == _OTHER_MEANING[engine] and description.disputed:
            return description.disputed if engine == "onnxruntime" else f"does not do as onnxruntime, which {description.disputed}"
        return description.defects.get(engine, "")

    def _another_kernel(self, found: Comparison, runs: list[Run], before: Description, after: Description) -> str:
        """A text about kernels of onnxruntime for the two opsets that explain the difference `found`, or "".

        Last bits are explained if the original itself, at the opset of the result, has the result's. Otherwise onnx.reference,
        if nothing is known against it here, has to compute exactly the same of both models. And either outputs differ only in
        last bits, or what differs first is made of equal inputs by nodes that nothing changed: in its last bits, or so that
        onnx.reference agrees with one of the two kernels about all outputs.
        """
        if not self._evidence.has_other_opset:
            return ""
        if found.last_bits and self._evidence.is_same_at_opset_of_result(runs):
            return "last bits differ: onnxruntime has another kernel for the other opset, also for the nodes of the original"
        other = "onnx.reference"
        if self._defect(other, before) or self._defect(other, after):
            return ""
        ways = ((other, self._original), (other, self._result), ("onnxruntime", self._result))
        answers = [self._evidence.run_again(engine, runs, model) for engine, model in ways]
        expected, confirming, results = ([one for one in of if isinstance(one, Outputs)] for of in answers)
        if not len(expected) == len(confirming) == len(results) == len(runs):
            return ""
        again = [run._replace(outputs=outputs) for run, outputs in zip(runs, expected, strict=True)]
        if unjudged(again, self._computed, self._original) or not are_equal(again, confirming, EXACT):
            return ""
        if found.last_bits:
            return "last bits differ: onnxruntime has another kernel for the other opset; onnx.reference computes the same"
        where = self._first_difference("onnxruntime", runs, results, EXACT)
        if not where.stayed or not (where.slight or agrees_with_either(expected, runs, results)):
            return ""
        how = "in last bits" if where.slight else "and onnx.reference agrees with one of them"
        return f"onnxruntime's kernels for {where.node} of the two opsets differ, {how}; onnx.reference computes the same"

    def _second_opinion(
        self, spaces: list[InputSpace], runs: list[Run], before: Description, after: Description
    ) -> Comparison | None:
        """The verdict of onnx.reference on the same inputs; None where it cannot decide."""
        engine = "onnx.reference"
        if self._defect(engine, before) or self._defect(engine, after):
            return None
        answers = self._evidence.run_again(engine, runs)
        again = [run._replace(outputs=answer) for run, answer in zip(runs, answers, strict=True) if isinstance(answer, Outputs)]
        found = self._run_and_judge(engine, spaces, again) if len(again) == len(runs) else None
        return found if isinstance(found, Comparison) else None

    def _allowed(self, runs: list[Run]) -> list[Run]:
        """The runs whose inputs onnx.reference takes, too; where it lacks an operator, those that give no empty output.

        An empty output may be what a Loop collects in no turn, of which onnxruntime makes up the shape.
        """
        answers = self._evidence.run_again("onnx.reference", runs)
        return [run for run, answer in zip(runs, answers, strict=True) if _is_allowed(run, answer)]

    def _run_and_judge(self, engine: str, spaces: list[InputSpace], runs: list[Run]) -> Comparison | _Inconclusive:
        with self._worker.open(self._result, engine) as session:
            runs = _without_misled(session, runs)
            results = _run_result(session, engine, runs)
        doubt = runs[0].doubt[0] if all(run.doubt for run in runs) else None
        if doubt is not None and (not isinstance(results, list) or _have_other_shapes(runs, results)):
            return _Inconclusive(f"{doubt}, on all inputs tried", hint=_hint(spaces[0]))
        if isinstance(results, _Inconclusive) and not results.final and self._fails_in_onnxruntime(engine, runs):
            return Comparison("different", runs[0].outputs.runtime, f"{results.reason}; onnxruntime does not run it, either")
        if not isinstance(results, list):
            return results
        return self._judge(engine, spaces, runs, results)

    def _fails_in_onnxruntime(self, engine: str, runs: list[Run]) -> bool:
        return "onnxruntime" in self._engines and self._evidence.fails_in_onnxruntime(engine, runs)

    def _judge(self, engine: str, spaces: list[InputSpace], runs: list[Run], results: list[Outputs]) -> Comparison | _Inconclusive:
        outputs = compare_outputs(runs, results, self._tolerance)
        runtime = runs[0].outputs.runtime
        first = next((output for output in outputs if not output.equal), None)
        if first is not None and self._evidence.are_nearer(runs, results):
            note = f"where it is not within the tolerance, output '{first.name}' is as near to what float64 gives as the original's"
            return Comparison("equal", runtime, note, outputs)
        if first is None and (what := unjudged(runs, self._computed, self._original)):
            return _Inconclusive(f"{what} on all inputs tried", final=True, hint=_hint(spaces[0]))
        if first is None:
            return Comparison("equal", runtime, outputs=outputs)
        if not self._repeats(engine, runs):
            return _Inconclusive("the original gives other outputs each time it is run", final=True)
        reason = f"output '{first.name}' differs: {first.note}"
        if engine != "onnxruntime":
            reason += f" (by {runtime} alone)"
        where = self._first_difference(engine, runs, results, self._tolerance)
        rounded = where.rounded and self._tolerance.inexact
        found = Comparison("different", runtime, reason + where.text, outputs, stayed=where.stayed, rounded=rounded)
        loose = replace(self._tolerance, inexact=True)
        if loose == self._tolerance or not all(output.equal for output in compare_outputs(runs, results, loose)):
            return found
        return replace(found, reason=found.reason + _LAST_BITS, last_bits=True)

    def _first_difference(self, engine: str, runs: list[Run], results: list[Outputs], tolerance: Tolerance) -> Difference:
        from .judging.first_difference import Difference, Models, first_difference, run_by_worker  # equal models need not be read

        def differs(name: str, expected: Any, got: Any) -> bool:
            return not compare_values(name, expected, got, *tolerance.of(name, dtype_name(expected))).equal

        def is_slight(name: str, expected: Any, got: Any) -> bool:
            loose = replace(tolerance, inexact=True)
            return compare_values(name, expected, got, *loose.of(name, dtype_name(expected))).equal

        for run, result in zip(runs, results, strict=True):
            different = [output.name for output in compare_outputs([run], [result], tolerance) if not output.equal]
            if different:
                before, after = (run_by_worker(p, engine, self._worker, run.inputs) for p in (self._original, self._result))
                return first_difference(Models(before, after, differs, is_slight), different)
        return Difference()

    def _repeats(self, engine: str, runs: list[Run]) -> bool:
        """Whether the original, loaded a second time, gives the same outputs. A Dropout in training mode, for example, does not."""
        outputs = [answer for answer in self._evidence.run_again(engine, runs) if isinstance(answer, Outputs)]
        return len(outputs) == len(runs) and all(o.equal for o in compare_outputs(runs, outputs, EXACT))


def _excused(found: Comparison, reason: str) -> Comparison:
    """The verdict where what `found` says is the fault of the runtime, for this reason."""
    outputs = tuple(replace(output, equal=True, note="") for output in found.outputs)
    return replace(found, status="equal", reason=reason, outputs=outputs, last_bits=True)


def _not_compared(undecided: list[_Inconclusive]) -> Comparison:
    hint = next((answer.hint for answer in undecided if answer.hint), "")
    reasons = "; ".join(answer.reason for answer in undecided)
    return Comparison("not compared", reason=reasons + (f" … hint: {hint}" if hint else ""))


def _interface_mismatch(before: Description, after: Description) -> str:
    """Why the models cannot get the same inputs, or which outputs differ in name or type; "" where their interfaces agree."""
    wanted, got = input_types(before.required), input_types(after.required)
    if wanted != got:
        return f"the inputs of the result are {', '.join(got)}, those of the original {', '.join(wanted)}"
    lost = set(input_types(before.overridable)) - set(input_types(after.overridable))
    if lost:
        return f"the result has lost the inputs with defaults {', '.join(sorted(lost))}"
    if before.outputs != after.outputs:
        got, wanted = list(after.outputs), list(before.outputs)
        return f"the outputs of the result are {', '.join(got)}, those of the original {', '.join(wanted)}"
    return ""


def _run_samples(session: Session, engine: str, spaces: list[InputSpace], thorough: bool) -> list[Run] | _Inconclusive:
    """Run the original on every sample. If one cannot be run, all remain undecided."""
    runs: list[Run] = []
    for number, space in enumerate(spaces, 1):
        found = _run_original(session, engine, space, thorough)
        if isinstance(found, _Inconclusive):
            return found if len(spaces) == 1 else found._replace(reason=f"sample {number}: {found.reason}")
        runs += found
    return runs


def _run_original(session: Session, engine: str, space: InputSpace, thorough: bool) -> list[Run] | _Inconclusive:
    """Try inputs until enough of them run and give numbers. If none gives numbers, return one that gives NaN."""
    runs: dict[Hashable, Run] = {}
    without_numbers: list[Run] = []
    failures: list[Failure] = []
    unfit: list[Tried] = []
    by_word: dict[Hashable, Run] = {}
    doubtful: dict[Hashable, Run] = {}
    patience = sys.maxsize
    needed = _SAMPLES if space.has_open_sizes else 1
    wanted, held = _THOROUGH_SAMPLES if thorough else needed, 0
    for choice in space.choices():
        key = choice if thorough else (choice.size, choice.rank)
        if key in runs:
            continue
        try:
            inputs = space.make(choice)
        except (SampleError, RejectedError) as error:
            failure = _Inconclusive(str(error), final=True, hint=_hint(space))
            return list(runs.values()) or without_numbers[:1] or failure
        answer = session.run(inputs)
        if isinstance(answer, Failure):
            failures.append(answer)
            unfit.append(Tried(choice, inputs, answer))
            if _is_hopeless(failures) or len(failures) >= patience:
                break
            continue
        if space.contradictions(inputs, answer):
            unfit.append(Tried(choice, inputs, answer))
            certain = space.contradictions(inputs, answer, by_symbols=False)
            run = Run(inputs, answer, doubt=tuple(certain))
            (doubtful if certain else by_word).setdefault(key, run)
            continue
        run = Run(inputs, answer)
        if _unjudged_output([run]):
            without_numbers.append(run)
            continue
        runs[key] = run
        held += sum(map(byte_size, answer.values))
        if len(runs) == wanted or (len(runs) >= needed and held > _MANY_BYTES):
            break
        patience = len(failures) + _FAILURES_AFTER_SUCCESS
    if not runs and not without_numbers and _may_be_found(failures):
        runs = _search(session, space, unfit, wanted, _RUNS_FOR_SYMBOLS if by_word else MOST_RUNS)
    by_symbols = bool(runs)
    if not runs:
        runs = dict(itertools.islice(by_word.items(), wanted))
    if not runs and doubtful and not without_numbers:
        return list(itertools.islice(doubtful.values(), wanted))
    if thorough and held <= _MANY_BYTES:
        runs |= _run_conditions(session, space, runs, unfit)
    usual = list(runs.values())
    if thorough and usual and held <= _MANY_BYTES:
        usual += _run_deciding(session, space, [key for key in runs if isinstance(key, Choice)], held, by_symbols=by_symbols)
    return usual or without_numbers[:1] or _why_original_failed(engine, space, failures)


def _search(session: Session, space: InputSpace, unfit: list[Tried], wanted: int, most_runs: int) -> dict[Hashable, Run]:
    """Look for inputs that the original takes, from inputs that do not fit."""
    with session.numbered() as numbered:
        return _runs_of(Search(numbered, space, most_runs).run(unfit, wanted))


def _run_conditions(session: Session, space: InputSpace, runs: Mapping[Hashable, Run], unfit: list[Tried]) -> dict[Hashable, Run]:
    """Look for inputs with each number on which a comparison in the model depends, and which no sample has."""
    tried = [Tried(choice, run.inputs, run.outputs) for choice, run in runs.items() if isinstance(choice, Choice)] + unfit
    conditions = space.conditions(tried[0].inputs) if tried else []
    missing = [(name, number) for name, number in conditions if not any(run.inputs[name] == number for run in runs.values())]
    if not missing:
        return {}
    with session.numbered() as numbered:
        search = Search(numbered, space)
        return _runs_of([found for name, number in missing for found in search.run_with(name, number, tried)])


def _runs_of(found: list[Tried]) -> dict[Hashable, Run]:
    taken = ((tried.choice, tried.inputs, tried.answer) for tried in found if isinstance(tried.answer, Outputs))
    return {choice: Run(inputs, answer, "usual" if choice.style else "") for choice, inputs, answer in taken}


def _run_deciding(session: Session, space: InputSpace, usual: list[Choice], held: int, *, by_symbols: bool) -> list[Run]:
    """Run the original on samples made for decisive values, as far as it accepts them.

    `held` bytes of outputs are in memory already. `by_symbols` says whether symbols in the declared shapes of outputs have to hold.
    """
    runs: list[Run] = []
    crashes = 0
    wanted = space.deciding(usual)
    firsts = session.run_all(space.make(ways[0]) for ways in wanted)
    for ways, first in zip(wanted, firsts, strict=True):
        others = session.run_all(map(space.make, ways[1:]))
        run: Run | None = None
        for choice, (inputs, answer) in zip(ways, itertools.chain([first], others), strict=True):
            if isinstance(answer, Outputs):
                broken = space.contradictions(inputs, answer, by_symbols=by_symbols)
                run = Run(inputs, answer, "odd" if choice.is_odd else "usual", doubt=tuple(broken))
                if not broken:
                    break
                continue
            crashes += answer.kind == "crashed"
            if crashes == _CRASHES or answer.kind == "timeout":
                return runs
        if run is not None:
            runs.append(run)
            held += sum(map(byte_size, run.outputs.values))
        if held > _MANY_BYTES:
            break
    return runs


def _run_edges(opened: AbstractContextManager[Session], space: InputSpace, choices: list[Choice]) -> list[Run]:
    """Run the original on these choices of sizes, as far as it accepts them. None are tried after a crash."""
    runs: list[Run] = []
    with opened as session:
        for choice in choices:
            try:
                inputs = space.make(choice)
            except (SampleError, RejectedError):
                break
            answer = session.run(inputs)
            if isinstance(answer, Outputs) and not space.contradictions(inputs, answer):
                runs.append(Run(inputs, answer))
            if isinstance(answer, Failure) and answer.kind in ("crashed", "timeout", "memory"):
                break
    return runs


def _unjudged_output(runs: list[Run]) -> str:
    """The first output that is NaN throughout in all runs, so that the comparison shows nothing about it; "" if there is none."""
    for index, name in enumerate(runs[0].outputs.names):
        if all(is_nan_throughout(run.outputs.values[index]) for run in runs):
            return name
    return ""


def _may_be_found(failures: list[Failure]) -> bool:
    """Whether a search may find inputs that the original takes: none of these failures has to do with the model itself.

    On some inputs, a runtime says that it does not support what it supports for others.
    """
    crashes = sum(failure.kind == "crashed" for failure in failures)
    is_of_inputs = all(failure.kind in ("runtime", "crashed", "unsupported") for failure in failures)
    return crashes < _CRASHES and is_of_inputs and (not failures or failures[0].kind == "runtime")


def _is_hopeless(failures: list[Failure]) -> bool:
    """Whether it is useless to try other inputs, because they would fail too."""
    crashes = sum(failure.kind == "crashed" for failure in failures)
    return crashes == _CRASHES or failures[-1].kind in ("unsupported", "invalid", "timeout", "memory")


def _why_original_failed(engine: str, space: InputSpace, failures: list[Failure]) -> _Inconclusive:
    first, last = failures[0], failures[-1]
    if last.kind in ("timeout", "memory"):
        return _Inconclusive(f"{engine} on the original: {_explain(last)}", final=True)
    if first.kind != "runtime":
        return _Inconclusive(f"{engine} cannot run the original: {_explain(first)}")
    tried = "the given inputs" if space.is_given else f"any inputs tried ({len(failures)})"
    return _Inconclusive(f"{engine} cannot run the original on {tried}: {first.message}", hint=_hint(space))


def _hint(space: InputSpace) -> str:
    return f"give other inputs by --test-input-shape or --input-data; they are {space.summary}"


def _run_result(session: Session, engine: str, runs: list[Run]) -> list[Outputs] | Comparison | _Inconclusive:
    """Run the result on the inputs of the original. A failure counts as a difference, unless the runtime lacks something."""
    results: list[Outputs] = []
    for run, (_, answer) in zip(runs, session.run_all(run.inputs for run in runs), strict=True):
        if isinstance(answer, Outputs):
            results.append(answer)
            continue
        reason = f"{engine} runs the original but not the result: {_explain(answer)}"
        if answer.kind in ("timeout", "memory"):
            return _Inconclusive(reason, final=True)
        if answer.kind == "unsupported" or not answer.certain:
            return _Inconclusive(reason, refused=True)
        return Comparison("different", run.outputs.runtime, reason)
    return results


def _without_misled(session: Session, runs: list[Run]) -> list[Run]:
    """`runs` without those that break the declared shapes of the original and for which the result fails, or goes by these shapes.

    There, a rule may have relied on what is declared. Where all runs break the declared shapes, all are returned.
    """
    doubtful = [run for run in runs if run.doubt]
    if not doubtful or len(doubtful) == len(runs):
        return runs
    answers = [answer for _, answer in session.run_all(run.inputs for run in doubtful)]
    misled = {
        id(run)
        for run, answer in zip(doubtful, answers, strict=True)
        if not isinstance(answer, Outputs) or _goes_by_declared_shapes(run, answer)
    }
    return [run for run in runs if id(run) not in misled]


def _goes_by_declared_shapes(run: Run, result: Outputs) -> bool:
    """Whether an output of the result has another shape than that of the original, with sizes that are declared in their place."""
    shapes = dict(zip(result.names, map(shape_of_value, result.values), strict=True))
    return any(shapes.get(broken.output) != broken.got and _is_between(broken, shapes.get(broken.output)) for broken in run.doubt)


def _is_between(broken: Contradiction, shape: object) -> bool:
    """Whether each size in `shape` is that which the original gave or that which it declares."""
    if not isinstance(shape, tuple) or len(shape) not in (len(broken.got), len(broken.declared)):
        return False
    if len(broken.got) != len(broken.declared):
        return True
    sizes = zip(shape, broken.got, broken.declared, strict=True)
    return all(size in (got, declared) or isinstance(declared, str) for size, got, declared in sizes)


def _have_other_shapes(runs: list[Run], results: list[Outputs]) -> bool:
    """Whether an output of the results has another shape than that of the original."""
    pairs = ((run.outputs.values, result.values) for run, result in zip(runs, results, strict=True))
    return any(list(map(shape_of_value, before)) != list(map(shape_of_value, after)) for before, after in pairs)


def _is_allowed(run: Run, answer: Outputs | Failure) -> bool:
    if isinstance(answer, Outputs):
        return True
    return answer.kind != "runtime" and not any(map(is_empty, run.outputs.values))


def _explain(failure: Failure) -> str:
    what = {"crashed": "it crashed, ", "memory": "out of memory, "}
    return what.get(failure.kind, "") + failure.message
