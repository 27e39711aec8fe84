"""Compares two values of one graph output: tensors of any dtype, sequences, maps, optionals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...execution.values import arrays_in


@dataclass(frozen=True)
class OutputComparison:
    """The comparison of one graph output over all samples.

    `shape` and `dtype` are those of the original in the first sample. A sequence has the dtype "seq(…)" and the shape (length,), a
    map "map(…)" and (length,). `max_abs` and `max_rel` are the largest absolute difference and the largest one relative to the
    original's element. They are infinite where elements cannot be subtracted (NaN or infinity on one side only, unequal strings,
    shapes or types), and `max_rel` also where the original's element is 0. `note` says where the first difference is; it is empty
    if there is none. `rtol` and `atol` are the largest bounds that were allowed.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    max_abs: float
    max_rel: float
    equal: bool
    note: str = ""
    rtol: float = 0.0
    atol: float = 0.0


class _Difference(NamedTuple):
    max_abs: float = 0.0
    max_rel: float = 0.0
    note: str = ""


_SAME = _Difference()
_BLOCK = 1 << 18
"""The number of elements that are compared at a time. Comparing large outputs at once takes more than eight times their memory."""
_ROUNDED_OTHERWISE = 8.0
"""How many times as large as the original's, or another runtime's, the rounding error of the same in another order may be."""
_OFF = 1 / 64
"""The share of the largest number beyond which an error of another runtime says nothing about rounding here."""
_IMPRECISE = 64.0
"""How many times the bounds, or the rounding errors of another runtime, a runtime may be off without having made a mistake."""


def compare_values(
    name: str, expected: Any, got: Any, rtol: float = 0.0, atol: float = 0.0, of_largest: float = 0.0
) -> OutputComparison:
    """Compare what the original gave, `expected`, with what the result gave, `got`.

    Values are arrays, lists (sequences), dicts (maps) or None (an empty optional). Floats and complex numbers agree
    when |got - expected| <= atol + rtol * |expected|, or both are NaN, or both the same infinity; integers of 8 bits when
    |got - expected| <= atol; others when they are equal. `of_largest` times the largest finite |expected| is added to `atol`.
    """
    atol += of_largest * largest_number(expected) if of_largest else 0.0
    differences = list(_differences("", expected, got, rtol, atol))
    notes = [difference.note for difference in differences if difference.note]
    return OutputComparison(
        name,
        dtype_name(expected),
        shape_of_value(expected),
        max((difference.max_abs for difference in differences), default=0.0),
        max((difference.max_rel for difference in differences), default=0.0),
        not notes,
        notes[0] if notes else "",
        rtol,
        atol,
    )


def within(expected: Any, got: Any, rtol: float = 0.0, atol: float = 0.0, of_largest: float = 0.0) -> np.ndarray:
    """Which elements agree, as `compare_values` defines it.

    Except for two tensors of equal type and shape, one answer for all elements.
    """
    if not _are_alike(expected, got):
        return np.array(compare_values("", expected, got, rtol, atol, of_largest).equal)
    if expected.dtype.kind in "OUS":
        return np.asarray(expected == got)
    return _distance(expected, got) <= _allowed(
        expected, rtol, atol + (of_largest * largest_number(expected) if of_largest else 0.0)
    )


def excused(expected: Any, got: Any, exact: Any, rtol: float, atol: float, *, rounded: Any = None) -> Any:
    """`got`, with the expected element in place of every element that is as close to `exact` as the worst element of `expected` is.

    Elements within the bounds around `exact` are replaced too. An error above `rtol` of the largest number is no rounding error,
    and excuses nothing; but if `got` is known to be only rounded, any error is one, and some times the worst is allowed. How large
    errors of rounding are here, `rounded` tells, too, which another runtime made of the same in the type of `expected`; and where
    neither has a number though there is one, their type overflowed on the way. What `expected` is further off than many times the
    bounds, and than such errors, is a mistake of the runtime, on which it is for nobody else to improve. Values that are not float
    tensors of equal type and shape are returned unchanged.
    """
    if not _are_alike(expected, got) or expected.dtype.kind in "OUSbiu" or np.shape(exact) != expected.shape:
        return got
    own = _distance(_wide(expected), exact)
    worst = own[np.isfinite(own)].max(initial=0.0)
    bounds = _allowed(exact, rtol, atol)
    trusted = _IMPRECISE * bounds
    are_both_beyond = np.zeros(expected.shape, bool)
    if rounded is None:
        worst = min(worst, rtol * largest_number(exact))
    else:
        others = _distance(_wide(rounded), exact) if np.shape(rounded) == expected.shape else np.zeros(1)
        other_worst = others[np.isfinite(others)].max(initial=0.0)
        is_rounding = other_worst <= _OFF * largest_number(exact)
        are_both_beyond = ~np.isfinite(_wide(expected)) & ~np.isfinite(_wide(got))
        with np.errstate(over="ignore"):  # beyond the largest number, nothing is too far
            worst = _ROUNDED_OTHERWISE * np.maximum(worst, other_worst if is_rounding else 0.0)
            trusted = np.maximum(trusted, _IMPRECISE * other_worst)
    is_near = are_both_beyond | (_distance(_wide(got), exact) <= np.maximum(worst, bounds))
    return np.where(np.isfinite(exact) & is_near & ~(np.isfinite(own) & (own > trusted)), expected, got)


def _are_alike(expected: Any, got: Any) -> bool:
    """Whether both values are float tensors of the same type and shape."""
    if not (isinstance(expected, np.ndarray) and isinstance(got, np.ndarray)):
        return False
    return expected.shape == got.shape and expected.dtype == got.dtype


def is_number(value: Any) -> np.ndarray:
    """Which elements are neither NaN nor infinite; for anything but a float tensor, all of them."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OUSbiu":
        return np.array(True)
    return np.isfinite(_wide(value))


def largest_number(value: Any) -> float:
    """The largest finite absolute value of the float or complex numbers in `value`; 0 where there are none."""
    numbers = (array for array in arrays_in(value) if array.dtype.kind not in "OUSbiu")
    sizes = (np.abs(_wide(block)) for array in numbers for (block,) in _blocks(array))
    return max((float(size[np.isfinite(size)].max(initial=0.0)) for size in sizes), default=0.0)


def is_nan_throughout(value: Any) -> bool:
    """Whether all elements of a non-empty value are NaN. That two such values are equal says nothing about the computation."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return bool(value) and all(map(is_nan_throughout, value))
    array = np.asarray(value)
    if array.size == 0 or array.dtype.kind in "OUSbiu":
        return False
    return all(np.isnan(_wide(block)).all() for (block,) in _blocks(array))


def is_empty(value: Any) -> bool:
    """Whether there is nothing to compare in a value: a tensor without elements, or a sequence without
    tensors or only of such tensors.
    """
    return all(array.size == 0 for array in arrays_in(value)) and value is not None


def are_one_value(values: Sequence[Any]) -> bool:
    """Whether all values are tensors with equal elements and equal shapes."""
    first = values[0]
    return all(_are_alike(first, value) and bool(np.all(value == first)) for value in values)


def _differences(where: str, expected: Any, got: Any, rtol: float, atol: float) -> Iterator[_Difference]:
    """Walk both values side by side, down to the arrays; `where` is the path to the element, as "[1]['key']"."""
    prefix = f"{where}: " if where else ""
    if _kind(expected) != _kind(got):
        yield _unlike(prefix, _kind(expected), _kind(got))
    elif isinstance(expected, dict):
        if expected.keys() != got.keys():
            yield _unlike(prefix, f"keys {sorted(expected)}", f"keys {sorted(got)}")
            return
        for key, value in expected.items():
            yield from _differences(f"{where}[{key!r}]", value, got[key], rtol, atol)
    elif isinstance(expected, list | tuple):
        if len(expected) != len(got):
            yield _unlike(prefix, f"{len(expected)} elements", f"{len(got)} elements")
            return
        for index, (value, other) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(f"{where}[{index}]", value, other, rtol, atol)
    elif expected is not None:
        yield _array_difference(where, np.asarray(expected), np.asarray(got), rtol, atol)


def _array_difference(where: str, expected: np.ndarray, got: np.ndarray, rtol: float, atol: float) -> _Difference:
    prefix = f"{where}: " if where else ""
    if _array_dtype(expected) != _array_dtype(got):
        return _unlike(prefix, _array_dtype(expected), _array_dtype(got))
    if expected.shape != got.shape:
        return _unlike(prefix, f"shape {list(expected.shape)}", f"shape {list(got.shape)}")
    if expected.size == 0:
        return _SAME
    blocks = [_block_difference(*pair, rtol=rtol, atol=atol) for pair in _blocks(expected, got)]
    note = _first(where, blocks, expected, got) if any(block.wrong for block in blocks) else ""
    return _Difference(max(block.max_abs for block in blocks), max(block.max_rel for block in blocks), note)


class _Block(NamedTuple):
    """The differences in one block of two arrays.

    `first` is the position, within the block, of the first of the `wrong` elements.
    """

    max_abs: float
    max_rel: float
    wrong: int
    first: int


def _blocks(*arrays: np.ndarray) -> Iterator[list[np.ndarray]]:
    """The same block of each array, as vectors, one block after the other."""
    vectors = [array.reshape(-1) for array in arrays]
    for start in range(0, arrays[0].size, _BLOCK):
        yield [vector[start : start + _BLOCK] for vector in vectors]


def _block_difference(expected: np.ndarray, got: np.ndarray, rtol: float, atol: float) -> _Block:
    if expected.dtype.kind in "OUS":
        wrong = np.asarray(expected != got)
        most = math.inf if np.any(wrong) else 0.0
        return _Block(most, most, int(np.count_nonzero(wrong)), int(np.argmax(wrong)))
    distance, size = _distance(expected, got), np.abs(_wide(expected))
    wrong = distance > _allowed(expected, rtol, atol)
    return _Block(float(distance.max()), _relative(distance, size), int(np.count_nonzero(wrong)), int(np.argmax(wrong)))


def _allowed(expected: np.ndarray, rtol: float, atol: float) -> np.ndarray | float:
    """How far each element may be from the expected one: atol + rtol * |expected|; for integers of 8 bits atol, for others 0."""
    if expected.dtype.kind in "biu":
        return atol if expected.dtype.itemsize == 1 and expected.dtype.kind != "b" else 0.0
    size = np.abs(_wide(expected))
    return atol + rtol * np.where(np.isfinite(size), size, 0.0)


def _distance(expected: np.ndarray, got: np.ndarray) -> np.ndarray:
    """|got - expected|, element by element: exact for integers, infinite where one side only is NaN or infinite."""
    if expected.dtype.kind in "biu":
        high, low = np.maximum(expected, got), np.minimum(expected, got)
        with np.errstate(over="ignore"):  # right modulo 2**64, for signed ones too; numpy warns of it for scalars
            return (high.astype(np.uint64) - low.astype(np.uint64)).astype(float)
    a, b = _wide(expected), _wide(got)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(b - a)
    return np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf))


def _relative(distance: np.ndarray, size: np.ndarray) -> float:
    """The largest distance / |expected|. An infinite distance counts as infinite, whatever it is relative to."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = np.where(distance == 0, 0.0, np.where(np.isinf(distance), np.inf, distance / size))
    return float(ratio.max())


def _wide(array: np.ndarray) -> np.ndarray:
    """The array as float64 or complex128, which hold the values of all narrower types, including those of ml_dtypes."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _first(where: str, blocks: list[_Block], expected: np.ndarray, got: np.ndarray) -> str:
    """A text about the first wrong element and the number of wrong elements."""
    first = next(number * _BLOCK + block.first for number, block in enumerate(blocks) if block.wrong)
    place = tuple(int(index) for index in np.unravel_index(first, expected.shape))
    more = f" ({sum(block.wrong for block in blocks)} of {expected.size} elements differ)" if expected.size > 1 else ""
    at = f" at {where}{list(place) if place else ''}" if where or place else ""
    return f"{_text(got[place])} instead of {_text(expected[place])}{at}{more}"


def _text(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _unlike(prefix: str, expected: str, got: str) -> _Difference:
    return _Difference(math.inf, math.inf, f"{prefix}{got} instead of {expected}")


def _kind(value: Any) -> str:
    if value is None:
        return "an empty optional"
    if isinstance(value, dict):
        return "a map"
    return "a sequence" if isinstance(value, list | tuple) else "a tensor"


def _array_dtype(array: np.ndarray) -> str:
    return "string" if array.dtype.kind in "OUS" else array.dtype.name


def dtype_name(value: Any) -> str:
    """The dtype of a value: "float32", "string", "seq(float32)" or "map(float32)" (that of the first element, or empty), "none".

    In a map, onnxruntime gives numbers of Python for float32, the only type of floats that an operator puts there.
    """
    if value is None:
        return "none"
    if isinstance(value, dict):
        first = next(iter(value.values()), None)
        return f"map({'' if not value else 'float32' if type(first) is float else dtype_name(first)})"
    if isinstance(value, list | tuple):
        return f"seq({dtype_name(value[0]) if value else ''})"
    return _array_dtype(np.asarray(value))


def shape_of_value(value: Any) -> tuple[int, ...]:
    """The shape of a tensor; (length,) for a sequence or a map."""
    if value is None:
        return ()
    return (len(value),) if isinstance(value, dict | list | tuple) else np.asarray(value).shape
