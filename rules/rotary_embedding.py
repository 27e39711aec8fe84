"""RotaryEmbedding below opset 23: pairs of elements of each head are rotated by the angles of their position.

https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html
"""

from __future__ import annotations

from typing import NamedTuple

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node

_X, _COS, _SIN, _POSITIONS = range(4)


class _Layout(NamedTuple):
    """The layout of the heads: [batch, heads, length, size], or [batch, length, heads, size] after a
    Reshape of three dimensions.
    """

    is_flat: bool
    heads: int
    size: int
    turned: int
    """The number of elements of each head that are rotated; the others stay."""
    is_paired: bool
    """Whether all elements are rotated, each with its neighbour, so that the pairs can be an axis of their own."""

    @property
    def outer(self) -> list[int]:
        """The dimensions before the last one for Reshape, where 0 copies a dimension."""
        return [0, 0, self.heads if self.is_flat else 0]

    @property
    def heads_axis(self) -> int:
        return 2 if self.is_flat else 1


@decompose("RotaryEmbedding", opset=13, exact=False)
def turn_pairs(node: Node) -> None:
    """Pairs (a, b) become (a cos - b sin, a sin + b cos); ONNX's function body is used where the size of a head is unknown."""
    op = node.op
    layout = _layout(node)
    if layout is None:
        node.expand()
        return
    x = node.input(_X)
    if layout.is_flat or layout.is_paired:
        x = op.Reshape(x, op.int64([*layout.outer, *([layout.size // 2, 2] if layout.is_paired else [layout.size])]))
    cos, sin = (_angles(node, index, layout) for index in (_COS, _SIN))
    pair, rest = _parts(node, x, layout)
    real = op.Sub(_times(node, pair[0], cos), _times(node, pair[1], sin))
    imaginary = op.Add(_times(node, pair[0], sin), _times(node, pair[1], cos))
    _join(node, [real, imaginary], rest, layout)


def _layout(node: Node) -> _Layout | None:
    rank, heads = node.rank(), node.attr("num_heads", 0)
    if rank not in (3, 4):
        return None
    size = node.dimension(-1)
    if rank == 3:
        size = size // heads if isinstance(size, int) and heads and size % heads == 0 else None
    turned = node.attr("rotary_embedding_dim", 0) or size
    if not isinstance(size, int) or not isinstance(turned, int) or not 0 < turned <= size or turned % 2:
        return None
    return _Layout(rank == 3, heads, size, turned, bool(node.attr("interleaved", 0)) and turned == size)


def _angles(node: Node, index: int, layout: _Layout) -> str:
    """The cosines or sines of each position, with an axis of length 1 for the heads, which all have the same angles."""
    op = node.op
    values, half = node.input(index), layout.turned // 2
    if node.has_input(_POSITIONS):
        values = op.Gather(values, node.input(_POSITIONS), axis=0)
    if node.dimension(-1, index) != half:
        bounds = [op.int64([bound]) for bound in (0, half, 2)]
        values = op.Slice(values, *bounds)
    return op.Unsqueeze(values, op.int64([layout.heads_axis, 4] if layout.is_paired else [layout.heads_axis]))


def _parts(node: Node, x: str, layout: _Layout) -> tuple[list[str], list[str]]:
    """The first and the second elements of the pairs, and the elements that are not rotated."""
    if layout.is_paired:
        return node.op.Split(x, node.op.int64([1, 1]), outputs=2, axis=4), []
    half, rest = layout.turned // 2, layout.size - layout.turned
    if not node.attr("interleaved", 0):
        sizes = [half, half, *([rest] if rest else [])]
        parts = node.op.Split(x, node.op.int64(sizes), outputs=len(sizes), axis=3)
        return parts[:2], parts[2:]
    pair = [_slice(node, x, start, layout.turned, 2) for start in (0, 1)]
    return pair, [_slice(node, x, layout.turned, layout.size, 1)] if rest else []


def _slice(node: Node, x: str, start: int, end: int, step: int) -> str:
    numbers = [node.op.int64([number]) for number in (start, end, 3, step)]
    return node.op.Slice(x, *numbers)


def _times(node: Node, part: str, angles: str) -> str:
    return node.op.Mul(part, angles)


def _join(node: Node, pair: list[str], rest: list[str], layout: _Layout) -> None:
    """Join the rotated pairs and the other elements, in the layout of the input."""
    op = node.op
    if layout.is_paired:
        form = [0, 0, layout.heads * layout.size] if layout.is_flat else [0, 0, 0, layout.size]
        node.become.Reshape(op.Concat(*pair, axis=4), op.int64(form))
        return
    if node.attr("interleaved", 0):
        columns = [op.Unsqueeze(part, op.int64([4])) for part in pair]
        pairs = op.Concat(*columns, axis=4)
        pair = [op.Reshape(pairs, op.int64([*layout.outer, layout.turned]))]
    parts = [*pair, *rest]
    if not layout.is_flat:
        node.become.Concat(*parts, axis=3)
        return
    joined = op.Concat(*parts, axis=3)
    node.become.Reshape(joined, op.int64([0, 0, layout.heads * layout.size]))
