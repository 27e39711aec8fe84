"""The model as rules see it: `Model` (the whole), `Scope` (one graph or function body), `Node` (one node in the form of an opset).

Thin views over onnx protobufs, which stay the only copy of the data. This module knows no rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx
from onnx import AttributeProto, GraphProto, NodeProto

GraphLike = GraphProto | onnx.FunctionProto
DEFAULT_DOMAINS = ("", "ai.onnx")
GRAPH_HOLDERS = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""The operators of the default domain that have subgraphs."""


def default_opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int | None:
    """The version of the default domain among `imports`, or None where it is not imported."""
    return next((entry.version for entry in imports if entry.domain in DEFAULT_DOMAINS), None)


def resolved(name: str, aliases: Mapping[str, str]) -> str:
    """The value that `name` stands for, where `aliases` says of values which other one is read in their place."""
    while name in aliases:
        name = aliases[name]
    return name


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs in the attributes of `node`, each with the attribute's name."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from ((attribute.name, graph) for graph in attribute.graphs)


def reads(node: NodeProto) -> list[str]:
    """The names that `node` reads, in its subgraphs too."""
    names = [name for name in node.input[:] if name]
    for _, graph in subgraphs(node):
        names += [value.name for value in graph.output]
        for inner in graph.node:
            names += reads(inner)
    return names


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


def defined_names(graph: GraphLike) -> Iterator[str]:
    """The inputs, initializers and node outputs of `graph`, without its subgraphs; "" may be among them."""
    if isinstance(graph, GraphProto):
        yield from {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        yield from (tensor.values.name for tensor in graph.sparse_initializer)
    else:
        yield from graph.input
    yield from [name for node in graph.node for name in node.output]
