"""The class Node: one node of the model, with everything that a rule may ask about it or do to it.

A Node is a thin view of an onnx NodeProto, which holds the data. This module does not know any rule.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, helper
from onnx.defs import OpSchema

from ..errors import NotSimplified, Unconvertible
from ..opsets import inference
from ..opsets.choices import other_choices
from ..opsets.inference import Dimension, Shape
from ..opsets.transitions import schema_at
from ..storage.payload import element_dtype
from . import hints
from .operators import Operators
from .protos import GRAPH_HOLDERS, reads, shown_name
from .scope import Scope

if TYPE_CHECKING:
    from .names import Semantics

_OPTIONAL = OpSchema.FormalParameterOption.Optional


class Node:
    """One node, in the form of `opset`, with everything that a rule may ask about it or do to it.

    Rules edit it in place, put nodes before (`op`) or `after` it, let it `become` another operator, or `remove` it.
    """

    __slots__ = (
        "_scope",
        "added_after",
        "added_before",
        "approximate",
        "behind",
        "body_opset",
        "cautions",
        "changed",
        "kept",
        "opset",
        "proto",
        "removed",
        "settled",
        "source_index",
        "why",
        "written_for",
    )

    def __init__(self, proto: NodeProto, scope: Scope, opset: int, source_index: int | None = None) -> None:
        self.proto = proto
        self._scope = scope
        self.opset = opset
        self.source_index = source_index
        """The position in the original node list; None for a node that a rule made."""
        self.body_opset = opset
        """The opset in whose form the nodes of the subgraphs are."""
        self.written_for = opset
        """The opset in whose form the current rule makes nodes; the engine sets it."""
        self.added_before: list[Node] = []
        self.added_after: list[Node] = []
        self.behind = 0
        """The number of nodes in `added_after` from the current rule. They come before those of earlier rules, which read them."""
        self.cautions: list[str] = []
        self.approximate = False
        """An otherwise exact rule sets this where the last bits of the result may differ for this node."""
        self.changed = False
        self.removed = False
        self.why = ("", "")
        """Why a rule replaced one node by nodes such as this one, and a hint; for the message if this node cannot be converted."""
        self.kept: NotSimplified | Unconvertible | None = None
        """Why a simplification left the node as it is; part of the message if the node cannot be converted."""
        self.settled = False
        """Whether the node is done: no rule changes it any more."""

    def begin_rule(self, written_for: int) -> None:
        """Prepare for a rule that makes nodes in the form of opset `written_for`."""
        self.written_for = written_for
        self.behind = 0

    # -- what it is

    @property
    def scope(self) -> Scope:
        """The graph that contains the node."""
        return self._scope

    @property
    def where(self) -> str:
        """The path to the graph that contains the node, for messages."""
        return self._scope.where

    def meets(self, condition: Callable[[NodeProto, Scope], bool]) -> bool:
        """Whether the precondition of a rule, its `when`, holds for this node."""
        return condition(self.proto, self._scope)

    @property
    def is_in_main_graph(self) -> bool:
        """Whether the node is in the main graph, where it always runs, and not in a function or a subgraph."""
        return self._scope.is_main

    @property
    def op_type(self) -> str:
        return self.proto.op_type

    @property
    def name(self) -> str:
        """The name of the node, or that of its first output if the node has none."""
        return shown_name(self.proto)

    @property
    def inputs(self) -> list[str]:
        return list(self.proto.input)

    @property
    def outputs(self) -> list[str]:
        return list(self.proto.output)

    def has_input(self, index: int) -> bool:
        """Whether input `index` exists; an input with an empty name counts as absent."""
        return self.input(index) != ""

    def has_output(self, index: int) -> bool:
        return self.output(index) != ""

    def input(self, index: int) -> str:
        """The name of input `index`, or "" where it is absent."""
        names = self.proto.input
        return names[index] if index < len(names) else ""

    def output(self, index: int) -> str:
        names = self.proto.output
        return names[index] if index < len(names) else ""

    # -- attributes

    def _attribute(self, name: str) -> AttributeProto | None:
        for attribute in self.proto.attribute:
            if attribute.name == name:
                return attribute
        return None

    @property
    def depends_on_call(self) -> bool:
        """Whether an attribute is a parameter of the function around the node, or calls of it may leave out an optional input."""
        return any(attribute.ref_attr_name for attribute in self.proto.attribute) or self.uncertain_input != ""

    def require_values(self) -> None:
        """Raises Unconvertible where the node depends on the call of the function around it."""
        for attribute in self.proto.attribute:
            _require_value(attribute)
        name = self.uncertain_input
        if name:
            raise Unconvertible(
                f"calls of the function may leave out its input '{name}', which is optional in the node",
                "remove the function, or inline it before converting",
            )

    @property
    def uncertain_input(self) -> str:
        """The first optional input of the node that calls of the function around it may leave out; "" where there is none."""
        uncertain = self._scope.uncertain
        schema = schema_at(self.op_type, self.opset) if uncertain and not uncertain.isdisjoint(self.proto.input) else None
        if schema is None:
            return ""
        pairs = zip(self.proto.input, schema.inputs, strict=False)
        return next((name for name, known in pairs if name in uncertain and known.option == _OPTIONAL), "")

    def has_attr(self, name: str) -> bool:
        return self._attribute(name) is not None

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute's value in Python (strings decoded), or `default` if it is absent.

        A float is rounded to float32, as attributes are.

        Raises Unconvertible where a function's caller sets the attribute, or where it is a word that the specification does not
        list.
        """
        attribute = self._attribute(name)
        if attribute is not None:
            return self._value_of(attribute)
        return struct.unpack("f", struct.pack("f", default))[0] if isinstance(default, float) else default

    def set_attr(self, name: str, value: Any) -> None:
        attribute = self._attribute(name)
        if attribute is None:
            attribute = self.proto.attribute.add()
        _fill(attribute, name, value)
        self.changed = True

    def pop_attr(self, name: str, default: Any = None) -> Any:
        """Remove the attribute and return its value, or `default` if it is absent."""
        for index, attribute in enumerate(self.proto.attribute):
            if attribute.name == name:
                value = self._value_of(attribute)
                del self.proto.attribute[index]
                self.changed = True
                return value
        return default

    def _value_of(self, attribute: AttributeProto) -> Any:
        value = _attribute_value(attribute)
        if known := other_choices(self.op_type, attribute.name, value):
            raise Unconvertible(f"{attribute.name} is {value!r}; {self.op_type} has only {known}", "set it to one of these")
        return value

    # -- inputs and outputs

    def set_input(self, index: int, name: str) -> None:
        """Set input `index` to `name`. Missing inputs before it become absent ones."""
        self._scope.model.new_uses.add(name)
        self.proto.input.extend([""] * (index + 1 - len(self.proto.input)))
        self._lose(self.proto.input[index])
        self.proto.input[index] = name
        self.changed = True

    def add_input(self, name: str) -> None:
        self._scope.model.new_uses.add(name)
        self.proto.input.append(name)
        self.changed = True

    def drop_input(self, index: int) -> None:
        """Make input `index` absent. Absent inputs at the end of the list are removed."""
        if index >= len(self.proto.input):
            return
        self._lose(self.proto.input[index])
        self.proto.input[index] = ""
        while self.proto.input and self.proto.input[-1] == "":
            del self.proto.input[-1]
        self.changed = True

    def _lose(self, name: str) -> None:
        if name:
            self._scope.model.lost_uses.add(name)

    def set_output(self, index: int, name: str) -> None:
        self.proto.output.extend([""] * (index + 1 - len(self.proto.output)))
        self._scope.model.retired.add(self.proto.output[index])
        self.proto.output[index] = name
        if name:
            self._scope.producers[name] = self.proto
        self.changed = True

    def detach_output(self, index: int, what: str) -> str:
        """Give output `index` a fresh name and return it, so that a node put `after` this one can make the old name.

        The caller knows that the value keeps its type, or states the new type by the node that it adds.
        """
        fresh = self.fresh_name(what)
        self.proto.output[index] = fresh
        self._scope.register(self.proto, self.opset)
        self.changed = True
        return fresh

    def declare(self, name: str, elem_type: int) -> None:
        """State the element type of the value `name` in the graph's value_info, unless the graph states it already."""
        graph = self.scope.graph
        if isinstance(graph, GraphProto) and self.scope.types.declared(name) is None:
            graph.value_info.add(name=name, type=helper.make_tensor_type_proto(elem_type, None))

    def name_dimensions(self, index: int = 0) -> None:
        """State the shape of output `index` in the graph's value_info, with a name for each dimension that has none.

        This is the name that the graph states already, or a new one. A name of a model input's dimension is not taken over, since
        it promises equal sizes.
        """
        name, elem_type = self.output(index), self.output_elem_type(index)
        graph, shape = self.scope.graph, self.scope.shape(name)
        if shape is None or elem_type is None or name in self.scope.outputs or not isinstance(graph, GraphProto):
            return
        stated = self.scope.types.declared(name)
        if stated is None:
            stated = graph.value_info.add(name=name).type
        known = inference.shape_of(stated) or ()
        names = [dim if isinstance(dim, str) and dim not in self.scope.model.input_symbols else None for dim in known]
        if len(names) != len(shape):
            names = [None] * len(shape)
        named = [names[axis] or f"{name}_dim_{axis}" if dim is None else dim for axis, dim in enumerate(shape)]
        stated.CopyFrom(helper.make_tensor_type_proto(elem_type, named))

    def drop_output(self, index: int) -> None:
        """Make output `index` absent. Absent outputs at the end of the list are removed."""
        self._scope.model.retired.add(self.proto.output[index])
        self.proto.output[index] = ""
        while self.proto.output and self.proto.output[-1] == "":
            del self.proto.output[-1]
        self.changed = True

    # -- what is known

    def constant(self, index: int) -> np.ndarray | None:
        """The value of input `index` if it is the same in every run; None where it is not, or where the input is absent."""
        return self._scope.constant(self.input(index)) if self.has_input(index) else None

    def const_input(self, index: int, what: str) -> np.ndarray:
        """As `constant`, but raises Unconvertible, which calls the input `what`, where the value is only known at run time."""
        value = self.constant(index)
        if value is None:
            name = self.input(index)
            why = "may be overridden by the caller" if self._is_overridable(name) else "is computed at run time"
            raise Unconvertible(f"{what} '{name}' {why}, and the older form needs a constant", MAKE_CONSTANT)
        return value

    def _is_overridable(self, name: str) -> bool:
        scope = self._scope.find(name)
        return scope is not None and name in scope.constants.overridable

    def is_captured(self, index: int) -> bool:
        """Whether input `index` is defined in an outer graph."""
        return self.has_input(index) and self._scope.find(self.input(index)) is not self._scope

    def declared_type(self, index: int) -> TypeProto | None:
        """The type that the model states for input `index`, without any inference."""
        return self._scope.types.declared(self.input(index)) if self.has_input(index) else None

    def declared_output_shape(self, index: int) -> Shape | None:
        """The shape that the model states for output `index`, without any inference; None where it states none."""
        stated = self._scope.types.declared(self.output(index)) if self.has_output(index) else None
        return None if stated is None else inference.shape_of(stated)

    def elem_type(self, index: int = 0) -> int | None:
        """The TensorProto.DataType of input `index`; None where it is unknown or the input is absent."""
        return self._scope.elem_type(self.input(index)) if self.has_input(index) else None

    def output_elem_type(self, index: int = 0) -> int | None:
        """The TensorProto.DataType of output `index`; None where it is unknown or the output is absent."""
        return self._scope.elem_type(self.output(index)) if self.has_output(index) else None

    def wider(self, elem_type: int) -> int:
        """The element type in which the result holds values of `elem_type`: the same, or a wider one where the target lacks it."""
        return self._scope.model.wider.get(elem_type, elem_type)

    def rounds_to(self, elem_type: int) -> bool:
        """Whether results in place of `elem_type`, which the target lacks, have to be rounded to the numbers of that type."""
        return elem_type not in self._scope.model.unrounded

    def type_string(self, name: str) -> str | None:
        """The type of `name`, an input or output of this node, as `Scope.type_string` gives it."""
        inputs = self.inputs
        return self.type_of_slot(inputs.index(name) if name in inputs else ~self.outputs.index(name))

    def type_of_slot(self, slot: int) -> str | None:
        """The type of input `slot`, or for a negative `slot` of output `~slot`, as `Scope.type_string` gives it."""
        return self._scope.type_string(self.input(slot) if slot >= 0 else self.output(~slot))

    def need_elem_type(self, index: int = 0) -> int:
        """The element type of input `index`. Raises Unconvertible where it is unknown."""
        number = self.elem_type(index)
        if number is None:
            raise Unconvertible(f"the type of '{self.input(index)}' is unknown", hints.type_hint(self._scope, self.input(index)))
        return number

    def shape(self, index: int = 0) -> Shape | None:
        return self._shape(index)

    def _shape(self, index: int) -> Shape | None:
        name = self.input(index)
        return self._scope.shape(name) if name else None

    def output_shape(self, index: int = 0) -> Shape | None:
        return self._scope.shape(self.output(index)) if self.has_output(index) else None

    def rank(self, index: int = 0) -> int | None:
        name = self.input(index)
        return self._scope.types.rank(name) if name else None

    def need_rank(self, index: int = 0) -> int:
        """The rank of input `index`. Raises Unconvertible where it is unknown."""
        rank = self.rank(index)
        if rank is None:
            raise Unconvertible(f"the rank of '{self.input(index)}' is unknown", self.shape_hint(index))
        return rank

    def need_shape(self, index: int = 0) -> tuple[int, ...]:
        """All dimensions of input `index`. Raises Unconvertible where one is unknown."""
        shape = self._shape(index)
        if shape is None:
            self.need_rank(index)
        known = tuple(dim for dim in shape or () if isinstance(dim, int))
        if shape is None or len(known) != len(shape):
            raise Unconvertible(f"the shape {_show(shape)} of '{self.input(index)}' is not fully known", self.shape_hint(index))
        return known

    def dimension(self, axis: int, index: int = 0) -> Dimension:
        """The length of axis `axis` (may be negative) of input `index`: a number, a symbol, or None where it is unknown."""
        name = self.input(index)
        return self._scope.types.size(name, axis) if name else None

    def need_dimension(self, axis: int, index: int = 0) -> int:
        """As `dimension`, but raises Unconvertible where the length is not a number."""
        dim = self.dimension(axis, index)
        if not isinstance(dim, int):
            label = f"the axis dimension '{dim}'" if dim else f"dimension {axis}"
            raise Unconvertible(f"{label} of '{self.input(index)}' is unknown", self.shape_hint(index))
        return dim

    def shape_hint(self, index: int = 0) -> str:
        """What the user can do to make the shape of input `index` known."""
        return hints.shape_hint(self._scope, self.input(index))

    # -- making things

    def fresh_name(self, what: str) -> str:
        """A new name, `<first output>_<what>`, which is unique in the whole model."""
        return self._scope.model.fresh_name(f"{self._first_output}_{what}")

    @property
    def _first_output(self) -> str:
        return next(filter(None, self.proto.output), self.proto.name or self.proto.op_type)

    def _add_constant(self, value: Any, dtype: Any) -> str:
        if isinstance(dtype, int):
            dtype = object if dtype == TensorProto.STRING else element_dtype(TensorProto(data_type=dtype))
        beyond = Unconvertible(f"it would need the constant {value}, beyond {np.dtype(dtype)}", "correct the model")
        try:
            with np.errstate(over="ignore"):
                array = np.array(value, dtype)
        except OverflowError:
            raise beyond from None
        if isinstance(value, float) and not _is_held(value, array):
            raise beyond
        return self._constant_name(self._scope.constants.add(array, f"{self._first_output}_constant"))

    def require_held(self, name: str, kind: int) -> None:
        """Raises Unconvertible where the type `kind` turns the number in attribute `name` into 0 or an infinity."""
        number = self.attr(name)
        with np.errstate(over="ignore"):
            array = np.array(number, element_dtype(TensorProto(data_type=kind)))
        if not _is_held(number, array):
            raise Unconvertible(f"{name}={number:g} becomes {float(array):g} in {array.dtype}", "correct the model")

    def add_tensor(self, tensor: TensorProto) -> str:
        """Add a constant tensor that has a name already, and return the name.

        The payload may stay on disk where initializers are possible.
        """
        return self._constant_name(self._scope.constants.add_tensor(tensor))

    def _constant_name(self, made: str | NodeProto) -> str:
        if isinstance(made, str):
            return made
        # Constant-1 takes floats only: let the node be one of opset 9, whose way down knows what to do.
        self._queue(made, (), self.added_before, max(self.written_for, 9))
        return made.output[0]

    @property
    def op(self) -> Operators:
        """Makes nodes before this one: `node.op.Mul(a, b)` returns the name of the product. `node.op.const` makes a constant."""
        return Operators(partial(self._make, self.added_before), self._add_constant)

    @property
    def after(self) -> Operators:
        """Makes nodes after this one, in the order in which the rule makes them."""
        return Operators(partial(self._make, self.added_after), self._add_constant)

    def _make(
        self,
        where: list[Node],
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str] | int,
        attributes: dict[str, Any],
        opset: int | None,
    ) -> list[str]:
        label = op_type.lower()
        names = [self.fresh_name(label) for _ in range(outputs)] if isinstance(outputs, int) else list(outputs)
        model = self._scope.model
        if self.proto.name:
            node_name = model.fresh_name(f"{self.name}_{label}_node")
        else:
            node_name = names[0] if isinstance(outputs, int) else model.node_name(names[0])
        made = model.workshop.node.add(op_type=op_type, input=inputs, output=names, name=node_name)
        for key, value in sorted(attributes.items()):
            _fill(made.attribute.add(), key, value)
        self._queue(made, reads(made) if op_type in GRAPH_HOLDERS else inputs, where, opset)
        return names

    def add_node(self, proto: NodeProto, opset: int | None = None) -> None:
        """Put a ready-made node, written for `opset`, before this one; its output names must be fresh or this node's."""
        self._queue(proto, reads(proto), self.added_before, opset)

    def _queue(self, proto: NodeProto, read: Sequence[str], where: list[Node], opset: int | None) -> None:
        """Put `proto`, which reads the values `read`, among the nodes that the rule at work made."""
        opset = opset or self.written_for
        self._scope.model.new_uses.update(read)
        self._scope.register(proto, opset)
        made = Node(proto, self._scope, opset)
        made.why = self.why
        if where is self.added_after:
            where.insert(self.behind, made)
            self.behind += 1
        else:
            where.append(made)
        self.changed = True

    @property
    def become(self) -> Operators:
        """Turns this node into another operator with the same outputs, name and documentation: `node.become.Mul(a, b)`."""
        return Operators(self._become, self._add_constant)

    def _become(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str] | int, attributes: dict[str, Any], opset: int | None
    ) -> list[str]:
        for name in self.proto.input:
            self._lose(name)
        model = self._scope.model
        model.new_uses.update(inputs)
        if self.proto.op_type == "Constant" and model.shares_node_name(self.proto.name):
            self.proto.name = self.fresh_name("node")  # runtimes let only Constants share the name of another node
        self.proto.op_type = op_type
        self.proto.ClearField("domain")
        del self.proto.input[:]
        self.proto.input.extend(inputs)
        del self.proto.attribute[:]
        for key, value in attributes.items():
            _fill(self.proto.attribute.add(), key, value)
        self.opset = opset or self.written_for
        self._scope.nodes_changed()
        self._scope.note_maker(self.proto)
        self.changed = True
        return self.outputs or [""]

    def remove(self) -> None:
        """Remove this node. Its outputs have to be made by nodes before or after it, or must not be read by anything."""
        self._scope.forget(self.proto)
        self.removed = self.changed = True

    def forward(self, index: int, value: str) -> None:
        """Let everything that reads output `index` read `value` instead. An output of the graph keeps its name."""
        name, value = self.output(index), self._scope.resolve(value)
        if not name or name == value:
            return
        if name in self._scope.outputs and self._scope.rename_made(value, name):
            self.proto.output[index] = ""
            self.changed = True
            return
        if name in self._scope.outputs or not self._scope.model.is_unique(name) or not self._scope.model.is_unique(value):
            self.proto.output[index] = ""
            self.after.Identity(value, output=name)
            return
        self._scope.alias(name, value)
        self._scope.model.new_uses.add(value)
        self._scope.model.lost_uses.add(name)
        self.changed = True

    # -- saying things

    def explain(self, why: str, hint: str = "") -> None:
        """State why the nodes made from here on are needed ("the sizes 's' are computed at run time"),
        unless a reason is known already.
        """
        if not self.why[0]:
            self.why = (why, hint)

    def leave(self, reason: str) -> None:
        """End a simplification without changing the node. The report states the reason."""
        raise NotSimplified(reason)

    def meaning(self, specification: str, onnxruntime: str) -> Semantics:
        """Whose meaning this node has; the arguments say what it does by the specification, and what onnxruntime does instead.

        Raises Unconvertible, which names both, where the caller has not decided that for the model.
        """
        semantics: Semantics | None = self._scope.model.semantics
        if semantics is None:
            raise Unconvertible(
                f"it has two meanings: by the specification {specification}, and onnxruntime {onnxruntime}", _SEMANTICS_HINT
            )
        return semantics

    def caution(self, message: str) -> None:
        """Add a warning about this node to the report; with --strict it is an error."""
        self.cautions.append(message)


_SEMANTICS_HINT = "choose one with --semantics specification or --semantics onnxruntime"
MAKE_CONSTANT = "make it a constant (an initializer that is not a graph input), for example by exporting with fixed sizes"
"""The hint for an operand that is computed at run time but has to be constant."""


def _is_held(number: float, array: np.ndarray) -> bool:
    """Whether `array`, which holds `number` in some type, is neither 0 nor an infinity, unless the number is."""
    held = float(array)
    return not number or not math.isfinite(number) or (held != 0 and math.isfinite(held))


def _show(shape: Shape | None) -> str:
    return "?" if shape is None else "(" + ", ".join("?" if dim is None else str(dim) for dim in shape) + ")"


def _fill(attribute: AttributeProto, name: str, value: Any) -> None:
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


def _require_value(attribute: AttributeProto) -> None:
    if attribute.ref_attr_name:
        raise Unconvertible(
            f"attribute {attribute.name} is a parameter of the function ('{attribute.ref_attr_name}')",
            "remove the function, or inline it before converting",
        )


def _attribute_value(attribute: AttributeProto) -> Any:
    _require_value(attribute)
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
