"""How far down and up a model can be converted, and what stops it there, found by dry runs on copies of the skeleton."""

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
    """The reach of a model of opset `source`; `newest` is the newest opset that the installed onnx knows."""
    lowest, below = _furthest(source, 1, dry_run)
    highest, above = _furthest(source, newest, dry_run)
    return Reach(lowest, highest, below, above)


def _furthest(source: int, limit: int, dry_run: DryRun) -> tuple[int, tuple[Blocker, ...]]:
    """The opset nearest to `limit` that the model reaches, and the blockers of the next one.

    Each blocker names the step that it could not take, so the first run tells where to stop. The next runs confirm it, since a rule
    may choose another way for another target.
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
    """The last opset in whose form the blocked node is: the left side of "18→17", from `source` on and before `target`.

    It may be none of these where a function has its own opset, or where a rule made nodes of a later opset, which come down again.
    """
    left, arrow, _ = blocker.transition.partition("→")
    last = int(left) if arrow else source
    return max(source, min(last, target - 1)) if target > source else min(source, max(last, target + 1))
