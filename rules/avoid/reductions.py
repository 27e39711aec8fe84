"""Reduce*: where the axes are, and what it means that there are none.

https://onnx.ai/onnx/operators/onnx__ReduceMean.html
"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.axes import from_the_front
from ..shared.parameters import is_stored

_OF_ONE = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")
"""What these make of a single element is that element."""
_REDUCE = (*_OF_ONE, "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")


@avoid("Reduce axes as an input", _REDUCE, opset=18)
def leave_out_all_axes(node: Node) -> None:
    """The axes are left out if they are all axes; otherwise only an older opset helps."""
    if not node.has_input(1):
        return
    axes, rank = node.constant(1), node.rank()
    if axes is None or rank is None or len({*from_the_front(axes.tolist(), rank)}) < rank or axes.size == 0:
        last = 12 if node.op_type == "ReduceSum" else 17
        raise Unconvertible("the axes are an input", f"choose a target opset up to {last}, where they are an attribute")
    node.drop_input(1)


@avoid("Reduce axes as an attribute at opset 13 to 17", tuple(op for op in _REDUCE if op != "ReduceSum"), opset=13)
def refuse_axes_as_attribute(node: Node) -> None:
    """Refused: only another opset helps."""
    if node.has_attr("axes") and node.scope.target in range(13, 18):
        raise Unconvertible("the axes are an attribute", "choose a target opset from 18 on, where they are an input, or 12")


@avoid("Reduce with noop_with_empty_axes", _REDUCE, opset=13)
def reduce_nothing(node: Node) -> None:
    """Nothing is reduced, so the node is an Identity."""
    if not node.attr("noop_with_empty_axes", 0):
        return
    axes = node.constant(1)
    if node.has_input(1) and (axes is None or axes.size):
        if axes is None:
            raise Unconvertible("the axes are computed at run time, and may be none", "make them a constant")
        node.pop_attr("noop_with_empty_axes")
        return
    if node.op_type not in _OF_ONE:
        raise Unconvertible(f"what {node.op_type} makes of single elements has no other form", "remove the node from the model")
    node.become.Identity(node.input(0))


@avoid("Reduce axes computed at run time", _REDUCE, opset=18)
@avoid("Squeeze axes computed at run time", ("Squeeze", "Unsqueeze"), opset=13)
def fold_axes(node: Node) -> None:
    """Computed axes that are the same in every run become a constant."""
    if not node.has_input(1) or is_stored(node, 1):
        return
    axes = node.constant(1)
    if axes is None:
        raise Unconvertible(f"the axes '{node.input(1)}' are computed at run time", "make them a constant")
    node.set_input(1, node.op.int64(axes))
