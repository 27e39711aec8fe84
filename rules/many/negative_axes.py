"""Negative axes, which came with opset 11 (code N of the reviewed transitions): below it, the rank is added.

The page of each operator says since opset 11: "Negative value means counting dimensions from the back". Slice, Split, Squeeze,
Unsqueeze, Gather and OneHot, for which more than that changed, have modules of their own.
https://onnx.ai/onnx/operators/onnx__ArgMax.html, https://onnx.ai/onnx/operators/onnx__Concat.html,
https://onnx.ai/onnx/operators/onnx__Flatten.html, https://onnx.ai/onnx/operators/onnx__ReduceSum.html,
https://onnx.ai/onnx/operators/onnx__Scan.html and those of the other operators below
"""

from __future__ import annotations

from ...rewriter.engine.registry import downgrade
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.axes import REDUCTIONS, add_rank

_ONE_AXIS = ("ArgMax", "ArgMin", "Compress", "Concat", "Flatten", "Hardmax", "LogSoftmax", "Softmax")


@downgrade(_ONE_AXIS, 11)
def axis_from_the_front(node: Node) -> None:
    """The rank is added to a negative axis."""
    add_rank(node, "axis")


@downgrade(REDUCTIONS, 11)
def reduced_axes_from_the_front(node: Node) -> None:
    """The rank is added to negative axes."""
    add_rank(node, "axes")


@downgrade("Scan", 11)
def scan_axes_from_the_front(node: Node) -> None:
    """The rank is added to negative entries of scan_input_axes and scan_output_axes."""
    scanned = node.attr("num_scan_inputs")
    states = len(node.inputs) - scanned
    _add_ranks(node, "scan_input_axes", [node.rank(states + i) for i in range(scanned)])
    shapes = [node.shape(node.output(index)) for index in range(states, len(node.outputs))]
    _add_ranks(node, "scan_output_axes", [None if shape is None else len(shape) for shape in shapes])


def _add_ranks(node: Node, attribute: str, ranks: list[int | None]) -> None:
    """Add to each negative entry of `attribute` the rank at the same position in `ranks`.

    Raises Unconvertible where that is None.
    """
    axes = node.attr(attribute)
    if axes is None or all(axis >= 0 for axis in axes):
        return
    for index, (axis, rank) in enumerate(zip(axes, ranks, strict=True)):
        if axis < 0:
            if rank is None:
                reason = f"{attribute}[{index}] is {axis}, and the rank that it counts from is unknown"
                raise Unconvertible(reason, node.shape_hint())
            axes[index] = axis + rank
    node.set_attr(attribute, axes)
