"""Brings operands that have to be vectors into that form: onnxruntime takes a scalar or a matrix as well, and rules do not."""

from __future__ import annotations

from ..graph.node import Node
from ..opsets import facts


def make_vectors(node: Node) -> None:
    """Reshape each operand of `node` that has to be a vector and is known to be of another rank."""
    for index in facts.of(node.op_type, node.proto.domain).vectors:
        if not node.has_input(index) or node.rank(index) in (None, 1):
            continue
        value = node.constant(index)
        if value is None:
            node.set_input(index, node.op.Reshape(node.input(index), node.op.int64([-1])))
        else:
            node.set_input(index, node.op.const(value.reshape(-1), value.dtype))
