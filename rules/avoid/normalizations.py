"""Normalizations with a bias or a scale that few runtimes expect.

https://onnx.ai/onnx/operators/onnx__LRN.html, https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.axes import reduced_axes
from ..shared.spelled_norms import over_root
from ..shared.spelled_out import either_way, of_type


@avoid("LRN with a bias that is no whole number", "LRN", opset=7, exact=False)
def divide_by_the_bias(node: Node) -> None:
    """The bias becomes 1, alpha is divided by it, and the result is multiplied by bias^-beta.

    It is right up to the last bits for all floating-point types. A bias that is not positive is refused.
    """
    bias = node.attr("bias", 1.0)
    if float(bias).is_integer():
        return
    if bias <= 0:
        raise Unconvertible(f"its bias is {bias:g}", "let it be positive")
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    output = node.output(0)
    node.set_attr("bias", 1.0)
    node.set_attr("alpha", node.attr("alpha", 1e-4) / bias)
    factor = node.op.const(bias ** -node.attr("beta", 0.75), dtype)
    node.after.Mul(node.detach_output(0, "of_bias_1"), factor, output=output)


@avoid("LayerNormalization with a scale that is spread", "LayerNormalization", opset=17, exact=False)
def spread_scale(node: Node) -> None:
    """The scale and the bias get all elements of the axes that are normalized.

    It is right up to the last bits, which the kernels of runtimes may round otherwise. The lengths of these axes have to be known.
    """
    rank = node.need_rank()
    axes = range(node.attr("axis", -1) % rank, rank)
    for index in (1, 2):
        if not node.has_input(index) or node.shape(index) == tuple(node.dimension(axis) for axis in axes):
            continue
        shape, stored = node.shape(index), node.constant(index)
        if shape is None or len(shape) > len(axes):
            what = "has more dimensions than are normalized, or an unknown number of them"
            raise Unconvertible(f"'{node.input(index)}' {what}", "multiply and add behind the node")
        lengths = [node.need_dimension(axis) for axis in axes]
        if stored is not None:
            node.set_input(index, node.op.const(np.broadcast_to(stored, lengths), stored.dtype))
        else:
            node.set_input(index, node.op.Expand(node.input(index), node.op.int64(lengths)))


@avoid("Norm that is scaled by another shape than its axes have", "Mul", opset=13, exact=False)
def square_by_a_product(node: Node) -> None:
    """The deviations from a mean are squared by a Mul instead of a Pow.

    It is right up to the last bits. A runtime that knows a LayerNormalization by its Pow takes these nodes for one, and reads its
    scale as if it had the lengths of the last axes.
    """
    for index, (name, scale) in enumerate(either_way(node)):
        found = next(over_root(node, name, of_type), None)
        axes = None if found is None else reduced_axes(found.mean)
        if found is None or not axes or node.constant(scale) is None or _has_lengths_of(node, scale, found.mean, axes):
            continue
        if of_type(node, found.mean.input(0), "Pow") is None:
            continue
        op = node.op
        squares = op.ReduceMean(op.Mul(found.x, found.x), axes=axes, keepdims=found.mean.attr("keepdims", 1))
        node.set_input(index, op.Div(found.x, op.Sqrt(op.Add(squares, found.number))))
        return


def _has_lengths_of(node: Node, scale: str, mean: Node, axes: list[int]) -> bool:
    """Whether `axes`, over which a mean goes, are the last ones, and the scale has just their lengths."""
    shape = mean.shape(0)
    return shape is not None and axes == list(range(axes[0], len(shape))) and node.shape(scale) == tuple(shape[axes[0] :])
