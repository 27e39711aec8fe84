"""One way to fill the inputs of a comparison, and the values that it gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import onnx

from ...execution.dtypes import numpy_dtype
from .deciding import Style, as_it_is_read, decide_floats, decide_integers, far_bound, on_its_side
from .declared_types import type_text
from .readers import Reading

_WORDS = ("", "a", "bc", "naïve", "0", "word word")
_DECIDED_FLOATS = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")
Integers = Literal["small", "binary", "ones", "zeros"]
Values = tuple[float, ...]


class SampleError(Exception):
    """No inputs can be made for this model; `str()` is the reason."""


class Choice(NamedTuple):
    """One way to choose what the models leave open.

    `size`: the size of every symbolic dimension; None gives each symbol a size of its own. `integers`: "small" is 0 to 3, "binary"
    0 or 1. `rank`: the rank of inputs of unknown rank. `positive`: floats from 0.1 to 1 instead of normally distributed ones, for
    Log and similar operators; `large`: floats from 1 to 30, for Acosh. `style`: fills floats, integers or both with decisive
    values, chosen by what reads them; `integers`, `positive` and `large` are for the rest. `sizes` and `values` were settled
    before: sizes of symbolic dimensions, and the elements of small inputs. `overrides`: inputs with defaults get other values, too.
    """

    size: int | None = None
    integers: Integers = "small"
    rank: int = 2
    positive: bool = False
    large: bool = False
    style: Style | None = None
    decides: Literal["all", "floats", "integers"] = "all"
    sizes: tuple[tuple[str, int], ...] = ()
    values: tuple[tuple[str, Values], ...] = ()
    overrides: bool = False

    def with_size(self, name: str, size: int) -> Choice:
        """This choice, with another size of the symbolic dimension `name`."""
        return self._replace(sizes=tuple(sorted({**dict(self.sizes), name: size}.items())))

    def with_values(self, name: str, values: Values) -> Choice:
        """This choice, with other elements of the input `name`."""
        return self._replace(values=tuple(sorted({**dict(self.values), name: values}.items())))

    @property
    def seed(self) -> list[int]:
        """The seed of this sample. Samples of decisive values have random values of their own."""
        return [] if self.style is None else [len(self.style.floats), len(self.style.integers), self.style.turn]

    @property
    def is_odd(self) -> bool:
        """Whether the sample may hold NaN or infinities."""
        return self.style is not None and self.style.floats in ("nan", "infinite") and self.decides != "integers"


class Filler:
    """Makes random values of any type that a graph input can have."""

    def __init__(
        self, random: np.random.Generator, choice: Choice, reading: Reading, sizes: Mapping[str, int], has_usual_floats: bool
    ) -> None:
        self._random = random
        self._integers: Integers = choice.integers
        self._positive = choice.positive
        self._large = choice.large
        self._style = choice.style
        self._decides = choice.decides
        self._reading = reading
        self._sizes = sizes
        self._decides_floats = choice.decides != "integers" and (not has_usual_floats or reading.counts_elements)

    def fill(self, declared: onnx.TypeProto, dims: tuple[int, ...]) -> Any:
        kind = declared.WhichOneof("value")
        if kind == "tensor_type":
            return self._tensor(declared.tensor_type.elem_type, dims)
        if kind == "sequence_type":
            return [self.fill(declared.sequence_type.elem_type, dims) for _ in range(3)]
        if kind == "optional_type":
            return self.fill(declared.optional_type.elem_type, dims)
        if kind == "map_type":
            return self._map(declared.map_type)
        raise SampleError(f"inputs of type {type_text(declared)} cannot be made")

    def _tensor(self, elem_type: int, dims: tuple[int, ...]) -> np.ndarray:
        name = onnx.TensorProto.DataType.Name(elem_type)
        if name == "STRING":
            return self._strings(dims)
        dtype = numpy_dtype(elem_type)
        if name == "BOOL" and self._style is not None and self._style.truth is not None:
            return np.full(dims, self._style.truth)
        if name == "BOOL":
            return self._random.integers(0, 2, dims).astype(bool)
        if self._style is not None and self._decides != "floats" and dtype.kind in "iu":
            limits = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            integers = np.asarray(decide_integers(self._random, self._style, self._reading, dims, limits, self._sizes))
            return on_its_side(integers, self._reading).astype(dtype)
        if dtype.kind in "iu" or name in ("INT4", "UINT4", "INT2", "UINT2"):
            integers = self._whole_numbers(dims, largest=1 if name == "INT2" else 3)
            return np.asarray(on_its_side(as_it_is_read(integers, self._reading, self._sizes), self._reading)).astype(dtype)
        if name == "FLOAT8E8M0":  # powers of two, no sign
            return np.exp2(self._random.integers(-3, 4, dims)).astype(dtype)
        if dtype.kind == "c":
            return (self._random.standard_normal(dims) + 1j * self._random.standard_normal(dims)).astype(dtype)
        if self._style is not None and self._decides_floats and name in _DECIDED_FLOATS:
            with np.errstate(over="ignore"):
                values = np.asarray(decide_floats(self._random, self._style, self._reading, dims))
                return on_its_side(values, self._reading).astype(dtype)
        if self._style is not None and (self._reading.is_lower or self._reading.is_upper):
            return np.full(dims, far_bound(self._reading)).astype(dtype)
        bounds = (1, 30) if self._large else (0.1, 1) if self._positive else None
        values = self._random.standard_normal(dims) if bounds is None else self._random.uniform(*bounds, dims)
        return np.asarray(values).astype(dtype)

    def _whole_numbers(self, dims: tuple[int, ...], largest: int) -> np.ndarray:
        """Small integers that are not negative, which are valid as indices, axes, sizes and counts."""
        if self._integers in ("ones", "zeros"):
            return np.full(dims, int(self._integers == "ones"))
        return self._random.integers(0, 1 if self._integers == "binary" else largest, dims, endpoint=True)

    def _strings(self, dims: tuple[int, ...]) -> np.ndarray:
        """Strings: words first, and then digits, which can be cast to numbers if necessary."""
        words = _WORDS if self._integers == "small" else ("0", "1")
        return self._random.choice(np.array(words, object), dims) if dims else np.array(words[1], object)

    def _map(self, declared: onnx.TypeProto.Map) -> dict[Any, Any]:
        keys = _WORDS[1:4] if declared.key_type == onnx.TensorProto.STRING else range(3)
        return {key: self.fill(declared.value_type, ()).item() for key in keys}


def array_of_values(values: Values, dims: tuple[int, ...], declared: onnx.TypeProto) -> np.ndarray:
    """The elements in the declared type, as far as it has them."""
    dtype = numpy_dtype(declared.tensor_type.elem_type)
    array = np.array(values, dtype=np.float64).reshape(dims)
    return np.asarray(array.clip(np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else array).astype(dtype)
