"""Expand below opset 8: a Tile of the dimensions that are 1.

https://onnx.ai/onnx/operators/onnx__Expand.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import int64


@decompose("Expand", opset=7)
def tile_dimensions_of_one(node: Node) -> None:
    """Tile repeats the dimensions of length 1 as often as the shape says."""
    rank = node.need_rank()
    shape = node.scope.shape(node.input(1))
    wanted = shape[0] if shape is not None and len(shape) == 1 else None
    if not isinstance(wanted, int):
        raise Unconvertible(f"the length of the shape '{node.input(1)}' is unknown", node.shape_hint())
    data, sizes = node.input(0), node.input(1)
    if wanted > rank:
        data = node.before("Unsqueeze", [data], what="ranked", axes=list(range(wanted - rank)))
    elif wanted < rank:
        sizes = node.before("Concat", [int64(node, [1] * (rank - wanted), "ones"), sizes], what="sizes", axis=0)
    if max(rank, wanted) == 0:
        node.become("Identity", [data])
        return
    one = int64(node, [1], "one")
    dims = node.before("Shape", [data], what="dims")
    is_one = node.before("Cast", [node.before("Equal", [dims, one], what="is_one")], what="is_one", to=TensorProto.INT64)
    more = node.before("Mul", [is_one, node.before("Sub", [sizes, one], what="more")], what="more")
    node.become("Tile", [data, node.before("Add", [more, one], what="repeats")])
