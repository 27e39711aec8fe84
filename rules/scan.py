"""Scan: until opset 8 over a batch of sequences, [batch, sequence, …], from 9 on over one sequence along any axis.

Below opset 8 it is written out with one copy of the body for each step, or as a Loop if there are many steps. Runtimes need the
ranks of the outputs of a body, and infer fewer of them for older operators, so rules for the way down declare them.
https://onnx.ai/onnx/operators/onnx__Scan.html
"""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, TensorProto, ValueInfoProto, helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node, Shape
from .shared.axes import from_the_front
from .shared.draws import repeats_draws
from .shared.scan_steps import axes_of_inputs, of_each, write_out

MAX_STEPS = 16
"""The number of steps up to which they are written out; with more, the graph would grow with the data."""
_SEQUENCES, _WRITTEN_FOR = 9, 13
"""The first opset in which Scan takes one sequence instead of a batch, and the opset for which the
written-out steps are written.
"""


@downgrade("Scan", 16)
def declare_ranks_of_the_body(node: Node) -> None:
    """The outputs of the body declare their ranks, if these are known and were not declared."""
    body = node.subgraphs()[0]
    graph: GraphProto = node.attr("body")
    for value in graph.output:
        shape, kind = body.shape(value.name), body.elem_type(value.name)
        if shape is None or kind is None or value.type.tensor_type.HasField("shape"):
            continue
        value.type.CopyFrom(helper.make_tensor_type_proto(kind, [None] * len(shape)))
        node.edited()


@upgrade("Scan", 9)
def one_sequence(node: Node) -> None:
    """A batch of one loses its dimension before the Scan and gets it back afterwards. Larger batches are refused."""
    if node.has_input(0):
        raise Unconvertible("sequence_lens does not exist from opset 9 on", "remove it if all sequences have full length")
    _require_batch_of_one(node)
    directions = node.pop_attr("directions")
    if directions is not None:
        node.set_attr("scan_input_directions", directions)
    values = [node.op.Squeeze(name, axes=[0]) for name in node.inputs[1:]]
    del node.proto.input[:]
    for value in values:
        node.add_input(value)
    for index, output in enumerate(node.outputs):
        if output:
            shape = node.shape(node.output(index))
            sequence = _detach(node, index, "sequence", None if shape is None else shape[1:])
            node.after.Unsqueeze(sequence, output=output, axes=[0])


def _require_batch_of_one(node: Node) -> None:
    """Raises Unconvertible where the batch is not known to have one sequence."""
    for index in range(1, len(node.inputs)):
        if node.dimension(0, index) == 1:
            return
    raise Unconvertible("before opset 9 Scan has a batch axis, and the batch size is not known to be 1", node.shape_hint(1))


@downgrade("Scan", 9)
def batch_of_one(node: Node) -> None:
    """The sequence becomes a batch of one, with the scanned axis moved to the front."""
    scanned = node.attr("num_scan_inputs")
    states = len(node.inputs) - scanned
    directions = node.pop_attr("scan_input_directions")
    if any(node.pop_attr("scan_output_directions", [])):
        raise Unconvertible("scan_output_directions=1, output from the last to the first, is new in opset 9")
    input_axes = node.pop_attr("scan_input_axes", [0] * scanned)
    output_axes = node.pop_attr("scan_output_axes", [0] * (len(node.outputs) - states))
    if directions is not None:
        node.set_attr("directions", directions)
    values = []
    for index, name in enumerate(node.inputs):
        if index >= states:
            name = _moved_first(node, index, input_axes[index - states])
        values.append(node.op.Unsqueeze(name, axes=[0]))
    node.set_input(0, "")
    for index, value in enumerate(values):
        node.set_input(index + 1, value)
    for index, output in enumerate(node.outputs):
        if output:
            _single_output(node, index, output, output_axes[index - states] if index >= states else 0)


def _moved_first(node: Node, index: int, axis: int) -> str:
    """Input `index` with `axis` moved to the front."""
    name = node.input(index)
    if axis == 0:
        return name
    rank = node.need_rank(index)
    (axis,) = from_the_front([axis], rank)
    order = [axis, *(other for other in range(rank) if other != axis)]
    return node.op.Transpose(name, perm=order)


def _single_output(node: Node, index: int, output: str, axis: int) -> None:
    """Remove the batch dimension of output `index`, and move its first axis to `axis`."""
    shape = node.shape(node.output(index))
    if axis == 0:
        batch = _detach(node, index, "batch", None if shape is None else (1, *shape))
        node.after.Squeeze(batch, output=output, axes=[0])
        return
    if shape is None:
        raise Unconvertible(f"the rank of '{output}' is unknown", node.shape_hint())
    (axis,) = from_the_front([axis], len(shape))
    order = list(range(1, len(shape)))
    order.insert(axis, 0)
    scanned_first = (shape[axis], *shape[:axis], *shape[axis + 1 :])
    batch = _detach(node, index, "batch", (1, *scanned_first))
    single = node.after.Squeeze(batch, axes=[0])
    node.after.Transpose(single, output=output, perm=order)


def _detach(node: Node, index: int, what: str, shape: Shape | None) -> str:
    """Call `Node.detach_output`, and give the new value the type of the output with another shape."""
    kind = node.elem_type(node.output(index))
    fresh = node.detach_output(index, what)
    if kind is not None:
        node.graph.note_type(fresh, helper.make_tensor_type_proto(kind, shape))
    return fresh


@decompose("Scan", opset=_WRITTEN_FOR, any_version=True)
def write_out_the_steps(node: Node) -> None:
    """Up to 16 steps are written out one after the other; more steps become a Loop."""
    if node.opset < _SEQUENCES:
        node.written_for = _SEQUENCES
        one_sequence(node)
        node.written_for = _WRITTEN_FOR
    body: GraphProto = node.attr("body")
    scanned = node.attr("num_scan_inputs")
    first = len(node.inputs) - scanned
    axes = axes_of_inputs(node, first, scanned)
    count = node.need_dimension(axes[0], first)
    backward = of_each(node, "scan_input_directions", scanned)
    is_long = not 0 < count <= MAX_STEPS or repeats_draws(node.subgraphs()[0], count)
    if body.sparse_initializer or (is_long and body.initializer):
        raise Unconvertible("the body of the Scan has initializers of its own", "move them to the main graph")
    if is_long:
        _loop(node, body, count, axes, backward)
        return
    write_out(node, node.subgraphs()[0], count)


def _loop(node: Node, body: GraphProto, count: int, axes: list[int], backward: list[int]) -> None:
    """Make a Loop over `count` steps, whose results are stacked along the first axis. Loop-1 must carry at least one state."""
    op = node.op
    if count == 0:
        raise Unconvertible("a Scan of no steps is not written as a Loop, and Scan is new in opset 8")
    if not len(axes) < len(node.inputs):
        raise Unconvertible("a Scan without state is not written as a Loop, and Scan is new in opset 8")
    if any(node.attr(name, []) and any(node.attr(name)) for name in ("scan_output_axes", "scan_output_directions")):
        raise Unconvertible(f"a Scan of {count} steps that stacks along another axis, or backward, is not written as a Loop")
    states = len(node.inputs) - len(axes)
    number, go_on, goes_on = (node.fresh_name(what) for what in ("number", "go_on", "goes_on"))
    last = op.int64(count - 1)
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
    trips, condition = op.int64(count), op.const(True, np.bool_)
    outputs = [name or node.fresh_name("unused") for name in node.outputs]
    outputs += [node.fresh_name("unused") for _ in range(len(body.output) - len(outputs))]
    inputs = [trips, condition, *node.inputs[:states]]
    op.Loop(*inputs, outputs=outputs, opset=node.body_opset, body=graph)
    node.remove()


def _state(node: Node, index: int, value: ValueInfoProto) -> ValueInfoProto:
    """A state of the body, declared with the element type of its initial value."""
    if value.type.tensor_type.elem_type:
        return value
    typed = ValueInfoProto()
    typed.CopyFrom(value)
    typed.type.tensor_type.elem_type = node.need_elem_type(index)
    return typed
