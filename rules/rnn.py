"""RNN, GRU and LSTM: output_sequence exists until opset 6, layout from 14 on.

https://onnx.ai/onnx/operators/onnx__RNN.html, https://onnx.ai/onnx/operators/onnx__GRU.html,
https://onnx.ai/onnx/operators/onnx__LSTM.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import avoid, downgrade, express, upgrade
from ..rewriter.graph.node import Node

OPERATORS = ("RNN", "GRU", "LSTM")
_X, _INITIAL_STATES = 0, (5, 6)
"""The positions of the data and of the initial states in the inputs. Only an LSTM has a second state."""


@upgrade(OPERATORS, 7)
def drop_output_sequence(node: Node) -> None:
    """output_sequence is removed: from opset 7 on, Y is computed if the output has a name."""
    node.pop_attr("output_sequence")


@downgrade(OPERATORS, 7)
def add_output_sequence(node: Node) -> None:
    """output_sequence=1 is set where the node has the output Y."""
    if node.has_output(0):
        node.set_attr("output_sequence", 1)


@avoid("Recurrent operator with the batch first", OPERATORS, opset=7)
@express(OPERATORS, opset=7)
@downgrade(OPERATORS, 14)
def sequence_first(node: Node) -> None:
    """layout=1 (batch first) is replaced by Transposes of the data, the states and the outputs.

    It is exact for all types and lengths.
    """
    if not node.pop_attr("layout", 0):
        return
    for index in (_X, *_INITIAL_STATES):
        if node.has_input(index):
            node.set_input(index, node.op.Transpose(node.input(index), perm=[1, 0, 2]))
    for index, order in enumerate(([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])):
        if node.has_output(index):
            output = node.output(index)
            node.after.Transpose(node.detach_output(index, "sequence_first"), output=output, perm=order)
