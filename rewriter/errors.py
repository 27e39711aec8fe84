"""The errors of this package, each with the exit status that the command line gives it. docs/errors.md says what to catch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LONGEST_NAME = 80
"""Characters of a name or value that a message about an argument shows."""
MOST_NAMES = 8
"""Names that such a message lists."""


def shortened(text: str) -> str:
    """`text`, cut at the end where it is long."""
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def listed(names: Sequence[object]) -> str:
    """The names as "a, b, c", only the first where they are many. Names that are not valid UTF-8 are shown as bytes."""
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

    `where` is the path to the node ("main graph", "If 'cond' then_branch", "function 'f'"). `transition` is the step that failed,
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


UNUSABLE, INTERNAL_ERROR = 2, 3
"""Exit statuses of errors that are not of this package: of the system's, and of those that nobody expected."""


class UnconvertibleError(SplitRewriteError):
    """The model cannot be expressed at the target opset; `blockers` holds all the reasons, in the order of the graph."""

    exit_status = 1

    def __init__(self, blockers: Sequence[Blocker]) -> None:
        super().__init__("\n".join(map(str, blockers)))
        self.blockers = tuple(blockers)


class CheckError(SplitRewriteError):
    """The result failed onnx.checker or a check of this package."""

    exit_status = 3


class CompareError(SplitRewriteError):
    """The outputs of the result differ from those of the original, or could not be compared although they had to be."""

    exit_status = 3


class Unconvertible(Exception):
    """Raised by a rule for a node that cannot be expressed at the next opset. `hint` says what the user can do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class Undecided(Unconvertible):
    """Raised by a rule that avoids a form, for a node of which it is not known whether it has the form."""


class NotSimplified(Exception):
    """Raised by a simplification that leaves its node as it is; the reason goes into the report."""


def status_and_line(error: BaseException) -> tuple[int, str]:
    """The exit status and the one line that `error` deserves, whatever it is."""
    if isinstance(error, SplitRewriteError):
        return error.exit_status, str(error)
    if isinstance(error, MemoryError):
        return UNUSABLE, "out of memory"
    if isinstance(error, RecursionError):
        return UNUSABLE, "the model is nested too deeply"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return UNUSABLE, f"{where}{error.strerror or error}"
    return INTERNAL_ERROR, f"{type(error).__name__}: {error}"
