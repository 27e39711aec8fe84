"""Operators of com.ms.internal.nhwc, into which onnxruntime's layout transformer turns those of ONNX for some processors.

Each is ONNX's operator of the same name and opset, but that its first input and its output have their channels last, and that an
activation may be fused into it. Weights stay in ONNX's order.
https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/graph/contrib_ops/internal_nhwc_onnx_schemas.cc
"""

from __future__ import annotations

from onnx import helper

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.channels_last import channels_first, channels_last
from ..shared.contrib import contrib
from ..shared.convolutions import with_activation

_FUSED = ("activation", "activation_params")


@contrib(
    (
        "AveragePool",
        "BatchNormalization",
        "Conv",
        "ConvTranspose",
        "DepthToSpace",
        "GlobalAveragePool",
        "GlobalLpPool",
        "GlobalMaxPool",
        "GridSample",
        "InstanceNormalization",
        "LRN",
        "LpPool",
        "MaxPool",
        "QLinearConv",
        "SpaceToDepth",
    ),
    opset=13,
    sums=True,
    domain="com.ms.internal.nhwc",
)
def work_on_channels_first(node: Node) -> None:
    """The node becomes its namesake between Transposes, and what is fused into it."""
    if any(node.is_read(index) for index in range(1, len(node.proto.output))):
        raise Unconvertible(
            f"{node.op_type} of com.ms.internal.nhwc has more than one output, and no kernel for CPUs that shows what they hold",
            "convert the model as it was before onnxruntime optimized it",
        )
    rank = node.need_rank()
    attributes = {each.name: helper.get_attribute_value(each) for each in node.proto.attribute if each.name not in _FUSED}
    operands = channels_first(node, node.input(0), rank), *node.inputs[1:]
    value = getattr(node.op, node.op_type)(*operands, opset=node.domain_version, **attributes)
    node.give(channels_last(node, with_activation(node, value), rank))
