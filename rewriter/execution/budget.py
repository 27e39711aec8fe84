"""What a comparison may cost, from its first run to the last.

Estimates decide what is judged, and are the same on every machine; the clock only ends what was estimated wrongly.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

LEAST = 1.0
"""The budget in seconds, if that is more than TIMES as long as loading and running all models once takes."""
TIMES = 5.0
_CLOCK = 4.0
"""The seconds of processor time that a comparison may take, however small its budget."""
_CLOCK_TIMES = 2.0
"""How many times the budget a comparison may take by the clock: a slow processor is to change no verdict."""
TRIES = 3
"""The number of tries of one subject of a part whose models count."""
_PLANNED = 0.5
"""The share of the budget for which samples are planned. The rest is for estimates that are too low."""
_OF_TIME = 0.5
"""The share of the time that is left which a part of a budget may take, if its estimates were too low."""
_SECOND = 1e9
"""Estimates are in nanoseconds."""


class Budget:
    """The budget of one comparison, from which estimates and the clock are each subtracted on their own."""

    def __init__(self, seconds: float | None = None) -> None:
        """Begin a budget of `seconds`, which the user states; by default, it depends on the models, which `weigh` tells."""
        self._is_fixed = seconds is not None
        self._least = LEAST if seconds is None else seconds
        self._whole: Budget | None = None
        self._once = 0.0
        self._weighed = 0
        self._spent = 0.0
        self._taken = 0.0
        self._begun: float | None = None
        self._is_renewed = False

    @property
    def seconds(self) -> float:
        """The whole budget, as far as the models are known."""
        return self._least if self._is_fixed else max(self._least, TIMES * self._once / _SECOND)

    @property
    def clock(self) -> float:
        """The seconds of processor time after which the clock ends the whole."""
        if self._whole is not None:
            return self._whole.clock
        return self.seconds if self._is_fixed else max(_CLOCK, _CLOCK_TIMES * self.seconds)

    def weigh(self, once: float) -> None:
        """Allow for models that take `once` nanoseconds to be loaded and run once, unless the user states the budget.

        In a part, the first TRIES of a subject count: the others are of the same nodes, with inputs of other shapes.
        """
        self._weighed += 1
        if self._whole is not None and self._weighed > TRIES:
            return
        self._once += once
        if self._whole is not None:
            self._whole.weigh(once)

    def begin_subject(self) -> None:
        """Note that other nodes are tried from now on, so that their first TRIES count."""
        self._weighed = 0

    def part(self, among: int) -> Budget:
        """The budget of the next of `among` parts that are judged one after the other: an equal share of what can still be planned,
        or what its own models take if that is more. What it does not spend is left for the others.
        """
        part = Budget(self.left / max(among, 1) / _PLANNED / _SECOND)
        part._is_fixed = self._is_fixed
        part._whole = self
        return part

    def renew(self) -> None:
        """Begin once more: a difference that was found has the same budget again, to be explained. Only the first call counts."""
        if not self._is_renewed:
            self._is_renewed = True
            self._spent = self._taken = 0.0
            self._begun = None if self._begun is None else time.thread_time()
        if self._whole is not None:
            self._whole.renew()

    # -- by estimates

    @property
    def left(self) -> float:
        """The nanoseconds that can still be planned."""
        return max(self.seconds * _SECOND * _PLANNED - self._spent, 0.0)

    def affords(self, each: float, share: float = 1.0) -> int:
        """How many things of `each` nanoseconds a share of what is left suffices for."""
        return int(self.left * share / max(each, 1.0))

    def spend(self, estimate: float) -> None:
        """Subtract nanoseconds from what can be planned."""
        self._spent += estimate
        if self._whole is not None:
            self._whole.spend(estimate)

    # -- by the clock

    def timed(self) -> AbstractContextManager[None]:
        """Charge the processor time that this thread takes within a `with`, once where they are nested."""
        clock = self if self._whole is None else self._whole
        return nullcontext() if clock._begun is not None else clock._running()

    @contextmanager
    def _running(self) -> Iterator[None]:
        self._begun = time.thread_time()
        try:
            yield
        finally:
            self._taken += time.thread_time() - self._begun
            self._begun = None

    def charge(self, seconds: float) -> None:
        """Note processor time that a child took for this comparison."""
        self._taken += seconds
        if self._whole is not None:
            self._whole.charge(seconds)

    @property
    def seconds_left(self) -> float:
        """The seconds of processor time after which everything ends, also what was planned.

        Processor time is that within `timed` and what was charged. Another program that keeps the machine busy ends no comparison.
        """
        if self._whole is not None:
            return self._whole.seconds_left * _OF_TIME
        running = 0.0 if self._begun is None else time.thread_time() - self._begun
        return self.clock - self._taken - running

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.seconds_left <= 0

    def __str__(self) -> str:
        return f"the budget of {(self._whole or self).seconds:.3g} s"
