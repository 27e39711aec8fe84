"""QLinearAveragePool and QLinearGlobalAveragePool as ONNX's pooling between DequantizeLinear and QuantizeLinear.

With channels_last=1 the channels are the last axis, and Transposes put them where ONNX has them: they move the integers, since
onnxruntime 1.32 does not load a Transpose of real numbers behind DequantizeLinear of int8 from opset 21 on.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearAveragePool
"""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.channels_last import channels_first, channels_last
from ..shared.contrib import contrib
from ..shared.quantized import dequantized, quantized
from ..shared.windows import AVERAGING, attributes_of


@contrib("QLinearAveragePool", opset=13, steps=True)
def pool_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear, AveragePool and QuantizeLinear.

    Refused where ceil_mode and count_include_pad are both 1: onnxruntime divides by the whole window, and AveragePool by what lies
    within the padding.
    """
    if node.attr("ceil_mode", 0) and node.attr("count_include_pad", 0):
        raise Unconvertible("it counts what its last windows cover behind the padding", "set ceil_mode to 0, and state longer pads")
    _pool(node, "AveragePool", attributes_of(node, AVERAGING))


@contrib("QLinearGlobalAveragePool", opset=13, steps=True)
def pool_all_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear, GlobalAveragePool and QuantizeLinear."""
    _pool(node, "GlobalAveragePool", {})


def _pool(node: Node, op_type: str, attributes: dict[str, object]) -> None:
    kind, is_last = node.need_elem_type(), bool(node.attr("channels_last", 0))
    rank = node.need_rank() if is_last else 0
    if is_last:
        node.set_input(0, channels_first(node, node.input(0), rank))
    value = getattr(node.op, op_type)(dequantized(node, 0, 1, 2), **attributes)
    integers = quantized(node, value, 3, 4, kind)
    node.give(channels_last(node, integers, rank) if is_last else integers)
