"""Operators that onnxruntime had before ONNX, or with operands of other types, and that ONNX has under nearly the same name.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import contrib


@contrib("Trilu", opset=14, exact=True)
def triangle(node: Node) -> None:
    """The node becomes ONNX's Trilu."""
    node.become.Trilu(*node.inputs, upper=node.attr("upper", 1))


@contrib("ExpandDims", opset=13, exact=True)
def insert_axis(node: Node) -> None:
    """The node becomes Unsqueeze."""
    op, axis = node.op, node.constant(1)
    if axis is not None:
        axes = op.int64([int(axis.reshape(-1)[0])])
    else:
        number = op.Cast(node.input(1), to=7)
        is_scalar = node.rank(1) == 0  # of a scalar, onnxruntime's optimizer takes a Reshape for that of the data
        axes = op.Unsqueeze(number, op.int64([0])) if is_scalar else op.Reshape(number, op.int64([1]))
    node.become.Unsqueeze(node.input(0), axes)


@contrib("Pad", opset=13, exact=True)
def pad(node: Node) -> None:
    """The node becomes ONNX's Pad, whose sizes are a vector and whose value is a scalar."""
    op = node.op
    sizes = node.input(1) if node.rank(1) == 1 else op.Reshape(node.input(1), op.int64([-1]))
    values = []
    if node.has_input(2):
        values = [node.input(2) if node.rank(2) == 0 else op.Reshape(node.input(2), op.int64([]))]
    node.become.Pad(node.input(0), sizes, *values, mode=node.attr("mode", "constant"))


@contrib("Unique", opset=11, exact=True)
def keep_first_of_each(node: Node) -> None:
    """The node becomes ONNX's Unique with sorted=0."""
    names = [node.output(0), "", node.output(1), node.output(2)]
    node.op.Unique(node.input(0), outputs=names, sorted=0)
    node.remove()


@contrib("GridSample", opset=16)
def sample_grid(node: Node) -> None:
    """The node becomes ONNX's GridSample."""
    attributes = {name: node.attr(name) for name in ("align_corners", "mode", "padding_mode")}
    node.become.GridSample(*node.inputs, **attributes)


@contrib("CDist", opset=13, sums=True)
def distances(node: Node) -> None:
    """The node becomes the sum of the squares of the differences of each pair of rows, and Sqrt of it for metric=euclidean."""
    op, metric = node.op, node.attr("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise Unconvertible(f"CDist has no metric '{metric}' in onnxruntime", "correct the model")
    difference = op.Sub(op.Unsqueeze(node.input(0), op.int64([1])), op.Unsqueeze(node.input(1), op.int64([0])))
    squares = op.ReduceSum(op.Mul(difference, difference), op.int64([2]), keepdims=0)
    node.give(op.Sqrt(squares) if metric == "euclidean" else squares)


@contrib("Rfft", opset=17, sums=True)
def transform_real_signal(node: Node) -> None:
    """The node becomes DFT with onesided=1 along the last axis."""
    if node.attr("signal_ndim", 1) != 1 or node.attr("normalized", 0) or not node.attr("onesided", 1):
        raise Unconvertible("Rfft with signal_ndim, normalized or onesided has no form in ONNX", "transform one axis at a time")
    rank = node.need_rank()
    node.become.DFT(node.op.Unsqueeze(node.input(0), node.op.int64([rank])), axis=rank - 1, onesided=1)


@contrib("ConvTransposeWithDynamicPads", opset=11, sums=True)
def transposed_convolution(node: Node) -> None:
    """The node becomes ConvTranspose with its padding as an attribute."""
    names = ("auto_pad", "dilations", "group", "kernel_shape", "output_padding", "strides")
    pads = node.const_input(2, "the padding").reshape(-1).tolist() if node.has_input(2) else None
    operands = [node.input(index) for index in (0, 1, 3) if node.has_input(index)]
    node.become.ConvTranspose(*operands, pads=pads, **{name: node.attr(name) for name in names})
