"""Recognises models that carry elements from place to place, for which few runs prove everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from onnx import NodeProto

from ...opsets import facts
from ...opsets.facts import Kind, Role

_CARRIES = frozenset({Kind.MOVES, Kind.SEQUENCE})
_NEVER = frozenset({Kind.RANDOM, Kind.CONTROL, Kind.STRING})
_READS_NO_ELEMENT = frozenset({Role.MEASURED, Role.TYPE})


def carries_only(model: onnx.ModelProto) -> bool:
    """Whether each element of each output is an element of an input, or a number that the inputs' shapes and the model's constants
    decide, and the shapes alone decide which.

    Two such models are the same for all inputs of some shapes if they agree on inputs whose elements all differ. A model whose
    callers may replace a constant is not counted among them.
    """
    carried = {value.name for value in model.graph.input}
    if not carried.isdisjoint(tensor.name for tensor in model.graph.initializer):
        return False
    for node in model.graph.node:
        row = facts.of(node.op_type, node.domain)
        if row is facts.UNKNOWN or row.kind in _NEVER:
            return False
        roles = set(_roles_of(row, node, carried)) - {frozenset({role}) for role in _READS_NO_ELEMENT}
        if not roles:
            continue
        if roles != {frozenset({Role.DATA})} or row.kind not in _CARRIES or row.has("unfolded") or _combines(node):
            return False
        carried.update(node.output)
    return True


def _roles_of(row: facts.Fact, node: NodeProto, names: Iterable[str]) -> Iterator[frozenset[Role]]:
    """The roles of those inputs of `node` that are among `names`."""
    return (row.role(index) for index, name in enumerate(node.input) if name in names)


def _combines(node: NodeProto) -> bool:
    """Whether the node adds up elements that come to the same place."""
    return any(attribute.name == "reduction" and attribute.s != b"none" for attribute in node.attribute)
