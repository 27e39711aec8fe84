"""Reshape of an open shape.

https://onnx.ai/onnx/operators/onnx__Reshape.html
"""

from __future__ import annotations

from math import prod

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node


@avoid("Reshape of an open first axis to lengths for another", "Reshape", opset=7)
def refuse_lengths(node: Node) -> None:
    """The node is refused if only the first length of its data is open, and the lengths that it makes need another than 1."""
    shape, wanted = node.shape(0), node.constant(1)
    if not shape or wanted is None or isinstance(shape[0], int):
        return
    others = [length for length in shape[1:] if isinstance(length, int) and length > 0]
    lengths = wanted.tolist()
    if len(others) < len(shape) - 1 or 0 in lengths:
        return
    of_one, stated = prod(others), prod(length for length in lengths if length > 0)
    if of_one == stated or (-1 in lengths and of_one % stated == 0):
        return
    needed = "another one than 1" if stated % of_one or -1 in lengths else stated // of_one
    raise Unconvertible(f"the lengths {'×'.join(map(str, lengths))} need a first length of {needed}", node.shape_hint(0))
