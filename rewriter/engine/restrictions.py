"""Restrictions of the result beyond those of its opset: operators, types and forms that a runtime does not accept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..graph.node import Node
from ..opsets import transitions
from .registry import EVERY_OPERATOR, Rule


class Judgement(Protocol):
    """Why a node is not allowed, or why nobody can tell; allowed where there are no reasons."""

    @property
    def against(self) -> tuple[str, ...]: ...
    @property
    def unknown(self) -> tuple[str, ...]: ...


class OperatorList(Protocol):
    """The list of operators that a runtime allows, with conditions."""

    title: str
    """The runtime, for messages."""
    may_stay: bool
    """Whether a node that is not allowed may stay, at a cost that is reported: the runtime leaves it to the CPU."""
    must_know: bool
    """Whether a node of which nobody can tell has to be refused, because the runtime would compute something else."""

    has_notes: bool
    """Whether it says something in words."""

    def judge(self, node: Node) -> Judgement:
        """Whether the list allows the node."""
        ...

    def has(self, operator: str) -> bool:
        """Whether the list has the operator, perhaps under conditions."""
        ...

    def most_axes(self, operator: str) -> int | None:
        """The number of dimensions that values of the operator may have; None where the list does not limit it."""
        ...

    def refuses_type(self, operator: str, name: str) -> bool:
        """Whether the list has types for values of the operator, and `name` is not among them."""
        ...

    def notes(self, operator: str) -> list[str]:
        """What the list says of an operator in words that nobody checks."""
        ...


@dataclass(frozen=True)
class Restrictions:
    """Forms, operators and types that runtimes do not accept. The values are parts of messages that name the runtime.

    `forms`: (form, operator), as in `avoid`, → "MNN 3.6 computes it wrongly: Round". `refused`: those of `forms` that all these
    runtimes refuse with an error instead of computing them wrongly. `operators`: op_type → "MNN 3.6". `versions`: (op_type,
    since_version) → "ONNX Runtime 1.32", for operators that it takes in other versions. `types`: element type as in type strings,
    "int64" → "wonnx 2024". `only_onnx`: whether operators of other domains than ONNX's are refused, too. `lists`: the operators
    that runtimes allow.
    """

    forms: Mapping[tuple[str, str], str] = field(default_factory=dict)
    refused: frozenset[tuple[str, str]] = frozenset()
    operators: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[tuple[str, int], str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    only_onnx: bool = False
    lists: tuple[OperatorList, ...] = ()

    def avoiding(self, rules: Iterable[Rule]) -> Restrictions:
        """These restrictions, and the forms that `rules` of a caller avoid."""
        forms = {
            (rule.form, op_type): f"{rule.name} avoids this form"
            for rule in rules
            for op_type in (transitions.all_operators() if rule.op_type == EVERY_OPERATOR else (rule.op_type,))
        }
        return replace(self, forms={**self.forms, **forms})

    def may_refuse(self, op_type: str) -> bool:
        """Whether a node of this operator may be refused for what it is, and not for its form."""
        is_named = op_type in self.operators or any(op_type == name for name, _ in self.versions)
        return is_named or bool(self.types or self.lists)


UNRESTRICTED = Restrictions()
