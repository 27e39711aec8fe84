"""Names that a user may have meant, for messages about unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

_SIMILAR = 0.65
"""The similarity, from 0 to 1, from which on a name is suggested."""
_MUCH_LESS = 0.1
"""A name whose similarity is lower than the best one by more than this is left out."""
_MOST = 3
"""The number of names that a message suggests at most."""


def closest(given: str, known: Iterable[str]) -> list[str]:
    """The names in `known` that `given` resembles, the most similar first; case does not matter."""
    found = _ranked(given, known)
    return [name for ratio, name in found if ratio >= max(_SIMILAR, found[0][0] - _MUCH_LESS)][:_MOST]


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question to append to a message, as "; did you mean 'openvino'?"; empty where nothing resembles `given`."""
    found = " or ".join(f"'{name}'" for name in closest(given, known))
    return f"; did you mean {found}?" if found else ""


def _ranked(given: str, known: Iterable[str]) -> list[tuple[float, str]]:
    """The names in `known` with their similarity to `given`, the most similar first."""
    matcher = SequenceMatcher(b=given.casefold(), autojunk=False)
    found: list[tuple[float, str]] = []
    for name in dict.fromkeys(known):
        matcher.set_seq1(name.casefold())
        found.append((-matcher.ratio(), name))
    return [(-ratio, name) for ratio, name in sorted(found)]
