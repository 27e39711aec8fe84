"""Finds the lowest and highest opset that a model can be converted to, by dry runs on copies of the
skeleton, and what blocks the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..errors import Blocker
from .outcome import Outcome

DryRun = Callable[[int], Outcome]
"""Converts a copy of the model to an opset and returns the outcome."""


class Reach(NamedTuple):
    """The lowest and the highest opset that a model can be converted to, with the blockers of the next opset below and above."""

    lowest: int
    highest: int
    below: tuple[Blocker, ...]
    above: tuple[Blocker, ...]


def find_reach(source: int, newest: int, dry_run: DryRun) -> Reach:
    """Find the reach of a model of opset `source`. `newest` is the newest opset that the installed onnx knows."""
    lowest, below = _furthest(source, 1, dry_run)
    highest, above = _furthest(source, newest, dry_run)
    return Reach(lowest, highest, below, above)


def _furthest(source: int, limit: int, dry_run: DryRun) -> tuple[int, tuple[Blocker, ...]]:
    """The opset closest to `limit` that the model can be converted to, and the blockers of the next one.

    Each blocker names the step that failed, so the first dry run tells where to stop. Further runs confirm it, because a rule may
    choose another way for another target.
    """
    reached, stops = limit, ()
    while reached != source:
        blockers = dry_run(reached).blockers
        if not blockers:
            break
        last = [_last_opset(blocker, source, reached) for blocker in blockers]
        reached = min(last) if limit > source else max(last)
        stops = tuple(blocker for blocker, opset in zip(blockers, last, strict=True) if opset == reached)
    return reached, stops


def _last_opset(blocker: Blocker, source: int, target: int) -> int:
    """The last opset that the blocked node could reach: the left side of "18→17". The result lies from `source` on and before
    `target`.

    The left side may be outside this range where a function has its own opset, or where a rule made nodes of a later opset.
    """
    left, arrow, _ = blocker.transition.partition("→")
    last = int(left) if arrow else source
    return max(source, min(last, target - 1)) if target > source else min(source, max(last, target + 1))
