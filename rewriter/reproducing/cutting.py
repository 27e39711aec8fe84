"""Cuts some nodes out of a model, as a model of their own: what the others made becomes an input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto, helper

from ..onnx_model.all_nodes import with_inner
from ..onnx_model.protos import reads


class Whole:
    """A model of which parts can be cut. `types` are those of its values, as far as inference finds them."""

    def __init__(self, proto: ModelProto, types: Mapping[str, TypeProto]) -> None:
        self.proto = proto
        self._types = types
        self._inputs = {value.name: value for value in proto.graph.input}
        self._outputs = {value.name: value for value in proto.graph.output}
        self._stored = {tensor.name for tensor in proto.graph.initializer}
        self._stored |= {sparse.values.name for sparse in proto.graph.sparse_initializer}
        self._reads = [dict.fromkeys(reads(node)) for node in proto.graph.node]
        self._makers = {name: index for index, node in enumerate(proto.graph.node) for name in node.output if name}

    def named(self, names: Iterable[str]) -> list[int]:
        """The numbers of the nodes that have one of these names, make a value of such a name, or contain such a node."""
        wanted = set(names) - {""}
        return [
            index
            for index, outer in enumerate(self.proto.graph.node)
            if any(node.name in wanted or not wanted.isdisjoint(node.output) for node in with_inner([outer]))
        ]

    def with_makers(self, kept: Iterable[int]) -> list[int]:
        """These nodes, and those that make what they read."""
        nodes = set(kept)
        nodes |= {self._makers[name] for index in kept for name in self._reads[index] if name in self._makers}
        return sorted(nodes)

    def cut(self, kept: Sequence[int]) -> ModelProto | None:
        """A model of the nodes with the numbers `kept`; None where the type of a value that has to become an input is unknown."""
        graph = self.proto.graph
        nodes = [graph.node[index] for index in kept]
        made = {name for node in nodes for name in node.output if name}
        read = {name: None for index in kept for name in self._reads[index]}
        inputs = [self._input(name) for name in read if self._is_input(name, made)]
        if not nodes or None in inputs:
            return None
        part = ModelProto(ir_version=self.proto.ir_version, producer_name=self.proto.producer_name)
        part.opset_import.extend(self.proto.opset_import)
        part.graph.name = graph.name
        part.graph.node.extend(nodes)
        part.graph.input.extend(value for value in inputs if value is not None)
        part.graph.output.extend(self._given(kept, made))
        part.graph.initializer.extend(tensor for tensor in graph.initializer if tensor.name in read)
        part.graph.sparse_initializer.extend(sparse for sparse in graph.sparse_initializer if sparse.values.name in read)
        part.graph.value_info.extend(value for value in graph.value_info if value.name in made)
        part.functions.extend(_called(self.proto, nodes))
        return part

    def _is_input(self, name: str, made: set[str]) -> bool:
        """Whether a value that a part reads becomes an input of it. The others are stored, or of its own graphs."""
        if name in made:
            return False
        return name in self._inputs or (name in self._makers and name not in self._stored)

    def _input(self, name: str) -> ValueInfoProto | None:
        if name in self._inputs:
            return self._inputs[name]
        kind = self._types.get(name)
        return None if kind is None else helper.make_value_info(name, kind)

    def _given(self, kept: Sequence[int], made: set[str]) -> Iterator[ValueInfoProto]:
        """The outputs of a part: what is an output of the model, and what the other nodes read, or nobody."""
        nodes = set(kept)
        inside = {name for index in kept for name in self._reads[index]}
        outside = {name for index, names in enumerate(self._reads) if index not in nodes for name in names}
        for name in dict.fromkeys(name for index in kept for name in self.proto.graph.node[index].output):
            if name in self._outputs:
                yield self._outputs[name]
            elif name in made and (name in outside or name not in inside):
                kind = self._types.get(name)
                yield ValueInfoProto(name=name) if kind is None else helper.make_value_info(name, kind)


def _called(proto: ModelProto, nodes: Sequence[NodeProto]) -> list[onnx.FunctionProto]:
    """The functions that `nodes` call, and those that these call."""
    called: dict[int, None] = {}
    pending = list(with_inner(nodes))
    while pending:
        node = pending.pop()
        for index, function in enumerate(proto.functions):
            if (function.domain, function.name) == (node.domain, node.op_type) and index not in called:
                called[index] = None
                pending += with_inner(function.node)
    return [proto.functions[index] for index in sorted(called)]
