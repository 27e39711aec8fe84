"""Decides which rules may run, by the names in --only and --skip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..errors import ArgumentError, shortened
from ..suggestions import did_you_mean
from .registry import Rule

MECHANISMS = {
    "expansion": "an operator that the target lacks becomes its constant value, or ONNX's own function body",
    "between_casts": "an operator that does not support a type works in a wider one, between two Casts",
    "narrow_types": "a type that the target lacks is replaced, in the whole model, by a wider one that holds its values",
}
"""The means of the engine for operators without a rule, under names such as "expansion.OPERATOR" or "between_casts.OPERATOR".

--only and --skip can name it like a module of rules.
"""


class Selection(NamedTuple):
    """The rules that may run: those that `only` names (all where it is empty), without those that `skip` names.

    A name is that of a rule ("split.sizes_to_input") or of a module ("split"). Both have names in lower case: see `of`.
    """

    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    is_minimal: bool = False
    """Whether nodes of the original are not simplified."""

    @classmethod
    def of(cls, only: Iterable[str], skip: Iterable[str], is_minimal: bool = False) -> Selection:
        """The selection by names as users write them: case does not matter."""
        return cls(frozenset(map(str.lower, only)), frozenset(map(str.lower, skip)), is_minimal)

    def allows(self, name: str) -> bool:
        """Whether the rule `name` may run."""
        return (not self.only or bool(_names(name) & self.only)) and not self.skips(name)

    def skips(self, name: str) -> bool:
        return bool(_names(name) & self.skip)


def _names(rule: str) -> set[str]:
    """The names in lower case by which a rule can be selected: its own and that of its module."""
    rule = rule.lower()
    return {rule, rule.partition(".")[0]}


def require_known(option: str, names: Iterable[str], rules: Iterable[Rule]) -> None:
    """Raises ArgumentError where one of the `names` in `option` is neither of `rules`, nor of a module or mechanism."""
    known = {rule.name for rule in rules}
    known |= {name.partition(".")[0] for name in known}
    in_lower_case = {name.lower() for name in known}
    for name in names:
        is_mechanism = name.lower().partition(".")[0] in MECHANISMS
        if not is_mechanism and name.lower() not in in_lower_case:
            suggestion = did_you_mean(name, sorted([*known, *MECHANISMS]))
            raise ArgumentError(f"{option}: there is no rule '{shortened(name)}'{suggestion} (--list-rules lists all)")
