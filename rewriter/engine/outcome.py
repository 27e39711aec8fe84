"""The outcome of a conversion: changes, rewrites, remarks and blockers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from onnx import NodeProto

from ..codes import code_of
from ..document import Document
from ..errors import Blocker
from ..graph.scope import Scope

RemarkKind = Literal["left", "warning", "empty", "avoided", "fallback", "unchecked"]


class Remark(NamedTuple):
    """A message about one node: a simplification that was not possible ("left"), a warning, a warning about empty tensors alone, a
    form that was avoided because a runtime computes it wrongly or does not allow it, a node that a runtime leaves to the CPU, or a
    condition that nobody checks.
    """

    kind: RemarkKind
    op_type: str
    node: str
    where: str
    message: str

    @property
    def code(self) -> str:
        """The stable name of the message, which docs/codes.md lists. Its text may change."""
        return code_of(self.message)

    def to_dict(self) -> Document:
        """The fields and the code as JSON types."""
        return {**self._asdict(), "code": self.code}

    def __str__(self) -> str:
        return f"{self.op_type} '{self.node}' ({self.where}): {self.message}"

    def as_blocker(self, hint: str) -> Blocker:
        """The same message as a blocker, for --strict; `hint` says why the warning stops the conversion."""
        return Blocker(self.op_type, self.node, self.where, "", self.message, hint)


class Change(NamedTuple):
    """One use of a rule that changed a node. `op_type` is the operator that the node had before.

    `needed` is false if the rule only simplified a node that the target has in the same form.
    """

    rule: str
    op_type: str
    node: str
    where: str
    needed: bool = True

    def __str__(self) -> str:
        what = f"{self.rule}: {self.op_type} '{self.node}' ({self.where})"
        return what if self.needed else f"{what}, not needed for the target"


@dataclass(slots=True)
class Rewrite:
    """One node of the model as it was read, number `index` of `scope`, and the nodes that replace it now."""

    scope: Scope
    index: int
    op_type: str
    """The operator that the node had."""
    nodes: list[NodeProto]

    @property
    def original(self) -> NodeProto:
        """The node as it was read."""
        return self.scope.original_graph.node[self.index]

    def settle(self, removed: set[str]) -> None:
        """Use the names of the final result, and leave out nodes that were removed because nothing reads them."""
        aliases, resolve = self.scope.model.aliases, self.scope.resolve
        if removed:
            self.nodes[:] = [node for node in self.nodes if not all_gone(node, removed)]
        for node in self.nodes if aliases else ():
            for index, name in enumerate(node.input):
                if name in aliases:
                    node.input[index] = resolve(name)


@dataclass
class Outcome:
    """Everything that a conversion changed, and everything that it could not convert."""

    blockers: list[Blocker] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    rewrites: list[Rewrite] = field(default_factory=list)
    """All changes taken together, one entry for each node of the original."""
    inexact: set[str] = field(default_factory=set)
    """The rules that were applied and whose results may differ in the last bits."""
    sums: bool = False
    """Whether one of these rules adds up many terms, which may cancel out."""
    steps: bool = False
    """Whether one of these rules replaces an operator that rounds to the steps of a quantization in a way of its own."""
    of_numbers: bool = False
    """Whether a rule left out what matters for NaN and infinities alone."""
    zeros: bool = False
    """Whether a rule multiplies elements by weights of 0 that the original does not have."""

    def followed_by(self, later: Outcome) -> Outcome:
        """This outcome and `later`, the outcome of the rest of the same conversion, as one."""
        return Outcome(
            blockers=[*self.blockers, *later.blockers],
            remarks=[*self.remarks, *later.remarks],
            changes=[*self.changes, *later.changes],
            rewrites=[*self.rewrites, *later.rewrites],
            inexact=self.inexact | later.inexact,
            sums=self.sums or later.sums,
            steps=self.steps or later.steps,
            of_numbers=self.of_numbers or later.of_numbers,
            zeros=self.zeros or later.zeros,
        )

    @property
    def warnings(self) -> list[Remark]:
        """The remarks that are warnings."""
        return [remark for remark in self.remarks if remark.kind in ("warning", "empty")]


def all_gone(node: NodeProto, removed: set[str]) -> bool:
    """Whether the node has outputs, and all of them were removed."""
    outputs = node.output[:]
    return not removed.isdisjoint(outputs) and removed.issuperset(filter(None, outputs))
