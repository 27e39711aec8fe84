"""The schemas of operators of other domains, from `schemas.txt`, and what they forbid of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from onnx import AttributeProto, NodeProto

_MARKS = ("**", "*", "?")
_KINDS = {
    "float": AttributeProto.FLOAT,
    "floats": AttributeProto.FLOATS,
    "graph": AttributeProto.GRAPH,
    "int": AttributeProto.INT,
    "ints": AttributeProto.INTS,
    "string": AttributeProto.STRING,
    "strings": AttributeProto.STRINGS,
}


@dataclass(frozen=True)
class Parameter:
    """An input or output.

    `type` is a variable of the schema, or the name of an element type. `presence` is "" if there is always one, "?" if there may be
    one, "*" for any number of one type, and "**" for any number of several types.
    """

    name: str
    type: str
    presence: str


@dataclass(frozen=True)
class Schema:
    """The schema of one operator.

    `types` are the element types that each variable may stand for, `attributes` the kind of each attribute, which is an
    AttributeProto.AttributeType, and `required` the attributes that no node may lack.
    """

    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    types: Mapping[str, frozenset[str]]
    attributes: Mapping[str, int]
    required: frozenset[str]

    def allowed(self, parameter: Parameter) -> frozenset[str]:
        """The names of the element types that a parameter may have."""
        return self.types.get(parameter.type, frozenset({parameter.type}))


def parse(row: str) -> Schema:
    """The schema in a row of `schemas.txt`, without the operator's name."""
    signature, types, attributes = (part.split() for part in row.split("|"))
    arrow = signature.index("->")
    kinds = dict(attribute.split(":") for attribute in attributes)
    return Schema(
        tuple(map(_parameter, signature[:arrow])),
        tuple(map(_parameter, signature[arrow + 1 :])),
        {variable: frozenset(listed.split(",")) for variable, listed in (word.split("=") for word in types)},
        {name: _KINDS[kind.removesuffix("!")] for name, kind in kinds.items()},
        frozenset(name for name, kind in kinds.items() if kind.endswith("!")),
    )


def _parameter(text: str) -> Parameter:
    name, _, kind = text.partition(":")
    mark = next((mark for mark in _MARKS if name.endswith(mark)), "")
    return Parameter(name.removesuffix(mark), kind, mark)


@cache
def _rows() -> dict[str, str]:
    """The rows as text, by operator."""
    lines = Path(__file__).with_name("schemas.txt").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#")).replace("\n ", " ")
    return {name: row for name, _, row in (line.partition(" ") for line in text.splitlines())}


@cache
def schema_of(op_type: str, domain: str) -> Schema | None:
    """The schema of an operator of another domain; None where it is unknown."""
    row = _rows().get(f"{domain}::{op_type}") if domain else None
    return None if row is None else parse(row)


def known_operators() -> frozenset[str]:
    """The operators with a schema, as "domain::operator"."""
    return frozenset(_rows())


@cache
def known_domains() -> frozenset[str]:
    """The domains of these operators."""
    return frozenset(name.partition("::")[0] for name in _rows())


def paired(names: Sequence[str], parameters: Sequence[Parameter]) -> Iterator[tuple[str, Parameter]]:
    """Each value that is there with its parameter. The last parameter is that of all further values."""
    for index, name in enumerate(names if parameters else ()):
        if name:
            yield name, parameters[min(index, len(parameters) - 1)]


def oddity(node: NodeProto, type_of: Callable[[str], str | None]) -> str:
    """What the schema does not allow of `node`, as the end of a sentence that begins with the operator; "" where there is nothing.

    `type_of` gives the types of its inputs as ONNX's schemas write them ("tensor(float)"), or None where one is unknown.
    onnx.checker ignores operators of other domains, so that nothing else looks at their form.
    """
    schema = schema_of(node.op_type, node.domain)
    if schema is None:
        return ""
    for attribute in node.attribute:
        if schema.attributes.get(attribute.name) != attribute.type:
            return f"has no attribute {attribute.name} of this type"
    lacking = schema.required - {attribute.name for attribute in node.attribute}
    if lacking:
        return f"needs the attribute {min(lacking)}"
    if not _fit(node.input, schema.inputs):
        return "does not take these inputs"
    if not _fit(node.output, schema.outputs):
        return "does not make these outputs"
    return _odd_type(node, schema, type_of)


def _fit(names: Sequence[str], parameters: Sequence[Parameter]) -> bool:
    """Whether each value that has to be there is in `names`, and `names` are not more than there are `parameters`."""
    ends_variadic = parameters[-1:] != () and "*" in parameters[-1].presence
    needed = (index for index, parameter in enumerate(parameters) if not parameter.presence)
    are_there = all(index < len(names) and names[index] for index in needed)
    return are_there and (ends_variadic or len(names) <= len(parameters))


def _odd_type(node: NodeProto, schema: Schema, type_of: Callable[[str], str | None]) -> str:
    found: dict[str, str] = {}
    for name, parameter in paired(node.input, schema.inputs):
        kind = (type_of(name) or "").removeprefix("tensor(").removesuffix(")")
        if not kind:
            continue
        if kind not in schema.allowed(parameter):
            return f"does not take {kind} for {parameter.name}"
        if parameter.presence != "**" and found.setdefault(parameter.type, kind) != kind:
            return f"does not take {kind} for {parameter.name} beside {found[parameter.type]}"
    return ""
