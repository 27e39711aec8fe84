"""Restores the shape of data that a Flatten turned into a matrix.

https://onnx.ai/onnx/operators/onnx__Flatten.html
"""

from __future__ import annotations

from ...rewriter.graph.node import Node


def become_reshape(node: Node, flat: str, like: str, *, flattened_from: int) -> None:
    """Turn `node` into a Reshape of `flat`, which has the shape of Flatten(`like`, axis=`flattened_from`), to the shape of `like`.

    A 0 in the shape of a Reshape copies a dimension of `flat`. This is right if only the first dimension can be 0, and it is the
    first one of `flat` too; otherwise allowzero=1 (opset 14) keeps the 0.
    """
    shape = node.shape(like)
    if shape is not None and all(isinstance(dim, int) for dim in shape):
        target = node.op.int64(shape)
    else:
        target = node.op.Shape(like)
    doubtful = [axis for axis, dim in enumerate(shape or ()) if not isinstance(dim, int) or dim == 0]
    if shape is not None and (not doubtful or (doubtful == [0] and flattened_from > 0)):
        node.become.Reshape(flat, target)
    else:
        node.become.Reshape(flat, target, opset=14, allowzero=1)
