"""Runs the original and the result on the same inputs, and decides whether they compute the same.

"equal" and "different" are only said about what was run. A runtime that lacks a kernel, takes too long or is known to compute an
operator wrongly proves nothing. Then the next runtime is asked; if none can tell, the answer is "not compared", with the reason.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..execution.budget import Budget
from ..execution.effort import UNKNOWN, Weigh
from ..execution.engines import ENGINES, Runtime, installed
from ..execution.messages import Failure, Outputs
from ..execution.model_client import Worker, lent_worker
from .inputs.declared_types import input_types
from .inputs.description import Description, description_of
from .inputs.original_runs import Plan, explain, hint_at_inputs, run_edges, run_samples
from .inputs.samples import MAX_INPUT_BYTES, InputSpace, Samples
from .judging.differences import is_empty, shape_of_value
from .judging.evidence import Evidence
from .judging.optimized import difference_when_optimized
from .judging.outputs import agrees_with_either, are_equal, compare_outputs, evidence_of, unjudged, worst
from .judging.result_runs import have_other_shapes, run_result
from .judging.tolerance import EXACT, Tolerance, of_other_kernels
from .runs import Costs, Efforts, Pair, Run, saturated_nodes, with_outputs
from .verdicts import Comparison, Inconclusive, joined, not_compared

if TYPE_CHECKING:
    from ..onnx_model.meanings import Semantics

_OTHER_MEANING = {"onnxruntime": "specification", "onnx.reference": "onnxruntime"}
"""For each runtime, the semantics that it does not follow."""
_FOR_SAMPLES = 0.4
"""The share of what is planned that samples get."""
_INSTEAD = 4
"""The number of choices of inputs that are tried with positive and with large numbers in place of those that make NaN."""
_LAST_BITS = (
    "; only last bits differ, and no rule used here may change them: either the runtime has another kernel for the other "
    "opset, or a rule is wrong"
)


class _Models(NamedTuple):
    """What both models say of themselves, and the inputs to run: one space for each sample that the user gave."""

    before: Description
    after: Description
    spaces: list[InputSpace]


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
    optimizer: bool = True,
    budget: Budget | None = None,
) -> Comparison:
    """Compare the outputs of two model files on the same seeded inputs, in a child process.

    Models with open dimensions are run with two choices of them. With `thorough`, which is for small models, up to ten choices
    of dimensions, integer ranges and signs are run; with `edges`, also dimensions of 1 and empty vectors; with `optimizer`, both
    models once more with onnxruntime's optimizer. Outputs must agree in name, order, dtype and shape, and each element within
    `tolerance`. NaN agrees with NaN, and -0.0 with 0.0. With `runtime` "auto", onnxruntime decides if it is installed and can run
    both models, else onnx.reference; a named runtime decides alone; with "both", both have to find the models equal. If `semantics`
    gives nodes the meaning of the specification or of onnxruntime, the other runtime is not asked about models with such nodes. As
    many samples are run as `budget` allows, that of a comparison of its own if there is none.

    Raises: ArgumentError where `samples` or `tolerance` does not fit the model, or the named runtime is not installed.
    """
    samples = samples or Samples()
    engines = installed(runtime)
    budget = budget or Budget()
    with nullcontext(worker) if worker else lent_worker() as chosen:
        pair = Pair(original, result, chosen)
        models = _described(pair, samples, tolerance)
        if isinstance(models, Comparison):
            return replace(models, seed=samples.seed)
        pair = pair._replace(costs=_costs(pair, models, budget))
        extras = _Extras(thorough and edges and not samples.are_given, thorough and optimizer)
        judge = _Judge(pair, models, tolerance, engines, semantics, is_thorough=thorough, extras=extras)
        with chosen.within(budget):  # what was read so far is needed to know the budget
            found = judge.verdict_of_all() if runtime == "both" else judge.verdict()
    return replace(found, seed=samples.seed, saturated=judge.saturated, saturated_after=judge.saturated_after)


def run_usual(original: Path, result: Path, samples: Samples, worker: Worker, *, thorough: bool) -> list[Run] | str:
    """Run the original in onnxruntime on the usual samples, without those that look for rare values; or return why this is
    impossible.

    Raises: as `compare`.
    """
    pair = Pair(original, result, worker)
    models = _described(pair, samples, EXACT)
    if isinstance(models, Comparison):
        return models.reason
    if defect := models.before.defects.get("onnxruntime"):
        return f"onnxruntime {defect}"
    with worker.open(original, "onnxruntime") as session:
        runs = run_samples(session, "onnxruntime", models.spaces, thorough, Plan(sys.maxsize, 0, Budget(worker.time_limit)))
    if isinstance(runs, Inconclusive):
        return not_compared([runs]).reason
    runs = [run for run in runs if not run.decides] or runs
    if what := unjudged(runs, models.before.readings.computed, original):
        return not_compared([Inconclusive(f"{what} on all inputs tried", hint=hint_at_inputs(models.spaces[0]))]).reason
    return runs


def _costs(pair: Pair, models: _Models, budget: Budget) -> Costs:
    """What runs of both models cost. The budget is made to suit it."""
    space = models.spaces[0]
    shapes = space.shapes(next(iter(space.choices())))
    efforts = [pair.worker.ask(Weigh(str(path.resolve()), shapes)) for path in (pair.original, pair.result)]
    before, after = (UNKNOWN if isinstance(effort, Failure) else effort for effort in efforts)
    costs = Costs(Efforts(before, after, sum(map(math.prod, shapes.values()))), budget)
    budget.weigh(costs.efforts.once * len(models.spaces))
    return costs


def _described(pair: Pair, samples: Samples, tolerance: Tolerance) -> _Models | Comparison:
    """The descriptions of both models and the inputs to run; or a verdict, where the descriptions are enough for one."""
    before = description_of(pair.worker, pair.original)
    if isinstance(before, Failure):
        return Comparison("not compared", reason=f"the original cannot be read: {before.message}")
    after = description_of(pair.worker, pair.result)
    if isinstance(after, Failure):
        return Comparison("different", reason=f"the result cannot be read: {after.message}")
    spaces = [InputSpace(before, after, samples, data) for data in samples.data or [{}]]
    tolerance.check_names(before.outputs)
    if mismatch := _interface_mismatch(before, after):
        return Comparison("different", reason=mismatch)
    if node := before.random or after.random:
        return Comparison("not compared", reason=f"{node} draws random numbers")
    return _Models(before, after, spaces)


class _Extras(NamedTuple):
    """What is tried where models are equal: dimensions of 1 and empty vectors, and onnxruntime's optimizer."""

    edges: bool
    optimizer: bool


class _Judge:
    """Compares one pair of models."""

    def __init__(
        self,
        pair: Pair,
        models: _Models,
        tolerance: Tolerance,
        engines: Sequence[str],
        semantics: Semantics | None,
        *,
        is_thorough: bool,
        extras: _Extras,
    ) -> None:
        self._pair = pair
        self._models = models
        self._tolerance = tolerance
        self._engines = engines
        self._semantics = semantics
        self._is_thorough = is_thorough
        self._tries_edges = extras.edges
        self._tries_optimizer = extras.optimizer
        self._is_coarse = any(each.is_coarse or each.readings.has_halves for each in (models.before, models.after))
        self._evidence = Evidence(pair, tolerance, models.before.readings.undefined(tolerance.of_numbers, tolerance.zeros))
        assert pair.costs is not None
        self._costs = pair.costs
        self.saturated: tuple[str, ...] = ()
        """The nodes of the original that onnxruntime computes wrongly on this processor, on inputs that were run."""
        self.saturated_after: tuple[str, ...] = ()
        """Those of the result."""

    def verdict(self) -> Comparison:
        """The verdict of the first runtime that can tell."""
        undecided: list[Inconclusive] = []
        for engine in self._engines:
            answer = self._ask(engine)
            if isinstance(answer, Comparison):
                answer = self._unless_at_edges(answer, engine)
                reasons = [*(found.reason for found in undecided), answer.reason]
                refused = answer.status == "equal" and any(found.refused for found in undecided)
                return replace(answer, reason=joined(*reasons), refused=refused)
            undecided.append(answer)
            if answer.final:
                break
        return not_compared(undecided)

    def verdict_of_all(self) -> Comparison:
        """The verdict of all runtimes: "different" if one of them says so, "equal" only if all do."""
        answers = [self._ask(engine) for engine in self._engines]
        verdicts = [answer for answer in answers if isinstance(answer, Comparison)]
        different = next((verdict for verdict in verdicts if verdict.status == "different"), None)
        if different is not None:
            return different
        if len(verdicts) < len(answers):
            return not_compared(answer for answer in answers if isinstance(answer, Inconclusive))
        outputs = functools.reduce(worst, (verdict.outputs for verdict in verdicts))
        least = min(verdicts, key=lambda verdict: verdict.samples)
        found = replace(least, runtime=" and ".join(verdict.runtime for verdict in verdicts), outputs=outputs)
        return self._unless_at_edges(found, self._engines[0])

    def _ask(self, engine: str) -> Comparison | Inconclusive:
        """The verdict of one runtime."""
        before, after, _ = self._models
        if defect := self._defect(engine, before):
            return Inconclusive(f"{engine} {defect} of the original")
        defect = self._defect(engine, after)
        if defect and (engine != "onnxruntime" or defect == after.disputed):
            return Inconclusive(f"{engine} {defect} of the result")
        found = self._run_both(engine)
        if not defect:
            return found
        reason = joined(found.reason, f"{engine} {defect} of the result")
        return replace(found, reason=reason) if isinstance(found, Comparison) else found._replace(reason=reason)

    def _run_both(self, engine: str) -> Comparison | Inconclusive:
        """The verdict of a runtime that computes the original rightly.

        Of what onnxruntime computes wrongly in the result alone, it says whether those who run it there get other numbers.
        """
        before, _, spaces = self._models
        plan = self._plan(engine)
        if isinstance(plan, Inconclusive):
            return plan
        with self._pair.worker.open(self._pair.original, engine) as session:
            runs = run_samples(session, engine, spaces, self._is_thorough, plan)
        if isinstance(runs, Inconclusive):
            return runs
        self.saturated = self.saturated or saturated_nodes(run.outputs for run in runs)
        plan.budget.spend(self._costs.efforts.sample(engine) * len(runs))
        found = self._run_and_judge(engine, runs)
        if isinstance(found, Comparison) and found.status == "different":
            plan.budget.renew()
        if isinstance(found, Comparison) and found.status == "different" and any(run.decides for run in runs):
            runs = self._evidence.without_disputed(engine, runs, has_halves=before.readings.has_halves)
            if not runs:
                return Inconclusive(f"{found.reason}, on unusual inputs alone, which another runtime does not confirm")
            found = self._run_and_judge(engine, runs)
        if isinstance(found, Comparison) and found.status == "different":
            found, runs = self._where_defined(found, engine, runs)
        if engine == "onnxruntime" and isinstance(found, Comparison) and found.status == "different":
            return self._unless_by_onnxruntime(found, runs)
        if engine == "onnxruntime" and isinstance(found, Comparison) and found.status == "equal" and self._tries_optimizer:
            reason = difference_when_optimized(self._pair, runs, self._is_coarse)
            return Comparison("different", found.runtime, reason) if reason else found
        return found

    def _where_defined(self, found: Comparison, engine: str, runs: list[Run]) -> tuple[Comparison | Inconclusive, list[Run]]:
        """`found`, a difference, or another verdict where NaN is sorted on some of the runs; and the runs that count.

        In place of these, positive and large numbers are tried, of which fewer operators make NaN.
        """
        defined = self._evidence.without_sorted_nan(engine, runs)
        if len(defined) == len(runs):
            return found, runs
        space = self._models.spaces[0]
        usual = list(itertools.islice(space.choices(), _INSTEAD))
        choices = [choice._replace(**{way: True}) for choice in usual for way in ("positive", "large")]
        others = run_edges(self._pair.worker.open(self._pair.original, engine), space, choices)
        others = self._evidence.without_sorted_nan(engine, others)
        if not others:
            return Inconclusive(f"{found.reason}, where NaN is sorted, on all inputs tried", hint=hint_at_inputs(space)), []
        return self._run_and_judge(engine, defined + others), defined + others

    def _plan(self, engine: str) -> Plan | Inconclusive:
        """How many samples are run in `engine`; or that the budget suffices for none."""
        efforts, budget = self._costs
        each = efforts.sample(engine) * len(self._models.spaces)
        most = budget.affords(each, _FOR_SAMPLES) or min(budget.affords(each), 1)
        if most == 0 and efforts.elements * 8 <= MAX_INPUT_BYTES:  # no such inputs are made
            reason = f"running both models in {engine} takes about {each / 1e9:.1g} s, more than is left of {budget}"
            return Inconclusive(reason, hint="--compare-budget SECONDS allows more")
        return Plan(max(most, 1), efforts.single, budget)

    def _unless_by_onnxruntime(self, found: Comparison, runs: list[Run]) -> Comparison | Inconclusive:
        """`found`, a difference in onnxruntime; or another verdict, where its kernels or what it takes explain the difference."""
        before, after, spaces = self._models
        differing = [run for run, _ in self._evidence.differing("onnxruntime", runs)] or runs
        if kernel := self._another_kernel(found, differing):
            return _excused(found, kernel)
        doubt = before.doubt or after.doubt
        if doubt and found.outputs:  # it ran: no doubt explains that a result does not
            second = self._second_opinion(differing)
            if second is not None and (second.status == "equal" or second.rounded or (second.last_bits and not found.last_bits)):
                return replace(second, reason=joined(f"onnxruntime {doubt.reason}", second.reason))
            if second is None and found.stayed and doubt.of_same_nodes:
                return Inconclusive(f"onnxruntime {doubt.reason}, which is all that differs", final=True)
        if not before.lax or spaces[0].is_given:
            return found
        others = [run for run in runs if all(run is not other for other in differing)]
        asked = self._pair.affordable("onnx.reference", [*differing, *others])
        allowed = self._allowed(asked)
        if asked and not allowed:
            reason = f"{before.lax}, which onnx.reference refuses on any inputs tried ({len(asked)})"
            return Inconclusive(reason, hint=hint_at_inputs(spaces[0]))
        return found if len(allowed) == len(asked) else self._run_and_judge("onnxruntime", allowed)

    def _unless_at_edges(self, found: Comparison, engine: str) -> Comparison:
        """`found`; or "different", where equal models differ on dimensions of 1 or empty vectors, as both runtimes find."""
        before, after, spaces = self._models
        choices = spaces[0].edges() if self._tries_edges and found.status == "equal" else []
        choices = choices[: self._costs.budget.affords(self._costs.efforts.sample(engine))]
        if not choices or any(self._defect(name, model) for name in ENGINES for model in (before, after)):
            return found
        runs = run_edges(self._pair.worker.open(self._pair.original, engine), spaces[0], choices)
        differing = self._evidence.differing_at_edges(engine, runs)
        if differing is None:
            return found
        run, result = differing
        shapes = ", ".join(f"'{name}' {shape_of_value(value)}" for name, value in run.inputs.items())
        if isinstance(result, Failure):
            return Comparison("different", found.runtime, f"the result fails on inputs of shapes {shapes}: {explain(result)}")
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

    def _are_defective(self, engine: str) -> bool:
        """Whether the results of `engine` on either model prove nothing."""
        return any(self._defect(engine, description) for description in (self._models.before, self._models.after))

    def _another_kernel(self, found: Comparison, runs: list[Run]) -> str:
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
        runs = [] if self._are_defective(other) else self._pair.affordable(other, runs)
        if not runs:
            return ""
        expected = self._pair.outputs_again(other, runs)
        confirming = self._pair.outputs_again(other, runs, self._pair.result)
        results = self._pair.outputs_again("onnxruntime", runs, self._pair.result)
        if expected is None or confirming is None or results is None:
            return ""
        again = with_outputs(runs, expected)
        if self._unjudged(again) or not are_equal(again, confirming, EXACT):
            return ""
        if found.last_bits:
            return "last bits differ: onnxruntime has another kernel for the other opset; onnx.reference computes the same"
        where = self._evidence.first_difference("onnxruntime", runs, results, EXACT)
        if not where.stayed or not (where.slight or agrees_with_either(expected, runs, results)):
            return ""
        how = "in last bits" if where.slight else "and onnx.reference agrees with one of them"
        return f"onnxruntime's kernels for {where.node} of the two opsets differ, {how}; onnx.reference computes the same"

    def _second_opinion(self, runs: list[Run]) -> Comparison | None:
        """The verdict of onnx.reference on the same inputs; None where it cannot decide."""
        engine = "onnx.reference"
        runs = [] if self._are_defective(engine) else self._pair.affordable(engine, runs)
        outputs = self._pair.outputs_again(engine, runs) if runs else None
        found = None if outputs is None else self._run_and_judge(engine, with_outputs(runs, outputs))
        return found if isinstance(found, Comparison) else None

    def _allowed(self, runs: list[Run]) -> list[Run]:
        """The runs whose inputs onnx.reference takes, too; where it lacks an operator, those that give no empty output.

        An empty output may be what a Loop collects in no turn, of which onnxruntime makes up the shape.
        """
        answers = self._pair.run_again("onnx.reference", runs)
        return [run for run, answer in zip(runs, answers, strict=True) if _is_allowed(run, answer)]

    def _unjudged(self, runs: list[Run]) -> str:
        """A text about the first output of the original whose comparison on these runs proves nothing, or ""."""
        return unjudged(runs, self._models.before.readings.computed, self._pair.original)

    def _run_and_judge(self, engine: str, runs: list[Run]) -> Comparison | Inconclusive:
        hint = hint_at_inputs(self._models.spaces[0])
        with self._pair.worker.open(self._pair.result, engine) as session:
            runs, results = run_result(session, engine, runs)
        doubt = runs[0].doubt[0] if all(run.doubt for run in runs) else None
        if doubt is not None and (not isinstance(results, list) or have_other_shapes(runs, results)):
            return Inconclusive(f"{doubt}, on all inputs tried", hint=hint)
        if isinstance(results, Inconclusive) and not results.final and self._fails_in_onnxruntime(engine, runs):
            return Comparison("different", runs[0].outputs.runtime, f"{results.reason}; onnxruntime does not run it, either")
        if not isinstance(results, list):
            return results
        self.saturated_after = self.saturated_after or saturated_nodes(results)
        return self._judge(engine, runs, results)

    def _fails_in_onnxruntime(self, engine: str, runs: list[Run]) -> bool:
        return "onnxruntime" in self._engines and self._evidence.fails_in_onnxruntime(engine, runs)

    def _judge(self, engine: str, runs: list[Run], results: list[Outputs]) -> Comparison | Inconclusive:
        outputs = compare_outputs(runs, results, self._tolerance)
        runtime = runs[0].outputs.runtime
        first = next((output for output in outputs if not output.equal), None)
        if first is not None and self._are_nearer(runs, results):
            note = f"where it is not within the tolerance, output '{first.name}' is as near to what float64 gives as the original's"
            return Comparison("equal", runtime, note, outputs, samples=len(runs), evidence="sampled")
        if first is None and (what := self._unjudged(runs)):
            hint = hint_at_inputs(self._models.spaces[0])
            return Inconclusive(f"{what} on all inputs tried", final=True, hint=hint, agreed=True)
        if first is None:
            return Comparison("equal", runtime, outputs=outputs, samples=len(runs), evidence=evidence_of(runs, outputs))
        if not self._evidence.repeats(engine, runs) and not self._costs.budget.is_over:
            return Inconclusive("the original gives other outputs each time it is run", final=True)
        reason = f"output '{first.name}' differs: {first.note}"
        if engine != "onnxruntime":
            reason += f" (by {runtime} alone)"
        where = self._evidence.first_difference(engine, runs, results, self._tolerance)
        rounded = where.rounded and self._tolerance.inexact and (where.stayed or not self._models.spaces[0].is_given)
        found = Comparison(
            "different", runtime, reason + where.text, outputs, stayed=where.stayed, rounded=rounded, samples=len(runs)
        )
        loose = of_other_kernels(self._tolerance)
        if loose == self._tolerance or not are_equal(runs, results, loose):
            return found
        return replace(found, reason=found.reason + _LAST_BITS, last_bits=True)

    def _are_nearer(self, runs: list[Run], results: list[Outputs]) -> bool:
        """Whether the results, where they differ, are as near to float64 as the original is; False where the budget is spent."""
        self._costs.budget.renew()
        pairs = zip(runs, results, strict=True)
        differing = [(run, result) for run, result in pairs if not are_equal([run], [result], self._tolerance)]
        asked = self._pair.affordable("float64", [run for run, _ in differing]) if self._tolerance.inexact else []
        return len(asked) == len(differing) and self._evidence.are_nearer(asked, [result for _, result in differing])


def _excused(found: Comparison, reason: str) -> Comparison:
    """The verdict where what `found` says is the fault of the runtime, for this reason."""
    outputs = tuple(replace(output, equal=True, note="") for output in found.outputs)
    return replace(found, status="equal", reason=reason, outputs=outputs, last_bits=True, evidence="sampled")


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


def _is_allowed(run: Run, answer: Outputs | Failure) -> bool:
    if isinstance(answer, Outputs):
        return not have_other_shapes([run], [answer])
    return answer.kind != "runtime" and not any(map(is_empty, run.outputs.values))
