"""STFT as the DFT of its frames, where their length is known.

https://onnx.ai/onnx/operators/onnx__STFT.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose
from .indices import count_up, int64, length

_SIGNAL, _STEP, _WINDOW, _LENGTH = range(4)


@decompose("STFT", opset=17, exact=False)
def transform_frames(node: Node) -> None:
    """Gather the frames, [batch, frame, sample, part], weight their samples by the window, and transform each."""
    if node.need_rank(_SIGNAL) != 3:
        raise Unconvertible("the signal of an STFT has to be [batch, sample, part]")
    size, parts = _frame_length(node), node.need_dimension(-1, _SIGNAL)
    onesided = node.attr("onesided", 1)
    if onesided and parts != 1:
        raise Unconvertible("a one-sided STFT is of a real signal", "set onesided=0")
    offsets = int64(node, list(range(size)), "offsets")
    starts = node.before("Unsqueeze", [_starts(node, size), int64(node, [1], "axis")], what="starts")
    places = node.before("Add", [starts, offsets], what="places")
    frames = node.before("Gather", [node.input(_SIGNAL), places], what="frames", axis=1)
    if node.has_input(_WINDOW):
        column = node.before("Unsqueeze", [node.input(_WINDOW), int64(node, [1], "axis")], what="window")
        frames = node.before("Mul", [frames, column], what="weighted")
    node.become("DFT", [frames], axis=2, onesided=onesided)


def _frame_length(node: Node) -> int:
    given = node.constant(_LENGTH)
    if given is not None:
        return int(given.reshape(()))
    if node.has_input(_WINDOW):
        return node.need_dimension(0, _WINDOW)
    return int(node.const_input(_LENGTH, "the frame length").reshape(()))


def _starts(node: Node, size: int) -> str:
    """The first sample of each frame that fits the signal whole; a vector."""
    samples, step = node.dimension(1, _SIGNAL), node.constant(_STEP)
    if isinstance(samples, int) and step is not None:
        return int64(node, list(range(0, samples - size + 1, int(step.reshape(())))), "starts")
    limit = node.before("Sub", [length(node, node.input(_SIGNAL), 1), int64(node, [size - 1], "rest")], what="limit")
    stride = node.before("Cast", [node.input(_STEP)], what="step", to=TensorProto.INT64)
    stride = node.before("Reshape", [stride, int64(node, [1], "vector")], what="step")
    return count_up(node, int64(node, [0], "zero"), limit, stride)
