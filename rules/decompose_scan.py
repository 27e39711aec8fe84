"""Scan before opset 8: its body once for each step, where they are few; else a Loop, whose steps take their slices themselves.

https://onnx.ai/onnx/operators/onnx__Scan.html
"""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, TensorProto, ValueInfoProto, helper

from ..rewriter import expansion
from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose
from .axes import from_the_front
from .indices import int64
from .scan import one_sequence

MAX_STEPS = 16
"""Bodies written out: beyond, the graph would be the size of the data."""
_SEQUENCES, _WRITTEN_FOR = 9, 13
"""The opset from which on a Scan takes one sequence, not a batch of them; and the one that its steps are written for."""


@decompose("Scan", opset=_WRITTEN_FOR, any_version=True)
def write_out_the_steps(node: Node) -> None:
    """Each step takes its slice of what is scanned and the states of the step before."""
    if node.opset < _SEQUENCES:
        node.begin_rule(_SEQUENCES)
        one_sequence(node)
        node.begin_rule(_WRITTEN_FOR)
    body: GraphProto = node.attr("body")
    if body.initializer or body.sparse_initializer:
        raise Unconvertible("the body of the Scan has initializers of its own", "move them to the main graph")
    scanned = node.attr("num_scan_inputs")
    states, collected = node.inputs[: len(node.inputs) - scanned], list[list[str]]()
    axes = _axes(node, len(states), scanned)
    count = node.need_dimension(axes[0], len(states))
    backward = _of_each(node, "scan_input_directions", scanned)
    if not 0 < count <= MAX_STEPS:
        _loop(node, body, count, axes, backward)
        return
    scope = next(node.scope.children(node.proto, node.source_index, node.body_opset))
    for step in range(count):
        places = [int64(node, count - 1 - step if back else step, "step") for back in backward]
        slices = [
            node.before("Gather", [node.input(len(states) + i), places[i]], what="slice", axis=axes[i]) for i in range(scanned)
        ]
        names = dict(zip((value.name for value in body.input), [*states, *slices], strict=True))
        expansion.paste_graph(node, scope, names)
        results = [names.get(value.name, value.name) for value in body.output]
        states = results[: len(states)]
        collected.append(results[len(states) :])
    _give_outputs(node, states, collected)


def _axes(node: Node, first: int, scanned: int) -> list[int]:
    axes = _of_each(node, "scan_input_axes", scanned)
    return [from_the_front([axis], node.need_rank(first + i))[0] if axis < 0 else axis for i, axis in enumerate(axes)]


def _of_each(node: Node, name: str, count: int) -> list[int]:
    numbers = node.attr(name, [0] * count)
    if len(numbers) != count:
        raise Unconvertible(f"{name} has {len(numbers)} entries for {count} values")
    return numbers


def _give_outputs(node: Node, states: list[str], collected: list[list[str]]) -> None:
    for index, state in enumerate(states):
        if node.has_output(index):
            node.before("Identity", [state], outputs=[node.output(index)])
    stacked = len(node.outputs) - len(states)
    axes, backward = (_of_each(node, name, stacked) for name in ("scan_output_axes", "scan_output_directions"))
    for i in range(stacked):
        if not node.has_output(len(states) + i):
            continue
        parts = [node.before("Unsqueeze", [step[i], int64(node, [axes[i]], "axis")], what="part") for step in collected]
        node.before("Concat", parts[::-1] if backward[i] else parts, outputs=[node.output(len(states) + i)], axis=axes[i])
    node.remove()


def _loop(node: Node, body: GraphProto, count: int, axes: list[int], backward: list[int]) -> None:
    """A Loop over `count` steps, whose results are stacked along the first axis. Loop of opset 1 has to carry something."""
    if count == 0:
        raise Unconvertible("a Scan of no steps is not written as a Loop, and Scan is new in opset 8")
    if not len(axes) < len(node.inputs):
        raise Unconvertible("a Scan without state is not written as a Loop, and Scan is new in opset 8")
    if any(node.attr(name, []) and any(node.attr(name)) for name in ("scan_output_axes", "scan_output_directions")):
        raise Unconvertible(f"a Scan of {count} steps that stacks along another axis, or backward, is not written as a Loop")
    states = len(node.inputs) - len(axes)
    number, go_on, goes_on = (node.fresh_name(what) for what in ("number", "go_on", "goes_on"))
    last = int64(node, count - 1, "last")
    prologue = [helper.make_node("Identity", [go_on], [goes_on], name=goes_on)]
    for index, value in enumerate(body.input[states:]):
        place = number
        if backward[index]:
            place = node.fresh_name("place")
            prologue.append(helper.make_node("Sub", [last, number], [place], name=place))
        gather = helper.make_node("Gather", [node.input(states + index), place], [value.name], axis=axes[index])
        gather.name = node.fresh_name(f"{value.name}_slice")
        prologue.append(gather)
    graph = helper.make_graph(
        [*prologue, *body.node],
        body.name or "step",
        [
            helper.make_tensor_value_info(number, TensorProto.INT64, []),
            helper.make_tensor_value_info(go_on, TensorProto.BOOL, []),
            *(_state(node, index, value) for index, value in enumerate(body.input[:states])),
        ],
        [helper.make_tensor_value_info(goes_on, TensorProto.BOOL, []), *body.output],
    )
    trips, condition = int64(node, count, "count"), node.add_constant(True, np.bool_, "condition")
    outputs = [name or node.fresh_name("unused") for name in node.outputs]
    outputs += [node.fresh_name("unused") for _ in range(len(body.output) - len(outputs))]
    inputs = [trips, condition, *node.inputs[:states]]
    node.before("Loop", inputs, outputs=outputs, opset=node.body_opset, body=graph)
    node.remove()


def _state(node: Node, index: int, value: ValueInfoProto) -> ValueInfoProto:
    """A state of the body, with the element type of its first value."""
    if value.type.tensor_type.elem_type:
        return value
    typed = ValueInfoProto()
    typed.CopyFrom(value)
    typed.type.tensor_type.elem_type = node.need_elem_type(index)
    return typed
