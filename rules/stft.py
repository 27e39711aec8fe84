"""STFT below opset 17: the DFT of its frames; where the length of a frame is only known at run time, so is the matrix of the
transform.

https://onnx.ai/onnx/operators/onnx__STFT.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up, int64, length
from .shared.parameters import one_number
from .shared.tables import arange

_SIGNAL, _STEP, _WINDOW, _LENGTH = range(4)
"""Positions among the inputs."""


@decompose("STFT", opset=17, exact=False, sums=True)
def transform_frames(node: Node) -> None:
    """Frames are gathered, [batch, frame, sample, part], weighted by the window, and transformed by DFT."""
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
    frames = _frames(node, _starts(node, size), int64(node, arange(size).tolist(), "offsets"))
    node.become("DFT", [frames], axis=2, onesided=onesided)


def _require_declared_frequencies(node: Node, size: int | None, onesided: bool) -> None:
    """Raises Unconvertible where the model declares another number of frequencies: onnx infers both sides without the attribute."""
    shape = node.output_shape()
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
    """The frequencies of a frame of `size` samples."""
    return size // 2 + 1 if onesided else size


def _frames(node: Node, starts: str, offsets: str) -> str:
    """The frames, [batch, frame, sample, part], weighted by the window."""
    column = int64(node, [1], "axis")
    places = node.before("Add", [node.before("Unsqueeze", [starts, column], what="starts"), offsets], what="places")
    frames = node.before("Gather", [node.input(_SIGNAL), places], what="frames", axis=1)
    if not node.has_input(_WINDOW):
        return frames
    window = node.before("Unsqueeze", [node.input(_WINDOW), column], what="window")
    return node.before("Mul", [frames, window], what="weighted")


def _at_run_time(node: Node, parts: int, onesided: bool) -> None:
    """Let the node be every frame times the cosines and sines of all frequencies.

    Whole turns are taken off in integers, exactly.
    """
    kind, zero, one = node.need_elem_type(), int64(node, [0], "zero"), int64(node, [1], "one")
    size = _length_at_run_time(node)
    offsets = count_up(node, zero, size, one)
    rest = node.before("Sub", [size, one], what="rest")
    limit = node.before("Sub", [length(node, node.input(_SIGNAL), 1), rest], what="limit")
    frames = _frames(node, count_up(node, zero, limit, _stride(node)), offsets)
    frequencies = offsets
    if onesided:
        half = node.before("Div", [size, int64(node, [2], "two")], what="half")
        frequencies = count_up(node, zero, node.before("Add", [half, one], what="half"), one)
    turns = node.before("Mul", [node.before("Unsqueeze", [offsets, one], what="sample"), frequencies], what="turns")
    whole = node.before("Mul", [node.before("Div", [turns, size], what="whole"), size], what="whole")
    part, full = (node.before("Cast", [value], what="turn", to=kind) for value in (node.before("Sub", [turns, whole]), size))
    radians = node.add_constant(2 * np.pi, helper.tensor_dtype_to_np_dtype(kind), "radians")
    angle = node.before("Div", [node.before("Mul", [part, radians], what="angle"), full], what="angle")
    cos, sin = node.before("Cos", [angle]), node.before("Sin", [angle])
    real, imaginary = _product(node, frames, 0, cos), node.before("Neg", [_product(node, frames, 0, sin)], what="imaginary")
    if parts == 2:
        real = node.before("Add", [real, _product(node, frames, 1, sin)], what="real")
        imaginary = node.before("Add", [imaginary, _product(node, frames, 1, cos)], what="imaginary")
    last = int64(node, [3], "axis")
    node.become("Concat", [node.before("Unsqueeze", [value, last], what="part") for value in (real, imaginary)], axis=3)


def _product(node: Node, frames: str, part: int, waves: str) -> str:
    """`part`, real or imaginary, of the frames times `waves`."""
    numbers = node.before("Gather", [frames, int64(node, part, "part")], what="numbers", axis=3)
    return node.before("MatMul", [numbers, waves], what="product")


def _frame_length(node: Node) -> int | None:
    """The samples of a frame; None where that is only known at run time."""
    given = node.constant(_LENGTH)
    if given is not None:
        return int(one_number(given))
    known = node.dimension(0, _WINDOW) if node.has_input(_WINDOW) else None
    return known if isinstance(known, int) else None


def _length_at_run_time(node: Node) -> str:
    """The frame length as a vector of one int64."""
    if not node.has_input(_LENGTH):
        return length(node, node.input(_WINDOW), 0)
    size = node.before("Cast", [node.input(_LENGTH)], what="size", to=TensorProto.INT64)
    return node.before("Reshape", [size, int64(node, [1], "vector")], what="size")


def _starts(node: Node, size: int) -> str:
    """The first sample of each frame that fits the signal whole, as a vector."""
    samples, step = node.dimension(1, _SIGNAL), node.constant(_STEP)
    if isinstance(samples, int) and step is not None and one_number(step) > 0:
        return int64(node, arange(0, samples - size + 1, int(one_number(step))).tolist(), "starts")
    limit = node.before("Sub", [length(node, node.input(_SIGNAL), 1), int64(node, [size - 1], "rest")], what="limit")
    return count_up(node, int64(node, [0], "zero"), limit, _stride(node))


def _stride(node: Node) -> str:
    """The frame step as a vector of one int64."""
    stride = node.before("Cast", [node.input(_STEP)], what="step", to=TensorProto.INT64)
    return node.before("Reshape", [stride, int64(node, [1], "vector")], what="step")
