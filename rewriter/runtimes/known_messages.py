"""The messages that are known, read from `messages.toml`, and how they are found in a text."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found]


_VERSIONS = frozenset(["asked", "ir", "ir_max", "limit", "low", "opset", "target"])
"""The names of what varies that stand for opsets and IR versions."""
_NUMBERS = frozenset(["axis", "count", "least", "most", "size", "sum"])
"""Those that stand for other whole numbers."""
_TYPES = frozenset(["type", "declared", "other"])
_OPERATORS = frozenset(["op", "domain"])
_VERSION, _NUMBER, _TYPE = r"(?<!\d)\d{1,4}(?!\d)", r"-?\d{1,20}", r"[\w().]{1,60}"
_OPERATOR, _LIST, _ANY = r"\w[\w.:]{0,200}", r"\w[\w.:]{0,200}(?:(?:, ?| ?\| ?ONNX::)\w[\w.:]{0,200}){0,100}", r"[^\n]{1,300}?"
_GAP = r"[\s\S]{0,800}?"
"""What a … stands for."""
_AROUND = 1500
"""The letters before and after the longest word of a message in which the rest of it is looked for."""
_NEARLY_ALL = 0.7
"""The share of the text that a message of common words has to have where nothing else tells that it is meant."""
_MOST_PLACES = 1000
"""The number of places of that word that are looked at."""
_QUOTES = re.compile("[\"'`‘’“”]|\x1b\\[[0-9;]*m")
"""Quotes, and the colours of a terminal."""
_PART = re.compile(r"\{(\w+)\}|(…)|(\s+)")
_KEYS = {"needs", "says", "by", "means", "try", "advice", "evidence", "source", "minor"}


class Known(NamedTuple):
    """One known message. `messages.toml` says what each field is."""

    says: str
    by: tuple[str, ...]
    means: str
    tries: tuple[str, ...]
    advice: str
    evidence: str
    source: str
    minor: bool
    needs: tuple[str, ...]
    pattern: re.Pattern[str]

    @property
    def word(self) -> str:
        """The longest word that is fixed."""
        return max(_PART.sub(" ", _QUOTES.sub("", self.says)).split(), key=len)

    @property
    def names(self) -> frozenset[str]:
        """What varies in the message."""
        return frozenset(self.pattern.groupindex)

    @property
    def weight(self) -> int:
        """The number of letters that are fixed: of two messages in one place, the one with more says more."""
        return sum(map(str.isalnum, _PART.sub("", self.says)))


class Place(NamedTuple):
    """A known message in a text: where it begins and ends, and what varies in it, by name."""

    known: Known
    start: int
    end: int
    values: Mapping[str, str]

    @property
    def meaning(self) -> str:
        """What the message means, with what varies filled in."""
        return filled(self.known.means, self.values)


@cache
def known_messages() -> tuple[Known, ...]:
    """All known messages, in the order of the file. Raises ValueError where an entry is not as the file's head says."""
    text = files("split_rewrite.rewriter.runtimes").joinpath("messages.toml").read_text(encoding="utf-8")
    return tuple(map(_read, tomllib.loads(text)["message"]))


def find_messages(text: str) -> list[Place]:
    """The known messages in `text`, the most telling first: errors before warnings and what follows from them, then by place.

    Where two are about the same words, only the one that says more is there. Quotes, and how words are divided into lines, do not
    matter.
    """
    plain = _QUOTES.sub("", text)
    lower = plain.lower()
    places = (place for known in known_messages() if (place := _place(known, plain)) is not None)
    found = [place for place in places if _is_meant(place, lower)]
    found.sort(key=lambda place: -place.known.weight)
    kept: list[Place] = []
    for place in found:
        if not any(place.start < other.end and other.start < place.end for other in kept):
            kept.append(place)
    return sorted(kept, key=lambda place: (place.known.minor, place.start))


def line_of(text: str, place: Place) -> tuple[int, str]:
    """The number of the line in which the message begins, from 1 on, and the line."""
    plain = _QUOTES.sub("", text)
    number = plain.count("\n", 0, place.start)
    return number + 1, text.split("\n")[number].strip()


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with values in place of their names."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _is_meant(place: Place, text: str) -> bool:
    """Whether the common words of the message mean what it says: another word of `text` says so, or there are hardly others."""
    needs = place.known.needs
    return not needs or any(word in text for word in needs) or place.end - place.start >= _NEARLY_ALL * len(text.strip())


def _place(known: Known, plain: str) -> Place | None:
    """The first place of the message in `plain`, which has no quotes.

    Only where its longest word is, because the pattern itself would be tried at every letter of a long log.
    """
    found = -1
    for _ in range(_MOST_PLACES):
        found = plain.find(known.word, found + 1)
        if found < 0:
            return None
        start = max(found - _AROUND, 0)
        match = known.pattern.search(plain, start, found + _AROUND)
        if match is not None:
            values = {name: value.strip(".:,") for name, value in match.groupdict().items()}
            return Place(known, match.start(), match.end(), values)
    return None


def _read(entry: Mapping[str, object]) -> Known:
    if unknown := set(entry) - _KEYS:
        raise ValueError(f"messages.toml: {entry.get('says')}: unknown key {', '.join(sorted(unknown))}")
    says = str(entry["says"])
    return Known(
        says,
        tuple(map(str, _listed(entry["by"]))),
        str(entry["means"]),
        tuple(map(str, _listed(entry.get("try", ())))),
        str(entry.get("advice", "")),
        str(entry["evidence"]),
        str(entry.get("source", "")),
        bool(entry.get("minor", False)),
        tuple(map(str, _listed(entry.get("needs", ())))),
        _pattern(says),
    )


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _pattern(says: str) -> re.Pattern[str]:
    """The regular expression for the words of a message, without quotes."""
    plain, built, last = _QUOTES.sub("", says), "", 0
    for part in _PART.finditer(plain):
        built += re.escape(plain[last : part.start()])
        name, gap, _ = part.groups()
        built += f"(?P<{name}>{_varies(name, part.end() == len(plain))})" if name else _GAP if gap else r"\s+"
        last = part.end()
    return re.compile(built.replace(rf"\s+{_GAP}\s+", _GAP) + re.escape(plain[last:]))


def _varies(name: str, is_last: bool) -> str:
    kinds = {_VERSION: _VERSIONS, _NUMBER: _NUMBERS, _TYPE: _TYPES, _OPERATOR: _OPERATORS, _LIST: {"ops"}}
    for pattern, names in kinds.items():
        if name in names:
            return pattern
    return r"[^\s,;]+" if is_last else _ANY
