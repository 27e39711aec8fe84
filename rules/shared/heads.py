"""Attention with the heads in an axis of their own, as exporters write it: softmax(scale · q · kᵀ + bias) · v."""

from __future__ import annotations

from ...rewriter.graph.node import Node

_HEADS_FIRST = [0, 2, 1, 3]
"""Takes [batch, length, heads, size] to [batch, heads, length, size], and back."""
_KEYS_LAST = [0, 2, 3, 1]
"""Takes [batch, length, heads, size] to [batch, heads, size, length], the transposed matrices of [batch, heads, length, size]."""


def with_heads(node: Node, name: str, heads: int) -> str:
    """[batch, length, heads * size] as [batch, length, heads, size]."""
    width = node.dimension(2, name)
    size = width // heads if isinstance(width, int) else -1
    return node.op.Reshape(name, node.op.int64([0, 0, heads, size]))


def heads_first(node: Node, name: str) -> str:
    """[batch, length, heads, size] as [batch, heads, length, size]."""
    return node.op.Transpose(name, perm=_HEADS_FIRST)


def keys_last(node: Node, name: str) -> str:
    """[batch, length, heads, size] as [batch, heads, size, length]."""
    return node.op.Transpose(name, perm=_KEYS_LAST)


def transposed(node: Node, name: str) -> str:
    """[batch, heads, length, size] as [batch, heads, size, length]."""
    return node.op.Transpose(name, perm=[0, 1, 3, 2])


def put_together(node: Node, name: str, width: int, output: str) -> None:
    """Write [batch, heads, length, size] as `output`, [batch, length, width]. A width of -1 is one that is unknown."""
    op = node.op
    op.Reshape(op.Transpose(name, perm=_HEADS_FIRST), op.int64([0, 0, width]), output=output)


def scaled(node: Node, queries: str, scale: float, kind: int) -> str:
    """The queries times `scale`, so that the scores, which are more, need not be multiplied."""
    return queries if scale == 1 else node.op.Mul(queries, node.op.const(scale, kind))


def grown(node: Node, name: str, past: str, present: str) -> str:
    """`name`, [batch, heads, length, size], behind the `past` ones if that is not "". It becomes the output `present` if that is
    not "".
    """
    if past:
        name = node.op.Concat(past, name, axis=2)
    if present:
        node.op.Identity(name, output=present)
    return name


def biased(node: Node, scores: str, *biases: str) -> str:
    """`scores` with each of `biases` added, in this order, in which onnxruntime rounds; "" is none."""
    for bias in filter(None, biases):
        scores = node.op.Add(scores, bias)
    return scores


def weighted(node: Node, scores: str, values: str, heads: int) -> None:
    """Write the sum of the `values`, weighted by the softmax of the scores, as the first output, and remove the node."""
    result = node.op.MatMul(node.op.Softmax(scores, axis=-1), values)
    width = node.dimension(3, values)
    put_together(node, result, heads * width if isinstance(width, int) else -1, node.output(0))
    node.remove()
