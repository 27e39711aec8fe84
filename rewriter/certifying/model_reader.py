"""Reads models for the proof: nodes that the outputs depend on, attributes, constants, and what an operator means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper

from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import reads, subgraphs
from ..opsets import facts, transitions
from ..opsets.facts import Kind


@cache
def meaning(op_type: str, opset: int) -> int:
    """The oldest version of the operator whose nodes mean the same at `opset`."""
    schema = transitions.schema_at(op_type, transitions.form_opset(op_type, opset))
    version = 0 if schema is None else schema.since_version
    while version > 1 and transitions.is_restamp(op_type, version, version - 1):
        older = transitions.schema_at(op_type, version - 1)
        if older is None:
            break
        version = older.since_version
    return version


def needed_outputs(graph: GraphProto) -> set[str]:
    """The values that outputs of the graph depend on: runtimes need not make others."""
    wanted = {value.name for value in graph.output}
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(reads(node))
    return wanted


def attributes_of(node: NodeProto) -> dict[str, Any]:
    """The attributes by name, strings as str."""
    found = {each.name: helper.get_attribute_value(each) for each in node.attribute if not each.ref_attr_name}
    return {name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value for name, value in found.items()}


class Functions(NamedTuple):
    """The functions of a model: their nodes by domain and name, and all of them, serialized."""

    nodes: Mapping[tuple[str, str], Sequence[NodeProto]]
    content: tuple[bytes, ...]


def functions_of(model: ModelProto) -> Functions:
    """The functions of `model`."""
    nodes = {(function.domain, function.name): function.node for function in model.functions}
    return Functions(nodes, tuple(sorted(function.SerializeToString(deterministic=True) for function in model.functions)))


def essence(node: NodeProto, opset: int, functions: Functions) -> tuple[Any, ...]:
    """What a node does apart from its inputs, equal for nodes that mean the same.

    What may call a function means the same only where all functions of both models are the same.
    """
    is_onnx = node.domain in DEFAULT_DOMAINS
    has_body = any(True for _ in subgraphs(node))
    drawn = tuple(node.output) if may_draw(node, functions) else ()
    called = () if is_onnx and not has_body else (functions.content, getattr(node, "overload", ""))
    own = (node.domain, node.op_type, meaning(node.op_type, opset) if is_onnx else 0, len(node.output), drawn, called)
    defaults = _defaults(node.op_type, opset) if is_onnx else ()
    stated = (raw for each in node.attribute if (raw := _attribute_essence(each)) not in defaults)
    return (*own, *sorted(stated), *_inner_meanings(node, opset))


def may_draw(node: NodeProto, functions: Functions) -> bool:
    """Whether two such nodes may give different results for the same inputs: they draw random numbers, or nobody knows."""
    called = functions.nodes.get((node.domain, node.op_type))
    inner = [*(called or ()), *(each for _, graph in subgraphs(node) for each in graph.node)]
    if any(may_draw(each, functions) for each in inner):
        return True
    row = facts.of(node.op_type, node.domain)
    return row.kind is Kind.RANDOM or row.has("may-draw") or (node.domain not in DEFAULT_DOMAINS and called is None)


@cache
def _defaults(op_type: str, opset: int) -> frozenset[bytes]:
    """The attributes that an operator has where none is stated."""
    schema = transitions.schema_at(op_type, transitions.form_opset(op_type, opset))
    stated = [] if schema is None else [attribute.default_value for attribute in schema.attributes.values()]
    return frozenset(_attribute_essence(attribute) for attribute in stated if attribute.name)


def _attribute_essence(attribute: AttributeProto) -> bytes:
    copy = AttributeProto.FromString(attribute.SerializeToString())
    copy.ClearField("doc_string")
    if copy.HasField("t"):
        copy.t.ClearField("name")
    return copy.SerializeToString(deterministic=True)


def _inner_meanings(node: NodeProto, opset: int) -> Iterator[int]:
    for _, graph in subgraphs(node):
        for inner in graph.node:
            yield meaning(inner.op_type, opset)
            yield from _inner_meanings(inner, opset)
