"""Asks z3 whether a condition follows from what the original requires of its inputs, within a limit of time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import terms
from .solver import z3
from .tensors import Tensor
from .terms import Condition, Whole

EFFORT = 100_000_000
"""The effort for one question, in steps that z3 counts: some two seconds, on any machine the same."""
_SECONDS = 10.0
"""The time for one question, for those of which z3 does not count the steps."""
_BOUNDS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256, 2_048)
"""The largest lengths among which a counterexample is looked for, one after the other."""


class UnprovenError(Exception):
    """A condition was not shown to hold; `str()` is the reason. `lengths`: those of the inputs for which it may not hold."""

    def __init__(self, reason: str, lengths: dict[str, int] | None = None) -> None:
        super().__init__(reason)
        self.lengths = lengths or {}


class Prover:
    """What is given, and questions about what follows from it. `seconds` is the time for all questions."""

    def __init__(self, seconds: float) -> None:
        self._solver = z3.Solver()
        self._solver.set("rlimit", EFFORT)
        self._ends = time.monotonic() + seconds
        self._lengths: dict[str, Any] = {}
        self._batches: frozenset[str] = frozenset()
        self._count = 0
        self.sizes: dict[str, Whole] = {}
        """The lengths of the axes into which the indices point that were asked about, by the names of these."""

    def length(self, name: str, shown: str = "") -> Any:
        """An integer from 0 to 2^31, the same for the same name. `shown`: its name in counterexamples, "" where it is in none."""
        found = z3.Int(terms.label(name))
        self._solver.add(found >= 0, found < 1 << 31)
        if shown:
            self._lengths[shown] = found
        return found

    def prefer_batches(self, shown: frozenset[str]) -> None:
        """Look for counterexamples in which the lengths of these names are not 0 first: others do not count for conversions."""
        self._batches = shown

    def fresh_number(self) -> int:
        """A number that no other value has."""
        self._count += 1
        return self._count

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end what is assumed meanwhile."""
        with self._assuming():
            yield

    def assume(self, condition: Condition) -> None:
        """Take it that the condition holds."""
        if condition is not True:
            self._solver.add(terms.term(condition))

    @property
    def is_possible(self) -> bool:
        """Whether some lengths fulfil all that is assumed, as far as the solver finds them."""
        return self._ask() == z3.sat

    def is_certain(self, condition: Condition) -> bool:
        """Whether the condition is shown to follow from what is assumed."""
        if isinstance(condition, bool):
            return condition
        with self._assuming(z3.Not(condition)):
            return self._ask() == z3.unsat

    def require(self, condition: Condition, what: str) -> None:
        """Raises UnprovenError where the condition is not shown to follow from what is assumed."""
        if condition is True:
            return
        with self._assuming(z3.Not(terms.term(condition))):
            answer = self._ask()
            if answer == z3.unknown:
                raise UnprovenError(f"the solver cannot tell {what}")
            if answer == z3.sat:
                raise UnprovenError(f"nothing shows {what}", self._smallest() if terms.is_about_inputs(condition) else {})

    def require_equal(self, one: Tensor, other: Tensor) -> None:
        """Raises UnprovenError where the two tensors are not shown to have the same type, lengths and elements."""
        if one.elem_type != other.elem_type or one.rank != other.rank:
            raise UnprovenError("it has another type or rank", self._smallest())
        for axis, (size, wanted) in enumerate(zip(other.dims, one.dims, strict=True)):
            is_same = terms.equal(size, wanted)
            is_other = terms.functions(size) != terms.functions(wanted) and not terms.is_about_inputs(terms.term(is_same))
            self._require_length(is_same, is_other, axis)
        if any(isinstance(size, int) and size == 0 for size in (*one.dims, *other.dims)):
            return
        with self.inside(one.dims) as index:
            before, after = one.at(index), other.at(index)
            if not self.is_certain(terms.equal(before, after)) and terms.functions(before) != terms.functions(after):
                raise UnprovenError("other operators compute it")
            self.require(terms.equal(before, after), "that all elements are the same")

    def _require_length(self, is_same: Condition, is_other: bool, axis: int) -> None:
        """Require the same length of an axis. `is_other`: whether other values that are not understood are in it."""
        if is_other and not self.is_certain(is_same):
            raise UnprovenError(f"other operators compute the length of axis {axis}")
        self.require(is_same, f"that axis {axis} has the same length")

    @contextmanager
    def inside(self, dims: Sequence[Whole]) -> Iterator[tuple[Whole, ...]]:
        """An index into a tensor with these lengths, of which nothing else is known."""
        number = self.fresh_number()
        index = tuple(z3.Int(f"index{number}_{axis}") for axis in range(len(dims)))
        self.sizes.update((place.decl().name(), size) for place, size in zip(index, dims, strict=True))
        bounds = [z3.And(place >= 0, place < size) for place, size in zip(index, dims, strict=True)]
        with self._assuming(*bounds):
            yield index

    @contextmanager
    def _assuming(self, *conditions: Any) -> Iterator[None]:
        self._solver.push()
        self._solver.add(*conditions)
        try:
            yield
        finally:
            self._solver.pop()

    def _ask(self, *more: Any) -> Any:
        left = min(self._ends - time.monotonic(), _SECONDS)
        if left <= 0:
            raise UnprovenError("the time is up")
        self._solver.set("timeout", int(1000 * left) + 1)
        return self._solver.check(*more)

    def _smallest(self) -> dict[str, int]:
        """Lengths of the inputs for which all that is assumed now holds, as small as possible; none where all of them are long."""
        ranges = ((least, bound) for least in (1, 0) for bound in _BOUNDS)
        try:
            if all(self._ask(*self._within(least, bound)) != z3.sat for least, bound in ranges):
                return {}
        except UnprovenError:  # the time is up
            return {}
        found = self._solver.model()
        return {name: found.eval(length, model_completion=True).as_long() for name, length in self._lengths.items()}

    def _within(self, least: int, bound: int) -> Iterable[Any]:
        """That no length is above the bound, and that no batch is below the least one."""
        yield from (length <= bound for length in self._lengths.values())
        yield from (length >= least for name, length in self._lengths.items() if name in self._batches)
