"""RNN, GRU and LSTM step by step, for sequences of a known length.

https://onnx.ai/onnx/operators/onnx__RNN.html, https://onnx.ai/onnx/operators/onnx__GRU.html,
https://onnx.ai/onnx/operators/onnx__LSTM.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...rewriter.engine.registry import express
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

_MOST_STEPS = 64
"""The number of steps at most that are written out."""
_W, _R, _B, _LENGTHS, _HIDDEN, _CELL, _PEEPHOLES = range(1, 8)
_GATE = "Sigmoid"
_CONTENT = "Tanh"
_USUAL = {"RNN": [_CONTENT], "GRU": [_GATE, _CONTENT], "LSTM": [_GATE, _CONTENT, _CONTENT]}
"""The activations of each direction that are written."""
State = tuple[str, str]
"""The hidden state and the cell state, each of the shape [1, batch, hidden]; "" for one of zeros."""


class _Cell(NamedTuple):
    """One direction: `recurrent` are the weights [hidden, gates · hidden], `bias` those behind them [gates · hidden]."""

    node: Node
    size: int
    recurrent: np.ndarray
    bias: np.ndarray


@express(("RNN", "GRU", "LSTM"), opset=13, exact=False, sums=True)
def step_by_step(node: Node) -> None:
    """The node becomes the products and activations of its steps, up to 64, with the usual activations."""
    direction = node.attr("direction", "forward")
    count = node.need_dimension(0)
    _require_plain(node, count)
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    found = [_run(node, place, is_backward, count) for place, is_backward in enumerate(backward)]
    op = node.op
    if node.has_output(0):
        rows = [op.Unsqueeze(op.Concat(*hidden, axis=0), op.int64([1])) for hidden, _ in found]
        op.Concat(*rows, axis=1, output=node.output(0))
    for index in range(1, len(node.outputs)):
        if node.has_output(index):
            op.Concat(*(last[index - 1] for _, last in found), axis=0, output=node.output(index))
    node.remove()


def _require_plain(node: Node, count: int) -> None:
    """Raises Unconvertible for a form that is not written here."""
    usual = _USUAL[node.op_type]
    activations = node.attr("activations", usual)
    if not 0 < count <= _MOST_STEPS:
        raise Unconvertible(f"it has {count} steps: 1 to {_MOST_STEPS} are written out")
    if activations not in (usual, usual * 2) or node.has_attr("clip") or node.attr("input_forget", 0) or node.attr("layout", 0):
        raise Unconvertible("it has other activations than the usual ones, clip, input_forget or layout=1")
    if node.has_input(_LENGTHS) or node.has_input(_PEEPHOLES):
        raise Unconvertible("it has sequence_lens or peepholes")


def _run(node: Node, place: int, is_backward: bool, count: int) -> tuple[list[str], State]:
    """The hidden states of all steps of direction `place`, in the order of the data, and the last state."""
    op = node.op
    weights, recurrent = (node.const_input(index, "the weights")[place].T for index in (_W, _R))
    size = recurrent.shape[0]
    biases = node.const_input(_B, "the bias")[place] if node.has_input(_B) else np.zeros(2 * recurrent.shape[1], weights.dtype)
    if not np.isfinite(recurrent).all():
        raise Unconvertible("its weights are not all finite")
    before, behind = np.split(biases, 2)
    given = op.Add(op.MatMul(node.input(0), op.const(weights, weights.dtype)), op.const(before, before.dtype))
    steps = op.Split(given, op.int64([1] * count), axis=0, outputs=count) if count > 1 else [given]
    cell = _Cell(node, size, recurrent, behind)
    state = (_initial(node, _HIDDEN, place), _initial(node, _CELL, place) if node.op_type == "LSTM" else "")
    hidden: list[str] = []
    for step in reversed(steps) if is_backward else steps:
        state = _STEPS[node.op_type](cell, step, state)
        hidden.append(state[0])
    return hidden[::-1] if is_backward else hidden, state


def _initial(node: Node, index: int, place: int) -> str:
    if not node.has_input(index):
        return ""
    return node.op.Slice(node.input(index), node.op.int64([place]), node.op.int64([place + 1]), node.op.int64([0]))


def _product(cell: _Cell, state: str, first: int, last: int) -> str:
    """The recurrent part of gates `first` to `last`, exclusive: the state times the weights, and the bias."""
    op, columns = cell.node.op, slice(first * cell.size, last * cell.size)
    bias = op.const(cell.bias[columns].reshape(1, 1, -1), cell.bias.dtype)
    if not state:
        return bias
    return op.Add(op.MatMul(state, op.const(cell.recurrent[:, columns], cell.recurrent.dtype)), bias)


def _step_of_rnn(cell: _Cell, given: str, state: State) -> State:
    op = cell.node.op
    return op.Tanh(op.Add(given, _product(cell, state[0], 0, 1))), ""


def _step_of_lstm(cell: _Cell, given: str, state: State) -> State:
    op, size = cell.node.op, cell.size
    gates = op.Split(op.Add(given, _product(cell, state[0], 0, 4)), op.int64([size] * 4), axis=-1, outputs=4)
    enter, leave, forget = (op.Sigmoid(gate) for gate in gates[:3])
    content = op.Mul(enter, op.Tanh(gates[3]))
    if state[1]:
        content = op.Add(op.Mul(forget, state[1]), content)
    return op.Mul(leave, op.Tanh(content)), content


def _step_of_gru(cell: _Cell, given: str, state: State) -> State:
    op, size = cell.node.op, cell.size
    gates, new = op.Split(given, op.int64([2 * size, size]), axis=-1, outputs=2)
    both = op.Sigmoid(op.Add(gates, _product(cell, state[0], 0, 2)))
    update, reset = op.Split(both, op.int64([size, size]), axis=-1, outputs=2)
    if cell.node.attr("linear_before_reset", 0):
        recurrent = op.Mul(reset, _product(cell, state[0], 2, 3))
    else:
        recurrent = _product(cell, op.Mul(reset, state[0]) if state[0] else "", 2, 3)
    candidate = op.Tanh(op.Add(new, recurrent))
    kept = op.Mul(op.Sub(op.const(1, cell.bias.dtype), update), candidate)
    return op.Add(kept, op.Mul(update, state[0])) if state[0] else kept, ""


_STEPS: dict[str, Callable[[_Cell, str, State], State]] = {"RNN": _step_of_rnn, "LSTM": _step_of_lstm, "GRU": _step_of_gru}
