"""The nodes of all graphs and functions of a ModelProto, and the values that are constant in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from .protos import default_opset, subgraphs


def nodes_with_opset(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, int]]:
    """All nodes of all graphs and functions, each with the opset of its form."""
    for body in (model.graph, *model.functions):
        opset = default_opset(model.opset_import if isinstance(body, onnx.GraphProto) else body.opset_import) or 0
        for node in with_inner(body.node):
            yield node, opset


def with_inner(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """`nodes` and those in their subgraphs at any depth."""
    for node in nodes:
        yield node
        for _, graph in subgraphs(node):
            yield from with_inner(graph.node)


def constants(model: onnx.ModelProto) -> set[str]:
    """The names that stand for a constant wherever the model uses them."""
    stored: set[str] = set()
    computed: set[str] = set()
    pending: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    while pending:
        graph = pending.pop()
        if isinstance(graph, onnx.GraphProto):
            stored.update(tensor.name for tensor in graph.initializer)
            computed.update(value.name for value in graph.input if graph is not model.graph)
        else:
            computed.update(graph.input)
        for node in graph.node:
            (stored if node.op_type == "Constant" else computed).update(node.output)
            pending += [inner for _, inner in subgraphs(node)]
    return stored - computed
