"""What can go wrong, each with the exit status that the command line gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class SplitRewriteError(Exception):
    """Base of every error that this package raises on purpose. `str()` is one or more plain lines for a user."""

    exit_status = 2


class InvalidModelError(SplitRewriteError):
    """The input cannot be read, or is not a valid model of the opset that it declares."""


class Blocker(NamedTuple):
    """One node that cannot be expressed at the target opset.

    `where` is the path to the node ("main graph", "If 'cond' then_branch", "function 'f'"); `transition` the step that failed,
    written "18→17", or "" for a node of the model's own opset.
    """

    op_type: str
    node: str
    where: str
    transition: str
    reason: str
    hint: str = ""

    def is_within(self, where: str) -> bool:
        """Whether the node is in the graph `where`, or in one inside it."""
        return self.where == where or self.where.startswith(f"{where} > ")

    def __str__(self) -> str:
        hint = f" … hint: {self.hint}" if self.hint else ""
        step = f" {self.transition}" if self.transition else ""
        return f"{self.op_type} '{self.node}' ({self.where}){step}: {self.reason}{hint}"


class UnconvertibleError(SplitRewriteError):
    """The model cannot be expressed at the target opset; `blockers` says why, all of them, in the order of the graph."""

    exit_status = 1

    def __init__(self, blockers: Sequence[Blocker]) -> None:
        super().__init__("\n".join(map(str, blockers)))
        self.blockers = tuple(blockers)


class CheckError(SplitRewriteError):
    """The result failed onnx.checker or a check of this package."""

    exit_status = 3


class CompareError(SplitRewriteError):
    """The result computes something else than the original, or had to be compared and could not be."""

    exit_status = 3


class Unconvertible(Exception):
    """Raised by a rule: this node cannot be expressed at the next opset. `hint` says what the user can do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class NotSimplified(Exception):
    """Raised by a simplification that leaves its node as it is; the reason goes into the report."""
