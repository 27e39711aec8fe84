"""ArgMax and ArgMin: select_last_index came with opset 12, and 11 forbids axes of a scalar.

https://onnx.ai/onnx/operators/onnx__ArgMax.html, https://onnx.ai/onnx/operators/onnx__ArgMin.html
"""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from ..rewriter.engine.registry import avoid, downgrade, upgrade
from ..rewriter.graph.node import Node
from .shared.indices import length


@upgrade(("ArgMax", "ArgMin"), 11)
def place_in_a_scalar(node: Node) -> None:
    """Of a scalar, the place is 0. Runtimes take axis 0 for it, and from opset 11 on onnx says that it is out of range."""
    if node.rank() == 0:
        node.become.Constant(value=numpy_helper.from_array(np.array(0, np.int64)))


@avoid("ArgMax with select_last_index", ("ArgMax", "ArgMin"), opset=11)
@downgrade(("ArgMax", "ArgMin"), 12)
def search_from_the_back(node: Node) -> None:
    """select_last_index=1 becomes a search for the first index in the reversed axis, subtracted from the last index.

    It is exact for all types and lengths.
    """
    op = node.op
    if not node.pop_attr("select_last_index", 0):
        return
    data, axis, output = node.input(0), node.attr("axis", 0), node.output(0)
    last, beyond_first = op.int64([-1]), op.int64([np.iinfo(np.int64).min])
    reversed_data = op.Slice(data, last, beyond_first, op.int64([axis]), last)
    size = length(node, data, axis, "scalar")
    last_index = op.Sub(size, op.int64(1))
    node.set_input(0, reversed_data)
    node.after.Sub(last_index, node.detach_output(0, "from_the_back"), output=output)


@avoid("ArgMax without keepdims", ("ArgMax", "ArgMin"), opset=11)
def squeeze_afterwards(node: Node) -> None:
    """The axis is kept, and removed by a Squeeze.

    It is exact for all types and lengths. A vector is left as it is: its place is a scalar.
    """
    if node.attr("keepdims", 1) or node.need_rank() < 2:
        return
    axis, output = node.attr("axis", 0), node.output(0)
    node.set_attr("keepdims", 1)
    node.after.Squeeze(node.detach_output(0, "kept"), axes=[axis], output=output)
