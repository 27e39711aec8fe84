"""Keys that are equal for regions of a conversion that are alike, so that running one of them is enough."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto

from ...opsets.type_protos import Shape, shape_of, type_string
from .changed_nodes import ChangedNode, GraphPair
from .dependence import FEW
from .division import Input, Region, element_count, is_small_whole_numbers
from .observation import Observations


class RegionKeys:
    """Makes the keys of regions, from operators, attributes, connections, types, shapes, and small constants."""

    def __init__(self, observations: Observations) -> None:
        self._observations = observations
        self._kinds: dict[bytes, _Kind] = {}

    def of_region(self, region: Region) -> Hashable:
        """The key of a region."""
        if region.problem:
            return region.problem, region.pair.where, tuple(region.outputs)
        numbers: dict[str, int] = {}
        symbols: dict[str, int] = {}
        parts: list[Hashable] = [region.pair.opsets]
        for name, value in region.inputs.items():
            numbers[name] = len(numbers)
            parts.append(self._described(value, symbols) if value.name else _stored(region.pair, name))
        for name, value in region.renamed.items():
            numbers[name] = numbers.setdefault(value, len(numbers))
        for node in (*region.old, None, *region.new):
            parts.append(None if node is None else self._node(node, numbers, region.pair))
        outputs = tuple((numbers[name], numbers.get(region.aliases.get(name, ""))) for name in region.outputs)
        return (*parts, outputs)

    def of_node(self, changed: ChangedNode) -> Hashable:
        """The key of the region that consists of a single node, which did not change."""
        node, pair = changed.node, changed.pair
        symbols: dict[str, int] = {}
        names = list(node.input)
        inputs = tuple([self._described(Input(pair, name), symbols) if name else None for name in names])
        wiring = tuple(map(names.index, names)) if len(set(names)) < len(names) else ()
        return pair.opsets, node.op_type, _attributes(node), inputs, wiring, tuple(map(bool, node.output))

    def _node(self, node: NodeProto, numbers: dict[str, int], pair: GraphPair) -> Hashable:
        inputs = []
        for name in node.input:
            if name and name not in numbers:
                numbers[name] = len(numbers)
                inputs.append(_stored(pair, name))
            inputs.append(numbers[name] if name else None)
        for name in node.output:
            numbers.setdefault(name, len(numbers))
        return node.op_type, node.domain, _attributes(node), tuple(inputs), tuple(numbers[name] for name in node.output)

    def _described(self, value: Input, symbols: dict[str, int]) -> Hashable:
        """The value of an input, or its type and shape.

        Symbolic dimensions are numbered in `symbols`, so that their names do not matter.
        """
        declared = value.pair.type(value.name)
        if declared is None:
            return "unknown", value.name
        data = declared.SerializeToString()
        kind = self._kinds.get(data)
        if kind is None:
            kind = self._kinds[data] = _Kind.of(declared)
        if kind.may_decide and (constant := _constant_of(value, kind.is_whole, self._observations)) is not None:
            return constant.dtype.str, constant.shape, _bytes(constant)
        if not kind.symbols:
            return data
        return kind.text, tuple([symbols.setdefault(d, -1 - len(symbols)) if isinstance(d, str) else d for d in kind.shape])


class _Kind(NamedTuple):
    """A type as schemas write it, its dimensions, and whether a constant of this type may be one of a few
    integers or of a few other numbers.
    """

    text: str
    shape: Shape
    symbols: bool
    is_whole: bool
    may_decide: bool

    @staticmethod
    def of(declared: TypeProto) -> _Kind:
        shape = shape_of(declared) or ()
        symbols = any(isinstance(dim, str) for dim in shape)
        is_whole = is_small_whole_numbers(declared)
        return _Kind(type_string(declared) or "", shape, symbols, is_whole, is_whole or _is_few(declared))


def _bytes(array: np.ndarray) -> Hashable:
    return tuple(array.reshape(-1).tolist()) if array.dtype.hasobject else array.tobytes()


def _stored(pair: GraphPair, name: str) -> Hashable:
    """A key for a tensor that only the result has: its data, or the reference to its payload where that is not in memory."""
    tensor = pair.new_tensor(name)
    if tensor is None:
        return "nothing", name
    nameless = TensorProto()
    nameless.CopyFrom(tensor)
    nameless.ClearField("name")
    return nameless.SerializeToString(deterministic=True)


def _attributes(node: NodeProto) -> Hashable:
    """A key for the attributes of a node."""
    return tuple(sorted([attribute.SerializeToString(deterministic=True) for attribute in node.attribute]))


def _is_few(kind: TypeProto) -> bool:
    """Whether a type has so few elements that a constant of this type is used as it is."""
    return kind.WhichOneof("value") == "tensor_type" and element_count(kind) <= FEW


def small_constant(value: Input, observations: Observations) -> np.ndarray | None:
    """The value of a constant that may decide what a node does, which are integers, and a few floating-point numbers; else None."""
    kind = value.pair.type(value.name)
    if kind is None:
        return None
    is_whole = is_small_whole_numbers(kind)
    return _constant_of(value, is_whole, observations) if is_whole or _is_few(kind) else None


def _constant_of(value: Input, is_whole: bool, observations: Observations) -> np.ndarray | None:
    """The value of a small constant, else None. Integers count also if they are computed from constants."""
    maker = value.pair.old_maker(value.name)
    is_stored = maker is None or maker[0].old_nodes[maker[1]].op_type == "Constant"
    return observations.constant(value) if is_stored or is_whole else None
