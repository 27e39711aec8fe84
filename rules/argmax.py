"""ArgMax and ArgMin: select_last_index came with opset 12.

https://onnx.ai/onnx/operators/onnx__ArgMax.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.indices import int64, length


@downgrade(("ArgMax", "ArgMin"), 12)
def search_from_the_back(node: Node) -> None:
    """select_last_index=1 becomes the first index of the reversed axis, counted from the end of the axis."""
    if not node.pop_attr("select_last_index", 0):
        return
    data, axis, output = node.input(0), node.attr("axis", 0), node.output(0)
    last, beyond_first = int64(node, [-1], "last"), int64(node, [np.iinfo(np.int64).min], "beyond_first")
    reversed_data = node.before("Slice", [data, last, beyond_first, int64(node, [axis], "axis"), last], what="reversed")
    size = length(node, data, axis, "scalar")
    last_index = node.before("Sub", [size, int64(node, 1, "one")], what="last_index")
    node.set_input(0, reversed_data)
    node.after("Sub", [last_index, node.detach_output(0, "from_the_back")], outputs=[output])
