"""BatchNormalization: is_test exists until opset 6, spatial until 8, five outputs in training until 13, training_mode from 14 on.

https://onnx.ai/onnx/operators/onnx__BatchNormalization.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade, express, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.flattening import become_reshape

_PARAMETERS = ("X", "scale", "B", "mean", "var")


@upgrade("BatchNormalization", 7)
def drop_is_test(node: Node) -> None:
    """is_test is removed: from opset 7 on, a node with one output does not train, and a node with five outputs trains."""
    if node.pop_attr("is_test", 0):
        _drop_unread_outputs(node, 1)
        if _extra_outputs(node):
            raise Unconvertible("is_test=1, and outputs that only training has", "remove the outputs after the first")


@downgrade("BatchNormalization", 7)
def add_is_test(node: Node) -> None:
    """is_test=1 is written out where the node has one output, since the default of opset 6 is training."""
    if not _extra_outputs(node):
        node.set_attr("is_test", 1)


@downgrade("BatchNormalization", 6)
def add_consumed_inputs(node: Node) -> None:
    """The required attribute consumed_inputs is added. Refused where the input does not have the 4 dimensions of opset 1."""
    rank = node.need_rank()
    if rank != 4:
        raise Unconvertible(f"BatchNormalization of opset 1 takes 4 dimensions, and '{node.input(0)}' has {rank}")
    node.set_attr("consumed_inputs", [0, 0, 0, 1, 1])


@upgrade("BatchNormalization", 9)
def one_channel_per_feature(node: Node) -> None:
    """spatial=0, a normalization of each feature for itself, becomes the usual one of a matrix with a channel for each feature."""
    op = node.op
    if node.pop_attr("spatial", 1):
        return
    if _extra_outputs(node):
        raise Unconvertible("training with spatial=0 has no form from opset 9 on")
    data = node.input(0)
    matrix = op.Flatten(data, axis=1)
    flat = op.int64([-1])
    vectors = [op.Reshape(node.input(i), flat) for i in range(1, 5)]
    epsilon = node.attr("epsilon")
    normalized = op.BatchNormalization(matrix, *vectors, epsilon=epsilon)
    become_reshape(node, normalized, data, flattened_from=1)


@upgrade("BatchNormalization", 14)
def add_training_mode(node: Node) -> None:
    """A node with more than one output gets training_mode=1. The outputs saved_mean and saved_var are removed."""
    if not _extra_outputs(node):
        return
    _drop_unread_outputs(node, 3)
    if node.has_output(3) or node.has_output(4):
        names = ", ".join(f"'{name}'" for name in node.outputs[3:] if name)
        raise Unconvertible(f"saved_mean and saved_var ({names}) do not exist from opset 14 on", "remove these outputs")
    node.set_attr("training_mode", 1)


@downgrade("BatchNormalization", 14)
def write_out_training(node: Node) -> None:
    """A node that trains is written out as arithmetic, since before opset 14 it has other outputs. Any other node stays."""
    _write_out_training(node)


@express("BatchNormalization", opset=14)
def arithmetic_in_training(node: Node) -> None:
    """A node that trains is written out as arithmetic."""
    _write_out_training(node)


def _write_out_training(node: Node) -> None:
    op = node.op
    if not node.pop_attr("training_mode", 0):
        return
    rank = node.need_rank()
    kind = node.need_elem_type()
    if {node.elem_type(index) for index in range(1, 5)} != {kind}:
        raise Unconvertible("training with statistics of another type than the data has no form before opset 14")
    axes = [axis for axis in range(rank) if axis != 1]
    data = node.input(0)
    mean = op.ReduceMean(data, axes=axes, keepdims=1)
    centred = op.Sub(data, mean)
    squares = op.Mul(centred, centred)
    variance = op.ReduceMean(squares, axes=axes, keepdims=1)
    momentum = node.attr("momentum", 0.9)
    for index, current in ((1, mean), (2, variance)):
        if node.has_output(index):
            _running(node, index, current, momentum)
    epsilon = op.const(node.attr("epsilon", 1e-5), kind)
    deviation = op.Sqrt(op.Add(variance, epsilon))
    column = op.int64([-1] + [1] * (rank - 2)) if rank > 1 else op.int64([-1])
    scale, bias = (op.Reshape(node.input(index), column) for index in (1, 2))
    normalized = op.Mul(op.Div(centred, deviation), scale)
    op.Add(normalized, bias, output=node.output(0))
    node.approximate = True
    node.remove()


def _running(node: Node, index: int, current: str, momentum: float) -> None:
    """Write output `index`: the running statistic in input `index` + 2, moved towards `current` by 1 - `momentum`."""
    op = node.op
    kind = node.need_elem_type()
    old = op.Mul(node.input(index + 2), op.const(momentum, kind))
    flat = op.Reshape(current, op.int64([-1]))
    new = op.Mul(flat, op.const(1 - momentum, kind))
    op.Add(old, new, output=node.output(index))


def _extra_outputs(node: Node) -> bool:
    """Whether the node has outputs beside the normalized data, which exist only in training."""
    return any(node.outputs[1:])


def _drop_unread_outputs(node: Node, first: int) -> None:
    """Remove the outputs from index `first` on that nothing reads."""
    for index in reversed(range(first, len(node.outputs))):
        if node.has_output(index) and not node.is_read(index):
            node.drop_output(index)
