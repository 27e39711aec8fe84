"""Which runtimes take a model as it is, which with `--for`, and which not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ..conversion.acceptance import Accepted
from ..conversion.aiming import try_opsets
from ..conversion.attempts import duplicate
from ..conversion.options import Options
from ..conversion.stages import Job
from ..engine import stamp
from ..engine.outcome import Change, Outcome
from ..graph.model import Model
from ..runtimes.demands import Demands
from ..runtimes.naming import find_profile
from ..runtimes.profiles import Profile, known_runtimes
from ..storage.skeleton import Skeleton

Answer = Literal["as it is", "with --for", "not"]
DOCUMENTED = "by documentation"


class Suitability(NamedTuple):
    """Whether one release of a runtime takes the model, by what its profile says."""

    runtime: str
    """The name for `--for`."""
    title: str
    answer: Answer
    reason: str
    """What `--for` has to change, how many nodes run on the CPU, or why the model cannot be taken."""
    evidence: str


def suitabilities(job: Job, model: Model, skeleton: Skeleton, accepted: Accepted) -> Iterator[Suitability]:
    """An answer for the newest known release of each runtime; `job` and `model` are of `skeleton`, the model as it was read."""
    judge = _Judge(job, model, skeleton, accepted)
    for runtime in known_runtimes().values():
        newest = runtime.releases[-1].releases
        release = ".".join(map(str, newest.last or newest.first or (0,)))
        yield judge.answer(find_profile(f"{runtime.name}-{release}"))


class _Judge:
    """Asks for each runtime by trying its conversion; equal conversions are tried once."""

    def __init__(self, job: Job, model: Model, skeleton: Skeleton, accepted: Accepted) -> None:
        self._job = job
        self._model = model
        self._skeleton = skeleton
        self._accepted = accepted
        self._plain: dict[int, Outcome] = {}
        self._needed_ir = stamp.needed_ir_version(model.proto, model.graphs)

    def answer(self, profile: Profile) -> Suitability:
        source = self._job.prepared.opset
        assert source is not None
        demands = Demands([profile])
        answer, reason = self._tried(profile, demands, source)
        return Suitability(profile.name, profile.title, answer, reason, profile.facts.evidence)

    def _tried(self, profile: Profile, demands: Demands, source: int) -> tuple[Answer, str]:
        changes: list[str] = []
        if demands.ir_max is not None and self._job.prepared.ir_version > demands.ir_max:
            if self._needed_ir > demands.ir_max:
                return "not", f"it needs IR version {self._needed_ir}, and {profile.title} loads up to {demands.ir_max}"
            changes.append(f"IR version {demands.ir_max}")
        job = self._job_for(profile, demands)
        found = try_opsets(demands, source, self._model.survey.operators, lambda opset: self._outcome(job, opset))
        for opset, outcome in found.items():
            if not outcome.blockers:
                changes = [*([] if opset == source else [f"opset {opset}"]), *changes, *self._rewritten(outcome, opset)]
                return "with --for" if changes else "as it is", ", ".join([*changes, *_on_the_cpu(outcome)])
        least = min(found.values(), key=lambda outcome: len(outcome.blockers))
        more = f" (and {len(least.blockers) - 1:,} more)" if len(least.blockers) > 1 else ""
        return "not", f"{least.blockers[0]}{more}"

    def _job_for(self, profile: Profile, demands: Demands) -> Job | None:
        """The job for a runtime that restricts nodes; None where only opset and IR version count."""
        restrictions = demands.restrictions
        has_functions = bool(self._model.proto.functions) and bool(demands.without_functions)
        is_free = not (restrictions.forms or restrictions.operators or restrictions.types or restrictions.lists or has_functions)
        if is_free:
            return None
        return Job(duplicate(self._skeleton), Options(for_runtimes=(profile.name,)), self._accepted)

    def _outcome(self, job: Job | None, opset: int) -> Outcome:
        if job is not None:
            model = job.unchecked(opset) if self._model.proto.functions else self._model
            return job.outcome_at(opset, model)
        if opset not in self._plain:
            self._plain[opset] = self._job.outcome_at(opset, self._model)
        return self._plain[opset]

    def _rewritten(self, outcome: Outcome, opset: int) -> list[str]:
        """What was changed because of the runtime, beside what any conversion to the opset changes."""
        if opset not in self._plain:
            self._plain[opset] = self._job.outcome_at(opset, self._model)
        usual: set[Change] = set(self._plain[opset].changes)
        count = len({(change.node, change.where) for change in outcome.changes if change not in usual})
        return [f"{count:,} node{'s' * (count != 1)} rewritten"] if count else []


def _on_the_cpu(outcome: Outcome) -> list[str]:
    """How many nodes the runtime leaves to the CPU."""
    left = sum(remark.kind == "fallback" for remark in outcome.remarks)
    return [f"{left:,} on the CPU"] if left else []
