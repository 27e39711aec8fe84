"""Release numbers, such as "2024.2" and "1.31.1", and ranges of them."""

from __future__ import annotations

from typing import NamedTuple

Release = tuple[int, ...]


def parse_release(text: str) -> Release:
    """The numbers in `text`, such as "2024.2" or "2024.2.0". Raises ValueError where it is not a release number."""
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"'{text}' is not a release number")
    return tuple(map(int, parts))


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


def _cut(release: Release, bound: Release) -> Release:
    """`release` with as many numbers as `bound`; missing ones are 0."""
    return (*release, *[0] * len(bound))[: len(bound)]


def _starts_in(inner: Range, outer: Range) -> bool:
    return (inner.first or ()) in outer
