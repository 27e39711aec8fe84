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
