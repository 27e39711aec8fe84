"""Which rules may run, by the names that --only and --skip give."""

from __future__ import annotations

from typing import NamedTuple

MECHANISMS = {
    "expansion": "an operator that the target does not have becomes its value, or ONNX's own function body of it",
    "widening": "an operator that does not take a type yet works in a wider one, between Casts",
    "narrow_types": "a type that the target does not have gives way, in the whole model, to a wider one that holds its values",
}
"""What the engine does without a rule, for any operator, under the name "expansion.OPERATOR" or "widening.OPERATOR".

--only and --skip name it like a module.
"""


class Selection(NamedTuple):
    """Which rules may run: those that `only` names (all where it is empty), without those that `skip` names.

    A name is a rule ("split.sizes_to_input") or a module ("split").
    """

    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()

    def allows(self, name: str) -> bool:
        """Whether the rule `name` may run."""
        return (not self.only or bool(_names(name) & self.only)) and not self.skips(name)

    def skips(self, name: str) -> bool:
        return bool(_names(name) & self.skip)


def _names(rule: str) -> set[str]:
    """By which it can be meant: its own and its module's."""
    return {rule, rule.partition(".")[0]}
