"""The way of a model from input to output: read, check, convert, stamp, check again, compare, write."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import onnx

from . import arguments, child_call
from .bridge.opening import AnyModel, Opened, open_model
from .checks.repair import repair
from .engine.narrow_types import UNROUNDED
from .engine.outcome import Outcome, Remark
from .engine.reach import find_reach
from .errors import CheckError, CompareError, InvalidModelError, UnconvertibleError
from .graph.model import Model
from .graph.survey import all_graphs
from .job import Job, blockers_of, duplicate, state_opset
from .opsets.transitions import newest_opset
from .options import Comparing, Options, checked, replacements_of, target_of_options
from .report.summary import Report
from .storage import NamedFile, check_apart, spooled, stage
from .storage.skeleton import Skeleton

if TYPE_CHECKING:
    from .comparison.by_model import Comparison
    from .comparison.verification import Verified

logging.getLogger("split_rewrite").addHandler(logging.NullHandler())  # who wants to read it says so
_log = logging.getLogger(__name__)


Announce = Callable[[Report, Path], None]
"""Called with the report of a conversion and the path of its result, while that is still a temporary file."""


class ConversionResult(NamedTuple):
    """The converted `model` in memory, of the kind that was given (a ModelProto for a path), and the `report` of what was done."""

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

    `model` is a path, a ModelProto, an onnx_ir.Model or a torch ONNXProgram; it stays as it is, and the result is of the same kind.
    Sequences with known elements dissolve and constant Splits fold on the way. `target_opset` None keeps the opset, or leaves it to
    the runtimes that `options.for_runtimes` names. Original and
    result are run and compared as on the command line; `compare="off"` leaves that out, for speed. `options` holds everything
    else. What could not be compared, and why, is in `report.comparison`; `report.warnings` has all that there is to be said.

    Raises: UnconvertibleError with all blockers; InvalidModelError; CheckError; CompareError; ArgumentError, or TypeError, for
    arguments.
    """
    arguments.check_model(model)
    target, options = checked(target_opset, compare, options)
    with _opening(model) as opening:
        return convert_opened(opening, target, compare=compare, options=options)


def convert_opened(opening: Callable[[], Opened], target: int | None, *, compare: Comparing, options: Options) -> ConversionResult:
    """As `convert_version`, with arguments that `checked` found to be possible; `opening` gives the model anew at each call."""
    opened, conversion = _convert(opening, target, options, compare)
    _judge(conversion, compare, options)
    result = opened.close()
    _log_report(conversion.report, "converted")
    return ConversionResult(result, conversion.report)


def simplify(model: AnyModel, *, compare: Comparing = "auto", options: Options | None = None) -> ConversionResult:
    """As `convert_version` at the model's own opset: only what may be done at any, as dissolving sequences and folding Splits."""
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
    """Convert the file `source` into the file `destination`, which may be the same; it appears only after all checks passed.

    `others` are further files that the caller reads and writes: all have to be different ones. `announce` is called with the
    report and the finished file when only its renaming is missing, which is not done where it raises.
    Raises: as `convert_version`; SplitRewriteError where `destination` cannot be written or is data of `source`. Nothing is
    written then.
    """
    arguments.check_path("source", source)
    arguments.check_path("destination", destination)
    target, options = checked(target_opset, compare, options)
    with _opening(source, destination, others) as opening:
        opened, conversion = _convert(opening, target, options, compare)
        with stage(opened.skeleton, destination, external_data=options.external_data) as staged:
            conversion.report.notes += staged.notes
            _judge(conversion, compare, options, staged.path)
            if announce is not None:
                announce(conversion.report, staged.path)
            staged.commit()
    _log_report(conversion.report, f"{os.fspath(source)}: converted to {os.fspath(destination)}")
    return conversion.report


def round_trip(
    model: AnyModel, target_opset: int, *, compare: Comparing = "auto", options: Options | None = None
) -> ConversionResult:
    """Convert `model` to `target_opset` and back to the opset that it has.

    The way back must mean the same as the model; it need not be the same graph. Raises: as `convert_version`, either way.
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
    """A dry run: what `convert_version` would do and refuse, without checking, comparing or writing a result.

    The report has every blocker (none: the model can be converted) and the lowest and highest opset within reach.
    `others` is as for `convert_file`.
    Raises: InvalidModelError where the input is not valid.
    """
    arguments.check_model(model)
    target, options = checked(target_opset, "off", options)
    with _opening(model, None, others) as opening:
        report = _repaired(opening, options, lambda opened, repairs: _dry_run(opened.skeleton, target, options, repairs))
    _log_report(report, "cannot be converted" if report.blockers else "can be converted")
    return report


@contextmanager
def _opening(
    model: AnyModel, output: str | os.PathLike[str] | None = None, others: Sequence[NamedFile] = ()
) -> Iterator[Callable[[], Opened]]:
    """What opens `model` anew each time that it is called, in a `with`. Of a file, `output` and `others` have to be different ones.

    Raises: as `check_apart`.
    """
    if not isinstance(model, str | os.PathLike):
        yield lambda: open_model(model)
        return
    check_apart(model, output, (), others)
    with spooled(model) as readable:

        def opening() -> Opened:
            opened = open_model(readable)
            check_apart(model, output, opened.skeleton.data_paths, others)
            return opened

        yield opening


def _repaired(opening: Callable[[], Opened], options: Options, work: Callable[[Opened, Sequence[Remark]], _T]) -> _T:
    """What `work` makes of the model; of one that is not valid, what it makes of it with the repairs that it gets, if any helps."""
    child_call.prepare()
    try:
        return work(opening(), ())
    except InvalidModelError as error:
        opened = opening()
        repairs = repair(opened.skeleton, str(error), replacements_of(options))
        if not repairs:
            raise
        return work(opened, repairs)


def _log_report(report: Report, what: str) -> None:
    """What was done for those who listen: each change at DEBUG, warnings, and the end of it at INFO."""
    for change in report.changes if _log.isEnabledFor(logging.DEBUG) else ():
        _log.debug("%s", change)
    for warning in report.warnings:
        _log.warning("%s", warning)
    _log.info("%s: opset %s to %s", what, report.source_opset, report.target_opset)


_T = TypeVar("_T")


def _dry_run(skeleton: Skeleton, target: int | None, options: Options, repairs: Sequence[Remark]) -> Report:
    job = Job(skeleton, target, options, repairs)
    job.check_input()
    job.apply_patterns()
    trouble = job.aim(target)

    def dry_run(opset: int | None) -> Outcome:
        if opset not in outcomes:
            copy, outcome = job.try_at(opset)
            outcomes[opset] = outcome
            if outcome.warnings and not outcome.blockers:
                if job.source is not None and opset is not None:
                    state_opset(copy.proto, all_graphs(copy.proto), job.source, opset)
                outcome.blockers = job.check_result(copy, outcome)
        return outcomes[opset]

    outcomes: dict[int | None, Outcome] = {}
    outcome = dry_run(job.target)
    outcome.remarks += trouble
    report = job.report(outcome)
    report.not_loaded = job.not_loaded()
    report.blockers = blockers_of(outcome, options.strict, job.repairs)
    if job.source is not None:
        report.reach = find_reach(job.source, newest_opset(), dry_run)
    return report


class _Conversion(NamedTuple):
    """`result`, the converted model, and what to compare it with: `original`, None where nothing is to be compared."""

    report: Report
    result: Skeleton
    original: Model | None
    aliases: Mapping[str, str]
    as_given: Skeleton | None
    """The original before it was repaired, if it was and is in no file."""
    corrected: Sequence[Remark] = ()
    """Declared outputs that were corrected, which is right only if original and result give the same."""


def _convert(opening: Callable[[], Opened], target: int | None, options: Options, compare: Comparing) -> tuple[Opened, _Conversion]:
    """The model that `opening` gives, converted in place. Raises where a node cannot be converted, or a check fails."""

    def work(opened: Opened, repairs: Sequence[Remark]) -> tuple[Opened, _Conversion]:
        keeps = compare != "off" or bool(options.verify_with)
        conversion = _convert_skeleton(opened.skeleton, target, options, repairs, keep_original=keeps)
        if repairs and conversion.original is not None and opened.skeleton.path is None:
            conversion = conversion._replace(as_given=opening().skeleton)
        return opened, conversion

    return _repaired(opening, options, work)


def _convert_skeleton(
    skeleton: Skeleton, target: int | None, options: Options, repairs: Sequence[Remark], *, keep_original: bool
) -> _Conversion:
    job = Job(skeleton, target, options, repairs)
    original = None
    if keep_original:
        original = job.model_of(duplicate(skeleton), job.source)
    job.check_input()
    job.apply_patterns()
    job.aim(target)
    outcome = job.run(job.model, job.target)
    blockers = blockers_of(outcome, options.strict, job.repairs)
    if blockers:
        raise UnconvertibleError(blockers)
    report = job.report(outcome)
    report.not_loaded = job.not_loaded()
    report.operators_after = job.stamp()
    report.ir_version = skeleton.proto.ir_version
    skeleton.seal()
    blockers = job.check_result(skeleton, outcome)
    if blockers:
        raise UnconvertibleError(blockers)
    report.remarks += job.corrected
    report.checked = f"onnx.checker {onnx.__version__}, full check"
    return _Conversion(report, skeleton, original, job.model.replaced, None, job.corrected)


def _judge(conversion: _Conversion, how: Comparing, options: Options, written: Path | None = None) -> None:
    """Compare and verify the result as it is asked for, into the report. `written` is the file that the result is in, if any is.

    Raises: CompareError; CheckError where nothing shows whether the result is wrong or what the model declares of its outputs.
    """
    if how != "off":
        conversion.report.comparison = _compare(conversion, how, options, written)
    comparison = conversion.report.comparison
    if conversion.corrected and (comparison is None or comparison.status != "equal"):
        wrong = conversion.corrected[0]
        what = f"the model declares another shape of {wrong.op_type.lower()} '{wrong.node}' than the result has"
        advice = "correct the declaration, or let the models be compared"
        raise CheckError(f"{what}, and no comparison shows that the result is right: {advice}")
    if options.verify_with:
        conversion.report.verified = _verify(conversion, options)


def _verify(conversion: _Conversion, options: Options) -> Verified:
    """Raises CompareError where the result does not run in the runtime, or gives something else there."""
    from .comparison.verification import usual_runs
    from .runtimes.verifying import bounds_of, verify_in

    assert conversion.original is not None
    bounds = bounds_of(options.verify_with, options.tolerance.rtol, options.tolerance.atol)
    with (
        _original_file(conversion, options) as as_read,
        usual_runs(conversion.original, conversion.result, options.samples, as_read) as (result, runs),
    ):
        if isinstance(runs, str):
            raise CompareError(f"the result cannot be verified with {options.verify_with}: {runs}")
        return verify_in(target_of_options(options), result, runs, bounds)


@contextmanager
def _original_file(conversion: _Conversion, options: Options) -> Iterator[Path | None]:
    """The file that the original is in, exactly as it was given; None where there is none."""
    if options.assume_opset is not None:  # the file says another opset
        yield None
    elif conversion.as_given is None:
        yield conversion.result.path
    else:
        with tempfile.TemporaryDirectory() as folder, stage(conversion.as_given, Path(folder, "given.onnx")) as given:
            yield given.path


def _compare(
    conversion: _Conversion, how: Literal["auto", "model", "nodes", "required"], options: Options, written: Path | None = None
) -> Comparison:
    """`written` is the file that the result is in, if it is in one.

    Raises CompareError where the models differ, or could not be compared and had to be.
    """
    from .comparison import verification  # a third of our own imports, and not needed where nothing is compared

    assert conversion.original is not None
    inexact, sums = conversion.report.inexact, conversion.report.sums
    like_bfloat16 = UNROUNDED in inexact
    tolerance = replace(options.tolerance, inexact=bool(inexact), sums=sums or like_bfloat16, like_bfloat16=like_bfloat16)
    settings = verification.Settings(how, options.runtime, options.samples, tolerance)
    with _original_file(conversion, options) as as_read:
        files = verification.Files(as_read, written)
        comparison = verification.verify(conversion.original, conversion.result, conversion.aliases, settings, files)
    if comparison.status == "different":
        raise CompareError(f"outputs differ ({comparison.runtime}): {comparison.reason}")
    if comparison.status != "equal" and how == "required":
        raise CompareError(f"the result could not be compared: {comparison.reason}")
    return comparison
