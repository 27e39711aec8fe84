"""STFT below opset 17: the DFT of its frames. If the length of a frame is only known at run time, so is the matrix of the
transform.

https://onnx.ai/onnx/operators/onnx__STFT.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up, length
from .shared.parameters import one_number
from .shared.tables import arange

_SIGNAL, _STEP, _WINDOW, _LENGTH = range(4)
"""The positions in the inputs."""


@decompose("STFT", opset=17, exact=False, sums=True)
def transform_frames(node: Node) -> None:
    """Frames are gathered as [batch, frame, sample, part], weighted by the window, and transformed by DFT."""
    if node.need_rank(_SIGNAL) == 2:  # as torch writes real signals, and runtimes take them
        node.set_input(_SIGNAL, node.op.Unsqueeze(node.input(_SIGNAL), node.op.int64([2])))
    if node.need_rank(_SIGNAL) != 3:
        raise Unconvertible("the signal of an STFT has to be [batch, sample, part]")
    size, parts = _frame_length(node), node.need_dimension(-1, _SIGNAL)
    onesided = node.attr("onesided", 1)
    if onesided and parts != 1:
        raise Unconvertible("a one-sided STFT is of a real signal", "set onesided=0")
    if not (node.has_input(_WINDOW) or node.has_input(_LENGTH)):
        raise Unconvertible("an STFT without window and frame_length has no meaning")
    _require_declared_frequencies(node, size, bool(onesided))
    if size is None:
        _at_run_time(node, parts, bool(onesided))
        return
    frames = _frames(node, _starts(node, size), node.op.int64(arange(size).tolist()))
    node.become.DFT(frames, axis=2, onesided=onesided)


def _require_declared_frequencies(node: Node, size: int | None, onesided: bool) -> None:
    """Raises Unconvertible where the model declares another number of frequencies; without onesided, onnx
    infers that of both sides.
    """
    shape = node.shape(node.output(0))
    declared = shape[2] if shape is not None and len(shape) == 4 else None
    if size is None or not isinstance(declared, int):
        return
    frequencies = _frequencies(size, onesided)
    if declared != frequencies:
        raise Unconvertible(
            f"it gives {frequencies} frequencies, and the model declares {declared}",
            "write the attribute onesided out, and correct the declared shape",
        )


def _frequencies(size: int, onesided: bool) -> int:
    """The number of frequencies of a frame with `size` samples."""
    return size // 2 + 1 if onesided else size


def _frames(node: Node, starts: str, offsets: str) -> str:
    """The frames, [batch, frame, sample, part], weighted by the window."""
    op = node.op
    column = op.int64([1])
    places = op.Add(op.Unsqueeze(starts, column), offsets)
    frames = op.Gather(node.input(_SIGNAL), places, axis=1)
    if not node.has_input(_WINDOW):
        return frames
    window = op.Unsqueeze(node.input(_WINDOW), column)
    return op.Mul(frames, window)


def _at_run_time(node: Node, parts: int, onesided: bool) -> None:
    """Turn the node into the product of every frame with the cosines and sines of all frequencies.

    Whole turns are subtracted in integer arithmetic, which is exact.
    """
    op = node.op
    kind, zero, one = node.need_elem_type(), op.int64([0]), op.int64([1])
    size = _length_at_run_time(node)
    offsets = count_up(node, zero, size, one)
    rest = op.Sub(size, one)
    limit = op.Sub(length(node, node.input(_SIGNAL), 1), rest)
    frames = _frames(node, count_up(node, zero, limit, _stride(node)), offsets)
    frequencies = offsets
    if onesided:
        half = op.Div(size, op.int64([2]))
        frequencies = count_up(node, zero, op.Add(half, one), one)
    turns = op.Mul(op.Unsqueeze(offsets, one), frequencies)
    whole = op.Mul(op.Div(turns, size), size)
    part, full = (op.Cast(value, to=kind) for value in (op.Sub(turns, whole), size))
    radians = op.const(2 * np.pi, kind)
    angle = op.Div(op.Mul(part, radians), full)
    cos, sin = op.Cos(angle), op.Sin(angle)
    real, imaginary = _product(node, frames, 0, cos), op.Neg(_product(node, frames, 0, sin))
    if parts == 2:
        real = op.Add(real, _product(node, frames, 1, sin))
        imaginary = op.Add(imaginary, _product(node, frames, 1, cos))
    last = op.int64([3])
    node.become.Concat(*([op.Unsqueeze(value, last) for value in (real, imaginary)]), axis=3)


def _product(node: Node, frames: str, part: int, waves: str) -> str:
    """`part`, real or imaginary, of the frames times `waves`."""
    op = node.op
    numbers = op.Gather(frames, op.int64(part), axis=3)
    return op.MatMul(numbers, waves)


def _frame_length(node: Node) -> int | None:
    """The number of samples of a frame; None where it is only known at run time."""
    given = node.constant(_LENGTH)
    if given is not None:
        return int(one_number(given))
    known = node.dimension(0, _WINDOW) if node.has_input(_WINDOW) else None
    return known if isinstance(known, int) else None


def _length_at_run_time(node: Node) -> str:
    """The frame length as a vector of one int64."""
    op = node.op
    if not node.has_input(_LENGTH):
        return length(node, node.input(_WINDOW), 0)
    size = op.Cast(node.input(_LENGTH), to=TensorProto.INT64)
    return op.Reshape(size, op.int64([1]))


def _starts(node: Node, size: int) -> str:
    """The first sample of each frame that fits completely into the signal, as a vector."""
    op = node.op
    samples, step = node.dimension(1, _SIGNAL), node.constant(_STEP)
    if isinstance(samples, int) and step is not None and one_number(step) > 0:
        return op.int64(arange(0, samples - size + 1, int(one_number(step))).tolist())
    limit = op.Sub(length(node, node.input(_SIGNAL), 1), op.int64([size - 1]))
    return count_up(node, op.int64([0]), limit, _stride(node))


def _stride(node: Node) -> str:
    """The frame step as a vector of one int64."""
    op = node.op
    stride = op.Cast(node.input(_STEP), to=TensorProto.INT64)
    return op.Reshape(stride, op.int64([1]))
