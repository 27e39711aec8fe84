"""The way of a model from input to output: read, check, convert, stamp, check again, compare, write."""

from __future__ import annotations

import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast, get_args

import onnx

from .. import rules as _rules  # noqa: F401 - importing the rules registers them
from . import arguments, child_call
from .bridge.opening import AnyModel, Opened, is_pattern, open_model
from .checks import validity
from .checks.repair import repair, tidy
from .comparison.loadable import not_loaded
from .comparison.tolerance import EXACT, Tolerance
from .engine import stamp
from .engine.conversion import MECHANISMS, Change, Engine, Outcome, Remark, Selection
from .engine.former_names import current_names
from .engine.reach import find_reach
from .engine.registry import RuleFunction, registry, replacements
from .engine.restrictions import UNRESTRICTED
from .errors import ArgumentError, Blocker, CheckError, CompareError, InvalidModelError, UnconvertibleError
from .graph import given_types, specialization
from .graph.model import Model, Semantics
from .graph.protos import DEFAULT_DOMAINS, GraphLike, default_opset, shown_name
from .graph.survey import Survey, all_graphs
from .opsets import inference
from .opsets.transitions import newest_opset
from .report.summary import Report
from .storage import NamedFile, check_apart, spooled, stage
from .storage.skeleton import Skeleton

if TYPE_CHECKING:
    from onnxscript.rewriter import RewriteRule

    from .comparison.by_model import Comparison, Runtime
    from .comparison.samples import Samples
    from .comparison.verification import Verified
    from .runtimes.demands import Demands
    from .runtimes.running import Target

logging.getLogger("split_rewrite").addHandler(logging.NullHandler())  # who wants to read it says so
_log = logging.getLogger(__name__)

Comparing = Literal["auto", "model", "nodes", "required", "off"]
"""What is compared: "auto" whole models where they are small enough, else nodes; "model" whole models only; "nodes" nodes only;
"required" as "auto", but an error where that is impossible; "off" nothing.
"""


Announce = Callable[[Report, Path], None]
"""Called with the report of a conversion and the path of its result, while that is still a temporary file."""


@dataclass(frozen=True)
class Options:
    """What a caller may ask for beside the target; `assume_opset` overrules what the model says.

    `semantics` decides what nodes mean on which the specification and onnxruntime disagree (docs/semantics.md); None: such a
    node stays as it is, or the model is refused.

    Raises: TypeError and ArgumentError for values that are not possible.
    """

    assume_opset: int | None = None
    ir_version: int | None = None
    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    rules: Sequence[str | RuleFunction | RewriteRule] = ()
    """Rules of other packages: onnxscript RewriteRules (or a RewriteRuleSet), which are applied first, wherever they match; and for
    operators of other domains, functions that `replace` decorates, or names by which packages offer some.
    """
    strict: bool = False
    overwrite_input_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    declare: Mapping[str, str] = field(default_factory=dict)
    """Types of values that inference cannot know, as behind nodes of other domains: {"a": "float[N,64]"}."""
    runtime: Runtime = "auto"
    samples: Samples | None = None
    tolerance: Tolerance = EXACT
    external_data: str = "auto"
    for_runtimes: Sequence[str] = ()
    """Runtimes that the result is to be right for, as `--for` names them: they choose the target where none is given."""
    semantics: Semantics | None = None
    verify_with: str = ""
    """A runtime that is to give of the result what onnxruntime gives of the original: "openvino", or an adapter, "module:class"."""
    python: str = ""
    """The interpreter of the environment that has that runtime; default: this one."""

    def __post_init__(self) -> None:
        for name in ("assume_opset", "ir_version"):
            object.__setattr__(self, name, arguments.integer(name, getattr(self, name)))
        for name in ("only", "skip"):
            object.__setattr__(self, name, arguments.rule_names(name, getattr(self, name)))
        object.__setattr__(self, "rules", arguments.rules("rules", self.rules))
        fixed = arguments.shapes("overwrite_input_shapes", self.overwrite_input_shapes)
        object.__setattr__(self, "overwrite_input_shapes", fixed)
        object.__setattr__(self, "declare", arguments.texts("declare", self.declare))
        arguments.check_kind("strict", self.strict, bool, "True or False")
        self._check_how_to_run()
        arguments.check_kind("tolerance", self.tolerance, Tolerance, "a Tolerance")
        arguments.check_kind("external_data", self.external_data, str, "a str")
        object.__setattr__(self, "for_runtimes", arguments.runtime_names("for_runtimes", self.for_runtimes))
        _demands(self)  # a wrong name is told before the model is read
        for name in ("verify_with", "python"):
            arguments.check_kind(name, getattr(self, name), str, "a str")
        if self.python and not self.verify_with:
            raise ArgumentError("python: it is the environment of what verify_with names; name a runtime")
        if self.semantics is not None:
            arguments.check_choice("semantics", self.semantics, get_args(Semantics))

    def _check_how_to_run(self) -> None:
        """The comparison is imported where something is said about it: it is a third of our own imports."""
        if self.runtime != "auto":
            from .comparison.by_model import Runtime

            arguments.check_choice("runtime", self.runtime, get_args(Runtime))
        if self.samples is not None:
            from .comparison.samples import Samples

            arguments.check_kind("samples", self.samples, Samples, "Samples or None")


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
    """As `convert_version` at the model's own opset: dissolve sequences and fold constant Splits, nothing else."""
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


def checked(target_opset: object, compare: object, options: object) -> tuple[int | None, Options]:
    """The target and the options, once they and `compare` are known to be possible. Raises: TypeError, ArgumentError."""
    arguments.check_choice("compare", compare, get_args(Comparing))
    if options is not None:
        arguments.check_kind("options", options, Options, "Options or None")
    target = arguments.integer("target_opset", target_opset)
    if target is not None:
        validity.check_target(target)
    chosen = cast("Options | None", options) or Options()
    if chosen.verify_with:
        _target(chosen).require()
    return target, chosen


def _duplicate(skeleton: Skeleton) -> Skeleton:
    copy = onnx.ModelProto()
    copy.CopyFrom(skeleton.proto)
    return Skeleton(copy, skeleton.file, skeleton.base_dir, skeleton.locations)


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
        report = _repaired(opening, lambda opened, repairs: _dry_run(opened.skeleton, target, options, repairs))
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


def _repaired(opening: Callable[[], Opened], work: Callable[[Opened, Sequence[Remark]], _T]) -> _T:
    """What `work` makes of the model; of one that is not valid, what it makes of it with the repairs that it gets, if any helps."""
    child_call.prepare()
    try:
        return work(opening(), ())
    except InvalidModelError as error:
        opened = opening()
        repairs = repair(opened.skeleton, str(error))
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
    job = _Job(skeleton, target, options, repairs)
    job.check_input()
    job.apply_patterns()
    trouble = job.aim(target)

    def dry_run(opset: int | None) -> Outcome:
        if opset not in outcomes:
            copy, outcome = job.try_at(opset)
            outcomes[opset] = outcome
            if outcome.warnings and not outcome.blockers:
                if job.source is not None and opset is not None:
                    _stamp(copy.proto, all_graphs(copy.proto), job.source, opset)
                outcome.blockers = job.check_result(copy, outcome)
        return outcomes[opset]

    outcomes: dict[int | None, Outcome] = {}
    outcome = dry_run(job.target)
    outcome.remarks += trouble
    report = job.report(outcome)
    report.not_loaded = job.not_loaded()
    report.blockers = _blockers(outcome, options.strict, job.repairs)
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


def _convert(opening: Callable[[], Opened], target: int | None, options: Options, compare: Comparing) -> tuple[Opened, _Conversion]:
    """The model that `opening` gives, converted in place. Raises where a node cannot be converted, or a check fails."""

    def work(opened: Opened, repairs: Sequence[Remark]) -> tuple[Opened, _Conversion]:
        keeps = compare != "off" or bool(options.verify_with)
        conversion = _convert_skeleton(opened.skeleton, target, options, repairs, keep_original=keeps)
        if repairs and conversion.original is not None and opened.skeleton.path is None:
            conversion = conversion._replace(as_given=opening().skeleton)
        return opened, conversion

    return _repaired(opening, work)


def _convert_skeleton(
    skeleton: Skeleton, target: int | None, options: Options, repairs: Sequence[Remark], *, keep_original: bool
) -> _Conversion:
    job = _Job(skeleton, target, options, repairs)
    original = None
    if keep_original:
        original = job.model_of(_duplicate(skeleton), job.source)
    job.check_input()
    job.apply_patterns()
    job.aim(target)
    outcome = job.run(job.model, job.target)
    blockers = _blockers(outcome, options.strict, job.repairs)
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
    report.checked = f"onnx.checker {onnx.__version__}, full check"
    return _Conversion(report, skeleton, original, job.model.replaced, None)


class _Job:
    """One model and what is asked for it, validated."""

    def __init__(self, skeleton: Skeleton, target: int | None, options: Options, repairs: Sequence[Remark]) -> None:
        _require_rules((*options.only, *options.skip))
        self._options = options
        self._demands = _demands(options)
        self._skeleton = skeleton
        self._patterns = [rule for rule in options.rules if is_pattern(rule)]
        self._written: list[Change] = []
        self._replacements = replacements([rule for rule in options.rules if not is_pattern(rule)])
        self._proto = skeleton.proto
        survey = Survey(self._proto)
        self.repairs = [*repairs, *tidy(self._proto, survey.graphs)]
        """What was wrong with the model, and is not any more."""
        if options.assume_opset is not None:
            stamp.stamp(self._proto, options.assume_opset)
        self.source = _source_opset(self._proto)
        self.target = self.source if target is None else target
        if self.source is not None:
            validity.check_source(self.source)
        self._source_ir = self._proto.ir_version
        _require_known_parts(self._proto)
        if options.declare:
            given_types.declare_types(self._proto, options.declare, self.model_of(skeleton, self.target).derived())
        if options.overwrite_input_shapes:
            self._fix_inputs(skeleton, options.overwrite_input_shapes)
        self.model = self.model_of(skeleton, self.target, survey=survey)
        self._operators = survey.operators

    def _fix_inputs(self, skeleton: Skeleton, shapes: Mapping[str, Sequence[int]]) -> None:
        sizes = given_types.overwrite_input_shapes(self._proto, shapes)
        given_types.write_sizes(self._proto, sizes, self.model_of(skeleton, self.target).derived())

    def model_of(self, skeleton: Skeleton, target: int | None, like: Model | None = None, survey: Survey | None = None) -> Model:
        may_add = _may_add_initializers(skeleton.proto, self.source, target)
        semantics = self._options.semantics
        return Model(skeleton, constants_as_initializers=may_add, like=like, semantics=semantics, survey=survey)

    def try_at(self, opset: int | None) -> tuple[Skeleton, Outcome]:
        """A copy of the model taken to `opset`, and how that went."""
        copy = _duplicate(self._skeleton)
        return copy, self.run(self.model_of(copy, opset, like=self.model), opset)

    def aim(self, target: int | None) -> list[Remark]:
        """Choose the opset that the runtimes want, unless `target` is given: the first without blockers, else with the fewest.

        Returns what is wrong for them with nodes of the model as it is, if that is why its opset does not stay.
        """
        if self._demands is None or self.source is None:
            return []
        if target is not None:
            self._demands.require_opset(target)
            return []
        blocked: dict[int, list[Blocker]] = {}
        for opset in self._demands.candidates(self.source):
            blocked[opset] = self.try_at(opset)[1].blockers
            if not blocked[opset]:
                break
        self.target = min(blocked, key=lambda opset: len(blocked[opset]))
        self.model = self.model_of(self._skeleton, self.target)
        trouble = blocked.get(self.source, []) if self.target != self.source else []
        return [Remark("avoided", b.op_type, b.node, b.where, f"{b.reason}; not at opset {self.target}") for b in trouble]

    def check_input(self) -> None:
        validity.check_input(self.model, self.target)

    def apply_patterns(self) -> None:
        """Apply the RewriteRules among the user's rules. Raises: ArgumentError where one fails, or what they leave is not valid."""
        if not self._patterns:
            return
        from .bridge.patterns import apply_patterns  # imports onnxscript

        written = apply_patterns(self._skeleton, self._patterns)
        self._written = [Change(f"onnxscript.{rule}", node.op_type, shown_name(node), "onnxscript") for rule, node in written]
        self.model = self.model_of(self._skeleton, self.target)
        try:
            self.check_input()
        except InvalidModelError as error:
            raise ArgumentError(f"rules: what the onnxscript rules leave is not valid: {error}") from error

    def run(self, model: Model, target: int | None) -> Outcome:
        """Convert `model` to `target`; where its functions are in the way, with as many of them made definite as that takes."""
        before = _duplicate(model.skeleton) if model.proto.functions else None
        outcome = self._run_once(model, target)
        if before is None or not outcome.blockers:
            return outcome
        blocked = {
            specialization.key_of(scope.graph)
            for scope in model.functions
            if isinstance(scope.graph, onnx.FunctionProto) and any(blocker.is_within(scope.where) for blocker in outcome.blockers)
        }
        for by_types in (False, True):
            attempt = _duplicate(before)
            if not blocked or not specialization.specialize(attempt.proto, blocked, model.inferred, by_types=by_types):
                continue
            definite = self.model_of(attempt, target)
            found = self._run_once(definite, target)
            if not found.blockers:
                model.skeleton.proto.CopyFrom(attempt.proto)
                self.model = definite if model is self.model else self.model
                return found
        return outcome

    def _run_once(self, model: Model, target: int | None) -> Outcome:
        with validity.names_explained(model.survey.graphs):
            selection = Selection(current_names(self._options.only), current_names(self._options.skip))
            restrictions = UNRESTRICTED if self._demands is None else self._demands.restrictions
            return Engine(model, target, registry, selection, restrictions, self._replacements).run()

    def stamp(self) -> Counter[str]:
        """Write the versions into the model; returns how often each operator is in it now."""
        survey = Survey(self._proto, self.model.main.labels)
        if self.source is not None and self.target is not None:
            _stamp(self._proto, survey.graphs, self.source, self.target)
            self._stamp_ir_version(survey.graphs, self.source, self.target)
        return survey.operators

    def _stamp_ir_version(self, graphs: Sequence[GraphLike], source: int, target: int) -> None:
        wanted, highest = self._options.ir_version, None if self._demands is None else self._demands.ir_max
        try:
            self._proto.ir_version = stamp.chosen_ir_version(self._proto, graphs, source, target, wanted, highest)
        except ValueError as error:
            raise ArgumentError(str(error)) from None

    def check_result(self, skeleton: Skeleton, outcome: Outcome) -> list[Blocker]:
        """Raises as `check.check_result`, except where there were warnings: returns them then.

        They say that the target means something else, as a smaller output; then the model declares what was meant before.
        """
        result = skeleton.checkable()
        if result == self.model.original:
            return []
        try:
            validity.check_result(result, self.model.original)
        except CheckError:
            if not outcome.warnings:
                raise
            hint = "correct the shapes that the model declares: they contradict it"
            return [remark.as_blocker(hint) for remark in outcome.warnings]
        return []

    def not_loaded(self) -> str:
        """A warning where the model goes up to an opset that the installed onnxruntime does not load, else ""."""
        goes_up = self.source is not None and self.target is not None and self.target > self.source
        return not_loaded(self.target) if goes_up else ""

    def report(self, outcome: Outcome) -> Report:
        return Report(
            source_opset=self.source,
            target_opset=self.target,
            source_ir_version=self._source_ir,
            ir_version=self._source_ir,
            operators_before=self._operators,
            changes=[*self._written, *outcome.changes],
            rewrites=outcome.rewrites,
            inexact=outcome.inexact | {change.rule for change in self._written},
            remarks=[*self.repairs, *outcome.remarks],
            runtimes="" if self._demands is None else self._demands.titles,
        )


def _demands(options: Options) -> Demands | None:
    if not options.for_runtimes:
        return None
    from .runtimes.demands import demands_of  # reads the profiles of all runtimes

    return demands_of(options.for_runtimes)


def _source_opset(proto: onnx.ModelProto) -> int | None:
    """The opset that the model declares. Raises InvalidModelError where it declares two."""
    declared = {entry.version for entry in proto.opset_import if entry.domain in DEFAULT_DOMAINS}
    if len(declared) > 1:
        raise InvalidModelError(f"the model imports the default domain twice, as opset {' and '.join(map(str, sorted(declared)))}")
    return default_opset(proto.opset_import)


def _require_known_parts(proto: onnx.ModelProto) -> None:
    """Raises InvalidModelError for the rare parts of a model that no rule looks into."""
    if proto.training_info:
        raise InvalidModelError("the model has training_info, which is not converted; remove it (inference does not need it)")
    for function in proto.functions:
        if function.domain in DEFAULT_DOMAINS:
            raise InvalidModelError(
                f"the local function '{function.name}' redefines an operator of ONNX's own domain; give it another domain"
            )


def _require_rules(names: Iterable[str]) -> None:
    known = {rule.name for rule in registry}
    modules = {name.partition(".")[0] for name in known} | MECHANISMS.keys()
    for name in names:
        is_mechanism = name.partition(".")[0] in MECHANISMS
        if not is_mechanism and current_names([name]).isdisjoint(known | modules):
            raise ArgumentError(f"there is no rule '{name}': --list-rules shows all")


def _may_add_initializers(proto: onnx.ModelProto, source: int | None, target: int | None) -> bool:
    """Initializers that are no inputs came with IR 4: not below it, nor in a model that will be stamped lower."""
    if source is None or target is None or target >= source:
        return proto.ir_version >= 4
    return proto.ir_version >= 4 and stamp.ir_version_of(target) >= 4


def _blockers(outcome: Outcome, strict: bool, repairs: Sequence[Remark]) -> list[Blocker]:
    """What stops the conversion; with `strict`, warnings and `repairs` do."""
    warnings = [*repairs, *outcome.warnings] if strict else []
    return outcome.blockers or [remark.as_blocker("without --strict this is a warning") for remark in warnings]


def _stamp(proto: onnx.ModelProto, graphs: Sequence[GraphLike], source: int, target: int) -> None:
    """Let `proto`, whose `graphs` are in the form of `target` by now, say so."""
    stamp.stamp(proto, target)
    if target < 6 and target != source:
        for graph in graphs:
            if isinstance(graph, onnx.GraphProto):
                inference.state_cast_types(graph)


def _judge(conversion: _Conversion, how: Comparing, options: Options, written: Path | None = None) -> None:
    """Compare and verify the result as it is asked for, into the report. `written` is the file that the result is in, if any is.

    Raises: CompareError.
    """
    if how != "off":
        conversion.report.comparison = _compare(conversion, how, options, written)
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
        return verify_in(_target(options), result, runs, bounds)


def _target(options: Options) -> Target:
    from .runtimes.verifying import target_of  # imports the comparison and the profiles

    return target_of(options.verify_with, options.python)


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
    inexact = conversion.report.inexact
    sums = any(rule.sums and rule.name in inexact for rule in registry)
    tolerance = replace(options.tolerance, inexact=bool(inexact), sums=sums)
    settings = verification.Settings(how, options.runtime, options.samples, tolerance)
    with _original_file(conversion, options) as as_read:
        files = verification.Files(as_read, written)
        comparison = verification.verify(conversion.original, conversion.result, conversion.aliases, settings, files)
    if comparison.status == "different":
        raise CompareError(f"outputs differ ({comparison.runtime}): {comparison.reason}")
    if comparison.status != "equal" and how == "required":
        raise CompareError(f"the result could not be compared: {comparison.reason}")
    return comparison
