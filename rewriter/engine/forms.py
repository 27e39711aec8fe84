"""Checks the form of a node that a rule of the caller wrote, so that a mistake is told as the rule's, and not as the model's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import AttributeProto, NodeProto
from onnx.defs import OpSchema

from ..onnx_model.domains import DEFAULT_DOMAINS
from ..opsets import schema_types
from ..opsets.transitions import newest_opset, schema_at
from ..opsets.type_protos import type_string


def mistake_in(proto: NodeProto, opset: int) -> str:
    """What the schema of `opset` says against the node: its operator, its numbers of inputs and outputs, its attributes.

    "" for nothing, and for operators of other domains.
    """
    if proto.domain not in DEFAULT_DOMAINS:
        return ""
    schema = schema_at(proto.op_type, opset)
    if schema is None or schema.deprecated:
        return f"opset {opset} does not have it"
    return _mistake_in_number(proto, schema) or _mistake_in_attributes(proto, schema)


def mistake_in_types(proto: NodeProto, opset: int, type_of: Callable[[str], str | None]) -> str:
    """What the schema of `opset` says against the types of the values, as far as `type_of` knows them; "" for nothing."""
    schema = schema_at(proto.op_type, opset)
    if proto.domain not in DEFAULT_DOMAINS or schema is None:
        return ""
    known = {name: kind for name in (*proto.input, *proto.output) if name and (kind := type_of(name)) is not None}
    newest = schema_at(proto.op_type, newest_opset()) or schema  # older forms are adapted where a newer one takes the types
    for what, names, ways in (
        ("take", proto.input, (schema.inputs, newest.inputs)),
        ("make", proto.output, (schema.outputs, newest.outputs)),
    ):
        for index, name in enumerate(names):
            if name in known and not any(_takes(parameters, index, known[name]) for parameters in ways):
                return f"it does not {what} {_short(known[name])} as '{name}'"
    for name, made in schema_types.fixed_types(proto, opset).items():
        kind = type_string(made)
        if name in known and kind != known[name]:
            return f"it makes {_short(kind)} of '{name}', which is {_short(known[name])}"
    for values in schema_types.tied_values(proto, opset):
        kinds = {known[name]: name for name in values if name in known}
        if len(kinds) > 1:
            shown = (f"'{name}' ({_short(kind)})" for kind, name in kinds.items())
            return f"{' and '.join(shown)} have to be of one type"
    return ""


def _takes(parameters: Sequence[OpSchema.FormalParameter], index: int, kind: str) -> bool:
    return not parameters or kind in parameters[min(index, len(parameters) - 1)].types


def mistake_in_reads(proto: NodeProto, is_defined: Callable[[str], bool]) -> str:
    """What is wrong with the values that the node reads; "" for nothing."""
    for name in filter(None, proto.input):
        if name in proto.output:
            return f"it reads '{name}', which it makes itself"
        if not is_defined(name):
            return f"it reads '{name}', which nothing makes"
    return ""


def _short(kind: str | None) -> str:
    """The type string without the words around the element type of a tensor."""
    return "?" if kind is None else kind.removeprefix("tensor(").removesuffix(")") if kind.startswith("tensor(") else kind


def _mistake_in_number(proto: NodeProto, schema: OpSchema) -> str:
    for what, names, least, most in (
        ("input", proto.input, schema.min_input, schema.max_input),
        ("output", proto.output, schema.min_output, schema.max_output),
    ):
        if not least <= len(names) <= most:
            return f"it has {len(names)} {what}{'' if len(names) == 1 else 's'}, and takes {_range(least, most)}"
    return ""


def _range(least: int, most: int) -> str:
    if least == most:
        return str(least)
    return f"{least} or more" if most >= _UNBOUNDED else f"{least} to {most}"


_UNBOUNDED = 2**31 - 1
"""The largest number of inputs in the schema of an operator that takes any number."""


def _mistake_in_attributes(proto: NodeProto, schema: OpSchema) -> str:
    given = {attribute.name: attribute for attribute in proto.attribute}
    for name, attribute in given.items():
        if name not in schema.attributes:
            return f"it has no attribute {name} at this opset"
        wanted = str(schema.attributes[name].type).rpartition(".")[2]
        if wanted != AttributeProto.AttributeType.Name(attribute.type):
            return f"its attribute {name} has to be of type {wanted}"
    missing = next((name for name, known in schema.attributes.items() if known.required and name not in given), "")
    return f"its attribute {missing} is missing" if missing else ""
