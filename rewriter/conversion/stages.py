"""One model together with the user's options: the single stages of a conversion, which the driver calls in order.

Each stage makes one thing. The model itself is changed in place, by one stage after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import onnx

from ... import rules as _rules  # noqa: F401 - importing the rules registers them
from ..checks import validity
from ..checks.adoption import leave
from ..checks.repair import correct_outputs
from ..engine import stamp
from ..engine.outcome import Change, Outcome, Remark
from ..engine.selection import require_known
from ..errors import ArgumentError, Blocker, CheckError, InvalidModelError, listed
from ..execution.loadable import not_loaded
from ..graph.model import Model
from ..onnx_model.protos import GraphLike, shown_name
from ..opsets import inference, unread
from ..process.child import no_interpreter
from ..report.report import Report
from ..report.rewritten import detached
from ..storage.data_files import DataFiles
from ..storage.skeleton import Skeleton
from ..structure.survey import Survey
from .acceptance import Accepted
from .aiming import try_opsets
from .attempts import Attempts, Converted, duplicate
from .options import Options, demands_of_options, patterns_of
from .preparation import prepare

if TYPE_CHECKING:
    from ..certifying.certificate import Certificate
    from ..comparison.by_model import Comparison
    from ..comparison.verification import Verified
    from ..engine.reach import Reach


class Ready(NamedTuple):
    """The model, which has been checked, and what the user's RewriteRules changed in it."""

    model: Model
    written: Sequence[Change] = ()


class Aim(NamedTuple):
    """The opset to convert to, the model that is to be converted, and the nodes for which its own opset does not suit the
    runtimes.
    """

    target: int | None
    model: Model
    avoided: Sequence[Remark] = ()


class Checked(NamedTuple):
    """The findings of the check of a result: blockers, and outputs whose declared shapes were corrected to those of the result.

    Where an output was corrected, either its declaration was wrong, or the result is.
    """

    blockers: Sequence[Blocker] = ()
    corrected: Sequence[Remark] = ()


@dataclass(frozen=True)
class End:
    """The end of a conversion or dry run, as the report says it."""

    ir_version: int
    operators: Counter[str] = field(default_factory=Counter)
    remarks: Sequence[Remark] = ()
    blockers: list[Blocker] = field(default_factory=list)
    reach: Reach | None = None
    notes: Sequence[str] = ()
    weights: DataFiles | None = None
    checked: str = ""
    comparison: Comparison | None = None
    verified: Sequence[Verified] = ()
    certificate: Certificate | None = None
    untried: Sequence[str] = ()
    name: str = ""
    destination: str = ""


class Job:
    """One model and the user's options, which have been checked. The model is prepared as the job is made."""

    def __init__(self, skeleton: Skeleton, options: Options, accepted: Accepted, *, keep_repaired: bool = False) -> None:
        self.options = options
        self._demands = demands_of_options(options)
        self.prepared = prepare(skeleton, options, self._demands, accepted.remarks, keep_repaired=keep_repaired)
        self._trust = accepted.trust
        self._attempts = Attempts(self.prepared.opset, options, self._demands)
        require_known("--only", options.only, self._attempts.registry)
        require_known("--skip", options.skip, self._attempts.registry)

    def check_input(self, target: int | None) -> Ready:
        """Check the model, which is to be converted to `target`. Raises InvalidModelError."""
        target = self.prepared.opset if target is None else target
        model = self._attempts.model_of(self.prepared.skeleton, target, survey=self.prepared.survey)
        validity.check_input(model, target, self._trust)
        return Ready(model)

    def unchecked(self, target: int | None) -> Model:
        """The model, which is known to be valid, for a conversion to `target`."""
        return self._attempts.model_of(self.prepared.skeleton, target)

    def apply_patterns(self, ready: Ready, target: int | None) -> Ready:
        """Apply the user's RewriteRules. Raises: ArgumentError where a rule fails, or leaves a model that is not valid."""
        patterns = patterns_of(self.options)
        if not patterns:
            return ready
        from ..bridge.patterns import apply_patterns, names_of  # imports onnxscript

        written = apply_patterns(self.prepared.skeleton, patterns)
        target = self.prepared.opset if target is None else target
        model = self._attempts.model_of(self.prepared.skeleton, target)
        try:
            validity.check_input(model, target, self._trust)
        except InvalidModelError as error:
            raise ArgumentError(
                f"rules: the model is not valid after the onnxscript rules ({names_of(patterns)}): {error}"
            ) from error
        return Ready(model, [Change(f"onnxscript.{rule}", node.op_type, shown_name(node), "onnxscript") for rule, node in written])

    def aim(self, model: Model, target: int | None) -> Aim:
        """Choose the opset for the runtimes, unless `target` is given: the first one without blockers, else the one with the
        fewest, and of these the one where fewest are in a step to it: what a runtime itself refuses tells the user more.
        """
        source = self.prepared.opset
        if self._demands is None or source is None:
            return Aim(source if target is None else target, model)
        if target is not None:
            self._demands.require_opset(target)
            return Aim(target, model)
        tried = try_opsets(self._demands, source, model.survey.operators, lambda opset: self.outcome_at(opset, model))
        blocked = {opset: outcome.blockers for opset, outcome in tried.items()}
        chosen = min(blocked, key=lambda opset: (len(blocked[opset]), sum(bool(b.transition) for b in blocked[opset])))
        trouble = blocked.get(source, []) if chosen != source else []
        avoided = [Remark("avoided", b.op_type, b.node, b.where, f"{b.reason}; not at opset {chosen}") for b in trouble]
        return Aim(chosen, self._attempts.model_of(self.prepared.skeleton, chosen), avoided)

    def apart(self, ready: Ready, target: int) -> tuple[Job, Ready]:
        """A job of its own on a copy of the model, which is `ready`, for its conversion to `target`."""
        skeleton = duplicate(self.prepared.skeleton)
        job = copy(self)
        job.prepared = replace(self.prepared, skeleton=skeleton)
        return job, ready._replace(model=self._attempts.model_of(skeleton, target, like=ready.model))

    def try_at(self, opset: int | None, model: Model) -> tuple[Skeleton, Outcome]:
        """Convert a copy of `model` to `opset`. Returns the copy and the outcome."""
        skeleton = duplicate(self.prepared.skeleton)
        return skeleton, self._attempts.convert(self._attempts.model_of(skeleton, opset, like=model), opset).outcome

    def outcome_at(self, opset: int | None, model: Model) -> Outcome:
        """The outcome of converting a copy of `model` to `opset`, without the rewrites, which would keep that copy in memory."""
        return replace(self.try_at(opset, model)[1], rewrites=[])

    def convert(self, model: Model, target: int | None) -> Converted:
        """Convert the nodes of `model` to `target`."""
        return self._attempts.convert(model, target)

    def stamp(self, converted: Converted, target: int | None) -> Counter[str]:
        """Write opset and IR version into the model. Returns the number of nodes of each operator."""
        source, proto = self.prepared.opset, self.prepared.skeleton.proto
        survey = Survey(proto) if unread.show(proto) else Survey(proto, converted.model.main.labels)
        own = self.prepared.imported if self._demands is None else frozenset()
        may_go = [f"{entry.domain}::" for entry in stamp.imports_of(proto) if entry.domain not in own]
        stamp.drop_imports(proto, [*self.prepared.operators, *may_go], survey.operators)
        if source is not None and target is not None:
            state_opset(proto, survey.graphs, source, target)
            self._stamp_ir_version(survey.graphs, source, target)
        return survey.operators

    def _stamp_ir_version(self, graphs: Sequence[GraphLike], source: int, target: int) -> None:
        wanted, demands, proto = self.options.ir_version, self._demands, self.prepared.skeleton.proto
        highest, runtimes = (None, "") if demands is None else (demands.ir_max, demands.titles_and_files)
        try:
            proto.ir_version = stamp.chosen_ir_version(proto, graphs, source, target, wanted, highest, runtimes)
        except ValueError as error:
            raise ArgumentError(str(error)) from None

    def blockers_of(self, outcome: Outcome) -> list[Blocker]:
        """The blockers of the conversion with `outcome`. Where it is made because a runtime does not load the opset of the model,
        those of its steps say so."""
        blockers = blockers_of(outcome, self.options.strict, self.prepared.repairs)
        demands, source = self._demands, self.prepared.opset
        if demands is None or source is None or not demands.refuse_opset(source):
            return blockers
        return [demands.with_opsets(blocker) if blocker.transition else blocker for blocker in blockers]

    def check_result(self, skeleton: Skeleton, outcome: Outcome, original: bytes) -> Checked:
        """Check the result as `validity.check_result` does; but where the outcome has warnings, return these as blockers instead of
        raising.

        Such a warning says that the target gives the node another meaning, for example a smaller output, while the model still
        declares the old one. Without warnings, declared outputs whose shapes contradict the result are corrected in `skeleton`.
        """
        result = skeleton.checkable()
        if result == original:
            return Checked()
        try:
            validity.check_result(result, original, self._trust)
        except CheckError as error:
            if outcome.warnings:
                hint = "choose another opset, or correct the shapes that the model declares if they are wrong"
                return Checked([remark.as_blocker(hint) for remark in outcome.warnings])
            corrected = correct_outputs(skeleton, str(error))
            if not corrected:
                self._blame_rules_of_caller(outcome, error)
                raise
            skeleton.seal()
            validity.check_result(skeleton.checkable(), original, self._trust)
            return Checked(blockers_of(Outcome(), self.options.strict, corrected), corrected)
        return Checked()

    def _blame_rules_of_caller(self, outcome: Outcome, error: CheckError) -> None:
        """Raises ArgumentError where rules of the caller changed something in the result, which failed its check with `error`."""
        used = self.rules_of_caller(outcome)
        if used:
            complaint = str(error).partition(": ")[2].rpartition(" (")[0]
            raise ArgumentError(f"rules: the result is not valid after {listed(used)}: {complaint}") from error

    def rules_of_caller(self, outcome: Outcome) -> list[str]:
        """The names of the rules of the caller that changed something."""
        own = {rule.name for rule in self._attempts.registry if rule.of_caller}
        return sorted(own.intersection(change.rule for change in outcome.changes))

    def _remarks_on_isolation(self) -> list[Remark]:
        """A warning where onnx runs in this process although nobody asked for that."""
        reason = "" if self.options.isolation == "in-process" else no_interpreter()
        if not reason:
            return []
        message = f"onnx checks it in this process, which a crash would end: {reason}"
        return [Remark("warning", "Model", self.prepared.skeleton.proto.graph.name, "model", message)]

    def report(self, target: int | None, outcome: Outcome, written: Sequence[Change], end: End) -> Report:
        """The report of the conversion to `target`. `written` is what RewriteRules changed."""
        prepared, source = self.prepared, self.prepared.opset
        goes_up = source is not None and target is not None and target > source
        return Report(
            source_opset=source,
            target_opset=target,
            source_ir_version=prepared.ir_version,
            ir_version=end.ir_version,
            operators_before=dict(prepared.operators),
            operators_after=dict(end.operators),
            changes=(*prepared.changes, *written, *outcome.changes),
            rewrites=detached(outcome.rewrites),
            inexact=frozenset(inexact_rules(outcome, written)),
            sums=outcome.sums,
            remarks=(*prepared.repairs, *outcome.remarks, *end.remarks, *self._remarks_on_isolation()),
            blockers=tuple(end.blockers),
            reach=end.reach,
            not_loaded=not_loaded(target) if goes_up else "",
            runtimes="" if self._demands is None else self._demands.titles,
            about_runtimes=() if self._demands is None else self._demands.warnings_about(end.operators),
            notes=tuple(end.notes),
            weights=end.weights,
            checked=end.checked,
            comparison=end.comparison,
            verified=tuple(end.verified),
            certificate=end.certificate,
            untried=tuple(end.untried),
            name=end.name,
            destination=end.destination,
        )


def inexact_rules(outcome: Outcome, written: Iterable[Change]) -> set[str]:
    """The rules that changed something and whose results may differ in the last bits; of RewriteRules nothing is known."""
    return outcome.inexact | {change.rule for change in written}


def blockers_of(outcome: Outcome, strict: bool, repairs: Sequence[Remark]) -> list[Blocker]:
    """The blockers of the conversion; with `strict`, warnings and `repairs` count too."""
    warnings = [*repairs, *outcome.warnings] if strict else []
    return outcome.blockers or [remark.as_blocker("without --strict this is a warning") for remark in warnings]


def state_opset(proto: onnx.ModelProto, graphs: Sequence[GraphLike], source: int, target: int) -> None:
    """Declare opset `target` in `proto`, whose `graphs` are in the form of that opset already."""
    stamp.stamp(proto, target)
    leave(proto)
    unread.show(proto)
    if target < 6 and target != source:
        for graph in graphs:
            if isinstance(graph, onnx.GraphProto):
                inference.state_cast_types(graph)
