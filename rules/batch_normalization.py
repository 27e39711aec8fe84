"""BatchNormalization: is_test until 6, spatial until 8, five outputs in training until 13, training_mode from 14 on.

https://onnx.ai/onnx/operators/onnx__BatchNormalization.html
"""

from __future__ import annotations

from onnx import helper

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.flattening import become_reshape
from .shared.indices import int64

_PARAMETERS = ("X", "scale", "B", "mean", "var")


@upgrade("BatchNormalization", 7)
def drop_is_test(node: Node) -> None:
    """is_test goes: from opset 7 on, a node with one output runs inference, and one with five trains."""
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
    """The required attribute consumed_inputs is added. Opset 1 takes input of 4 dimensions only."""
    rank = node.need_rank()
    if rank != 4:
        raise Unconvertible(f"BatchNormalization of opset 1 takes 4 dimensions, and '{node.input(0)}' has {rank}")
    node.set_attr("consumed_inputs", [0, 0, 0, 1, 1])


@upgrade("BatchNormalization", 9)
def one_channel_per_feature(node: Node) -> None:
    """spatial=0 normalizes each feature for itself: the data becomes a matrix with one channel for each feature."""
    if node.pop_attr("spatial", 1):
        return
    if _extra_outputs(node):
        raise Unconvertible("training with spatial=0 has no form from opset 9 on")
    data = node.input(0)
    matrix = node.before("Flatten", [data], what="matrix", axis=1)
    flat = int64(node, [-1], "flat")
    vectors = [node.before("Reshape", [node.input(i), flat], what=_PARAMETERS[i].lower()) for i in range(1, 5)]
    epsilon = node.attr("epsilon")
    normalized = node.before("BatchNormalization", [matrix, *vectors], what="normalized", epsilon=epsilon)
    become_reshape(node, normalized, data, flattened_from=1)


@upgrade("BatchNormalization", 14)
def add_training_mode(node: Node) -> None:
    """A node with more than one output gets training_mode=1. saved_mean and saved_var do not exist any more."""
    if not _extra_outputs(node):
        return
    _drop_unread_outputs(node, 3)
    if node.has_output(3) or node.has_output(4):
        names = ", ".join(f"'{name}'" for name in node.outputs[3:] if name)
        raise Unconvertible(f"saved_mean and saved_var ({names}) do not exist from opset 14 on", "remove these outputs")
    node.set_attr("training_mode", 1)


@downgrade("BatchNormalization", 14)
def write_out_training(node: Node) -> None:
    """A node that trains is written out as arithmetic, since its outputs are others before opset 14. Inference stays."""
    if not node.pop_attr("training_mode", 0):
        return
    rank = node.need_rank()
    kind = node.need_elem_type()
    if {node.elem_type(index) for index in range(1, 5)} != {kind}:
        raise Unconvertible("training with statistics of another type than the data has no form before opset 14")
    axes = [axis for axis in range(rank) if axis != 1]
    data = node.input(0)
    mean = node.before("ReduceMean", [data], what="mean", axes=axes, keepdims=1)
    centred = node.before("Sub", [data, mean], what="centred")
    squares = node.before("Mul", [centred, centred], what="squares")
    variance = node.before("ReduceMean", [squares], what="variance", axes=axes, keepdims=1)
    momentum = node.attr("momentum", 0.9)
    for index, current in ((1, mean), (2, variance)):
        if node.has_output(index):
            _running(node, index, current, momentum)
    epsilon = _scalar(node, kind, node.attr("epsilon", 1e-5), "epsilon")
    deviation = node.before("Sqrt", [node.before("Add", [variance, epsilon], what="variance")], what="deviation")
    column = int64(node, [-1] + [1] * (rank - 2), "column") if rank > 1 else int64(node, [-1], "column")
    scale, bias = (node.before("Reshape", [node.input(index), column], what="column") for index in (1, 2))
    normalized = node.before("Mul", [node.before("Div", [centred, deviation], what="normalized"), scale], what="scaled")
    node.before("Add", [normalized, bias], outputs=[node.output(0)])
    node.approximate = True
    node.remove()


def _running(node: Node, index: int, current: str, momentum: float) -> None:
    """Write output `index`: the running statistic in input `index` + 2, moved towards `current` by 1 - `momentum`."""
    kind = node.need_elem_type()
    old = node.before("Mul", [node.input(index + 2), _scalar(node, kind, momentum, "momentum")], what="old")
    flat = node.before("Reshape", [current, int64(node, [-1], "flat")], what="current")
    new = node.before("Mul", [flat, _scalar(node, kind, 1 - momentum, "rest")], what="new")
    node.before("Add", [old, new], outputs=[node.output(index)])


def _scalar(node: Node, kind: int, value: float, what: str) -> str:
    """A scalar constant of element type `kind`."""
    return node.add_constant(value, helper.tensor_dtype_to_np_dtype(kind), what)


def _extra_outputs(node: Node) -> bool:
    """Whether the node has outputs beside the normalized data, which only training has."""
    return any(node.outputs[1:])


def _drop_unread_outputs(node: Node, first: int) -> None:
    """Drop those outputs from index `first` on that nothing reads."""
    for index in reversed(range(first, len(node.outputs))):
        if node.has_output(index) and not node.scope.model.is_read(node.output(index)):
            node.drop_output(index)
