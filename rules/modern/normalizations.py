"""LayerNormalization of opset 17 and RMSNormalization of opset 23, for the means and roots that exporters wrote before.

They are written for float alone: of halves, the operators round less than the nodes do.
https://onnx.ai/onnx/operators/onnx__LayerNormalization.html, https://onnx.ai/onnx/operators/onnx__RMSNormalization.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import respell
from ...rewriter.graph.node import Node
from ..shared.spelled_norms import centered, is_of_last_axes, normalized
from ..shared.spelled_out import either_way, inner


@respell("Mul", opset=17, sums=True, joined="LayerNormalization")
def layer_normalization(node: Node) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale becomes a LayerNormalization."""
    for name, scale in either_way(node) if _may_become(node, "LayerNormalization") else ():
        found = normalized(node, name)
        x = "" if found is None else centered(node, found)
        if found is not None and x and is_of_last_axes(node, scale, x, found.axes):
            node.become.LayerNormalization(x, scale, axis=-found.axes, epsilon=found.epsilon)
            return


@respell("Add", opset=17, sums=True, joined="LayerNormalization")
def bias_of_layer_normalization(node: Node) -> None:
    """The bias that is added to a LayerNormalization without one becomes its bias."""
    for result, bias in either_way(node):
        before = inner(node, result, "LayerNormalization")
        if before is None or before.has_input(2) or len(before.outputs) > 1 or before.elem_type() != TensorProto.FLOAT:
            continue
        if before.attr("stash_type", TensorProto.FLOAT) == TensorProto.FLOAT and _have_one_shape(node, bias, before.input(1)):
            axis, epsilon = before.attr("axis", -1), before.attr("epsilon", 1e-5)
            node.become.LayerNormalization(before.input(0), before.input(1), bias, axis=axis, epsilon=epsilon)
            return


@respell("Mul", opset=23, sums=True, joined="RMSNormalization")
def rms_normalization(node: Node) -> None:
    """x / sqrt(mean(x²) + epsilon) * scale becomes an RMSNormalization."""
    for name, scale in either_way(node) if _may_become(node, "RMSNormalization") else ():
        found = normalized(node, name)
        if found is not None and is_of_last_axes(node, scale, found.x, found.axes):
            node.become.RMSNormalization(found.x, scale, axis=-found.axes, epsilon=found.epsilon)
            return


def _have_one_shape(node: Node, one: str, other: str) -> bool:
    """Whether two values are known to have the same shape."""
    shape = node.shape(one)
    return shape is not None and None not in shape and shape == node.shape(other)


def _may_become(node: Node, op_type: str) -> bool:
    return node.elem_type() == TensorProto.FLOAT and node.graph.may_write(op_type)
