"""What a conversion did and what it could not do: changes, rewrites, remarks and blockers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from onnx import NodeProto

from ..errors import Blocker
from ..graph.scope import Scope


class Remark(NamedTuple):
    """Something the user should know of one node: a simplification that was left undone, a warning, or a form that a runtime
    computes wrongly and that was avoided."""

    kind: Literal["left", "warning", "avoided"]
    op_type: str
    node: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.op_type} '{self.node}' ({self.where}): {self.message}"

    def as_blocker(self, hint: str) -> Blocker:
        """A warning that stops the conversion; `hint` says why it does."""
        return Blocker(self.op_type, self.node, self.where, "", self.message, hint)


class Change(NamedTuple):
    """One use of a rule that changed a node; `op_type` is what the node was before."""

    rule: str
    op_type: str
    node: str
    where: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.op_type} '{self.node}' ({self.where})"


@dataclass(slots=True)
class Rewrite:
    """One node of the model as it was read, number `index` of `scope`, and the nodes that stand in its place now."""

    scope: Scope
    index: int
    op_type: str
    """What the node was."""
    nodes: list[NodeProto]

    def settle(self, removed: set[str]) -> None:
        """Name values as the result does, and leave out what went because nothing reads it."""
        aliases, resolve = self.scope.model.aliases, self.scope.resolve
        if removed:
            self.nodes[:] = [node for node in self.nodes if not all_gone(node, removed)]
        for node in self.nodes if aliases else ():
            for index, name in enumerate(node.input):
                if name in aliases:
                    node.input[index] = resolve(name)


@dataclass
class Outcome:
    """What a conversion did and what it could not do."""

    blockers: list[Blocker] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    rewrites: list[Rewrite] = field(default_factory=list)
    """What the changes add up to, a node of the original at a time."""
    inexact: set[str] = field(default_factory=set)
    """Rules among those that made changes whose result may differ in the last bits."""
    sums: bool = False
    """Whether one of them adds up many terms, which may cancel out."""

    def followed_by(self, later: Outcome) -> Outcome:
        """What this and `later`, the rest of the same conversion, did together."""
        return Outcome(
            blockers=[*self.blockers, *later.blockers],
            remarks=[*self.remarks, *later.remarks],
            changes=[*self.changes, *later.changes],
            rewrites=[*self.rewrites, *later.rewrites],
            inexact=self.inexact | later.inexact,
            sums=self.sums or later.sums,
        )

    @property
    def warnings(self) -> list[Remark]:
        """The remarks that are warnings."""
        return [remark for remark in self.remarks if remark.kind == "warning"]


def all_gone(node: NodeProto, removed: set[str]) -> bool:
    """Whether the node made values, and all of them were removed."""
    outputs = node.output[:]
    return not removed.isdisjoint(outputs) and removed.issuperset(filter(None, outputs))
