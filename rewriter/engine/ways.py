"""The ways to write a node in another form at the same opset, for a runtime whose list of operators does not allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..opsets import transitions
from .notes import Notes
from .registry import Kind, Registry, Way
from .routes import Routes
from .rule_use import RuleUse
from .selection import Selection
from .steps import Steps
from .task import Task
from .tidying import gives_its_input

VALUE = Way("expansion.constant")
"""The way of a node whose result is the same in every run: it is stored."""
_NOTHING = Way("expansion.left_out")


class Ways:
    """The ways to write the nodes of one model."""

    def __init__(
        self, registry: Registry, selection: Selection, routes: Routes, steps: Steps, rules: RuleUse, notes: Notes
    ) -> None:
        self._registry = registry
        self._selection = selection
        self._routes = routes
        self._steps = steps
        self._rules = rules
        self._notes = notes

    def of(self, node: Task) -> Iterator[Way]:
        """The ways to write the node."""
        return (way for way in self._all(node) if not self._selection.skips(way.name))

    def _all(self, node: Task) -> Iterator[Way]:
        if node.inputs:
            yield VALUE
        yield from (Way(rule.name, rule) for rule in self._registry.expressions(node.op_type))
        if _first_version(node.op_type) > 1:
            rule = self._registry.decomposition(node.op_type)
            yield Way(f"expansion.{node.op_type}" if rule is None else rule.name)

    def may_go(self, node: Task) -> bool:
        """Whether the node may be left out."""
        return gives_its_input(node) or self._registry.adaptation("of_numbers", node.op_type) is not None

    def may_change(self, node: Task) -> bool:
        """Whether a rule may rewrite the node before a form of it is sought: on the way to the target, or for a runtime."""
        route = self._routes.find(node.op_type, node.opset, node.scope.target, True)
        return route is not None and (route.step is not None or bool(route.avoidances) or bool(route.respellings))

    def respells(self, node: Task) -> bool:
        """Whether the conversion's options ask for rules that spell such a node otherwise, as `static` does."""
        return bool(self._registry.respellings(node.op_type))

    def is_avoidance(self, rule: str, op_type: str) -> bool:
        """Whether the rule called `rule` writes nodes of the operator for a runtime, whichever way they then take."""
        return any(each.name == rule for each in self._registry.avoidances(op_type))

    def go(self, way: Way, node: Task) -> bool:
        """Write the node in the form of `way`; False where it does not have that form. Raises Unconvertible."""
        node.lineage = (*node.lineage, way.name)
        if way == VALUE:
            return self._fold(node)
        if way.rule is not None:
            return self._rules.apply(way.rule, node)
        return self._write_older(node)

    def _fold(self, node: Task) -> bool:
        node.begin_rule(node.opset)
        if not (node.fold() or node.fold_roughly()):
            return False
        self._notes.change(VALUE.name, node)
        if node.approximate:
            self._notes.outcome.inexact.add(VALUE.name)
        node.approximate = False
        return True

    def store_operands(self, node: Task) -> bool:
        """Store the values of those operands that are computed and the same in every run; True where there were any."""
        found = [(index, value) for index in range(len(node.inputs)) if (value := _computed_constant(node, index)) is not None]
        node.begin_rule(node.opset)
        for index, value in found:
            node.set_input(index, node.op.const(value, value.dtype))
        if found:
            self._notes.change(VALUE.name, node)
        return bool(found)

    def leave_out(self, node: Task) -> bool:
        """Remove a node that gives its input unchanged; False where it does something, or makes an output of the graph."""
        if not gives_its_input(node) or node.graph.is_output(node.output(0)):
            return False
        node.begin_rule(node.opset)
        node.forward(0, node.input(0))
        node.remove()
        self._notes.change(_NOTHING.name, node)
        return True

    def merge_axes(self, node: Task) -> bool:
        """Write the node with fewer dimensions; False where no rule does."""
        return self._adapt("fewer_axes", node)

    def narrow(self, node: Task) -> bool:
        """Let the node work on int32 instead of int64; False where no rule does."""
        return self._adapt_and_cast_back("in_int32", node)

    def count_truths(self, node: Task) -> bool:
        """Let the node work on the floats 0 and 1 instead of bool; False where no rule does."""
        return self._adapt_and_cast_back("in_floats", node)

    def widen(self, node: Task, takes: Callable[[str], bool]) -> bool:
        """Let the node work in a wider type, between two Casts, of those about which `takes` says that they are taken; False where
        there is none.
        """
        return not self._selection.skips(f"between_casts.{node.op_type}") and self._steps.widen(node, takes)

    def _adapt_and_cast_back(self, kind: Kind, node: Task) -> bool:
        """Adapt the node, and mark the Casts behind it, which give what it gave before."""
        is_cast = node.op_type == "Cast"
        is_changed = self._adapt(kind, node)
        results = node.results()
        behind = results[results.index(node) + is_cast :] if is_changed and not node.removed else []
        for made in behind:
            made.casts_back = made.op_type == "Cast"
        return is_changed

    def assume_numbers(self, node: Task) -> bool:
        """Leave out what the node does for NaN and infinities; False where no rule does."""
        return self._adapt("of_numbers", node)

    def _adapt(self, kind: Kind, node: Task) -> bool:
        rule = self._registry.adaptation(kind, node.op_type)
        return rule is not None and not self._selection.skips(rule.name) and self._rules.apply(rule, node)

    def _write_older(self, node: Task) -> bool:
        """Take the node to the opset before its operator existed, as for a target of that opset. Others have the form for the
        target again.
        """
        op_type, before = node.op_type, _first_version(node.op_type) - 1
        while not node.removed and node.op_type == op_type:
            route = self._routes.find(op_type, node.opset, before, True)
            if route is None or route.step is None:
                return False
            self._steps.take(node, route.step)
        return True


def _computed_constant(node: Task, index: int) -> np.ndarray | None:
    """The value of an operand that other nodes compute from stored values alone; None for others."""
    maker = node.maker(index) if node.has_input(index) and node.graph.tensor(node.input(index)) is None else None
    value = None if maker is None or not maker.inputs else node.constant(index)
    return None if value is None or value.dtype == object else value


def _first_version(op_type: str) -> int:
    """The opset in which the operator came."""
    path = transitions.path(op_type, transitions.form_opset(op_type, transitions.newest_opset()), 1)
    return path[-1].newer if path and path[-1].older is None else 1
