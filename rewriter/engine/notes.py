"""Notes what a pass changes and refuses, node by node, and makes the outcome of it."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import NodeProto

from ..errors import Blocker, Unconvertible
from ..structure import declarations
from .outcome import Change, Outcome, Remark, RemarkKind, all_gone
from .routes import Step
from .task import Task

_OF_REWRITE = "its rewrite needs "


class Notes:
    """The notes on the nodes of a model."""

    def __init__(self) -> None:
        self.outcome = Outcome()
        self._blocked: list[tuple[NodeProto, Blocker]] = []
        self._left: list[tuple[NodeProto, Remark]] = []

    @property
    def blockers(self) -> list[Blocker]:
        """All blockers that were noted, in order."""
        return [blocker for _, blocker in self._blocked]

    def block(self, node: Task, step: Step | None, refusal: Unconvertible, origin: tuple[str, str]) -> None:
        """Note a blocker. It names the node of the user's model, `origin`, even if the refused node was made by a rule."""
        transition = "" if step is None else str(step.transition)
        reason = refusal.reason if node.op_type == origin[0] else _reason_of_made(node.op_type, refusal.reason)
        why, hint = node.why
        if why:
            reason = f"{why}: {reason}"
        self._blocked.append((node.proto, Blocker(*origin, node.where, transition, reason, hint or refusal.hint)))

    def change(self, rule: str, node: Task, op_type: str = "", *, needed: bool = True) -> None:
        """Note that `rule` changed `node`."""
        self.outcome.changes.append(Change(rule, op_type or node.op_type, node.name, node.where, needed))

    def remark(self, kind: RemarkKind, node: Task, message: str, op_type: str = "") -> Remark:
        """Note a remark on `node` for the report."""
        remark = Remark(kind, op_type or node.op_type, node.name, node.where, message)
        self.outcome.remarks.append(remark)
        return remark

    def left(self, node: Task, reason: str) -> None:
        """Note why a simplification left `node` as it is."""
        self._left.append((node.proto, self.remark("left", node, reason)))

    def finish(self, removed: set[str], contradictions: Iterable[declarations.Contradiction]) -> None:
        """Use the names of the final result, and drop notes on nodes all of whose outputs are among the `removed` names."""
        self.outcome.remarks += [_contradicted(found) for found in contradictions]
        gone = {id(remark) for node, remark in self._left if all_gone(node, removed)}
        self.outcome.remarks = [remark for remark in self.outcome.remarks if id(remark) not in gone]
        self._blocked = [(node, blocker) for node, blocker in self._blocked if not all_gone(node, removed)]
        self.outcome.blockers = _one_each(self.blockers)

    def blocked_values(self) -> set[str]:
        """What the blocked nodes make. Those without inputs are refused for what they store, and do not count."""
        return {name for node, _ in self._blocked if any(node.input) for name in node.output if name}

    def forget_unread(self, removed: set[str]) -> None:
        """Let nodes all of whose outputs are among the `removed` names, which nothing reads, not block but be warned of."""
        for blocker in _one_each(blocker for node, blocker in self._blocked if all_gone(node, removed)):
            message = f"nothing reads it, and it cannot be converted, so it is left out: {blocker.reason}"
            self.outcome.remarks.append(Remark("warning", blocker.op_type, blocker.node, blocker.where, message))
        self._blocked = [(node, blocker) for node, blocker in self._blocked if not all_gone(node, removed)]
        self.outcome.blockers = _one_each(self.blockers)


def _one_each(blockers: Iterable[Blocker]) -> list[Blocker]:
    """The first blocker of each node."""
    return list({(b.where, b.op_type, b.node): b for b in reversed([*blockers])}.values())[::-1]


def _contradicted(found: declarations.Contradiction) -> Remark:
    message = f"the declared shape {declarations.show(found.declared)} is ignored, because the inputs give {found.derived}"
    return Remark("warning", "value", found.name, "declared shapes", message)


def is_of_rewrite(reason: str) -> bool:
    """Whether this is the reason why a node that a rule made is refused, and not one of the user's model."""
    return _OF_REWRITE in reason


def _reason_of_made(op_type: str, reason: str) -> str:
    """The reason why a node cannot be converted: it would be rewritten with `op_type`, which is impossible because of `reason`."""
    subject, _, rest = reason.partition(" ")
    if subject == op_type and rest.startswith(("does ", "is ", "has ", "takes ", "cannot ")):
        return f"{_OF_REWRITE}{op_type}, which {rest}"
    return f"{_OF_REWRITE}{op_type}: {reason}"
