"""Operands that have to be scalars, and that runtimes take as vectors of one number as long as they do not know these.

https://onnx.ai/onnx/operators/onnx__Range.html, and the same pages of DFT, STFT, HannWindow, HammingWindow, BlackmanWindow and
MelWeightMatrix.
"""

from __future__ import annotations

from ...rewriter.engine.registry import simplify
from ...rewriter.graph.node import Node

_SCALARS = {"Range": range(3), "DFT": range(1, 3), "STFT": (1, 3), "MelWeightMatrix": range(5)}
"""The inputs that are scalars; of the windows it is the only one."""


@simplify(("Range", "DFT", "STFT", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"), opset=11)
def known_scalars(node: Node) -> None:
    """A vector of one number that is known, since a list or a branch has gone that hid it, becomes a scalar."""
    for index in _SCALARS.get(node.op_type, range(1)):
        value = node.constant(index) if node.has_input(index) and node.rank(index) == 1 else None
        if value is not None and value.size == 1:
            node.set_input(index, node.op.const(value.reshape(()), value.dtype))
