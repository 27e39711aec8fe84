"""Reshapes that do no work when the model runs, and at which onnxruntime stops to move a Transpose.

Its optimizer moves Transposes towards the outputs before it looks for normalizations and for products of transposed matrices, of
which it then finds some no longer. It does not move one past a Reshape, unless all sizes are known and the rank stays.
"""

from __future__ import annotations

from ...rewriter.graph.node import Node

_MOVED_PAST = frozenset({"Add", "Cast", "Concat", "Div", "Gather", "Mul", "Neg", "Slice", "Split", "Sub"})
"""Operators of which models compute rotated keys, and past which onnxruntime moves a Transpose."""
_MAX_LOOK_BACK = 8
"""Nodes between a rotation and the Transpose before it: five, as exporters write it, and one or two that join the past."""


def fenced(node: Node, name: str, rank: int) -> str:
    """`name` behind a Reshape to the shape that it has."""
    return node.op.Reshape(name, node.op.int64([0] * rank))


def is_transposed(node: Node, name: str) -> bool:
    """Whether a Transpose makes `name`."""
    return _maker(node, name) == "Transpose"


def may_be_transposed(node: Node, name: str, steps: int = _MAX_LOOK_BACK) -> bool:
    """Whether onnxruntime may move a Transpose as far as `name`: one that is up to `steps` nodes back."""
    maker = _maker(node, name)
    if maker not in _MOVED_PAST or steps == 0:
        return maker == "Transpose"
    producer = node.scope.producer(name)
    return producer is not None and any(may_be_transposed(node, value, steps - 1) for value in producer.input)


def _maker(node: Node, name: str) -> str:
    """The operator that makes `name`; "" for inputs, initializers and what is not of ONNX's own domain."""
    producer = node.scope.producer(name)
    return "" if producer is None or producer.domain else producer.op_type
