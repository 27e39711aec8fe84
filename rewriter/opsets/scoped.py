"""The nodes of an inferred model, each with the types and constants that its names stand for where it is."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import onnx
from onnx import TensorProto, TypeProto

from ..onnx_model.protos import subgraphs

Scoped: TypeAlias = tuple[onnx.NodeProto, Mapping[str, TypeProto], Mapping[str, TensorProto]]
"""A node, and the types and the constants, by name, that can be read there."""


def scoped_nodes(model: onnx.ModelProto) -> Iterator[Scoped]:
    """All nodes of all graphs and functions of `model`, in the order of `nodes_with_opset`.

    A name in a subgraph may stand for another value elsewhere.
    """
    yield from _of_graph(model.graph, ChainMap(), ChainMap())
    for function in model.functions:
        types = {value.name: value.type for value in function.value_info}
        yield from _of_nodes(function.node, ChainMap(types), ChainMap(_constants(function.node)))


def _of_graph(graph: onnx.GraphProto, types: ChainMap[str, TypeProto], data: ChainMap[str, TensorProto]) -> Iterator[Scoped]:
    stored = {tensor.name: tensor for tensor in graph.initializer}
    defined = {*stored, *(value.name for value in graph.input), *(name for node in graph.node for name in node.output)}
    own = {name: TypeProto() for name in defined if name}  # of those of which nothing is known, names around it say nothing either
    own.update((name, onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)) for name, tensor in stored.items())
    own.update((value.name, value.type) for values in (graph.value_info, graph.output, graph.input) for value in values)
    constants = {name: tensor for name, tensor in stored.items() if not tensor.external_data} | _constants(graph.node)
    outer = data if not any(name in data for name in defined) else ChainMap({name: data[name] for name in data.keys() - defined})
    yield from _of_nodes(graph.node, types.new_child(own), outer.new_child(constants))


def _of_nodes(
    nodes: Iterable[onnx.NodeProto], types: ChainMap[str, TypeProto], data: ChainMap[str, TensorProto]
) -> Iterator[Scoped]:
    for node in nodes:
        yield node, types, data
        for _, graph in subgraphs(node):
            yield from _of_graph(graph, types, data)


def _constants(nodes: Iterable[onnx.NodeProto]) -> dict[str, TensorProto]:
    values = (node for node in nodes if node.op_type == "Constant")
    return {node.output[0]: stated.t for node in values for stated in node.attribute if stated.name == "value"}
