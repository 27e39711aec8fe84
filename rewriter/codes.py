"""The stable codes of messages about nodes, for programs: the text of a message may change, its code does not.

`codes.txt` has a line for each message. A message of a rule that is not of this package has the code `OTHER`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

OTHER = "other"
"""The code of a message that codes.txt does not have, as those of other people's rules."""


class Coded(NamedTuple):
    """A line of codes.txt. Longer texts are more telling: `length` is the number of characters beside the gaps."""

    code: str
    message: str
    pattern: re.Pattern[str]
    length: int


@lru_cache(maxsize=1)
def listed() -> tuple[Coded, ...]:
    """All lines of codes.txt."""
    text = (files(__package__ or "") / "codes.txt").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Coded(code, message, _pattern(message), len(message.replace("…", ""))) for code, message in rows)


@lru_cache(maxsize=10_000)
def code_of(message: str) -> str:
    """The code of `message`, which may be part of a longer one: "its rewrite needs Concat: the rank of 'x' is unknown"."""
    return _best(_parts(message)) or _best(_heads(message)) or OTHER


def _best(parts: Iterable[str]) -> str:
    """The code of the most telling of the `parts`; "" where none has a code."""
    fitting = [(row.length, -len(part), row, part) for part in parts for row in listed() if row.pattern.fullmatch(part)]
    if not fitting:
        return ""
    _, _, row, part = max(fitting, key=lambda found: found[:2])
    return row.code.replace("*", _slug(part.rpartition(" (")[2])) if "*" in row.code else row.code


def _parts(message: str) -> Iterator[str]:
    """The message, what follows each of its colons, and the reason why a node that it is rewritten with cannot be converted."""
    yield message
    yield from (message[colon.end() :] for colon in re.finditer(": ", message))
    if found := re.search(r"its rewrite needs (\S+), which (.*)", message, re.DOTALL):
        yield f"{found[1]} {found[2]}"


def _heads(message: str) -> Iterator[str]:
    """What stands before each colon: "MNN 3.6 computes it wrongly (Div of integers)" before a reason that has no code."""
    yield from (message[: colon.start()] for colon in re.finditer(": ", message))


def _pattern(message: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, message.split("…"))), re.DOTALL)


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))
