"""The documentation as tests read it: the messages that docs/errors.md explains."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def documented(section: str = "") -> list[str]:
    """The patterns of docs/errors.md, or of one of its sections."""
    patterns: list[str] = []
    title = ""
    for line in (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").splitlines():
        title = line.removeprefix("## ") if line.startswith("## ") else title
        if line.startswith("| `") and section in ("", title):
            patterns += re.findall(r"`([^`]+)`", line[2:].split(" | ", 1)[0])
    return patterns


def as_regex(pattern: str) -> re.Pattern[str]:
    """What fits `pattern`, in which … stands for any text."""
    return re.compile(".*".join(map(re.escape, pattern.split("…"))))


def unseen(section: str, messages: list[str]) -> set[str]:
    """The patterns of a section that none of `messages` is of, as a whole or after a colon; it is of the longest that fits."""
    patterns = {pattern: as_regex(pattern) for pattern in documented(section)}
    parts = [part for message in messages for part in (message, *(message[colon.end() :] for colon in re.finditer(": ", message)))]
    seen = {max((pattern for pattern in patterns if patterns[pattern].fullmatch(part)), key=len, default="") for part in parts}
    return patterns.keys() - seen
