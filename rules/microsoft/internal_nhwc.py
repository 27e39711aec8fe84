"""Operators of com.ms.internal.nhwc, into which onnxruntime's layout transformer turns those of ONNX for some processors.

Each is ONNX's operator of the same name and opset, or that of com.microsoft, but that its first input and its output have their
channels last, and that an activation may be fused into it. Weights stay in ONNX's order.
https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/graph/contrib_ops/internal_nhwc_onnx_schemas.cc
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.channels_last import channels_first, channels_last
from ..shared.contrib import DOMAIN, contrib
from ..shared.convolutions import with_activation
from ..shared.quantized import of_each, quantized
from ..shared.real_products import spread_real_numbers
from ..shared.windows import AVERAGING, attributes_of

_CHANNELS_LAST = "com.ms.internal.nhwc"
_FUSED = ("activation", "activation_params")
_BEFORE = "convert the model as it was before onnxruntime optimized it"


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
    domain=_CHANNELS_LAST,
)
def work_on_channels_first(node: Node) -> None:
    """The node becomes its namesake between Transposes, and what is fused into it."""
    if any(node.is_read(index) for index in range(1, len(node.proto.output))):
        raise Unconvertible(
            f"{node.op_type} of com.ms.internal.nhwc has more than one output, and no kernel for CPUs that shows what they hold",
            _BEFORE,
        )
    rank = node.need_rank()
    attributes = {each.name: helper.get_attribute_value(each) for each in node.proto.attribute if each.name not in _FUSED}
    operands = channels_first(node, node.input(0), rank), *node.inputs[1:]
    value = getattr(node.op, node.op_type)(*operands, opset=node.domain_version, **attributes)
    node.give(channels_last(node, with_activation(node, value), rank))


@contrib("Resize", opset=13, sums=True, domain=_CHANNELS_LAST)
def resize_with_channels_first(node: Node) -> None:
    """The node becomes ONNX's Resize between Transposes, with the scale or size of the channels behind that of the batch.

    Refused with what onnxruntime leaves in ONNX's order: a region, sizes that are computed, and axes.
    """
    if node.attr("coordinate_transformation_mode", "") == "tf_crop_and_resize" or node.has_attr("axes"):
        raise Unconvertible(
            "Resize of com.ms.internal.nhwc has a region or axes, and nothing says in which order they are", _BEFORE
        )
    rank = node.need_rank()
    lengths = {index: node.constant(index) for index in (2, 3) if node.has_input(index)}
    if any(value is None or value.size not in (0, rank) for value in lengths.values()):
        raise Unconvertible("Resize of com.ms.internal.nhwc has scales or sizes that are computed", _BEFORE)
    operands = [channels_first(node, node.input(0), rank), *node.inputs[1:]]
    for index, value in lengths.items():
        if value is not None and value.size:
            operands[index] = node.op.const(np.concatenate([value[:1], value[-1:], value[1:-1]]), node.need_elem_type(index))
    attributes = {each.name: helper.get_attribute_value(each) for each in node.proto.attribute}
    node.give(channels_last(node, node.op.Resize(*operands, opset=node.domain_version, **attributes), rank))


@contrib("QLinearAveragePool", opset=13, steps=True, domain=_CHANNELS_LAST)
def pool_integers(node: Node) -> None:
    """The node becomes that of com.microsoft with channels_last=1."""
    node.become.of(DOMAIN, 1).QLinearAveragePool(*node.inputs, channels_last=1, **attributes_of(node, AVERAGING))


@contrib("QLinearConvTranspose", opset=13, steps=True, domain=_CHANNELS_LAST)
def spread_integers(node: Node) -> None:
    """The node becomes DequantizeLinear, ConvTranspose and QuantizeLinear between Transposes."""
    node.need_shape(4)
    if of_each(node, 4) != 0 and node.attr("group", 1) != 1:
        raise Unconvertible(
            "QLinearConvTranspose of com.ms.internal.nhwc has several groups, and scales of which nothing says how they lie",
            _BEFORE,
        )
    rank, kind = node.need_rank(), node.need_elem_type(node.output(0))
    node.set_input(0, channels_first(node, node.input(0), rank))
    node.give(channels_last(node, quantized(node, spread_real_numbers(node), 6, 7, kind), rank))


@contrib("MaxUnpool", opset=13, domain=_CHANNELS_LAST)
def refuse_places(node: Node) -> None:
    """Refused: places of numbers in an order that no kernel for CPUs shows."""
    raise Unconvertible("MaxUnpool of com.ms.internal.nhwc has indices, and nothing says in which order they count", _BEFORE)
