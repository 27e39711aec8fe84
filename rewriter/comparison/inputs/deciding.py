"""Makes inputs on which computations differ that agree on usual inputs: ties, signs, scales, extreme positions, high bits, NaN.

What an input contains depends on what reads it (see `readers`): positions reach both ends of their axis, shift amounts stay below
the number of bits, and sizes stay small in every style. Small models are run on several samples of each style, because an input
with few elements holds only few of the values that matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from .readers import Dim, Reading

Floats = Literal["halves", "wide", "large", "tiny", "landmarks", "nan", "infinite", "repeated"]
Integers = Literal["ends", "signed", "bits", "extremes", "landmarks"]


class Style(NamedTuple):
    """How one sample is filled.

    `truth` is the value of all booleans, None for random ones. `turn` counts the samples of the style. If `alone` is a number, only
    that floating-point input gets special values (counted from 0, modulo the number of inputs), and the others get usual values;
    None fills all of them.
    """

    floats: Floats
    integers: Integers
    truth: bool | None = None
    turn: int = 0
    alone: int | None = None


_STYLES: tuple[Style, ...] = (
    Style("halves", "ends", True),
    Style("wide", "signed", False),
    Style("large", "bits"),
    Style("tiny", "extremes"),
    Style("landmarks", "landmarks"),
    Style("nan", "ends"),
    Style("infinite", "signed"),
    Style("repeated", "bits"),
)
"""The styles in the order in which they are tried."""
_TURNS = 3
"""The number of samples of each style for a small model."""
_MOST_TURNS = 8
"""The largest number of samples with NaN or infinities.

There are two for each floating-point input, since NaN in one input hides others.
"""
_FEW_NODES = 60
"""The number of nodes up to which a model gets several samples of each style."""
_UNKNOWN_LENGTH = 2
"""The length that is assumed for an axis of unknown length: positions from -2 to 1 are tried."""
_UNKNOWN_RANK = 2
"""The rank that is assumed for a tensor of unknown rank."""
_LARGEST = 1000.0
"""The bound on floating-point numbers, except those that are cast to integers."""
_LARGEST_INTEGER = 100.0
"""The bound on numbers that are cast to an integer: no specification defines the result beyond the range of the integer type."""
_HALVES = (0.5, -1.5, -0.0, 2.5, -0.5, 1.0, 0.0, -2.5, 3.0, 1.5, -1.0, 3.5, -4.0, 2.0, -3.5, 4.0, -3.0, -2.0)
_HALVES_BUT_0 = tuple(number for number in _HALVES if number)
_ODD_HALVES = tuple(number for number in _HALVES if number % 1)
_DECKS = (_HALVES, _HALVES_BUT_0, _ODD_HALVES)
"""What each turn deals of multiples of a half: where only the largest counts, halves among whole numbers would be hidden."""
_FAR_BOUND = 1e4
"""A bound of a Clip that lets most numbers pass."""
_SCALES = (0.5, 2.0, 1.0, 1.5, 0.75, 9.0)
_WHOLE = (-1, 5, -3, 9, 101, -7, 0, 127, 2, -100)
_DIVISORS = (-3, 5, 2, -2, 7, 1, -5, 3)
_POWERS = (-3, 101, 2, -2, 7, 1, 0, 3)
_LARGE_SIZES = (130, 17, 5)
_FAR = (130, -130, 1 << 22, -(1 << 22))
_SINGLE_SIZES = (130, 130, 17, 5)
_FRONT = (0, -130, 1, -(1 << 22), 1 << 22, -130)
_BACK = (1 << 22, 130, 5, 1 << 22, -1)
_FIRST = (0, -130, 1, -(1 << 22))
_LAST = (1 << 22, 130)
_MOST_TURNS_OF_BODY = 5
_STRIDES = (1, 2, 1, 3)
_LONG_STRIDES = (1 << 22, 1 << 22, 130)
_RANGE_ENDS = (-7, 4, 130, 0, 9, -1)


def styles(nodes: int, floats: int = 1) -> list[Style]:
    """The styles of the samples for a model with this many nodes and floating-point inputs."""
    if nodes > _FEW_NODES:
        return list(_STYLES)
    turns = max(_TURNS, min(2 * floats, _MOST_TURNS))
    every = [(turn, number, style) for turn in range(turns) for number, style in enumerate(_STYLES)]
    return [style._replace(turn=turn, alone=_alone(style, turn, number)) for turn, number, style in every if _is_due(style, turn)]


def _is_due(style: Style, turn: int) -> bool:
    return turn < _TURNS or _is_odd(style)


def _is_odd(style: Style) -> bool:
    return style.floats in ("nan", "infinite")


def _alone(style: Style, turn: int, number: int) -> int | None:
    """The number of the only input that gets special values: always for NaN and infinities, for other
    values on every second turn.
    """
    if _is_odd(style):
        return turn
    return number if turn % 2 else None


def decide_floats(random: np.random.Generator, style: Style, reading: Reading, dims: tuple[int, ...]) -> np.ndarray:
    """Numbers of `style` as float64, for an input that is used as `reading` says. `dims` is the shape."""
    largest = _LARGEST_INTEGER if reading.is_cast else _LARGEST
    if reading.scales:
        return _scales(random, style, dims)
    if reading.sizes:
        return random.integers(1, 4, dims).astype(float)
    if reading.strides:
        return random.choice((0.5, 1.0, 2.0, 9.5), dims) * (-1.0) ** style.turn
    if reading.ranges:
        return random.choice(_RANGE_ENDS, dims) + random.choice((0.0, 0.5, 1e-4), dims)
    if style.floats == "halves":
        return _dealt(random, _DECKS[style.turn % len(_DECKS)], dims, style.turn)
    if style.floats == "wide":
        return _signs(random, dims, style.turn) * np.exp2(random.uniform(-14, math.log2(largest), dims))
    if style.floats == "large":
        signs = _signs(random, dims, 0) if style.turn == 0 else (-1.0) ** style.turn
        return signs * np.exp2(random.uniform(3.2, math.log2(largest), dims))
    if style.floats == "tiny":
        return random.standard_normal(dims) * 1e-4
    if style.floats == "landmarks":
        return _around(random, [number for number in reading.landmarks if abs(number) <= largest], dims, style.turn)
    if style.floats == "repeated":
        return random.choice(random.standard_normal(3).round(2), dims)
    return _marked(random, style, reading, dims)


def _dealt(random: np.random.Generator, deck: Sequence[float] | np.ndarray, dims: tuple[int, ...], turn: int) -> np.ndarray:
    """The numbers of `deck` in random places. Each turn continues in the deck where the previous one ended."""
    count = math.prod(dims)
    places = random.permutation(count) + turn * count
    return np.array(deck)[places % len(deck)].reshape(dims)


def _scales(random: np.random.Generator, style: Style, dims: tuple[int, ...]) -> np.ndarray:
    """Scales for a Resize or for quantized numbers. On every second turn, batches and channels keep their size.

    A single scale is drawn, since several inputs that are dealt one number would get the same. Where numbers are tiny, so may be
    the scale: that of one quantized tensor, and not of the others.
    """
    scales = _dealt(random, _SCALES, dims, style.turn if math.prod(dims) > 1 else int(random.integers(len(_SCALES))))
    if style.floats == "tiny" and random.integers(2):
        return scales * 2.0**-12
    if style.turn % 2 == 0 and dims and dims[0] > 2:
        scales[: dims[0] - 2] = 1.0
    return scales


def _signs(random: np.random.Generator, dims: tuple[int, ...], turn: int) -> np.ndarray:
    return _dealt(random, (-1.0, 1.0), dims, turn)


def _around(random: np.random.Generator, known: list[float], dims: tuple[int, ...], turn: int) -> np.ndarray:
    """The numbers that the input is compared with, their neighbours, and the same with the other sign."""
    center = random.choice(sorted(known) or [0.0], dims) * random.choice([1.0, 1.0, -1.0], dims)
    return center + _dealt(random, (0.0, 2.0**-8, -(2.0**-8), 0.5, 0.0, -3.0, 3.0, -0.5), dims, turn)


def _marked(random: np.random.Generator, style: Style, reading: Reading, dims: tuple[int, ...]) -> np.ndarray:
    """Usual numbers with a few NaN, or infinities and negative zeros, unless their effect is undefined."""
    values = np.array(random.standard_normal(dims) * 3)
    if reading.becomes_integer or (reading.is_ordered and style.floats == "nan"):
        return values
    count = max(1, values.size // (2 + 2 * (style.turn // 2 % 2)))
    marks = (np.nan,) if style.floats == "nan" else (-np.inf, np.inf, -0.0)[: max(2, count)]
    places = random.permutation(values.size)[:count]
    values.reshape(-1)[places] = _dealt(random, marks, (len(places),), style.turn)
    return values


def decide_integers(
    random: np.random.Generator,
    style: Style,
    reading: Reading,
    dims: tuple[int, ...],
    limits: tuple[int, int],
    sizes: Mapping[str, int],
) -> np.ndarray:
    """Integers of `style` within `limits`, the smallest and largest value of their type.

    `sizes` has the symbolic dimensions of this sample.
    """
    low, high = _squarable(limits, math.prod(dims)) if reading.is_squared else limits
    if reading.shifts:
        return random.integers(-3 if low < 0 and style.turn % 2 else 0, high.bit_length(), dims)
    if reading.positions:
        is_signed = low < 0 and not reading.from_front
        positions = _positions(random, style, _shortest(reading.positions, sizes), dims, is_signed=is_signed)
        return _some_ignored(random, positions, sorted(reading.ignored)) + reading.is_count
    if reading.axes:
        return _axes(random, style, min(reading.axes) or _UNKNOWN_RANK, dims)
    if reading.offsets:
        return _offsets(random, style, dims).clip(low, high)
    if reading.shape and dims == (len(reading.shape),):
        return _declared_shape(style, reading.shape, is_signed=low < 0)
    if reading.sizes:
        largest = _MOST_TURNS_OF_BODY if reading.turns else high
        found = _sizes(random, style, dims).clip(max(low, int(reading.lengths)), largest)
        return with_one_that_follows(style, found) if reading.may_follow and low < 0 else found
    if reading.ranges:
        return random.choice(_RANGE_ENDS, dims).clip(low, high)
    if reading.strides or reading.starts or reading.ends:
        return _cuts(random, style, reading, dims).clip(low, high)
    if reading.divides and style.integers == "bits":
        return random.integers(1, max(min(high, 1 << 24), 2), dims)
    if reading.divides or reading.powers:
        dealt = _dealt(random, _DIVISORS if reading.divides else _POWERS, dims, style.turn)
        return np.abs(dealt) if low == 0 else dealt
    return _whole_numbers(random, style, reading, dims, (low, high))


def _squarable(limits: tuple[int, int], count: int) -> tuple[int, int]:
    """The limits between which the squares of `count` integers add up to no more than the upper one of `limits`, or of int32: no
    operator adds in a smaller type.
    """
    low, high = limits
    largest = max(math.isqrt(max(high, _SMALLEST_SUM) // max(count, 1)), 1)
    return max(low, -largest), min(high, largest)


_SMALLEST_SUM = 2**31 - 1


def _whole_numbers(
    random: np.random.Generator, style: Style, reading: Reading, dims: tuple[int, ...], limits: tuple[int, int]
) -> np.ndarray:
    low, high = limits
    wide = np.uint64 if low == 0 else np.int64
    if style.integers == "bits":
        return random.integers(low, high, dims, dtype=wide, endpoint=True)
    if style.integers == "extremes":
        return _dealt(random, np.array([high, low, high - 1, low + 1], wide), dims, style.turn)
    known = sorted(int(number) for number in reading.landmarks if low < number < high and abs(number) < 2**53)
    if style.integers == "landmarks" and known:
        return random.choice(known, dims) + random.integers(-1, 2, dims)
    return np.clip(_dealt(random, _WHOLE, dims, style.turn), low, high)


def _offsets(random: np.random.Generator, style: Style, dims: tuple[int, ...]) -> np.ndarray:
    """A diagonal, which may be anywhere, or paddings, of which one is large: one that is far away takes its room."""
    if not dims and style.integers == "extremes":
        return _dealt(random, _FAR, dims, style.turn)
    offsets = random.integers(-3, 6, dims)
    if style.integers == "bits" and offsets.size:
        offsets.reshape(-1)[style.turn % offsets.size] = _LARGE_SIZES[0]
    return offsets


def _declared_shape(style: Style, shape: tuple[int, ...], is_signed: bool) -> np.ndarray:
    """The shape itself, and on every second turn with one dimension that follows from the others."""
    sizes = np.array(shape)
    return with_one_that_follows(style, sizes) if is_signed and 0 not in shape else sizes


def with_one_that_follows(style: Style, sizes: np.ndarray) -> np.ndarray:
    """The sizes, on every second turn with a -1 for one of them, which follows from the others."""
    if style.turn % 2 and sizes.size:
        sizes.reshape(-1)[style.turn // 2 % sizes.size] = -1
    return sizes


def _cuts(random: np.random.Generator, style: Style, reading: Reading, dims: tuple[int, ...]) -> np.ndarray:
    """Starts, ends and steps of a Slice: forwards, and on every second turn backwards; with extremes, long steps through all."""
    is_backward = style.turn % 2 == 1
    is_whole = style.integers == "extremes"
    if reading.strides:
        return random.choice(_LONG_STRIDES if is_whole else _STRIDES, dims) * (-1 if is_backward else 1)
    if style.integers in ("ends", "landmarks"):
        return random.integers(-3, 6, dims)
    if reading.starts != is_backward:
        return random.choice(_FIRST if is_whole else _FRONT, dims)
    return random.choice(_LAST if is_whole else _BACK, dims)


def _sizes(random: np.random.Generator, style: Style, dims: tuple[int, ...]) -> np.ndarray:
    """Small sizes. For the style that tests high bits, one of them is large, but not so large that the product gets too large."""
    count = math.prod(dims)
    if style.integers != "bits" or not count:
        return random.integers(style.turn % 2, 4 if style.integers != "landmarks" else 9, dims)
    if count == 1:
        return np.full(dims, random.choice(_SINGLE_SIZES))
    sizes = random.integers(1, 4, dims)
    sizes.reshape(-1)[style.turn % count] = _LARGE_SIZES[style.turn // count % len(_LARGE_SIZES)]
    return sizes


def _positions(random: np.random.Generator, style: Style, length: int, dims: tuple[int, ...], is_signed: bool) -> np.ndarray:
    first = -length if is_signed and style.integers != "bits" else 0
    if style.integers == "ends":
        return _dealt(random, (length - 1, -1, first, 0) if first else (length - 1, 0), dims, style.turn)
    return random.integers(first, max(length, 1), dims)


def _some_ignored(random: np.random.Generator, positions: np.ndarray, ignored: Sequence[int]) -> np.ndarray:
    """The positions, a quarter of them replaced by numbers that stand for none."""
    if not ignored:
        return positions
    return np.where(random.random(positions.shape) < 0.25, random.choice(ignored, positions.shape), positions)


def as_it_is_read(integers: np.ndarray, reading: Reading, sizes: Mapping[str, int]) -> np.ndarray:
    """Small integers, made to be positions, to name distinct axes, or to be steps, or the shape that is declared.

    `sizes` has the symbolic dimensions of this sample. Positions stay as they are where the length of their axis is unknown.
    """
    if reading.positions and "" not in reading.positions and not reading.is_count:
        return integers % _shortest(reading.positions, sizes)
    if reading.shape and integers.shape == (len(reading.shape),):
        return np.array(reading.shape)
    if reading.strides or reading.lengths:
        return np.maximum(integers, 1)
    rank = min(reading.axes, default=0)
    if not rank or not integers.size:
        return integers
    return (np.arange(integers.size) + integers.reshape(-1)[0]).reshape(integers.shape) % rank


def far_bound(reading: Reading) -> float:
    """The bound of a Clip that hides least of what is clipped."""
    return -_FAR_BOUND if reading.is_lower else _FAR_BOUND


def on_its_side(values: np.ndarray, reading: Reading) -> np.ndarray:
    """Bounds of a Clip: lower ones below zero and upper ones above, since those that pass each other hide what is clipped."""
    if values.dtype.kind == "u" or reading.is_lower == reading.is_upper:
        return values
    with np.errstate(over="ignore"):  # the smallest integer stays what it is
        return np.asarray(-np.abs(values) if reading.is_lower else np.abs(values))  # of a scalar, numpy makes a number


def _shortest(lengths: set[Dim], sizes: Mapping[str, int]) -> int:
    """The length of the shortest of these axes, below which all positions have to stay."""
    return max(1, min(sizes.get(dim, _UNKNOWN_LENGTH) if isinstance(dim, str) else dim for dim in lengths))


def _axes(random: np.random.Generator, style: Style, rank: int, dims: tuple[int, ...]) -> np.ndarray:
    """Distinct axes, some of them negative."""
    axes = (np.arange(math.prod(dims)) + random.integers(rank)) % rank
    return (axes - rank * (style.integers in ("signed", "ends"))).reshape(dims)
