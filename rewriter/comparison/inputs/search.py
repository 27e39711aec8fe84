"""Looks for inputs that the original takes, where those that are usually made do not fit together.

One size or one small input is changed at a time. What is tried comes from the errors of the runtime, from the declared shapes, and
from the numbers that the model compares its inputs with. A change is kept if the run then fails elsewhere, or if the shapes of the
outputs come nearer to the declared ones.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...execution.budget import Budget
from ...execution.messages import Failure, Outputs, RejectedError
from ...execution.model_client import Session
from ...execution.values import byte_size
from ..judging.differences import is_nan_throughout
from .choice import Choice, SampleError, Values
from .readers import Dim, Reading
from .samples import InputSpace

MOST_RUNS = 1500
"""The number of runs after which the search ends."""
_RUNS_PER_START = 400
"""The number of runs after which it begins at another start."""
_RUNS_FOR_MORE = 120
"""The number of runs for which it goes on after the first inputs that fit."""
_FOUND_PER_START = 5
"""The number of inputs that are looked for from one start."""
_STARTS_WITH = 3
"""The number of starts of a search with one fixed input."""
_MOST_CRASHES = 2
_MOST_BYTES = 2 << 20
"""The bytes that the inputs of one run may take, unless those that the search starts from take more."""
_STARTS = 6
"""The number of inputs from which the search starts."""
_MOST_AS_NEAR = 12
"""The number of states with shapes equally near to the declared ones from which the search goes on."""
_MOST_TURNS = 16
"""The largest number of turns of a body that is tried, unless an output has as many elements along an axis."""
_MOST_ELEMENTS = 1 << 20
"""The largest product of numbers, which may be sizes, that is tried for a vector."""
_MOST_NUMBERS = 24
"""The number of numbers that are tried for a size or an element."""
_MOST_VECTORS = 60
"""The number of vectors that are tried for a small input."""
_LARGEST = 1 << 16
"""The largest number that is tried, if the model does not mention it."""
_ROUNDING = 2.0**-10
"""What is added to a size, so that a scale that was rounded does not make it smaller."""
_USUAL_SIZES = (1, 2, 3, 4, 5, 6, 8, 16, 64)
_USUAL_NUMBERS = (1, 2, 3, 4, 8, 16, 0, -1)
_SOURCE_LINE = r"\w+\.(?:cc|h|py):\d+"

Shape = tuple[Dim, ...]


class Tried(NamedTuple):
    """Inputs, and the answer of the original to them."""

    choice: Choice
    inputs: dict[str, Any]
    answer: Outputs | Failure


class Search:
    """Looks for inputs that one model takes."""

    def __init__(self, session: Session, space: InputSpace, budget: Budget, most_runs: int = MOST_RUNS) -> None:
        self._session = session
        self._space = space
        self._most_runs = most_runs
        self._found: list[Tried] = []
        self._choices: set[Choice] = set()
        self._runs = self._crashes = 0
        self._room = _MOST_BYTES
        self._budget = budget
        self._kept_back = budget.seconds_left / 2  # for running the result

    def run(self, tried: Sequence[Tried], wanted: int) -> list[Tried]:
        """At most `wanted` inputs that the original takes and whose outputs have the declared shapes; [] where none are found.

        `tried` are inputs that do not fit.
        """
        for start in _starts(tried):
            self._room = max(_MOST_BYTES, 2 * sum(map(byte_size, start.inputs.values())))
            self._search(start, min(len(self._found) + _FOUND_PER_START, wanted))
            if len(self._found) >= wanted or self._is_over:
                break
        return self._found

    def run_with(self, name: str, number: float, tried: Sequence[Tried]) -> list[Tried]:
        """Inputs as `run` looks for them, a few at most, in which all elements of the small input `name` are `number`."""
        self._found = []
        for start in _starts(tried)[:_STARTS_WITH]:
            self._room = max(_MOST_BYTES, 2 * sum(map(byte_size, start.inputs.values())))
            count = int(start.inputs[name].size)
            choice = start.choice.with_values(name, (number,) * count)
            for fixed in self._run_all([choice]):
                self._search(fixed, 1, fixed=name)
            if self._found or self._is_over:
                break
        return self._found

    @property
    def _is_over(self) -> bool:
        return self._runs >= self._most_runs or self._crashes > _MOST_CRASHES or self._budget.seconds_left < self._kept_back

    def _search(self, start: Tried, wanted: int, fixed: str = "") -> None:
        """Search from one start until `wanted` inputs are found in all."""
        frontier = _Frontier(self._space)
        if frontier.fits(start):
            self._found.append(start)
        last = self._runs + _RUNS_PER_START
        before = len(self._found)
        while (state := frontier.next()) is not None and self._runs < last:
            for reached in self._run_all(self._moves(state, fixed)):
                if frontier.fits(reached):
                    self._found.append(reached)
                if len(self._found) == before + 1:
                    last = min(last, self._runs + _RUNS_FOR_MORE)
                if len(self._found) >= wanted or self._runs >= last or self._is_over:
                    return

    def _run_all(self, choices: Iterable[Choice]) -> Iterator[Tried]:
        sent: deque[Choice] = deque()

        def samples() -> Iterator[dict[str, Any]]:
            for choice in choices:
                if choice in self._choices:
                    continue
                self._choices.add(choice)
                try:
                    inputs = self._space.make(choice, self._room)
                except (SampleError, RejectedError):
                    continue
                sent.append(choice)
                yield inputs

        for inputs, answer in self._session.run_all(samples()):
            self._runs += 1
            self._crashes += isinstance(answer, Failure) and answer.kind == "crashed"
            yield Tried(sent.popleft(), inputs, answer)

    def _moves(self, state: Tried, fixed: str) -> Iterator[Choice]:
        """The choices that differ from that of `state` in one size, or in one small input other than `fixed`."""
        shapes = _Shapes(self._space, state)
        numbers = _mentioned(state.answer)
        ways = [self._other_sizes(state.choice, shapes, numbers)]
        for name, reading in self._space.small_inputs(state.inputs).items():
            if name != fixed:
                ways.append(self._other_values(state, name, reading, shapes, numbers))
        yield from _in_turns(ways)
        if isinstance(state.answer, Outputs) and not self._found:
            yield from self._space.styled(state.choice)

    def _other_sizes(self, choice: Choice, shapes: _Shapes, numbers: list[int]) -> Iterator[Choice]:
        open_sizes = self._space.open_sizes(choice)
        ways = []
        for name, size in open_sizes.items():
            wanted = [*numbers, *shapes.steps(size), *_combined(numbers), *_USUAL_SIZES]
            sizes = [number for number in _unique(wanted) if 0 < number <= _LARGEST and number != size]
            ways.append([choice.with_size(name, number) for number in sizes[:_MOST_NUMBERS]])
        yield from _in_turns(ways)
        for name, size in open_sizes.items():  # all others
            for other in (64, 16):
                changed = choice
                for each in open_sizes:
                    changed = changed.with_size(each, size if each == name else other)
                yield changed

    def _other_values(self, state: Tried, name: str, reading: Reading, shapes: _Shapes, numbers: list[int]) -> Iterator[Choice]:
        array = state.inputs[name]
        old = tuple(float(element) for element in array.reshape(-1))
        known = [int(number) for number in sorted(reading.landmarks) if float(number).is_integer()]
        length = self._space.length_of(name)
        may_be_0 = not reading.strides and not reading.lengths
        for count in [len(old), *(shapes.counts if length else ())]:
            base = state.choice.with_size(length, count) if length else state.choice
            vectors = shapes.vectors(count, [*known, *numbers])
            vectors = shapes.nearer(old) + vectors if count == len(old) else vectors
            if array.dtype.kind == "b":
                vectors = _truths(count)
            elif array.dtype.kind in "iu":
                vectors = [vector for vector in vectors if all(number == int(number) for number in vector)]
            if reading.turns:  # each turn may double what the next one computes with
                vectors = [vector for vector in vectors if max(vector, default=0) <= max(_MOST_TURNS, shapes.longest)]
            allowed = [vector for vector in _unique(vectors) if (may_be_0 or 0 not in vector) and _is_small(vector)]
            if reading.offsets:  # no specification says what padding is that removes more than there is
                allowed = [vector for vector in allowed if min(vector) >= -1]
            yield from (base.with_values(name, vector) for vector in allowed[:_MOST_VECTORS])


class _Frontier:
    """The states from which one search goes on, the most promising one first."""

    def __init__(self, space: InputSpace) -> None:
        self._space = space
        self._heap: list[tuple[tuple[float, ...], int, Tried]] = []
        self._order = itertools.count()
        self._seen: set[object] = set()
        self._nearest = math.inf
        self._as_near = 0

    def next(self) -> Tried | None:
        return heapq.heappop(self._heap)[2] if self._heap else None

    def fits(self, state: Tried) -> bool:
        """Whether the original takes these inputs and does as it declares. A state that comes nearer to that is kept."""
        answer = state.answer
        if isinstance(answer, Failure):
            if answer.kind in ("runtime", "unsupported"):
                self._keep_failure(state, answer)
            return False
        contradictions = self._space.contradictions(state.inputs, answer)
        if not contradictions:
            self._push((-1, 0), state)
            return not any(map(is_nan_throughout, answer.values))
        distance = sum(contradiction.distance for contradiction in contradictions)
        if distance < self._nearest:
            self._nearest, self._as_near = distance, 0
        if distance == self._nearest and self._as_near < _MOST_AS_NEAR:
            self._as_near += 1
            self._push((0, distance), state)
        return False

    def _keep_failure(self, state: Tried, failure: Failure) -> None:
        """Keep the first state that fails at this node with this message, and behind these, with other numbers in it."""
        general = failure.node, re.sub(r"-?\d+", "#", failure.message)
        exact = failure.node, failure.message
        if general not in self._seen:
            self._push((1, -failure.node), state)
        elif exact not in self._seen:
            self._push((2, -failure.node), state)
        self._seen.update((general, exact))

    def _push(self, priority: tuple[float, ...], state: Tried) -> None:
        heapq.heappush(self._heap, (priority, next(self._order), state))


class _Shapes:
    """The shapes of a run, and of what it should have been."""

    def __init__(self, space: InputSpace, state: Tried) -> None:
        self._inputs = [tuple(value.shape) for value in state.inputs.values() if hasattr(value, "shape")]
        self._declared = [_known(shape) for shape in space.declared_shapes(state.inputs)]
        self._pairs: list[tuple[int, int]] = []
        self._got: list[tuple[int, ...]] = []
        if isinstance(state.answer, Outputs):
            self._got = [tuple(value.shape) for value in state.answer.values if hasattr(value, "shape")]
            for found in space.contradictions(state.inputs, state.answer):
                known = zip(found.declared, found.got, strict=False)
                self._pairs += [(wanted, got) for wanted, got in known if isinstance(wanted, int) and wanted != got]

    @property
    def counts(self) -> list[int]:
        """The lengths that a vector of axes, sizes or paddings may have."""
        ranks = {len(shape) for shape in self._inputs if shape}
        return sorted(ranks | {2 * rank for rank in ranks})

    @property
    def longest(self) -> int:
        """The largest declared size of an output; 0 where none is declared."""
        return max((dim for shape in self._declared for dim in shape if dim is not None), default=0)

    def steps(self, number: float) -> list[int]:
        """What `number` may have to be so that a dimension of an output gets the declared size."""
        found: list[float] = []
        for wanted, got in self._pairs:
            found += [number + wanted - got, wanted, number + got - wanted]
            found += [number * wanted / got] if got else []
        return [int(number) for number in found if number == int(number)]

    def nearer(self, old: Values) -> list[Values]:
        """The same elements but for one, which may make a dimension of an output as large as it is declared."""
        found = []
        for place, number in enumerate(old):
            candidates: list[float] = []
            for wanted, got in self._pairs:
                candidates += [number + wanted - got, number - wanted + got, wanted]
                candidates += [number * wanted / got] if got else []
            found += [(*old[:place], candidate, *old[place + 1 :]) for candidate in _unique(candidates)]
        return found

    def vectors(self, count: int, numbers: Sequence[int]) -> list[Values]:
        """Sizes, paddings, scales, parts and factors of these shapes, and vectors of one number."""
        if count == 0:
            return []
        found: list[tuple[float, ...]] = [*self._of_declared(count), *self._of_parts(count)]
        for number in numbers[:_MOST_NUMBERS]:
            found.append((number,) * count)
        dims = _unique([dim for shape in [*self._declared, *self._inputs] for dim in shape if dim is not None])
        found += [(dim,) * count for dim in dims if count == 1]
        for dim in dims if count > 1 else []:
            found += [_parts(dim, count), (*(1,) * (count - 1), dim - count + 1), (dim, *(0,) * (count - 1))]
            found += [(*(1,) * (count - 1), dim), (dim, *(1,) * (count - 1)), *_factors(dim, count)]
        for shape in self._inputs:
            found += [shape[-count:], shape[:count]] if len(shape) >= count else []
        found += [(number,) * count for number in _USUAL_NUMBERS]
        if count == 1:
            found += [(dim - 1,) for dim in dims] + [(number,) for number in _combined(numbers)]
        return _unique(tuple(map(float, vector)) for vector in found if all(math.isfinite(number) for number in vector))

    def _of_declared(self, count: int) -> Iterator[tuple[float, ...]]:
        """The declared sizes, and how the inputs would have to be padded, repeated or scaled for them."""
        for shape in self._declared:
            whole = self._filled(shape)
            if len(whole) >= count:
                yield whole[-count:]
                yield whole[:count]
            for other in self._inputs:
                if len(other) != len(whole) or not whole:
                    continue
                added = [wanted - size for wanted, size in zip(whole, other, strict=True)]
                if count % 2 == 0 and count // 2 <= len(whole):
                    half = added[-(count // 2) :]
                    zeros = [0] * len(half)
                    yield (*zeros, *half)
                    yield (*half, *zeros)
                    yield (*(size // 2 for size in half), *(size - size // 2 for size in half))
                    yield (*(-1 for _ in half), *(size + 1 for size in half))
                if count <= len(whole) and 0 not in other:
                    pairs = list(zip(whole, other, strict=True))[-count:]
                    yield tuple(wanted / size for wanted, size in pairs)
                    yield tuple((wanted + _ROUNDING * (wanted % size > 0)) / size for wanted, size in pairs)

    def _of_parts(self, count: int) -> Iterator[tuple[float, ...]]:
        """The lengths of that many outputs, one after the other, along each axis."""
        for first in range(len(self._declared) - count + 1):
            parts = self._declared[first : first + count]
            for dims in zip(*parts, strict=False):
                if None not in dims:
                    yield tuple(float(dim) for dim in dims if dim is not None)

    def _filled(self, shape: tuple[int | None, ...]) -> tuple[int, ...]:
        """The declared shape; where a size is not known, that which the run has, or 2."""
        got = next((got for got in self._got if len(got) == len(shape)), (2,) * len(shape))
        return tuple(size if dim is None else dim for dim, size in zip(shape, got, strict=True))


def _known(shape: Shape) -> tuple[int | None, ...]:
    return tuple(dim if isinstance(dim, int) else None for dim in shape)


def _starts(tried: Sequence[Tried]) -> list[Tried]:
    """The first inputs, and the first of each other kind of failure; of those that the original takes, also the nearest."""
    found: dict[object, Tried] = {}
    for each in tried:
        answer = each.answer
        key = re.sub(r"-?\d+", "#", answer.message) if isinstance(answer, Failure) else "taken"
        found.setdefault(key, each)
    return [*found.values()][:_STARTS]


def _mentioned(answer: Outputs | Failure) -> list[int]:
    """The numbers in the message of a failure."""
    if isinstance(answer, Outputs):
        return []
    found = map(int, re.findall(r"-?\b\d{1,7}\b", re.sub(_SOURCE_LINE, "", answer.message)))
    return _unique(found)[:_MOST_NUMBERS]


def _combined(numbers: Sequence[int]) -> list[int]:
    """Sums, differences and products of two of the numbers."""
    few = [number for number in numbers[:8] if number > 0]
    found: list[int] = []
    for one, other in itertools.combinations(few, 2):
        found += [one * other, one + other, abs(one - other)]
    return [number for number in found if 0 < number <= _LARGEST]


def _parts(total: int, count: int) -> Values:
    """`count` numbers whose sum is `total`, as equal as possible."""
    return tuple(float(total // count + (place < total % count)) for place in range(count))


def _truths(count: int) -> list[Values]:
    """Any number of ones among zeros, at the front and at the back."""
    numbers = [(1.0,) * ones + (0.0,) * (count - ones) for ones in range(count + 1)]
    return [vector for number in numbers for vector in (number, number[::-1])]


def _is_small(vector: Values) -> bool:
    """Whether sizes of these numbers make no large tensor."""
    return len(vector) == 1 or math.prod(max(abs(number), 1.0) for number in vector) <= _MOST_ELEMENTS


def _factors(product: int, count: int) -> list[Values]:
    """Pairs of numbers with that product, with ones before them."""
    pairs = [(number, product // number) for number in range(2, min(product, 64)) if product % number == 0]
    return [(*(1.0,) * (count - 2), float(one), float(other)) for one, other in pairs[:6]]


def _unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _in_turns(ways: Iterable[Iterable[Choice]]) -> Iterator[Choice]:
    """One of each way after the other."""
    missing = object()
    for group in itertools.zip_longest(*ways, fillvalue=missing):
        yield from (choice for choice in group if choice is not missing)  # type: ignore[misc]
