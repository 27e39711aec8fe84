"""One node as the conditions of a profile see it: its values, settings and axes, by the names that the profile uses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from onnx import TensorProto, helper

from ...cached import cached_property
from ...graph.node import Node
from ...opsets import facts
from ...opsets.facts import Kind, Role
from ...opsets.transitions import schema_at
from ...opsets.type_protos import Dimension, Shape
from .naming import EVERY, FIRST, RESULT, input_index, output_index

LAYOUT: Mapping[str, int] = {"N": 0, "C": 1, "H": -2, "W": -1}
"""The usual names of axes, and the axes that they name."""
LONGEST_VALUE = 1024
"""The number of elements up to which a constant operand is looked into."""
_TYPED_CONSTANTS = 9
"""The first opset in which a Constant can be of any type."""
_OF_RANGES = frozenset((Role.START, Role.END, Role.STRIDE, Role.AXES))
_INTEGERS = (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)
_IMPLIED: Mapping[str, Any] = {"constant_value": 0, "min": -math.inf, "max": math.inf, "steps": [1]}
"""The values of operands that are left out."""
_OF_AXES = frozenset(["axis", "axes"])


def is_spelled_integer(node: Node) -> bool:
    """Whether the node is a Cast of a Constant of doubles to integers, as `Constant` is written for opsets before 9."""
    if node.op_type != "Cast" or node.elem_type(0) != TensorProto.DOUBLE or node.attr("to") not in _INTEGERS:
        return False
    source = node.maker(0)
    return source is not None and source.op_type == "Constant"


class Setting(NamedTuple):
    """An attribute or constant operand: what the node says of it."""

    value: Any = None
    """The number, word or list; None where it is not known."""
    is_default: bool = False
    """Whether it is left out, or stated with the default value of the specification."""
    is_missing: bool = False
    """Whether this version of the operator does not have it, or the node leaves it out and ONNX gives no value for that."""
    is_computed: bool = False
    """Whether it is computed at run time."""


class Site:
    """A node, seen with the `layout` of a profile."""

    def __init__(self, node: Node, layout: Mapping[str, int] = LAYOUT) -> None:
        self.node = node
        self.layout = layout

    # -- values

    def values(self, name: str) -> list[str]:
        """The values that `name` means; none where the node does not have them.

        `*` is all that flows through the node: its inputs and outputs but those constants that can only have the one type which the
        specification gives them, such as shapes and axes.
        """
        node = self.node
        if name == EVERY:
            return self._flowing
        index = input_index(node.op_type, node.opset, name)
        if index is not None:
            last = len(self._schema.inputs) - 1 if self._schema else index
            is_list = self._schema is not None and index == last and _is_variadic(self._schema.inputs[index])
            names = node.inputs[index:] if is_list else node.inputs[index : index + 1]
            return [value for value in names if value]
        index = output_index(node.op_type, node.opset, name)
        return [value for value in node.outputs[index : index + 1] if value] if index is not None else []

    def is_constant(self, value: str) -> bool:
        """Whether the value is stored, or dequantized from one that is, or cast from one as integers are written before opset 9. It
        is not read for that.
        """
        graph = self.node.graph
        if graph.tensor(value) is not None:
            return True
        maker = self.node.maker(value)
        if maker is None:
            return False
        if maker.op_type == "DequantizeLinear":
            return Site(maker).is_constant(maker.input(0))
        return maker.op_type == "Constant" or (self.node.opset < _TYPED_CONSTANTS and is_spelled_integer(maker))

    def has_default(self, value: str) -> bool:
        """Whether the value is an input of the model, for which the model stores a default."""
        return self.node.graph.is_input(value) and self.node.graph.may_be_stored(value)

    def is_empty(self, value: str) -> bool:
        """Whether the value is a constant without elements."""
        shape = self.shape(value)
        return shape is not None and 0 in shape and self.is_constant(value)

    @cached_property
    def _schema(self) -> Any:
        return schema_at(self.node.op_type, self.node.opset)

    @cached_property
    def _flowing(self) -> list[str]:
        node = self.node
        kept = [value for index, value in enumerate(node.inputs) if value and not self.is_parameter(index)]
        return list(dict.fromkeys([*kept, *(value for value in node.outputs if value)]))

    def is_parameter(self, index: int) -> bool:
        """Whether input `index` is a constant of a type that the specification fixes: a shape, axes, sizes."""
        schema = self._schema
        if schema is None or not schema.inputs:
            return False
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        return len(formal.types) == 1 and "int64" in next(iter(formal.types)) and self.is_constant(self.node.input(index))

    def is_range(self, value: str) -> bool:
        """Whether the value is a constant that only says from where, to where, in which steps and along which axes."""
        fact = facts.of(self.node.op_type)
        read = [index for index, name in enumerate(self.node.inputs) if name == value]
        return bool(read) and self.is_constant(value) and all(fact.role(index) <= _OF_RANGES for index in read)

    # -- types and shapes

    def element(self, value: str) -> str:
        """The element type, such as "float"; "" where it is unknown."""
        text = self.node.type_string(value)
        return "" if text is None else text.rpartition("(")[2].rstrip(")")

    def shape(self, value: str) -> Shape | None:
        return self.node.shape(value)

    @cached_property
    def rank(self) -> int | None:
        """The rank of the first input, or of the first output where there is no input."""
        first = self.values(FIRST) or self.values(RESULT)
        return self.node.rank(first[0]) if first else None

    def axis(self, name: str, rank: int | None) -> int | None:
        """The axis that `name`, a letter or a number, means in a tensor of `rank`; None where it has none.

        A letter means no axis that an earlier one means already, so that of three dimensions none is called H.
        """
        if rank is None:
            return None
        if name.lstrip("-").isdigit():
            return int(name) % rank if rank and -rank <= int(name) < rank else None
        taken: set[int] = set()
        for letter, place in self.layout.items():
            axis = place if place >= 0 else rank + place
            free = 0 <= axis < rank and axis not in taken
            if letter == name:
                return axis if free else None
            if free:
                taken.add(axis)
        return None

    # -- settings

    def setting(self, name: str) -> Setting:
        """The attribute or constant operand `name`, or what ONNX takes where the node leaves it out."""
        node, schema = self.node, self._schema
        if schema is not None and name in schema.attributes:
            formal = schema.attributes[name]
            has_default = formal.default_value.ByteSize() > 0 and formal.default_value.name != ""
            default = _plain(helper.get_attribute_value(formal.default_value)) if has_default else None
            if node.has_attr(name):
                value = _plain(node.attr(name))
                return Setting(value, is_default=value == default if has_default else value == self._implied(name))
            return self._left_out(name) if default is None else Setting(default, is_default=True)
        index = input_index(node.op_type, node.opset, name)
        if index is None:
            return Setting(is_missing=True, is_default=True)
        if not node.has_input(index):
            return self._left_out(name)
        return self._constant(node.input(index), name)

    def _constant(self, value: str, name: str) -> Setting:
        shape = self.shape(value)
        if shape is not None and all(isinstance(dim, int) for dim in shape):
            count = math.prod(dim for dim in shape if isinstance(dim, int))
            if count > LONGEST_VALUE:
                return Setting(is_computed=not self.is_constant(value))
        found = self.node.constant(value)
        if found is None:
            return Setting(is_computed=True)
        if not found.size and name == "scales":  # an empty one is as good as none
            return self._left_out(name)
        return Setting(_plain(found.tolist() if found.ndim < 2 else found.reshape(-1).tolist()))

    def _left_out(self, name: str) -> Setting:
        value = self._implied(name)
        return Setting(value, is_default=True, is_missing=value is None)

    def has_place_for(self, name: str) -> bool:
        """Whether this version of the operator has an attribute or an input `name`."""
        schema = self._schema
        is_attribute = schema is not None and name in schema.attributes
        return is_attribute or input_index(self.node.op_type, self.node.opset, name) is not None

    def _implied(self, name: str) -> Any:
        """The meaning of what is left out: strides of 1, no padding, all axes, the reversed order of the axes, …"""
        rank, node = self.rank, self.node
        if name in _IMPLIED:
            return _IMPLIED[name]
        if name.endswith("zero_point"):
            return 0
        if rank is None:
            return None
        if name in ("strides", "dilations"):
            return [1] * (rank - 2)
        if name == "output_padding":
            return [0] * (rank - 2)
        if name == "pads":
            return [0] * (2 * (rank - 2)) if str(node.attr("auto_pad", "NOTSET")) in ("NOTSET", "VALID") else None
        if name == "perm":
            return list(range(rank))[::-1]
        if name == "axes" and facts.of(node.op_type).kind is Kind.REDUCES and not node.attr("noop_with_empty_axes", 0):
            return list(range(rank))
        if name == "kernel_shape" and node.has_input(1):
            return _numbers(node.shape(1), 2)
        if name == "scales":
            return _ratios(node.shape(0), node.shape(node.output(0)))
        return None

    def axes_of(self, name: str, value: Any) -> Any:
        """`value`, with axes that count from the end counted from the front, where `name` holds axes and the rank is known."""
        if name not in _OF_AXES:
            return value
        rank = self.rank_of_axes(name)
        if rank is None:
            return value
        if isinstance(value, list):
            return [self.axes_of(name, one) for one in value]
        if isinstance(value, str):
            return self.axis(value, rank) if value in self.layout else value
        return value % rank if isinstance(value, int) and rank and -rank <= value < rank else value

    def rank_of_axes(self, name: str) -> int | None:
        """The rank of the tensor whose axes `name` counts: with Unsqueeze and its like that of the output."""
        node, row = self.node, facts.of(self.node.op_type)
        is_added = any(Role.ADDED in row.role(index) for index in range(len(row.roles))) and name == "axes"
        return node.rank(node.output(0)) if is_added else self.rank

    def elements(self, name: str, value: list[Any], place: str) -> list[Any] | None:
        """The elements of a list that are at `place`: "*", a number, or the letter of an axis. None where the rank is unknown."""
        if place == EVERY:
            return value
        if place.lstrip("-").isdigit():
            index = int(place)
            return [value[index]] if -len(value) <= index < len(value) else []
        rank = self.rank
        if rank is None:
            return None
        axis = self.axis(place, rank)
        halves = [value[: len(value) // 2], value[len(value) // 2 :]] if name == "pads" else [value]
        skipped = rank - len(halves[0])
        return [half[axis - skipped] for half in halves if axis is not None and 0 <= axis - skipped < len(half)]


def _is_variadic(formal: Any) -> bool:
    return formal.option.name == "Variadic"


def _plain(value: Any) -> Any:
    """A value as TOML has it: text decoded, flags as numbers."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, bool):
        return int(value)
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _numbers(shape: Shape | None, start: int) -> list[int] | None:
    found = [dim for dim in (shape or ())[start:] if isinstance(dim, int)]
    return found if shape is not None and len(found) == len(shape) - start else None


def _ratios(before: Shape | None, after: Shape | None) -> list[float] | None:
    if before is None or after is None or len(before) != len(after):
        return None
    ratios = [_ratio(old, new) for old, new in zip(before, after, strict=True)]
    return None if None in ratios else [ratio for ratio in ratios if ratio is not None]


def _ratio(before: Dimension, after: Dimension) -> float | None:
    if before == after and before is not None:
        return 1.0
    return after / before if isinstance(before, int) and isinstance(after, int) and before else None
