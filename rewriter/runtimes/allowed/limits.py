"""Limits on one number or word: the right side of most conditions, such as [1, 2], { min = 1, max = 7 } or "power2"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import listed
from .findings import MET, Finding, against, all_of, unknown

DEFAULT = "default"
"""The word for what ONNX takes where nothing is stated."""
WORDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "integer": (lambda number: float(number).is_integer(), "a whole number"),
    "power2": (lambda number: number > 0 and math.log2(number).is_integer(), "a power of two"),
}
_KEYS = ("min", "max", "mod", "not", *WORDS)


@dataclass(frozen=True)
class Limit:
    """What a number or word may be. `allowed` None stands for any that the other fields permit."""

    allowed: tuple[Any, ...] | None = None
    least: float | None = None
    most: float | None = None
    divisor: int | str | None = None
    """A number, or the name of an attribute, that has to divide it."""
    refused: tuple[Any, ...] = ()
    words: tuple[str, ...] = ()
    """Words that describe numbers, such as "integer"."""
    may_be_absent: bool = False
    """Whether it may be left out, or have the default value of ONNX's specification."""
    not_understood: tuple[str, ...] = field(default=())
    """Keys that this program does not know."""

    def judge(self, value: Any, shown: str, divisor: int | None = None) -> Finding:
        """Judge one number or word. `shown` says what it is, and `divisor` is the value of the attribute that has to divide it."""
        if self.not_understood:
            return unknown(f"the profile has {listed(self.not_understood)} for {shown}, which is not known here")
        checks = (self._judge_set(value, shown), self._judge_range(value, shown), self._judge_words(value, shown, divisor))
        return all_of(checks)

    def with_sets(self, allowed: tuple[Any, ...] | None, refused: tuple[Any, ...]) -> Limit:
        """The same limit with other sets."""
        return replace(self, allowed=allowed, refused=refused)

    @property
    def is_of_lists(self) -> bool:
        """Whether it limits a whole list of numbers, and not each of them."""
        return any(isinstance(value, list) for value in (*(self.allowed or ()), *self.refused))

    @property
    def numbers(self) -> list[float]:
        """The numbers that it names: its bounds, and those that are allowed or refused."""
        named = (self.least, self.most, *(self.allowed or ()), *self.refused)
        return [number for number in named if isinstance(number, int | float)]

    @property
    def texts(self) -> list[str]:
        """The texts that are allowed or refused."""
        return [value for value in (*(self.allowed or ()), *self.refused) if isinstance(value, str)]

    def _judge_set(self, value: Any, shown: str) -> Finding:
        if self.allowed is not None and not any(_equal(value, one) for one in self.allowed):
            return against(f"{shown} is {_shown(value)}, not {' or '.join(map(_shown, self.allowed)) or self._shown_nothing()}")
        if any(_equal(value, one) for one in self.refused):
            return against(f"{shown} is {_shown(value)}")
        return MET

    def _shown_nothing(self) -> str:
        return "the default" if self.may_be_absent else "left out"

    def _judge_range(self, value: Any, shown: str) -> Finding:
        if self.least is None and self.most is None:
            return MET
        if not isinstance(value, int | float):
            return against(f"{shown} is {_shown(value)}, and not a number")
        if (self.least is None or value >= self.least) and (self.most is None or value <= self.most):
            return MET
        return against(f"{shown} is {_shown(value)}, not {self._shown_range()}")

    def _shown_range(self) -> str:
        if self.least is None:
            return f"at most {_shown(self.most)}"
        return f"at least {_shown(self.least)}" if self.most is None else f"{_shown(self.least)} to {_shown(self.most)}"

    def _judge_words(self, value: Any, shown: str, divisor: int | None) -> Finding:
        for word in self.words:
            test, means = WORDS[word]
            if not isinstance(value, int | float) or not test(value):
                return against(f"{shown} is {_shown(value)}, not {means}")
        if self.divisor is None:
            return MET
        by = self.divisor if isinstance(self.divisor, int) else divisor
        if not by:
            return unknown(f"{self.divisor}, which has to divide {shown}, is unknown")
        return MET if value % by == 0 else against(f"{shown} is {_shown(value)}, not a multiple of {by}")


def read_limit(given: Any, where: str) -> Limit:
    """Read a limit. Raises ValueError, which says what is wrong."""
    if isinstance(given, Mapping):
        return _of_table(given, where)
    if given == DEFAULT:
        return Limit(allowed=(), may_be_absent=True)
    if isinstance(given, str) and given in WORDS:
        return Limit(words=(given,))
    values = given if isinstance(given, list) else [given]
    if not all(isinstance(value, int | float | str | bool | list) for value in values):
        raise ValueError(f"{where}: write a value, a list of values, or {{ min = 1, max = 7 }}")
    kept = tuple(int(value) if isinstance(value, bool) else value for value in values if value != DEFAULT)
    return Limit(allowed=kept, may_be_absent=len(kept) < len(values))


def _of_table(given: Mapping[str, Any], where: str) -> Limit:
    for key in ("min", "max"):
        if key in given and (isinstance(given[key], bool) or not isinstance(given[key], int | float)):
            raise ValueError(f"{where}: {key} has to be a number")
    if given.get("min", -math.inf) > given.get("max", math.inf):
        raise ValueError(f"{where}: min is above max, so that nothing would be allowed")
    mod = given.get("mod")
    if mod is not None and (isinstance(mod, bool) or not isinstance(mod, int | str) or mod == 0):
        raise ValueError(f"{where}: mod has to be a number above 0, or the name of an attribute")
    refused = given.get("not", [])
    return Limit(
        least=given.get("min"),
        most=given.get("max"),
        divisor=mod,
        refused=tuple(refused if isinstance(refused, list) else [refused]),
        words=tuple(word for word in WORDS if given.get(word)),
        not_understood=tuple(sorted(given.keys() - set(_KEYS))),
    )


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, float) or isinstance(other, float):
        numbers = isinstance(value, int | float) and isinstance(other, int | float)
        return numbers and math.isclose(value, other, rel_tol=1e-6)
    return type(value) is type(other) and value == other


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
