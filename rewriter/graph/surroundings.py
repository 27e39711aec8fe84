"""The graph around a node, or a subgraph of one, as rules see it: who defines and reads a value, and what is stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, TypeProto, helper

from ..onnx_model.protos import shown_name
from ..opsets import facts, transitions, type_protos
from ..opsets.facts import Kind
from ..opsets.type_protos import Shape
from .values import Value, Values


class Surroundings(Values):
    """One graph of the model. Its values are given by their names; so are those of outer graphs, which its nodes can read."""

    __slots__ = ()

    def _name(self, value: Value) -> str:
        return str(value)

    # -- what it is

    @property
    def is_main(self) -> bool:
        """Whether this is the main graph, whose nodes always run, and not a function or a subgraph."""
        return self._scope.is_main

    @property
    def is_function(self) -> bool:
        """Whether this is the body of a function."""
        return isinstance(self._scope.graph, FunctionProto)

    @property
    def where(self) -> str:
        """The path to the graph, for messages."""
        return self._scope.where

    @property
    def exporter(self) -> str:
        """The name of the program that made the model, such as "pytorch"."""
        return self._scope.model.proto.producer_name

    @property
    def batches(self) -> frozenset[str]:
        """The symbols of first dimensions of the model's inputs, which are taken not to be 0 (docs/promise.md)."""
        return type_protos.batches(self._scope.model.proto.graph)

    @property
    def had_lists(self) -> bool:
        """Whether the model, as it was read, has operators of sequences."""
        return any(facts.of(label).kind is Kind.SEQUENCE for label in self._scope.model.survey.operators)

    def as_read(self, domain: str) -> Sequence[NodeProto]:
        """The nodes of a domain in this graph, as they are when a rule first asks for them."""
        return self._scope.as_read(domain)

    def has_all_of(self, domain: str) -> bool:
        """Whether no other graph of the model, as it was read, has nodes of the domain."""
        counts = (count for label, count in self._scope.model.survey.operators.items() if label.startswith(f"{domain}::"))
        return sum(counts) == len(self.as_read(domain))

    @property
    def block_of_processor(self) -> int | None:
        """The number of channels that onnxruntime's kernels for this processor take together; None where that is unknown."""
        return self._scope.model.block_of_processor()

    def may_write(self, op_type: str) -> bool:
        """Whether the target has the operator, and no runtime of the user refuses it."""
        is_there = transitions.schema_at(op_type, self._scope.target) is not None
        return is_there and op_type not in self._scope.model.refused_operators

    # -- names

    def resolve(self, name: str) -> str:
        """The value that `name` stands for: rules may have found that another one is equal."""
        return self._scope.resolve(name)

    def original(self, name: str) -> str:
        """The value of which `name` is a copy, made by Identity nodes of this graph; `name` itself if it is not a copy."""
        return self._scope.original(name)

    def is_same(self, name: str, other: Surroundings) -> bool:
        """Whether `name` is the same value here as in the graph `other`."""
        return self._scope is other._scope or self._scope.find(name) is other._scope.find(name)

    def defines(self, name: str) -> bool:
        """Whether this graph makes or stores the value; False for a value of an outer graph."""
        return not name or self._scope.find(name) is self._scope

    def is_input(self, name: str) -> bool:
        """Whether the value is an input of the graph that defines it, which may be an outer one."""
        home = self._scope.find(name)
        return home is not None and name in home.inputs

    def is_output(self, name: str) -> bool:
        """Whether the value is an output of this graph."""
        return name in self._scope.outputs

    def is_unique(self, name: str) -> bool:
        """Whether no other graph of the model defines a value of the same name."""
        return self._scope.model.is_unique(name)

    def is_read_once(self, name: str) -> bool:
        """Whether exactly one place in the model reads the value."""
        return self._scope.model.is_read_once(name)

    def readers(self, name: str) -> list[NodeProto]:
        """The nodes of this graph that read the value, themselves or in their subgraphs."""
        return self._scope.nodes_reading(name)

    def source(self, name: str) -> str:
        """A text for messages that says where the value comes from."""
        name = self._scope.resolve(name)
        home, maker = self._scope.find(name), self._scope.producer(name)
        if maker is not None:
            return f"it comes from {maker.op_type} '{shown_name(maker)}'"
        return f"it is an input of the {'graph' if home is None else home.where}"

    def maker_type(self, name: str, among: frozenset[str]) -> str | None:
        """The operator that makes the value, if it is one of `among`; else None. Faster than `Node.maker`, for `when`."""
        return self._scope.maker_type(name, among)

    # -- sizes that are equal

    @property
    def input_symbols(self) -> Collection[str]:
        """The symbols in the shapes of the model's inputs, which stand for one number each during a run."""
        return self._scope.model.input_symbols

    def input_with(self, symbol: str) -> tuple[str, int] | None:
        """A model input that can be read here, and its axis of the length `symbol`; None where there is none."""
        found = None
        for value in self._scope.model.proto.graph.input:
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                if dim.dim_param == symbol:
                    found = value.name, axis
        home = None if found is None else self._scope.find(found[0])
        return found if home is not None and home.is_main else None

    def origin_of_dimension(self, name: str, axis: int) -> tuple[str, int]:
        """The model input and its axis that certainly have the length of axis `axis` of the value; else `name` and `axis`."""
        return self._scope.origin_of_dimension(name, axis)

    # -- stored tensors

    @property
    def takes_initializers(self) -> bool:
        """Whether constants can be initializers here. They cannot in functions, and before IR 4."""
        return self._scope.constants.takes_initializers

    def may_be_stored(self, name: str) -> bool:
        """Whether there is an initializer of this name, even one that callers may override."""
        return self._scope.may_be_stored(name)

    def tensor(self, name: str) -> TensorProto | None:
        """The initializer as it is stored, whose payload may be on disk; None where callers may override it, or there is none."""
        return self._scope.constants.tensor(name)

    def read(self, tensor: TensorProto) -> np.ndarray:
        """The value of a tensor of the model, whose payload may be on disk."""
        return self._scope.model.skeleton.array(tensor)

    def part_of(self, tensor: TensorProto, elements: range, dims: list[int], name: str) -> TensorProto:
        """A tensor `name` of shape `dims` with these elements of `tensor`, flattened, which are not read from disk."""
        return self._scope.model.skeleton.part(tensor, elements.start, elements.stop, dims, name)

    def unpacked(self, tensor: TensorProto, elem_type: int, dims: list[int], name: str, wide: int = 0) -> TensorProto:
        """The bytes of `tensor` as a tensor `name` of shape `dims`, whose elements are of the packed type `elem_type`, or of the
        type `wide` with the same values. They are not read from disk.
        """
        skeleton = self._scope.model.skeleton
        found = skeleton.unpacked(tensor, elem_type, dims, name)
        return skeleton.widened(found, wide) if wide else found

    def byte_length(self, tensor: TensorProto) -> int:
        """The number of bytes of the payload of `tensor`, in memory or on disk."""
        return self._scope.constants.byte_length(tensor)

    # -- what is stated about values

    def declared_type(self, name: str) -> TypeProto | None:
        """The type that the file states for the value, without any inference; None where it states none."""
        return self._scope.types.declared(name) if name else None

    def declared_shape(self, name: str) -> Shape | None:
        """The shape that the file states for the value, without any inference; None where it states none."""
        stated = self.declared_type(name)
        return None if stated is None else type_protos.shape_of(stated)

    def note_type(self, name: str, kind: TypeProto) -> None:
        """Tell the other rules the type of a value that a rule makes, where it would not be inferred."""
        self._scope.types.note(name, kind)

    def declare(self, name: str, elem_type: int) -> None:
        """State the element type of the value in value_info, unless the file states it already."""
        graph = self._scope.graph
        if isinstance(graph, GraphProto) and self._scope.types.declared(name) is None:
            graph.value_info.add(name=name, type=helper.make_tensor_type_proto(elem_type, None))

    def name_dimensions(self, name: str) -> None:
        """State the shape of the value in value_info, with a name for each dimension that has none.

        This is the name that the file states already, or a new one. A name of a model input's dimension is not taken over, since
        it promises equal sizes.
        """
        scope = self._scope
        graph, shape, elem_type = scope.graph, scope.shape(name), scope.elem_type(name)
        if shape is None or elem_type is None or name in scope.outputs or not isinstance(graph, GraphProto):
            return
        stated = scope.types.declared(name)
        if stated is None:
            stated = graph.value_info.add(name=name).type
        known = type_protos.shape_of(stated) or ()
        names = [dim if isinstance(dim, str) and dim not in scope.model.input_symbols else None for dim in known]
        if len(names) != len(shape):
            names = [None] * len(shape)
        named = [names[axis] or f"{name}_dim_{axis}" if dim is None else dim for axis, dim in enumerate(shape)]
        stated.CopyFrom(helper.make_tensor_type_proto(elem_type, named))

    # -- values that lose readers

    def release(self, *names: str) -> None:
        """Note that a rule took a reader from these values. The nodes that make them go if nobody reads them in the end."""
        self._scope.model.lost_uses.update(filter(None, names))

    def retire(self, *names: str) -> None:
        """Note that nothing defines these names any more, so that no new value gets one of them."""
        self._scope.model.retired.update(names)

    def replace(self, name: str, value: str) -> None:
        """Let everything that reads `name` read `value` instead."""
        self._scope.alias(name, value)
        self._scope.model.new_uses.add(value)
