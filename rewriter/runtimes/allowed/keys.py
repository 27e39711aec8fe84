"""The keys of a rule: what each of them says, and the one place where it is judged."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...opsets.type_protos import Dimension, Shape
from ..element_types import TYPES
from .findings import MET, Finding, against, all_of, unknown
from .limits import Limit, read_limit
from .naming import EVERY
from .site import Site

_ELEMENT = re.compile(r"(\w+)(?:\[(\*|-?\d+|[A-Z])\])?")
_TERM = re.compile(r"(?:(\w+)\.)?([A-Z]|-?\d+)")
_ANY = "?"
"""What stands for any length in a pattern of shapes."""
_SAME = "="
"""What stands before the name of another operand, to which something has to be equal."""


class Condition(ABC):
    """One entry of a key, such as `rank = { X = 4 }`."""

    @abstractmethod
    def judge(self, site: Site) -> Finding:
        """Whether the node meets the condition. An operand that the node leaves out meets all."""

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs, outputs and attributes that it names."""
        return ()

    @property
    def letters(self) -> tuple[str, ...]:
        """The axes that it names by letters of the layout."""
        return ()


@dataclass(frozen=True)
class OfSetting(Condition):
    """`attr` and `value`: a limit on an attribute or a constant operand, or on elements of it."""

    name: str
    place: str
    limit: Limit

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def letters(self) -> tuple[str, ...]:
        return (self.place,) if self.place.isalpha() else ()

    def judge(self, site: Site) -> Finding:
        found, limit = site.setting(self.name), self.limit
        if found.is_computed:
            return against(f"{self.name} is computed at run time")
        if limit.may_be_absent and found.is_default:
            return MET
        if found.is_missing or found.value is None:
            return unknown(f"{self.name} is not stated") if site.has_place_for(self.name) else MET
        value, limit = site.axes_of(self.name, found.value), self._limit_of(site)
        divisor = site.setting(limit.divisor).value if isinstance(limit.divisor, str) else None
        if not isinstance(value, list) or (limit.is_of_lists and not self.place):
            return limit.judge(value, self.name, divisor)
        elements = site.elements(self.name, value, self.place or EVERY)
        if elements is None:
            return unknown(f"the rank is unknown, and with it which {self.name} are meant")
        return all_of(limit.judge(element, self._shown, divisor) for element in elements)

    def _limit_of(self, site: Site) -> Limit:
        """The limit, with axes counted as those of the node are."""
        limit = self.limit
        if limit.allowed is None and not limit.refused:
            return limit
        allowed = None if limit.allowed is None else tuple(site.axes_of(self.name, one) for one in limit.allowed)
        refused = tuple(site.axes_of(self.name, one) for one in limit.refused)
        return limit.with_sets(allowed, refused)

    @property
    def _shown(self) -> str:
        return self.name if self.place in ("", EVERY) else f"{self.name}[{self.place}]"


_INTEGERS = frozenset(("int32", "int64"))


@dataclass(frozen=True)
class OfType(Condition):
    """`type`: the element types of an operand, or the operand that has to have the same."""

    name: str
    types: tuple[str, ...]
    same: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.same) if self.same else (self.name,)

    def judge(self, site: Site) -> Finding:
        allowed = self.types or tuple(site.element(value) for value in site.values(self.same)[:1])
        return all_of(self._judge(site, value, allowed) for value in site.values(self.name)) if allowed else MET

    def _judge(self, site: Site, value: str, allowed: tuple[str, ...]) -> Finding:
        found = site.element(value)
        if not found or "" in allowed:
            return unknown(f"the type of '{value}' is unknown")
        if self.name == EVERY and _INTEGERS.isdisjoint(allowed) and site.is_range(value):
            return MET  # the list is about other values: it has no type that such a constant may have
        return MET if found in allowed else against(f"the type of '{value}' is {found}, not {' or '.join(allowed)}")


@dataclass(frozen=True)
class OfRank(Condition):
    """`rank`: the number of dimensions of an operand; with `live`, of those that are not 1."""

    name: str
    limit: Limit
    same: str = ""
    is_live: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.same) if self.same else (self.name,)

    @property
    def most(self) -> int | None:
        """The largest rank that it allows; None where it has no upper limit, or counts the axes that are not 1."""
        numbers = self.limit.allowed if self.limit.allowed is not None else (self.limit.most,)
        ranks = [number for number in numbers if isinstance(number, int)]
        return max(ranks, default=None) if not self.is_live and not self.same else None

    def judge(self, site: Site) -> Finding:
        limit = self.limit
        if self.same:
            others = [self._rank(site.shape(value)) for value in site.values(self.same)[:1]]
            if not others:
                return MET
            if others[0] is None:
                return unknown(f"the rank of {self.same} is unknown")
            limit = Limit(allowed=(others[0],))
        return all_of(self._judge(site, value, limit) for value in site.values(self.name))

    def _judge(self, site: Site, value: str, limit: Limit) -> Finding:
        shape = site.shape(value)
        rank = self._rank(shape)
        if rank is not None:
            return limit.judge(rank, f"the rank of '{value}'{' without dimensions of 1' if self.is_live else ''}")
        if shape is not None and limit.judge(len(shape), "").is_met and limit.least is None and limit.allowed is None:
            return MET
        return unknown(f"the rank of '{value}' is unknown")

    def _rank(self, shape: Shape | None) -> int | None:
        if shape is None or (self.is_live and not all(isinstance(dim, int) for dim in shape)):
            return None
        return sum(dim != 1 for dim in shape) if self.is_live else len(shape)


@dataclass(frozen=True)
class OfDimensions(Condition):
    """`dim`: a product of dimensions, such as `C` or `W.H*W.W`; the operand is the first one where none is named."""

    text: str
    limit: Limit
    same: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for text in (self.text, self.same) for name, _ in _terms(text) if name)

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(axis for text in (self.text, self.same) for _, axis in _terms(text) if axis.isalpha())

    def judge(self, site: Site) -> Finding:
        limit = self.limit
        found = _product(site, self.text)
        if found is None:
            return MET
        if self.same:
            other = _product(site, self.same)
            limit = Limit(allowed=(other,))
            if other is None or not isinstance(other, int):
                return MET if other is None or other == found else unknown(f"the size {self.same} is unknown")
        if not isinstance(found, int):
            return unknown(f"the size {self.text} is unknown")
        divisor = site.setting(limit.divisor).value if isinstance(limit.divisor, str) else None
        return limit.judge(found, f"the size {self.text}", divisor)


def _terms(text: str) -> Iterator[tuple[str, str]]:
    for term in filter(None, text.split("*")):
        match = _TERM.fullmatch(term.strip())
        if match is None:
            raise ValueError(f"'{term.strip()}' is no dimension: write C, 1 or W.H, and a * between several")
        yield match[1] or "", match[2]


def _product(site: Site, text: str) -> Dimension:
    """The product, or None where a tensor does not have one of the dimensions; a text where one is unknown."""
    product = 1
    for name, letter in _terms(text):
        values = site.values(name or "X")
        if not values:
            return None
        shape = site.shape(values[0])
        if shape is None:
            return text
        axis = site.axis(letter, len(shape))
        if axis is None:
            return None
        size = shape[axis]
        if not isinstance(size, int):
            return size or text
        product *= size
    return product


@dataclass(frozen=True)
class IsConstant(Condition):
    """`const`: an operand that has to be the same in every run, or with ! before it must not be."""

    name: str
    wanted: bool

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def judge(self, site: Site) -> Finding:
        values = [value for value in site.values(self.name) if site.is_constant(value) != self.wanted]
        return all_of(against(f"{self.name} '{value}' {self._found(site, value)}") for value in values)

    def _found(self, site: Site, value: str) -> str:
        if not self.wanted:
            return "is a constant"
        return "is a default that callers may override" if site.has_default(value) else "is computed at run time"


@dataclass(frozen=True)
class IsAbsent(Condition):
    """`absent`: an input, output or attribute that has to be left out; an empty constant, as old opsets want it, is as good."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def judge(self, site: Site) -> Finding:
        is_there = any(not site.is_empty(value) for value in site.values(self.name)) or site.node.has_attr(self.name)
        return against(f"it has {self.name}") if is_there else MET


@dataclass(frozen=True)
class OfShape(Condition):
    """`shape`: patterns, one of which an operand has to have, such as [[], [1, "C", 1, 1]]; or the operand of the same shape."""

    name: str
    patterns: tuple[tuple[int | str, ...], ...]
    same: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.same) if self.same else (self.name,)

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(dim for pattern in self.patterns for dim in pattern if isinstance(dim, str) and dim != _ANY)

    def judge(self, site: Site) -> Finding:
        return all_of(self._judge(site, value) for value in site.values(self.name))

    def _judge(self, site: Site, value: str) -> Finding:
        shape = site.shape(value)
        patterns = self.patterns
        if self.same:
            others = [site.shape(other) for other in site.values(self.same)[:1]]
            if not others:
                return MET
            patterns = () if others[0] is None else (tuple("" if dim is None else dim for dim in others[0]),)
        if shape is None or not patterns:
            return unknown(f"the shape of '{value}' is unknown")
        fits = [self._fits(site, shape, pattern) for pattern in patterns]
        if True in fits:
            return MET
        shown = (self.same and f"that of {self.same}") or " or ".join(_shown(pattern) for pattern in patterns)
        reason = f"the shape of '{value}' is {_shown(shape)}, not {shown}"
        return unknown(reason) if None in fits else against(reason)

    def _fits(self, site: Site, shape: Shape, pattern: tuple[int | str, ...]) -> bool | None:
        if len(shape) != len(pattern):
            return False
        fits: list[bool | None] = []
        for dim, wanted in zip(shape, pattern, strict=True):
            size = self._wanted(site, wanted)
            same = wanted == _ANY or (dim is not None and dim == size)
            fits.append(same or (False if isinstance(dim, int) and isinstance(size, int) else None))
        return False if False in fits else None if None in fits else True

    def _wanted(self, site: Site, wanted: int | str) -> Dimension:
        return _product(site, wanted) if isinstance(wanted, str) and wanted in site.layout and not self.same else wanted or None


def _shown(shape: Shape) -> str:
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]"


@dataclass(frozen=True)
class IsStatic(Condition):
    """`static = true`: all dimensions of all inputs and outputs are numbers."""

    def judge(self, site: Site) -> Finding:
        node = site.node
        return all_of(self._judge(site, value) for value in dict.fromkeys((*node.inputs, *node.outputs)) if value)

    def _judge(self, site: Site, value: str) -> Finding:
        shape = site.shape(value)
        if shape is None:
            kind = site.node.type(value)
            is_tensor = kind is None or kind.WhichOneof("value") in ("tensor_type", None)
            return against(f"the shape of '{value}' is not known before the run") if is_tensor else MET
        open_ones = ["?" if dim is None else str(dim) for dim in shape if not isinstance(dim, int)]
        return against(f"the shape of '{value}' is open: {', '.join(open_ones)}") if open_ones else MET


@dataclass(frozen=True)
class IsKnown(Condition):
    """`static = ["C"]`: a dimension, or a product of some, that is a number; the operand is the first one where none is named."""

    text: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in _terms(self.text) if name)

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(axis for _, axis in _terms(self.text) if axis.isalpha())

    def judge(self, site: Site) -> Finding:
        found = _product(site, self.text)
        return MET if found is None or isinstance(found, int) else against(f"the size {self.text} is open")


@dataclass(frozen=True)
class NotUnderstood(Condition):
    """A key that this program does not know."""

    key: str

    def judge(self, site: Site) -> Finding:
        return unknown(f"the profile has the key '{self.key}', which is not known here")


@dataclass(frozen=True)
class OfOpset(Condition):
    """`opset`: a limit on the opset of the result, in which the node has this form, too."""

    limit: Limit

    def judge(self, site: Site) -> Finding:
        return self.limit.judge(site.node.target, "the opset")


# -- reading

Reader = Callable[[Any, str], Iterator[Condition]]


def _settings(given: Any, where: str) -> Iterator[Condition]:
    for text, limit in _table(given, where).items():
        match = _ELEMENT.fullmatch(text)
        if match is None:
            raise ValueError(f"{where}: '{text}' is no name: write axis, strides[*], pads[H] or scales[0]")
        yield OfSetting(match[1], match[2] or "", read_limit(limit, f"{where}: {text}"))


def _types(given: Any, where: str) -> Iterator[Condition]:
    for name, types in _table(given, where).items():
        if isinstance(types, str) and types.startswith(_SAME):
            yield OfType(name, (), types[1:])
            continue
        kinds = [types] if isinstance(types, str) else types
        if not isinstance(kinds, list) or not kinds or not set(map(str, kinds)) <= TYPES:
            raise ValueError(f"{where}: {name}: write a list of types: {', '.join(sorted(TYPES))}")
        yield OfType(name, tuple(kinds))


def _ranks(given: Any, where: str) -> Iterator[Condition]:
    for name, limit in _table(given, where).items():
        if isinstance(limit, str) and limit.startswith(_SAME):
            yield OfRank(name, Limit(), limit[1:])
            continue
        is_live = isinstance(limit, Mapping) and bool(limit.get("live"))
        kept = {key: value for key, value in limit.items() if key != "live"} if isinstance(limit, Mapping) else limit
        yield OfRank(name, _of_counts(read_limit(kept, f"{where}: {name}"), f"{where}: {name}"), is_live=is_live)


def _dimensions(given: Any, where: str) -> Iterator[Condition]:
    for text, limit in _table(given, where).items():
        same = limit[1:] if isinstance(limit, str) and limit.startswith(_SAME) else ""
        _require_terms(f"{text if text.strip('* ') else ' '}*{same}", where)
        yield OfDimensions(text, Limit() if same else _of_counts(read_limit(limit, f"{where}: {text}"), f"{where}: {text}"), same)


def _of_counts(limit: Limit, where: str) -> Limit:
    if limit.texts or limit.is_of_lists or any(number < 0 for number in limit.numbers):
        raise ValueError(f"{where}: write numbers from 0 on")
    return limit


def _require_terms(text: str, where: str) -> None:
    try:
        list(_terms(text))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _constants(given: Any, where: str) -> Iterator[Condition]:
    return (IsConstant(name.removeprefix("!"), not name.startswith("!")) for name in _names(given, where))


def _absences(given: Any, where: str) -> Iterator[Condition]:
    return (IsAbsent(name) for name in _names(given, where))


def _shapes(given: Any, where: str) -> Iterator[Condition]:
    for name, patterns in _table(given, where).items():
        if isinstance(patterns, str) and patterns.startswith(_SAME):
            yield OfShape(name, (), patterns[1:])
            continue
        is_list = isinstance(patterns, list) and all(isinstance(pattern, list) for pattern in patterns) and patterns
        if not is_list or not all(type(dim) in (int, str) for pattern in patterns for dim in pattern):
            raise ValueError(f'{where}: {name}: write a list of shapes, such as [[], ["C"], [1, "C", 1, 1]]')
        yield OfShape(name, tuple(map(tuple, patterns)))


def _static(given: Any, where: str) -> Iterator[Condition]:
    if isinstance(given, bool):
        yield from [IsStatic()] if given else []
        return
    if not isinstance(given, list):
        raise ValueError(f'{where}: write true, false, or a list of dimensions, such as ["C", "W.N"]')
    for text in map(str, given):
        _require_terms(text if text.strip("* ") else " ", where)
        yield IsKnown(text)


def _opset(given: Any, where: str) -> Iterator[Condition]:
    yield OfOpset(_of_counts(read_limit(given, where), where))


def _table(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where}: write a table, such as {{ X = … }}")
    return given


def _names(given: Any, where: str) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ValueError(f"{where}: write a list of names")
    return given


KEYS: Mapping[str, Reader] = {
    "attr": _settings,
    "value": _settings,
    "type": _types,
    "rank": _ranks,
    "dim": _dimensions,
    "const": _constants,
    "absent": _absences,
    "shape": _shapes,
    "static": _static,
    "opset": _opset,
}
"""The keys of a rule that are conditions, and what reads them. Each reader raises ValueError, which says what is wrong."""
