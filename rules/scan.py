"""Scan: until opset 8 over a batch of sequences, [batch, sequence, ...]; from 9 on over one sequence along any axis.

Runtimes need the ranks of what a body gives, and infer less of them from older operators: going down declares them.

https://onnx.ai/onnx/operators/onnx__Scan.html
"""

from __future__ import annotations

from onnx import GraphProto, helper

from ..rewriter.graph import Node
from ..rewriter.inference import Shape
from ..rewriter.rule import Unconvertible, downgrade, upgrade
from .axes import from_the_front


@downgrade("Scan", 16)
def ranks_of_the_body(node: Node) -> None:
    """The outputs of the body declare their ranks, where they did not and they are known."""
    body = next(node.scope.children(node.proto, node.source_index, node.body_opset))
    graph: GraphProto = node.attr("body")
    for value in graph.output:
        shape, kind = body.shape_worked_out(value.name), body.elem_type(value.name)
        if shape is None or kind is None or value.type.tensor_type.HasField("shape"):
            continue
        value.type.CopyFrom(helper.make_tensor_type_proto(kind, [None] * len(shape)))
        node.changed = True


@upgrade("Scan", 9)
def one_sequence(node: Node) -> None:
    """A batch of one: its dimension goes before the Scan, and comes back after it."""
    if node.has_input(0):
        raise Unconvertible("sequence_lens does not exist from opset 9 on", "remove it if all sequences have full length")
    _require_batch_of_one(node)
    directions = node.pop_attr("directions")
    if directions is not None:
        node.set_attr("scan_input_directions", directions)
    values = [node.before("Squeeze", [name], what="sequence", axes=[0]) for name in node.inputs[1:]]
    del node.proto.input[:]
    for value in values:
        node.add_input(value)
    for index, output in enumerate(node.outputs):
        if output:
            shape = node.output_shape(index)
            sequence = _detach(node, index, "sequence", None if shape is None else shape[1:])
            node.after("Unsqueeze", [sequence], outputs=[output], axes=[0])


def _require_batch_of_one(node: Node) -> None:
    for index in range(1, len(node.inputs)):
        if node.dimension(0, index) == 1:
            return
    raise Unconvertible("before opset 9 Scan takes a batch, and it is not known to be of one", node.shape_hint())


@downgrade("Scan", 9)
def batch_of_one(node: Node) -> None:
    """One sequence is a batch of one; its axis is moved to the front first."""
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
        values.append(node.before("Unsqueeze", [name], what="batch", axes=[0]))
    node.set_input(0, "")
    for index, value in enumerate(values):
        node.set_input(index + 1, value)
    for index, output in enumerate(node.outputs):
        if output:
            _single_output(node, index, output, output_axes[index - states] if index >= states else 0)


def _moved_first(node: Node, index: int, axis: int) -> str:
    """Input `index` with `axis` as its first."""
    name = node.input(index)
    if axis == 0:
        return name
    rank = node.need_rank(index)
    (axis,) = from_the_front([axis], rank)
    order = [axis, *(other for other in range(rank) if other != axis)]
    return node.before("Transpose", [name], what="scanned", perm=order)


def _single_output(node: Node, index: int, output: str, axis: int) -> None:
    """Take the batch off output `index`, and move its first axis to `axis`."""
    shape = node.output_shape(index)
    if axis == 0:
        batch = _detach(node, index, "batch", None if shape is None else (1, *shape))
        node.after("Squeeze", [batch], outputs=[output], axes=[0])
        return
    if shape is None:
        raise Unconvertible(f"the rank of '{output}' is unknown", node.shape_hint())
    (axis,) = from_the_front([axis], len(shape))
    order = list(range(1, len(shape)))
    order.insert(axis, 0)
    scanned_first = (shape[axis], *shape[:axis], *shape[axis + 1 :])
    batch = _detach(node, index, "batch", (1, *scanned_first))
    single = node.after("Squeeze", [batch], what="single", axes=[0])
    node.after("Transpose", [single], outputs=[output], perm=order)


def _detach(node: Node, index: int, what: str, shape: Shape | None) -> str:
    """As `Node.detach_output`, with the type of the fresh value: that of the output, in another shape."""
    kind = node.output_elem_type(index)
    fresh = node.detach_output(index, what)
    if kind is not None:
        node.scope.note_type(fresh, helper.make_tensor_type_proto(kind, shape))
    return fresh
