"""The model as rules see it: `Model` (the whole), `Scope` (one graph or function body), `Node` (one node in the form of an opset).

Thin views over onnx protobufs, which stay the only copy of the data. This module knows no rule.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

from ..opsets import folding, inference
from ..opsets.inference import Shape
from ..storage.payload import raw_length
from .propagation import Propagated
from .protos import DEFAULT_DOMAINS, GraphLike, captured, labels_of, shown_name, subgraphs

if TYPE_CHECKING:
    from .model import Model

_MAX_LOOK_BACK = 100
"""Nodes that working out a shape looks back."""


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

    @cached_property
    def labels(self) -> list[str]:
        """`labels_of` the nodes; looking at these costs a tenth of looking at the nodes."""
        return labels_of(self.graph)

    def nodes_changed(self) -> None:
        """The graph has other nodes, or a node is another operator."""
        self.__dict__.pop("labels", None)

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

    @staticmethod
    def byte_length(tensor: TensorProto) -> int:
        """Bytes of raw data that `tensor` takes, whether its payload is in memory or on disk."""
        return raw_length(tensor)

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
