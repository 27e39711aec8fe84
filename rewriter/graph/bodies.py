"""Operators younger than the target: replaced by their value where it is constant, or by ONNX's own function body.

A body says what an operator means in the words of its schema. Operators whose body does not say it right have a rule of ours
in `rules/`, which wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import onnx
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    TensorProto,
    TensorShapeProto,
    TypeProto,
)

from ..errors import Unconvertible
from ..opsets.transitions import form_opset, path, schema_at
from ..storage.payload import tensor_of
from .node import Node
from .protos import DEFAULT_DOMAINS, default_opset, reads, subgraphs
from .scope import Scope

EXACT = frozenset({"CenterCropPad", "GreaterOrEqual", "LessOrEqual", "Shrink", "ThresholdedRelu"})
"""Operators whose body moves or compares data, or adds once, so that it gives the same to the last bit."""

_NEEDS_A_RULE = ("H", "V", "N")
"""The reviews of transitions that change the meaning of a node, or what it may hold."""
_CAST_BY_NUMBER = 6
"""The opset from which on a Cast tells shape inference its type."""

Attributes = dict[str, AttributeProto] | None


def fold(node: Node) -> bool:
    """Let `node` become a Constant if its only output is the same in every run; returns whether it did."""
    if len(node.outputs) != 1:
        return False
    value = node.scope.constant(node.output(0))
    if value is None:
        return False
    # Constant-1 takes floats only: the node is one of opset 9, whose way down knows what to do.
    node.become.Constant(opset=max(node.opset, 9), value=tensor_of(value, ""))
    return True


def has_body(op_type: str, opset: int) -> bool:
    """Whether the schema of `op_type` at `opset` has a function body."""
    schema: Any = schema_at(op_type, opset)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def expand(node: Node) -> bool:
    """Replace `node` by the nodes of its function body, written for the opset of that body; returns whether that is exact.

    Raises Unconvertible where the schema has no body, or where a context-dependent one needs types that are unknown.
    """
    schema = schema_at(node.op_type, node.opset)
    body = None if schema is None else _body(schema, node)
    if schema is None or body is None:
        born = path(node.op_type, node.opset, 1)[-1].newer
        raise Unconvertible(f"{node.op_type} is new in opset {born} and older operators cannot express it exactly")
    opset = default_opset(body.opset_import)
    if any(entry.domain not in DEFAULT_DOMAINS for entry in body.opset_import) or opset is None:
        raise Unconvertible(f"the function body of {node.op_type} needs operators of another domain")
    inline(node, body, opset, {name: attribute.default_value for name, attribute in schema.attributes.items()})
    return node.op_type in EXACT


def _body(schema: Any, node: Node) -> FunctionProto | None:
    """The body written for the lowest opset: its nodes have the shortest way down."""
    if schema.has_function:
        text = schema.get_function_with_opset_version(min(schema.function_opset_versions))
        return FunctionProto.FromString(text) if text else None
    if not schema.has_context_dependent_function:
        return None
    types = _input_types(node)
    try:
        text = schema.get_context_dependent_function_with_opset_version(
            min(schema.context_dependent_function_opset_versions), node.proto.SerializeToString(), types
        )
    except Exception as error:  # of whatever type C++ throws
        raise Unconvertible(f"onnx cannot write {node.op_type} as a function: {error}", "correct the node") from error
    return FunctionProto.FromString(text) if text else None


def _input_types(node: Node) -> list[bytes]:
    types: list[bytes] = []
    for name in node.inputs:
        kind = node.scope.type(name) if name else TypeProto()
        if kind is None:
            raise Unconvertible(f"the type of '{name}' is unknown, and the expansion depends on it", "declare it in value_info")
        types.append(kind.SerializeToString())
    return types


def inline(node: Node, body: FunctionProto, opset: int, defaults: dict[str, AttributeProto]) -> None:
    """Put the nodes of `body`, in the form of `opset`, in the place of `node`, its call. Nodes that nothing reads stay out."""
    names = dict(zip(body.input, [*node.inputs, *[""] * len(body.input)], strict=False))
    names |= {inner: outer for inner, outer in zip(body.output, node.outputs, strict=False) if outer}
    attributes = {attribute.name: attribute for attribute in node.proto.attribute}
    given = {attribute.name: attribute for attribute in body.attribute_proto}
    for name, default in {**defaults, **given}.items():
        if name not in attributes and default.type != AttributeProto.UNDEFINED:
            attributes[name] = default
    node.remove()
    live = _live(body, {inner for inner, outer in zip(body.output, node.outputs, strict=False) if outer})
    paste(node, live, opset, names, attributes)


def paste(call: Node, nodes: Iterable[NodeProto], opset: int, names: dict[str, str], attributes: Attributes = None) -> None:
    """Put copies of `nodes`, in the form of `opset`, before `call`.

    `names` says what their values are called here; values that they make and it does not name get fresh names, added to it.
    `attributes` are the parameters of the function that they come from; None where they come from this graph's own function.
    """
    for inner in nodes:
        copy = NodeProto()
        copy.CopyFrom(inner)
        _rename(call, copy, names, attributes)
        _type_body_inputs(call, copy)
        call.add_node(copy, opset)


def paste_graph(call: Node, scope: Scope, names: dict[str, str]) -> None:
    """As `paste`, for the nodes of a subgraph of `call`: what is known of the types of their values stays known."""
    types = {name: scope.type(name) for name in scope.producers}
    paste(call, scope.graph.node, call.body_opset, names)
    for name, kind in types.items():
        if kind is not None:
            call.scope.types.note(names[name], kind)
            if call.body_opset < _CAST_BY_NUMBER and scope.producers[name].op_type == "Cast":
                call.declare(
                    names[name], kind.tensor_type.elem_type
                )  # shape inference does not read it, and the subgraph may have stated it


def needs_a_rule(node: Node, target: int) -> bool:
    """Whether anything in the subgraphs of `node`, to any depth, has to be rewritten on the way to opset `target`."""
    return any(
        step.older is None or step.review in _NEEDS_A_RULE
        for op_type, opset in _operators(node)
        for step in path(op_type, opset, target)
    )


def _operators(node: Node) -> set[tuple[str, int]]:
    """The operators of the default domain in the subgraphs, to any depth, and the opset in whose form they are."""
    found: set[tuple[str, int]] = set()
    pending = [graph for _, graph in subgraphs(node.proto)]
    while pending:
        for inner in pending.pop().node:
            if inner.domain in DEFAULT_DOMAINS:
                found.add((inner.op_type, form_opset(inner.op_type, node.body_opset)))
            pending.extend(graph for _, graph in subgraphs(inner))
    return found


def move_initializers(node: Node, graph: GraphProto) -> dict[str, str]:
    """Store what `graph`, a subgraph of `node`, stores in the graph around it; the new names by the old ones."""
    moved: dict[str, str] = {}
    for tensor in graph.initializer:
        outer = TensorProto()
        outer.CopyFrom(tensor)
        outer.name = node.fresh_name(tensor.name)
        moved[tensor.name] = node.add_tensor(outer)
    return moved


def _live(body: FunctionProto, wanted: set[str]) -> list[NodeProto]:
    """The nodes of `body`, in order, that the outputs `wanted` depend on."""
    kept: list[NodeProto] = []
    for inner in reversed(body.node):
        if wanted.isdisjoint(inner.output):
            continue
        kept.append(inner)
        wanted.update(reads(inner))
    return kept[::-1]


def _rename(call: Node, inner: NodeProto, names: dict[str, str], attributes: Attributes) -> None:
    """Give the copied node the names and attribute values of the call."""
    inner.name = call.scope.model.fresh_name(f"{call.name}_{inner.name or inner.op_type.lower()}")
    for index, name in enumerate(inner.input):
        inner.input[index] = names.get(name, name)
    for index, name in enumerate(inner.output):
        if name and name not in names:
            names[name] = call.fresh_name(name)
        inner.output[index] = names.get(name, "")
    if attributes is not None:
        bind_attributes(inner, attributes)
    for _, graph in subgraphs(inner):
        _rename_graph(call, graph, dict(names), attributes)


def bind_attributes(inner: NodeProto, attributes: Mapping[str, AttributeProto]) -> None:
    """Let the attributes of `inner` that are parameters have the values that `attributes` gives; those without one go."""
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


def _rename_graph(call: Node, graph: GraphProto, names: dict[str, str], attributes: Attributes) -> None:
    for value in _named_values(graph):
        names[value.name] = call.fresh_name(value.name)
        value.name = names[value.name]
    for inner in graph.node:
        _rename(call, inner, names, attributes)
    for value in graph.output:
        value.name = names.get(value.name, value.name)
    if attributes is not None:
        del graph.value_info[:]
    for value in graph.value_info:
        value.name = names.get(value.name, value.name)


def _named_values(graph: GraphProto) -> Iterable[onnx.ValueInfoProto | TensorProto]:
    yield from graph.input
    yield from graph.initializer


def _type_body_inputs(call: Node, inner: NodeProto) -> None:
    """Bodies leave the inputs of their loops untyped: each has the element type of the node's input in the same place.

    The rank of what a Scan carries does not change, and what it scans has one axis less.
    """
    if inner.op_type not in ("Loop", "Scan"):
        return
    fallback = (TensorProto.INT64, TensorProto.BOOL)
    scanned = next((attribute.i for attribute in inner.attribute if attribute.name == "num_scan_inputs"), 0)
    for _, graph in subgraphs(inner):
        for index, value in enumerate(graph.input):
            outer = inner.input[index] if index < len(inner.input) else ""
            elem_type = call.scope.elem_type(outer) if outer else fallback[index] if index < 2 else None
            if elem_type is None or value.type.tensor_type.elem_type:
                continue
            value.type.tensor_type.elem_type = elem_type
            shape = call.scope.shape(outer) if inner.op_type == "Scan" else None
            if shape is not None:
                rank = len(shape) - (index >= len(graph.input) - scanned)
                value.type.tensor_type.shape.dim.extend(TensorShapeProto.Dimension() for _ in range(rank))
