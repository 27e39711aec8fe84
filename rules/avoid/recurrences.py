"""Outputs and initial states of recurrent operators.

https://onnx.ai/onnx/operators/onnx__LSTM.html, https://onnx.ai/onnx/operators/onnx__GRU.html,
https://onnx.ai/onnx/operators/onnx__RNN.html
"""

from __future__ import annotations

import numpy as np

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

_OUTPUTS = ("all", "last_hidden", "last_cell")


@avoid("Bidirectional recurrent operator", ("GRU", "LSTM", "RNN"), opset=7)
def one_node_for_each_direction(node: Node) -> None:
    """Two nodes run forward, one of them over the reversed input, and their outputs are concatenated.

    It is exact for all types. The number of steps has to be known; sequence_lens, and parameters of activations, are refused.
    """
    if node.attr("direction", "forward") != "bidirectional":
        return
    if node.has_attr("activation_alpha") or node.has_attr("activation_beta"):
        raise Unconvertible("its activations have parameters", "choose another runtime")
    op, layout, activations = node.op, node.attr("layout", 0), node.attr("activations", [])
    others = ("clip", "hidden_size", "input_forget", "layout", "linear_before_reset")
    shared = {name: node.attr(name) for name in others if node.has_attr(name)}
    count, half = len(node.outputs), len(activations) // 2
    found = []
    for place, data in enumerate((node.input(0), _reversed(node, node.input(0)))):
        weights = [_part(node, index, place, layout if index in (5, 6) else 0) for index in range(1, len(node.inputs))]
        own = {"activations": activations[half * place :][:half]} if half else {}
        found.append(getattr(op, node.op_type)(data, *weights, outputs=count, opset=node.opset, **shared, **own))
    found[1][0] = _reversed(node, found[1][0])
    for index, (output, *both) in enumerate(zip(node.outputs, *found, strict=True)):
        if output:
            op.Concat(*both, axis=layout if index else 1 + layout, output=output)
    node.remove()


def _part(node: Node, index: int, place: int, axis: int) -> str:
    """The part for one direction of an input; "" where it is absent."""
    if not node.has_input(index):
        return ""
    value = node.constant(index)
    if value is not None:
        return node.op.const(value.take([place], axis), value.dtype)
    return node.op.Gather(node.input(index), node.op.int64([place]), axis=axis)


def _reversed(node: Node, sequence: str) -> str:
    """The steps of a sequence from the last to the first, by a node before this one."""
    return node.op.Gather(sequence, _steps_backward(node), axis=node.attr("layout", 0))


def _steps_backward(node: Node) -> str:
    if node.has_input(4):
        raise Unconvertible("it has sequence_lens, and runs backward", "remove sequence_lens, if all sequences are of full length")
    return node.op.int64(list(range(node.need_dimension(node.attr("layout", 0))))[::-1])


@avoid("Recurrent operator in reverse", ("GRU", "LSTM", "RNN"), opset=7)
def run_forward(node: Node) -> None:
    """The node runs forward over the reversed input, and its output of all steps is reversed.

    It is exact for all types. The number of steps has to be known; sequence_lens is refused.
    """
    if node.attr("direction", "forward") != "reverse":
        return
    output, layout = node.output(0), node.attr("layout", 0)
    node.set_input(0, _reversed(node, node.input(0)))
    node.pop_attr("direction")
    if output:
        node.after.Gather(node.detach_output(0, "backward"), _steps_backward(node), axis=layout, output=output)


@avoid("Last state of a recurrent operator in reverse", ("GRU", "LSTM", "RNN"), opset=7)
def reach_last_state_forward(node: Node) -> None:
    """The node runs forward over the reversed input, and its output of all steps is reversed.

    It is exact for all types. The number of steps has to be known; sequence_lens is refused.
    """
    if node.is_read(1) or node.is_read(2):
        run_forward(node)


@avoid("Recurrent operator without all steps", ("GRU", "LSTM", "RNN"), opset=7)
def take_last_step(node: Node) -> None:
    """The output of all steps gets a name; for a single forward direction over full sequences, the last state is taken from it.

    It is exact for all types, and for sequences of one step or more.
    """
    if node.has_output(0):
        return
    if _ends_with_last_state(node):
        _take_last_step(node)
    else:
        node.set_output(0, node.fresh_name("all"))


@avoid("Last state of a recurrent operator", ("GRU", "LSTM", "RNN"), opset=7)
def take_last_state(node: Node) -> None:
    """The last state is taken from the output of all steps.

    It is exact for all types, and for sequences of one step or more.
    """
    if node.is_read(2):
        raise Unconvertible(f"the last cell state '{node.output(2)}' is read", "remove it from the model")
    if not node.has_output(1):
        return
    if not _ends_with_last_state(node):
        raise Unconvertible("it does not run forward to the end of all sequences", "let it run forward, without sequence_lens")
    _take_last_step(node)


def _ends_with_last_state(node: Node) -> bool:
    """Whether the last element of the output of all steps is the last state."""
    return node.attr("direction", "forward") == "forward" and not node.attr("layout", 0) and not node.has_input(4)


def _take_last_step(node: Node) -> None:
    last = node.output(1) if node.has_output(1) else ""
    if last:
        node.detach_output(1, "last_hidden")
        node.drop_output(1)
    if not node.has_output(0):
        node.set_output(0, node.fresh_name("all"))
    if last:
        node.after.Gather(node.output(0), node.op.int64(-1), axis=0, output=last)


@avoid("Recurrent operator without last state", ("GRU", "LSTM", "RNN"), opset=7)
def state_outputs(node: Node) -> None:
    """The outputs of the last states get names, even if nothing reads them.

    It is exact for all types and lengths.
    """
    if not node.has_output(0):
        return
    for index, what in enumerate(_OUTPUTS if node.op_type == "LSTM" else _OUTPUTS[:2]):
        if not node.has_output(index):
            node.set_output(index, node.fresh_name(what))


@avoid("LSTM with its last cell state alone", "LSTM", opset=7)
def name_other_outputs(node: Node) -> None:
    """The output of all steps and the last state get names, even if nothing reads them.

    It is exact for all types and lengths.
    """
    for index in (0, 1) if node.has_output(2) else ():
        if not node.has_output(index):
            node.set_output(index, node.fresh_name(_OUTPUTS[index]))


@avoid("Recurrent operator without a first state", ("GRU", "LSTM", "RNN"), opset=7)
def state_first(node: Node) -> None:
    """The initial state, 0, becomes an input.

    It is exact for all types. The size of the batch has to be known.
    """
    missing = [index for index in ((5, 6) if node.op_type == "LSTM" else (5,)) if not node.has_input(index)]
    if not missing:
        return
    directions = node.need_dimension(0, 1)
    shape = [directions, node.need_dimension(0 if node.attr("layout", 0) else 1), node.need_dimension(-1, 2)]
    if node.attr("layout", 0):
        shape[:2] = shape[1::-1]
    zeros = node.op.const(np.zeros(shape), node.need_elem_type())
    for index in missing:
        node.set_input(index, zeros)


@avoid("Recurrent operator without a bias", ("GRU", "LSTM", "RNN"), opset=7)
def state_bias(node: Node) -> None:
    """The bias, 0, becomes an input.

    It is exact for all types. The shape of the weights has to be known.
    """
    if not node.has_input(3):
        directions, rows = node.need_dimension(0, 1), node.need_dimension(1, 1)
        zeros = np.zeros([directions, 2 * rows])
        node.set_input(3, node.op.const(zeros, node.need_elem_type()))


@avoid("Recurrent operator of an open batch", ("GRU", "LSTM", "RNN"), opset=7)
def require_batch(node: Node) -> None:
    """The node is refused unless the size of the batch is known."""
    node.need_dimension(0 if node.attr("layout", 0) else 1)


@avoid("Recurrent operator of an open number of steps", ("GRU", "LSTM", "RNN"), opset=7)
def require_steps(node: Node) -> None:
    """The node is refused unless the number of steps is known."""
    node.need_dimension(1 if node.attr("layout", 0) else 0)
