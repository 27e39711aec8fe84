"""LayerNormalization below opset 17.

The variance is the mean of squared deviations, as runtimes compute it. ONNX's own function body computes E[x²] - E[x]², which loses
all digits where the mean is large compared with the deviation.
https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..rewriter.engine.registry import adopt, decompose
from ..rewriter.graph.node import Node
from .shared.adopted import take_as
from .shared.fences import fenced, is_transposed
from .shared.normalization import axes_from, cast_between, mean_and_deviation, stash_type, working_type


@adopt("LayerNormalization", opset=17)
def take_from_older_opsets(node: Node) -> None:
    """A LayerNormalization in a model before opset 17 means that of opset 17. onnxruntime's optimizer writes such models."""
    take_as(node, "LayerNormalization", "axis", "epsilon", "stash_type")


@decompose("LayerNormalization", opset=13, exact=False)
def normalize_last_axes(node: Node) -> None:
    """The node becomes (x - mean) / deviation * scale + bias over the axes from `axis` on, in stash_type or the wider data type."""
    op = node.op
    kind, stash = node.need_elem_type(), stash_type(node)
    work = working_type(kind, stash)
    data, axes, form = _data_apart_from_a_transpose(node)
    x = cast_between(node, data, kind, work)
    mean, deviation, std = mean_and_deviation(node, x, axes, node.attr("epsilon", 1e-5), work)
    result = cast_between(node, op.Div(deviation, std), work, kind)
    bias = node.input(2) or _zeros(node, axes, kind)
    steps = [(op.Mul, node.input(1))]
    if bias:
        steps.append((op.Add, bias))
    if form is not None:
        steps.append((op.Reshape, op.int64(form)))
    # The last step makes the output itself, without an Identity behind it.
    *first, (last, operand) = steps
    for step, value in first:
        result = step(result, value)
    last(result, operand, output=node.output(0))
    if node.has_output(1):
        op.Identity(cast_between(node, mean, work, stash), output=node.output(1))
    if node.has_output(2):
        op.Reciprocal(cast_between(node, std, work, stash), output=node.output(2))
    node.remove()


def _zeros(node: Node, axes: list[int], kind: int) -> str:
    """A bias of zeros where there is none, since runtimes look for one; "" where they would not recognize
    the normalization anyway.
    """
    width = node.dimension(0, 1)
    if len(axes) > 1 or _has_statistics(node) or node.rank(1) != 1 or not isinstance(width, int):
        return ""
    return node.op.const(np.zeros(width), kind)


def _has_statistics(node: Node) -> bool:
    """Whether the mean or the standard deviation is read. If so, runtimes do not recognize the normalization in an older form."""
    return node.has_output(1) or node.has_output(2)


def _data_apart_from_a_transpose(node: Node) -> tuple[str, list[int], Sequence[int] | None]:
    """The data, the axes to normalize, and the shape to which the result has to be reshaped, or None where it has this shape
    already.

    A Transpose before the normalization is kept separate, because onnxruntime recognizes only a normalization over the last axis.
    If all sizes are known, this takes a change of rank.
    """
    x, axes, rank = node.input(0), axes_from(node), node.rank()
    if rank is None or len(axes) > 1 or _has_statistics(node) or not is_transposed(node, x):
        return x, axes, None
    sizes = [size for size in node.shape() or () if isinstance(size, int)]
    if len(sizes) < rank:
        return fenced(node, x, rank), axes, None
    if rank < 3 or not all(sizes):  # a size of 0 means another in a Reshape
        return x, axes, None
    return node.op.Reshape(x, node.op.int64([prod(sizes[:-1]), sizes[-1]])), axes, sizes
