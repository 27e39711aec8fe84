"""Functions on onnx protobufs: domains, subgraphs, names and operator labels of nodes and graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx
from onnx import AttributeProto, GraphProto, NodeProto

from .domains import DEFAULT_DOMAINS

GraphLike = GraphProto | onnx.FunctionProto


def default_opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int | None:
    """The version of the default domain in `imports`, or None where it is not imported."""
    return next((entry.version for entry in imports if entry.domain in DEFAULT_DOMAINS), None)


GRAPH_TYPES = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
"""The types of attributes that contain subgraphs."""


def resolved(name: str, aliases: Mapping[str, str]) -> str:
    """The value that `name` stands for: `aliases` maps values to others that are read in their place, perhaps in several steps."""
    while name in aliases:
        name = aliases[name]
    return name


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs in the attributes of `node`, each with the name of the attribute."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from ((attribute.name, graph) for graph in attribute.graphs)


def reads(node: NodeProto) -> list[str]:
    """The names that `node` reads, including those in its subgraphs."""
    names = [name for name in node.input[:] if name]
    for _, graph in subgraphs(node):
        names += [value.name for value in graph.output]
        for inner in graph.node:
            names += reads(inner)
    return names


def only_moves(old: Sequence[NodeProto], new: Sequence[NodeProto], renamed: Mapping[str, str]) -> bool:
    """Whether each node of `new` is also in `old`, or in a subgraph of `old`, with the same inputs and attributes.

    The outputs may have other names. `renamed` maps names of inputs in `new` to the names in `old`.
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
    """The values of outer graphs that `graph` and its subgraphs read."""
    names = {value.name for value in graph.output}
    made = set(defined_names(graph))
    for node in graph.node:
        names.update(filter(None, node.input))
        for _, inner in subgraphs(node):
            names |= captured(inner)
    return names - made


def label_of(node: NodeProto) -> str:
    """The operator of `node` as a text: "op_type", or "domain::op_type" outside the default domain."""
    domain = node.domain
    return f"{domain}::{node.op_type}" if domain else node.op_type


def shown_name(node: NodeProto) -> str:
    """The name of `node` in messages: its own, or that of its first output. Bytes that are not valid UTF-8 are escaped."""
    name = node.name or next(filter(None, node.output[:]), "")
    return name if isinstance(name, str) else bytes(name).decode(errors="backslashreplace")


def has_text_names(node: NodeProto) -> bool:
    """Whether all names in `node` and its subgraphs are valid UTF-8. protobuf returns other names as bytes."""
    names = (node.name, *node.input, *node.output)
    inner = (each for _, graph in subgraphs(node) for each in graph.node)
    return all(isinstance(name, str) for name in names) and all(map(has_text_names, inner))


def labels_of(graph: GraphLike) -> list[str]:
    """The operators of all nodes of `graph`, in order, as `label_of` writes them."""
    return labels_of_nodes(graph.node)


def labels_of_nodes(nodes: Iterable[NodeProto]) -> list[str]:
    """The operators of `nodes`, in order, as `label_of` writes them."""
    return [label_of(node) for node in nodes]


def defined_names(graph: GraphLike) -> Iterator[str]:
    """The names of the inputs, initializers and node outputs of `graph`, without its subgraphs. The name "" may be among them."""
    if isinstance(graph, GraphProto):
        yield from {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        yield from (tensor.values.name for tensor in graph.sparse_initializer)
    else:
        yield from graph.input
    yield from [name for node in graph.node for name in node.output]


def bind_attributes(node: NodeProto, attributes: Mapping[str, AttributeProto]) -> None:
    """Replace attributes of `node` that refer to parameters by the values in `attributes`; those without a value are removed."""
    for index in reversed(range(len(node.attribute))):
        attribute = node.attribute[index]
        if not attribute.ref_attr_name:
            continue
        value = attributes.get(attribute.ref_attr_name)
        if value is None:
            del node.attribute[index]
            continue
        name = attribute.name
        attribute.CopyFrom(value)
        attribute.name = name
