"""Converts the nodes of a prepared model; where its functions are an obstacle, again with functions specialized or inlined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import onnx

from ...rules import static
from ..engine import stamp
from ..engine.conversion import Engine
from ..engine.fitting import Plans
from ..engine.narrow_types import FLOAT32_FOR_BFLOAT16, Wishes, widen_types
from ..engine.outcome import Outcome
from ..engine.registry import functions_in, registry, rules_of
from ..engine.restrictions import UNRESTRICTED
from ..engine.selection import Selection
from ..errors import Blocker
from ..execution.channel_block import block_of_processor
from ..graph.model import Model
from ..opsets.facts import GRAPH_HOLDERS
from ..storage.skeleton import Skeleton
from ..structure import specialization
from ..structure.survey import Survey
from ..structure.text_names import names_explained
from .ml_opset import versions_to_write, write_versions
from .open_shapes import open_shapes
from .options import Options, joining_rules, own_rules

if TYPE_CHECKING:
    from ..runtimes.demands import Demands


class Converted(NamedTuple):
    """A model whose nodes have been converted."""

    outcome: Outcome
    model: Model
    """The model, with what is known of the types in the result."""
    specialized: Skeleton | None = None
    """The model as it was before, with those functions specialized or inlined that are so in the result; None for none."""


class Attempts:
    """The attempts to convert a model that had opset `source`, under the user's options and the demands of runtimes."""

    def __init__(self, source: int | None, options: Options, demands: Demands | None) -> None:
        self._source = source
        self._options = options
        self._demands = demands
        self._selection = Selection.of(options.only, options.skip, options.minimal)
        own = own_rules(options, demands)
        self.registry = registry.extended(own)
        """The rules of this package, and before them those of the caller."""
        restrictions = UNRESTRICTED if demands is None else demands.restrictions
        self._restrictions = replace(restrictions, only_onnx=options.standard).avoiding(
            rule for rule in own if rule.kind == "avoid"
        )
        self._plans: defaultdict[tuple[int | None, bool], Plans] = defaultdict(Plans)
        """How nodes are written for lists of operators, by target and by whether nothing is simplified."""
        self._wishes = Wishes(FLOAT32_FOR_BFLOAT16 in options.allow, options.unpack_at_run_time)

    def model_of(self, skeleton: Skeleton, target: int | None, like: Model | None = None, survey: Survey | None = None) -> Model:
        """The Model for converting `skeleton` to `target`. `like` and `survey` are as for `Model`."""
        may_add = _may_add_initializers(skeleton.proto, self._source, target)
        semantics = self._options.semantics
        vouched = frozenset(self._options.declare or ())
        model = Model(skeleton, constants_as_initializers=may_add, like=like, semantics=semantics, survey=survey, vouched=vouched)
        model.block_of_processor = block_of_processor
        model.domain_targets = versions_to_write(skeleton.proto, self._options.ml_opset, self._demands)
        return model

    def convert(self, model: Model, target: int | None) -> Converted:
        """Convert `model` to `target`, in place.

        Where nothing is to be changed that need not be, and a node cannot be converted so, the model is simplified after all.
        Functions that the conversion may change get values for their parameters first. If functions are an obstacle then, the
        conversion is tried again with functions that are specialized by the types of their inputs, and then without them.
        """
        if not self._selection.is_minimal:
            return self._convert(model, target)
        before = duplicate(model.skeleton)
        found = self._convert(model, target)
        if not found.outcome.blockers:
            return found
        model.skeleton.proto.CopyFrom(before.proto)
        minimal, self._selection = self._selection, self._selection._replace(is_minimal=False)
        try:
            return self._convert(self.model_of(model.skeleton, target), target)
        finally:
            self._selection = minimal  # another opset may do without

    def _convert(self, model: Model, target: int | None) -> Converted:
        before = duplicate(model.skeleton) if model.proto.functions else None
        specialized = None
        if self._bind_parameters(model, target):
            model = self._reread(model, target)
            specialized = before = duplicate(model.skeleton)
        outcome, converted = self._convert_once(model, target)
        is_enough = self._selection.is_minimal and not outcome.blockers
        for attempt in () if before is None or is_enough else self._definite(before, model, outcome):
            tried = duplicate(attempt)
            found, converted_definite = self._convert_once(self.model_of(attempt, target), target)
            if not found.blockers and (outcome.blockers or _lists_in(attempt.proto) < _lists_in(model.proto)):
                model.skeleton.proto.CopyFrom(attempt.proto)
                return Converted(found, converted_definite, tried)
        return Converted(outcome, converted, specialized)

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
        plans = self._plans[target, self._selection.is_minimal]
        return Engine(model, target, self.registry, self._selection, self._restrictions, plans)

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

    def _convert_once(self, model: Model, target: int | None) -> tuple[Outcome, Model]:
        """Convert `model` once. Returns the outcome, and a Model that knows the types in the result."""
        with names_explained(model.survey.graphs):
            earlier: list[Outcome] = []
            for first in (self._write_out_bodies, self._replace_foreign, self._widen_types, self._join_pieces):
                found = first(model, target)
                if found is None:
                    continue
                if found.blockers:
                    return found, model
                earlier.append(found)
                model = self._reread(model, target)
            outcome = self._engine(model, target).run()
            outcome.blockers += self._functions_not_taken(model)
            outcome.blockers += open_shapes(model) if self._options.static else []
            outcome.blockers += () if self._demands is None else self._demands.refused_interface(model.proto.graph)
            for found in reversed(earlier):
                outcome = found.followed_by(outcome)
            outcome.changes += write_versions(model.proto, model.domain_targets)
            return outcome, model

    def _write_out_bodies(self, model: Model, target: int | None) -> Outcome | None:
        """Write out the bodies that are known to run, for `static`, at the model's own opset; None where there are none.

        Only after that can rules see which of their values are read once.
        """
        if not self._options.static or GRAPH_HOLDERS.isdisjoint(model.survey.operators):
            return None
        rules = registry.extended(rules_of(functions_in(static)))
        return Engine(model, None, rules, self._selection, UNRESTRICTED).run()

    def _replace_foreign(self, model: Model, target: int | None) -> Outcome | None:
        """Replace operators of other domains at the model's own opset, before a conversion down; None where there is nothing to do.

        Only after that can inference find the types of their results, which rules for older opsets may need.
        """
        goes_down = target is not None and self._source is not None and target < self._source
        if not goes_down or model.survey.operators.keys().isdisjoint(self.registry.replaced):
            return None
        return Engine(model, None, self.registry, self._selection, UNRESTRICTED).run()

    def _widen_types(self, model: Model, target: int | None) -> Outcome | None:
        """Replace types that the target or a runtime lacks; None where there is nothing to do."""
        if target is None:
            return None
        return widen_types(model, target, self.registry, self._selection, self._wishes, self._restrictions.types)

    def _join_pieces(self, model: Model, target: int | None) -> Outcome | None:
        """Convert to a newer or the same opset, and join the pieces of operators that a list allows and whose pieces it does not;
        None where there is nothing to do.

        This comes before the list is asked: it would refuse the first of the pieces before a rule meets the last of them.
        """
        rules = joining_rules(self._demands, model.survey.operators)
        if not rules or target is None or self._source is None or target < self._source:
            return None
        found = Engine(model, target, self.registry.extended(rules), self._selection, UNRESTRICTED).run()
        if not found.blockers:
            stamp.stamp(model.proto, target)
        return found

    def _functions_not_taken(self, model: Model) -> list[Blocker]:
        """Blockers for functions that could not be inlined although a runtime accepts no functions."""
        whose = "" if self._demands is None else self._demands.without_functions
        reason = f"{whose} does not take local functions, and this one is of another opset than the model, or cannot be inlined"
        functions = model.proto.functions if whose else ()
        return [Blocker("function", f.name, f"function {f.name}", "", reason, "inline it before converting") for f in functions]

    def _reread(self, model: Model, target: int | None) -> Model:
        """A new Model for the changed skeleton of `model`. Values that were found to be equal stay so."""
        changed = self.model_of(model.skeleton, target)
        changed.aliases.update(model.replaced)
        return changed


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


def duplicate(skeleton: Skeleton) -> Skeleton:
    """A copy of the skeleton that shares nothing with it but the payloads on disk."""
    copy = onnx.ModelProto()
    copy.CopyFrom(skeleton.proto)
    return Skeleton(copy, skeleton.file, skeleton.base_dir, skeleton.locations)
