"""Takes a model from input to output: read, check, convert, stamp, check again, compare, write."""

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
"""A function that is called with the report of a conversion and the path of its result, while that is still a temporary file."""


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


def convert_opened(opening: Callable[[], Opened], target: int | None, *, compare: Comparing, options: Options) -> ConversionResult:
    """Convert as `convert_version` does, with arguments that `checked` accepted. `opening` opens the model anew at each call."""
    opened, conversion = _convert(opening, target, options, compare)
    _judge(conversion, compare, options)
    result = opened.close()
    _log_report(conversion.report, "converted")
    return ConversionResult(result, conversion.report)


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
    with _opening(model, None, others) as opening:
        report = _repaired(opening, options, lambda opened, repairs: _dry_run(opened.skeleton, target, options, repairs))
    _log_report(report, "cannot be converted" if report.blockers else "can be converted")
    return report


@contextmanager
def _opening(
    model: AnyModel, output: str | os.PathLike[str] | None = None, others: Sequence[NamedFile] = ()
) -> Iterator[Callable[[], Opened]]:
    """Yields a function that opens `model` anew at each call, for the time of a `with`.

    Where `model` is a file, `output` and `others` have to be other files. Raises: as `check_apart`.
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
    """What `work` returns for the model.

    If the model is not valid, it is repaired and tried once more, provided that a repair applies.
    """
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
    """Log the report with Python's logging: each change at level DEBUG, warnings at WARNING, and the outcome at INFO."""
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
    """A conversion that is done: the converted model, `result`, and the `original` to compare it with, or None."""

    report: Report
    result: Skeleton
    original: Model | None
    aliases: Mapping[str, str]
    as_given: Skeleton | None
    """The original before it was repaired; None where it was not repaired, or where a file contains it."""
    corrected: Sequence[Remark] = ()
    """Declared outputs that were corrected. The corrections are right only if a comparison finds original and result equal."""
    specialized: Model | None = None
    """The original with those functions specialized or inlined that are so in the result; None where there are none."""


def _convert(opening: Callable[[], Opened], target: int | None, options: Options, compare: Comparing) -> tuple[Opened, _Conversion]:
    """Convert the model that `opening` opens, in place. Raises where a node cannot be converted, or a check fails."""

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
    specialized = None if original is None or job.specialized is None else job.model_of(job.specialized, job.source)
    return _Conversion(report, skeleton, original, job.model.replaced, None, job.corrected, specialized)


def _judge(conversion: _Conversion, how: Comparing, options: Options, written: Path | None = None) -> None:
    """Compare and verify the result as requested, and note the outcome in the report. `written` is the file with the result, if
    there is one.

    Raises: CompareError; CheckError where it stays open whether the result or a declared output of the model is wrong.
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
    """Run the result in the runtime of --verify-with. Raises CompareError where it does not run there, or gives other outputs."""
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
    """The file with the original exactly as it was given; None where there is none."""
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
    """Compare the result with the original. `written` is the file with the result, if there is one.

    Raises CompareError where the models differ, or where a comparison was required and is not possible.
    """
    from .comparison import verification  # a third of our own imports, and not needed where nothing is compared

    assert conversion.original is not None
    inexact, sums = conversion.report.inexact, conversion.report.sums
    like_bfloat16 = UNROUNDED in inexact
    tolerance = replace(options.tolerance, inexact=bool(inexact), sums=sums or like_bfloat16, like_bfloat16=like_bfloat16)
    settings = verification.Settings(how, options.runtime, options.samples, tolerance)
    with _original_file(conversion, options) as as_read:
        files = verification.Files(as_read, written)
        originals = verification.Originals(conversion.original, conversion.specialized)
        comparison = verification.verify(originals, conversion.result, conversion.aliases, settings, files)
    if comparison.status == "different":
        raise CompareError(f"outputs differ ({comparison.runtime}): {comparison.reason}")
    if comparison.status != "equal" and how == "required":
        raise CompareError(f"the result could not be compared: {comparison.reason}")
    return comparison
