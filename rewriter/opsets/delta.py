"""The differences between two schemas of an operator, and the checks of a node that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from onnx import AttributeProto, NodeProto, defs, helper

from ..cached import cached_property
from ..errors import Unconvertible
from .choices import is_empty_default

OpSchema = defs.OpSchema
Attribute = AttributeProto
TypeOf = Callable[[str], str | None]
"""A function that returns the type of a value by its name, as schemas write it, or None where it is unknown."""

DROPPED_WITHOUT_LOSS = frozenset({"consumed_inputs"})
"""Attributes of opset 1 that never had an effect."""


class Delta:
    """The differences of the schemas `source` and `target`, either of which may be newer, and the checks that follow from them."""

    def __init__(self, source: OpSchema, target: OpSchema) -> None:
        self.source = source
        self.target = target
        self.lost_attributes = {name: attribute for name, attribute in source.attributes.items() if name not in target.attributes}
        self.changed_defaults = {
            name: source.attributes[name].default_value
            for name in source.attributes.keys() & target.attributes.keys()
            if _differ(source.attributes[name].default_value, target.attributes[name].default_value)
        }
        self.new_requirements = [
            name
            for name, attribute in target.attributes.items()
            if attribute.required and not (name in source.attributes and source.attributes[name].required)
        ]
        self.lost_types = _lost_types(source, target)
        self.new_ties = {pair for pair in _ties(target) - _ties(source) if pair <= _parameters(source).keys()}

    @cached_property
    def _gates_attributes(self) -> bool:
        """Whether an attribute is removed, gets another default, or becomes required."""
        return bool(self.lost_attributes or self.changed_defaults or self.new_requirements)

    @cached_property
    def touches_every_node(self) -> bool:
        """Whether each node has to be looked at, even if its types are accepted."""
        return bool(
            self._gates_attributes
            or len(self.target.inputs) < len(self.source.inputs)
            or len(self.target.outputs) < len(self.source.outputs)
            or _required(self.target.inputs) != _required(self.source.inputs)
            or _required(self.target.outputs) != _required(self.source.outputs)
        )

    def fits(self, types: frozenset[str] | None) -> bool:
        """Whether the target accepts everything that the source accepts, if values can have only these `types` (None: any)."""
        return not self.new_ties and not self.loses(types)

    def loses(self, types: frozenset[str] | None) -> bool:
        """Whether the source accepts one of these `types` (None: any) and the target does not."""
        return bool(self.lost_types) and (types is None or not self.lost_types.isdisjoint(types))

    def refuses(self, types: frozenset[str] | None) -> bool:
        """Whether there is one of these `types` (None: any) that the target accepts in no place."""
        taken = frozenset[str]().union(*self._taken[0], *self._taken[1])
        return types is None or not types <= taken

    # -- the gates: each edits the node or raises Unconvertible

    def gate_attributes(self, node: NodeProto, review: str) -> bool:
        """Remove attributes that the target lacks if they have their default value, and write out defaults that change.

        Returns whether the node changed. Raises Unconvertible where an attribute that the target lacks has another value.
        """
        if not self._gates_attributes:
            return False
        present = {attribute.name: attribute for attribute in node.attribute}
        gone = [present[name] for name in present if name in self.lost_attributes]
        for attribute in gone:
            lost = self.lost_attributes[attribute.name]
            if attribute.name not in DROPPED_WITHOUT_LOSS and not _holds_default(node, attribute, lost):
                raise Unconvertible(f"attribute {_shown(attribute)} does not exist in the form of opset {_span(self.target)}")
            node.attribute.remove(attribute)
        written = False
        if review == "A":
            for name, default in self.changed_defaults.items():
                if name not in present and default.type != AttributeProto.UNDEFINED:
                    node.attribute.append(default)
                    written = True
        self._require_attributes(node)
        return bool(gone) or written

    def _require_attributes(self, node: NodeProto) -> None:
        """Raises Unconvertible where the node lacks an attribute that the target requires."""
        present = {attribute.name for attribute in node.attribute}
        for name in self.new_requirements:
            if name not in present:
                raise Unconvertible(f"attribute {name} is required in the form of opset {_span(self.target)} and is not given")

    def gate_arity(self, node: NodeProto) -> None:
        """Raises Unconvertible where the target lacks an input or output of the node, or requires one that is absent."""
        _gate_slots(node.input, self.target.inputs, "input", self.target)
        _gate_slots(node.output, self.target.outputs, "output", self.target)

    def wrong_types(self, node: NodeProto, type_of: TypeOf) -> list[str]:
        """The values of `node` whose types the target does not accept, or which should have equal types but do not.

        Raises Unconvertible where a type that matters is unknown.
        """
        bound: dict[str, str] = {}
        wrong: list[str] = []
        for name, parameter in _slots(node, self.target):
            kind = type_of(name) or self._sibling_type(node, name, type_of)
            if kind is None:
                raise Unconvertible(
                    f"the type of '{name}' is unknown, and the form of opset {_span(self.target)} does not take all types",
                    "declare it in value_info",
                )
            unequal = _is_homogeneous(parameter) and bound.setdefault(parameter.type_str, kind) != kind
            if kind not in parameter.types or unequal:
                wrong.append(name)
        return wrong

    def refused_types(self, node: NodeProto, type_of: TypeOf) -> list[str]:
        """The values of `node` whose types are known and not accepted by the target."""
        refused: list[str] = []
        for names, taken in zip((node.input, node.output), self._taken, strict=True):
            for index, name in enumerate(names if taken else ()):
                kind = type_of(name) if name else None
                if kind is not None and kind not in taken[min(index, len(taken) - 1)]:
                    refused.append(name)
        return refused

    @cached_property
    def _taken(self) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
        """The types that the target accepts for each input and output.

        They are cached, since onnx makes a new set at each access.
        """
        inputs, outputs = ([frozenset(slot.types) for slot in slots] for slots in (self.target.inputs, self.target.outputs))
        return inputs, outputs

    def _sibling_type(self, node: NodeProto, name: str, type_of: TypeOf) -> str | None:
        """The type of another value that must have the same type as `name` in the source form; None where none is known."""
        slots = list(_slots(node, self.source))
        tied = next((parameter.type_str for slot, parameter in slots if slot == name and _is_homogeneous(parameter)), None)
        if tied is None:
            return None
        kinds = (type_of(slot) for slot, parameter in slots if parameter.type_str == tied and slot != name)
        return next((kind for kind in kinds if kind is not None), None)


def _slots(node: NodeProto, schema: OpSchema) -> Iterable[tuple[str, OpSchema.FormalParameter]]:
    """Each value of the node with the schema parameter that it belongs to."""
    for names, parameters in ((node.input, schema.inputs), (node.output, schema.outputs)):
        for index, name in enumerate(names):
            if name and parameters:
                yield name, parameters[min(index, len(parameters) - 1)]


def _gate_slots(names: Sequence[str], parameters: Sequence[OpSchema.FormalParameter], kind: str, target: OpSchema) -> None:
    """Raises Unconvertible where `names` do not fit the parameters of `target`; `kind` is "input" or "output"."""
    variadic = bool(parameters) and parameters[-1].option == _VARIADIC
    if len(names) > len(parameters) and not variadic:
        for name in names[len(parameters) :]:
            if name:
                raise Unconvertible(f"{kind} '{name}' does not exist in the form of opset {_span(target)}")
    for index, parameter in enumerate(parameters):
        if parameter.option == _SINGLE and (index >= len(names) or not names[index]):
            raise Unconvertible(f"{kind} {parameter.name} is required in the form of opset {_span(target)} and is absent")


_SINGLE = OpSchema.FormalParameterOption.Single
_VARIADIC = OpSchema.FormalParameterOption.Variadic


def _required(parameters: Sequence[OpSchema.FormalParameter]) -> list[bool]:
    """For each parameter, whether it is required."""
    return [parameter.option == _SINGLE for parameter in parameters]


def _is_homogeneous(parameter: OpSchema.FormalParameter) -> bool:
    """Whether all values of a variadic parameter must have one type."""
    return parameter.is_homogeneous and "(" not in parameter.type_str


def _parameters(schema: OpSchema) -> dict[str, OpSchema.FormalParameter]:
    """The parameters by position: "in0", "out1"."""
    return {
        f"{kind}{index}": parameter
        for kind, parameters in (("in", schema.inputs), ("out", schema.outputs))
        for index, parameter in enumerate(parameters)
    }


def _lost_types(source: OpSchema, target: OpSchema) -> frozenset[str]:
    """The types that a parameter accepts in the source but not in the target."""
    after = _parameters(target)
    return frozenset(
        kind
        for position, parameter in _parameters(source).items()
        if position in after
        for kind in set(parameter.types) - set(after[position].types)
    )


def _ties(schema: OpSchema) -> set[frozenset[str]]:
    """Pairs of parameters that share a type variable."""
    named = [(position, parameter.type_str) for position, parameter in _parameters(schema).items()]
    return {
        frozenset((one, other))
        for one, variable in named
        for other, same in named
        if one != other and variable == same and "(" not in variable
    }


def _differ(one: AttributeProto, other: AttributeProto) -> bool:
    """Whether two attributes have different values."""
    return one.SerializeToString() != other.SerializeToString()


def _holds_default(node: NodeProto, attribute: AttributeProto, declared: OpSchema.Attribute) -> bool:
    """Whether `attribute` of the node has the default value of the schema."""
    if attribute.ref_attr_name or declared.default_value.type == AttributeProto.UNDEFINED:
        return False
    value, default = helper.get_attribute_value(attribute), helper.get_attribute_value(declared.default_value)
    return value == default or is_empty_default(node.op_type, attribute.name, value)


def _shown(attribute: AttributeProto) -> str:
    """The value of `attribute` as messages show it."""
    if attribute.ref_attr_name:
        return f"{attribute.name} (a parameter of the function)"
    value = helper.get_attribute_value(attribute)
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return f"{attribute.name}={text}" if len(text) <= 40 else attribute.name


def _span(schema: OpSchema) -> str:
    """The since_version of a schema, as messages show it."""
    return str(schema.since_version)
