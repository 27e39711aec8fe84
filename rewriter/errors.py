"""What can go wrong, each with the exit status that the command line gives it. docs/errors.md says what to catch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LONGEST_NAME = 80
"""Characters of a name or value in a message about an argument."""
MOST_NAMES = 8
"""Names in such a message."""


def shortened(text: str) -> str:
    """`text`, the end left out where it is long."""
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def listed(names: Sequence[object]) -> str:
    """ "a, b, c", the first of many; names that are not valid UTF-8 come as bytes."""
    shown = [shortened(str(name)) for name in names[:MOST_NAMES]]
    more = [f"… ({len(names):,} in all)"] if len(names) > MOST_NAMES else []
    return ", ".join([*shown, *more]) or "none"


class SplitRewriteError(Exception):
    """Base of every error that this package raises on purpose. `str()` is one or more plain lines for a user."""

    exit_status = 2


class ArgumentError(SplitRewriteError, ValueError):
    """An argument or option has a value that is not possible, or not with this model: another value helps, another model may too.

    A value of a wrong type is a plain TypeError.
    """


class PathConflictError(SplitRewriteError):
    """A file to be written is one that is read, or another one that is written."""


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
    """The outputs of the result differ from the original's, or had to be compared and could not be."""

    exit_status = 3


class Unconvertible(Exception):
    """Raised by a rule: this node cannot be expressed at the next opset. `hint` says what the user can do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class NotSimplified(Exception):
    """Raised by a simplification that leaves its node as it is; the reason goes into the report."""
