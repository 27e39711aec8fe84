"""Release numbers, such as "2024.2" and "1.31.1", and ranges of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

Release = tuple[int, ...]


def parse_release(text: str) -> Release:
    """The numbers in `text`, such as "2024.2" or "2024.2.0". Raises ValueError where it is not a release number."""
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"'{text}' is not a release number")
    return tuple(map(int, parts))


def leading_release(version: str) -> Release | None:
    """The release with which the version of a package begins, as 1.20.0 in "1.20.0rc1"; None where it begins with none."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    return None if numbers is None else parse_release(numbers[0])


class Range(NamedTuple):
    """The releases from `first` to `last`, both included.

    Only the stated numbers count: 2024.6 includes 2024.6.1. None is no bound.
    """

    first: Release | None = None
    last: Release | None = None

    def __contains__(self, release: object) -> bool:
        assert isinstance(release, tuple)
        above = self.first is None or _cut(release, self.first) >= self.first
        return above and (self.last is None or _cut(release, self.last) <= self.last)

    def covers(self, other: Range) -> bool:
        """Whether all releases of `other` are within this range."""
        starts = self.first is None or (other.first is not None and other.first in self)
        return starts and (self.last is None or (other.last is not None and other.last in self))

    def overlaps(self, other: Range) -> bool:
        return _starts_in(self, other) or _starts_in(other, self)


def known_near(release: Release, known: Sequence[Range]) -> tuple[Release, ...]:
    """`release` where one of the ranges `known` has it; else the nearest one that is known before it, and the nearest one after it.

    The number of a series, such as 10, stands for all that are known of it, such as 10.1 and 10.15.
    """
    series = [bound for releases in known if (bound := _of_series(release, releases)) is not None]
    if len(series) > 1:
        return tuple(sorted(series))
    if any(release in releases for releases in known):
        return (release,)
    older = [releases.last for releases in known if releases.last is not None and releases.last < release]
    newer = [releases.first for releases in known if releases.first is not None and releases.first > release]
    return (*sorted(older)[-1:], *sorted(newer)[:1])


def _of_series(number: Release, releases: Range) -> Release | None:
    """The last, or the first, of `releases` if it begins with `number` and has more numbers."""
    bounds = (releases.last or (), releases.first or ())
    return next((bound for bound in bounds if bound[: len(number)] == number != bound), None)


def _cut(release: Release, bound: Release) -> Release:
    """`release` with as many numbers as `bound`; missing ones are 0."""
    return (*release, *[0] * len(bound))[: len(bound)]


def _starts_in(inner: Range, outer: Range) -> bool:
    return (inner.first or ()) in outer
