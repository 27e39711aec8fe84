"""DFT: the axis is an attribute until 19, an input from 20, and its default goes from 1 to -2.

An axis that is only known at run time may show in the shape of the result; else it is computed along all that it can be.

https://onnx.ai/onnx/operators/onnx__DFT.html
"""

from __future__ import annotations

from ..rewriter.graph import Node
from ..rewriter.inference import Shape
from ..rewriter.rule import downgrade, upgrade
from .any_axis import along_any
from .axes import from_the_front
from .indices import int64
from .parameters import one_number

_LENGTH, _AXIS = 1, 2


@upgrade("DFT", 20)
def axis_to_input(node: Node) -> None:
    """The axis, or the default of before, becomes an input."""
    node.set_input(_AXIS, int64(node, node.pop_attr("axis", 1), "axis"))


@downgrade("DFT", 20)
def axis_to_attribute(node: Node) -> None:
    """A constant axis, or the default of 20, becomes the attribute; from the front where the rank is known."""
    possible = _possible_axes(node)
    if len(possible) > 1:
        along_any(node, _AXIS, possible)
        return
    rank = node.rank()
    node.drop_input(_AXIS)
    node.set_attr("axis", possible[0] if rank is None else from_the_front(possible, rank)[0])


def _possible_axes(node: Node) -> list[int]:
    """The axis; if it is only known at run time, those along which the result has the shape that it is known to have."""
    if not node.has_input(_AXIS):
        return [-2]
    given, before, after = node.constant(_AXIS), node.shape(), node.output_shape()
    if given is not None:
        return [int(one_number(given))]
    axes = list(range(len(before) - 1)) if before else []  # the last one has the complex parts
    if node.has_input(_LENGTH) or node.attr("onesided", 0):
        axes = [axis for axis in axes if before and after and _fits(node, axis, before, after)]
    return axes or [int(one_number(node.const_input(_AXIS, "the axis")))]


def _fits(node: Node, axis: int, before: Shape, after: Shape) -> bool:
    """Whether a transform along `axis` takes one shape to the other, both fully known."""
    if not all(isinstance(dim, int) for dim in (*before, *after)) or len(before) != len(after):
        return False
    count, size = node.constant(_LENGTH) if node.has_input(_LENGTH) else None, before[axis]
    others = all(before[other] == after[other] for other in range(len(before) - 1) if other != axis)
    if not others or not isinstance(size, int) or (count is None and node.has_input(_LENGTH)):
        return others
    inverse, onesided = node.attr("inverse", 0), node.attr("onesided", 0)
    default = 2 * (size - 1) if inverse and onesided else size
    length = default if count is None else int(one_number(count))
    return after[axis] == (length // 2 + 1 if onesided and not inverse else length)
