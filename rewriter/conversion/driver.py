"""Takes a model from input to output: read, check, convert, stamp, check again, compare, write."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import onnx

from ..bridge.opening import AnyModel, Opened, open_model
from ..checks.repair import repair
from ..engine.narrow_types import UNROUNDED
from ..engine.outcome import Outcome, Remark
from ..engine.reach import find_reach
from ..engine.stamp import stamp
from ..errors import CheckError, CompareError, InvalidModelError, RuleError, UnconvertibleError
from ..graph.model import Model
from ..graph.survey import all_graphs
from ..opsets.transitions import newest_opset
from ..process import child_call
from ..report.summary import Report
from ..storage import NamedFile, check_apart, check_destinations, files_of_model, spooled, stage
from ..storage.skeleton import Skeleton, Snapshot
from . import arguments
from .options import Comparing, Options, checked, files_of_options, replacements_of, target_of_options
from .stages import Job, blockers_of, state_opset

if TYPE_CHECKING:
    from ..comparison.verdicts import Comparison
    from ..comparison.verification import Verified

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
    with _opening(source, destination, [*others, *files_of_options(options)]) as opening:
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
    """What `work` returns for the model.

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
    original: Snapshot | None
    """The model as it was read."""
    repaired: Snapshot | None
    """The model behind its repairs, which stands in where the original does not run; None where nothing was repaired."""
    repairs: Sequence[Remark]
    aliases: Mapping[str, str]
    corrected: Sequence[Remark] = ()
    """Declared outputs that were corrected. The corrections are right only if a comparison finds original and result equal."""
    specialized: Skeleton | None = None
    """The original with those functions specialized or inlined that are so in the result; None where there are none."""


def _convert(opening: Opening, target: int | None, options: Options, compare: Comparing) -> tuple[Opened, _Conversion]:
    """Convert the model that `opening` opens, in place. Raises where a node cannot be converted, or a check fails."""

    def work(opened: Opened, repairs: Sequence[Remark]) -> tuple[Opened, _Conversion]:
        return opened, _convert_opened(opened, target, options, repairs)

    keeps = compare != "off" or bool(options.verify_with)
    return _repaired(lambda: opening(keeps), options, work)


def _convert_opened(opened: Opened, target: int | None, options: Options, repairs: Sequence[Remark]) -> _Conversion:
    skeleton = opened.skeleton
    job = Job(skeleton, target, options, repairs, keep_repaired=opened.original is not None)
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
    specialized = None if opened.original is None else job.specialized
    return _Conversion(report, skeleton, opened.original, job.repaired, job.repairs, job.model.replaced, job.corrected, specialized)


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
    from ..comparison.verification import usual_runs
    from ..runtimes.verifying import bounds_of, verify_in

    bounds = bounds_of(options.verify_with, options.tolerance.rtol, options.tolerance.atol)
    reason = ""
    for number, original in enumerate(_originals(conversion)):
        model = _model_of(original, options)
        with usual_runs(model, conversion.result, options.samples, _file_of(original, options)) as (result, runs):
            if not isinstance(runs, str):
                _note_repairs(conversion, number, reason)
                return verify_in(target_of_options(options), result, runs, bounds)
        reason = reason or runs
    raise CompareError(f"the result cannot be verified with {options.verify_with}: {reason}")


def _originals(conversion: _Conversion) -> list[Snapshot]:
    """The models to compare the result with: the model as it was read, and behind its repairs where that one does not run."""
    return [original for original in (conversion.original, conversion.repaired) if original is not None]


def _model_of(original: Snapshot, options: Options) -> Model:
    """`original`, in the opset that the user says it has."""
    skeleton = original.skeleton()
    if options.assume_opset is not None:
        stamp(skeleton.proto, options.assume_opset)
    return Model(skeleton, constants_as_initializers=False, semantics=options.semantics)


def _file_of(original: Snapshot, options: Options) -> Path | None:
    """The file with exactly this model, of the opset that the user says it has; None where there is none."""
    return original.path if options.assume_opset is None else None


def _note_repairs(conversion: _Conversion, number: int, reason: str) -> None:
    """Say in the report that the comparison starts behind the repairs, which is at the original with this `number` if not 0."""
    if number:
        repairs = "; ".join(dict.fromkeys(remark.message for remark in conversion.repairs))
        message = f"as it was read it does not run ({reason}), so that the comparison starts behind its repairs: {repairs}"
        conversion.report.remarks.append(Remark("warning", "Model", conversion.result.proto.graph.name, "as it was read", message))


def _compare(
    conversion: _Conversion, how: Literal["auto", "model", "nodes", "required"], options: Options, written: Path | None = None
) -> Comparison:
    """Compare the result with the original. `written` is the file with the result, if there is one.

    Raises CompareError where the models differ, or where a comparison was required and is not possible.
    """
    from ..comparison import verification  # a third of our own imports, and not needed where nothing is compared

    inexact, sums = conversion.report.inexact, conversion.report.sums
    like_bfloat16 = UNROUNDED in inexact
    tolerance = replace(options.tolerance, inexact=bool(inexact), sums=sums or like_bfloat16, like_bfloat16=like_bfloat16)
    warned = any(remark.kind == "warning" for remark in conversion.report.remarks)  # perhaps of sizes at which the result fails
    settings = verification.Settings(
        how, options.runtime, options.samples, tolerance, options.declare, options.overwrite_input_shapes, edges=not warned
    )
    found: list[Comparison] = []
    for original in _originals(conversion):
        files = verification.Files(_file_of(original, options), written)
        originals = verification.Originals(_model_of(original, options), conversion.specialized)
        found.append(verification.verify(originals, conversion.result, conversion.aliases, settings, files))
        if found[-1].status in ("equal", "different"):
            break
    comparison = found[-1] if found[-1].status != "not compared" else found[0]
    _note_repairs(conversion, found.index(comparison), found[0].reason)
    if comparison.status == "different":
        raise CompareError(f"outputs differ ({comparison.runtime}): {comparison.reason}")
    if comparison.status != "equal" and how == "required":
        raise CompareError(f"the result could not be compared: {comparison.reason}")
    return comparison
