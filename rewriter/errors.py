"""The errors of this package, each with the exit status that the command line gives it. docs/errors.md says what to catch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .codes import code_of
from .document import Document, head, outcome_of, unread

LONGEST_NAME = 80
"""The number of characters of a name or value in a message about an argument."""
MOST_NAMES = 8
"""The number of names that such a message lists."""


def shortened(text: str) -> str:
    """`text`, cut at the end if it is long."""
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def in_one_line(text: str, most: int = 300) -> str:
    """The text without line breaks, cut at the end if it has more than `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def listed(names: Sequence[object]) -> str:
    """The names as "a, b, c", only the first ones where there are many. Names that are not valid UTF-8 are shown as bytes."""
    shown = [shortened(str(name)) for name in names[:MOST_NAMES]]
    more = [f"… ({len(names):,} in all)"] if len(names) > MOST_NAMES else []
    return ", ".join([*shown, *more]) or "none"


class SplitRewriteError(Exception):
    """Base class of all errors that this package raises. `str()` is one or more lines of plain text for a user.

    `model` is the name that the caller gave the model, or its path; "" for a model in memory without a name.
    """

    exit_status = 2
    model = ""

    def to_dict(self) -> Document:
        """The document that docs/report.md describes, for a conversion that ended with this error."""
        blockers = [blocker.to_dict() for blocker in getattr(self, "blockers", ())]
        return head(outcome_of(self.exit_status), self.exit_status, str(self), unread(self.model), None, blockers)


class ArgumentError(SplitRewriteError, ValueError):
    """An argument or option has a value that is not possible, or not possible with this model.

    A value of the wrong type raises a plain TypeError instead.
    """


class WrongTypeError(TypeError):
    """An argument of the library has a wrong type. It is a TypeError and nothing else, as it is for Python's own functions."""


class PathConflictError(SplitRewriteError):
    """A file would be written that is also read, or two results would be written to the same file."""


class InvalidModelError(SplitRewriteError):
    """The input cannot be read, or is not a valid model of the opset that it declares."""


class MissingModelError(InvalidModelError, FileNotFoundError):
    """There is no file at the path of the model. Callers can catch it as Python's own FileNotFoundError, too."""


class Blocker(NamedTuple):
    """One node that cannot be expressed at the target opset.

    `where` is the path to the node ("main graph", "If 'cond' then_branch", "function 'f'"). `transition` is the step that failed,
    such as "18→17", or "" for a node that is already at its final opset.
    """

    op_type: str
    node: str
    where: str
    transition: str
    reason: str
    hint: str = ""

    @property
    def code(self) -> str:
        """The stable name of the reason, which docs/codes.md lists. The text of the reason may change."""
        return code_of(self.reason)

    def to_dict(self) -> Document:
        """The fields and the code as JSON types."""
        return {**self._asdict(), "code": self.code}

    def is_within(self, where: str) -> bool:
        """Whether the node is in the graph `where`, or in a graph inside it."""
        return self.where == where or self.where.startswith(f"{where} > ")

    def __str__(self) -> str:
        hint = f". Hint: {self.hint}" if self.hint else ""
        step = f" {self.transition}" if self.transition else ""
        return f"{self.op_type} '{self.node}' ({self.where}){step}: {self.reason}{hint}"


UNUSABLE, INTERNAL_ERROR = 2, 3
"""The exit statuses for errors that are not of this package: errors of the operating system, and unexpected errors."""


class UnconvertibleError(SplitRewriteError):
    """The model cannot be expressed at the target opset.

    `blockers` has all nodes that are in the way, in the order of the graph.
    """

    exit_status = 1

    def __init__(self, blockers: Sequence[Blocker]) -> None:
        super().__init__("\n".join(map(str, blockers)))
        self.blockers = tuple(blockers)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.blockers,), self.__dict__


class CheckError(SplitRewriteError):
    """The result failed onnx.checker or a check of this package."""

    exit_status = 3


class CompareError(SplitRewriteError):
    """The outputs of the result differ from those of the original, or a comparison was required and is not possible."""

    exit_status = 3


class RuleError(SplitRewriteError):
    """A rule failed on a node with an exception that is no refusal. That is a bug in the rule, whatever the model contains.

    The message names rule, node and transition. `__cause__` is the exception.
    """

    exit_status = INTERNAL_ERROR


class OutOfTimeError(SplitRewriteError, TimeoutError):
    """A call took longer than its `timeout`. Nothing of it is left: no child process, thread, temporary file or result."""

    exit_status = 4

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__


class SystemLimitError(SplitRewriteError):
    """The system, or the sandbox around this process, refuses what is needed: a child process, a temporary folder, memory."""

    exit_status = 4


class InternalError(SplitRewriteError):
    """A bug in this package. `__cause__` is the exception, and shows where it is from."""

    exit_status = INTERNAL_ERROR


class Unconvertible(Exception):
    """A rule raises this for a node that cannot be expressed at the next opset. `hint` says what the user can do."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class Undecided(Unconvertible):
    """A rule that avoids a form raises this where it cannot tell whether the node has the form."""


class NotSimplified(Exception):
    """A simplification raises this where it leaves its node as it is. The reason is shown in the report."""


_NO_ROOM = "failed to map segment"
"""Part of the dynamic loader's message when there is not enough memory to load a library."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that there is not enough memory, also for loading a library."""
    return isinstance(error, MemoryError) or (isinstance(error, ImportError) and _NO_ROOM in str(error))


def status_and_line(error: BaseException) -> tuple[int, str]:
    """The exit status for `error` and a one-line message, whatever its class."""
    if isinstance(error, SplitRewriteError):
        return error.exit_status, str(error)
    if is_out_of_memory(error):
        return UNUSABLE, "out of memory"
    if isinstance(error, RecursionError):
        return UNUSABLE, "the model is nested too deeply"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return UNUSABLE, f"{where}{error.strerror or error}"
    return INTERNAL_ERROR, f"{type(error).__name__}: {error}"
