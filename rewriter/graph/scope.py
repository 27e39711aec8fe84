"""One graph of the model: the names it defines, the nodes that make them, its constants, and what is known about its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto, helper

from ..cached import cached_property
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GraphLike, labels_of, reads, resolved, shown_name, subgraphs
from ..opsets.type_protos import Shape
from ..storage.payload import raw_length, tensor_of
from .knowledge.knowledge import Knowledge
from .knowledge.place import Place, Stated
from .knowledge.record import Question, Record
from .names import Names

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    Imports: TypeAlias = RepeatedCompositeFieldContainer[OperatorSetIdProto]


class Scope:
    """One graph, subgraph or function body, in which names are defined and looked up.

    `opset` is the opset in whose form its nodes are before the conversion; `where` is its path for messages.
    """

    def __init__(
        self,
        model: Names,
        graph: GraphLike,
        parent: Scope | None,
        where: str,
        opset: int,
        origin: tuple[int, int] | None = None,
        holder: NodeProto | None = None,
    ) -> None:
        self.model = model
        self.graph = graph
        self.parent = parent
        self.where = where
        self.opset = opset
        self.target = opset
        """The opset in whose form converted nodes are; the engine sets it."""
        self.origin = origin
        """For a subgraph: the index of the node that holds it, in the parent's original node list, and its number in that node."""
        self.is_main = parent is None and isinstance(graph, GraphProto)
        """Whether this is the main graph of the model."""
        self.function: int | None = None
        """The position of the function among those of the model as it was read, if this is its body; the Model sets it."""
        self.holder = holder
        """The node that holds this subgraph. A rule may have edited it."""
        self.uncertain: frozenset[str] = frozenset() if parent is None else parent.uncertain
        """The inputs of the function around the nodes that calls may leave out; the Model sets it."""
        self.made: dict[str, tuple[NodeProto, int]] = {}
        """For each value that a rule made, the node that makes it, as it was made, and the opset of its form."""
        self.noted: dict[str, TypeProto] = {}  # this and the two that follow are explained in `Place`
        self.records: dict[str, Record] = {}
        self.readers: dict[str, list[tuple[Place, str, Question]]] = {}
        self.constants = Constants(self)
        self.types = Knowledge(self)
        self._makers: dict[frozenset[str], dict[str, str]] = {}
        self._as_read: dict[str, list[NodeProto]] = {}

    @property
    def imports(self) -> list[Imports]:
        """The imports of opsets for this graph: those of the function around it, and those of the model, which includes these."""
        if self.parent is not None:
            return self.parent.imports
        own = [self.graph.opset_import] if isinstance(self.graph, FunctionProto) else []
        return [*own, self.model.proto.opset_import]

    def children(self, node: NodeProto, index: int | None, opset: int) -> Iterator[Scope]:
        """A scope for each subgraph of `node`. `index` is its position in the original node list, None if a rule made it."""
        outer = "" if self.parent is None and isinstance(self.graph, GraphProto) else f"{self.where} > "
        label = shown_name(node)
        for which, (attribute, graph) in enumerate(subgraphs(node)):
            where = f"{outer}{node.op_type} '{label}' {attribute}"
            origin = None if index is None or not self._had_subgraph(index, which) else (index, which)
            child = Scope(self.model, graph, self, where, opset, origin, node)
            if origin is None:
                for inner in graph.node:  # inference has not seen what a rule made
                    child.register(inner, opset)
            yield child

    def _had_subgraph(self, index: int, which: int) -> bool:
        """Whether the node at `index` had so many subgraphs when it was read; a rule may have put another node in its place."""
        graph = self.graph_in(self.model.original_proto)
        return graph is not None and index < len(graph.node) and which < sum(1 for _ in subgraphs(graph.node[index]))

    @cached_property
    def labels(self) -> list[str]:
        """The operators of the nodes, as `labels_of` gives them. Reading these costs a tenth of reading the nodes."""
        return labels_of(self.graph)

    def as_read(self, domain: str) -> list[NodeProto]:
        """Copies of the nodes of a domain, made at the first call."""
        if domain not in self._as_read:
            self._as_read[domain] = [
                NodeProto.FromString(each.SerializeToString()) for each in self.graph.node if each.domain == domain
            ]
        return self._as_read[domain]

    def nodes_changed(self) -> None:
        """Forget what was derived from the node list, because nodes were replaced or a node became another operator."""
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
        """The node that makes each value of this scope. It is kept up to date while rules add and remove nodes."""
        return {name: node for node in self.graph.node for name in node.output if name}

    def nodes_reading(self, name: str) -> list[NodeProto]:
        """The nodes of this graph that read the value, themselves or in their subgraphs."""
        may_be_new = name in self.model.new_uses
        return [node for node in (self.graph.node if may_be_new else self._reading.get(name, ())) if name in reads(node)]

    @cached_property
    def _reading(self) -> dict[str, list[NodeProto]]:
        """The nodes that read each value, as they are when it is first asked for: later reads are new uses of the model."""
        found: dict[str, list[NodeProto]] = {}
        for node in self.graph.node:
            for name in dict.fromkeys(reads(node)):
                found.setdefault(name, []).append(node)
        return found

    def find(self, name: str) -> Scope | None:
        """The scope, this one or an outer one, that defines the value that `name` stands for; None where nothing defines it."""
        name = self.resolve(name)
        scope: Scope | None = self
        while scope is not None and not scope.defines(name):
            scope = scope.parent
        return scope

    def defines(self, name: str) -> bool:
        """Whether `name` is an input, an initializer or the output of a node of this very graph."""
        return name in self.initializers or name in self.inputs or name in self.producers or name in self._sparse

    @cached_property
    def _sparse(self) -> frozenset[str]:
        """The names of the sparse initializers."""
        if not isinstance(self.graph, GraphProto):
            return frozenset()
        return frozenset(tensor.values.name for tensor in self.graph.sparse_initializer)

    @cached_property
    def stated(self) -> Stated:
        """What the model states about the values of this graph, and what inference of the whole model found for them."""
        return Stated(self, self.is_main)

    def may_be_stored(self, name: str) -> bool:
        """Whether there is an initializer `name`, here or in an outer graph, even if callers may override it."""
        name = self.resolve(name)
        scope: Scope | None = self
        while scope is not None and name not in scope.initializers:
            scope = scope.parent
        return scope is not None

    def maker_type(self, name: str, among: frozenset[str]) -> str | None:
        """The operator that makes `name`, here or in an outer graph, if it is among `among`; else None. Cheaper than `producer`."""
        name = self.resolve(name)
        scope: Scope | None = self
        while scope is not None:
            if among not in scope._makers:
                nodes = [scope.graph.node[index] for index, label in enumerate(scope.labels) if label in among]
                nodes += [scope.producers[made] for made in scope.made if made in scope.producers]
                scope._makers[among] = {output: node.op_type for node in nodes if node.op_type in among for output in node.output}
            found = scope._makers[among].get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def producer(self, name: str) -> NodeProto | None:
        """The node that makes `name`, in this scope or an outer one, after aliases are resolved; None where no node does."""
        name = self.resolve(name)
        scope = self.find(name)
        return None if scope is None else scope.producers.get(name)

    def resolve(self, name: str) -> str:
        """The value that `name` stands for at the moment."""
        aliases = self.model.aliases
        return resolved(name, aliases) if name in aliases else name

    def original(self, name: str) -> str:
        """The value of which `name` is a copy, made by Identity nodes of this graph; `name` itself if it is not a copy."""
        while (node := self.producers.get(name)) is not None and node.op_type == "Identity" and node.domain in DEFAULT_DOMAINS:
            name = node.input[0]
        return name

    # -- what is known of values

    def constant(self, name: str) -> np.ndarray | None:
        """The value of `name` if it is the same in every run, else None; see `Knowledge.constant`."""
        return self.types.constant(name)

    def known_integers(self, name: str) -> np.ndarray | None:
        """As `constant`, also where single lengths of a shape tell it; see `Knowledge.known_integers`."""
        return self.types.known_integers(name)

    def type(self, name: str) -> TypeProto | None:
        """Everything that is known about the type of `name`; None where nothing is."""
        return self.types.type(name)

    def type_string(self, name: str) -> str | None:
        """The type of `name` as "tensor(float)", "seq(tensor(int64))", …; None where neither it nor the nodes around it tell."""
        return self.types.type_string(name)

    def elem_type(self, name: str) -> int | None:
        """The TensorProto.DataType of a tensor; None where it is unknown or `name` is no tensor."""
        return self.types.elem_type(name)

    def shape(self, name: str) -> Shape | None:
        """The dimensions of `name`: numbers, the author's symbols, or None; None where the rank is unknown."""
        return self.types.shape(name)

    def origin_of_dimension(self, name: str, axis: int) -> tuple[str, int]:
        """The model input and its axis of the same length as axis `axis` of `name`; see `Knowledge.origin_of_dimension`."""
        return self.types.origin_of_dimension(name, axis) if self.is_main else (name, axis)

    def alias(self, name: str, value: str) -> None:
        """Let everything that reads `name`, a value of this scope, read `value` instead from now on."""
        self.model.aliases[name] = value
        self.types.alias(name)
        self.model.causes.clear()

    # -- the model as it was read

    @property
    def is_original(self) -> bool:
        """Whether the model as it was read has this graph; rules can make new ones."""
        return self.parent is None or (self.origin is not None and self.parent.is_original)

    @cached_property
    def original_graph(self) -> GraphLike:
        """This graph in the model as it was read. Only valid if `is_original`."""
        graph = self.graph_in(self.model.original_proto)
        if graph is None:
            raise ValueError(f"a rule made the graph {self.where}")
        return graph

    def graph_in(self, whole: ModelProto) -> GraphLike | None:
        """This graph in `whole`, a copy of the model as it was read; None where a rule made it."""
        if self.parent is None:
            return whole.graph if self.function is None else whole.functions[self.function]
        outer = self.parent.graph_in(whole)
        if outer is None or self.origin is None:
            return None
        index, which = self.origin
        return list(subgraphs(outer.node[index]))[which][1]

    # -- bookkeeping for the engine

    def register(self, node: NodeProto, opset: int) -> None:
        """Make the outputs of a node that a rule wrote, in the form of `opset`, known in this scope."""
        snapshot = self.model.workshop.node.add()
        snapshot.CopyFrom(node)
        outputs = [name for name in node.output[:] if name]
        for name in outputs:
            self.producers[name] = node
            self.made[name] = (snapshot, opset)
        if self.types.renew(outputs):
            self.model.causes.clear()
        self.note_maker(node)

    def note_maker(self, node: NodeProto) -> None:
        """Note that `node` is new, or has become another operator."""
        for among, makers in self._makers.items():
            if node.op_type in among:
                makers.update(dict.fromkeys(node.output, node.op_type))

    def rename_made(self, value: str, name: str) -> bool:
        """Rename the output `value` of a node in this scope to `name`, if a rule made that node. Returns whether it was renamed.

        With this, the parts of a Split become outputs of the graph without an Identity between.
        """
        is_ours = value in self.made and value in self.producers and value in self.model.fresh_names
        if not is_ours or value in self.outputs or not self.model.is_unique(name):
            return False
        node, (_, opset) = self.producers.pop(value), self.made.pop(value)
        node.output[list(node.output).index(value)] = name
        self.register(node, opset)
        self.model.aliases[value] = name
        return True

    def forget(self, node: NodeProto) -> None:
        """Note that the node is removed: its inputs lost a use, and it does not make its outputs any more."""
        self.model.retired.update(filter(None, node.output))
        self.model.lost_uses.update(filter(None, node.input))
        for name in node.output:
            if self.producers.get(name) is node:
                del self.producers[name]


class Constants:
    """The stored constants of one scope, and those that rules add."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._added: dict[tuple[np.dtype, tuple[int, ...], bytes | tuple[str, ...]], str] = {}
        """The names of initializers that rules added, by type, shape and content of the array."""

    # -- asking

    def tensor(self, name: str) -> TensorProto | None:
        """The initializer called `name`, here or in an outer graph, unless a caller of the model may override it."""
        name = self._scope.resolve(name)
        scope = self._scope.find(name)
        if scope is None:
            return None
        tensor = scope.initializers.get(name)
        return None if tensor is None or tensor.name in scope.constants.overridable else tensor

    @property
    def overridable(self) -> frozenset[str]:
        """The initializers that callers may override, because they are also inputs."""
        return self._scope.stated.overridable

    # -- adding

    @property
    def takes_initializers(self) -> bool:
        """Whether constants can be initializers. They cannot in functions, and before IR 4, where each would be an input too."""
        return isinstance(self._scope.graph, GraphProto) and self._scope.model.constants_as_initializers

    def add(self, array: np.ndarray, name: str) -> str | NodeProto:
        """Add a constant that every node of this scope can use.

        Returns the name of an initializer, which may be an equal one that was added before; or, where initializers are not possible
        (functions, IR 3), a new Constant node whose output it is.
        """
        array = np.asarray(array, order="C")
        key = (array.dtype, array.shape, tuple(array.flat) if array.dtype == object else array.tobytes())
        if key in self._added:
            return self._added[key]
        tensor = tensor_of(array, self._scope.model.fresh_name(name))
        if self.takes_initializers:  # a Constant node may come too late for another use
            self._added[key] = tensor.name
        self._scope.types.note_constant(tensor.name, array)
        return self.add_tensor(tensor)

    def add_tensor(self, tensor: TensorProto) -> str | NodeProto:
        """Add the constant `tensor`, which has a name already. Returns the same as `add`."""
        graph = self._scope.graph
        if isinstance(graph, GraphProto) and self.takes_initializers:
            self._scope.model.unread.add(tensor.name)
            graph.initializer.append(tensor)
            self._scope.initializers[tensor.name] = graph.initializer[-1]
            return tensor.name
        return helper.make_node("Constant", [], [tensor.name], name=tensor.name, value=tensor)

    @staticmethod
    def byte_length(tensor: TensorProto) -> int:
        """The number of bytes of the raw data of `tensor`, whether it is in memory or on disk."""
        return raw_length(tensor)
