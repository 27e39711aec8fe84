"""Tensors as maps from indices to elements: their lengths and elements are terms over the open dimensions of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import product as combinations
from typing import Any, TypeAlias

import numpy as np
from onnx import TensorProto

from . import terms
from .solver import z3
from .terms import DATA, Term, Whole

Index: TypeAlias = "tuple[Whole, ...]"

WHOLE = frozenset(
    getattr(TensorProto, name)
    for name in ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "INT4", "UINT4")
)
"""The element types whose elements are integers."""
MOST_ENTRIES = 1_024
"""The number of elements up to which each has a term of its own."""


class NotModelledError(Exception):
    """What a node computes cannot be said in the language of the solver; `str()` is the reason."""


class DisputedError(NotModelledError):
    """Runtimes disagree about what a node makes, so that nothing is known of it, not even its type."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of `elem_type`, a TensorProto.DataType, with the lengths `dims`; `at` gives the element at an index.

    `entries`: the elements, in an array of the shape, where all lengths are known and there are few. `is_sized`: whether the
    elements are integers that come from lengths and constants alone, so that no arithmetic on them overflows.
    """

    elem_type: int
    dims: Index
    at: Callable[[Index], Term]
    entries: np.ndarray | None = None
    is_sized: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", _remembered(self.at))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def size(self) -> Whole:
        """The number of elements."""
        return terms.product(self.dims)

    def at_flat(self, place: Whole) -> Term:
        """The element at a place in the order of rows."""
        return self.at(unflattened(place, self.dims))


class Items(tuple[Tensor, ...]):
    """A sequence of known length. Two empty ones are not the same object, since their elements may have other types."""


@dataclass(frozen=True, eq=False)
class Parts:
    """A sequence of open length: the parts of `tensor` along `axis`, of the length `size` but for the last.

    With `is_flat`, they do not have this axis.
    """

    tensor: Tensor
    axis: int
    size: Whole
    is_flat: bool

    @property
    def count(self) -> Whole:
        """The number of parts."""
        return terms.ceiling(self.tensor.dims[self.axis], self.size)


_MOST_TERMS = 4 * MOST_ENTRIES
"""The number of element terms that are made for one node or question."""
_CHOICES_OF_A_TERM = 8
"""How many choices take as long as another element term."""
_LEFT: ContextVar[int | None] = ContextVar("element terms that may still be made", default=None)


@contextmanager
def limited() -> Iterator[None]:
    """Make at most `_MOST_TERMS` element terms in the block; NotModelledError is raised where it takes more."""
    token = _LEFT.set(_MOST_TERMS)
    try:
        yield
    finally:
        _LEFT.reset(token)


def _count_term(choices: int = 0) -> None:
    """Count an element term, which chooses among `choices` others."""
    left = _LEFT.get()
    if left is None:
        return
    if left <= 0:
        raise NotModelledError("its elements need too many terms")
    _LEFT.set(left - 1 - choices // _CHOICES_OF_A_TERM)


def _remembered(at: Callable[[Index], Term]) -> Callable[[Index], Term]:
    """`at`, which is asked only once for each index."""
    found: dict[tuple[object, ...], tuple[Index, Term]] = {}

    def remembering(index: Index) -> Term:
        key = tuple(place if isinstance(place, int) else ("term", place.get_id()) for place in index)
        if key not in found:
            _count_term()
            found[key] = index, at(index)  # the index is kept, so that no other term gets its number
        return found[key][1]

    return remembering


Value: TypeAlias = "Tensor | tuple[Tensor, ...] | Parts | Unknown"
"""What a name stands for: a tensor, a sequence, or a value of which nothing is known but that it is itself."""


class Unknown:
    """A value that is no tensor of known rank, or a sequence of open length."""


class Disputed(Unknown):
    """A value about which runtimes disagree, or that depends on one: what inference says of its type may be wrong."""


def sort_of(elem_type: int) -> Any:
    """The sort of z3 in which the elements of a type are."""
    if elem_type in WHOLE:
        return z3.IntSort()
    return z3.BoolSort() if elem_type == TensorProto.BOOL else DATA


def opaque(name: str, elem_type: int, dims: Index) -> Tensor:
    """A tensor of which nothing but type and lengths is known. `name` has to be unique."""
    name = terms.label(name)
    if not dims:
        element = z3.Const(name, sort_of(elem_type))
        return Tensor(elem_type, dims, lambda _: element)
    function = z3.Function(name, *[z3.IntSort()] * len(dims), sort_of(elem_type))
    return Tensor(elem_type, dims, lambda index: function(*map(terms.term, index)))


def of_entries(elem_type: int, entries: np.ndarray, *, is_sized: bool) -> Tensor:
    """A tensor with the elements of `entries`, an array of terms."""

    def at(index: Index) -> Term:
        known = tuple(place for place in index if isinstance(place, int))
        if len(known) == len(index) and entries.size:
            inside = tuple(min(max(place, 0), size - 1) for place, size in zip(known, entries.shape, strict=True))
            return entries[inside]  # what is outside is not chosen
        places = list(combinations(*map(range, entries.shape)))
        if not places:
            raise NotModelledError("an element of an empty tensor is asked for")
        _count_term(len(places))
        found = entries[places[-1]]
        for place in reversed(places[:-1]):
            found = terms.choice(terms.every(map(terms.equal, index, place)), entries[place], found)
        return found

    return Tensor(elem_type, entries.shape, at, entries, is_sized)


def with_entries(tensor: Tensor) -> Tensor:
    """The same tensor, with entries where all its lengths are known and it is small."""
    lengths = tuple(size for size in tensor.dims if isinstance(size, int))
    if (
        tensor.entries is not None
        or len(lengths) < tensor.rank
        or min(lengths, default=0) < 0
        or np.prod(lengths, dtype=object) > MOST_ENTRIES
    ):
        return tensor
    if tensor.elem_type not in WHOLE and tensor.elem_type != TensorProto.BOOL:
        return tensor
    entries = np.empty(lengths, object)
    for place in np.ndindex(*lengths):
        entries[place] = terms.simplified(tensor.at(place))
    return of_entries(tensor.elem_type, entries, is_sized=tensor.is_sized)


def vector(values: Sequence[Whole], elem_type: int = TensorProto.INT64) -> Tensor:
    """A vector of integers that come from lengths and constants."""
    entries = np.empty(len(values), object)
    entries[:] = values
    return of_entries(elem_type, entries, is_sized=True)


def scalar(value: Whole, elem_type: int = TensorProto.INT64) -> Tensor:
    """A scalar that comes from lengths and constants."""
    entries = np.empty((), object)
    entries[()] = value
    return of_entries(elem_type, entries, is_sized=True)


def flattened(index: Index, dims: Index) -> Whole:
    """The place of an index in the order of rows."""
    place: Whole = 0
    for position, size in zip(index, dims, strict=True):
        place = place * size + position
    return terms.simplified(place)


def unflattened(place: Whole, dims: Index) -> Index:
    """The index of a place in the order of rows, which is below the product of `dims`."""
    index: list[Whole] = []
    for axis in reversed(range(len(dims))):
        index.append(place if axis == 0 else terms.remainder(place, dims[axis]))
        place = terms.floor(place, dims[axis]) if axis else place
    return tuple(reversed(index))


def reshaped(tensor: Tensor, dims: Index) -> Tensor:
    """The elements of `tensor` in the same order with the lengths `dims`, of the same product."""
    pairs = _matching(tensor.dims, dims)

    def at(index: Index) -> Term:
        found: list[Whole] = []
        for old, new in pairs:
            if len(old) == len(new) == 1:
                found.append(index[new[0]])
            else:
                place = flattened(tuple(index[axis] for axis in new), tuple(dims[axis] for axis in new))
                found += unflattened(place, tuple(tensor.dims[axis] for axis in old)) if old else ()
        return tensor.at(tuple(found))

    lengths = [size for size in dims if isinstance(size, int)]
    is_known = tensor.entries is not None and len(lengths) == len(dims)
    entries = tensor.entries.reshape(lengths) if tensor.entries is not None and is_known else None
    return Tensor(tensor.elem_type, dims, at, entries, tensor.is_sized)


def _matching(old: Index, new: Index) -> list[tuple[list[int], list[int]]]:
    """The axes of two shapes in groups of neighbours with the same number of elements, as small as can be seen."""
    groups: list[tuple[list[int], list[int]]] = []
    begin_old = begin_new = 0
    while begin_old < len(old) or begin_new < len(new):
        ends = (
            (end_old, end_new)
            for end_old in range(begin_old, len(old) + 1)
            for end_new in range(begin_new, len(new) + 1)
            if end_old + end_new > begin_old + begin_new
            and terms.are_same(terms.product(old[begin_old:end_old]), terms.product(new[begin_new:end_new]))
        )
        end_old, end_new = min(ends, key=sum, default=(len(old), len(new)))
        groups.append((list(range(begin_old, end_old)), list(range(begin_new, end_new))))
        begin_old, begin_new = end_old, end_new
    return groups
