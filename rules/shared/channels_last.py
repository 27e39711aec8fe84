"""Transposes between [batch, channels, …], as ONNX has it, and [batch, …, channels]."""

from __future__ import annotations

from ...rewriter.graph.node import Node


def channels_first(node: Node, name: str, rank: int) -> str:
    """`name`, of `rank` axes with the channels last, with the channels behind the batch.

    What was so before a Transpose brought the channels to the end is used as it was.
    """
    maker = node.maker(name)
    if maker is not None and maker.op_type == "Transpose" and maker.attr("perm", None) == _to_the_end(rank):
        return maker.input(0)
    return node.op.Transpose(name, perm=[0, rank - 1, *range(1, rank - 1)])


def channels_last(node: Node, name: str, rank: int) -> str:
    """`name`, of `rank` axes with the channels behind the batch, with the channels last."""
    return node.op.Transpose(name, perm=_to_the_end(rank))


def _to_the_end(rank: int) -> list[int]:
    return [0, *range(2, rank), 1]
