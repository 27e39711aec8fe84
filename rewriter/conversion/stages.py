"""One model together with the user's options: the single stages of a conversion, which the driver calls in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import onnx

from ... import rules as _rules  # noqa: F401 - importing the rules registers them
from ..checks import validity
from ..checks.function_calls import check_calls
from ..checks.repair import correct_outputs, tidy
from ..comparison.running.loadable import not_loaded
from ..engine import narrow_types, stamp
from ..engine.conversion import Engine
from ..engine.former_names import current_names
from ..engine.outcome import Change, Outcome, Remark
from ..engine.registry import registry
from ..engine.restrictions import UNRESTRICTED
from ..engine.selection import MECHANISMS, Selection
from ..errors import ArgumentError, Blocker, CheckError, InvalidModelError
from ..graph import given_types, inlining, specialization
from ..graph.declarations import show
from ..graph.model import Model
from ..graph.protos import DEFAULT_DOMAINS, GraphLike, default_opset, label_of, shown_name
from ..graph.survey import Survey
from ..opsets import inference
from ..report.summary import Report
from ..storage.skeleton import Skeleton, Snapshot
from .options import Options, demands_of_options, patterns_of, replacements_of


class Job:
    """One model and the user's options, which have been checked."""

    def __init__(
        self, skeleton: Skeleton, target: int | None, options: Options, repairs: Sequence[Remark], *, keep_repaired: bool = False
    ) -> None:
        _require_rules((*options.only, *options.skip))
        self._options = options
        self._demands = demands_of_options(options)
        self._skeleton = skeleton
        self._patterns = patterns_of(options)
        self._prepared: list[Change] = []
        self._written: list[Change] = []
        self._replacements = replacements_of(options)
        self._proto = skeleton.proto
        survey = Survey(self._proto)
        self._operators = survey.operators
        self.repairs = [*repairs, *tidy(self._proto, survey.graphs)]
        """Remarks about mistakes in the model that have been repaired."""
        self.repaired = Snapshot(skeleton) if self.repairs and keep_repaired else None
        """The model behind its repairs; None where there are none, or where it is not kept."""
        self.corrected: list[Remark] = []
        """Remarks about outputs whose declaration contradicted the result. Either the declaration was wrong, or the result is."""
        if options.assume_opset is not None:
            self._prepared.append(Change("assume_opset", "model", self._proto.graph.name, f"opset {options.assume_opset}"))
            stamp.stamp(self._proto, options.assume_opset)
        self.source = _source_opset(self._proto)
        self.target = self.source if target is None else target
        if self.source is not None:
            validity.check_source(self.source)
        for function in self._proto.functions:
            validity.check_source(default_opset(function.opset_import) or 1, f"the function {function.name}")
        self.specialized: Skeleton | None = None
        """The model as it was before its last conversion, if functions were specialized or inlined for it."""
        self._source_ir = self._proto.ir_version
        _require_known_parts(self._proto)
        check_calls(self._proto)
        if self._proto.functions and self._demands is not None and self._demands.without_functions:
            self._inline_functions(survey)
            survey = Survey(self._proto)
        if options.declare:
            self._prepared += [Change("declare", "value", name, kind) for name, kind in options.declare.items()]
        if options.overwrite_input_shapes:
            shapes = options.overwrite_input_shapes
            self._prepared += [Change("overwrite_input_shape", "input", name, show(tuple(dims))) for name, dims in shapes.items()]
        given_types.state_types(skeleton, options.declare, options.overwrite_input_shapes)
        self.model = self.model_of(skeleton, self.target, survey=survey)

    def _inline_functions(self, survey: Survey) -> None:
        """Inline all local functions. Raises InvalidModelError where a call does not fit its function."""
        functions = set(map(inlining.key_of, self._proto.functions))
        calls = [node for node in inlining.nodes_within(self._proto.graph) if inlining.callee(node) in functions]
        self._prepared += [Change("inlining", label_of(node), shown_name(node), "main graph") for node in calls]
        with validity.names_explained(survey.graphs):
            inlining.inline(self._proto, functions)

    def model_of(self, skeleton: Skeleton, target: int | None, like: Model | None = None, survey: Survey | None = None) -> Model:
        may_add = _may_add_initializers(skeleton.proto, self.source, target)
        semantics = self._options.semantics
        vouched = frozenset(self._options.declare or ())
        return Model(skeleton, constants_as_initializers=may_add, like=like, semantics=semantics, survey=survey, vouched=vouched)

    def try_at(self, opset: int | None) -> tuple[Skeleton, Outcome]:
        """Convert a copy of the model to `opset`. Returns the copy and the outcome."""
        copy = duplicate(self._skeleton)
        return copy, self.run(self.model_of(copy, opset, like=self.model), opset)

    def aim(self, target: int | None) -> list[Remark]:
        """Choose the opset for the runtimes, unless `target` is given: the first one without blockers, else the one with the
        fewest.

        Returns a remark for each node that does not suit the runtimes at the model's own opset, if another opset is chosen.
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
        """Apply the user's RewriteRules. Raises: ArgumentError where a rule fails, or leaves a model that is not valid."""
        if not self._patterns:
            return
        from ..bridge.patterns import apply_patterns  # imports onnxscript

        written = apply_patterns(self._skeleton, self._patterns)
        self._written = [Change(f"onnxscript.{rule}", node.op_type, shown_name(node), "onnxscript") for rule, node in written]
        self.model = self.model_of(self._skeleton, self.target)
        try:
            self.check_input()
        except InvalidModelError as error:
            raise ArgumentError(f"rules: what the onnxscript rules leave is not valid: {error}") from error

    def run(self, model: Model, target: int | None) -> Outcome:
        """Convert `model` to `target`.

        Functions that the conversion may change get values for their parameters first. If functions are an obstacle then, the
        conversion is tried again with functions that are specialized by the types of their inputs, and then without them.
        """
        given, self.specialized = model, None
        before = duplicate(model.skeleton) if model.proto.functions else None
        if self._bind_parameters(model, target):
            model, before = self._reread(model, target), duplicate(model.skeleton)
            self.specialized = before
        outcome, converted = self._run_once(model, target)
        self.model = converted if given is self.model else self.model
        for attempt in () if before is None else self._definite(before, model, outcome):
            specialized = duplicate(attempt)
            found, converted_definite = self._run_once(self.model_of(attempt, target), target)
            if not found.blockers and (outcome.blockers or _lists_in(attempt.proto) < _lists_in(model.proto)):
                model.skeleton.proto.CopyFrom(attempt.proto)
                self.specialized = specialized
                self.model = converted_definite if converted is self.model else self.model
                return found
        return outcome

    def _bind_parameters(self, model: Model, target: int | None) -> bool:
        """Give values to the parameters of the functions of `model` that the conversion may change, and take from them the inputs
        that calls leave out. Returns whether there were any.

        What a parameter decides is known only at a call, and so is whether an input is there. So no rule, and nothing that knows
        types and values for the rules, sees a parameter, which would look like an absent attribute, or an absent input, which would
        look like a value.
        """
        if not specialization.depending_on_calls(model.proto):
            return False
        idle = self._engine(model, target).functions_that_may_change()
        return specialization.specialize(model.proto, idle.keys(), kept=idle)

    def _engine(self, model: Model, target: int | None) -> Engine:
        selection = Selection(current_names(self._options.only), current_names(self._options.skip))
        restrictions = UNRESTRICTED if self._demands is None else self._demands.restrictions
        return Engine(model, target, registry, selection, restrictions, self._replacements)

    def _definite(self, before: Skeleton, model: Model, outcome: Outcome) -> Iterator[Skeleton]:
        """Copies of `before`, which is `model` before the conversion, with functions specialized or inlined in which `outcome`
        has blockers.
        """
        attempt = duplicate(before)
        if _lists_in(model.proto) and specialization.inline_lists(attempt.proto, model.inferred_functions):
            yield attempt
        blocked = {
            specialization.key_of(scope.graph)
            for scope in model.functions
            if isinstance(scope.graph, onnx.FunctionProto) and any(blocker.is_within(scope.where) for blocker in outcome.blockers)
        }
        attempt = duplicate(before)
        if blocked and model.inferred is not None and specialization.specialize(attempt.proto, blocked, model.inferred):
            yield attempt
        attempt = duplicate(before)
        if blocked and specialization.inline_with_callers(attempt.proto, blocked):
            yield attempt

    @property
    def _wishes(self) -> narrow_types.Wishes:
        options = self._options
        return narrow_types.Wishes(narrow_types.FLOAT32_FOR_BFLOAT16 in options.allow, options.unpack_at_run_time)

    def _run_once(self, model: Model, target: int | None) -> tuple[Outcome, Model]:
        """Convert `model` once. Returns the outcome, and a Model that knows the types in the result."""
        with validity.names_explained(model.survey.graphs):
            selection = Selection(current_names(self._options.only), current_names(self._options.skip))
            restrictions = UNRESTRICTED if self._demands is None else self._demands.restrictions
            replaced = None
            if self._replaces_first(model, target):
                replaced = Engine(model, None, registry, selection, UNRESTRICTED, self._replacements).run()
                if replaced.blockers:
                    return replaced, model
                model = self._reread(model, target)
            widened = None
            if target is not None:
                widened = narrow_types.widen_types(model, target, registry, selection, self._wishes, restrictions.types)
            if widened is not None:
                if widened.blockers:
                    return widened, model
                model = self._reread(model, target)
            outcome = Engine(model, target, registry, selection, restrictions, self._replacements).run()
            outcome.blockers += self._functions_not_taken(model)
            for earlier in (widened, replaced):
                outcome = outcome if earlier is None else earlier.followed_by(outcome)
            return outcome, model

    def _functions_not_taken(self, model: Model) -> list[Blocker]:
        """Blockers for functions that could not be inlined although a runtime accepts no functions."""
        whose = "" if self._demands is None else self._demands.without_functions
        reason = f"{whose} does not take local functions, and this one is of another opset than the model, or cannot be inlined"
        functions = model.proto.functions if whose else ()
        return [Blocker("function", f.name, f"function {f.name}", "", reason, "inline it before converting") for f in functions]

    def _replaces_first(self, model: Model, target: int | None) -> bool:
        """Whether operators of other domains are replaced first, at the model's own opset, before the conversion down.

        Only after that can inference find the types of their results, which rules for older opsets may need.
        """
        goes_down = target is not None and self.source is not None and target < self.source
        return goes_down and not model.survey.operators.keys().isdisjoint(self._replacements)

    def _reread(self, model: Model, target: int | None) -> Model:
        """A new Model for the changed skeleton of `model`. Values that were found to be equal stay so."""
        changed = self.model_of(model.skeleton, target)
        changed.aliases.update(model.replaced)
        return changed

    def stamp(self) -> Counter[str]:
        """Write opset and IR version into the model. Returns the number of nodes of each operator."""
        survey = Survey(self._proto, self.model.main.labels)
        if self.source is not None and self.target is not None:
            state_opset(self._proto, survey.graphs, self.source, self.target)
            self._stamp_ir_version(survey.graphs, self.source, self.target)
        return survey.operators

    def _stamp_ir_version(self, graphs: Sequence[GraphLike], source: int, target: int) -> None:
        wanted, demands = self._options.ir_version, self._demands
        highest, runtimes = (None, "") if demands is None else (demands.ir_max, demands.titles_and_files)
        try:
            self._proto.ir_version = stamp.chosen_ir_version(self._proto, graphs, source, target, wanted, highest, runtimes)
        except ValueError as error:
            raise ArgumentError(str(error)) from None

    def check_result(self, skeleton: Skeleton, outcome: Outcome) -> list[Blocker]:
        """Check the result as `validity.check_result` does; but where the outcome has warnings, return these as blockers instead of
        raising.

        Such a warning says that the target gives the node another meaning, for example a smaller output, while the model still
        declares the old one. Without warnings, declared outputs whose shapes contradict the result are corrected in `skeleton` and
        noted in `corrected`.
        """
        result = skeleton.checkable()
        if result == self.model.original:
            return []
        try:
            validity.check_result(result, self.model.original)
        except CheckError as error:
            if outcome.warnings:
                hint = "choose another opset, or correct the shapes that the model declares if they are wrong"
                return [remark.as_blocker(hint) for remark in outcome.warnings]
            self.corrected = correct_outputs(skeleton, str(error))
            if not self.corrected:
                raise
            skeleton.seal()
            validity.check_result(skeleton.checkable(), self.model.original)
        return blockers_of(Outcome(), self._options.strict, self.corrected)

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
            changes=[*self._prepared, *self._written, *outcome.changes],
            rewrites=outcome.rewrites,
            inexact=outcome.inexact | {change.rule for change in self._written},
            sums=outcome.sums,
            remarks=[*self.repairs, *outcome.remarks],
            runtimes="" if self._demands is None else self._demands.titles,
        )


def _source_opset(proto: onnx.ModelProto) -> int | None:
    """The opset that the model declares. Raises InvalidModelError where it declares two."""
    declared = {entry.version for entry in proto.opset_import if entry.domain in DEFAULT_DOMAINS}
    if len(declared) > 1:
        raise InvalidModelError(f"the model imports the default domain twice, as opset {' and '.join(map(str, sorted(declared)))}")
    return default_opset(proto.opset_import)


def _require_known_parts(proto: onnx.ModelProto) -> None:
    """Raises InvalidModelError where the model has one of the rare parts that no rule looks into."""
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


def _lists_in(proto: onnx.ModelProto) -> int:
    """The number of nodes that make or read lists."""
    operators = Survey(proto).operators
    return sum(operators[name] for name in specialization.LIST_OPERATORS)


def _may_add_initializers(proto: onnx.ModelProto, source: int | None, target: int | None) -> bool:
    """Whether rules may add initializers that are not inputs.

    These came with IR 4, so they cannot be added to a model that is, or will be, below it.
    """
    if source is None or target is None or target >= source:
        return proto.ir_version >= 4
    return proto.ir_version >= 4 and stamp.ir_version_of(target) >= 4


def blockers_of(outcome: Outcome, strict: bool, repairs: Sequence[Remark]) -> list[Blocker]:
    """The blockers of the conversion; with `strict`, warnings and `repairs` count too."""
    warnings = [*repairs, *outcome.warnings] if strict else []
    return outcome.blockers or [remark.as_blocker("without --strict this is a warning") for remark in warnings]


def state_opset(proto: onnx.ModelProto, graphs: Sequence[GraphLike], source: int, target: int) -> None:
    """Declare opset `target` in `proto`, whose `graphs` are in the form of that opset already."""
    stamp.stamp(proto, target)
    if target < 6 and target != source:
        for graph in graphs:
            if isinstance(graph, onnx.GraphProto):
                inference.state_cast_types(graph)


def duplicate(skeleton: Skeleton) -> Skeleton:
    copy = onnx.ModelProto()
    copy.CopyFrom(skeleton.proto)
    return Skeleton(copy, skeleton.file, skeleton.base_dir, skeleton.locations)
