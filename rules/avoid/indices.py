"""Negative indices, which count from the end.

https://onnx.ai/onnx/operators/onnx__GatherND.html, https://onnx.ai/onnx/operators/onnx__GatherElements.html,
https://onnx.ai/onnx/operators/onnx__OneHot.html, https://onnx.ai/onnx/operators/onnx__ScatterElements.html
"""

from __future__ import annotations

import numpy as np

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node


@avoid("Negative index", ("GatherElements", "ScatterElements"), opset=13)
def along_one_axis(node: Node) -> None:
    """The length of the axis is added to negative constant indices.

    It is exact for all types. The length of the axis has to be known.
    """
    indices = _negative(node, 1)
    if indices is not None:
        length = node.need_dimension(node.attr("axis", 0))
        _replace(node, 1, np.where(indices < 0, indices + length, indices))


@avoid("Negative index", "GatherND", opset=13)
def along_many_axes(node: Node) -> None:
    """The length of its axis is added to each negative constant index.

    It is exact for all types. The lengths of the axes with negative indices have to be known.
    """
    indices = _negative(node, 1)
    if indices is None:
        return
    first = node.attr("batch_dims", 0)
    lengths = [node.need_dimension(first + axis) if (indices[..., axis] < 0).any() else 0 for axis in range(indices.shape[-1])]
    _replace(node, 1, np.where(indices < 0, indices + np.array(lengths, indices.dtype), indices))


@avoid("Negative index", "OneHot", opset=11)
def of_classes(node: Node) -> None:
    """The depth is added to negative constant indices.

    It is exact for all types. The depth has to be constant.
    """
    indices = _negative(node, 0)
    if indices is None or node.opset < 11:  # before 11 negative ones select nothing
        return
    depth = int(node.const_input(1, "the depth").reshape(()))
    _replace(node, 0, np.where((indices < 0) & (indices >= -depth), indices + depth, indices))


def _negative(node: Node, index: int) -> np.ndarray | None:
    """The indices in input `index`, if they are constant and some are negative, else None."""
    indices = node.constant(index)
    return indices if indices is not None and indices.size and (indices < 0).any() else None


def _replace(node: Node, index: int, value: np.ndarray) -> None:
    node.set_input(index, node.op.const(value, value.dtype))
