"""Finds out what a model does with the values of its inputs: which are positions, axes, sizes, conditions, or plain numbers.

Each input is followed forwards through the graph. Operators that only move elements pass the values on; others compute new values
that depend on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from ...errors import InvalidModelError
from ...opsets import facts
from ...opsets.facts import Fact, Kind, Role
from ...opsets.folding import constant_value
from ...opsets.type_protos import sizes_and_symbols
from ...storage.payload import array_of

MAX_NODES = 3000
"""The number of nodes in the main graph up to which inputs are followed."""
_MAX_LANDMARKS = 24
"""The largest number of landmarks for one input."""
_MAX_COMPARED = 4
"""The largest number of numbers that one input is compared with."""
_FEW = 8
"""The number of elements up to which a constant may be a bound, a threshold or a scale."""

Dim = int | str


@dataclass
class Reading:
    """What the model does with the values of one input.

    `positions`: the lengths of the axes on which it holds positions (a number, a symbol, or "" where unknown). `axes`: the
    ranks of the tensors whose axes it names (0 where unknown). `sizes`: it decides how large something is, or how often
    something is done; `turns`: how often a body runs. `shape`: the declared shape that a Reshape makes of it; `may_follow`: a
    Reshape reads it, so that one entry may be -1. `shifts`, `divides`, `powers`, `scales`, `offsets`: it is the amount of a
    shift, a divisor, an exponent, the scale of a resize, a diagonal or padding. `starts`, `ends`, `strides`: it is where a
    Slice begins or ends, which may be beyond the axis, or its step, which is not 0; `ranges`: that of a Range. `lengths`: it is
    the step or the length of a frame, or the sizes of a block, from 1 on. `is_lower`, `is_upper`: it is a bound of a Clip.
    `from_front`: positions are not counted from the back; `is_count`: they are counts, from 1 on; `ignored`: numbers that stand
    for no position. `becomes_integer`: it is cast or quantized, which is not defined for NaN and infinities; `is_cast`: nor for
    numbers beyond the type. `is_ordered`: what comes of it is sorted, or is the place of the largest, where no specification
    says where NaN goes. `is_squared`: its squares are added, which is not defined for integers whose squares are beyond their
    type. `landmarks`: the numbers that it meets: constants and attributes of the nodes that read it. `compared`: numbers for
    which a comparison with a constant gives what it seldom gives for others.
    """

    positions: set[Dim] = field(default_factory=set)
    axes: set[int] = field(default_factory=set)
    sizes: bool = False
    turns: bool = False
    shape: tuple[int, ...] = ()
    may_follow: bool = False
    shifts: bool = False
    divides: bool = False
    powers: bool = False
    scales: bool = False
    offsets: bool = False
    ranges: bool = False
    starts: bool = False
    ends: bool = False
    strides: bool = False
    lengths: bool = False
    is_lower: bool = False
    is_upper: bool = False
    from_front: bool = False
    is_count: bool = False
    ignored: set[int] = field(default_factory=set)
    becomes_integer: bool = False
    is_cast: bool = False
    is_ordered: bool = False
    is_squared: bool = False
    landmarks: set[float] = field(default_factory=set)
    compared: set[float] = field(default_factory=set)

    @property
    def counts_elements(self) -> bool:
        """Whether the input decides how many elements a value has."""
        return self.scales or self.sizes or self.strides or self.ranges

    def joined(self, other: Reading) -> Reading:
        """What either of two models does with the input.

        Only for `becomes_integer`, `is_cast` and `is_squared`, the other model does not count.
        """
        return Reading(
            self.positions | other.positions,
            self.axes | other.axes,
            self.sizes or other.sizes,
            self.turns or other.turns,
            self.shape,
            self.may_follow,
            self.shifts or other.shifts,
            self.divides or other.divides,
            self.powers or other.powers,
            self.scales or other.scales,
            self.offsets or other.offsets,
            self.ranges or other.ranges,
            self.starts or other.starts,
            self.ends or other.ends,
            self.strides or other.strides,
            self.lengths or other.lengths,
            self.is_lower or other.is_lower,
            self.is_upper or other.is_upper,
            self.from_front,
            self.is_count,
            self.ignored,
            self.becomes_integer,
            self.is_cast,
            self.is_ordered or other.is_ordered,
            self.is_squared,
            self.landmarks | other.landmarks,
            self.compared,
        )


class Readings(NamedTuple):
    """What a model does with all its inputs.

    `by_input`: the reading of each graph input. `computed`: for each graph output, the inputs whose values it depends on. `nodes`:
    the number of nodes in the main graph. `has_halves`: whether the model computes in 16-bit floats anywhere. `spread`: the graph
    outputs in which no specification says where NaN and infinities are, since elements were multiplied by weights that may be 0.
    `guarded`: those that depend on an IsNaN.
    """

    by_input: Mapping[str, Reading]
    computed: Mapping[str, frozenset[str]]
    nodes: int = 0
    has_halves: bool = False
    spread: frozenset[str] = frozenset()
    guarded: frozenset[str] = frozenset()

    def undefined(self, of_numbers: bool, zeros: bool) -> frozenset[str]:
        """The outputs in which NaN and infinities do not count, which are more with the settings `of_numbers` and `zeros`."""
        return frozenset(self.computed) if zeros else self.spread.union(self.guarded if of_numbers else ())


NO_READINGS = Readings({}, {})
"""The readings of a model about which nothing is known."""


def readings(model: ModelProto) -> Readings:
    """The readings of `model`; empty for models of more than MAX_NODES nodes."""
    if len(model.graph.node) > MAX_NODES:
        return NO_READINGS
    walk = _Walk(model)
    walk.graph(model.graph)
    computed = {value.name: frozenset(walk.sources.get(value.name, ())) for value in model.graph.output}
    spread, guarded = (frozenset(names.intersection(computed)) for names in (walk.spread, walk.guarded))
    return Readings(walk.found, computed, len(model.graph.node), _has_halves(model.graph), spread, guarded)


def _has_halves(graph: GraphProto) -> bool:
    """Whether the main graph mentions a 16-bit float type: for an input, output, value or constant, or in a Cast."""
    stated = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output, *graph.value_info)}
    stated.update(tensor.data_type for tensor in graph.initializer)
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        stated.add(attribute.i if attribute.name in ("to", "dtype") else attribute.t.data_type)
    return not stated.isdisjoint((TensorProto.FLOAT16, TensorProto.BFLOAT16))


class _Line(NamedTuple):
    """A value whose elements are those of a graph input, times `factor`, plus `offset`."""

    source: str
    factor: float = 1.0
    offset: float = 0.0

    def moved(self, how: str, number: float, *, is_first: bool) -> _Line | None:
        """This value added to, subtracted from or multiplied by `number`, or negated, as `how` says; None for what is no line.

        `is_first`: the value is the first operand, and `number` the second.
        """
        if how == "neg":
            return self._replace(factor=-self.factor, offset=-self.offset)
        if how == "mul":
            return self._replace(factor=self.factor * number, offset=self.offset * number) if number else None
        if how == "add":
            return self._replace(offset=self.offset + number)
        if how == "sub":
            negated = self if is_first else self._replace(factor=-self.factor, offset=-self.offset)
            return negated._replace(offset=negated.offset + (-number if is_first else number))
        return self if how == "cast" else None

    def before(self, number: float) -> float:
        """The element of the graph input for which this value is `number`."""
        return (number - self.offset) / self.factor


_Sources = dict[str, bool]
"""The graph inputs that a value depends on. True for an input whose elements were only moved, not computed with."""

_SIZES = frozenset({Role.SIZES, Role.SHAPE})
"""The roles of inputs that decide how large something is, or how often something is done."""
_SIZES_IF_COMPUTED = frozenset({Role.RANGE, Role.STRIDE, Role.TAKEN})
"""The roles of inputs that decide this too, but for which good numbers are known if they are read as they are."""
_FROM_FRONT = frozenset({Role.PLACES, Role.ROWS, Role.CLASSES, Role.COUNTS, Role.TAKEN})
"""The roles of inputs whose values are never counted from the back."""
_HOLD_ANYTHING = frozenset(
    {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.BOOL, TensorProto.UNDEFINED}
)
"""The element types for which the values of NaN, infinities and large numbers are defined."""


class _Walk:
    """One pass over the nodes in order. Subgraphs are entered with what is known of their inputs."""

    def __init__(self, model: ModelProto) -> None:
        self.found = {value.name: Reading() for value in model.graph.input}
        self.sources: dict[str, _Sources] = {value.name: {value.name: True} for value in model.graph.input}
        self.spread: set[str] = set()
        self.guarded: set[str] = set()
        self._dims: dict[str, tuple[Dim, ...]] = {}
        self._kinds: dict[str, int] = {}
        self._constants: dict[str, list[float]] = {}
        self._lines = {value.name: _Line(value.name) for value in model.graph.input}

    def graph(self, graph: GraphProto) -> None:
        self._constants.update((tensor.name, _few_numbers(_stored(tensor))) for tensor in graph.initializer)
        self._dims.update((tensor.name, tuple(tensor.dims)) for tensor in graph.initializer)
        self._kinds.update((tensor.name, tensor.data_type) for tensor in graph.initializer)
        for value in (*graph.input, *graph.value_info, *graph.output):
            self._kinds[value.name] = value.type.tensor_type.elem_type
            if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
                self._dims[value.name] = sizes_and_symbols(value.type.tensor_type.shape)
        for node in graph.node:
            self._node(node)

    def _node(self, node: NodeProto) -> None:
        if node.op_type == "Constant":
            self._constants[node.output[0]] = _few_numbers(constant_value(node, _stored))
        fact = facts.of(node.op_type, node.domain)
        if fact.takes(Role.MEASURED) or not node.input:
            return
        self._enter_subgraphs(node)
        self._follow_lines(node, fact)
        handed_on: _Sources = {}
        for index, name in enumerate(node.input):
            roles = fact.role(index)
            if Role.TYPE in roles:
                continue
            for source, as_it_is in self.sources.get(name, {}).items():
                self._read(node, fact, index, self.found[source], as_it_is)
                handed_on[source] = handed_on.get(source, True) and as_it_is and Role.DATA in roles
        for name in _results(node):
            handed_on.update(dict.fromkeys(self.sources.get(name, {}), False))
        if _spreads(node, fact) or not self.spread.isdisjoint((*node.input, *_results(node))):
            self.spread.update(filter(None, node.output))
        if node.op_type == "IsNaN" or not self.guarded.isdisjoint((*node.input, *_results(node))):
            self.guarded.update(filter(None, node.output))
        if handed_on:
            self.sources.update(dict.fromkeys(filter(None, node.output), handed_on))

    def _follow_lines(self, node: NodeProto, fact: Fact) -> None:
        """Note the numbers with which a moved or scaled input is compared, and what this node makes of such an input."""
        for index, line in ((index, self._lines[name]) for index, name in enumerate(node.input) if name in self._lines):
            numbers = list(self._numbers(node, index))
            if fact.has("compares") and (line.factor, line.offset) != (1, 0):
                beyond = int(fact.word("compares") == "beyond")
                reading = self.found[line.source]
                if len(reading.landmarks) < _MAX_LANDMARKS:
                    reading.landmarks.update(line.before(number) for number in numbers)
                if len(reading.compared) < _MAX_COMPARED:
                    reading.compared.update(line.before(number + beyond) for number in numbers)
            number = numbers[0] if len(numbers) == 1 else 0.0 if len(node.input) == 1 else None
            moved = None if number is None else line.moved(fact.word("folds"), number, is_first=index == 0)
            if moved is not None:
                self._lines[node.output[0]] = moved

    def _enter_subgraphs(self, node: NodeProto) -> None:
        for graph in _subgraphs(node):
            fed = ["", "", *node.input[2:]] if node.op_type == "Loop" else list(node.input)
            for value, name in zip(graph.input, fed, strict=False):
                if name in self.sources:
                    self.sources[value.name] = self.sources[name]
                for names in (self.spread, self.guarded):
                    if name in names:
                        names.add(value.name)
            self.graph(graph)

    def _read(self, node: NodeProto, fact: Fact, index: int, reading: Reading, as_it_is: bool) -> None:
        """Note in the readings what `node` does with its input number `index`."""
        if fact is facts.UNKNOWN:
            reading.sizes = True  # nobody knows
            return
        roles = fact.role(index)
        reading.sizes |= not roles.isdisjoint(_SIZES)
        reading.turns |= Role.TURNS in roles
        is_cast = self._cast_type(node, fact) not in _HOLD_ANYTHING
        reading.is_cast |= is_cast
        reading.becomes_integer |= is_cast or (fact.has("to-integers") and fact.kind is not Kind.CASTS)
        reading.is_ordered |= fact.has("sorts")
        reading.is_squared |= fact.has("squares")
        if not as_it_is:
            reading.sizes |= not roles.isdisjoint(_SIZES_IF_COMPUTED)
            return
        if Role.SHAPE in roles:
            reading.shape, reading.may_follow = self._declared_sizes(node.output[0]), True
        _note_number(roles, reading)
        self._note_positions(node, index, roles, reading)
        if fact.has("compares") and len(reading.compared) < _MAX_COMPARED:
            beyond = int(fact.word("compares") == "beyond")
            reading.compared.update(number + beyond for number in self._numbers(node, index))
        if len(reading.landmarks) < _MAX_LANDMARKS:
            reading.landmarks.update(self._numbers(node, index))

    def _note_positions(self, node: NodeProto, index: int, roles: frozenset[Role], reading: Reading) -> None:
        """Note the positions and axes that input number `index` holds."""
        if not roles.isdisjoint((Role.POSITIONS, Role.POINTS)):
            reading.positions |= self._lengths(node, roles)
        if not roles.isdisjoint(_FROM_FRONT):
            reading.from_front, reading.is_count = True, not roles.isdisjoint((Role.COUNTS, Role.TAKEN))
            reading.positions.add(self._length(node, roles))
            reading.ignored.update(attribute.i for attribute in node.attribute if attribute.name == "ignore_index")
        if not roles.isdisjoint((Role.AXES, Role.ADDED)):
            added = self._dims.get(node.input[index], ()) if Role.ADDED in roles else ()
            reading.axes.add(len(self._dims.get(node.input[0], ())) + sum(dim for dim in added if isinstance(dim, int)))

    def _cast_type(self, node: NodeProto, fact: Fact) -> int:
        """The type to which a node casts; UNDEFINED for other nodes, and where it is unknown, a narrow one."""
        if fact.kind is not Kind.CASTS or not fact.has("to-integers"):
            return TensorProto.UNDEFINED
        like = next(fact.inputs(Role.TYPE), None)
        return _attribute(node, "to") if like is None else self._kinds.get(node.input[like], TensorProto.INT8)

    def _lengths(self, node: NodeProto, roles: frozenset[Role]) -> set[Dim]:
        """The lengths of the axes of the first input on which an input with `roles` holds positions."""
        dims = self._dims.get(node.input[0], ())
        if Role.POINTS in roles:
            return set(dims) or {""}
        axis = _attribute(node, "axis")
        return {dims[axis] if -len(dims) <= axis < len(dims) else ""}

    def _length(self, node: NodeProto, roles: frozenset[Role]) -> Dim:
        """How many positions or elements an input with one of the roles `_FROM_FRONT` counts."""
        if Role.PLACES in roles:
            dims = self._dims.get(node.output[0], ("",))
            return "" if any(isinstance(dim, str) for dim in dims) else math.prod(map(int, dims))
        dims = self._dims.get(node.input[Role.ROWS in roles], ())
        axis = _counted_axis(node, roles)
        return dims[axis] if -len(dims) <= axis < len(dims) else ""

    def _declared_sizes(self, name: str) -> tuple[int, ...]:
        """The shape of a value whose dimensions are all known; () for others."""
        dims = self._dims.get(name, ())
        return tuple(dim for dim in dims if isinstance(dim, int)) if all(isinstance(dim, int) for dim in dims) else ()

    def _numbers(self, node: NodeProto, index: int) -> Iterator[float]:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.FLOAT:
                yield attribute.f
        for other, name in enumerate(node.input):
            if other != index:
                yield from self._constants.get(name, ())


def _note_number(roles: frozenset[Role], reading: Reading) -> None:
    """Note which of the numbers that are neither positions nor axes an input with `roles` is."""
    reading.ranges |= Role.RANGE in roles
    reading.strides |= Role.STRIDE in roles
    reading.lengths |= Role.LENGTHS in roles
    reading.starts |= Role.START in roles
    reading.ends |= Role.END in roles
    reading.is_lower |= Role.LOWER in roles
    reading.is_upper |= Role.UPPER in roles
    reading.shifts |= Role.SHIFT in roles
    reading.divides |= Role.DIVISOR in roles
    reading.powers |= Role.POWER in roles
    reading.scales |= Role.SCALE in roles
    reading.offsets |= Role.OFFSET in roles


def _counted_axis(node: NodeProto, roles: frozenset[Role]) -> int:
    """The axis whose length bounds the values of an input with one of the roles `_FROM_FRONT`."""
    if Role.TAKEN in roles:
        return next((attribute.i for attribute in node.attribute if attribute.name == "axis"), -1)
    if Role.COUNTS in roles:
        return _attribute(node, "time_axis")
    return int(Role.CLASSES in roles)


def _stored(tensor: TensorProto) -> np.ndarray | None:
    """The value of a small tensor that is stored in the model file itself; None for others."""
    if tensor.data_location == TensorProto.EXTERNAL or math.prod(tensor.dims) > _FEW:
        return None
    try:
        return array_of(tensor)
    except InvalidModelError:  # strings, or data that does not fit its shape: the runtimes say so
        return None


def _few_numbers(array: np.ndarray | None) -> list[float]:
    if array is None or array.size > _FEW or array.dtype.kind in "OUSbc":
        return []
    return [float(number) for number in array.reshape(-1)]


def _attribute(node: NodeProto, name: str) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), 0)


def _spreads(node: NodeProto, fact: Fact) -> bool:
    """Whether the node multiplies elements by weights that may be 0."""
    if not fact.word("spreads"):
        return fact.has("spreads")
    stated = next((attribute.s.decode() for attribute in node.attribute if attribute.name == "mode"), None)
    return (fact.choices["mode"][0] if stated is None else stated) != fact.word("spreads")


def _results(node: NodeProto) -> Iterator[str]:
    """The names of what the subgraphs of the node give."""
    return (value.name for graph in _subgraphs(node) for value in graph.output)


def _subgraphs(node: NodeProto) -> Iterable[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs
