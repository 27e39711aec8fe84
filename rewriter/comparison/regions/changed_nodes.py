"""Finds the nodes that a conversion changed: those that only the original has, and those that only the result has.

It compares the two graphs. The only thing it takes from the engine is which values are equal to others (`aliases`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto

from ...cached import cached_property
from ...onnx_model.domains import DEFAULT_DOMAINS
from ...onnx_model.protos import GRAPH_TYPES, GraphLike, default_opset, resolved, shown_name, subgraphs
from ...opsets.facts import of
from ...opsets.folding import constant_value
from ...structure.inlining import Key, callee, key_of
from ..original import Original
from .dependence import is_weight, varying


class GraphPair:
    """One graph or function body, before the conversion (`old`) and after it (`new`)."""

    def __init__(
        self,
        original: Original,
        old: GraphLike,
        new: GraphLike,
        inferred: GraphProto | None,
        opsets: tuple[int, int],
        where: str,
        parent: GraphPair | None = None,
        place: tuple[int, ...] = (),
    ) -> None:
        self.original = original
        self.old = old
        self.new = new
        self.opsets = opsets
        """The opset of the default domain, in the original and in the result."""
        self.where = where
        """The path to the graph, as messages show it."""
        self.parent = parent
        self.place = place
        self.old_nodes = list(old.node)
        self.new_nodes = list(new.node)
        self.old_makers = _makers(self.old_nodes)
        self.new_makers = _makers(self.new_nodes)
        is_graph = isinstance(old, GraphProto)
        self.inputs = frozenset(value.name for value in old.input) if is_graph else frozenset(old.input)
        self.stored = {tensor.name: tensor for tensor in old.initializer} if is_graph else {}
        """The initializers of the original, but for sparse ones."""
        self._sparse = frozenset(tensor.values.name for tensor in old.sparse_initializer) if is_graph else frozenset()
        self.new_tensors: Mapping[str, TensorProto] = {}
        if isinstance(new, GraphProto):
            self.new_tensors = {tensor.name: tensor for tensor in new.initializer}
        self.inferred = inferred
        self._types: dict[str, TypeProto] | None = None

    @property
    def is_main(self) -> bool:
        """Whether this is the main graph."""
        return self.parent is None and isinstance(self.old, GraphProto)

    def path_to(self, node: NodeProto, attribute: str) -> str:
        """The path to a subgraph of a node of the original, as messages show it."""
        return f"{'' if self.is_main else f'{self.where} > '}{node.op_type} '{shown_name(node)}' {attribute}"

    def type(self, name: str) -> TypeProto | None:
        """The type of a value of the original, declared or inferred."""
        if self._types is None:
            self._types = _types_in(self.inferred if self.inferred is not None else self.old)
        known = self._types.get(name)
        if known is None and self.parent is not None:
            return self.parent.type(name)
        return known

    def declared(self, name: str) -> TypeProto | None:
        """The type that the original states for `name`, without any inference."""
        home = self.home(name)
        return None if home is None else _types_in(home.old).get(name)

    def tensor(self, name: str) -> TensorProto | None:
        """The initializer of the original called `name`, here or in an outer graph, unless callers may override it."""
        home = self.home(name)
        if home is None or (home.parent is None and name in self.original.overridable):
            return None
        return home.stored.get(name)

    def stored_value(self, name: str) -> np.ndarray | None:
        """The value of `name` in the original if it is stored, as an initializer or by a Constant node; else None."""
        tensor, maker = self.tensor(name), self.old_maker(name)
        if tensor is not None:
            return self.original.skeleton.array(tensor)
        if maker is None or maker[0].old_nodes[maker[1]].op_type != "Constant":
            return None
        return constant_value(maker[0].old_nodes[maker[1]], self.original.skeleton.array)

    @cached_property
    def _varying(self) -> frozenset[str]:
        """The values of this graph of the original that depend on data."""
        replaceable = self.original.overridable if self.parent is None else frozenset()
        weights = {name for name, tensor in self.stored.items() if name in replaceable or is_weight(tensor)}
        return varying(self.old_nodes, (self.inputs - self.stored.keys()) | self._sparse | weights, self._varies_outside)

    def _varies_outside(self, name: str) -> bool:
        return name not in self.stored and (self.parent is None or self.parent.depends_on_data(name))

    def depends_on_data(self, name: str) -> bool:
        """Whether a value of the original depends on elements of inputs or weights, and not on lengths and constants alone."""
        home = self.home(name)
        return home is None or name in home._varying

    def lays_out(self, name: str) -> bool:
        """Whether the original has the elements of `name` in the order of one processor, which the result has not."""
        return any(name in pair._in_blocks for pair in self.enclosing())

    @cached_property
    def _in_blocks(self) -> frozenset[str]:
        """The values of this graph of the original that are laid out for one processor."""
        found: set[str] = set()
        for node in self.old_nodes:
            fact = of(node.op_type, node.domain)
            if fact.word("blocks") != "end" and (fact.has("blocks") or not found.isdisjoint(node.input)):
                found.update(node.output)
        return frozenset(found)

    def is_sequence(self, name: str) -> bool:
        """Whether a value of the original is a sequence or an optional, whose type does not tell its content."""
        kind = self.type(name)
        return kind is not None and kind.WhichOneof("value") in ("sequence_type", "optional_type")

    def enclosing(self) -> Iterator[GraphPair]:
        """This graph and those around it, from the inside out."""
        pair: GraphPair | None = self
        while pair is not None:
            yield pair
            pair = pair.parent

    def home(self, name: str) -> GraphPair | None:
        """The graph of the original that defines `name`, this one or an outer one; None where there is none."""
        return next((pair for pair in self.enclosing() if pair.defines(name)), None)

    def defines(self, name: str) -> bool:
        """Whether `name` is a value that this graph of the original makes, takes or stores."""
        return name in self.old_makers or name in self.inputs or name in self.stored or name in self._sparse

    def old_maker(self, name: str) -> tuple[GraphPair, int] | None:
        """The graph and the index of the node of the original that makes `name`; None where there is none."""
        return next(((pair, pair.old_makers[name]) for pair in self.enclosing() if name in pair.old_makers), None)

    def new_maker(self, name: str) -> tuple[GraphPair, int] | None:
        """The graph and the index of the node of the result that makes `name`; None where there is none."""
        return next(((pair, pair.new_makers[name]) for pair in self.enclosing() if name in pair.new_makers), None)

    def new_tensor(self, name: str) -> TensorProto | None:
        """The initializer of the result called `name`, in this graph or an outer one; None where there is none."""
        return next((pair.new_tensors[name] for pair in self.enclosing() if name in pair.new_tensors), None)

    def in_old(self, name: str) -> bool:
        """Whether the original has a value `name`, in a layout that the result can have."""
        return self.home(name) is not None and not self.lays_out(name)

    def in_new(self, name: str) -> bool:
        """Whether a node of the result makes `name`, and not from elements that the original lays out for one processor."""
        if self.lays_out(name):
            return False
        return any(name in pair.new_makers or name in pair.new_tensors or name in pair.inputs for pair in self.enclosing())


def _types_in(graph: GraphLike) -> dict[str, TypeProto]:
    """The types that a graph states for its values."""
    if not isinstance(graph, GraphProto):
        return {}
    types = {tensor.name: onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims) for tensor in graph.initializer}
    for values in (graph.value_info, graph.output, graph.input):
        types.update((value.name, value.type) for value in values if value.HasField("type"))
    return types


class ChangedNode:
    """A node that only one of the models has, as an element of a union-find forest: nodes that belong
    together have the same root.
    """

    __slots__ = ("index", "pair", "parent", "redefined")

    def __init__(self, pair: GraphPair, index: int, redefined: bool = False) -> None:
        self.pair = pair
        self.index = index
        self.parent: ChangedNode = self
        self.redefined = redefined

    def root(self) -> ChangedNode:
        node = self
        while node.parent is not node:
            node.parent = node.parent.parent
            node = node.parent
        return node

    def join(self, other: ChangedNode | None) -> None:
        if other is not None:
            self.root().parent = other.root()

    @property
    def node(self) -> NodeProto:
        return self.pair.old_nodes[self.index]

    @property
    def place(self) -> tuple[int, ...]:
        """A sort key that puts nodes of nested graphs into topological order: captured values are computed
        before the node with the subgraph.
        """
        return (*self.pair.place, self.index)


class NodeChanges:
    """The nodes in which `result` differs from the unconverted `original`. `aliases` maps values to others that are equal.

    Calls of the functions `units` count as changed, whatever the result has in their place; their bodies are not looked into.
    """

    def __init__(
        self, original: Original, result: onnx.ModelProto, aliases: Mapping[str, str], units: frozenset[Key] = frozenset()
    ) -> None:
        self._original = original
        self._units = units
        self._result = result
        self._aliases = aliases
        self.pairs: list[GraphPair] = []
        """The graphs that both models have, at any depth."""
        self.changed: dict[tuple[int, int], ChangedNode] = {}
        """Nodes that only the original has, by the id of their graph and their index in it."""
        self.added: dict[tuple[int, int], ChangedNode] = {}
        """Nodes that only the result has."""
        self.kept: list[ChangedNode] = []
        """Nodes that are the same in both models, apart from names, although their operator has another
        definition at the new opset.
        """
        for pair in self._top_pairs():
            self._match(pair)

    def resolve(self, name: str) -> str:
        """The value of the result that takes the place of `name` of the original."""
        return resolved(name, self._aliases)

    def changed_tensors(self) -> Iterator[tuple[GraphPair, str]]:
        """The stored tensors that have another value in the result. A correct rule never causes that."""
        for pair in self.pairs:
            for name, tensor in pair.stored.items():
                if name in pair.new_makers or (name in pair.new_tensors and pair.new_tensors[name] != tensor):
                    yield pair, name

    def _top_pairs(self) -> Iterator[GraphPair]:
        original, result = self._original, self._result
        graph, opset = original.proto.graph, default_opset(result.opset_import) or 0
        yield GraphPair(original, graph, result.graph, original.inferred(graph), (original.opset, opset), "main graph")
        bodies = {key_of(body): body for body in result.functions}
        for number, function in enumerate(original.proto.functions):
            body = bodies.get(key_of(function))
            if body is not None and key_of(function) not in self._units:
                opsets = default_opset(function.opset_import) or 0, default_opset(body.opset_import) or 0
                inferred, where = original.inferred(function), f"function '{function.name}'"
                yield GraphPair(original, function, body, inferred, opsets, where, None, (-1, number))

    def _match(self, pair: GraphPair) -> None:
        """Find the nodes in which the two graphs differ, and continue in their subgraphs."""
        self.pairs.append(pair)
        matched: set[int] = set()
        for index, node in enumerate(pair.old_nodes):
            output = next(filter(None, node.output), "")
            place = pair.new_makers.get(output)
            other = None if place is None else pair.new_nodes[place]
            if other is not None and place is not None and callee(node) not in self._units and self._same(node, other):
                matched.add(place)
                if node.op_type != "Constant" and node.domain in DEFAULT_DOMAINS and _is_redefined(node.op_type, *pair.opsets):
                    self.kept.append(ChangedNode(pair, index, redefined=True))
            else:
                self.changed[id(pair), index] = ChangedNode(pair, index)
            if other is not None and node.attribute and node.op_type == other.op_type:
                self._descend(pair, index, node, other)
        for place in range(len(pair.new_nodes)):
            if place not in matched:
                self.added[id(pair), place] = ChangedNode(pair, place)

    def _same(self, node: NodeProto, other: NodeProto) -> bool:
        """Whether the nodes are the same, apart from their names and the content of their subgraphs."""
        if node == other:
            return True
        if (node.op_type, node.domain, getattr(node, "overload", "")) != (
            other.op_type,
            other.domain,
            getattr(other, "overload", ""),
        ):
            return False
        inputs = [self.resolve(name) for name in node.input]
        if list(node.output) != list(other.output) or inputs != list(other.input):
            return False
        return len(node.attribute) == len(other.attribute) and all(map(self._same_attribute, node.attribute, other.attribute))

    def _same_attribute(self, one: AttributeProto, other: AttributeProto) -> bool:
        if one.type not in GRAPH_TYPES:
            return one == other
        before, after = ([graph.g, *graph.graphs] for graph in (one, other))
        return one.name == other.name and len(before) == len(after) and all(map(self._same_interface, before, after))

    def _same_interface(self, graph: GraphProto, other: GraphProto) -> bool:
        if [value.name for value in graph.input] != [value.name for value in other.input]:
            return False
        return [self.resolve(value.name) for value in graph.output] == [value.name for value in other.output]

    def _descend(self, pair: GraphPair, index: int, node: NodeProto, other: NodeProto) -> None:
        after = [graph for _, graph in subgraphs(other)]
        if not after:
            return
        before = list(subgraphs(node))
        source = pair.inferred.node[index] if pair.inferred is not None else None
        inferred = [None] * len(before) if source is None else [graph for _, graph in subgraphs(source)]
        if len(before) != len(after):
            return
        for which, ((attribute, old), new, types) in enumerate(zip(before, after, inferred, strict=True)):
            place, where = (*pair.place, index, which), pair.path_to(node, attribute)
            self._match(GraphPair(pair.original, old, new, types, pair.opsets, where, pair, place))


def _makers(nodes: list[NodeProto]) -> dict[str, int]:
    """The index of the node that makes each value."""
    return {name: index for index, node in enumerate(nodes) for name in node.output if name}


def constant_tensor(node: NodeProto) -> TensorProto | None:
    """The tensor that a Constant node is; None for other nodes, and for constants that are no tensor."""
    if node.op_type != "Constant":
        return None
    return next((attribute.t for attribute in node.attribute if attribute.name == "value" and attribute.HasField("t")), None)


@cache
def _is_redefined(op_type: str, before: int, after: int) -> bool:
    """Whether the operator's definition at opset `after` differs from that at `before`."""
    try:
        versions = {onnx.defs.get_schema(op_type, opset, "").since_version for opset in (before, after)}
    except onnx.defs.SchemaError:
        return True
    return len(versions) > 1
