"""One node as onnx stores it: its operator, inputs, outputs and attributes."""

from __future__ import annotations

import struct
from typing import Any

from onnx import AttributeProto, NodeProto, helper

from ..errors import Unconvertible
from ..onnx_model.protos import shown_name
from ..opsets.choices import meant, other_choices
from .scope import Scope
from .values import Value, Values


class Stored(Values):
    """What the NodeProto of one node states."""

    __slots__ = ("proto",)

    def __init__(self, proto: NodeProto, scope: Scope) -> None:
        super().__init__(scope)
        self.proto = proto
        """The node as onnx stores it."""

    @property
    def op_type(self) -> str:
        """The operator of the node."""
        return self.proto.op_type

    @property
    def name(self) -> str:
        """The name of the node, or that of its first output if the node has none."""
        return shown_name(self.proto)

    @property
    def inputs(self) -> list[str]:
        """The names of all inputs; "" for one that is absent."""
        return list(self.proto.input)

    @property
    def outputs(self) -> list[str]:
        """The names of all outputs; "" for one that is absent."""
        return list(self.proto.output)

    @property
    def _first_output(self) -> str:
        return next(filter(None, self.proto.output), self.proto.name or self.proto.op_type)

    def has_input(self, index: int) -> bool:
        """Whether input `index` exists; an input with an empty name counts as absent."""
        return self.input(index) != ""

    def has_output(self, index: int) -> bool:
        """Whether output `index` exists; an output with an empty name counts as absent."""
        return self.output(index) != ""

    def input(self, index: int) -> str:
        """The name of input `index`, or "" where it is absent."""
        names = self.proto.input
        return names[index] if index < len(names) else ""

    def output(self, index: int) -> str:
        """The name of output `index`, or "" where it is absent."""
        names = self.proto.output
        return names[index] if index < len(names) else ""

    def _name(self, value: Value) -> str:
        return value if isinstance(value, str) else self.input(value)

    def _attribute(self, name: str) -> AttributeProto | None:
        for attribute in self.proto.attribute:
            if attribute.name == name:
                return attribute
        return None

    def has_attr(self, name: str) -> bool:
        """Whether the node states the attribute."""
        return self._attribute(name) is not None

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute's value in Python (strings decoded), or `default` if it is absent.

        A float is rounded to float32, as attributes are, and an empty word that onnxruntime takes for the default is that word.

        Raises Unconvertible where a function's caller sets the attribute, or where it is a word that the specification does not
        list.
        """
        attribute = self._attribute(name)
        if attribute is not None:
            return self._value_of(attribute)
        return struct.unpack("f", struct.pack("f", default))[0] if isinstance(default, float) else default

    def _value_of(self, attribute: AttributeProto) -> Any:
        value = meant(self.op_type, attribute.name, _attribute_value(attribute))
        if known := other_choices(self.op_type, attribute.name, value):
            raise Unconvertible(f"{attribute.name} is {value!r}; {self.op_type} has only {known}", "set it to one of these")
        return value


def fill(attribute: AttributeProto, name: str, value: Any) -> None:
    """Set the value of an attribute.

    For integers, the most frequent case, this takes a fifth of the 5 µs of `helper.make_attribute`.
    """
    attribute.Clear()
    if type(value) is int:
        attribute.name, attribute.type, attribute.i = name, AttributeProto.INT, value
    elif type(value) is list and value and type(value[0]) is int:
        attribute.name, attribute.type = name, AttributeProto.INTS
        attribute.ints.extend(value)
    else:
        attribute.CopyFrom(helper.make_attribute(name, value, attr_type=AttributeProto.INTS if value == [] else None))


def require_value(attribute: AttributeProto) -> None:
    if attribute.ref_attr_name:
        raise Unconvertible(
            f"attribute {attribute.name} is a parameter of the function ('{attribute.ref_attr_name}')",
            "remove the function, or inline it before converting",
        )


def _attribute_value(attribute: AttributeProto) -> Any:
    require_value(attribute)
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return _text(attribute, value)
    if attribute.type == AttributeProto.STRINGS:
        return [_text(attribute, item) for item in value]
    return list(value) if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS) else value


def _text(attribute: AttributeProto, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Unconvertible(f"attribute {attribute.name} is {value[:30]!r}, which is not UTF-8", "correct the model") from error
