"""The graphs in which values are, as knowledge sees them, and what is stated about the values of one graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Protocol

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper

from ...cached import cached_property
from ...onnx_model.domains import DEFAULT_DOMAINS
from ...onnx_model.protos import GraphLike, captured, subgraphs
from ...opsets import inference, type_protos
from ...opsets.type_protos import Shape
from ...structure.declarations import shapes_of, types_that_hold
from .original import Original
from .propagation import Propagated
from .record import UNASKED, Question, Record, Types, Unasked
from .tied_types import Groups, tied_groups


class Place(Protocol):
    """One graph, subgraph or function body, in which values are defined."""

    opset: int
    graph: GraphLike
    origin: tuple[int, int] | None
    holder: NodeProto | None
    made: dict[str, tuple[NodeProto, int]]
    noted: Types
    """The types of values that rules made, as the rules know them."""
    records: dict[str, Record]
    """What is known about the values that this graph defines."""
    readers: dict[str, list[tuple[Place, str, Question]]]
    """For each value, the answers that were found from its record."""

    @property
    def model(self) -> Original: ...
    @property
    def parent(self) -> Place | None: ...
    @cached_property
    def stated(self) -> Stated: ...
    @cached_property
    def inputs(self) -> frozenset[str]: ...
    @cached_property
    def initializers(self) -> dict[str, TensorProto]: ...
    @cached_property
    def producers(self) -> dict[str, NodeProto]: ...
    def resolve(self, name: str) -> str: ...
    def find(self, name: str) -> Place | None: ...
    def defines(self, name: str) -> bool: ...
    def graph_in(self, whole: ModelProto) -> GraphLike | None: ...
    def children(self, node: NodeProto, index: int | None, opset: int) -> Iterator[Place]: ...


class Stated:
    """What the model states about the values of one graph, and what inference of the whole model found for them."""

    def __init__(self, place: Place, is_main: bool) -> None:
        self._place = place
        self._is_main = is_main

    # -- what the model states

    @cached_property
    def declared(self) -> Types:
        """The types that the graph states, without any inference."""
        graph = self._place.graph
        if not isinstance(graph, GraphProto):
            return {}
        types = {tensor.name: tensor_type(tensor) for tensor in graph.initializer}
        for values in (graph.value_info, graph.output, graph.input):
            types.update((value.name, value.type) for value in values if value.HasField("type"))
        return types

    @cached_property
    def given(self) -> Types:
        """The types of the model's inputs and of the stored values of the graph, which nothing can contradict."""
        graph = self._place.graph
        if not isinstance(graph, GraphProto):
            return {}
        types = {tensor.name: tensor_type(tensor) for tensor in graph.initializer}
        if self._place.parent is None:
            stored = types_that_hold(graph, self.overridable)
            given = ((value.name, stored.get(value.name, value.type)) for value in graph.input)
            types.update((name, kind) for name, kind in given if type_protos.type_string(kind) is not None)
        return types

    @cached_property
    def overridable(self) -> frozenset[str]:
        """The initializers that callers may override, because they are also inputs.

        Before IR 4 there are none, since all initializers have to be inputs.
        """
        place = self._place
        if place.parent is None and place.model.ir_version < 4:
            return frozenset()
        return place.inputs & place.initializers.keys()

    def kind(self, name: str) -> TypeProto | None:
        """The declared type of `name` without its shape, which is only a claim."""
        declared = self.declared.get(name)
        if declared is None:
            return None
        kind = TypeProto.FromString(declared.SerializeToString())
        for tensor in type_protos.tensors_in(kind):
            tensor.ClearField("shape")
        return kind

    # -- what inference of the whole model found

    @cached_property
    def propagated(self) -> Propagated | None:
        """The types of all values of the main graph, if it is so large and simple that each distinct node is inferred once."""
        return self._place.model.propagated if self._is_main else None

    def found(self, name: str) -> TypeProto | None:
        """The type of `name` that was inferred for the model as it was read."""
        return self._inferred.get(name) if self.propagated is None else self.propagated.type(name)

    def known(self, name: str) -> TypeProto | None:
        """The type of a value that no rule made; None where nothing is known, or where a rule made it."""
        if name in self.given:
            return self.given[name]
        known = self.found(name)
        stored = self._place.initializers.get(name) if known is None and name not in self._place.made else None
        return known if stored is None else tensor_type(stored)

    @cached_property
    def _inferred(self) -> Types:
        graph = self.inferred_graph
        if graph is None:
            return {}
        values = itertools.chain(graph.value_info, graph.output, graph.input)
        return {value.name: value.type for value in values if value.HasField("type")}

    @cached_property
    def inferred_graph(self) -> GraphProto | None:
        """This graph in the inferred copy of the original model; None where there is none."""
        place, model = self._place, self._place.model
        if isinstance(place.graph, onnx.FunctionProto):
            overload = getattr(place.graph, "overload", "")
            return model.inferred_functions.get((place.graph.domain, place.graph.name, overload))
        if place.parent is None:
            return None if model.inferred is None else model.inferred.graph
        outer = place.parent.stated.inferred_graph
        if outer is None or place.origin is None:
            return None
        index, which = place.origin
        graph = list(subgraphs(outer.node[index]))[which][1]
        return graph if outer.node[index].domain in DEFAULT_DOMAINS else self._infer_alone(place.parent, graph)

    def _infer_alone(self, outer: Place, graph: GraphProto) -> GraphProto:
        """Infer the subgraph of a node of another domain, which inference of the whole model does not look into."""
        found = ((name, stated_directly(outer, name)) for name in captured(graph))
        types = {name: kind for name, kind in found if isinstance(kind, TypeProto)}
        return inference.infer_subgraph(self._place.model.original_proto, graph, types, self._place.opset)

    @cached_property
    def makers(self) -> dict[str, tuple[int, NodeProto]]:
        """The position of the node that makes each value, and the node, in the form that it had before any rule."""
        graph = self.inferred_graph
        nodes: Iterable[tuple[int, NodeProto]] = () if graph is None else enumerate(graph.node)
        return {name: (index, node) for index, node in nodes for name in node.output if name}

    @cached_property
    def tied(self) -> Groups:
        """The values that must have the same type as each value, by the nodes of the graph as they were before any rule."""
        graph = self.inferred_graph
        return {} if graph is None else tied_groups(graph.node, self._place.opset)

    # -- what is only claimed

    @cached_property
    def unproven(self) -> dict[str, frozenset[int]]:
        """For values of this graph, the axes whose length is only declared."""
        evidence = self._place.model.evidence if self.propagated is None else None
        if evidence is None or evidence.proven is evidence.believed:
            return {}
        return _unproven_axes(self._place.graph_in(evidence.believed), self._place.graph_in(evidence.proven))

    @cached_property
    def claimed(self) -> frozenset[str]:
        """The values of this graph whose shape is known only, or better, because the model declares it."""
        evidence = self._place.model.evidence if self.propagated is None else None
        if evidence is None or evidence.derived is evidence.believed:
            return frozenset()
        derived = shapes_of(self._place.graph_in(evidence.derived))
        believed = shapes_of(self._place.graph_in(evidence.believed))
        return frozenset(name for name, shape in believed.items() if shape != derived.get(name))


def stated_directly(place: Place, name: str) -> TypeProto | Unasked | None:
    """The type that is stated for a value that is visible in `place`; UNASKED where it follows from a node that a rule made."""
    home: Place | None = place
    while home is not None:
        known = home.stated.known(name)
        if known is None and name in home.made:
            return UNASKED
        if known is None or type_protos.type_string(known) is None:
            known = home.stated.kind(name)
        if known is not None or home.defines(name):
            return known
        home = home.parent
    return None


def maker(place: Place, name: str) -> tuple[NodeProto | None, int]:
    """The node that makes `name`, in the form in which it was made or read, and the opset of that form."""
    made = place.made.get(name)
    if made is not None:
        return made
    first = place.stated.makers.get(name)
    return None if first is None else first[1], place.opset


def tensor_type(tensor: TensorProto) -> TypeProto:
    """The type of a stored tensor."""
    return helper.make_tensor_type_proto(tensor.data_type, tensor.dims)


def _unproven_axes(believed: GraphLike | None, proven: GraphLike | None) -> dict[str, frozenset[int]]:
    """For each value, the axes whose length is a number in the graph `believed` but not in `proven`."""
    shapes = shapes_of(proven)
    return {
        name: frozenset(axis for axis, dim in enumerate(shape) if isinstance(dim, int) and not _is_number(shapes.get(name), axis))
        for name, shape in shapes_of(believed).items()
    }


def _is_number(shape: Shape | None, axis: int) -> bool:
    return shape is not None and axis < len(shape) and isinstance(shape[axis], int)
