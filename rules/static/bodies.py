"""If, Loop and Scan of which it is known what runs, in its place.

https://onnx.ai/onnx/operators/onnx__If.html, https://onnx.ai/onnx/operators/onnx__Loop.html,
https://onnx.ai/onnx/operators/onnx__Scan.html
"""

from __future__ import annotations

from ...rewriter.engine.registry import respell
from ...rewriter.graph.node import Node
from ..shared import scan_steps
from ..shared.branches import branch_that_runs, put_in_place
from ..shared.draws import repeats_draws
from ..shared.loop_turns import few_turns, write_out
from ..shared.written_out import nodes_within

_MOST_NODES = 4096
"""The number of nodes up to which a Loop or Scan is written out."""


@respell("If", opset=13, exact=True)
def branch(node: Node) -> None:
    """An If with a constant condition becomes the branch that runs."""
    taken = branch_that_runs(node)
    if taken is not None:
        put_in_place(node, taken)


@respell("Loop", opset=13, exact=True)
def turns(node: Node) -> None:
    """A Loop with a constant trip count, and no other end, becomes its turns, one after the other."""
    body = node.subgraphs()[0]
    count = few_turns(node, body, _MOST_NODES, unknown=_MOST_NODES)
    if count is not None:
        write_out(node, body, count)


@respell("Scan", opset=13, exact=True)
def steps(node: Node) -> None:
    """A Scan over a known length becomes its steps, one after the other."""
    body = node.subgraphs()[0]
    count = scan_steps.count_of(node)
    if not count or body.proto.sparse_initializer or repeats_draws(body, count):
        return
    if count * nodes_within(body, unknown=_MOST_NODES) <= _MOST_NODES:
        scan_steps.write_out(node, body, count)
