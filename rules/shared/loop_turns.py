"""Writes out Loops with a small known number of iterations, one iteration after the other.

https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto

from ...rewriter.graph.node import Node, Subgraph
from .draws import repeats_draws
from .written_out import nodes_within

FIRST = 2
"""The position of the first carried value in the inputs of a Loop and of its body."""
MOST_NODES = 64
"""The number of nodes up to which a Loop is written out so that its lists go."""


def few_turns(node: Node, body: Subgraph, most: int = MOST_NODES, unknown: int = 1) -> int | None:
    """The number of iterations of `node`, a Loop; None where it is unknown, where they would make more than `most` nodes, or where
    copies of the body would draw the same random numbers.

    Loops in the body make `unknown` turns where their number is not known.
    """
    graph, count = body.proto, node.constant(0)
    if count is None or count.size != 1:
        return None
    turns = max(int(count.reshape(-1)[0]), 0)
    starts = not node.has_input(1) or _is_true(node, node.input(1))
    goes_on = starts and _goes_on(body)
    stacks = len(graph.output) > len(graph.input) - 1
    too_many = turns * nodes_within(body, unknown) > most or (stacks and turns == 0)
    is_odd = len(graph.input) != len(node.inputs) or repeats_draws(body, turns)
    return None if not goes_on or too_many or is_odd else turns


def _is_true(place: Node | Subgraph, name: str) -> bool:
    value = place.constant(name)
    return value is not None and value.size == 1 and bool(value.reshape(-1)[0])


def _goes_on(body: Subgraph) -> bool:
    """Whether no iteration ends the Loop: the body returns the condition true, or the condition that it got."""
    name = body.original(body.proto.output[0].name)
    return name == body.proto.input[1].name or _is_true(body, name)


def write_out(node: Node, body: Subgraph, turns: int) -> None:
    """Replace `node`, a Loop, by `turns` copies of its body."""
    graph, stored = body.proto, body.move_initializers()
    carried, rows = node.inputs[FIRST:], list[list[str]]()
    for turn in range(turns):
        number = node.op.int64(_like(graph, 0, turn))
        names = dict(zip((value.name for value in graph.input), [number, _condition(node, graph), *carried], strict=True))
        names |= stored
        body.paste(names)
        ends = [names.get(value.name, value.name) for value in graph.output[1:]]
        carried = ends[: len(carried)]
        rows.append(ends[len(carried) :])
    for index, value in enumerate(carried):
        node.forward(index, value)
    for index, column in enumerate(zip(*rows, strict=True), len(carried)):
        if node.has_output(index):
            node.forward(index, _stacked(node, column))
    node.remove()


def _like(graph: GraphProto, index: int, value: int) -> int | list[int]:
    """`value` as a scalar, or as a vector of one if the body declares the input so, as TorchScript does."""
    return [value] if len(graph.input[index].type.tensor_type.shape.dim) == 1 else value


def _condition(node: Node, graph: GraphProto) -> str:
    return node.op.const(_like(graph, 1, 1), np.bool_)


def _stacked(node: Node, rows: Sequence[str]) -> str:
    op = node.op
    axes = op.int64([0])
    return op.Concat(*([op.Unsqueeze(row, axes) for row in rows]), axis=0)
