"""The model as rules see it: `Model` (the whole), `Scope` (one graph or function body), `Node` (one node in the form of an opset).

Thin views over onnx protobufs, which stay the only copy of the data. This module knows no rule.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

from . import folding, inference, propagation
from .errors import InvalidModelError
from .inference import Dimension, Shape
from .propagation import Propagated
from .rule import Left, Unconvertible
from .skeleton import Skeleton

GraphLike = GraphProto | onnx.FunctionProto
DEFAULT_DOMAINS = ("", "ai.onnx")
_MAX_LOOK_BACK = 100
"""Nodes that working out a shape looks back."""
GRAPH_HOLDERS = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""The operators of the default domain that have subgraphs."""


def default_opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int | None:
    """The version of the default domain among `imports`, or None where it is not imported."""
    return next((entry.version for entry in imports if entry.domain in DEFAULT_DOMAINS), None)


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs in the attributes of `node`, each with the attribute's name."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from ((attribute.name, graph) for graph in attribute.graphs)


def reads(node: NodeProto) -> Iterator[str]:
    """The names that `node` reads, in its subgraphs too."""
    yield from filter(None, node.input)
    for _, graph in subgraphs(node):
        yield from (value.name for value in graph.output)
        for inner in graph.node:
            yield from reads(inner)


def only_moves(old: Sequence[NodeProto], new: Sequence[NodeProto], renamed: Mapping[str, str]) -> bool:
    """Whether each of `new` is one of `old`, or one of their subgraphs, and reads the same.

    What these nodes make may be called otherwise, and what they read as `renamed` says, name in `new` → name in `old`.
    """
    before = [node for outer in old for node in _with_inner(outer)]
    made = {name for node in (*before, *new) for name in node.output}

    def essence(node: NodeProto) -> tuple[object, ...]:
        inputs = ["" if name in made else renamed.get(name, name) for name in node.input]
        return node.domain, node.op_type, *inputs, *sorted([a.SerializeToString(deterministic=True) for a in node.attribute])

    return {essence(node) for node in new} <= {essence(node) for node in before}


def _with_inner(node: NodeProto) -> Iterator[NodeProto]:
    yield node
    for _, graph in subgraphs(node):
        for inner in graph.node:
            yield from _with_inner(inner)


def captured(graph: GraphProto) -> set[str]:
    """The values of outer graphs that `graph` and the graphs in it read."""
    names = {value.name for value in graph.output}
    made = set(defined_names(graph))
    for node in graph.node:
        names.update(filter(None, node.input))
        for _, inner in subgraphs(node):
            names |= captured(inner)
    return names - made


Form = tuple[object, ...]


def form_of(node: NodeProto) -> Form:
    """All of a node but its own name, its first input's, and its outputs'; nodes of one form are twins.

    Large models have the same form thousands of times.
    """
    inputs, outputs = node.input[:], node.output[:]
    first = inputs[0] if inputs and (inputs[0] == "" or inputs[0] in inputs[1:]) else len(inputs) > 0
    absent = tuple([name != "" for name in outputs]) if "" in outputs else len(outputs)
    return node.op_type, first, *inputs[1:], absent, *[attribute.SerializeToString() for attribute in node.attribute[:]]


def label_of(node: NodeProto) -> str:
    """The operator of `node`: "op_type", or "domain::op_type" outside the default domain."""
    domain = node.domain
    return f"{domain}::{node.op_type}" if domain else node.op_type


def shown_name(node: NodeProto) -> str:
    """What messages call `node`: its name, or its first output where it has none; what is not valid UTF-8 as escapes."""
    name = node.name or next(filter(None, node.output[:]), "")
    return name if isinstance(name, str) else bytes(name).decode(errors="backslashreplace")


def has_text_names(node: NodeProto) -> bool:
    """Whether the names in `node` and in its subgraphs are all valid UTF-8; protobuf hands out others as bytes."""
    names = (node.name, *node.input, *node.output)
    inner = (each for _, graph in subgraphs(node) for each in graph.node)
    return all(isinstance(name, str) for name in names) and all(map(has_text_names, inner))


def labels_of(graph: GraphLike) -> list[str]:
    """That of each node."""
    return [label_of(node) for node in graph.node]


def may_hold_graphs(label: str) -> bool:
    """Whether nodes of the operator with this label can have subgraphs; of other domains, any may."""
    return label in GRAPH_HOLDERS or "::" in label


class Survey:
    """What one pass over all nodes of a model tells; a snapshot."""

    def __init__(self, model: onnx.ModelProto, main_labels: list[str] | None = None) -> None:
        """`main_labels` are those of the main graph, where they are known."""
        self.graphs: list[GraphLike] = []
        """The main graph, the function bodies, and every subgraph of them to any depth."""
        self.operators: Counter[str] = Counter()
        """How many nodes of each operator there are, by its label."""
        self.main_labels = main_labels or labels_of(model.graph)
        pending: list[GraphLike] = [*reversed(model.functions), model.graph]
        while pending:
            graph = pending.pop()
            self.graphs.append(graph)
            labels = self.main_labels if graph is model.graph else labels_of(graph)
            counts = Counter(labels)
            _require_text(counts)
            self.operators.update(counts)
            holders = {label for label in counts if may_hold_graphs(label)}
            if holders:
                for node, label in zip(graph.node, labels, strict=True):
                    if label in holders:
                        pending.extend(inner for _, inner in subgraphs(node))


def _require_text(labels: Iterable[str]) -> None:
    """protobuf hands out a string that is not valid UTF-8 as bytes. Raises InvalidModelError for one."""
    for label in labels:
        if not isinstance(label, str):
            raise InvalidModelError(f"the input is not a valid model: the operator {label!r} is not valid UTF-8")


def all_graphs(model: onnx.ModelProto) -> list[GraphLike]:
    """The main graph, the function bodies, and every subgraph of them to any depth."""
    return Survey(model).graphs


MOST_SEARCHED_NAMES = 32
"""New names that are searched for in the serialized model, before all names are listed: that takes as long as 200 searches."""


INFERRED_AS_A_WHOLE_UP_TO = 20_000
"""Nodes."""


class Model:
    """The model under conversion, and what is shared by all its scopes: names, aliases, constants, inferred types."""

    def __init__(self, skeleton: Skeleton, *, constants_as_initializers: bool, like: Model | None = None) -> None:
        """`like` is a model of the same, which nobody changes: what is known of it is known of this one."""
        self.skeleton = skeleton
        self.proto = skeleton.proto
        self.ir_version = self.proto.ir_version
        self.constants_as_initializers = constants_as_initializers
        self.lost_uses: set[str] = set()
        """Names that lost a use: what produces them may be dead now."""
        self.new_uses: set[str] = set()
        """Names that a rule let something read."""
        self.fresh_names: set[str] = set()
        """Names that rules gave; all others are the author's, and stay."""
        self.retired: set[str] = set()
        """Names that nothing defines any more; what is known of the old value must not be taken for a new one's."""
        self.aliases: dict[str, str] = {}
        """Values that a rule found to be another value; uses are renamed when the work is done."""
        self.original = skeleton.checkable() if like is None else like.original
        self.survey = Survey(self.proto) if like is None else like.survey
        """The model as it was read."""
        self._like = like
        self.main = Scope(self, self.proto.graph, None, "main graph", default_opset(self.proto.opset_import) or 0)
        self.main.labels = self.survey.main_labels
        if like is not None:
            self.main.share_forms(like.main)
        self.functions = [
            Scope(self, body, None, f"function '{body.name}'", default_opset(body.opset_import) or 0)
            for body in self.proto.functions
        ]

    @property
    def graphs(self) -> list[GraphLike]:
        """The main graph, the function bodies, and every subgraph of them to any depth, as they are now."""
        has_one = not self.functions and not any(may_hold_graphs(label) for label in set(self.main.labels))
        return [self.proto.graph] if has_one else all_graphs(self.proto)

    @cached_property
    def _names(self) -> dict[str, int]:
        """Every name in the model, with the number of places that define it."""
        graphs = self.graphs
        names = dict(Counter([name for graph in graphs for name in defined_names(graph)]))
        for name in {node.name for graph in graphs for node in graph.node} - names.keys():
            names[name] = 0
        names.update(dict.fromkeys(self.fresh_names, 1))
        return names

    def fresh_name(self, wanted: str) -> str:
        """`wanted`, or with a number behind it, such that nothing in the model has that name."""
        name, number = wanted, 1
        while name in self.fresh_names or name in self.retired or self._may_be_taken(name):
            number += 1
            name = f"{wanted}_{number}"
        self.fresh_names.add(name)
        if "_names" in self.__dict__:
            self._names[name] = 1
        return name

    def _may_be_taken(self, name: str) -> bool:
        """Whether the model as it was read may have `name` anywhere."""
        if "_names" in self.__dict__ or len(self.fresh_names) >= MOST_SEARCHED_NAMES:
            return name in self._names
        return name.encode() in self.original

    def is_unique(self, name: str) -> bool:
        """Whether just one place in the model defines `name` (subgraphs and functions may shadow)."""
        return self._names.get(name, 0) <= 1

    @cached_property
    def _node_names(self) -> Counter[str]:
        """The names of nodes in the model as it was read, and how many nodes have each."""
        return Counter(node.name for graph in self.survey.graphs for node in graph.node if node.name)

    def node_name(self, wanted: str) -> str:
        """A name for a new node: `wanted`, or, where the model has a node of that name, one that nothing has."""
        return self.fresh_name(wanted) if wanted in self._node_names else wanted

    def shares_node_name(self, name: str) -> bool:
        """Whether more than one node of the model as it was read has the name `name`."""
        return self._node_names[name] > 1

    @cached_property
    def _uses(self) -> Counter[str]:
        uses = Counter(name for graph in self.survey.graphs for node in graph.node for name in node.input)
        for graph in self.survey.graphs:
            uses.update(graph.output if isinstance(graph, onnx.FunctionProto) else [value.name for value in graph.output])
        return uses

    def is_read(self, name: str) -> bool:
        """Whether anything in the model reads `name`, or a rule made something that does."""
        return self._uses[name] > 0 or name in self.new_uses

    def is_read_once(self, name: str) -> bool:
        """Whether the model reads `name` in one place and no rule reads it in another; counted when first asked."""
        return self._uses[name] <= 1 and name not in self.new_uses

    @cached_property
    def original_proto(self) -> onnx.ModelProto:
        """The model as it was read, for looking at; payloads that were cut are missing."""
        return onnx.ModelProto.FromString(self.original) if self._like is None else self._like.original_proto

    @cached_property
    def inferred(self) -> onnx.ModelProto | None:
        """The original model with inferred types, at its own opset; None where shape inference fails on it."""
        return inference.infer_model(self._without_defaults()) if self._like is None else self._like.inferred

    def _without_defaults(self) -> bytes:
        """The original model without the initializers that callers may override: inference would rely on their values."""
        if not self.main.overridable:
            return self.original
        proto = onnx.ModelProto.FromString(self.original)
        stored = [tensor for tensor in proto.graph.initializer if tensor.name not in self.main.overridable]
        del proto.graph.initializer[:]
        proto.graph.initializer.extend(stored)
        return proto.SerializeToString()

    @cached_property
    def propagated(self) -> Propagated | None:
        """What is known of all values of a model so large that inference is too slow, and so plain that it is not needed."""
        if self._like is not None:
            return self._like.propagated
        is_flat = len(self.survey.graphs) == 1 and not any(map(may_hold_graphs, self.survey.operators))
        if not is_flat or len(self.survey.main_labels) <= INFERRED_AS_A_WHOLE_UP_TO:
            return None
        proto = onnx.ModelProto.FromString(self.original)  # `original_proto` would stay, and be a fifth of all memory
        return propagation.propagate(proto.graph, self.survey.main_labels, self.main.opset, self.ir_version)

    @cached_property
    def inferred_functions(self) -> dict[tuple[str, str, str], GraphProto]:
        """Bodies of functions as graphs with inferred types, where all calls agree on the types of their inputs."""
        if self._like is not None:
            return self._like.inferred_functions
        return {} if self.inferred is None else inference.infer_functions(self.inferred)


def defined_names(graph: GraphLike) -> Iterator[str]:
    """The inputs, initializers and node outputs of `graph`, without its subgraphs; "" may be among them."""
    if isinstance(graph, GraphProto):
        yield from {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        yield from (tensor.values.name for tensor in graph.sparse_initializer)
    else:
        yield from graph.input
    yield from [name for node in graph.node for name in node.output]


class Scope:
    """One graph, subgraph or function body: where names are defined, looked up, and made.

    `opset` is the opset in whose form its nodes are before the conversion; `where` its path for messages.
    """

    def __init__(
        self,
        model: Model,
        graph: GraphLike,
        parent: Scope | None,
        where: str,
        opset: int,
        origin: tuple[int, int] | None = None,
    ) -> None:
        self.model = model
        self.graph = graph
        self.parent = parent
        self.where = where
        self.opset = opset
        self.target = opset
        """The opset in whose form the nodes that are done are; the engine sets it."""
        self._origin = origin
        """Index of the node that holds this graph in the parent's original node list, and which of its graphs it is."""
        self._made: dict[str, tuple[NodeProto, int]] = {}
        self._made_types: dict[str, TypeProto] = {}
        self._worked_out: dict[str, TypeProto | None] = {}
        self._values: dict[str, np.ndarray | None] = {}
        self._makers: dict[frozenset[str], dict[str, str]] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._type_strings: dict[str, str] = {}
        self._types_of_tied: dict[int, str | None] = {}
        self._known_shapes: dict[str, Shape] = {}
        """Those that are fully known: they stay as they are."""
        self._forms: dict[int, Form] = {}

    def children(self, node: NodeProto, index: int | None, opset: int) -> Iterator[Scope]:
        """A scope for each subgraph of `node`, number `index` in the original node list (None: a rule made it)."""
        outer = "" if self.parent is None and isinstance(self.graph, GraphProto) else f"{self.where} > "
        label = shown_name(node)
        for which, (attribute, graph) in enumerate(subgraphs(node)):
            where = f"{outer}{node.op_type} '{label}' {attribute}"
            child = Scope(self.model, graph, self, where, opset, None if index is None else (index, which))
            if index is None:
                for inner in graph.node:  # inference has not seen what a rule made
                    child.register(inner, opset)
            yield child

    def share_forms(self, twin: Scope) -> None:
        """`twin` is the same graph of a model that is `like` this one."""
        self._forms = twin._forms

    @cached_property
    def labels(self) -> list[str]:
        """`labels_of` the nodes; looking at these costs a tenth of looking at the nodes."""
        return labels_of(self.graph)

    def nodes_changed(self) -> None:
        """The graph has other nodes, or a node is another operator."""
        self.__dict__.pop("labels", None)

    def form(self, index: int | None, node: NodeProto) -> Form:
        """`form_of` a node, number `index` of the graph as it was read (None: a rule made it)."""
        form = None if index is None else self._forms.get(index)
        if form is None:
            form = form_of(node)
            if index is not None:
                self._forms[index] = form
        return form

    # -- who defines a name

    @cached_property
    def inputs(self) -> frozenset[str]:
        if isinstance(self.graph, GraphProto):
            return frozenset(value.name for value in self.graph.input)
        return frozenset(self.graph.input)

    @cached_property
    def outputs(self) -> frozenset[str]:
        if isinstance(self.graph, GraphProto):
            return frozenset(value.name for value in self.graph.output)
        return frozenset(self.graph.output)

    @cached_property
    def initializers(self) -> dict[str, TensorProto]:
        if isinstance(self.graph, GraphProto):
            return {tensor.name: tensor for tensor in self.graph.initializer}
        return {}

    @cached_property
    def producers(self) -> dict[str, NodeProto]:
        """The node that makes each value of this scope, kept up to date as rules add and remove nodes."""
        return {name: node for node in self.graph.node for name in node.output if name}

    def find(self, name: str) -> Scope | None:
        """The scope, this one or an outer one, that defines `name`."""
        scope: Scope | None = self
        while scope is not None and not scope._defines(name):
            scope = scope.parent
        return scope

    def _defines(self, name: str) -> bool:
        return name in self.initializers or name in self.inputs or name in self.producers or name in self._sparse

    @cached_property
    def _sparse(self) -> frozenset[str]:
        """Names of the sparse initializers."""
        if not isinstance(self.graph, GraphProto):
            return frozenset()
        return frozenset(tensor.values.name for tensor in self.graph.sparse_initializer)

    def may_be_stored(self, name: str) -> bool:
        """Whether there is an initializer `name`, here or in an outer graph; unlike `constant_tensor`, it looks no further."""
        name = self.resolve(name)
        scope: Scope | None = self
        while scope is not None and name not in scope.initializers:
            scope = scope.parent
        return scope is not None

    def maker_type(self, name: str, among: frozenset[str]) -> str | None:
        """The operator that makes `name`, here or in an outer graph, if it is one of `among`; cheaper than `producer`."""
        name = self.resolve(name)
        scope: Scope | None = self
        while scope is not None:
            if among not in scope._makers:
                nodes = [scope.graph.node[index] for index, label in enumerate(scope.labels) if label in among]
                scope._makers[among] = {output: node.op_type for node in nodes for output in node.output}
            found = scope._makers[among].get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def producer(self, name: str) -> NodeProto | None:
        """The node that makes `name`, in this scope or an outer one, seen through aliases."""
        name = self.resolve(name)
        scope = self.find(name)
        return None if scope is None else scope.producers.get(name)

    def resolve(self, name: str) -> str:
        """The value that `name` stands for by now."""
        while name in self.model.aliases:
            name = self.model.aliases[name]
        return name

    # -- constants

    def constant_tensor(self, name: str) -> TensorProto | None:
        """The initializer called `name`, unless a caller of the model may override it."""
        scope = self.find(self.resolve(name))
        if scope is None:
            return None
        tensor = scope.initializers.get(self.resolve(name))
        return None if tensor is None or tensor.name in scope.overridable else tensor

    @cached_property
    def overridable(self) -> frozenset[str]:
        """The initializers that are inputs as well, and no constants; before IR 4 all in the main graph have to be, and are."""
        if self.parent is None and self.model.ir_version < 4:
            return frozenset()
        return self.inputs & self.initializers.keys()

    def constant(self, name: str) -> np.ndarray | None:
        """The value of `name` where it is the same in every run, else None. Cut and external payloads are read on demand.

        Raises InvalidModelError when the data of a tensor is missing or does not fit its shape.
        """
        name = self.resolve(name)
        scope = self.find(name)
        if scope is None:
            return None
        if name not in scope._values:
            scope._evaluate_with_operands(name)
        return scope._values[name]

    def _evaluate_with_operands(self, name: str) -> None:
        """Operands come first, without recursion: what a value is computed from may be thousands of nodes long."""
        pending: list[tuple[Scope, str, bool]] = [(self, name, False)]
        while pending:
            scope, name, is_ready = pending.pop()
            if is_ready:
                scope._values[name] = scope._evaluate(name)
            elif name not in scope._values:
                scope._values[name] = None  # a cycle has no value
                pending.append((scope, name, True))
                operands = [(scope.find(operand), operand) for operand in map(scope.resolve, scope._operands(name))]
                pending.extend((owner, operand, False) for owner, operand in operands if owner is not None)

    def _operands(self, name: str) -> Sequence[str]:
        """What `name` is computed from, if `folding` can compute it."""
        node = None if name in self.initializers else self.producers.get(name)
        is_folded = node is not None and node.domain in DEFAULT_DOMAINS and node.op_type in folding.FOLDABLE
        return [value for value in node.input if value] if node is not None and is_folded else ()

    def _evaluate(self, name: str) -> np.ndarray | None:
        if (tensor := self.initializers.get(name)) is not None:
            return None if name in self.overridable else self.model.skeleton.array(tensor)
        node = self.producers.get(name)
        if node is None or node.domain not in DEFAULT_DOMAINS:
            return None
        if node.op_type == "Constant":
            return folding.constant_value(node, self.model.skeleton.array)
        if node.op_type in ("Shape", "Size"):
            return self._shape_value(node)
        if node.op_type not in folding.FOLDABLE:
            return None
        inputs = [self.constant(value) if value else None for value in node.input]
        if any(value is None and name for value, name in zip(inputs, node.input, strict=True)):
            return None
        results = folding.evaluate(node, inputs)
        return None if results is None else results[list(node.output).index(name)]

    def _shape_value(self, node: NodeProto) -> np.ndarray | None:
        shape = self.shape(node.input[0])
        if shape is None:
            return None
        if node.op_type == "Size":
            known = [dim for dim in shape if isinstance(dim, int)]
            return np.array(math.prod(known), np.int64) if len(known) == len(shape) else None
        attributes = {attribute.name: attribute for attribute in node.attribute}
        if any(attribute.ref_attr_name for attribute in attributes.values()):
            return None
        start = attributes["start"].i if "start" in attributes else 0
        end = attributes["end"].i if "end" in attributes else len(shape)
        part = shape[start:end]
        return np.array(part, np.int64) if all(isinstance(dim, int) for dim in part) else None

    def add_constant(self, array: np.ndarray, name: str) -> str | NodeProto:
        """A constant that every node of this scope can use.

        The name of an initializer (an equal one made before is used again), or, where initializers are not possible
        (functions, IR 3), a new Constant node whose output it is.
        """
        array = np.asarray(array, order="C")
        key = (array.dtype.name, array.shape, array.tobytes())
        if array.dtype != object and key in self._constants:
            return self._constants[key]
        tensor = numpy_helper.from_array(array, self.model.fresh_name(name))
        if self.takes_initializers:  # a Constant node may come too late for another use
            self._constants[key] = tensor.name
        self._values[tensor.name] = array
        return self.add_tensor(tensor)

    @property
    def takes_initializers(self) -> bool:
        """Whether constants can be initializers: not in functions, nor before IR 4, where each is an input as well."""
        return isinstance(self.graph, GraphProto) and self.model.constants_as_initializers

    def add_tensor(self, tensor: TensorProto) -> str | NodeProto:
        """As `add_constant`, for a tensor that has its name."""
        if isinstance(self.graph, GraphProto) and self.takes_initializers:
            self.graph.initializer.append(tensor)
            self.initializers[tensor.name] = self.graph.initializer[-1]
            return tensor.name
        return helper.make_node("Constant", [], [tensor.name], name=tensor.name, value=tensor)

    def reconsider(self) -> None:
        """A value became constant: what was computed from it may be constant as well."""
        self._values = {name: value for name, value in self._values.items() if value is not None}

    # -- types and shapes

    def declared_type(self, name: str) -> TypeProto | None:
        """The type that the model states for `name`, without any inference."""
        scope = self.find(name)
        return None if scope is None else scope._declared_types.get(name)

    def type(self, name: str) -> TypeProto | None:
        """What is known about the type of `name`: declared, else inferred."""
        name = self.resolve(name)
        scope: Scope | None = self
        while scope is not None:
            declared = scope._declared_types.get(name)
            if declared is not None and inference.type_string(declared) is not None:
                return declared
            known = scope._inferred_type(name)
            if known is not None or scope.parent is None or scope._defines(name):
                return known
            scope = scope.parent
        return None

    @cached_property
    def _declared_types(self) -> dict[str, TypeProto]:
        if not isinstance(self.graph, GraphProto):
            return {}
        types = {tensor.name: _tensor_type(tensor) for tensor in self.graph.initializer}
        for values in (self.graph.value_info, self.graph.output, self.graph.input):
            types.update((value.name, value.type) for value in values if value.HasField("type"))
        return types

    @cached_property
    def _propagated(self) -> Propagated | None:
        return self.model.propagated if self is self.model.main else None

    @cached_property
    def _inferred_types(self) -> dict[str, TypeProto]:
        graph = self._inferred_graph
        if graph is None:
            return {}
        values = itertools.chain(graph.value_info, graph.output, graph.input)
        return {value.name: value.type for value in values if value.HasField("type")}

    @property
    def is_original(self) -> bool:
        """Whether the model as it was read has this graph; rules make some."""
        return self.parent is None or (self._origin is not None and self.parent.is_original)

    @cached_property
    def original_graph(self) -> GraphLike:
        """This graph in the model as it was read; only where `is_original`."""
        whole = self.model.original_proto
        if self.parent is None:
            numbers = [number for number, scope in enumerate(self.model.functions) if scope is self]
            return whole.functions[numbers[0]] if numbers else whole.graph
        if self._origin is None:
            raise ValueError(f"a rule made the graph {self.where}")
        index, which = self._origin
        return list(subgraphs(self.parent.original_graph.node[index]))[which][1]

    @cached_property
    def _inferred_graph(self) -> GraphProto | None:
        """This scope's graph in the inferred copy of the original model."""
        if isinstance(self.graph, onnx.FunctionProto):
            overload = getattr(self.graph, "overload", "")
            return self.model.inferred_functions.get((self.graph.domain, self.graph.name, overload))
        if self.parent is None:
            return None if self.model.inferred is None else self.model.inferred.graph
        outer = self.parent._inferred_graph
        if outer is None or self._origin is None:
            return None
        index, which = self._origin
        graph = list(subgraphs(outer.node[index]))[which][1]
        return graph if outer.node[index].domain in DEFAULT_DOMAINS else self._inferred_alone(self.parent, graph)

    def _inferred_alone(self, outer: Scope, graph: GraphProto) -> GraphProto:
        """The subgraph of a node of another domain, which inference of the model does not look into."""
        types = {name: kind for name in captured(graph) if (kind := outer.type(name)) is not None}
        return inference.infer_subgraph(self.model.original_proto, graph, types, self.opset)

    def _inferred_type(self, name: str) -> TypeProto | None:
        known = self._inferred_types.get(name) if self._propagated is None else self._propagated.type(name)
        if known is not None:
            return known
        if name in self._made:
            return self._made_type(name)
        return _tensor_type(self.initializers[name]) if name in self.initializers else None

    def _made_type(self, name: str) -> TypeProto | None:
        """The type of a value that a rule made, inferred from the node as it was made."""
        if name not in self._made_types:
            node, opset = self._made[name]
            types = {value: known for value in node.input if value and (known := self.type(value)) is not None}
            data = {
                value: numpy_helper.from_array(array, value)
                for value in node.input
                if value in types and (array := self._small_constant(value)) is not None
            }
            if all(value in types for value in node.input if value):
                self._made_types.update(inference.infer_node(node, opset, types, data, self.model.ir_version))
            for value, kind in {**inference.fixed_types(node, opset), **self._types_by_body(node, opset)}.items():
                self._made_types.setdefault(value, kind)
        return self._made_types.get(name)

    def _types_by_body(self, node: NodeProto, opset: int) -> dict[str, TypeProto]:
        """What a node with subgraphs gives, by what its body gives: the element type, and from Scan the rank."""
        body = next(self.children(node, None, opset), None)
        if body is None or not isinstance(body.graph, GraphProto):
            return {}
        inner = [value.name for value in body.graph.output][node.op_type == "Loop" :]
        scanned = next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)
        found: dict[str, TypeProto] = {}
        for index, (outer, name) in enumerate(zip(node.output, inner, strict=False)):
            kind = body.type(name)
            if not outer or kind is None or kind.WhichOneof("value") != "tensor_type":
                continue
            shape = inference.shape_of(kind) if node.op_type == "Scan" and opset >= 9 else None
            stacked = index >= len(node.input) - scanned
            dims = None if shape is None else [None] * (len(shape) + stacked)
            found[outer] = helper.make_tensor_type_proto(kind.tensor_type.elem_type, dims)
        return found

    def _small_constant(self, name: str) -> np.ndarray | None:
        kind = self.type(name)
        shape = None if kind is None else inference.shape_of(kind)
        if shape is None or len(shape) > 1:
            return None
        return self.constant(name)

    def type_string(self, name: str) -> str | None:
        """ "tensor(float)", "seq(tensor(int64))", …; None where it is unknown, and no node around it says."""
        known = self._type_strings.get(name)
        if known is None:
            known = self._find_type_string(self.resolve(name))
            if known is not None:
                self._type_strings[name] = known
        return known

    def _find_type_string(self, name: str) -> str | None:
        if name not in self._declared_types and self._propagated is not None:
            known = self._propagated.type_string(name)
            if known is not None:
                return known
        proto = self.type(name)
        known = None if proto is None else inference.type_string(proto)
        return known or self._type_by_neighbours(name)

    def _type_by_neighbours(self, name: str) -> str | None:
        """The type that the values tied to `name` by the operators that make and read them have: graph outputs declare theirs."""
        group = self._tied.setdefault(name, [name])
        if id(group) not in self._types_of_tied:
            self._types_of_tied[id(group)] = next(filter(None, map(self._stated_type, group)), None)
        return self._types_of_tied[id(group)]

    def _stated_type(self, name: str) -> str | None:
        scope, maker = self.find(name), self._first_producers.get(name)
        if scope is not None and scope is not self:
            return scope.type_string(name)
        proto = None if maker is None else inference.fixed_types(maker, self.opset).get(name)
        proto = proto or self.type(name)
        return None if proto is None else inference.type_string(proto)

    @cached_property
    def _tied(self) -> dict[str, list[str]]:
        """The values that have one type because an operator wants it so; all of them have the same list."""
        groups: dict[str, list[str]] = {}
        for node in {id(node): node for node in self._first_producers.values()}.values():
            for values in inference.tied_values(node, self.opset) if node.domain in DEFAULT_DOMAINS else ():
                _join(groups, values)
        return groups

    def elem_type(self, name: str) -> int | None:
        """The TensorProto.DataType of a tensor; None where it is unknown or `name` is no tensor."""
        proto = self.type(name)
        if proto is None or proto.WhichOneof("value") != "tensor_type":
            return None
        return proto.tensor_type.elem_type or None

    def shape(self, name: str) -> Shape | None:
        """The dimensions of `name`: numbers, the author's symbols, or None; None where the rank is unknown.

        What `shape_worked_out` has found is known from then on, so that a rule that asked for the rank gets no other answer here.
        """
        name = self.resolve(name)
        known = self._known_shapes.get(name)
        if known is None:
            known = self._find_shape(name)
            if inference.is_known(known):
                self._known_shapes[name] = known
        return known

    def _find_shape(self, name: str) -> Shape | None:
        scope: Scope | None = self
        while scope is not None:
            declared = scope._declared_types.get(name)
            shape = None if declared is None else inference.shape_of(declared)
            if (worked_out := scope._worked_out.get(name)) is not None:
                shape = _merge(shape, inference.shape_of(worked_out))
            if inference.is_known(shape):
                return shape
            if scope._propagated is not None and (known_shape := scope._propagated.shape(name)) is not None:
                return known_shape
            known = scope._inferred_type(name)
            if known is not None:
                return _merge(shape, inference.shape_of(known))
            if scope.parent is None or scope._defines(name):
                return shape
            scope = scope.parent
        return None

    def shape_worked_out(self, name: str) -> Shape | None:
        """As `shape`, but what inference left open is inferred again, node by node, with every constant that folds.

        Dear, so only for what would be refused otherwise.
        """
        shape = self.shape(name)
        if inference.is_known(shape):
            return shape
        kind = self._type_worked_out(self.resolve(name), _MAX_LOOK_BACK)
        return shape if kind is None else _merge(shape, inference.shape_of(kind))

    def _type_worked_out(self, name: str, steps: int) -> TypeProto | None:
        known, scope = self.type(name), self.find(name)
        shape = None if known is None else inference.shape_of(known)
        if scope is None or steps == 0 or inference.is_known(shape):
            return known
        if name not in scope._worked_out:
            scope._worked_out[name] = known
            scope._infer_again(name, steps - 1)
        return scope._worked_out[name]

    def _infer_again(self, name: str, steps: int) -> None:
        node, opset = self._made.get(name) or (self._first_producers.get(name), self.opset)
        if node is None:
            return
        found = {value: self._type_worked_out(self.resolve(value), steps) for value in node.input if value}
        types = {value: kind for value, kind in found.items() if kind is not None}
        constants = {value: array for value in types if (array := self._small_constant(value)) is not None}
        data = {value: numpy_helper.from_array(array, value) for value, array in constants.items()}
        if all(value in types for value in node.input if value):
            for value, kind in inference.infer_node(node, opset, types, data, self.model.ir_version).items():
                self._worked_out[value] = _merge_types(self._worked_out.get(value) or self.type(value), kind)

    @cached_property
    def _first_producers(self) -> dict[str, NodeProto]:
        """The node that makes each value, in the form that it had before any rule."""
        graph = self._inferred_graph
        return {} if graph is None else {name: node for node in graph.node for name in node.output if name}

    # -- bookkeeping for the engine

    def register(self, node: NodeProto, opset: int) -> None:
        """Make the outputs of a node that a rule wrote in the form of `opset` known in this scope."""
        snapshot = NodeProto()
        snapshot.CopyFrom(node)
        for name in filter(None, node.output):
            self.producers[name] = node
            self._made[name] = (snapshot, opset)
        self.note_maker(node)

    def note_maker(self, node: NodeProto) -> None:
        """`node` is new, or another operator than it was."""
        for among, makers in self._makers.items():
            if node.op_type in among:
                makers.update(dict.fromkeys(node.output, node.op_type))

    def note_type(self, name: str, kind: TypeProto) -> None:
        """The type of a value that a rule made, where the rule knows it better than inference."""
        self._made_types[name] = kind

    def rename_made(self, value: str, name: str) -> bool:
        """Let the node that makes `value` make `name` instead, if a rule put it into this scope; returns whether it did.

        So the parts of a Split are outputs of the graph themselves, with no Identity between.
        """
        is_ours = value in self._made and value in self.model.fresh_names
        if not is_ours or value in self.outputs or not self.model.is_unique(name):
            return False
        node, (_, opset) = self.producers.pop(value), self._made.pop(value)
        node.output[list(node.output).index(value)] = name
        self.register(node, opset)
        self.model.aliases[value] = name
        return True

    def forget(self, node: NodeProto) -> None:
        """The node is gone: its inputs lost a use, and its outputs are not made by it."""
        self.model.retired.update(filter(None, node.output))
        self.model.lost_uses.update(filter(None, node.input))
        for name in node.output:
            if self.producers.get(name) is node:
                del self.producers[name]


def _join(groups: dict[str, list[str]], values: Sequence[str]) -> None:
    """Let all of `values` be in one group, with all that were in a group with one of them."""
    joined = {id(group): group for value in values if (group := groups.get(value)) is not None}
    largest = max(joined.values(), key=len, default=[])
    joined.pop(id(largest), None)
    for value in itertools.chain(*joined.values(), (value for value in values if value not in groups)):
        groups[value] = largest
        largest.append(value)


def _tensor_type(tensor: TensorProto) -> TypeProto:
    return helper.make_tensor_type_proto(tensor.data_type, tensor.dims)


def _merge(declared: Shape | None, inferred: Shape | None) -> Shape | None:
    if declared is None or inferred is None or len(declared) != len(inferred):
        return inferred if declared is None else declared
    return tuple(a if isinstance(a, int) or (b is None) else b for a, b in zip(declared, inferred, strict=True))


def _merge_types(known: TypeProto | None, inferred: TypeProto) -> TypeProto:
    """Both as one, if they are tensors: each dimension that either knows."""
    if known is None or {known.WhichOneof("value"), inferred.WhichOneof("value")} != {"tensor_type"}:
        return inferred if known is None else known
    shape = _merge(inference.shape_of(known), inference.shape_of(inferred))
    return helper.make_tensor_type_proto(known.tensor_type.elem_type or inferred.tensor_type.elem_type, shape)


class Fact(NamedTuple):
    """A question that a rule asked its node, and the answer."""

    question: Callable[..., Any]
    arguments: tuple[Any, ...]
    answer: Any


class Node:
    """One node, in the form of `opset`, and all that a rule may ask of it and do to it.

    Rules edit it in place, put nodes `before` or `after` it, let it `become` another operator, or `remove` it.
    """

    __slots__ = (
        "added_after",
        "added_before",
        "approximate",
        "behind",
        "body_opset",
        "cautions",
        "changed",
        "facts",
        "opset",
        "proto",
        "removed",
        "settled",
        "source_index",
        "why",
        "within",
        "written_for",
    )

    def __init__(self, proto: NodeProto, scope: Scope, opset: int, source_index: int | None = None) -> None:
        self.proto = proto
        self.within = scope
        """`scope`, for all but rules."""
        self.facts: list[Fact] | None = []
        """What rules asked of the first input and the outputs; None where they did more than a twin of the node can repeat."""
        self.opset = opset
        self.source_index = source_index
        """Position in the original node list; None for a node that a rule made."""
        self.body_opset = opset
        """The opset in whose form the nodes of its subgraphs are."""
        self.written_for = opset
        """The opset of the nodes that the rule at work makes; the engine sets it."""
        self.added_before: list[Node] = []
        self.added_after: list[Node] = []
        self.behind = 0
        """How many of `added_after` the rule at work put there: they come before those of earlier rules, which read them."""
        self.cautions: list[str] = []
        self.approximate = False
        """An otherwise exact rule says so where the last bits of this one node's result may differ."""
        self.changed = False
        self.removed = False
        self.why = ("", "")
        """What made a rule put this node where one node was, for the user to know if it cannot stay; and a hint."""
        self.settled = False
        """Whether it has gone as far as its rules take it."""

    def begin_rule(self, written_for: int) -> None:
        """A rule starts, which makes nodes in the form of opset `written_for`."""
        self.written_for = written_for
        self.behind = 0

    # -- what it is

    @property
    def scope(self) -> Scope:
        """Where it is. A rule that looks around here finds what is true of this node only."""
        self.facts = None
        return self.within

    def _note(self, answer: Any, question: Callable[..., Any], index: int, *arguments: Any) -> Any:
        """Note a question about value `index`; inputs behind the first are the same in all twins."""
        if index == 0 and self.facts is not None:
            self.facts.append(Fact(question, arguments, answer))
        return answer

    @property
    def op_type(self) -> str:
        return self.proto.op_type

    @property
    def name(self) -> str:
        """The name, or the first output's where the node has none."""
        return shown_name(self.proto)

    @property
    def inputs(self) -> list[str]:
        return list(self.proto.input)

    @property
    def outputs(self) -> list[str]:
        return list(self.proto.output)

    def has_input(self, index: int) -> bool:
        """Whether input `index` is there; the empty name counts as absent."""
        return self.input(index) != ""

    def has_output(self, index: int) -> bool:
        return self.output(index) != ""

    def input(self, index: int) -> str:
        """The name of input `index`, or "" where it is absent."""
        names = self.proto.input
        return names[index] if index < len(names) else ""

    def output(self, index: int) -> str:
        names = self.proto.output
        return names[index] if index < len(names) else ""

    # -- attributes

    def _attribute(self, name: str) -> AttributeProto | None:
        for attribute in self.proto.attribute:
            if attribute.name == name:
                return attribute
        return None

    def has_attr(self, name: str) -> bool:
        return self._attribute(name) is not None

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute's Python value (strings decoded), or `default`. Raises Unconvertible when a function's caller sets it."""
        attribute = self._attribute(name)
        return default if attribute is None else _attribute_value(attribute)

    def set_attr(self, name: str, value: Any) -> None:
        attribute = self._attribute(name)
        if attribute is None:
            attribute = self.proto.attribute.add()
        _fill(attribute, name, value)
        self.changed = True

    def pop_attr(self, name: str, default: Any = None) -> Any:
        """Remove the attribute and return its value, or `default` where there is none."""
        for index, attribute in enumerate(self.proto.attribute):
            if attribute.name == name:
                value = _attribute_value(attribute)
                del self.proto.attribute[index]
                self.changed = True
                return value
        return default

    # -- inputs and outputs

    def set_input(self, index: int, name: str) -> None:
        """Let input `index` be `name`; inputs between are absent."""
        self.within.model.new_uses.add(name)
        self.proto.input.extend([""] * (index + 1 - len(self.proto.input)))
        self._lose(self.proto.input[index])
        self.proto.input[index] = name
        self.changed = True

    def add_input(self, name: str) -> None:
        self.within.model.new_uses.add(name)
        self.proto.input.append(name)
        self.changed = True

    def drop_input(self, index: int) -> None:
        """Make input `index` absent; absent inputs at the end go."""
        if index >= len(self.proto.input):
            return
        self._lose(self.proto.input[index])
        self.proto.input[index] = ""
        while self.proto.input and self.proto.input[-1] == "":
            del self.proto.input[-1]
        self.changed = True

    def _lose(self, name: str) -> None:
        if name:
            self.within.model.lost_uses.add(name)

    def set_output(self, index: int, name: str) -> None:
        self.facts = None
        self.proto.output.extend([""] * (index + 1 - len(self.proto.output)))
        self.within.model.retired.add(self.proto.output[index])
        self.proto.output[index] = name
        if name:
            self.within.producers[name] = self.proto
        self.changed = True

    def detach_output(self, index: int, what: str) -> str:
        """Give output `index` a fresh name, so that a node put `after` can make the old one. Returns the fresh name.

        The caller knows that the value has the same type as before or says so by the node that it adds.
        """
        self.facts = None
        fresh = self.fresh_name(what)
        self.proto.output[index] = fresh
        self.within.register(self.proto, self.opset)
        self.changed = True
        return fresh

    def drop_output(self, index: int) -> None:
        """Make output `index` absent; absent outputs at the end go."""
        self.facts = None
        self.within.model.retired.add(self.proto.output[index])
        self.proto.output[index] = ""
        while self.proto.output and self.proto.output[-1] == "":
            del self.proto.output[-1]
        self.changed = True

    # -- what is known

    def constant(self, index: int) -> np.ndarray | None:
        """The value of input `index` where it is the same in every run; None where it is not, or the input is absent."""
        value = self.within.constant(self.input(index)) if self.has_input(index) else None
        return self._note(value, Node.constant, index, index)

    def const_input(self, index: int, what: str) -> np.ndarray:
        """As `constant`, but raises Unconvertible naming the input `what` where it is only known at run time."""
        value = self.constant(index)
        if value is None:
            name = self.input(index)
            why = "may be overridden by the caller" if self._is_overridable(name) else "is computed at run time"
            raise Unconvertible(f"{what} '{name}' {why}, and the older form needs a constant", _CONSTANT_HINT)
        return value

    def _is_overridable(self, name: str) -> bool:
        scope = self.within.find(name)
        return scope is not None and name in scope.overridable

    def elem_type(self, index: int = 0) -> int | None:
        number = self.within.elem_type(self.input(index)) if self.has_input(index) else None
        return self._note(number, Node.elem_type, index, index)

    def output_elem_type(self, index: int = 0) -> int | None:
        number = self.within.elem_type(self.output(index)) if self.has_output(index) else None
        return self._note(number, Node.output_elem_type, 0, index)

    def type_string(self, name: str) -> str | None:
        """As `Scope.type_string`, of a value that is an input or output of this node."""
        inputs = self.inputs
        return self._type_of_slot(inputs.index(name) if name in inputs else ~self.outputs.index(name))

    def _type_of_slot(self, slot: int) -> str | None:
        """Of input `slot`, or of output `~slot`."""
        kind = self.within.type_string(self.input(slot) if slot >= 0 else self.output(~slot))
        return self._note(kind, Node._type_of_slot, max(slot, 0), slot)

    def need_elem_type(self, index: int = 0) -> int:
        """The element type of input `index`. Raises Unconvertible where it is unknown."""
        number = self.elem_type(index)
        if number is None:
            raise Unconvertible(f"the type of '{self.input(index)}' is unknown", "declare it in value_info")
        return number

    def shape(self, index: int = 0) -> Shape | None:
        return self._note(self._shape(index), Node.shape, index, index)

    def _shape(self, index: int) -> Shape | None:
        name = self.input(index)
        return self.within.shape(name) if name else None

    def output_shape(self, index: int = 0) -> Shape | None:
        shape = self.within.shape(self.output(index)) if self.has_output(index) else None
        return self._note(shape, Node.output_shape, 0, index)

    def rank(self, index: int = 0) -> int | None:
        shape = self._shape(index)
        return self._note(None if shape is None else len(shape), Node.rank, index, index)

    def need_rank(self, index: int = 0) -> int:
        """The rank of input `index`. Raises Unconvertible where it is unknown."""
        shape = self._shape_worked_out(index)
        if shape is None:
            self.facts = None
            raise Unconvertible(f"the rank of '{self.input(index)}' is unknown", self.shape_hint())
        return self._note(len(shape), Node.need_rank, index, index)

    def _shape_worked_out(self, index: int) -> Shape | None:
        return self.within.shape_worked_out(self.input(index)) if self.has_input(index) else None

    def need_shape(self, index: int = 0) -> tuple[int, ...]:
        """All dimensions of input `index`. Raises Unconvertible where one is unknown."""
        shape = self._shape_worked_out(index)
        if shape is None:
            self.need_rank(index)
        known = tuple(dim for dim in shape or () if isinstance(dim, int))
        if shape is None or len(known) != len(shape):
            self.facts = None
            raise Unconvertible(f"the shape {_show(shape)} of '{self.input(index)}' is not fully known", self.shape_hint())
        return self._note(known, Node.need_shape, index, index)

    def dimension(self, axis: int, index: int = 0) -> Dimension:
        """Dimension `axis` (may be negative) of input `index`; None where it is unknown."""
        shape = self._shape(index)
        size = None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]
        return self._note(size, Node.dimension, index, axis, index)

    def need_dimension(self, axis: int, index: int = 0) -> int:
        """As `dimension`. Raises Unconvertible where it is no number."""
        shape = self._shape_worked_out(index)
        dim = None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]
        if not isinstance(dim, int):
            self.facts = None
            label = f"the axis dimension '{dim}'" if dim else f"dimension {axis}"
            raise Unconvertible(f"{label} of '{self.input(index)}' is unknown", self.shape_hint())
        return self._note(dim, Node.need_dimension, index, axis, index)

    def shape_hint(self) -> str:
        """How to make shapes known."""
        scope = self.within
        while scope.parent is not None:
            scope = scope.parent
        if not isinstance(scope.graph, GraphProto):
            return "inline the function, or give every call the same shapes"
        for value in scope.graph.input:
            if value.name not in scope.initializers and value.type.WhichOneof("value") == "tensor_type":
                dims = inference.shape_of(value.type)
                shown = "…" if dims is None else ",".join(str(d) if isinstance(d, int) else "N" for d in dims)
                return f"fix it with --overwrite-input-shape {value.name}:{shown}"
        return "declare the shape in value_info"

    # -- making things

    def fresh_name(self, what: str) -> str:
        """`<first output>_<what>`, unique in the whole model."""
        first = next(filter(None, self.proto.output), self.proto.name or self.proto.op_type)
        return self.within.model.fresh_name(f"{first}_{what}")

    def add_constant(self, value: Any, dtype: Any, what: str) -> str:
        """A constant tensor of `dtype` (anything numpy takes); returns its name. Raises Unconvertible beyond `dtype`."""
        first = next(filter(None, self.proto.output), self.proto.op_type)
        try:
            array = np.array(value, dtype)
        except OverflowError:
            raise Unconvertible(f"it would need the constant {value}, beyond {np.dtype(dtype)}", "correct the model") from None
        return self._constant_name(self.within.add_constant(array, f"{first}_{what}"))

    def add_tensor(self, tensor: TensorProto) -> str:
        """As `add_constant`, for a tensor that has its name; its payload may be on disk where the scope takes initializers."""
        self.facts = None
        return self._constant_name(self.within.add_tensor(tensor))

    def _constant_name(self, made: str | NodeProto) -> str:
        if isinstance(made, str):
            return made
        # Constant-1 takes floats only: let the node be one of opset 9, whose way down knows what to do.
        self._queue(made, self.added_before, max(self.written_for, 9))
        return made.output[0]

    def before(
        self,
        op_type: str,
        inputs: Sequence[str],
        *,
        what: str = "",
        outputs: Sequence[str] | int = 1,
        opset: int | None = None,
        **attributes: Any,
    ) -> str:
        """Put a node before this one; returns its first output.

        `outputs` names its outputs, or counts them (they get fresh names); `opset` in whose form it is, if not the one that the
        rule writes for; attributes that are None are left out.
        """
        return self._make(op_type, inputs, what, outputs, attributes, self.added_before, opset)[0]

    def before_many(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str] | int,
        *,
        what: str = "",
        opset: int | None = None,
        **attributes: Any,
    ) -> list[str]:
        """As `before`, and returns all outputs."""
        return self._make(op_type, inputs, what, outputs, attributes, self.added_before, opset)

    def after(
        self,
        op_type: str,
        inputs: Sequence[str],
        *,
        what: str = "",
        outputs: Sequence[str] | int = 1,
        opset: int | None = None,
        **attributes: Any,
    ) -> str:
        """Put a node after this one, behind those that the same rule put there; returns its first output."""
        return self._make(op_type, inputs, what, outputs, attributes, self.added_after, opset)[0]

    def _make(
        self,
        op_type: str,
        inputs: Sequence[str],
        what: str,
        outputs: Sequence[str] | int,
        attributes: dict[str, Any],
        where: list[Node],
        opset: int | None = None,
    ) -> list[str]:
        label = what or op_type.lower()
        names = [self.fresh_name(label) for _ in range(outputs)] if isinstance(outputs, int) else list(outputs)
        given = {key: value for key, value in attributes.items() if value is not None}
        model = self.within.model
        if self.proto.name:
            node_name = model.fresh_name(f"{self.name}_{label}_node")
        else:
            node_name = names[0] if isinstance(outputs, int) else model.node_name(names[0])
        self._queue(helper.make_node(op_type, list(inputs), names, name=node_name, **given), where, opset)
        return names

    def add_node(self, proto: NodeProto, opset: int | None = None) -> None:
        """Put a ready-made node, written for `opset`, before this one; its output names must be fresh or this node's."""
        self._queue(proto, self.added_before, opset)

    def _queue(self, proto: NodeProto, where: list[Node], opset: int | None = None) -> None:
        self.facts = None
        opset = opset or self.written_for
        self.within.model.new_uses.update(reads(proto))
        self.within.register(proto, opset)
        made = Node(proto, self.within, opset)
        made.why = self.why
        if where is self.added_after:
            where.insert(self.behind, made)
            self.behind += 1
        else:
            where.append(made)
        self.changed = True

    def become(self, op_type: str, inputs: Sequence[str], *, opset: int | None = None, **attributes: Any) -> None:
        """Be another operator, in the form of `opset`, with the same outputs, name and documentation.

        Without `opset`, the form is the one that the rule is written for; attributes that are None are left out.
        """
        self.facts = None
        for name in self.proto.input:
            self._lose(name)
        model = self.within.model
        model.new_uses.update(inputs)
        if self.proto.op_type == "Constant" and model.shares_node_name(self.proto.name):
            self.proto.name = self.fresh_name("node")  # runtimes let only Constants share the name of another node
        self.proto.op_type = op_type
        del self.proto.input[:]
        self.proto.input.extend(inputs)
        del self.proto.attribute[:]
        for key, value in attributes.items():
            if value is not None:
                _fill(self.proto.attribute.add(), key, value)
        self.opset = opset or self.written_for
        self.within.nodes_changed()
        self.within.note_maker(self.proto)
        self.changed = True

    def remove(self) -> None:
        """Drop this node; nodes put before or after it make its outputs, or nothing reads them."""
        self.facts = None
        self.within.forget(self.proto)
        self.removed = self.changed = True

    def forward(self, index: int, value: str) -> None:
        """Let everything that reads output `index` read `value` instead. The output's name stays where it is an interface."""
        self.facts = None
        name, value = self.output(index), self.within.resolve(value)
        if not name or name == value:
            return
        if name in self.within.outputs and self.within.rename_made(value, name):
            self.proto.output[index] = ""
            self.changed = True
            return
        if name in self.within.outputs or not self.within.model.is_unique(name) or not self.within.model.is_unique(value):
            self.proto.output[index] = ""
            self.after("Identity", [value], outputs=[name])
            return
        self.within.model.aliases[name] = value
        self.within.model.new_uses.add(value)
        self.within.model.lost_uses.add(name)
        self.changed = True

    # -- saying things

    def explain(self, why: str, hint: str = "") -> None:
        """Say why the nodes made from here on are needed ("the sizes 's' are computed at run time"), unless that is known."""
        if not self.why[0]:
            self.why = (why, hint)

    def leave(self, reason: str) -> None:
        """A simplification ends here, and the report says why."""
        raise Left(reason)

    def caution(self, message: str) -> None:
        """A warning in the report, an error with --strict."""
        self.facts = None
        self.cautions.append(message)


_CONSTANT_HINT = "make it a constant (an initializer that is no graph input), for example by exporting with fixed sizes"


def _show(shape: Shape | None) -> str:
    return "?" if shape is None else "(" + ", ".join("?" if dim is None else str(dim) for dim in shape) + ")"


def _fill(attribute: AttributeProto, name: str, value: Any) -> None:
    """`helper.make_attribute` for integers, which is most of them, at a fifth of its 5 µs."""
    attribute.Clear()
    if type(value) is int:
        attribute.name, attribute.type, attribute.i = name, AttributeProto.INT, value
    elif type(value) is list and value and type(value[0]) is int:
        attribute.name, attribute.type = name, AttributeProto.INTS
        attribute.ints.extend(value)
    else:
        attribute.CopyFrom(helper.make_attribute(name, value, attr_type=AttributeProto.INTS if value == [] else None))


def _attribute_value(attribute: AttributeProto) -> Any:
    if attribute.ref_attr_name:
        raise Unconvertible(
            f"attribute {attribute.name} is a parameter of the function ('{attribute.ref_attr_name}')",
            "inline the function before converting",
        )
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return _text(attribute, value)
    if attribute.type == AttributeProto.STRINGS:
        return [_text(attribute, item) for item in value]
    return list(value) if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS) else value


def _text(attribute: AttributeProto, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Unconvertible(f"attribute {attribute.name} is {value[:30]!r}, which is not UTF-8", "correct the model") from error
