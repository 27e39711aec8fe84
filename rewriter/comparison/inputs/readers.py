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
from ...opsets.folding import constant_value
from ...opsets.inference import symbol
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

    `positions`: the lengths of the axes on which it holds positions (a number, a symbol, or "" where unknown). `axes`: the ranks
    of the tensors whose axes it names (0 where unknown). `sizes`: it decides how large something is, or how often something is
    done. `shape`: the declared shape that a Reshape makes of it. `shifts`, `divides`, `powers`, `scales`, `offsets`: it is the
    amount of a shift, a divisor, an exponent, the scale of a resize, a diagonal or padding. `starts`, `ends`, `strides`: it is
    where a Slice begins or ends, which may be beyond the axis, or its step, which is not 0; `ranges`: that of a Range.
    `lengths`: it is the step or the length of a frame, or the sizes of a block, from 1 on. `is_lower`, `is_upper`: it is a bound of
    a Clip. `from_front`: positions are not counted from the back; `is_count`: they are counts, from 1 on; `ignored`: numbers that
    stand for no position. `becomes_integer`: it is cast or quantized, which is not defined for NaN and infinities; `is_cast`: nor
    for numbers beyond the type. `is_ordered`: what comes of it is sorted, or is the place of the largest, where no specification
    says where NaN goes. `landmarks`: the numbers that it meets: constants and attributes of the nodes that read it. `compared`:
    numbers for which a comparison with a constant gives what it seldom gives for others.
    """

    positions: set[Dim] = field(default_factory=set)
    axes: set[int] = field(default_factory=set)
    sizes: bool = False
    shape: tuple[int, ...] = ()
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
    landmarks: set[float] = field(default_factory=set)
    compared: set[float] = field(default_factory=set)

    @property
    def counts_elements(self) -> bool:
        """Whether the input decides how many elements a value has."""
        return self.scales or self.sizes or self.strides or self.ranges

    def joined(self, other: Reading) -> Reading:
        """What either of two models does with the input.

        Only for `becomes_integer` and `is_cast`, the other model does not count.
        """
        return Reading(
            self.positions | other.positions,
            self.axes | other.axes,
            self.sizes or other.sizes,
            self.shape,
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
            self.landmarks | other.landmarks,
            self.compared,
        )


class Readings(NamedTuple):
    """What a model does with all its inputs.

    `by_input`: the reading of each graph input. `computed`: for each graph output, the inputs whose values it depends on. `nodes`:
    the number of nodes in the main graph. `has_halves`: whether the model computes in 16-bit floats anywhere.
    """

    by_input: Mapping[str, Reading]
    computed: Mapping[str, frozenset[str]]
    nodes: int = 0
    has_halves: bool = False


NO_READINGS = Readings({}, {})
"""The readings of a model about which nothing is known."""


def readings(model: ModelProto) -> Readings:
    """The readings of `model`; empty for models of more than MAX_NODES nodes."""
    if len(model.graph.node) > MAX_NODES:
        return NO_READINGS
    walk = _Walk(model)
    walk.graph(model.graph)
    computed = {value.name: frozenset(walk.sources.get(value.name, ())) for value in model.graph.output}
    return Readings(walk.found, computed, len(model.graph.node), _has_halves(model.graph))


def _has_halves(graph: GraphProto) -> bool:
    """Whether the main graph mentions a 16-bit float type: for an input, output, value or constant, or in a Cast."""
    stated = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output, *graph.value_info)}
    stated.update(tensor.data_type for tensor in graph.initializer)
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        stated.add(attribute.i if attribute.name in ("to", "dtype") else attribute.t.data_type)
    return not stated.isdisjoint((TensorProto.FLOAT16, TensorProto.BFLOAT16))


_Sources = dict[str, bool]
"""The graph inputs that a value depends on. True for an input whose elements were only moved, not computed with."""

_FIRST = ("Reshape", "Squeeze", "Unsqueeze", "Expand", "Tile", "Slice", "Split", "Gather", "GatherElements", "GatherND", "CastLike")
_MOVERS: dict[str, frozenset[int] | None] = {
    **dict.fromkeys(("Identity", "Transpose", "Flatten", "Concat", "Cast", "DepthToSpace", "SpaceToDepth", "Max", "Min"), None),
    **dict.fromkeys(("SequenceConstruct", "SequenceAt", "SequenceInsert", "ConcatFromSequence", "SplitToSequence"), None),
    **dict.fromkeys((*_FIRST, "Trilu", "Compress", "Dropout", "TopK", "Clip", "Relu", "Abs", "Neg"), frozenset({0})),
    **dict.fromkeys(("ScatterElements", "ScatterND", "Scatter"), frozenset({0, 2})),
    "Pad": frozenset({0, 2}),
    "Where": frozenset({1, 2}),
}
"""Operators that only move elements, and the inputs that they take them from (None: all).

Some change sizes, or move only most elements.
"""

_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_POSITIONS = {"Gather": 1, "GatherElements": 1, "ScatterElements": 1, "Scatter": 1, "GatherND": 1, "ScatterND": 1}
_POSITIONS |= {"SequenceAt": 1, "SequenceErase": 1, "SequenceInsert": 2}
_COUNTS = {"TopK": 1, "ReverseSequence": 1, "RNN": 4, "GRU": 4, "LSTM": 4}
_POSITIONS_FROM_FRONT = {
    **_COUNTS,
    "RotaryEmbedding": 3,
    "MaxUnpool": 1,
    "SoftmaxCrossEntropyLoss": 1,
    "NegativeLogLikelihoodLoss": 1,
}
_AXES = {**{f"Reduce{name}": (1,) for name in _REDUCTIONS}, "Squeeze": (1,), "Unsqueeze": (1,), "CumSum": (1,), "CumProd": (1,)}
_AXES |= {"DFT": (2,), "Slice": (3,), "Pad": (3,)}
_SIZES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("Reshape", "Expand", "Tile", "Split", "SplitToSequence", "OneHot", "CenterCropPad"), (1,)),
    **dict.fromkeys(("ConstantOfShape", "HannWindow", "HammingWindow", "BlackmanWindow", "Loop"), (0,)),
    "MelWeightMatrix": (0, 1, 2),
    "AffineGrid": (1,),
    "MaxUnpool": (2,),
    "Col2Im": (1, 2),
    "DFT": (1,),
    "STFT": (1, 3),
    "Resize": (3,),
    "RoiAlign": (2,),
    "NonMaxSuppression": (2,),
}
_SCALES: dict[str, tuple[int, ...]] = {
    "Resize": (2,),
    **dict.fromkeys(("Upsample", "QuantizeLinear", "DequantizeLinear"), (1,)),
    "QLinearMatMul": (1, 4, 6),
    "QLinearConv": (1, 4, 6),
}
_OFFSETS = {"Pad": (1,), "Trilu": (1,), "RoiAlign": (2,), "OneHot": (0,)}
_COMPARISONS = frozenset({"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"})
_LENGTHS = {"STFT": (1, 3), "DFT": (1,), "Col2Im": (1, 2)}
_DIVISORS = {"Div": 1, "Mod": 1}
_SHAPES_ONLY = frozenset({"Shape", "Size", "EyeLike", "SequenceLength"})
"""Operators that read only the shape of their input."""
_ORDERED = frozenset({"TopK", "ArgMax", "ArgMin", "Hardmax", "NonMaxSuppression", "Unique"})
_QUANTIZERS = frozenset({"QuantizeLinear", "DynamicQuantizeLinear", "QLinearMatMul", "QLinearConv"})
_HOLD_ANYTHING = frozenset(
    {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.BOOL, TensorProto.UNDEFINED}
)
"""The element types for which the values of NaN, infinities and large numbers are defined."""


class _Walk:
    """One pass over the nodes in order. Subgraphs are entered with what is known of their inputs."""

    def __init__(self, model: ModelProto) -> None:
        self.found = {value.name: Reading() for value in model.graph.input}
        self.sources: dict[str, _Sources] = {value.name: {value.name: True} for value in model.graph.input}
        self._dims: dict[str, tuple[Dim, ...]] = {}
        self._kinds: dict[str, int] = {}
        self._constants: dict[str, list[float]] = {}

    def graph(self, graph: GraphProto) -> None:
        self._constants.update((tensor.name, _few_numbers(_stored(tensor))) for tensor in graph.initializer)
        self._dims.update((tensor.name, tuple(tensor.dims)) for tensor in graph.initializer)
        self._kinds.update((tensor.name, tensor.data_type) for tensor in graph.initializer)
        for value in (*graph.input, *graph.value_info, *graph.output):
            self._kinds[value.name] = value.type.tensor_type.elem_type
            if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
                shape = value.type.tensor_type.shape.dim
                self._dims[value.name] = tuple(dim.dim_value if dim.HasField("dim_value") else symbol(dim) for dim in shape)
        for node in graph.node:
            self._node(node)

    def _node(self, node: NodeProto) -> None:
        if node.op_type == "Constant":
            self._constants[node.output[0]] = _few_numbers(constant_value(node, _stored))
        if node.op_type in _SHAPES_ONLY or not node.input:
            return
        self._enter_subgraphs(node)
        handed_on: _Sources = {}
        movers = _MOVERS.get(node.op_type, frozenset()) if _is_default(node) else frozenset()
        for index, name in enumerate(node.input):
            if node.op_type == "CastLike" and index == 1:
                continue  # its type alone is read
            for source, as_it_is in self.sources.get(name, {}).items():
                self._read(node, index, self.found[source], as_it_is)
                moved = as_it_is and (movers is None or index in movers)
                handed_on[source] = handed_on.get(source, True) and moved
        for graph in _subgraphs(node):
            for value in graph.output:
                handed_on.update(dict.fromkeys(self.sources.get(value.name, {}), False))
        if handed_on:
            self.sources.update(dict.fromkeys(filter(None, node.output), handed_on))

    def _enter_subgraphs(self, node: NodeProto) -> None:
        for graph in _subgraphs(node):
            fed = ["", "", *node.input[2:]] if node.op_type == "Loop" else list(node.input)
            for value, name in zip(graph.input, fed, strict=False):
                if name in self.sources:
                    self.sources[value.name] = self.sources[name]
            self.graph(graph)

    def _read(self, node: NodeProto, index: int, reading: Reading, as_it_is: bool) -> None:
        """Note in the readings what `node` does with its input number `index`."""
        name = node.op_type
        if not _is_default(node):
            reading.sizes = True  # nobody knows
            return
        reading.sizes |= index in _SIZES.get(name, ())
        is_cast = self._cast_type(node) not in _HOLD_ANYTHING
        reading.is_cast |= is_cast
        reading.becomes_integer |= is_cast or name in _QUANTIZERS
        reading.is_ordered |= name in _ORDERED
        if not as_it_is:
            reading.sizes |= name == "Range" or index == {"Slice": 4, "TopK": 1}.get(name)
            return
        if name == "Reshape" and index == 1:
            reading.shape = self._declared_sizes(node.output[0])
        reading.ranges |= name == "Range" and index < 2
        reading.strides |= index == {"Slice": 4, "Range": 2}.get(name)
        reading.lengths |= index in _LENGTHS.get(name, ())
        reading.starts |= name == "Slice" and index == 1
        reading.ends |= name == "Slice" and index == 2
        reading.is_lower |= name == "Clip" and index == 1
        reading.is_upper |= name == "Clip" and index == 2
        reading.shifts |= name == "BitShift" and index == 1
        reading.divides |= _DIVISORS.get(name) == index
        reading.powers |= name == "Pow" and index == 1
        reading.scales |= index in _SCALES.get(name, ())
        reading.offsets |= index in _OFFSETS.get(name, ())
        if _POSITIONS.get(name) == index:
            reading.positions |= self._lengths(node)
        if _POSITIONS_FROM_FRONT.get(name) == index:
            reading.from_front, reading.is_count = True, name in _COUNTS
            reading.positions.add(self._length(node))
            reading.ignored.update(attribute.i for attribute in node.attribute if attribute.name == "ignore_index")
        if index in _AXES.get(name, ()):
            added = self._dims.get(node.input[1], ()) if name == "Unsqueeze" else ()
            reading.axes.add(len(self._dims.get(node.input[0], ())) + sum(dim for dim in added if isinstance(dim, int)))
        if name in _COMPARISONS and len(reading.compared) < _MAX_COMPARED:
            beyond = int(name != "Equal")
            reading.compared.update(number + beyond for number in self._numbers(node, index))
        if len(reading.landmarks) < _MAX_LANDMARKS:
            reading.landmarks.update(self._numbers(node, index))

    def _cast_type(self, node: NodeProto) -> int:
        """The type to which a node casts; UNDEFINED for other nodes, and where it is unknown, a narrow one."""
        if node.op_type == "CastLike":
            return self._kinds.get(node.input[1], TensorProto.INT8)
        return _attribute(node, "to") if node.op_type == "Cast" else TensorProto.UNDEFINED

    def _lengths(self, node: NodeProto) -> set[Dim]:
        dims = self._dims.get(node.input[0], ())
        if node.op_type.endswith("ND"):
            return set(dims) or {""}
        axis = _attribute(node, "axis")
        return {dims[axis] if -len(dims) <= axis < len(dims) else ""}

    def _length(self, node: NodeProto) -> Dim:
        """How many positions there are for a node of _POSITIONS_FROM_FRONT."""
        if node.op_type == "MaxUnpool":
            dims = self._dims.get(node.output[0], ("",))
            return "" if any(isinstance(dim, str) for dim in dims) else math.prod(map(int, dims))
        dims = self._dims.get(node.input[node.op_type == "RotaryEmbedding"], ())
        axis = _counted_axis(node)
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


def _counted_axis(node: NodeProto) -> int:
    """The axis whose length bounds the positions of a node of _POSITIONS_FROM_FRONT."""
    if node.op_type == "TopK":
        return next((attribute.i for attribute in node.attribute if attribute.name == "axis"), -1)
    if node.op_type == "ReverseSequence":
        return _attribute(node, "time_axis")
    return int(node.op_type.endswith("Loss"))


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


def _is_default(node: NodeProto) -> bool:
    return node.domain in ("", "ai.onnx")


def _attribute(node: NodeProto, name: str) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), 0)


def _subgraphs(node: NodeProto) -> Iterable[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs
