"""The totals of a run: how many models have which outcome, and how many models each kind of blocker stops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import Blocker
from .summary import kind_of

_ORDER = ("converted", "convertible", "not convertible", "unusable", "failed a check", "failed")


class Obstacle(NamedTuple):
    """Blockers that differ only in names, and the models that they stop."""

    example: Blocker
    models: list[Entry]

    @property
    def text(self) -> str:
        """The operator, transition and reason, without names of nodes or values."""
        op_type, transition, reason = kind_of(self.example)
        return f"{op_type} {transition}: {reason}" if transition else f"{op_type}: {reason}"

    @property
    def freed(self) -> int:
        """The number of models that only this obstacle stops, so that one fix would free them."""
        return sum(len(model.obstacles) == 1 for model in self.models)


class Entry(NamedTuple):
    """The part of a report that is kept until the end of the run. It is small, because there may be a million reports."""

    number: int
    source: str
    destination: str | None
    outcome: str
    exit_status: int
    message: str
    seconds: float
    was_done_before: bool
    blockers: tuple[Blocker, ...]
    warnings: tuple[str, ...]
    is_at_uri: bool
    """Whether `source` is a URI and not a path of this system."""
    certified: str = ""
    """What is proved for all shapes; "" where that was not asked for."""

    @property
    def obstacles(self) -> set[tuple[str, ...]]:
        """The kinds of blockers that stop the model: their texts without names."""
        return {kind_of(blocker) for blocker in self.blockers}

    @property
    def first_blocker(self) -> str:
        """The first blocker, and the number of further ones; empty where there is none."""
        more = f" (and {len(self.blockers) - 1:,} more)" if len(self.blockers) > 1 else ""
        return "".join(f"{blocker}{more}" for blocker in self.blockers[:1])

    @property
    def reason(self) -> str:
        """Why the model was not converted, on one line that names the model; empty where it was converted."""
        if self.exit_status == 0:
            return ""
        if self.blockers:
            return f"{self.source}: {self.first_blocker}"
        return self.message if self.message.startswith(f"{self.source}:") else f"{self.source}: {self.message}"


@dataclass
class Totals:
    """The results of all models of a run."""

    entries: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)

    @property
    def exit_status(self) -> int:
        """The exit status of the run: the worst status of any model, or 0."""
        return max((entry.exit_status for entry in self.entries), default=0)

    @property
    def outcomes(self) -> dict[str, int]:
        """The number of models with each outcome, the successful outcomes first."""
        counts = Counter(entry.outcome for entry in self.entries)
        return {name: counts[name] for name in _ORDER if counts[name]}

    @property
    def in_order(self) -> list[Entry]:
        """The models in the order in which they were named."""
        return sorted(self.entries, key=lambda entry: entry.number)

    def obstacles(self) -> list[Obstacle]:
        """The obstacles, starting with the one that stops most models."""
        found: dict[tuple[str, ...], Obstacle] = {}
        for entry in self.in_order:
            for key, blocker in {kind_of(blocker): blocker for blocker in reversed(entry.blockers)}.items():
                found.setdefault(key, Obstacle(blocker, [])).models.append(entry)
        return sorted(found.values(), key=lambda obstacle: (-len(obstacle.models), obstacle.text))


_MOST_ROWS = 20
"""The number of obstacles in the table of the terminal; the overview page has all of them."""


def table(totals: Totals, seconds: float, processes: str) -> Iterator[str]:
    """The summary of a run as lines of text."""
    count = len(totals.entries)
    rate = f"{count / seconds:.1f} a second" if seconds else ""
    yield f"{count:,} model{'s' * (count != 1)} in {seconds:.1f} s, {rate}{processes}"
    rows = list(totals.outcomes.items())
    before = sum(entry.was_done_before for entry in totals.entries)
    rows += [("done before", before)] if before else []
    width = max((len(name) for name, _ in rows), default=0)
    yield from (f"  {name.ljust(width)}  {number:>7,}" for name, number in rows)
    obstacles = totals.obstacles()
    if not obstacles:
        return
    yield "blockers (models affected; models with no other blocker)"
    yield from (f"  {len(each.models):>7,}  {each.freed:>7,}  {each.text}" for each in obstacles[:_MOST_ROWS])
    if len(obstacles) > _MOST_ROWS:
        yield f"  … and {len(obstacles) - _MOST_ROWS:,} more; --report FILE.html shows all"
