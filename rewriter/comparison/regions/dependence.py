"""Tells values that follow from constants and lengths alone from those that depend on what the inputs of a model hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from onnx import NodeProto, TensorProto

from ...onnx_model.protos import captured, subgraphs
from ...opsets import facts
from ...opsets.facts import Role

FEW = 64
"""The number of elements up to which a floating-point constant is used as it is, as scales, bounds and exponents.

Larger ones are weights.
"""
MANY = 8192
"""The number of elements up to which integers may be sizes, axes or positions."""
_UNREAD = {Role.MEASURED, Role.TYPE}
_INTEGERS = (TensorProto.INT32, TensorProto.INT64)


def is_weight(tensor: TensorProto) -> bool:
    """Whether a stored tensor is so large that its elements are no sizes, axes, scales or the like."""
    return math.prod(tensor.dims) > (MANY if tensor.data_type in _INTEGERS else FEW)


def varying(nodes: Iterable[NodeProto], given: Iterable[str], is_varying: Callable[[str], bool]) -> frozenset[str]:
    """The values of a graph that depend on elements of inputs or weights, and not on lengths and constants alone.

    `nodes` are in topological order, and `given` are those of its inputs and stored values that are such. `is_varying` answers the
    same of values that the nodes do not make.
    """
    found, made = set(given), set[str]()
    for node in nodes:
        if any(name in found or (name not in made and is_varying(name)) for name in _decisive(node)):
            found.update(node.output)
        made.update(node.output)
    return frozenset(found)


def _decisive(node: NodeProto) -> Iterator[str]:
    """The values that `node` reads, but for those of which it reads only the type or the lengths."""
    row = facts.of(node.op_type, node.domain)
    for index, name in enumerate(node.input):
        if name and not row.role(index) <= _UNREAD:
            yield name
    for _, graph in subgraphs(node):
        yield from captured(graph)
