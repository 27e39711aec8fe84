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
    callers may replace a constant is not counted among them, nor one whose nodes are not in order.
    """
    graph = model.graph
    carried = {value.name for value in graph.input}
    stored = {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}
    if not carried.isdisjoint(stored):
        return False
    functions = {(function.domain, function.name) for function in model.functions}
    known = {"", *carried, *stored}
    for node in graph.node:
        row = facts.of(node.op_type, node.domain)
        is_function = (node.domain, node.op_type) in functions
        if row is facts.UNKNOWN or row.kind in _NEVER or is_function or not known.issuperset(node.input):
            return False
        known.update(node.output)
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
