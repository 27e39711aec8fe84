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
from ..shared.same_padding import is_same_padded, same_padding, write_pads
from ..shared.windows import AVERAGING, attributes_of


@contrib("QLinearAveragePool", opset=13, steps=True)
def pool_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear, AveragePool and QuantizeLinear.

    Refused where ceil_mode and count_include_pad are both 1: onnxruntime divides by the whole window, and AveragePool by what lies
    within the padding.
    """
    if node.attr("ceil_mode", 0) and node.attr("count_include_pad", 0):
        raise Unconvertible("it counts what its last windows cover behind the padding", "set ceil_mode to 0, and state longer pads")
    _put_channels_first(node)
    if is_same_padded(node) and _skips_elements(node):  # AveragePool does not load where a padding is below 0
        write_pads(node, same_padding(node))
    _pool(node, "AveragePool", attributes_of(node, AVERAGING))


def _skips_elements(node: Node) -> bool:
    """Whether a window moves by more than its length along an axis."""
    kernel = node.attr("kernel_shape")
    return any(stride > length for stride, length in zip(node.attr("strides", [1] * len(kernel)), kernel, strict=True))


@contrib("QLinearGlobalAveragePool", opset=13, steps=True)
def pool_all_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear, GlobalAveragePool and QuantizeLinear."""
    _put_channels_first(node)
    _pool(node, "GlobalAveragePool", {})


def _put_channels_first(node: Node) -> None:
    """Transpose the data where the channels are its last axis."""
    if node.attr("channels_last", 0):
        node.set_input(0, channels_first(node, node.input(0), node.need_rank()))


def _pool(node: Node, op_type: str, attributes: dict[str, object]) -> None:
    """Pool the data, whose channels are the second axis, and give the result with the channels where the node has them."""
    value = getattr(node.op, op_type)(dequantized(node, 0, 1, 2), **attributes)
    integers = quantized(node, value, 3, 4, node.need_elem_type())
    node.give(channels_last(node, integers, node.need_rank()) if node.attr("channels_last", 0) else integers)
