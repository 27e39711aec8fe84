"""Runs the result on the inputs of the original, without those on which rules may have been misled by declared shapes."""

from __future__ import annotations

from ...execution.messages import Failure, Outputs
from ...execution.model_client import Session
from ..inputs.original_runs import explain
from ..runs import Run
from ..verdicts import Comparison, Inconclusive
from .declared_outputs import Contradiction
from .differences import shape_of_value


def run_result(session: Session, engine: str, runs: list[Run]) -> tuple[list[Run], list[Outputs] | Comparison | Inconclusive]:
    """Run the result on the inputs of the original. A failure counts as a difference, unless the runtime lacks something.

    Runs that break the declared shapes of the original are left out if the result fails on their inputs, or goes by these shapes:
    there, a rule may have relied on what is declared. Where all runs break the declared shapes, none is left out.
    """
    answered = _run_doubtful(session, runs)
    are_all_doubtful = all(run.doubt for run in runs)
    kept = [run for run in runs if are_all_doubtful or not run.doubt or id(run) in answered]
    missing = [run for run in kept if id(run) not in answered]
    for run, (_, answer) in zip(missing, session.run_all(run.inputs for run in missing), strict=True):
        if isinstance(answer, Failure) and answer.kind == "timeout" and answered:
            break  # what ran before is judged
        if isinstance(answer, Failure):
            return kept, _failed(engine, run, answer)
        answered[id(run)] = answer
    kept = [run for run in kept if id(run) in answered]
    return kept, [answered[id(run)] for run in kept]


def _run_doubtful(session: Session, runs: list[Run]) -> dict[int, Outputs]:
    """What the result gives for the doubtful ones among the runs, by their identity, without those that prove nothing."""
    doubtful = [run for run in runs if run.doubt]
    if len(doubtful) == len(runs):
        return {}
    answers = (answer for _, answer in session.run_all(run.inputs for run in doubtful))
    return {
        id(run): answer
        for run, answer in zip(doubtful, answers, strict=True)
        if isinstance(answer, Outputs) and not _goes_by_declared_shapes(run, answer)
    }


def _failed(engine: str, run: Run, failure: Failure) -> Comparison | Inconclusive:
    """The verdict where the result does not run on the inputs of `run`."""
    reason = f"{engine} runs the original but not the result: {explain(failure)}"
    if failure.kind in ("timeout", "memory"):
        return Inconclusive(reason, final=True)
    if failure.kind == "unsupported" or not failure.certain:
        return Inconclusive(reason, refused=True)
    return Comparison("different", run.outputs.runtime, reason)


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


def have_other_shapes(runs: list[Run], results: list[Outputs]) -> bool:
    """Whether an output of the results has another shape than that of the original."""
    pairs = ((run.outputs.values, result.values) for run, result in zip(runs, results, strict=True))
    return any(list(map(shape_of_value, before)) != list(map(shape_of_value, after)) for before, after in pairs)
