"""What a conversion fails with, so that two models can be found to fail for the same reason."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import SplitRewriteError, UnconvertibleError

_NAME, _NUMBER = re.compile(r"'[^']*'"), re.compile(r"[-+]?\d[\d.,e+-]*")
_TELLING = 60
"""The number of characters of a message, without names and numbers, that have to agree."""


class Failure(NamedTuple):
    """The class of an error, the operator and the step of a node that cannot be converted, and the reason, without names."""

    kind: str
    operator: str
    step: str
    reason: str


def failures_of(error: SplitRewriteError) -> list[Failure]:
    """The failures that `error` reports: one for each node that cannot be converted, else one."""
    kind = type(error).__name__
    if isinstance(error, UnconvertibleError):
        return [Failure(kind, blocker.op_type, blocker.transition, blocker.code) for blocker in error.blockers]
    return [Failure(kind, "", "", _essence(str(error)))]


def quoted_names(error: SplitRewriteError) -> list[str]:
    """The names that the message quotes, in order; of many nodes that cannot be converted, those of the first."""
    text = str(error.blockers[0] if isinstance(error, UnconvertibleError) else error)
    return [name[1:-1] for name in _NAME.findall(text)]


def _essence(message: str) -> str:
    return _NUMBER.sub("#", _NAME.sub("'…'", message.partition("\n")[0]))[:_TELLING]
