"""Takes a node through single steps from version to version: by a rule, by what the schemas imply, or by ONNX's function body."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import Unconvertible
from ..onnx_model.protos import label_of
from ..opsets import defects, facts, transitions
from ..opsets.transitions import OpSchema, Transition, schema_at
from . import between_casts
from .notes import Notes
from .registry import Registry
from .routes import Routes, Step
from .rule_use import RuleUse
from .selection import Selection
from .task import Task


class Steps:
    """The version steps of the nodes of one model."""

    def __init__(self, registry: Registry, selection: Selection, routes: Routes, rules: RuleUse, notes: Notes) -> None:
        self._registry = registry
        self._selection = selection
        self._routes = routes
        self._rules = rules
        self._notes = notes

    def take(self, node: Task, step: Step) -> None:
        """Take one version step: apply the rule if there is one, then check what the two schemas require."""
        transition = step.transition
        if transition.older is None:
            self._decompose(node, transition)
            return
        self._rules.at_work = f"steps.{transition.op_type}"
        if step.refusal is not None:
            raise Unconvertible(step.refusal.reason, step.refusal.hint)
        opset = node.opset
        if step.rule is not None:
            self._rules.apply(step.rule, node)
            if node.removed or label_of(node.proto) != transition.op_type or node.opset not in (opset, transition.opset_after):
                return  # gone, or on another chain now
            node.opset = opset
        try:
            self._gate(node, step)
        except Unconvertible as refusal:
            if step.rule is None or not step.rule.of_caller:
                raise
            raise Unconvertible(f"{refusal.reason}, and {step.rule.name} left it there", refusal.hint) from None
        node.opset = transition.opset_after

    def _gate(self, node: Task, step: Step) -> None:
        """Check what the schemas say about the step, attributes, number of inputs and outputs, and types,
        and adapt the node where possible.
        """
        delta, transition = step.transition.delta, step.transition
        if step.gates_form:
            node.changed |= delta.gate_attributes(node.proto, transition.review or "")
            delta.gate_arity(node.proto)
        if not step.gates_types:
            return
        wrong = delta.wrong_types(node.proto, node.type_string)
        if wrong:
            self._put_between_casts(node, wrong, delta.target, transition.opset_after)

    def gate_written(self, node: Task, target: int) -> None:
        """Check the types of a node that a rule wrote, and adapt the node where possible: the operator may not accept the types of
        this model.

        On the way up, the node may have the form of an opset that does not accept them yet, while a later one does. Raises
        Unconvertible where onnxruntime copies strings only in part.
        """
        if (
            "first_strings" in facts.of(node.op_type).names("ort-wrong")
            and node.type_string() == "tensor(string)"
            and defects.may_have_several(node.shape(), node.attr("axis", 0))
        ):
            raise Unconvertible(
                "it would take slices of strings, of which onnxruntime may copy only the first",
                "keep an opset that has the operator as it is",
            )
        opset = max(node.opset, transitions.form_opset(node.op_type, target))
        form = self._routes.form_that_refuses(node.op_type, opset)
        if form is None:
            return
        refused = form.refused_types(node.proto, node.type_string)
        if refused:
            self._put_between_casts(node, refused, form.target, opset)

    def widen(self, node: Task, takes: Callable[[str], bool]) -> bool:
        """Put Casts around a node that has types which a runtime does not take, so that it works in wider ones that it takes.

        `takes` is asked about element types, such as "int8". False where no other type is right.
        """
        kinds = {name: node.type_string(name) or "" for name in (*node.inputs, *node.outputs) if name}
        wrong = [name for name, kind in kinds.items() if kind.startswith("tensor(") and not takes(kind[7:-1])]
        schema = schema_at(node.op_type, node.opset)
        if not wrong or schema is None:
            return False
        try:
            self._put_between_casts(node, wrong, schema, node.opset, takes)
        except Unconvertible:
            return False
        return True

    def _put_between_casts(
        self, node: Task, wrong: list[str], schema: OpSchema, opset: int, takes: Callable[[str], bool] = between_casts.takes_all
    ) -> None:
        """Put Casts around the node, so that it works in types that `schema` accepts and the runtime takes.

        Raises Unconvertible where none fits.
        """
        node.begin_rule(opset)
        name = f"between_casts.{node.op_type}"
        self._rules.require(name)
        self._notes.change(name, node)
        self._rules.at_work = name
        if not between_casts.put_between_casts(node, wrong, schema, takes):
            self._notes.outcome.inexact.add(name)

    def _decompose(self, node: Task, step: Transition) -> None:
        """Replace an operator that is newer than the target: by its constant value, by a rule, or by ONNX's own function body."""
        node.begin_rule(node.opset)
        name = self._rules.at_work = f"expansion.{step.op_type}"
        if self._selection.allows("expansion.constant") and node.fold():
            self._notes.change("expansion.constant", node)
            return
        rule = self._registry.decomposition(step.op_type)
        if rule is not None:
            self._rules.require(rule.name)
            self._rules.apply(rule, node)
            if not node.removed and label_of(node.proto) == step.op_type:
                self._rules.raise_left_in_place(rule, step.op_type)
            return
        self._rules.require(name)
        exact = node.expand()
        self._notes.change(name, node)
        if not exact:
            self._notes.outcome.inexact.add(name)
