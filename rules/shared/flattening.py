"""From the two dimensions that Flatten makes back to the shape of before."""

from __future__ import annotations

from ...rewriter.graph.node import Node


def become_reshape(node: Node, flat: str, like: str, *, flattened_from: int) -> None:
    """Let `node` reshape `flat`, which has the shape of Flatten(`like`, axis=`flattened_from`), to the shape of `like`.

    A 0 in Reshape's shape copies a dimension of `flat`. That is meant where only the first dimension can be 0, and it is the first
    of `flat` too; otherwise allowzero=1 (opset 14) keeps the 0.
    """
    shape = node.scope.shape(like)
    if shape is not None and all(isinstance(dim, int) for dim in shape):
        target = node.op.int64(shape)
    else:
        target = node.op.Shape(like)
    doubtful = [axis for axis, dim in enumerate(shape or ()) if not isinstance(dim, int) or dim == 0]
    if shape is not None and (not doubtful or (doubtful == [0] and flattened_from > 0)):
        node.become.Reshape(flat, target)
    else:
        node.become.Reshape(flat, target, opset=14, allowzero=1)
