"""GatherND: the operator came with opset 11, batch_dims with 12.

https://onnx.ai/onnx/operators/onnx__GatherND.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.engine.registry import decompose, downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.flat_indices import count_elements, flattened, index_depth, row_places
from .shared.indices import length
from .shared.tables import index_grid


@downgrade("GatherND", 12)
def put_batch_positions_first(node: Node) -> None:
    """batch_dims is removed: the position in the batch dimensions is put before each index."""
    batch_dims = node.pop_attr("batch_dims", 0)
    if batch_dims == 0:
        return
    shape = node.need_shape(1)
    if not 0 < batch_dims < len(shape):
        raise Unconvertible(f"batch_dims is {batch_dims}, and the indices have rank {len(shape)}", "correct the model")
    grid = index_grid(shape[:batch_dims], dtype=np.int64)  # [batch_dims, *batch]
    positions = np.moveaxis(grid, 0, -1).reshape(*shape[:batch_dims], *[1] * (len(shape) - batch_dims - 1), batch_dims)
    spread = np.broadcast_to(positions, (*shape[:-1], batch_dims))
    batches = node.op.int64(spread)
    node.set_input(1, node.op.Concat(batches, node.input(1), axis=len(shape) - 1))


@decompose("GatherND", opset=10)
def gather_rows(node: Node) -> None:
    """The indexed axes are merged into one, along which a Gather takes rows."""
    op = node.op
    rank, depth, data = node.need_rank(), index_depth(node), node.input(0)
    places = row_places(node, depth)
    if depth == rank:
        node.become.Gather(flattened(node, data), places, axis=0)
        return
    rows = op.Reshape(count_elements(node, data, range(depth)), op.int64([1]))
    sizes = op.Concat(rows, *(length(node, data, axis) for axis in range(depth, rank)), axis=0)
    node.become.Gather(op.Reshape(data, sizes, opset=14, allowzero=1), places, axis=0)
