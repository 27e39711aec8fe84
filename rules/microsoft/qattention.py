"""QAttention: Attention of onnxruntime, whose input and weights are quantized to 8 bits.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QAttention
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import DOMAIN, contrib
from ..shared.quantized import dequantized, of_each

_X, _WEIGHTS, _BIAS, _X_SCALE, _WEIGHT_SCALE, _MASK, _X_ZERO, _WEIGHT_ZERO, _PAST = range(9)


@contrib("QAttention", opset=13, sums=True)
def attend_to_integers(node: Node) -> None:
    """The node becomes Attention behind DequantizeLinear of the input and of the weights, with a scale for all columns or for each.

    The kernel adds products of integers exactly; with real numbers, the last bits of the sums may differ.
    """
    if node.need_elem_type(_X_SCALE) != TensorProto.FLOAT:
        raise Unconvertible("QAttention of half precision runs on CUDA only", "quantize the model with scales of float")
    x = dequantized(node, _X, _X_SCALE, _X_ZERO)
    attributes = {attribute.name: node.attr(attribute.name) for attribute in node.proto.attribute}
    inputs = [x, _real_weights(node), node.input(_BIAS), node.input(_MASK), node.input(_PAST)]
    node.become.of(DOMAIN, node.domain_version).Attention(*inputs, **attributes)


def _real_weights(node: Node) -> str:
    """The weights, [width, columns], as real numbers. Raises Unconvertible where nothing tells whether each column has a scale."""
    given = [index for index in (_WEIGHT_SCALE, _WEIGHT_ZERO) if node.has_input(index)]
    counts = {index: of_each(node, index) for index in given}
    unknown = next((index for index, count in counts.items() if count is None), None)
    if unknown is not None:
        raise Unconvertible(f"nothing tells how many numbers '{node.input(unknown)}' has", node.shape_hint(unknown))
    if not any(counts.values()):
        return dequantized(node, _WEIGHTS, _WEIGHT_SCALE, _WEIGHT_ZERO)
    columns = node.op.int64([node.need_dimension(1, _WEIGHTS)])
    of_columns = [node.input(index) if count else node.op.Expand(node.input(index), columns) for index, count in counts.items()]
    return node.op.DequantizeLinear(node.input(_WEIGHTS), *of_columns, axis=1)
