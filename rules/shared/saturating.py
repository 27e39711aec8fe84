"""The end of every quantization below the opset that has it: round to the nearest even, add the zero point, and saturate."""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.graph.node import Node

RANGES: dict[int, tuple[int, int]] = {
    TensorProto.UINT8: (0, 255),
    TensorProto.INT8: (-128, 127),
    TensorProto.UINT16: (0, 65535),
    TensorProto.INT16: (-32768, 32767),
    TensorProto.UINT4: (0, 15),
    TensorProto.INT4: (-8, 7),
}
"""The lowest and the highest number of each integer type that is quantized to."""


def become_saturated(node: Node, quotient: str, zero: str, kind: int) -> None:
    """Let the node be saturate(round(quotient) + zero) in the integer type `kind`.

    `quotient` and `zero` are float; `zero` is "" where it is 0. Their sum is exact: what float cannot hold saturates anyway.
    """
    op = node.op
    rounded = op.Round(quotient)
    if zero:
        rounded = op.Add(rounded, zero)
    bounds = [op.const(float(bound), TensorProto.FLOAT) for bound in RANGES[kind]]
    node.become.Cast(op.Clip(rounded, *bounds), to=kind)
