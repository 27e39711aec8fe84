"""Fences: Reshapes that do nothing at run time, and past which onnxruntime does not move a Transpose.

Its optimizer moves Transposes towards the outputs before it looks for normalizations and for products of transposed matrices, and
then misses some of them. It does not move a Transpose past a Reshape, unless all sizes are known and the rank stays the same.
"""

from __future__ import annotations

from ...rewriter.graph.node import Node

_MOVED_PAST = frozenset({"Add", "Cast", "Concat", "Div", "Gather", "Mul", "Neg", "Slice", "Split", "Sub"})
"""The operators by which models compute rotated keys and past which onnxruntime moves a Transpose."""
_MAX_LOOK_BACK = 8
"""The number of nodes between a rotation and the Transpose before it: five, as exporters write it, and one
or two that append the past.
"""


def fenced(node: Node, name: str, rank: int) -> str:
    """`name` after a Reshape to its own shape."""
    return node.op.Reshape(name, node.op.int64([0] * rank))


def is_transposed(node: Node, name: str) -> bool:
    """Whether a Transpose makes `name`."""
    maker = node.maker(name)
    return maker is not None and maker.op_type == "Transpose"


def may_be_transposed(node: Node, name: str, steps: int = _MAX_LOOK_BACK) -> bool:
    """Whether onnxruntime may move a Transpose, which is up to `steps` nodes before, as far as `name`."""
    maker = node.maker(name)
    if maker is None or maker.op_type not in _MOVED_PAST or steps == 0:
        return maker is not None and maker.op_type == "Transpose"
    return any(may_be_transposed(maker, value, steps - 1) for value in maker.inputs)
