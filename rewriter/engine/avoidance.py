"""Avoids what the runtimes of the user refuse or compute wrongly, and refuses nodes that they do not take."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Unconvertible, Undecided
from ..opsets.transitions import schema_at
from .notes import Notes
from .outcome import Remark
from .registry import Registry
from .restrictions import Restrictions
from .routes import Route
from .rule_use import RuleUse
from .task import Task


class Avoidance:
    """The demands of runtimes on the nodes of one model."""

    def __init__(self, registry: Registry, restrictions: Restrictions, rules: RuleUse, notes: Notes) -> None:
        self._registry = registry
        self._restrictions = restrictions
        self._rules = rules
        self._notes = notes

    def avoid(self, node: Task, route: Route, tried: set[str]) -> bool:
        """Try each rule that avoids a form; True as soon as one changed the node. Rules in `tried` are not tried again.

        Raises Unconvertible, which names the runtime.
        """
        for rule in route.avoidances:
            if rule.form in tried:
                continue
            form = rule.form, node.op_type
            whose = self._restrictions.forms[form]
            try:
                changed = self._rules.apply(rule, node)
            except Unconvertible as refusal:
                if isinstance(refusal, Undecided) and form in self._restrictions.refused:
                    tried.add(rule.form)
                    self._notes.remark("warning", node, f"{whose}, if the node has that form: {refusal.reason}")
                    continue
                refusal.reason = f"{whose}: {refusal.reason}"
                raise
            if changed:
                tried.add(rule.form)
                if not node.removed:
                    node.scope.register(node.proto, node.opset)
                return True
        return False

    def require_taken(self, node: Task, route: Route) -> None:
        """Raises Unconvertible where a runtime does not accept the operator of the node, or does not accept it with these types."""
        if not route.is_restricted:
            return
        whose = self._restrictions.operators.get(node.op_type)
        if whose:
            hint = "change the model where it uses it, or choose another runtime"
            raise node.with_reason_to_stay(Unconvertible(f"{whose} does not support {node.op_type}", hint))
        schema = schema_at(node.op_type, node.target)
        version = 0 if schema is None else schema.since_version
        whose = self._restrictions.versions.get((node.op_type, version))
        if whose:
            raise Unconvertible(f"{whose} does not support {node.op_type} of opset {version}", "choose an older opset")
        for value in (*node.inputs, *node.outputs):
            name = _element(node.type_string(value))
            whose = self._restrictions.types.get(name)
            if whose:
                raise Unconvertible(f"{whose} does not support the type {name}", "cast the model to another type")

    def remarks(self) -> Iterator[Remark]:
        """A remark for each node that was rewritten because of a runtime."""
        whose_of: dict[tuple[str, str], str] = {}
        for (form, op_type), whose in self._restrictions.forms.items():
            whose_of.update(((rule.name, op_type), whose) for rule in self._registry.avoidances(op_type) if rule.form == form)
        for rule, op_type, node, where, _ in self._notes.outcome.changes if whose_of else ():
            if whose := whose_of.get((rule, op_type)):
                yield Remark("avoided", op_type, node, where, whose)


def _element(type_string: str | None) -> str:
    """The element type in a type string: "float" for "tensor(float)" and "seq(tensor(float))"; "" where the type is unknown."""
    return "" if type_string is None else type_string.rpartition("(")[2].rstrip(")")
