"""Checks the form of a node that a rule of the caller wrote, so that a mistake is told as the rule's, and not as the model's."""

from __future__ import annotations

from onnx import AttributeProto, NodeProto
from onnx.defs import OpSchema

from ..onnx_model.domains import DEFAULT_DOMAINS
from ..opsets.transitions import schema_at


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
