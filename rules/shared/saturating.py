"""The last steps of a quantization, written out: round to the nearest even, add the zero point, and saturate.

https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""

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
    25: (0, 3),
    26: (-2, 1),
}
"""The smallest and largest value of each quantized integer type; old onnx has no names for uint2 and int2."""


def become_saturated(node: Node, quotient: str, zero: str, kind: int) -> None:
    """Turn the node into saturate(round(quotient) + zero) in the integer type `kind`.

    `quotient` and `zero` are float; `zero` is "" where it is 0. Their sum is exact: numbers that float cannot hold are saturated
    anyway.
    """
    op = node.op
    rounded = op.Round(quotient)
    if zero:
        rounded = op.Add(rounded, zero)
    bounds = [op.const(float(bound), TensorProto.FLOAT) for bound in RANGES[kind]]
    node.become.Cast(op.Clip(rounded, *bounds), to=kind)
