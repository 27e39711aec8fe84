"""What a conversion did, for people and for programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .compare import Comparison
from .engine import Remark


@dataclass
class Report:
    """Everything that a conversion has to say. Opsets are of the default domain, None where the model does not import it."""

    source_opset: int | None
    target_opset: int | None
    source_ir_version: int
    ir_version: int
    operators_before: Counter[str] = field(default_factory=Counter)
    """How many nodes of each operator ("domain::op_type" outside the default domain), in all graphs and functions."""
    operators_after: Counter[str] = field(default_factory=Counter)
    applied: Counter[str] = field(default_factory=Counter)
    """How many nodes each rule changed."""
    inexact: set[str] = field(default_factory=set)
    """Rules among them whose results may differ in the last bits."""
    remarks: list[Remark] = field(default_factory=list)
    checked: str = ""
    comparison: Comparison | None = None

    @property
    def changed_operators(self) -> dict[str, tuple[int, int]]:
        """Operators whose count changed: (before, after), by name."""
        names = sorted(self.operators_before.keys() | self.operators_after.keys())
        pairs = {name: (self.operators_before[name], self.operators_after[name]) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
