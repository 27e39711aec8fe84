"""Takes a model from input to output: read, check, convert, stamp, check again, compare, write."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import onnx

from ..bridge.opening import AnyModel, Opened, open_model
from ..checks.repair import repair
from ..engine.outcome import Change, Outcome, Remark
from ..engine.reach import find_reach
from ..engine.stamp import stamp
from ..errors import CheckError, InvalidModelError, RuleError, UnconvertibleError
from ..graph.survey import all_graphs
from ..opsets.transitions import newest_opset
from ..process import child_call
from ..report.summary import Report
from ..storage import NamedFile, check_apart, check_destinations, files_of_model, spooled, stage
from ..storage.skeleton import Skeleton
from . import arguments
from .comparing import Conversion, Judgement, judge
from .options import Comparing, Options, checked, files_of_options, replacements_of
from .stages import Aim, End, Job, blockers_of, state_opset

logging.getLogger("split_rewrite").addHandler(logging.NullHandler())  # who wants to read it says so
_log = logging.getLogger(__name__)


Announce = Callable[[Report, Path], None]
"""A function that is called with the report of a conversion and the path of its result, while that is still a temporary file."""


Opening = Callable[[bool], Opened]
"""A function that opens a model anew at each call; the argument says whether its original is kept."""


class ConversionResult(NamedTuple):
    """The result of a conversion: the converted `model`, of the kind that was given (a ModelProto for a path), and the `report`."""

    model: Any
    report: Report


def convert_version(
    model: AnyModel,
    target_opset: int | None = None,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
) -> ConversionResult:
    """Convert `model` to `target_opset` of the default domain.

    `model` is a path, a ModelProto, an onnx_ir.Model or a torch ONNXProgram. It is not changed, and the result is of the same kind
    (a ModelProto for a path). Sequences with known elements are removed and constant Splits are folded. `target_opset` None keeps
    the opset, or leaves the choice to the runtimes in `options.for_runtimes`. The original and the result are run and compared, as
    on the command line; `compare="off"` skips that, for speed. All other settings are in `options`. `report.comparison` says what
    could not be compared, and why; `report.warnings` has everything that the user should know.

    Raises: UnconvertibleError with all blockers; InvalidModelError; CheckError; CompareError; ArgumentError or TypeError for wrong
    arguments.
    """
    arguments.check_model(model)
    target, options = checked(target_opset, compare, options)
    with _opening(model) as opening:
        return convert_opened(opening, target, compare=compare, options=options)


def convert_opened(opening: Opening, target: int | None, *, compare: Comparing, options: Options) -> ConversionResult:
    """Convert as `convert_version` does, with arguments that `checked` accepted. `opening` opens the model."""
    opened, conversion = _convert(opening, target, options, compare)
    report = _report(conversion, judge(conversion, compare, options), [])
    result = opened.close()
    _log_report(report, "converted")
    return ConversionResult(result, report)


def simplify(model: AnyModel, *, compare: Comparing = "auto", options: Options | None = None) -> ConversionResult:
    """Simplify `model` at its own opset: remove sequences and fold constant Splits.

    Arguments and errors are those of `convert_version`.
    """
    return convert_version(model, None, compare=compare, options=options)


def convert_file(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    target_opset: int | None,
    *,
    compare: Comparing = "auto",
    options: Options | None = None,
    others: Sequence[NamedFile] = (),
    announce: Announce | None = None,
) -> Report:
    """Convert the file `source` into the file `destination`, which may be the same. It is written only after all checks have
    passed.

    `others` are further files that the caller reads and writes; no two files may be the same. `announce` is called with the report
    and the finished temporary file, just before it is renamed to `destination`; if it raises an error, the file is not renamed.
    Raises: as `convert_version`; SplitRewriteError where `destination` cannot be written or contains data of `source`. In each of
    these cases, nothing is written.
    """
    arguments.check_path("source", source)
    arguments.check_path("destination", destination)
    target, options = checked(target_opset, compare, options)
    with _opening(source, destination, [*others, *files_of_options(options)]) as opening:
        opened, conversion = _convert(opening, target, options, compare)
        with stage(opened.skeleton, destination, external_data=options.external_data) as staged:
            report = _report(conversion, judge(conversion, compare, options, staged.path), staged.notes)
            if announce is not None:
                announce(report, staged.path)
            staged.commit()
    _log_report(report, f"{os.fspath(source)}: converted to {os.fspath(destination)}")
    return report


def round_trip(
    model: AnyModel, target_opset: int, *, compare: Comparing = "auto", options: Options | None = None
) -> ConversionResult:
    """Convert `model` to `target_opset` and back to its own opset.

    The final model means the same as `model`, but may have other nodes. Raises: as `convert_version`, for both directions.
    """
    there = convert_version(model, target_opset, compare=compare, options=options)
    return convert_version(there.model, there.report.source_opset, compare=compare, options=options)


def check_convertible(
    model: AnyModel,
    target_opset: int | None,
    *,
    options: Options | None = None,
    others: Sequence[NamedFile] = (),
) -> Report:
    """Dry run: find out what `convert_version` would do and refuse, without checking, comparing or writing a result.

    The report has all blockers (if there are none, the model can be converted), and the lowest and highest opset within reach.
    `others` is as for `convert_file`.
    Raises: InvalidModelError where the input is not valid.
    """
    arguments.check_model(model)
    target, options = checked(target_opset, "off", options)
    with _opening(model, None, [*others, *files_of_options(options)]) as opening:
        report = _repaired(
            lambda: opening(False), options, lambda opened, repairs: _dry_run(opened.skeleton, target, options, repairs)
        )
    _log_report(report, "cannot be converted" if report.blockers else "can be converted")
    return report


@contextmanager
def _opening(model: AnyModel, output: str | os.PathLike[str] | None = None, others: Sequence[NamedFile] = ()) -> Iterator[Opening]:
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


def _repaired(opening: Callable[[], Opened], options: Options, work: Callable[[Opened, Sequence[Remark]], _T]) -> _T:
    """Do `work` on the model, and return its result.

    If the model is not valid, it is repaired and tried once more, provided that a repair applies.
    """
    child_call.prepare()
    with _models_fault_told(opening, options):
        try:
            return work(opening(), ())
        except InvalidModelError as error:
            opened = opening()
            repairs = repair(opened.skeleton, str(error), replacements_of(options))
            if not repairs:
                raise
            return work(opened, repairs)


@contextmanager
def _models_fault_told(opening: Callable[[], Opened], options: Options) -> Iterator[None]:
    """Raises InvalidModelError where the code inside the `with` fails as only a wrong rule can, but on a model that does not run.

    Neither onnx.checker nor a rule sees all shapes and numbers that contradict each other. Whether the rule is wrong, or the model,
    is not guessed: the model is run. That takes time only after a failure.
    """
    try:
        yield
    except (RuleError, CheckError) as error:
        from ..comparison.running.own_refusal import refusal_of_model

        skeleton = opening().skeleton
        if options.assume_opset is not None:
            stamp(skeleton.proto, options.assume_opset)
        refusal = refusal_of_model(skeleton, options.samples, is_as_in_file=options.assume_opset is None)
        if refusal is None:
            raise
        runtime, tried, message = refusal
        raise InvalidModelError(f"the input is not a valid model: {runtime} cannot run it{tried}: {message}") from error


def _log_report(report: Report, what: str) -> None:
    """Log the report with Python's logging: each change at level DEBUG, warnings at WARNING, and the outcome at INFO."""
    for change in report.changes if _log.isEnabledFor(logging.DEBUG) else ():
        _log.debug("%s", change)
    for warning in report.warnings:
        _log.warning("%s", warning)
    _log.info("%s: opset %s to %s", what, report.source_opset, report.target_opset)


_T = TypeVar("_T")


def _ready(skeleton: Skeleton, target: int | None, options: Options, repairs: Sequence[Remark], *, keep_repaired: bool) -> _Started:
    """Take a model through all stages before its conversion."""
    job = Job(skeleton, options, repairs, keep_repaired=keep_repaired)
    ready = job.apply_patterns(job.check_input(target), target)
    return _Started(job, job.aim(ready.model, target), ready.written)


class _Started(NamedTuple):
    """A conversion that is about to begin. `written` is what the user's RewriteRules changed."""

    job: Job
    aim: Aim
    written: Sequence[Change]


def _dry_run(skeleton: Skeleton, target: int | None, options: Options, repairs: Sequence[Remark]) -> Report:
    job, aim, written = _ready(skeleton, target, options, repairs, keep_repaired=False)
    source = job.prepared.opset
    outcomes: dict[int | None, Outcome] = {}

    def dry_run(opset: int | None) -> Outcome:
        if opset not in outcomes:
            copy, outcome = job.try_at(opset, aim.model)
            outcomes[opset] = outcome
            if outcome.warnings and not outcome.blockers:
                if source is not None and opset is not None:
                    state_opset(copy.proto, all_graphs(copy.proto), source, opset)
                outcome.blockers = list(job.check_result(copy, outcome, aim.model.original).blockers)
        return outcomes[opset]

    outcome = dry_run(aim.target)
    outcome.remarks += aim.avoided
    blockers = blockers_of(outcome, options.strict, job.prepared.repairs)
    reach = None if source is None else find_reach(source, newest_opset(), dry_run)
    return job.report(aim.target, outcome, written, End(job.prepared.ir_version, blockers=blockers, reach=reach))


def _convert(opening: Opening, target: int | None, options: Options, compare: Comparing) -> tuple[Opened, Conversion]:
    """Convert the model that `opening` opens, in place. Raises where a node cannot be converted, or a check fails."""

    def work(opened: Opened, repairs: Sequence[Remark]) -> tuple[Opened, Conversion]:
        return opened, _convert_opened(opened, target, options, repairs)

    keeps = compare != "off" or bool(options.verify_with)
    return _repaired(lambda: opening(keeps), options, work)


def _convert_opened(opened: Opened, target: int | None, options: Options, repairs: Sequence[Remark]) -> Conversion:
    skeleton = opened.skeleton
    job, aim, written = _ready(skeleton, target, options, repairs, keep_repaired=opened.original is not None)
    converted = job.convert(aim.model, aim.target)
    blockers = blockers_of(converted.outcome, options.strict, job.prepared.repairs)
    if blockers:
        raise UnconvertibleError(blockers)
    operators = job.stamp(converted, aim.target)
    skeleton.seal()
    checked = job.check_result(skeleton, converted.outcome, converted.model.original)
    if checked.blockers:
        raise UnconvertibleError(checked.blockers)
    return Conversion(job, aim.target, converted, written, operators, opened.original, checked.corrected)


def _report(conversion: Conversion, judgement: Judgement, notes: list[str]) -> Report:
    """The report of a conversion that succeeded. `notes` say what the user has to know about the data files."""
    end = End(
        ir_version=conversion.result.proto.ir_version,
        operators=conversion.operators,
        remarks=[*conversion.corrected, *judgement.remarks],
        notes=notes,
        checked=f"onnx.checker {onnx.__version__}, full check",
        comparison=judgement.comparison,
        verified=judgement.verified,
    )
    return conversion.job.report(conversion.target, conversion.converted.outcome, conversion.written, end)
