"""Expand an operator into ONNX's own function body: what an operator younger than the target means, in the words of its schema."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

from .graph import DEFAULT_DOMAINS, Node, default_opset
from .rule import Unconvertible
from .transitions import OpSchema, schema_at


def expand(node: Node) -> None:
    """Replace `node` by the nodes of its function body, written for the opset of that body.

    Raises Unconvertible where the schema has no body, or where a context-dependent one needs types that are unknown.
    """
    schema = schema_at(node.op_type, node.opset)
    body = None if schema is None else _body(schema, node)
    if schema is None or body is None:
        raise Unconvertible(f"{node.op_type} is new in opset {_since(schema)} and older operators cannot express it exactly")
    opset = default_opset(body.opset_import)
    if any(entry.domain not in DEFAULT_DOMAINS for entry in body.opset_import) or opset is None:
        raise Unconvertible(f"the function body of {node.op_type} needs operators of another domain")
    inline(node, body, opset, {name: attribute.default_value for name, attribute in schema.attributes.items()})


def _since(schema: OpSchema | None) -> str:
    return "?" if schema is None else str(schema.since_version)


def _body(schema: OpSchema, node: Node) -> FunctionProto | None:
    """The body written for the lowest opset: its nodes have the shortest way down."""
    if schema.has_function:
        versions = [version for version in schema.function_opset_versions if version <= node.opset]
        text = schema.get_function_with_opset_version(min(versions)) if versions else None
        return FunctionProto.FromString(text) if text else None
    if not schema.has_context_dependent_function:
        return None
    types: list[bytes] = []
    for name in node.inputs:
        kind = node.scope.type(name) if name else onnx.TypeProto()
        if kind is None:
            raise Unconvertible(f"the type of '{name}' is unknown, and the expansion depends on it", "declare it in value_info")
        types.append(kind.SerializeToString())
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.opset]
    if not versions:
        return None
    text = schema.get_context_dependent_function_with_opset_version(
        min(versions), node.proto.SerializeToString(), types
    )
    return FunctionProto.FromString(text) if text else None


def inline(node: Node, body: FunctionProto, opset: int, defaults: dict[str, AttributeProto]) -> None:
    """Put the nodes of `body`, in the form of `opset`, in the place of `node`, its call."""
    names = dict(zip(body.input, [*node.inputs, *[""] * len(body.input)], strict=False))
    names |= {inner: outer for inner, outer in zip(body.output, node.outputs, strict=False) if outer}
    attributes = {attribute.name: attribute for attribute in node.proto.attribute}
    given = {attribute.name: attribute for attribute in body.attribute_proto}
    for name, default in {**defaults, **given}.items():
        if name not in attributes and default.type != AttributeProto.UNDEFINED:
            attributes[name] = default
    node.remove()
    for inner in body.node:
        copy = NodeProto()
        copy.CopyFrom(inner)
        _rename(node, copy, names, attributes)
        node.add_node(copy, opset)


def _rename(call: Node, inner: NodeProto, names: dict[str, str], attributes: dict[str, AttributeProto]) -> None:
    """Give the copied node the names and attribute values of the call."""
    inner.name = call.scope.model.fresh_name(f"{call.name}_{inner.name or inner.op_type.lower()}")
    for index, name in enumerate(inner.input):
        inner.input[index] = names.get(name, name)
    for index, name in enumerate(inner.output):
        if name and name not in names:
            names[name] = call.fresh_name(name)
        inner.output[index] = names.get(name, "")
    _bind_attributes(inner, attributes)
    for attribute in inner.attribute:
        if attribute.type == AttributeProto.GRAPH:
            _rename_graph(call, attribute.g, dict(names), attributes)


def _bind_attributes(inner: NodeProto, attributes: dict[str, AttributeProto]) -> None:
    for index in reversed(range(len(inner.attribute))):
        attribute = inner.attribute[index]
        if not attribute.ref_attr_name:
            continue
        value = attributes.get(attribute.ref_attr_name)
        if value is None:
            del inner.attribute[index]
            continue
        name = attribute.name
        attribute.CopyFrom(value)
        attribute.name = name


def _rename_graph(call: Node, graph: GraphProto, names: dict[str, str], attributes: dict[str, AttributeProto]) -> None:
    for value in _named_values(graph):
        names[value.name] = call.fresh_name(value.name)
        value.name = names[value.name]
    for inner in graph.node:
        _rename(call, inner, names, attributes)
    for value in graph.output:
        value.name = names.get(value.name, value.name)
    del graph.value_info[:]


def _named_values(graph: GraphProto) -> Iterable[onnx.ValueInfoProto | onnx.TensorProto]:
    yield from graph.input
    yield from graph.initializer
