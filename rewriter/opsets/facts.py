"""What the program knows about operators and what ONNX's schemas do not say: one row for each operator, in `facts.txt`.

Everything that depends on "which operator is it" asks here: `of("Gather").kind`. An operator without a row is `UNKNOWN`. A new
operator needs one row, and no other list to be edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from functools import cache
from pathlib import Path

from ..onnx_model.domains import DEFAULT_DOMAINS


@unique
class Kind(Enum):
    """What an operator does, in one word."""

    MOVES = "moves"
    """It copies elements, or leaves some out; it may add zeros or a given value."""
    SHAPE = "shape"
    """Its result depends on the shape of its input alone."""
    FILLS = "fills"
    """It makes a tensor of stored values, or of zeros, ones and given values."""
    COUNTS = "counts"
    """It makes numbers in a row, or positions."""
    ELEMENTWISE = "elementwise"
    """Each element of the result depends on the elements in the same place of the operands, after broadcasting."""
    CASTS = "casts"
    """It gives its input another element type."""
    REDUCES = "reduces"
    """It combines all elements along some axes into one."""
    ACCUMULATES = "accumulates"
    """It combines the elements along an axis up to each place."""
    NORMALIZES = "normalizes"
    """It scales elements by what is computed from all elements along some axes."""
    POOLS = "pools"
    """It combines the elements of each window or region."""
    CONTRACTS = "contracts"
    """It adds up products of elements of several operands."""
    RESAMPLES = "resamples"
    """It takes elements from between the elements of its input."""
    ORDERS = "orders"
    """It sorts, or picks elements by their order."""
    QUANTIZES = "quantizes"
    """It computes with integers that stand for real numbers, by a scale and a zero point."""
    WINDOWS = "windows"
    """It makes a table of weights from sizes."""
    RANDOM = "random"
    """It draws random numbers, so that two runs differ. Removing it would change the numbers that others draw."""
    SEQUENCE = "sequence"
    """It makes or reads sequences or optionals."""
    STRING = "string"
    """It computes with text."""
    CONTROL = "control"
    """It runs a subgraph."""
    OTHER = "other"
    """None of the others says what it does."""


COMBINING = frozenset({Kind.REDUCES, Kind.ACCUMULATES, Kind.NORMALIZES, Kind.POOLS, Kind.CONTRACTS, Kind.RESAMPLES, Kind.OTHER})
"""What may combine several elements into one by arithmetic."""


@unique
class Work(Enum):
    """What an operator does with its data in arithmetic. This decides in which wider types it gives the same result."""

    MOVES = "moves"
    """Copies elements: any type that holds all values of the narrow type is right, and int64 for the bits of uint64."""
    ORDERS = "orders"
    """Compares, chooses, or maps to integers: any type that holds all values of the narrow type is right."""
    WRAPS = "wraps"
    """Computes integers modulo a power of two, so any wider integer type is right; for float16 and
    bfloat16, it is a single operation that is rounded correctly.
    """
    DIVIDES = "divides"
    """Computes integers, for which a wider integer type is right; for float16 and bfloat16, a single
    operation that is rounded correctly.
    """
    COMPUTES = "computes"
    """Computes floating-point numbers only; the last bits may differ."""


@unique
class Role(Enum):
    """What an operator does with the values of an input."""

    DATA = "data"
    """Its elements come out as they are, all or most of them."""
    OPERAND = "operand"
    """It is computed with."""
    MEASURED = "measured"
    """Only its shape is read."""
    TYPE = "type"
    """Only its element type is read."""
    CONDITION = "condition"
    """It decides which subgraph runs, or whether one runs again."""
    SHAPE = "shape"
    """It is the shape of the output."""
    SIZES = "sizes"
    """It decides how large something is, or how often something is done."""
    TURNS = "turns"
    """It says how often a body runs, which may double the size of a value every time."""
    POSITIONS = "positions"
    """It holds positions along an axis, or in a sequence; negative ones count from the end."""
    POINTS = "points"
    """Its rows are positions along several axes; negative ones count from the end."""
    PLACES = "places"
    """It holds positions among all elements of the output, none of which is negative."""
    ROWS = "rows"
    """It holds positions along the first axis of input 1, none of which is negative."""
    CLASSES = "classes"
    """It holds positions along axis 1, none of which is negative, or `ignore_index`."""
    COUNTS = "counts"
    """It says how many elements of an axis count, from 1 on; the axis is 0, or that of the attribute time_axis."""
    TAKEN = "taken"
    """It says how many elements of an axis come out, from 1 on; the axis is the last one, or that of the attribute axis."""
    LENGTHS = "lengths"
    """It is the length of a transform, the step or the length of a frame, or the sizes of a block, from 1 on."""
    AXES = "axes"
    """It names axes of the first input."""
    ADDED = "added"
    """It names the axes that the output has beside those of the first input."""
    OFFSET = "offset"
    """It is an amount of padding, a diagonal, or a number that may lie beyond what it counts."""
    SCALE = "scale"
    """It is the scale of a resize or of a quantization."""
    DIVISOR = "divisor"
    POWER = "power"
    SHIFT = "shift"
    """It is a number of bits, less than the type has."""
    RANGE = "range"
    """It is where a Range begins or ends."""
    START = "start"
    END = "end"
    """It is where a Slice begins or ends, which may be beyond the axis."""
    STRIDE = "stride"
    """It is a step, and not 0."""
    LOWER = "lower"
    UPPER = "upper"
    """It is the bound of a Clip."""


_NO_ROLE = frozenset({Role.OPERAND})


@dataclass(frozen=True)
class Fact:
    """The row of one operator."""

    operator: str
    """The name, behind its domain and "::" where that is not ONNX's default domain."""
    kind: Kind = Kind.OTHER
    work: Work | None = None
    roles: tuple[frozenset[Role], ...] = ()
    is_variadic: bool = False
    """Whether the last of the roles is also that of all further inputs."""
    vectors: tuple[int, ...] = ()
    """The inputs that are vectors, and for which runtimes take a scalar or a matrix as well."""
    words: Mapping[str, str] = field(default_factory=dict)
    """The words of the row, with their values; "" for a word without one."""
    flags: frozenset[str] = frozenset()
    """The attributes that are 0 or 1."""
    choices: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    """For attributes that are a choice, the words or numbers that the specification lists in any version."""

    def role(self, index: int) -> frozenset[Role]:
        """The roles of input `index`; OPERAND for an input that the row does not list."""
        if index < len(self.roles):
            return self.roles[index]
        return self.roles[-1] if self.is_variadic else _NO_ROLE

    def inputs(self, role: Role) -> Iterator[int]:
        """The numbers of the listed inputs that have `role`."""
        return (index for index, roles in enumerate(self.roles) if role in roles)

    def takes(self, role: Role) -> bool:
        """Whether one of the listed inputs has `role`."""
        return any(role in roles for roles in self.roles)

    @property
    def only_moves_first(self) -> bool:
        """Whether all elements of its results are elements of the first input, or zeros."""
        return self.kind is Kind.MOVES and not self.is_variadic and list(self.inputs(Role.DATA)) == [0]

    def has(self, word: str) -> bool:
        """Whether the row has `word`, with or without a value."""
        return word in self.words

    @property
    def multiplied(self) -> list[tuple[int, int | None]]:
        """The inputs whose products it adds, each with the input that is its zero point, or None."""
        pairs = (pair.partition("-") for pair in self.names("multiplies"))
        return [(int(operand), int(zero_point) if zero_point else None) for operand, _, zero_point in pairs]

    @property
    def jumps(self) -> bool:
        """Whether its result may be another number, place or order where its inputs differ in their last bits."""
        return any(self.has(word) for word in ("steps", "sorts", "compares"))

    def word(self, name: str) -> str:
        """The value of the word `name`; "" where the row does not have it, or without a value."""
        return self.words.get(name, "")

    def names(self, word: str) -> list[str]:
        """The values of `word`, which stand behind each other with commas."""
        value = self.words.get(word, "")
        return value.split(",") if value else []


UNKNOWN = Fact("")
"""What is known about an operator without a row: nothing."""

_WORDS = frozenset({
    *("folds", "unfolded", "bounded", "entries", "sized", "of-shapes", "keeps-input", "idle", "merges", "by", "stays-narrow"),
    *("exact-body", "steps", "sorts", "names-type", "iterates", "lists", "regresses", "classifies", "only-reshapes", "may-draw"),
    *("to-integers", "multiplies", "compares", "ort-wrong", "reference-wrong", "disputed", "lax", "coarse"),
    *("length", "whole", "not-negative", "moved-past", "misinferred", "shapes", "type-of", "untold-type", "no-kernel"),
    *("inferred-as", "spreads", "squares", "alike", "fills", "blocks", "pieces", "slow", "slow-before-1.22"),
})  # fmt: skip


def parse(row: str) -> Fact:
    """The fact that a row of `facts.txt` states. Raises ValueError, which names the row, where it is not well-formed."""
    described, _, words = row.partition(";")
    try:
        operator, kind, work, *roles = described.split()
        found: dict[str, str] = {}
        choices: dict[str, tuple[str | int, ...]] = {}
        flags = frozenset(word.removesuffix("?") for word in words.split() if word.endswith("?"))
        for word in (word for word in words.split() if not word.endswith("?")):
            attribute, colon, listed = word.partition(":")
            if colon:
                choices[attribute] = tuple(int(word) if word.isdigit() else word for word in listed.split("|"))
                continue
            name, _, value = word.partition("=")
            if name not in _WORDS:
                raise ValueError(f"there is no word '{name}'")
            found[name] = value
        inputs = [] if roles == ["-"] else roles
        return Fact(
            operator=operator,
            kind=Kind(kind),
            work=None if work == "-" else Work(work),
            roles=tuple(frozenset(map(Role, text.removesuffix("*").removesuffix("[]").split("+"))) for text in inputs),
            is_variadic=roles[-1:] != [] and roles[-1].endswith("*"),
            vectors=tuple(index for index, text in enumerate(inputs) if text.endswith("[]")),
            words=found,
            flags=flags,
            choices=choices,
        )
    except ValueError as error:
        raise ValueError(f"{row!r}: {error}") from None


def _rows() -> Iterator[str]:
    """The rows of the table, each with the lines that continue it."""
    row = ""
    for line in Path(__file__).with_name("facts.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            row += line
            continue
        if row:
            yield row
        row = line
    if row:
        yield row


_ROWS: dict[str, str] = {row.split(maxsplit=1)[0]: row for row in _rows()}
"""The rows as text, by operator. Few of them are asked for in one run, and reading all takes 3 ms."""
_FACTS: dict[str, Fact] = {}
"""The rows that were asked for."""


def of(op_type: str, domain: str = "") -> Fact:
    """What is known about the operator `op_type` of `domain`; UNKNOWN where it has no row."""
    return _fact(op_type if domain in DEFAULT_DOMAINS else f"{domain}::{op_type}")


def _fact(name: str) -> Fact:
    fact = _FACTS.get(name)
    if fact is None:
        row = _ROWS.get(name)
        fact = _FACTS[name] = UNKNOWN if row is None else parse(row)
    return fact


@cache
def of_kind(kind: Kind) -> frozenset[str]:
    """The operators of the default domain that are of `kind`."""
    return frozenset(name for name, row in _ROWS.items() if row.split(maxsplit=2)[1] == kind.value)


GRAPH_HOLDERS = of_kind(Kind.CONTROL)
"""The operators of the default domain that have subgraphs."""


def may_hold_graphs(label: str) -> bool:
    """Whether nodes of the operator `label`, "domain::op_type" outside the default domain, can have subgraphs: there, any may."""
    return label in GRAPH_HOLDERS or "::" in label


@cache
def with_word(word: str) -> frozenset[str]:
    """The operators of the default domain whose rows have `word`, with or without a value."""
    return frozenset(name for name, row in _ROWS.items() if "::" not in name and word in row and _fact(name).has(word))


@cache
def multiplying() -> frozenset[str]:
    """The operators of any domain that add products of 8-bit integers, without their domains."""
    return frozenset(name.rpartition("::")[2] for name, row in _ROWS.items() if "multiplies=" in row)


@cache
def choosing() -> frozenset[str]:
    """The operators of the default domain with an attribute that is a choice between words or numbers."""
    return frozenset(name for name, row in _ROWS.items() if "::" not in name and ":" in row)


@cache
def known_operators() -> frozenset[str]:
    """The names of all rows, with the domain and "::" in front where it is not the default domain."""
    return frozenset(_ROWS)
