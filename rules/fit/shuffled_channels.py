"""Channels that change places between a Reshape, a Transpose and another Reshape, for runtimes whose list has no Transpose.

https://onnx.ai/onnx/operators/onnx__Reshape.html, https://onnx.ai/onnx/operators/onnx__Gather.html
"""

from __future__ import annotations

from math import prod

import numpy as np

from ...rewriter.engine.registry import respell
from ...rewriter.graph.node import Node
from ..shared.spelled_out import inner


@respell("Reshape", opset=13, exact=True, joined="Gather")
def gathered_channels(node: Node) -> None:
    """A Reshape that gives back the shape before another one and a Transpose becomes a Gather along the axis that they reorder."""
    _gather(node)


@respell("Reshape", opset=13, exact=True, joined="Conv")
def chosen_channels(node: Node) -> None:
    """The same, where a Conv may stand for the Gather."""
    _gather(node)


def _gather(node: Node) -> None:
    transpose = inner(node, node.input(0), "Transpose")
    apart = None if transpose is None else inner(transpose, transpose.input(0), "Reshape")
    if transpose is None or apart is None:
        return
    shape, factors = apart.shape(0), apart.shape(apart.output(0))
    if shape is None or factors is None or shape != node.shape(node.output(0)):
        return
    lengths, parts = ([dim for dim in dims if isinstance(dim, int)] for dims in (shape, factors))
    if (len(lengths), len(parts)) != (len(shape), len(factors)) or 0 in lengths:
        return
    for axis in range(len(lengths)):
        order = _order(lengths, parts, transpose.attr("perm", [*range(len(parts))][::-1]), axis)
        if order is not None:
            node.become.Gather(apart.input(0), node.op.int64(order), axis=axis)
            return


def _order(shape: list[int], parts: list[int], perm: list[int], axis: int) -> np.ndarray | None:
    """The order of the elements along `axis` of `shape` after that axis was cut into factors, which changed places; None where
    other axes are cut or moved.
    """
    end = axis + len(parts) - len(shape) + 1
    factors, behind = parts[axis:end], [*range(end, len(parts))]
    if parts[:axis] + parts[end:] != shape[:axis] + shape[axis + 1 :] or prod(factors) != shape[axis]:
        return None
    if perm[:axis] + perm[end:] != [*range(axis), *behind]:
        return None
    moved = np.arange(shape[axis]).reshape(factors).transpose([place - axis for place in perm[axis:end]])
    return moved.reshape(-1)
