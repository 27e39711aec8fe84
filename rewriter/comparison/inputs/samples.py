"""Makes the inputs of a comparison: random, small and repeatable, of the types and shapes that the two models declare."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from onnx import TypeProto

from ...errors import ArgumentError
from ...execution.dtypes import numpy_dtype
from ...execution.messages import Outputs
from ..judging.declared_outputs import Contradiction, DeclaredOutputs, bound_sizes
from .choice import Choice, Filler, Integers, SampleError, array_of_values
from .deciding import Style, styles, with_one_that_follows
from .declared_types import (
    Shape,
    as_declared,
    check_dtype,
    declared_shape,
    holds_floats,
    holds_integers,
    list_text,
    type_text,
    values_of,
)
from .description import Description
from .readers import Dim, Reading

MAX_INPUT_BYTES = 1 << 30
"""The bytes that the inputs of one run may take, unless the user provides them."""
_MAX_CHOICES = 100
"""The largest number of choices of inputs that are tried for one model."""
_MAX_CONDITIONS = 6
"""The largest number of conditions for each of which inputs are looked for."""
_UNREAD = Reading()
_OVERRIDDEN = 5
"""The number of samples with other values for inputs that have defaults."""
_MOST_OVERRIDDEN = 1 << 12
"""The largest number of elements of such inputs."""
_FEW_ELEMENTS = 16
"""The number of elements up to which each element of an input may be settled."""


@dataclass
class Samples:
    """What the user says about the inputs of a comparison; the rest is chosen by the program.

    `shapes`: input name → dimensions. `data`: the samples to run, each a mapping from input name to an array of the declared dtype;
    a sample need not have all inputs. `seed`: the seed of the random values, 0 or more.
    """

    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    data: Sequence[Mapping[str, np.ndarray]] = ()
    seed: int = 0

    @property
    def are_given(self) -> bool:
        """Whether the user gave a shape or data for any input."""
        return bool(self.shapes or self.data)


LONG = 1024
"""A size for models that read windows of a signal."""
_SIZES = (None, 4, 6, 2, 3, 1, 8, 12, 16, 32, 64, 224, LONG)
_LARGE = 2
"""The number of choices with large floats, which come last."""
_MORE_SIZES = (1, 2, 5, 8, 13, 17, 33)
"""Sizes on which models that only carry elements are tried, too."""
_FEW_NUMBERED = 1 << 14
"""The largest number of elements of such inputs."""
_INTEGERS: tuple[Integers, ...] = ("small", "binary", "ones", "zeros")
_RANKS = (2, 3, 4, 1, 0)
_LONGER = 3
"""The size of a dimension beside one of 0 or 1."""


class InputSpace:
    """All inputs that the original accepts, restricted by the fixed dimensions of the result and by the user's data."""

    def __init__(
        self,
        original: Description,
        result: Description,
        samples: Samples,
        data: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Prepare the inputs for one sample, of which the user gave `data`.

        Raises: ArgumentError where a name, shape or array does not fit.
        """
        fixed = {value.name: value for value in values_of(result.required)}
        self._samples = samples
        self._data = data or {}
        self._required = values_of(original.required)
        self._readings = _joined(original.readings.by_input, result.readings.by_input)
        self._nodes = original.readings.nodes
        self._equal = original.equal
        self._carries = original.carries and result.carries
        self._declared = DeclaredOutputs(values_of(original.declared))
        self._types = {value.name: value.type for value in [*self._required, *values_of(original.overridable)]}
        self._stated = {name: declared_shape(declared) for name, declared in self._types.items()}
        chosen = [value for value in self._required if value.name not in self._data]
        self._floats = [value.name for value in chosen if holds_floats(value.type)]
        self._integers = [value.name for value in chosen if holds_integers(value.type)]
        self._bound: dict[str, int] = {}
        self._shapes: dict[str, Shape] = {}
        self._check_names()
        for name in self._types:
            own = self._open_shape(name)
            other = declared_shape(fixed[name].type) if name in fixed else None
            self._shapes[name] = _narrow(own, other, self._bound)
        for name in [*samples.shapes, *self._data]:
            self._apply_given(name)
        self._overridden = [
            value for value in values_of(original.overridable) if original.overrides and self._may_override(value.name)
        ]

    @property
    def summary(self) -> str:
        """The inputs that are needed, as a user would write them: "x float32[batch,3,8,8], ids int64[batch]"."""
        return ", ".join(f"{value.name} {type_text(value.type)}" for value in self._required)

    @property
    def has_open_sizes(self) -> bool:
        """Whether a dimension or a rank can be chosen."""
        return any(self._is_open(value.name) for value in self._required)

    @property
    def is_given(self) -> bool:
        """Whether the user gave every input."""
        return all(value.name in self._data for value in self._required)

    @property
    def _decides_rank(self) -> bool:
        """Whether the values of an input, or its rank, which the program chooses, may decide the rank of an output."""
        chosen = [value.name for value in self._required if value.name not in self._data]
        readings = (self._readings.get(name, _UNREAD) for name in chosen)
        return any(self._shapes[name] is None for name in chosen) or any(
            reading.sizes or reading.axes or reading.shape for reading in readings
        )

    def choices(self) -> list[Choice]:
        """Ways to fill the inputs, the most natural one first."""
        chosen = [value for value in self._required if value.name not in self._data]
        sizes = _SIZES if self.has_open_sizes else _SIZES[:1]
        integers = _INTEGERS if self._integers else _INTEGERS[:1]
        unranked = any(self._shapes[value.name] is None for value in chosen)
        ranks = _RANKS if unranked else _RANKS[:1]
        signs = (False, True) if self._floats else (False,)
        grid = sorted(
            itertools.product(*map(range, (len(sizes), len(integers), len(ranks), len(signs)))),
            key=lambda place: (sum(place), place[1:]),
        )
        usual = [Choice(sizes[s], integers[i], ranks[r], signs[p]) for s, i, r, p in grid[:_MAX_CHOICES]]
        return usual + [Choice(size, large=True) for size in sizes[:_LARGE] if self._floats]

    def edges(self) -> list[Choice]:
        """Ways to choose the open sizes that a rule forgets easily: 1 in one input and more in another, and vectors of integers
        without elements.
        """
        open_sizes = self.open_sizes(Choice())
        if not open_sizes:
            return []
        first_in: dict[Dim, int] = {}
        for number, shape in enumerate(self._shapes.values()):
            for dim in shape or ():
                first_in.setdefault(dim, number % 2)
        empty = set(filter(None, map(self.length_of, self._integers)))
        ways: list[dict[str, int]] = []
        if len({first_in[name] for name in open_sizes}) > 1:
            ways += [{name: 1 if first_in[name] == one else _LONGER for name in open_sizes} for one in (0, 1)]
        if empty:
            ways.append({name: 0 if name in empty else size for name, size in open_sizes.items()})
        return [Choice(integers="small", sizes=tuple(sorted(sizes.items()))) for sizes in ways]

    def deciding(self, usual: Sequence[Choice], most: int | None = None) -> list[list[Choice]]:
        """Samples of decisive values, at most `most`, each with alternatives in case the original does not run on it.

        `usual` are choices that the original ran on. The inputs without decisive values are filled as in one of these.
        """
        chosen = [value for value in self._required if value.name not in self._data]
        if not chosen or not usual:
            return []
        ways: tuple[Literal["all", "floats", "integers"], ...] = ("all",)
        ways += ("integers", "floats") if self._floats and self._integers else ()
        wanted = styles(self._nodes, len(self._floats))[:most]
        varied = [*usual[:2], *(choice for choice in usual[2:] if choice.values)]
        bases = [self._with_one_that_follows(varied[number % len(varied)], style) for number, style in enumerate(wanted)]
        settled = {base: self._settled(base) for base in bases}
        found = [
            [*(base._replace(style=style, decides=way) for way in ways), settled[base]._replace(style=style, decides="floats")]
            for style, base in zip(wanted, bases, strict=True)
        ]
        others = [[choice._replace(overrides=True) for choice in way] for way in found[:_OVERRIDDEN] if self._overridden]
        return [*found[:1], *others, *found[1:]][:most]

    def _may_override(self, name: str) -> bool:
        """Whether the default of the input is small, and the user gave no other."""
        shape = self._shapes[name]
        is_small = shape is not None and math.prod(dim for dim in shape if isinstance(dim, int)) <= _MOST_OVERRIDDEN
        return is_small and name not in self._data

    def _with_one_that_follows(self, choice: Choice, style: Style) -> Choice:
        """The choice, on every second turn with a -1 in each shape that was settled for a Reshape."""
        for name, values in choice.values:
            if self._readings.get(name, _UNREAD).may_follow:
                choice = choice.with_values(name, tuple(with_one_that_follows(style, np.array(values)).tolist()))
        return choice

    def distinct(self, choice: Choice) -> list[dict[str, Any]]:
        """Samples for models that carry elements, two of each choice of sizes: each element differs from all others of its sample,
        and from all of the other one. The first two have the sizes of `choice`, and further ones others where sizes are open.

        There are none where the models do more than carry, where the user gave inputs, or a type has too few numbers.
        """
        if not self._carries or self._data:
            return []
        others = [choice._replace(size=size, sizes=()) for size in _MORE_SIZES] if self.has_open_sizes else []
        shapes = [self.shapes(choice), *(shape for shape in map(self.shapes, others) if _elements(shape) <= _FEW_NUMBERED)]
        fitting = [shape for shape in shapes if self._can_be_numbered(_elements(shape))]
        return [dict(self._numbered(shape, first)) for shape in fitting for first in (1, 1 + _elements(shape))]

    def _can_be_numbered(self, total: int) -> bool:
        """Whether two samples of so many elements can have a number of its own for each."""
        fits = 0 < total * 8 <= MAX_INPUT_BYTES
        return fits and all(2 * total <= _most_numbers(value.type) for value in self._required)

    def _numbered(self, shapes: Mapping[str, tuple[int, ...]], first: int) -> Iterator[tuple[str, np.ndarray]]:
        """Inputs of these shapes whose elements are the whole numbers from `first` on."""
        for value in self._required:
            shape = shapes[value.name]
            numbers = np.arange(first, first + math.prod(shape)).reshape(shape)
            first += numbers.size
            yield value.name, numbers.astype(numpy_dtype(value.type.tensor_type.elem_type))

    def styled(self, choice: Choice) -> list[Choice]:
        """The choice with decisive numbers, which may give outputs of other sizes where these depend on the data."""
        wanted = [style for style in styles(self._nodes) if style.floats not in ("nan", "infinite")]
        return [choice._replace(style=style) for style in wanted] if choice.style is None else []

    def _settled(self, choice: Choice) -> Choice:
        """The choice with the elements that it gives to all small inputs."""
        inputs = self.make(choice)
        for name in self.small_inputs(inputs):
            choice = choice.with_values(name, tuple(inputs[name].reshape(-1).tolist()))
        return choice

    def shapes(self, choice: Choice) -> dict[str, tuple[int, ...]]:
        """The shapes of the inputs that `make` makes of `choice`."""
        sizes = self.sizes(choice)
        shapes = {name: (4,) * choice.rank if shape is None else shape for name, shape in self._shapes.items()}
        return {name: tuple(sizes[dim] if isinstance(dim, str) else dim for dim in shape) for name, shape in shapes.items()}

    def make(self, choice: Choice, room: int = MAX_INPUT_BYTES) -> dict[str, Any]:
        """The inputs for both models: name → array, list of arrays (sequence) or dict (map). They take at most `room` bytes.

        Raises: SampleError.
        """
        random = np.random.default_rng([self._samples.seed, *choice.seed] if choice.style else self._samples.seed)
        sizes, shapes = self.sizes(choice), self.shapes(choice)
        usual = self._filled_as_usual(choice)
        settled = dict(choice.values)
        inputs: dict[str, Any] = dict(self._data)
        for value in [*self._required, *(self._overridden if choice.overrides else ())]:
            if value.name in inputs:
                inputs[value.name] = as_declared(inputs[value.name], value.type)
                continue
            dims = shapes[value.name]
            room -= math.prod(max(dim, 1) for dim in dims) * 8  # numpy makes no empty array that is too big without its 0
            if room < 0:
                raise SampleError(f"the inputs are too big to invent: {value.name} {type_text(value.type)}")
            if len(settled.get(value.name, ())) == math.prod(dims) and value.name in settled:
                inputs[value.name] = array_of_values(settled[value.name], dims, value.type)
                continue
            reading = self._readings.get(value.name, _UNREAD)
            inputs[value.name] = Filler(random, choice, reading, sizes, value.name in usual).fill(value.type, dims)
        return inputs

    def _filled_as_usual(self, choice: Choice) -> set[str]:
        """The floating-point inputs that the style fills with usual values. Defaults are among them, since most are weights."""
        floats, defaults = self._floats, {value.name for value in self._overridden}
        if choice.style is None or choice.style.alone is None or not floats:
            return defaults
        return {*floats, *defaults} - {floats[choice.style.alone % len(floats)]}

    def _check_names(self) -> None:
        for option, given in (("--test-input-shape", self._samples.shapes), ("--input-data", self._data)):
            for name in given:
                if name not in self._types:
                    raise ArgumentError(f"{option} {name}: no such input; the inputs are {self.summary}")

    def _apply_given(self, name: str) -> None:
        """Apply a given shape, or the shape of given data, to the input and to the symbolic dimensions that it determines."""
        option, given = "--test-input-shape", self._samples.shapes.get(name)
        declared = self._types[name]
        if name in self._data:
            option, array = "--input-data", self._data[name]
            check_dtype(name, array, declared)
            given = array.shape
        assert given is not None
        shape = self._shapes[name]
        if not _fits(shape, given):
            raise ArgumentError(f"{option} {name}: shape {list_text(given)} does not fit the declared {type_text(declared)}")
        for dim, size in zip(shape or (), given, strict=False):
            if isinstance(dim, str):
                self._bound.setdefault(dim, int(size))
        self._shapes[name] = tuple(int(size) for size in given)

    def _open_shape(self, name: str) -> Shape:
        """The declared shape. A dimension without a name gets one made from its position; of equal ones, all are the same."""
        shape = self._stated[name]
        named = [f"{name}[{axis}]" if dim == "" else dim for axis, dim in enumerate(shape or ())]
        return shape and tuple(self._equal.get(dim, dim) if isinstance(dim, str) else dim for dim in named)

    def _is_open(self, name: str) -> bool:
        if name in self._data:
            return False
        shape = self._shapes[name]
        return shape is None or any(isinstance(dim, str) and dim not in self._bound for dim in shape)

    def sizes(self, choice: Choice) -> dict[str, int]:
        """The sizes of all symbolic dimensions."""
        names = [dim for shape in self._shapes.values() for dim in shape or () if isinstance(dim, str)]
        leading = self._batches
        sizes: dict[str, int] = {}
        for name in dict.fromkeys(names):
            size = 3 + len(sizes) if choice.size is None else choice.size
            # A batch of 224 images of 224 x 224 would prove no more than one of 2.
            sizes[name] = min(size, 2) if name in leading and size > 12 else size
        return sizes | dict(choice.sizes) | self._bound

    @property
    def _batches(self) -> set[Dim]:
        """The dimensions that are batches: the first ones; and where one of these is open, the only open one in the middle of an
        input, as of the states of a recurrent network.
        """
        shapes = [shape for shape in self._shapes.values() if shape is not None and len(shape) > 1]
        first: set[Dim] = {shape[0] for shape in shapes}
        if all(isinstance(dim, int) for dim in first):
            return first
        open_dims = [(shape, [dim for dim in shape if isinstance(dim, str)]) for shape in shapes]
        return first | {dims[0] for shape, dims in open_dims if len(dims) == 1 and dims[0] in shape[1:-1]}

    def open_sizes(self, choice: Choice) -> dict[str, int]:
        """The sizes of the symbolic dimensions that can be chosen."""
        return {name: size for name, size in self.sizes(choice).items() if name not in self._bound}

    def length_of(self, name: str) -> str:
        """The symbolic dimension that is the length of a vector, and of no other input; "" where there is none."""
        shape = self._shapes[name]
        if shape is None or len(shape) != 1 or not isinstance(shape[0], str) or shape[0] in self._bound:
            return ""
        others = (dim for other, dims in self._shapes.items() if other != name for dim in dims or ())
        return "" if shape[0] in others else shape[0]

    def small_inputs(self, inputs: Mapping[str, Any]) -> dict[str, Reading]:
        """The inputs in whose elements a search may look for what fits: few integers, and floats that are no plain numbers."""
        found = {}
        for value in self._required:
            array, reading = inputs.get(value.name), self._readings.get(value.name, _UNREAD)
            if value.name in self._data or not isinstance(array, np.ndarray) or array.size > _FEW_ELEMENTS:
                continue
            is_settled = reading.counts_elements or (reading.compared and array.size == 1)
            if array.dtype.kind in "iub" or (array.dtype.kind in "fV" and is_settled):
                found[value.name] = reading
        return found

    def conditions(self, inputs: Mapping[str, Any]) -> list[tuple[str, float]]:
        """Single numbers in the inputs, each with a number on which a comparison in the model depends."""
        small = self.small_inputs(inputs)
        found = [(name, number) for name, reading in small.items() for number in sorted(reading.compared)]
        return [(name, number) for name, number in found if inputs[name].size == 1][:_MAX_CONDITIONS]

    def contradictions(self, inputs: Mapping[str, Any], outputs: Outputs, *, by_symbols: bool = True) -> list[Contradiction]:
        """The outputs of the original whose shapes contradict its own declaration. Inputs that the user gave are never doubted.

        With `by_symbols`, a symbol that the inputs determine counts as a declared size. Where no input decides a rank, another rank
        than the declared one is what the original gives on any input, and no reason to doubt these.
        """
        sizes = self._sizes_in(inputs) if by_symbols else {}
        found = [] if self.is_given else self._declared.contradictions(outputs, sizes)
        return found if self._decides_rank else [broken for broken in found if len(broken.declared) == len(broken.got)]

    def declared_shapes(self, inputs: Mapping[str, Any]) -> list[tuple[Dim, ...]]:
        """The shapes that the original declares for its outputs, with the sizes that the inputs determine."""
        return self._declared.shapes(self._sizes_in(inputs))

    def _sizes_in(self, inputs: Mapping[str, Any]) -> dict[str, int]:
        return bound_sizes(inputs, self._stated)


def _elements(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """The number of elements of all inputs."""
    return sum(map(math.prod, shapes.values()))


def _most_numbers(declared: TypeProto) -> int:
    """The largest number up to which a tensor of this type can hold all whole numbers; 0 for other types."""
    if declared.WhichOneof("value") != "tensor_type":
        return 0
    dtype = numpy_dtype(declared.tensor_type.elem_type)
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    return 2 ** (np.finfo(dtype).nmant + 1) if dtype in (np.float16, np.float32, np.float64) else 0


def _joined(one: Mapping[str, Reading], other: Mapping[str, Reading]) -> dict[str, Reading]:
    """For each input, what either of the two models does with it."""
    return {name: reading.joined(other[name]) if name in other else reading for name, reading in one.items()}


def _narrow(own: Shape, other: Shape, bound: dict[str, int]) -> Shape:
    """Collect in `bound` the sizes that only `other` states for symbolic dimensions of `own`, and return `own`."""
    if own is None or other is None or len(own) != len(other):
        return own
    for dim, size in zip(own, other, strict=True):
        if isinstance(dim, str) and isinstance(size, int):
            bound.setdefault(dim, size)
    return own


def _fits(shape: Shape, given: Sequence[int]) -> bool:
    if min(given, default=0) < 0 or (shape is not None and len(shape) != len(given)):
        return False
    return all(isinstance(dim, str) or dim == size for dim, size in zip(shape or (), given, strict=False))
