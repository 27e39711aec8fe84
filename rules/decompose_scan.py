"""Scan before opset 8, where the number of steps is known and small: its body, once for each step.

https://onnx.ai/onnx/operators/onnx__Scan.html
"""

from __future__ import annotations

from onnx import GraphProto

from ..rewriter import expansion
from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose
from .axes import from_the_front
from .indices import int64

MAX_STEPS = 16
"""Bodies written out: beyond, the graph would be the size of the data."""


@decompose("Scan", opset=13, any_version=True)
def write_out_the_steps(node: Node) -> None:
    """Each step takes its slice of what is scanned and the states of the step before."""
    if node.opset < 9:
        raise Unconvertible("the batches of Scan of opset 8 cannot be written out")
    body: GraphProto = node.attr("body")
    if body.initializer or body.sparse_initializer:
        raise Unconvertible("the body of the Scan has initializers of its own", "move them to the main graph")
    scanned = node.attr("num_scan_inputs")
    states, collected = node.inputs[: len(node.inputs) - scanned], list[list[str]]()
    axes = _axes(node, len(states), scanned)
    count = node.need_dimension(axes[0], len(states))
    if not 0 < count <= MAX_STEPS:
        raise Unconvertible(f"a Scan of {count} steps is not written out, and Scan is new in opset 8")
    backward = node.attr("scan_input_directions", [0] * scanned)
    for step in range(count):
        places = [int64(node, count - 1 - step if back else step, "step") for back in backward]
        slices = [
            node.before("Gather", [node.input(len(states) + i), places[i]], what="slice", axis=axes[i]) for i in range(scanned)
        ]
        names = dict(zip((value.name for value in body.input), [*states, *slices], strict=True))
        expansion.paste(node, body.node, node.body_opset, names)
        results = [names.get(value.name, value.name) for value in body.output]
        states = results[: len(states)]
        collected.append(results[len(states) :])
    _give_outputs(node, states, collected)


def _axes(node: Node, first: int, scanned: int) -> list[int]:
    axes = node.attr("scan_input_axes", [0] * scanned)
    return [from_the_front([axis], node.need_rank(first + i))[0] if axis < 0 else axis for i, axis in enumerate(axes)]


def _give_outputs(node: Node, states: list[str], collected: list[list[str]]) -> None:
    for index, state in enumerate(states):
        if node.has_output(index):
            node.before("Identity", [state], outputs=[node.output(index)])
    stacked = len(node.outputs) - len(states)
    axes = node.attr("scan_output_axes", [0] * stacked)
    backward = node.attr("scan_output_directions", [0] * stacked)
    for i in range(stacked):
        if not node.has_output(len(states) + i):
            continue
        parts = [node.before("Unsqueeze", [step[i], int64(node, [axes[i]], "axis")], what="part") for step in collected]
        node.before("Concat", parts[::-1] if backward[i] else parts, outputs=[node.output(len(states) + i)], axis=axes[i])
    node.remove()
