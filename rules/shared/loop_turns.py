"""Loops whose turns are known and few, written out one after the other.

https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto

from ...rewriter.graph import bodies
from ...rewriter.graph.node import Node
from ...rewriter.graph.scope import Scope

FIRST = 2
"""A Loop, and its body, take a count or number and a condition before what is carried."""
MOST_NODES = 64
"""Nodes that a Loop may become where its turns are written out."""


def few_turns(node: Node, body: Scope) -> int | None:
    """How often the body of `node`, a Loop, runs; None where that is not known, or makes too many nodes written out."""
    graph, count = body.graph, node.constant(0)
    if not isinstance(graph, GraphProto) or count is None or count.size != 1:
        return None
    turns = max(int(count.reshape(-1)[0]), 0)
    starts = not node.has_input(1) or _is_true(node.scope, node.input(1))
    goes_on = starts and _goes_on(body, graph)
    stacks = len(graph.output) > len(graph.input) - 1
    too_many = turns * len(graph.node) > MOST_NODES or (stacks and turns == 0)
    return None if not goes_on or too_many or len(graph.input) != len(node.inputs) else turns


def _is_true(scope: Scope, name: str) -> bool:
    value = scope.constant(name)
    return value is not None and value.size == 1 and bool(value.reshape(-1)[0])


def _goes_on(body: Scope, graph: GraphProto) -> bool:
    """Whether no turn ends the Loop: what it says of the next one is true, or what it was told itself."""
    name = body.original(graph.output[0].name)
    return name == graph.input[1].name or _is_true(body, name)


def write_out(node: Node, body: Scope, turns: int) -> None:
    """Put the body of `node`, a Loop, in its place as often as it runs."""
    graph = body.graph
    assert isinstance(graph, GraphProto)
    stored = bodies.move_initializers(node, graph)
    carried, rows = node.inputs[FIRST:], list[list[str]]()
    for turn in range(turns):
        number = node.op.int64(_like(graph, 0, turn))
        names = dict(zip((value.name for value in graph.input), [number, _condition(node, graph), *carried], strict=True))
        names |= stored
        bodies.paste_graph(node, body, names)
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
    """`value` as a scalar, or as a vector of one where the body declares that input so, as TorchScript does."""
    return [value] if len(graph.input[index].type.tensor_type.shape.dim) == 1 else value


def _condition(node: Node, graph: GraphProto) -> str:
    return node.op.const(_like(graph, 1, 1), np.bool_)


def _stacked(node: Node, rows: Sequence[str]) -> str:
    op = node.op
    axes = op.int64([0])
    return op.Concat(*([op.Unsqueeze(row, axes) for row in rows]), axis=0)
