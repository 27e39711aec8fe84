"""What a conversion reports, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..storage.data_files import DataFiles

if TYPE_CHECKING:
    from ..certifying.certificate import Certificate
    from ..comparison.verdicts import Comparison
    from ..comparison.verification import Verified
    from ..engine.outcome import Change, Remark, RemarkKind
    from ..engine.reach import Reach
    from ..errors import Blocker
    from .rewritten import Rewritten


@dataclass(frozen=True)
class ReportData:
    """Everything that a conversion reports. Opsets are those of the default domain, None where the model does not import it.

    It is plain data, which holds nothing of the model: it can be kept, pickled and sent to other processes.
    """

    source_opset: int | None
    target_opset: int | None
    source_ir_version: int
    ir_version: int
    operators_before: Mapping[str, int] = field(default_factory=dict)
    """The number of nodes of each operator ("domain::op_type" outside the default domain) before the
    conversion, in all graphs and functions.
    """
    operators_after: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    """Every use of a rule that changed a node."""
    rewrites: tuple[Rewritten, ...] = ()
    """All changes taken together, one entry for each node of the original."""
    inexact: frozenset[str] = frozenset()
    """The rules in `changes` whose results may differ in the last bits."""
    sums: bool = False
    """Whether one of these rules adds up many terms, which may cancel out."""
    remarks: tuple[Remark, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    """In a dry run, the nodes that cannot be converted."""
    reach: Reach | None = None
    """In a dry run, the opsets within reach."""
    not_loaded: str = ""
    """A warning where the installed onnxruntime does not load models of the target opset, else ""."""
    runtimes: str = ""
    """The runtimes that the result is for, such as "OpenVINO 2024.2 and MNN 3.6"."""
    about_runtimes: tuple[str, ...] = ()
    """Warnings about their names: that nothing is known about a release, or that none was named."""
    notes: tuple[str, ...] = ()
    """Messages for the user about the data files."""
    weights: DataFiles | None = None
    """The files beside the model that hold its weights; None where they are in the model file."""
    checked: str = ""
    comparison: Comparison | None = None
    verified: tuple[Verified, ...] = ()
    """The other runtimes in which the result computes the same: that of --verify-with, and those of --for that are installed."""
    certificate: Certificate | None = None
    """What was proved for all shapes; None where nobody asked."""
    untried: tuple[str, ...] = ()
    """What is promised of the runtimes of --for in which the result was not run, and how it can be."""
    name: str = ""
    """The name that the caller gave the model, or its path; "" for a model in memory without a name."""
    destination: str = ""
    """The path of the result; "" where no file was written."""

    @property
    def applied(self) -> Counter[str]:
        """The number of nodes that each rule changed, by the name of the rule."""
        return Counter(change.rule for change in self.changes)

    @property
    def changed_operators(self) -> dict[str, tuple[int, int]]:
        """The operators whose number of nodes changed: name → (before, after)."""
        names = sorted(self.operators_before.keys() | self.operators_after.keys())
        pairs = {name: (self.operators_before.get(name, 0), self.operators_after.get(name, 0)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def reasons(self) -> dict[str, str]:
        """Why the number of nodes of an operator changed: the rules that rewrote such nodes, or the operators they come from."""
        rules: dict[str, dict[str, None]] = {}
        for change in self.changes:
            rules.setdefault(change.op_type, {})[change.rule] = None
        sources: dict[str, dict[str, None]] = {}
        for rewrite in self.rewrites:
            for label in rewrite.made:
                if label != rewrite.op_type:
                    sources.setdefault(label, {})[rewrite.op_type] = None
        return {
            name: f"from {', '.join(sources[name])}" if after > before and name in sources else ", ".join(rules.get(name, ()))
            for name, (before, after) in self.changed_operators.items()
        }

    @property
    def growth(self) -> list[tuple[str, int, int]]:
        """The operators that became more nodes: (name, nodes of the original, nodes that replace them),
        those that added most first.
        """
        before = Counter(rewrite.op_type for rewrite in self.rewrites)
        after: Counter[str] = Counter()
        for rewrite in self.rewrites:
            after[rewrite.op_type] += len(rewrite.stored_after)
        grown = [(name, count, after[name]) for name, count in before.items() if after[name] > count]
        return sorted(grown, key=lambda entry: (entry[1] - entry[2], entry[0]))

    @property
    def warnings(self) -> list[str]:
        """Messages for the user about a conversion that succeeded, one line each. A message about many nodes is given once."""
        return list(self._warnings())

    def _warnings(self) -> Iterator[str]:
        alike: dict[tuple[str, str], list[Remark]] = {}
        yield from (*self.about_runtimes, *self.notes)
        for remark in remarks_of(self, "warning"):
            alike.setdefault((remark.op_type, remark.message), []).append(remark)
        for (op_type, message), (first, *others) in alike.items():
            more = f" and {len(others):,} more" if others else ""
            yield f"{op_type} '{first.node}' ({first.where}){more}: {message}"
        if self.not_loaded:
            yield self.not_loaded
        if self.comparison is not None and self.comparison.status == "not compared":
            yield f"the result was not compared: {self.comparison.reason}"
        if self.comparison is not None and self.comparison.status == "partly compared":
            yield f"the result was compared in part: {self.comparison.reason}"
        if self.comparison is not None and self.comparison.refused:
            yield f"only another runtime could confirm the result: {self.comparison.reason}"


def remarks_of(data: ReportData, kind: RemarkKind) -> list[Remark]:
    """The remarks of one kind, in order."""
    return [remark for remark in data.remarks if remark.kind == kind]
