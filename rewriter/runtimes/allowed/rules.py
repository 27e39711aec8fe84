"""The list of operators that a runtime allows, with its rules, and the judgement of one node by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ...graph.node import Node
from .findings import MET, Finding, against, all_of, any_of, negated
from .keys import Condition, IsStatic, OfRank, OfType
from .site import LAYOUT, Site

Otherwise = Literal["refuse", "fallback", "silent"]
"""What the runtime does with a node that is not allowed: refuse the model, run the node elsewhere, or compute something else."""


@dataclass(frozen=True)
class Body:
    """The conditions of a rule, all of which have to be met."""

    conditions: tuple[Condition, ...] = ()
    alternatives: tuple[Body, ...] = ()
    """`any`: bodies, one of which has to be met; none for no such condition."""
    excluded: Body | None = None
    """`not`: a body that must not be met."""
    shown: str = ""
    """How the profile states it, for messages."""

    def judge(self, site: Site) -> Finding:
        findings = [condition.judge(site) for condition in self.conditions]
        if self.alternatives:
            findings.append(any_of([body.judge(site) for body in self.alternatives]))
        if self.excluded is not None:
            findings.append(negated(self.excluded.judge(site), self.excluded.shown))
        return all_of(findings)


@dataclass(frozen=True)
class Rule:
    """What has to hold for the nodes of some operators."""

    operators: frozenset[str]
    body: Body
    when: Body | None = None
    """The nodes that it is about; None for all."""
    note: str = ""
    """What no key expresses, and nobody checks."""
    line: int = 0
    """The line of the profile on which it begins."""

    def judge(self, site: Site) -> Finding:
        guard = MET if self.when is None else self.when.judge(site)
        if guard.against:
            return MET
        found = self.body.judge(site)
        if guard.is_met or found.is_met:
            return found
        return Finding((), (*guard.unknown, *found.unknown)) if not found.against else Finding((), guard.unknown)


@dataclass(frozen=True)
class AllowedList:
    """The operators that a runtime allows, and the rules for them."""

    operators: frozenset[str] | None = None
    """None where all are allowed under the rules."""
    rules: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict)
    """The rules of each operator, those for every operator first."""
    every: tuple[Rule, ...] = ()
    """Rules for every operator."""
    layout: Mapping[str, int] = field(default_factory=lambda: LAYOUT)
    otherwise: Otherwise = "refuse"

    def judge(self, node: Node) -> Finding:
        """Whether the node is allowed; the reasons where it is not, or where nobody can tell."""
        label = f"{node.proto.domain}::{node.op_type}" if node.proto.domain else node.op_type
        if self.operators is not None and label not in self.operators:
            return against("it is not among the operators")
        if node.proto.domain:
            return MET
        site = Site(node, self.layout)
        return all_of(rule.judge(site) for rule in (*self.every, *self.rules.get(label, ())))

    def most_axes(self, operator: str) -> int | None:
        """The smallest of the limits on the number of dimensions of inputs and outputs; None where there is none."""
        ranks = [condition for condition in self._conditions(operator) if isinstance(condition, OfRank)]
        return min((most for rank in ranks if (most := rank.most) is not None), default=None)

    def refuses_type(self, operator: str, name: str) -> bool:
        """Whether a rule lists types of inputs or outputs, and `name` is not among them."""
        listed = [condition.types for condition in self._conditions(operator) if isinstance(condition, OfType)]
        return any(types and name not in types for types in listed)

    def _conditions(self, operator: str) -> list[Condition]:
        rules = (*self.every, *self.rules.get(operator, ()))
        return [condition for rule in rules for condition in rule.body.conditions]

    @property
    def has_notes(self) -> bool:
        return any(rule.note for rules in (self.every, *self.rules.values()) for rule in rules)

    @property
    def static_operators(self) -> str:
        """The operators that need fixed shapes, as text: " of all nodes", or " of Resize, Shape"; "" where none does."""
        if any(_is_static(rule) for rule in self.every):
            return " of all nodes"
        names = [name for name, rules in self.rules.items() if any(map(_is_static, rules))]
        return f" of {', '.join(sorted(names))}" if names else ""

    def notes(self, operator: str) -> list[str]:
        """What the list says of an operator and nobody checks."""
        return [rule.note for rule in (*self.every, *self.rules.get(operator, ())) if rule.note]

    def both(self, other: AllowedList | None) -> AllowedList:
        """The list of what this one and `other`, of the same profile, allow."""
        if other is None:
            return self
        sets = [operators for operators in (self.operators, other.operators) if operators is not None]
        names = self.rules.keys() | other.rules.keys()
        return replace(
            self,
            operators=frozenset.intersection(*sets) if sets else None,
            rules={name: _distinct(self.rules.get(name, ()), other.rules.get(name, ())) for name in sorted(names)},
            every=_distinct(self.every, other.every),
        )

    def extended(self, child: AllowedList, dropped: frozenset[str]) -> AllowedList:
        """This list as a variant has it: without the `dropped` operators; rules of `child` replace its own."""
        replaced = dropped | child.rules.keys()
        rules = {operator: kept for operator, kept in self.rules.items() if operator not in replaced}
        return replace(
            self,
            operators=None if self.operators is None else (self.operators - dropped) | (child.operators or frozenset()),
            rules={**rules, **child.rules},
            every=(*self.every, *child.every),
        )


def _is_static(rule: Rule) -> bool:
    return any(isinstance(condition, IsStatic) for condition in rule.body.conditions)


def _distinct(rules: tuple[Rule, ...], others: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return (*rules, *(rule for rule in others if rule not in rules))
