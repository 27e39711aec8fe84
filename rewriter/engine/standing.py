"""Lengths that the author's nodes compute, for nodes that rules made: what stands there already is not computed again."""

from __future__ import annotations

from onnx import NodeProto, TensorProto

from ..graph.scope import Scope
from ..opsets import facts

_OF_SHAPES = facts.with_word("of-shapes")
"""Operators by which exporters compute with shapes. Equal nodes of these mean the same in the form of any opset."""
_MOST_ELEMENTS = 8
"""Elements of a constant that is compared by its value, not by its name."""

Essence = tuple[object, ...]
"""A key that is equal for values that are equal in every run."""


class Standing:
    """Values of one graph that the author's nodes of `_OF_SHAPES` compute before the node that is being converted."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._read = 0
        self._names: dict[Essence, str] = {}

    def find(self, node: NodeProto, position: int) -> str | None:
        """The value that `node`, made in the place of node number `position` of the graph, would compute again."""
        if node.op_type not in _OF_SHAPES or len(node.output) != 1:
            return None
        self._read_up_to(position)
        return self._names.get(self._essence(node)) if self._names else None

    def _read_up_to(self, position: int) -> None:
        """Take up the nodes that are converted by now and still there."""
        producers, nodes = self._scope.producers, self._scope.graph.node
        for index in range(self._read, position):
            node = nodes[index]
            if node.op_type in _OF_SHAPES and not node.domain and len(node.output) == 1 and producers.get(node.output[0]) is node:
                self._names.setdefault(self._essence(node), node.output[0])
        self._read = max(self._read, position)

    def _essence(self, node: NodeProto) -> Essence:
        attributes = sorted(attribute.SerializeToString() for attribute in node.attribute)
        return self._lengths(node.output[0]) or (node.op_type, *map(self._operand, node.input), *attributes)

    def _lengths(self, name: str) -> Essence | None:
        """The rank and the entries of a scalar or vector of the main graph, where all are numbers or lengths of inputs."""
        scope, known = self._scope, self._scope.model.input_dimensions
        if not scope.is_main or scope.elem_type(name) != TensorProto.INT64:
            return None
        entries, shape = scope.types.entries(name), scope.shape(name)
        if not entries or shape is None or not all(isinstance(entry, int) or entry in known for entry in entries):
            return None
        return (len(shape), *entries)

    def _operand(self, name: str) -> object:
        value = self._scope.constant(name) if name else None
        if value is None or value.size > _MOST_ELEMENTS or value.dtype == object:
            return self._scope.resolve(name)
        return value.dtype, value.shape, value.tobytes()
