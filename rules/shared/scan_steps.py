"""The steps of a Scan, written out one after the other. It is of opset 9 or newer, and so scans one sequence.

https://onnx.ai/onnx/operators/onnx__Scan.html
"""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node, Subgraph
from .axes import from_the_front

_ONE_SEQUENCE = 9
"""The opset from which on a Scan is over one sequence, and not over a batch of them."""


def count_of(node: Node) -> int | None:
    """The number of steps; None where it is unknown, or the Scan is older than opset 9."""
    if node.opset < _ONE_SEQUENCE:
        return None
    scanned = node.attr("num_scan_inputs")
    first = len(node.inputs) - scanned
    axis = of_each(node, "scan_input_axes", scanned)[0]
    count = node.dimension(axis, first) if node.rank(first) is not None else None
    return count if isinstance(count, int) else None


def write_out(node: Node, steps: Subgraph, count: int) -> None:
    """Replace `node`, a Scan, by `count` copies of its body `steps`."""
    body, scanned, stored = steps.proto, node.attr("num_scan_inputs"), steps.move_initializers()
    states, collected = node.inputs[: len(node.inputs) - scanned], list[list[str]]()
    axes = axes_of_inputs(node, len(states), scanned)
    backward = of_each(node, "scan_input_directions", scanned)
    for step in range(count):
        places = [node.op.int64(count - 1 - step if back else step) for back in backward]
        slices = [node.op.Gather(node.input(len(states) + i), places[i], axis=axes[i]) for i in range(scanned)]
        names = dict(zip((value.name for value in body.input), [*states, *slices], strict=True))
        names |= stored
        steps.paste(names)
        results = [names.get(value.name, value.name) for value in body.output]
        states = results[: len(states)]
        collected.append(results[len(states) :])
    _give_outputs(node, states, collected)


def axes_of_inputs(node: Node, first: int, scanned: int) -> list[int]:
    """The scanned axis of each scanned input, not negative."""
    axes = of_each(node, "scan_input_axes", scanned)
    return [from_the_front([axis], node.need_rank(first + i))[0] if axis < 0 else axis for i, axis in enumerate(axes)]


def of_each(node: Node, name: str, count: int) -> list[int]:
    """The attribute `name`, with one number for each of `count` values. Raises Unconvertible where it has another length."""
    numbers = node.attr(name, [0] * count)
    if len(numbers) != count:
        raise Unconvertible(f"{name} has {len(numbers)} entries for {count} values")
    return numbers


def _give_outputs(node: Node, states: list[str], collected: list[list[str]]) -> None:
    """Write the outputs of the Scan: its last states, and the elements that the steps collected."""
    op = node.op
    for index, state in enumerate(states):
        if node.has_output(index):
            op.Identity(state, output=node.output(index))
    stacked = len(node.outputs) - len(states)
    axes, backward = (of_each(node, name, stacked) for name in ("scan_output_axes", "scan_output_directions"))
    for i in range(stacked):
        if not node.has_output(len(states) + i):
            continue
        parts = [op.Unsqueeze(step[i], op.int64([axes[i]])) for step in collected]
        op.Concat(*(parts[::-1] if backward[i] else parts), output=node.output(len(states) + i), axis=axes[i])
    node.remove()
