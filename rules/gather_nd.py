"""GatherND: batch_dims came with opset 12.

https://onnx.ai/onnx/operators/onnx__GatherND.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.graph import Node
from ..rewriter.rule import downgrade
from .tables import index_grid


@downgrade("GatherND", 12)
def spell_out_batches(node: Node) -> None:
    """The position in the batch dimensions goes before each index."""
    batch_dims = node.pop_attr("batch_dims", 0)
    if batch_dims == 0:
        return
    shape = node.need_shape(1)
    grid = index_grid(shape[:batch_dims], dtype=np.int64)  # [batch_dims, *batch]
    positions = np.moveaxis(grid, 0, -1).reshape(*shape[:batch_dims], *[1] * (len(shape) - batch_dims - 1), batch_dims)
    spread = np.broadcast_to(positions, (*shape[:-1], batch_dims))
    batches = node.add_constant(spread, np.int64, "batches")
    node.set_input(1, node.before("Concat", [batches, node.input(1)], what="indices", axis=len(shape) - 1))
