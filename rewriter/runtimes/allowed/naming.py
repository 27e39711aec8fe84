"""What the names in a profile can mean for an operator: its inputs, outputs and attributes, in whichever version of it has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from onnx.defs import OpSchema

from ...opsets.transitions import newest_opset, schema_at

EVERY = "*"
"""The name for all that flows through a node: see `Site.values`."""
FIRST, RESULT = "X", "Y"
"""The names for the first input and the first output, where the operator has none of this name."""


_NUMBERS = {OpSchema.AttrType.INT, OpSchema.AttrType.INTS, OpSchema.AttrType.FLOAT, OpSchema.AttrType.FLOATS}


@cache
def versions(op_type: str) -> tuple[OpSchema, ...]:
    """The schemas of all versions of an operator, from new to old."""
    found: list[OpSchema] = []
    opset = newest_opset()
    while opset > 0:
        schema = schema_at(op_type, opset)
        if schema is None:
            break
        found.append(schema)
        opset = schema.since_version - 1
    return tuple(found)


@cache
def known_names(op_type: str) -> frozenset[str]:
    """The inputs, outputs and attributes of an operator, in any version."""
    return frozenset(_names(op_type))


def _names(op_type: str) -> Iterator[str]:
    yield from (EVERY, FIRST, RESULT)
    for schema in versions(op_type):
        yield from (parameter.name for parameter in (*schema.inputs, *schema.outputs))
        yield from schema.attributes


@cache
def holds_numbers(op_type: str, name: str) -> bool:
    """Whether `name` is an attribute or an input of numbers in each version of the operator that has it."""
    kinds = {schema.attributes[name].type for schema in versions(op_type) if name in schema.attributes}
    types = {kind for schema in versions(op_type) for given in schema.inputs if given.name == name for kind in given.types}
    return bool(kinds or types) and kinds <= _NUMBERS and not any("string" in kind for kind in types)


@cache
def input_index(op_type: str, opset: int, name: str) -> int | None:
    """The number of the input `name` at `opset`, under the name that another version gives it too; None where there is none."""
    return _index(op_type, opset, name, "inputs")


@cache
def output_index(op_type: str, opset: int, name: str) -> int | None:
    """As `input_index`, of the output `name`."""
    return _index(op_type, opset, name, "outputs")


def _index(op_type: str, opset: int, name: str, kind: str) -> int | None:
    here = schema_at(op_type, opset)
    if here is None:
        return None
    names = [parameter.name for parameter in getattr(here, kind)]
    if name in names:
        return names.index(name)
    for schema in versions(op_type):
        others = [parameter.name for parameter in getattr(schema, kind)]
        if name in others and name not in here.attributes:
            index = others.index(name)
            is_renamed = index < len(names) and names[index] not in others
            return index if is_renamed else None
    return 0 if name == (FIRST if kind == "inputs" else RESULT) else None
