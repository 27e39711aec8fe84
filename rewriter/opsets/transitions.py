"""The changes between two versions of an operator: derived from the schemas of the installed onnx, and reviewed by people.

The schemas show which attributes, inputs, outputs and types were added or removed (`Delta`). `reviewed.txt` says which transitions
change more than that. A transition that nobody has reviewed is refused. This module does not know the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import onnx
from onnx import AttributeProto, NodeProto, defs, helper

from ..cached import cached_property
from ..errors import Unconvertible
from . import facts
from .inference import elem_type_name, type_string

OpSchema = defs.OpSchema
Attribute = AttributeProto
TypeOf = Callable[[str], str | None]
"""A function that returns the type of a value by its name, as schemas write it, or None where it is unknown."""

DROPPED_WITHOUT_LOSS = frozenset({"consumed_inputs"})
"""Attributes of opset 1 that never had an effect."""


def newest_opset() -> int:
    """The newest opset of the default domain that the installed onnx knows and has released."""
    return defs.onnx_opset_version()


def all_operators() -> frozenset[str]:
    """All operators of the default domain, including those that its newest opset deprecates."""
    return frozenset(schema.name for schema in defs.get_all_schemas() if not schema.domain)


@cache
def schema_at(op_type: str, opset: int) -> OpSchema | None:
    """The schema that `op_type` of the default domain has at `opset`; None where it does not exist there."""
    try:
        return defs.get_schema(op_type, opset, "")
    except defs.SchemaError:
        return None


@cache
def form_opset(op_type: str, opset: int) -> int:
    """The opset in whose form nodes of `op_type` are in a model of `opset`.

    It is older than `opset` where the operator is deprecated.
    """
    schema = schema_at(op_type, opset)
    if schema is None or not schema.deprecated or schema_at(op_type, schema.since_version - 1) is None:
        return opset
    return schema.since_version - 1


@dataclass(frozen=True)
class Transition:
    """One version step of an operator; `older` is None where `newer` is the operator's first version."""

    op_type: str
    newer: int
    older: int | None
    up: bool

    def __str__(self) -> str:
        return f"{self.newer - 1}→{self.newer}" if self.up else f"{self.newer}→{self.newer - 1}"

    @property
    def opset_after(self) -> int:
        """The opset in whose form a node is after this step."""
        return self.newer if self.up else self.newer - 1

    @cached_property
    def review(self) -> str | None:
        """The reviewed code for this direction ("R", "A", "T", "H", …); None where nobody has reviewed it."""
        codes = _reviewed().get((self.op_type, self.newer))
        return None if codes is None else codes[0 if self.up else 1]

    @cached_property
    def delta(self) -> Delta:
        """The differences of the schemas in this step."""
        newer, older = schema_at(self.op_type, self.newer), schema_at(self.op_type, self.newer - 1)
        if newer is None or older is None:
            raise ValueError(f"{self.op_type} {self} is no step between two versions")
        return Delta(older, newer) if self.up else Delta(newer, older)


@cache
def path(op_type: str, source: int, target: int) -> tuple[Transition, ...]:
    """The steps that take `op_type` from its form at opset `source` to its form at `target`, in order.

    The last step down has `older` None where the operator is newer than the target. Raises ValueError where the operator does not
    exist at `source`.
    """
    if schema_at(op_type, source) is None:
        raise ValueError(f"{op_type} does not exist at opset {source}")
    low, high = min(source, target), max(source, target)
    versions: list[int] = []
    schema = schema_at(op_type, high)
    while schema is not None and schema.since_version > low:
        versions.append(schema.since_version)
        schema = schema_at(op_type, schema.since_version - 1)
    older = [*versions[1:], None if schema is None else schema.since_version]
    steps = [Transition(op_type, new, old, source < target) for new, old in zip(versions, older, strict=False)]
    return tuple(reversed(steps)) if source < target else tuple(steps)


@cache
def form_of_rules(op_type: str, opset: int) -> Delta | None:
    """The differences between the newest schema of `op_type` and that of `opset`, in whose form a rule
    wrote a node; None where it has none.
    """
    newest, form = schema_at(op_type, newest_opset()), schema_at(op_type, opset)
    return None if newest is None or form is None else Delta(newest, form)


def may_hide_mistakes(op_type: str, source: int, target: int) -> bool:
    """Whether an invalid `op_type` node of opset `source` may become, or already be, a valid one of opset `target`."""
    before, after = schema_at(op_type, source), schema_at(op_type, target)
    return before is None or after is None or _outline(before) != _outline(after)


def _outline(schema: OpSchema) -> tuple[object, ...]:
    """Everything in a schema that decides which attributes and how many inputs and outputs are valid."""
    attributes = {name: (attribute.type, attribute.required) for name, attribute in schema.attributes.items()}
    parameters = [(parameter.option, parameter.min_arity) for parameter in (*schema.inputs, *schema.outputs)]
    return attributes, parameters, len(schema.inputs), schema.deprecated


@cache
def _reviewed() -> dict[tuple[str, int], tuple[str, str]]:
    """The reviewed codes in `reviewed.txt`, up and down, by operator and newer since_version."""
    codes: dict[tuple[str, int], tuple[str, str]] = {}
    for line in (Path(__file__).parent / "reviewed.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            op_type, *entries = line.split()
            for entry in entries:
                newer, _, pair = entry.partition(":")
                up, _, down = pair.partition("/")
                codes[op_type, int(newer)] = (up, down)
    return codes


def unreviewed(newest: int) -> list[str]:
    """The transitions up to opset `newest` that `reviewed.txt` lacks, as "Op 17→18"."""
    known = _reviewed()
    found: list[str] = []
    for op_type in sorted(all_operators()):
        first = next((version for version in range(1, newest + 1) if schema_at(op_type, version) is not None), newest)
        steps = path(op_type, first, newest) if schema_at(op_type, first) is not None else ()
        found += [f"{op_type} {step}" for step in steps if (op_type, step.newer) not in known]
    return found


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
            if attribute.name not in DROPPED_WITHOUT_LOSS and not _holds_default(attribute, self.lost_attributes[attribute.name]):
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


def _holds_default(attribute: AttributeProto, declared: OpSchema.Attribute) -> bool:
    """Whether `attribute` has the default value of the schema."""
    if attribute.ref_attr_name or declared.default_value.type == AttributeProto.UNDEFINED:
        return False
    return helper.get_attribute_value(attribute) == helper.get_attribute_value(declared.default_value)


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
