"""Runs single rules on nodes, as the user's selection allows, and notes what they changed."""

from __future__ import annotations

from typing import NoReturn

from ..errors import ArgumentError, NotSimplified, Unconvertible, in_one_line, listed
from ..graph.editing import Caution
from ..graph.model import Model
from ..opsets.ambiguity import odd_flag
from ..opsets.type_protos import Shape
from ..structure import declarations
from .failures import OF_THE_CALL, WHATEVER_A_CALLER_RAISES, raise_mistake_of_caller
from .forms import mistake_in, mistake_in_reads, mistake_in_types
from .notes import Notes
from .operands import make_vectors
from .registry import Rule
from .selection import Selection
from .task import Task


class RuleUse:
    """The use of rules on the nodes of `model`. `at_work` is the name of the rule or mechanism that was started last."""

    def __init__(self, model: Model, selection: Selection, notes: Notes) -> None:
        self._model = model
        self._selection = selection
        self._notes = notes
        self.at_work = ""
        self._is_of_caller = False
        """Whether the rule that ran last is the caller's."""

    def require(self, name: str) -> None:
        """Raises Unconvertible where the user excluded the rule `name`."""
        if not self._selection.allows(name):
            raise _excluded(name)

    def apply(self, rule: Rule, node: Task, *, needed: bool = True) -> bool:
        """Run the rule; True if it changed the node. `needed`: whether the target asks for the change, or another change does.

        An excluded rule is run too, to see whether it is needed: if so, the node is refused.
        """
        before, node.changed = node.changed, False
        op_type = node.op_type
        node.begin_rule(rule.written_for)
        self._model.sizes_relied_on.clear()
        odd = odd_flag(node.proto)
        self.at_work = rule.name
        self._is_of_caller = rule.of_caller
        if rule.kind in ("upgrade", "downgrade", "decompose"):
            make_vectors(node)
        try:
            self._run(rule, node)
        except (NotSimplified, Unconvertible) as refusal:
            if rule.kind == "simplify" and node.changed:
                self._raise_half_done(rule, node, refusal)
            node.changed |= before
            raise
        if node.changed and odd:
            advice = f"set {odd.partition('=')[0]} to 0 or 1"
            raise Unconvertible(f"{odd} is neither 0 nor 1, which the specification gives no meaning", advice)
        if node.changed:
            node.cautions.extend([Caution(_reliance(name, shape)) for name, shape in self._model.sizes_relied_on.items()])
        for caution in node.cautions:
            self._notes.remark("empty" if caution.only_if_empty else "warning", node, caution.message, op_type)
        node.cautions.clear()
        changed = node.changed
        node.changed |= before
        if changed:
            self.require(rule.name)
            self._notes.change(rule.name, node, op_type, needed=needed)
            self._notes.outcome.of_numbers |= rule.kind == "of_numbers"
            self._notes.outcome.zeros |= rule.zeros
        if (changed and not rule.exact) or (node.changed and node.approximate):  # the last rule that changed it may be an exact one
            changes = self._notes.outcome.changes
            self._notes.outcome.inexact.add(rule.name if changed or not changes else changes[-1].rule)
            self._notes.outcome.sums |= rule.sums
            self._notes.outcome.steps |= rule.steps or node.rounds
        if node.changed:
            node.approximate = node.rounds = False
        return changed

    def raise_left_in_place(self, rule: Rule, op_type: str) -> NoReturn:
        """Raises an error: `rule` should have replaced a node of `op_type`, and left it."""
        if rule.of_caller:
            raise ArgumentError(f"rules: {rule.name} left its {op_type} in place")
        raise RuntimeError(f"{rule.name} left its {op_type} in place")

    def _raise_half_done(self, rule: Rule, node: Task, refusal: Exception) -> NoReturn:
        """Raises an error: `rule`, without which the model is right too, refused the node when it had changed it already."""
        what = f"{rule.name} changed {node.op_type} '{node.name}' before it refused it ({refusal})"
        if rule.of_caller:
            raise ArgumentError(f"rules: {what}; let it ask first, and change the node then")
        raise RuntimeError(what)

    def raise_endless(self, op_type: str) -> NoReturn:
        """Raises an error: the rules for a node of `op_type` would go on for ever."""
        if self._is_of_caller:
            raise ArgumentError(f"rules: those for {op_type} do not come to an end, the last of them {self.at_work}")
        raise RuntimeError(f"the rules for {op_type} do not come to an end")

    def _run(self, rule: Rule, node: Task) -> None:
        """Run the rule. Raises Unconvertible; ArgumentError where a rule of the caller fails, or writes what is not valid."""
        if not rule.of_caller:
            rule.apply(node)
            return
        before = {id(made) for made in node.results() if made is not node}
        read = [name for name in node.outputs if name and (node.graph.is_output(name) or node.graph.readers(name))]
        try:
            returned: object = rule.apply(node)
        except Unconvertible as refusal:
            refusal.reason, refusal.hint = in_one_line(str(refusal.reason)), in_one_line(str(refusal.hint or ""))
            raise
        except (NotSimplified, *OF_THE_CALL):
            raise
        except WHATEVER_A_CALLER_RAISES as error:
            raise_mistake_of_caller(rule.name, node, error)
        if returned is not None:
            kind = type(returned).__name__
            raise ArgumentError(f"rules: {rule.name} returns a {kind}; a rule edits its node, and returns nothing")
        is_between_forms = rule.kind in ("upgrade", "downgrade")  # and the engine still removes what only one of them has
        results = node.results() if node.changed else []
        outputs = {name for made in results for name in made.outputs}

        def is_defined(name: str) -> bool:
            return name in outputs or node.scope.find(node.scope.resolve(name)) is not None

        for made in results:
            if id(made) in before or (made is node and is_between_forms):
                continue
            mistake = (
                mistake_in(made.proto, made.opset)
                or mistake_in_reads(made.proto, is_defined)
                or mistake_in_types(made.proto, made.opset, made.type_string)
            )
            if mistake:
                raise ArgumentError(f"rules: {rule.name} wrote an invalid {made.op_type}: {mistake}")
        gone = [name for name in read if not is_defined(name)]
        if gone:
            raise ArgumentError(f"rules: {rule.name} left nothing that makes {listed(list(map(repr, gone)))}, which is read")


def _excluded(name: str) -> Unconvertible:
    """The refusal of a node that needs the rule `name`, which the user excluded."""
    return Unconvertible(f"rule {name} is needed here, and --only or --skip excludes it")


def _reliance(name: str, shape: Shape) -> str:
    return (
        f"the model declares the shape {declarations.show(shape)} for '{name}', and its rewrite relies on that although nothing "
        "else shows that it is right: with another shape the result would differ"
    )
