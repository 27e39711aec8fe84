"""DFT: the axis is an attribute until 19, an input from 20, and its default goes from 1 to -2.

https://onnx.ai/onnx/operators/onnx__DFT.html
"""

from __future__ import annotations

from ..rewriter.graph import Node
from ..rewriter.rule import downgrade, upgrade
from .axes import from_the_front
from .indices import int64

_AXIS = 2


@upgrade("DFT", 20)
def axis_to_input(node: Node) -> None:
    """The axis, or the default of before, becomes an input."""
    node.set_input(_AXIS, int64(node, node.pop_attr("axis", 1), "axis"))


@downgrade("DFT", 20)
def axis_to_attribute(node: Node) -> None:
    """A constant axis, or the default of 20, becomes the attribute; from the front where the rank is known."""
    axis = int(node.const_input(_AXIS, "the axis").reshape(())) if node.has_input(_AXIS) else -2
    rank = node.rank()
    node.drop_input(_AXIS)
    node.set_attr("axis", axis if rank is None else from_the_front([axis], rank)[0])
