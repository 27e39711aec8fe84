"""What a comparison may cost.

Estimates decide what is judged, and are the same on every machine; the clock only ends what was estimated wrongly.
"""

from __future__ import annotations

import time

LEAST = 1.0
"""The budget in seconds, if that is more than TIMES as long as loading and running both models once takes."""
TIMES = 5.0
_PLANNED = 0.5
"""The share of the budget for which samples are planned. The rest is for estimates that are too low."""
_SECOND = 1e9
"""Estimates are in nanoseconds."""


class Budget:
    """The budget of one comparison: seconds, of which estimates and the clock are each subtracted on their own."""

    def __init__(self, seconds: float | None = None) -> None:
        """Begin a budget of `seconds`, which the user states; by default, it depends on the models, which `weigh` tells."""
        self._is_fixed = seconds is not None
        self.seconds = LEAST if seconds is None else seconds
        self._spent = 0.0
        self._begun = time.thread_time()
        self._charged = 0.0
        self._is_renewed = False

    def weigh(self, once: float) -> None:
        """Allow for models of which loading and running both once takes `once` nanoseconds, unless the user states the budget."""
        if not self._is_fixed:
            self.seconds = max(self.seconds, TIMES * once / _SECOND)

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

    def part(self, share: float, least: float = 0.0) -> Budget:
        """A budget of a share of what is left, and of no less than `least` nanoseconds if as much is left."""
        part = Budget(max(self.left * share, min(least, self.left)) / _PLANNED / _SECOND)
        part.charge(max(part.seconds - self.seconds_left, 0.0))
        return part

    def renew(self) -> None:
        """Begin once more: a difference that was found has the same budget again, to be explained. Only the first call counts."""
        if not self._is_renewed:
            self._is_renewed = True
            self._spent = 0.0
            self._begun, self._charged = time.thread_time(), 0.0

    # -- by the clock

    def charge(self, seconds: float) -> None:
        """Note processor time that a child took for this comparison."""
        self._charged += seconds

    @property
    def seconds_left(self) -> float:
        """The seconds of processor time after which everything ends, also what was planned.

        Processor time is that of this thread and what was charged. Another program that keeps the machine busy ends no comparison.
        """
        return self.seconds - (time.thread_time() - self._begun) - self._charged

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.seconds_left <= 0

    def __str__(self) -> str:
        return f"the budget of {self.seconds:.3g} s"
