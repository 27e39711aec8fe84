"""The element types that a model states, in inputs, stored tensors and attributes, and those that its values can have."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cache

import onnx
from onnx import AttributeProto, NodeProto

from . import facts
from .transitions import newest_opset, schema_at
from .type_protos import elem_type_name, type_string


def possible_types(
    graphs: Iterable[onnx.GraphProto | onnx.FunctionProto], operators: Iterable[str], local: Container[str]
) -> frozenset[str] | None:
    """A superset of the types that the values of `graphs` can have, as schemas write them; None where any type is possible.

    `operators` are those of the nodes ("domain::op_type" outside the default domain), `local` the domains of local functions. A
    type can enter a model only by its inputs, by its constants, by an attribute that names a type, or by an operator with a fixed
    output type. An operator of another domain may return anything.
    """
    names: set[str] = set()
    whole: set[str] = set()
    op_types: set[str] = set()
    for label in operators:
        domain, _, op_type = label.rpartition("::")
        if domain not in ("", "ai.onnx") and domain not in local:
            return None
        op_types.add(op_type)
    for graph in graphs:
        if isinstance(graph, onnx.GraphProto):
            _collect_stored_types(graph, names, whole)
        for node in graph.node if op_types & _NAMES_A_TYPE else ():
            found = _named_types(node) if node.op_type in _NAMES_A_TYPE else set()
            if found is None:
                return None
            names |= found
    for op_type in op_types - _NAMES_A_TYPE:
        names |= _untied_output_types(op_type)
    tensors = {f"tensor({name})" for name in names} | {kind for kind in whole if kind.startswith("tensor(")}
    wrapped = {f"seq({kind})" for kind in tensors}
    return frozenset(tensors | wrapped | whole | {f"optional({kind})" for kind in tensors | wrapped})


def stated_types(graphs: Iterable[onnx.GraphProto | onnx.FunctionProto], operators: Iterable[str]) -> frozenset[str]:
    """The element types that inputs, stored tensors and attributes of `graphs` state, as schemas write them: "int4".

    `operators` are the labels of the nodes. Types that the caller of a function sets are not included.
    """
    names: set[str] = set()
    whole: set[str] = set()
    states = not _NAMES_A_TYPE.isdisjoint(operators)
    for graph in graphs:
        if isinstance(graph, onnx.GraphProto):
            _collect_stored_types(graph, names, whole)
        for node in graph.node if states else ():
            if node.op_type in _NAMES_A_TYPE:
                names |= _named_types(node) or set()
    return frozenset(names | {kind.rpartition("(")[2].rstrip(")") for kind in whole})


def _collect_stored_types(graph: onnx.GraphProto, names: set[str], whole: set[str]) -> None:
    """Add the element types of initializers to `names`, and the types of inputs to `whole`."""
    # Inputs of subgraphs may be untyped: their values come from the outer graph.
    whole.update(kind for value in graph.input if (kind := type_string(value.type)) is not None)
    names.update(elem_type_name(tensor.data_type) for tensor in graph.initializer)
    names.update(elem_type_name(tensor.values.data_type) for tensor in graph.sparse_initializer)


_VALUES = {
    **dict.fromkeys(("value_int", "value_ints"), "int64"),
    **dict.fromkeys(("value_float", "value_floats"), "float"),
    **dict.fromkeys(("value_string", "value_strings"), "string"),
}
"""Attributes of Constant, and the element type of its output with each."""
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype", "stash_type")
"""Attributes that name an element type."""
_NAMES_A_TYPE = facts.with_word("names-type")
"""Operators with an attribute that names a type."""


def _named_types(node: NodeProto) -> set[str] | None:
    """The types that the attributes of `node` name, or imply by their absence; None where a function's caller sets one."""
    found = set(filter(None, [facts.of(node.op_type).word("names-type")]))
    for attribute in node.attribute:
        name, kind = attribute.name, attribute.type
        if kind == AttributeProto.TYPE_PROTO or attribute.ref_attr_name:
            return None
        if kind == AttributeProto.TENSOR:
            found.add(elem_type_name(attribute.t.data_type))
        elif kind == AttributeProto.SPARSE_TENSOR:
            found.add(elem_type_name(attribute.sparse_tensor.values.data_type))
        elif kind == AttributeProto.STRING and name == "to":
            found.add(attribute.s.decode(errors="replace").lower())
        elif name in _VALUES:
            found.add(_VALUES[name])
        elif name in TYPE_ATTRIBUTES and kind == AttributeProto.INT:
            found.add(elem_type_name(attribute.i))
    return found


@cache
def _untied_output_types(op_type: str) -> frozenset[str]:
    """The element types of outputs, in any version of `op_type`, that do not depend on an input: "int64" for Shape."""
    found: set[str] = set()
    if facts.of(op_type).kind is facts.Kind.CONTROL:
        return frozenset()  # their outputs are values of their bodies
    schema = schema_at(op_type, newest_opset())
    while schema is not None:
        inputs = {parameter.type_str for parameter in schema.inputs}
        for parameter in schema.outputs:
            if parameter.type_str not in inputs:
                found |= {kind[7:-1] for kind in parameter.types if kind.startswith("tensor(")}
        schema = schema_at(op_type, schema.since_version - 1) if schema.since_version > 1 else None
    return frozenset(found)
