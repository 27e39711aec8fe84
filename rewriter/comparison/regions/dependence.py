"""Tells values that follow from constants and lengths alone from those that depend on what the inputs of a model hold."""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnx import NodeProto, TensorProto

from ...onnx_model.protos import captured, subgraphs
from ...opsets import facts
from ...opsets.facts import Role
from .changed_nodes import GraphPair

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


def depends_on_data(pair: GraphPair, name: str) -> bool:
    """Whether the value `name` of the original depends on elements of inputs or weights, not on lengths and constants alone."""
    pending, seen = [(pair, name)], {(id(pair), name)}
    while pending:
        pair, name = pending.pop()
        maker = pair.old_maker(name)
        if maker is None:
            tensor = pair.tensor(name)
            if tensor is None or is_weight(tensor):
                return True
            continue
        home, index = maker
        for read in _decisive(home.old_nodes[index]):
            if (id(home), read) not in seen:
                seen.add((id(home), read))
                pending.append((home, read))
    return False


def _decisive(node: NodeProto) -> Iterator[str]:
    """The values that `node` reads, but for those of which it reads only the type or the lengths."""
    row = facts.of(node.op_type, node.domain)
    for index, name in enumerate(node.input):
        if name and not row.role(index) <= _UNREAD:
            yield name
    for _, graph in subgraphs(node):
        yield from captured(graph)
