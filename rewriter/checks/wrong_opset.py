"""Finds nodes in the form of another opset than the model declares, and the opsets that would fit all nodes.

Exporters and manual edits produce such files: a Split with two inputs at opset 12, num_outputs at 13, axes as an input at 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import GraphProto, ModelProto, NodeProto, defs

from ..onnx_model.all_nodes import with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import default_opset, shown_name
from ..opsets.transitions import OpSchema, newest_opset, schema_at


def describe(proto: ModelProto) -> str:
    """A line that names the first node whose form does not exist at the opset of the model, or of its function, but does at
    another; "" where there is none.
    """
    for owner in (proto, *proto.functions):
        declared = default_opset(owner.opset_import)
        graph = owner.graph if isinstance(owner, ModelProto) else owner
        if not declared:
            continue
        found = _describe(with_inner(graph.node), declared)
        if found is None:
            continue
        complaint, fitting = found
        if isinstance(owner, ModelProto):
            return f"{complaint}, and the model counts as opset {declared}{_advice(fitting, declared)}"
        return f"{complaint}, and the function '{owner.name}' says opset {declared}"
    return ""


def describe_function(proto: ModelProto) -> str:
    """A line about the first function of another opset than the model; "" where there is none."""
    declared = default_opset(proto.opset_import)
    for function in proto.functions:
        own = default_opset(function.opset_import)
        if own and own != declared:
            return (
                f"the function '{function.name}' is of opset {own}, and the model of opset {declared}, which onnx.checker refuses. "
                "Hint: inline it: onnx.inliner.inline_local_functions(model, convert_version=True)"
            )
    return ""


def _describe(nodes: Iterable[NodeProto], declared: int) -> tuple[str, set[int]] | None:
    """What is wrong with the first node that is not in the form of opset `declared`, and the opsets that fit all nodes."""
    forms = list(_forms(nodes))
    fitting = set(range(1, newest_opset() + 1)).intersection(*(opsets for _, opsets in forms))
    strangers = [(node, complaint) for node, opsets in forms if opsets and (complaint := _complaint(node, declared))]
    if not strangers:
        return None
    node, complaint = strangers[0]
    more = f" (and {len(strangers) - 1} more nodes)" if len(strangers) > 1 else ""
    return f"{node.op_type} '{shown_name(node)}'{more}: {complaint}", fitting


def forms_of(graph: GraphProto) -> list[tuple[NodeProto, frozenset[int]]]:
    """The nodes of ONNX's own domain in `graph`, also inside other nodes, each with the opsets at which its form is legal."""
    return list(_forms(with_inner(graph.node)))


def _forms(nodes: Iterable[NodeProto]) -> Iterator[tuple[NodeProto, frozenset[int]]]:
    newest = newest_opset()
    seen: dict[tuple[object, ...], frozenset[int]] = {}
    for node in nodes:
        if node.domain in DEFAULT_DOMAINS:
            key = _form(node)
            if key not in seen:
                seen[key] = frozenset(_opsets_of(node, newest))
            yield node, seen[key]


def _advice(fitting: set[int], declared: int) -> str:
    """The advice for a model whose nodes fit the opsets `fitting`."""
    if not fitting:
        return "; no single opset fits all nodes"
    nearest = min(fitting, key=lambda opset: (abs(opset - declared), opset))
    return f"; opset {_ranges(fitting)} would fit all nodes: if it is that, use --assume-opset {nearest}"


def _form(node: NodeProto) -> tuple[object, ...]:
    """A key that is equal for nodes whose forms are legal at the same opsets."""
    present = tuple(bool(name) for name in node.input)
    return node.op_type, present, len(node.output), tuple((a.name, a.type) for a in node.attribute)


def _opsets_of(node: NodeProto, newest: int) -> Iterator[int]:
    """The opsets at which the form of the node is legal."""
    for opset in range(1, newest + 1):
        schema = schema_at(node.op_type, opset)
        if schema is not None and not schema.deprecated and not _problem(node, schema):
            yield opset


def _complaint(node: NodeProto, declared: int) -> str:
    """The mistake in the node at opset `declared`."""
    schema = schema_at(node.op_type, declared)
    if schema is None:
        return f"opset {declared} does not have this operator"
    return _problem(node, schema)


def _problem(node: NodeProto, schema: OpSchema) -> str:
    """Why the node does not fit `schema`: names or types of attributes, or the number of inputs or outputs; "" where it fits."""
    for attribute in node.attribute:
        known = schema.attributes.get(attribute.name)
        if known is None:
            return f"it has the attribute {attribute.name}, which the form of opset {schema.since_version} does not have"
        if not attribute.ref_attr_name and int(known.type.value) != attribute.type:  # type: ignore[attr-defined]
            return f"its attribute {attribute.name} has another type in the form of opset {schema.since_version}"
    for name, known in schema.attributes.items():
        if known.required and all(attribute.name != name for attribute in node.attribute):
            return f"it lacks the attribute {name} of the form of opset {schema.since_version}"
    if not schema.min_input <= len(node.input) <= schema.max_input:
        return f"it has {len(node.input)} inputs, and the form of opset {schema.since_version} {_count(schema)}"
    if not schema.min_output <= len(node.output) <= schema.max_output:
        return f"it has {len(node.output)} outputs, which the form of opset {schema.since_version} does not have"
    return ""


def _count(schema: defs.OpSchema) -> str:
    """The numbers of inputs and outputs that a schema allows, in words."""
    low, high = schema.min_input, schema.max_input
    return f"has {low}" if low == high else f"has {low} to {high}"


def _ranges(opsets: set[int]) -> str:
    """The opsets in words: {13, 14, 15, 18} is "13 to 15 or 18"."""
    parts: list[str] = []
    ordered = sorted(opsets)
    start = 0
    for index, opset in enumerate(ordered):
        if index + 1 == len(ordered) or ordered[index + 1] != opset + 1:
            first = ordered[start]
            parts.append(str(first) if first == opset else f"{first} to {opset}")
            start = index + 1
    return " or ".join(parts)
