"""Estimates what a run of a model costs, from its graph alone, so that every machine gets the same estimate.

The unit is a nanosecond of a usual machine. An estimate may be wrong three times over; it has to tell milliseconds from minutes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TypeProto

from ..onnx_model.protos import subgraphs
from ..opsets import facts
from ..opsets.facts import Kind

Shapes = Mapping[str, tuple[int, ...]]

_NODE, _REFERENCE_NODE = 2_000.0, 30_000.0
"""For each node, whatever its size: by onnxruntime and by onnx.reference."""
_LOADED, _LOADED_NODE, _LOADED_BYTE = 10e6, 20_000.0, 0.5
"""For reading and loading a model, however small; for each of its nodes and of its bytes."""
_ELEMENT = 1.0
_ELEMENTS: Mapping[Kind, float] = {Kind.NORMALIZES: 4.0, Kind.RESAMPLES: 30.0, Kind.ORDERS: 50.0, Kind.REDUCES: 1.0}
"""For each element of the output or of the largest input: by onnxruntime, where that is not _ELEMENT."""
_TERM = 0.1
"""For each product that onnxruntime adds up."""
_REFERENCE_ELEMENT, _REFERENCE_TERM = 20.0, 2.0
_SLOW = ("slow-before-1.22", "slow") if onnx.__version__.startswith(("1.17", "1.18", "1.19", "1.20", "1.21")) else ("slow",)
"""The words of an operator for what onnx.reference takes for each element of the output, the first of which holds."""
_TURNS = 3
"""The turns of a body whose number is not stated."""
_LONG = 1 << 20
"""The elements of a Range up to which onnx propagates them in well below a second."""
_FULL_WEIGHT = 1 << 16
"""The bytes from which on the elements of a stored tensor are not needed to infer shapes."""


class Effort(NamedTuple):
    """What it takes to load a model, and to run it once in either runtime; and the number of elements of its outputs."""

    load: float
    onnxruntime: float
    reference: float
    elements: float

    def run(self, engine: str) -> float:
        """What one run takes in `engine`."""
        return self.onnxruntime if engine.startswith("onnxruntime") else self.reference


UNKNOWN = Effort(0.0, 0.0, 0.0, 0.0)
"""The effort of a model of which nothing is known."""


class Weigh(NamedTuple):
    """The question for the effort of the model at `path` on inputs of these shapes, name → dimensions."""

    path: str
    shapes: dict[str, tuple[int, ...]]

    def answer(self) -> Effort:
        """The effort, estimated in the child."""
        return effort_of(self.path, self.shapes)


def effort_of(path: str, shapes: Shapes) -> Effort:
    """The effort of the model at `path` on inputs of these shapes."""
    model = onnx.load(path, load_external_data=False)
    _shorten(model.graph)
    _fix_shapes(model.graph, shapes)
    with suppress(Exception):  # of what is not inferred, sizes are guessed
        model = inferred(model)
    given = sum(map(math.prod, shapes.values()))
    count = _Count(model, max(given, 1))
    here, there = count.graph(model.graph)
    outputs = sum(count.of(value.name) for value in model.graph.output)
    loaded = _LOADED + os.path.getsize(path) * _LOADED_BYTE + count.nodes * _LOADED_NODE
    return Effort(loaded, here, there, outputs)


def inferred(model: ModelProto) -> ModelProto:
    """`model` with the shapes that onnx infers, and by computed sizes, unless it had to write down all numbers of a long Range."""
    ranges = {node.output[0] for node in model.graph.node if node.op_type == "Range"}
    if ranges:
        plain = onnx.shape_inference.infer_shapes(model)
        values = (value for value in (*plain.graph.value_info, *plain.graph.output) if value.name in ranges)
        if any(math.prod(_stated(value.type) or ()) > _LONG for value in values):
            return plain
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def _shorten(graph: GraphProto) -> None:
    """Take the elements of large weights from `graph`."""
    for tensor in graph.initializer:
        if len(tensor.raw_data) > _FULL_WEIGHT:
            tensor.ClearField("raw_data")


def _fix_shapes(graph: GraphProto, shapes: Shapes) -> None:
    """State the shapes of the inputs, and nothing of other values."""
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for value in graph.input:
        if value.name in shapes and value.type.HasField("tensor_type"):
            dims = [onnx.TensorShapeProto.Dimension(dim_value=size) for size in shapes[value.name]]
            value.type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto(dim=dims))


class _Count:
    """Adds up the nodes of a model. A value of unknown shape has as many elements as the largest input of its node."""

    def __init__(self, model: ModelProto, given: float) -> None:
        self._functions = {(function.domain, function.name): function for function in model.functions}
        self._given = given
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._elements: dict[str, float] = {}
        self.nodes = 0

    def of(self, name: str) -> float:
        """The elements of a value."""
        return self._elements.get(name, 0.0)

    def graph(self, graph: GraphProto) -> tuple[float, float]:
        """What the nodes of `graph` take in onnxruntime and in onnx.reference."""
        for tensor in graph.initializer:
            self._note(tensor.name, tuple(tensor.dims))
        for value in (*graph.input, *graph.value_info, *graph.output):
            self._note(value.name, _stated(value.type))
        return self._sum(graph.node)

    def _note(self, name: str, shape: tuple[int, ...] | None) -> None:
        if shape is not None:
            self._shapes[name] = shape
            self._elements[name] = float(math.prod(shape))

    def _sum(self, nodes: Iterable[NodeProto]) -> tuple[float, float]:
        here = there = 0.0
        for node in nodes:
            one, other = self._node(node)
            here, there = here + one, there + other
        return here, there

    def _node(self, node: NodeProto) -> tuple[float, float]:
        self.nodes += 1
        if node.op_type == "Constant":
            self._note(node.output[0], next((tuple(a.t.dims) for a in node.attribute if a.HasField("t")), (1,)))
        largest = max((self._elements.get(name, self._given) for name in node.input if name), default=0.0)
        made = sum(self._elements.setdefault(name, largest) for name in node.output if name)
        here, there = self._arithmetic(node, largest, made)
        function = self._functions.get((node.domain, node.op_type))
        inner = [self._sum(function.node)] if function is not None else []
        inner += [self.graph(graph) for _, graph in subgraphs(node)]
        turns = _TURNS if facts.of(node.op_type, node.domain).has("iterates") else 1
        return here + turns * sum(one for one, _ in inner), there + turns * sum(other for _, other in inner)

    def _arithmetic(self, node: NodeProto, largest: float, made: float) -> tuple[float, float]:
        """What the node itself takes, without its subgraphs."""
        fact = facts.of(node.op_type, node.domain)
        size = max(made, largest if fact.kind is not Kind.MOVES else 0.0)
        here = size * _ELEMENTS.get(fact.kind, _ELEMENT)
        there = made * float(next(filter(None, map(fact.word, _SLOW)), 0)) + size * _REFERENCE_ELEMENT
        terms = made * self._terms(node, fact.kind)
        return _NODE + here + terms * _TERM, _REFERENCE_NODE + there + terms * _REFERENCE_TERM

    def _terms(self, node: NodeProto, kind: Kind) -> float:
        """The number of products, or of elements of a window, for each element of the output."""
        if kind is Kind.POOLS:
            kernel = next((attribute.ints for attribute in node.attribute if attribute.name == "kernel_shape"), ())
            return float(math.prod(kernel))
        if kind is not Kind.CONTRACTS and not (kind is Kind.QUANTIZES and len(node.input) > 3):
            return 0.0
        shapes = [self._shapes.get(name, ()) for name in node.input]
        window = max((shape for shape in shapes[1:] if len(shape) > 2), key=math.prod, default=())
        if any(attribute.name == "kernel_shape" for attribute in node.attribute) and window:
            return float(math.prod(window) / max(window[0], 1))
        return float(shapes[0][-1]) if shapes and shapes[0] else 1.0


def _stated(kind: TypeProto) -> tuple[int, ...] | None:
    """The shape that a type states in numbers; None where it does not."""
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    return tuple(dim.dim_value for dim in dims) if all(dim.HasField("dim_value") for dim in dims) else None
