"""The nodes of all graphs and functions of a ModelProto, and the values that are constant in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import onnx

from .domains import DEFAULT_DOMAINS
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


Stored: TypeAlias = onnx.TensorProto | onnx.NodeProto
"""What makes a constant: an initializer, or a Constant."""


def constants(model: onnx.ModelProto) -> dict[str, list[Stored]]:
    """The names that stand for a constant wherever the model uses them, and what makes it; graphs may use the same name."""
    stored: dict[str, list[Stored]] = {}
    computed: set[str] = set()
    pending: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    while pending:
        graph = pending.pop()
        if isinstance(graph, onnx.GraphProto):
            for tensor in graph.initializer:
                stored.setdefault(tensor.name, []).append(tensor)
            computed.update(value.name for value in graph.input if graph is not model.graph)
        else:
            computed.update(graph.input)
        for node in graph.node:
            if node.op_type == "Constant" and node.domain in DEFAULT_DOMAINS and len(node.output) == 1:
                stored.setdefault(node.output[0], []).append(node)
            else:
                computed.update(node.output)
            pending += [inner for _, inner in subgraphs(node)]
    return {name: found for name, found in stored.items() if name not in computed}
