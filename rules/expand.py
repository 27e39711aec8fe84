"""Expand below opset 8: a Tile of the dimensions that are 1.

https://onnx.ai/onnx/operators/onnx__Expand.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node


@downgrade("Expand", 13)
def shape_as_vector(node: Node) -> None:
    """A shape that is no vector becomes one: the shape inference of older opsets refuses it, and runtimes take it."""
    if node.rank(1) not in (None, 1):
        sizes = node.op.Reshape(node.input(1), node.op.int64([-1]))
        node.set_input(1, sizes)


@decompose("Expand", opset=7)
def tile_dimensions_of_one(node: Node) -> None:
    """The node becomes a Tile that repeats the dimensions of length 1 as often as the shape says."""
    op = node.op
    shape, rank = node.shape(1), node.need_rank()
    wanted = shape[0] if shape is not None and len(shape) == 1 else None
    if not isinstance(wanted, int):
        raise Unconvertible(f"the length of the shape '{node.input(1)}' is unknown", node.shape_hint(1))
    data, sizes = node.input(0), node.input(1)
    if wanted > rank:
        data = op.Unsqueeze(data, axes=list(range(wanted - rank)))
    elif wanted < rank:
        sizes = op.Concat(op.int64([1] * (rank - wanted)), sizes, axis=0)
    if max(rank, wanted) == 0:
        node.become.Identity(data)
        return
    node.become.Tile(data, _known_repeats(node, max(rank, wanted)) or _repeats(node, data, sizes))


def _known_repeats(node: Node, rank: int) -> str | None:
    """The number of repeats of each of `rank` axes, if the shape is a constant and the dimensions are known, else None."""
    data, sizes = node.shape(), node.constant(1)
    if data is None or sizes is None or not all(isinstance(dim, int) for dim in data):
        return None
    dims = [*[1] * (rank - len(data)), *data]
    wanted = [*[1] * (rank - sizes.size), *sizes.tolist()]
    return node.op.int64([size if dim == 1 else 1 for dim, size in zip(dims, wanted, strict=True)])


def _repeats(node: Node, data: str, sizes: str) -> str:
    """The number of repeats of each axis of `data` that gives the shape `sizes`, which has as many axes, computed at run time."""
    op = node.op
    one = op.int64([1])
    dims = op.Shape(data)
    is_one = op.Cast(op.Equal(dims, one), to=TensorProto.INT64)
    more = op.Mul(is_one, op.Sub(sizes, one))
    return op.Add(more, one)
