"""Takes a model from input to output: read, check, convert, stamp, check again, compare, write."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import onnx

from .. import calls, progress
from ..bridge.opening import AnyModel, Opened, open_model
from ..engine.outcome import Outcome, Remark, Rewrite
from ..engine.reach import find_reach
from ..engine.stamp import assume
from ..errors import CheckError, CompareError, InvalidModelError, RuleError, SplitRewriteError, UnconvertibleError
from ..graph.model import Model
from ..opsets.transitions import newest_opset
from ..process import child_call
from ..report.report import Report
from ..storage import KEPT, NamedFile, check_apart, check_destinations, different_path, files_of_model, require_new, spooled, stage
from ..storage.data_files import DataFiles
from ..storage.skeleton import Skeleton, Snapshot
from ..structure.survey import all_graphs
from . import arguments
from .acceptance import Accepted, accept
from .comparing import Conversion, Judgement, judge
from .options import (
    Comparing,
    Options,
    checked,
    external_data_of,
    files_of_options,
    require_custom_operators,
    running,
    starts_none,
    trials_of_options,
)
from .stages import End, Job, Ready, state_opset

logging.getLogger("split_rewrite").addHandler(logging.NullHandler())  # who wants to read it says so
_log = logging.getLogger(__name__)


Opening = Callable[[bool], Opened]
"""A function that opens a model anew at each call; the argument says whether its original is kept."""


_T = TypeVar("_T")
_Path = str | os.PathLike[str]


class Done(NamedTuple):
    """A conversion or dry run that has ended: its report, and for drawings the rewrites, which hold the model."""

    report: Report
    rewrites: Sequence[Rewrite]


Announce = Callable[[Done, Path], None]
"""A function that is called with a conversion and the path of its result, while that is still a temporary file."""


def convert_model(model: AnyModel, target: int | None, *, compare: Comparing, options: Options) -> tuple[Any, Report]:
    """Convert as `convert_version` does, with checked arguments. Returns the model, of its own kind, and the report."""
    with opening_of(model) as opening:
        return convert_opened(opening, target, compare=compare, options=options)


def convert_opened(opening: Opening, target: int | None, *, compare: Comparing, options: Options) -> tuple[Any, Report]:
    """Convert the model that `opening` opens."""
    opened, conversion = _convert(opening, target, options, compare)
    report = _report(conversion, judge(conversion, compare, options))
    result = opened.close(opened.skeleton)
    _log_report(report, "converted")
    return result, report


def convert_to_each(
    model: AnyModel, targets: Iterable[int], *, compare: Comparing, options: Options
) -> dict[int, tuple[Any, Report] | UnconvertibleError | CompareError]:
    """Convert as `convert_versions` does, with checked arguments. The model is read and checked once, and each result is made of a
    copy of it, which begins with what is known of the model.
    """

    def work(opened: Opened, accepted: Accepted) -> dict[int, tuple[Any, Report] | UnconvertibleError | CompareError]:
        job, ready = _ready(opened, None, options, accepted)
        return {target: converted(opened, *job.apart(ready, target), target, accepted) for target in targets}

    def converted(
        opened: Opened, job: Job, ready: Ready, target: int, accepted: Accepted
    ) -> tuple[Any, Report] | UnconvertibleError | CompareError:
        def first() -> tuple[Opened, Conversion]:
            return opened, _finished(job, ready, target, opened.original, accepted)

        try:
            closing, conversion = _or_with_fewer_changes(first, opening, target, options, compare)
            report = _report(conversion, judge(conversion, compare, options))
        except (UnconvertibleError, CompareError) as error:
            error.model = error.model or calls.name()
            return error
        _log_report(report, "converted")
        return closing.close(conversion.result), report

    with opening_of(model) as opening:
        return _accepted(lambda: opening(_keeps_original(compare, options)), options, work)


def rewrites_of(model: AnyModel, target: int | None) -> Sequence[Rewrite]:
    """The rewrites of a conversion, for drawings. Nothing is compared."""
    with opening_of(model) as opening:
        return _convert(opening, target, Options(), "off")[1].converted.outcome.rewrites


def convert_path(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    target: int | None,
    *,
    compare: Comparing,
    options: Options,
    others: Sequence[NamedFile] = (),
    announce: Announce | None = None,
) -> Report:
    """Convert as `convert_file` does.

    `announce` is called just before the temporary file is renamed to `destination`; if it raises an error, the file is not renamed.
    """
    target, options = checked(target, compare, options)
    external_data = external_data_of(options)
    kept = [NamedFile(KEPT, different_path(destination))] if options.keep_different else []
    for path in (destination, *(file.path for file in kept)) if options.no_clobber else ():
        require_new(path)
    with opening_of(source, destination, [*others, *files_of_options(options), *kept]) as opening:
        opened, conversion = _convert(opening, target, options, compare)
        progress.stage("writing")
        with stage(opened.skeleton, destination, external_data=external_data) as staged:
            try:
                judgement = judge(conversion, compare, options, staged.path)
            except CompareError as error:
                if not options.keep_different:
                    raise
                raise _kept(error, opened.skeleton, different_path(destination), options) from error
            report = _report(conversion, judgement, staged.notes, staged.data_files, os.fspath(destination))
            staged.pack()
            if options.no_clobber:
                require_new(destination)  # once more: another program may have written it meanwhile
            if announce is not None:
                announce(Done(report, conversion.converted.outcome.rewrites), staged.path)
            staged.commit()
    _log_report(report, f"converted to {os.fspath(destination)}")
    return report


def _kept(error: CompareError, result: Skeleton, path: Path, options: Options) -> CompareError:
    """Write `result`, whose comparison failed with `error`, to `path`. Returns the error that also names this file."""
    with stage(result, path, external_data=external_data_of(options)) as staged:
        staged.pack()
        staged.commit()
    return CompareError(f"{error}; the result is in {path}")


def dry_run(model: AnyModel, target: int | None, *, options: Options, others: Sequence[NamedFile] = ()) -> Done:
    """Find out what a conversion would do, as `check_convertible` does."""
    target, options = checked(target, "off", options)
    with opening_of(model, None, [*others, *files_of_options(options)]) as opening:
        done = _accepted(lambda: opening(False), options, lambda opened, accepted: _dry_run(opened, target, options, accepted))
    _log_report(done.report, "cannot be converted" if done.report.blockers else "can be converted")
    return done


def examine(model: AnyModel, work: Callable[[Opened, Accepted, Job, Model], _T]) -> _T:
    """Read and check `model`, and return what `work` finds about it. Raises: InvalidModelError where it is not valid."""
    arguments.check_model(model)
    options = Options()

    def examined(opened: Opened, accepted: Accepted) -> _T:
        job = Job(opened.skeleton, options, accepted)
        return work(opened, accepted, job, job.check_input(None).model)

    with opening_of(model) as opening:
        return _accepted(lambda: opening(False), options, examined)


@contextmanager
def opening_of(
    model: AnyModel, output: str | os.PathLike[str] | None = None, others: Sequence[NamedFile] = ()
) -> Iterator[Opening]:
    """Yields a function that opens `model`, for the time of a `with`.

    Where `model` is a file, `output` and `others` have to be other files. Raises: as `check_apart` and `check_destinations`.
    """
    if not isinstance(model, str | os.PathLike):
        yield lambda keep: open_model(model, keep_original=keep)
        return

    def check(data: Sequence[Path]) -> None:
        files = [*files_of_model(model, output, data), *others]
        check_apart(files)
        check_destinations(files)

    check(())
    with spooled(model) as readable:

        def opening(keep: bool) -> Opened:
            opened = open_model(readable, keep_original=keep)
            check(opened.skeleton.data_paths)
            return opened

        yield opening


def _accepted(opening: Callable[[], Opened], options: Options, work: Callable[[Opened, Accepted], _T]) -> _T:
    """Do `work` on the model, and return its result. An invalid model is repaired, or taken as runtimes take it, if it can."""
    require_custom_operators(options)
    progress.stage("reading")
    with running(options), _models_fault_told(opening, options):
        child_call.prepare()
        return accept(opening, options, work)


@contextmanager
def _models_fault_told(opening: Callable[[], Opened], options: Options) -> Iterator[None]:
    """Raises InvalidModelError where the code inside the `with` fails as only a wrong rule can, but on a model that does not run.

    Neither onnx.checker nor a rule sees all shapes and numbers that contradict each other. Whether the rule is wrong, or the model,
    is not guessed: the model is run. That takes time only after a failure.
    """
    try:
        yield
    except (RuleError, CheckError) as error:
        if starts_none(options):
            raise
        from ..comparison.own_refusal import refusal_of_model
        from ..execution.budget import Budget

        skeleton = opening().skeleton
        is_changed = assume(skeleton.proto, options.assume_opset, options.ir_version)
        refusal = refusal_of_model(skeleton, options.samples, Budget(options.compare_budget), is_as_in_file=not is_changed)
        if refusal is None:
            raise
        runtime, tried, message = refusal
        raise InvalidModelError(f"the input is not a valid model: {runtime} cannot run it{tried}: {message}") from error


def _log_report(report: Report, what: str) -> None:
    """Log the report with Python's logging: each change at level DEBUG, warnings at WARNING, and the outcome at INFO.

    Each record begins with the name of the model, which is also its attribute `model`.
    """
    about = {"model": report.name}
    head = f"{report.name}: " if report.name else ""
    for change in report.changes if _log.isEnabledFor(logging.DEBUG) else ():
        _log.debug("%s%s", head, change, extra=about)
    for warning in report.warnings:
        _log.warning("%s%s", head, warning, extra=about)
    _log.info("%s%s: opset %s to %s", head, what, report.source_opset, report.target_opset, extra=about)


def _ready(opened: Opened, target: int | None, options: Options, accepted: Accepted) -> tuple[Job, Ready]:
    """Take a model through all stages before its conversion."""
    progress.stage("checking the input")
    job = Job(opened.skeleton, options, accepted, keep_repaired=opened.original is not None)
    return job, job.apply_patterns(job.check_input(target), target)


def _dry_run(opened: Opened, target: int | None, options: Options, accepted: Accepted) -> Done:
    job, ready = _ready(opened, target, options, accepted)
    aim = job.aim(ready.model, target)
    source = job.prepared.opset
    outcomes: dict[int | None, Outcome] = {}

    def run(opset: int | None) -> Outcome:
        if opset not in outcomes:
            copy, outcome = job.try_at(opset, aim.model)
            outcomes[opset] = outcome
            if outcome.warnings and not outcome.blockers:
                if source is not None and opset is not None:
                    state_opset(copy.proto, all_graphs(copy.proto), source, opset)
                outcome.blockers = list(job.check_result(copy, outcome, aim.model.original).blockers)
        return outcomes[opset]

    outcome = run(aim.target)
    outcome.remarks += aim.avoided
    blockers = job.blockers_of(outcome)
    reach = None if source is None else find_reach(source, newest_opset(), run)
    end = End(job.prepared.ir_version, blockers=blockers, reach=reach, name=calls.name())
    return Done(job.report(aim.target, outcome, ready.written, end), outcome.rewrites)


def _convert(opening: Opening, target: int | None, options: Options, compare: Comparing) -> tuple[Opened, Conversion]:
    """Convert the model that `opening` opens, in place. Raises where a node cannot be converted, or a check fails.

    Where the check fails, what only simplifies is left out: without lists, for example, shapes are known that the file contradicts.
    """

    def work(opened: Opened, accepted: Accepted) -> tuple[Opened, Conversion]:
        return opened, _finished(*_ready(opened, target, options, accepted), target, opened.original, accepted)

    def first() -> tuple[Opened, Conversion]:
        return _accepted(lambda: opening(_keeps_original(compare, options)), options, work)

    return _or_with_fewer_changes(first, opening, target, options, compare)


def _or_with_fewer_changes(
    first: Callable[[], tuple[Opened, Conversion]], opening: Opening, target: int | None, options: Options, compare: Comparing
) -> tuple[Opened, Conversion]:
    """What `first` returns or, where the check of its result fails, the conversion without what only simplifies.

    The failure of `first` is raised where the other one fails, too, or where the user does not want warnings.
    """
    try:
        return first()
    except CheckError as error:
        if options.minimal or options.strict:
            raise
        failure = error
    try:
        opened, conversion = _convert(opening, target, replace(options, minimal=True), compare)
    except SplitRewriteError:
        raise failure from None
    why = str(failure).partition(" (the model was not written")[0]
    reason = f"it is converted as with --minimal, as the result of simplifying it is not valid: {why}"
    remark = Remark("warning", "Model", opened.skeleton.proto.graph.name, "the result", reason)
    conversion.converted.outcome.remarks.append(remark)
    return opened, conversion


def _keeps_original(compare: Comparing, options: Options) -> bool:
    """Whether the model as it was read is needed after its conversion."""
    if compare != "off" or options.certify:
        return True
    return bool(options.verify_with) or any(trial.target for trial in trials_of_options(options))


def _finished(job: Job, ready: Ready, target: int | None, original: Snapshot | None, accepted: Accepted) -> Conversion:
    """Take the model of `job` through all stages of its conversion. `original` is the model as it was read."""
    skeleton = job.prepared.skeleton
    aim = job.aim(ready.model, target)
    calls.check()
    converted = job.convert(aim.model, aim.target)
    blockers = job.blockers_of(converted.outcome)
    if blockers:
        raise UnconvertibleError(blockers)
    operators = job.stamp(converted, aim.target)
    progress.stage("checking the result")
    skeleton.seal()
    checked = job.check_result(skeleton, converted.outcome, aim.model.original)
    if checked.blockers:
        raise UnconvertibleError(checked.blockers)
    accepted.require_taken(skeleton)
    return Conversion(job, aim.target, converted, ready.written, operators, original, checked.corrected)


def _report(
    conversion: Conversion,
    judgement: Judgement,
    notes: Sequence[str] = (),
    weights: DataFiles | None = None,
    destination: str = "",
) -> Report:
    """The report of a conversion that succeeded. `notes` say what the user has to know about the data files, which are
    `weights`."""
    end = End(
        ir_version=conversion.result.proto.ir_version,
        operators=conversion.operators,
        remarks=[*conversion.corrected, *judgement.remarks],
        notes=notes,
        weights=weights,
        checked=f"onnx.checker {onnx.__version__}, full check",
        comparison=judgement.comparison,
        verified=judgement.verified,
        certificate=judgement.certificate,
        untried=judgement.untried,
        name=calls.name(),
        destination=destination,
    )
    return conversion.job.report(conversion.target, conversion.converted.outcome, conversion.written, end)
