"""Absent attributes and inputs for which a runtime assumes another default than the specification, such as the axes of a Squeeze.

https://onnx.ai/onnx/operators/onnx__Conv.html, https://onnx.ai/onnx/operators/onnx__OneHot.html,
https://onnx.ai/onnx/operators/onnx__QLinearConv.html, https://onnx.ai/onnx/operators/onnx__Squeeze.html
"""

from __future__ import annotations

from onnx import defs, helper

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node

_WINDOWS = ("AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool", "QLinearConv")
_WITH_DEFAULTS = {
    "LogSoftmax": ("axis",),
    "OneHot": ("axis",),
    "ReduceL1": ("keepdims",),
    "ReduceL2": ("keepdims",),
    "ReduceLogSum": ("keepdims",),
    "ReduceLogSumExp": ("keepdims",),
    "ReduceSumSquare": ("keepdims",),
    "Resize": ("mode", "nearest_mode", "coordinate_transformation_mode"),
    "Softmax": ("axis",),
    "Split": ("axis",),
}
"""The attributes whose defaults are misread, for each operator."""


@avoid("Attribute left out", tuple(_WITH_DEFAULTS), opset=13)
def state_defaults(node: Node) -> None:
    """The default values are written out; for a window, its size as well.

    It is exact for all types: the defaults are those of the opset that the node has.
    """
    schema = defs.get_schema(node.op_type, node.opset)
    for name in _WITH_DEFAULTS[node.op_type]:
        if name in schema.attributes and not node.has_attr(name):
            default = helper.get_attribute_value(schema.attributes[name].default_value)
            node.set_attr(name, default.decode() if isinstance(default, bytes) else default)


@avoid("Attribute left out", _WINDOWS, opset=13)
def state_window(node: Node) -> None:
    """The default values are written out; for a window, its size as well.

    It is exact for all types. The size of the window has to be stated, or the shape of the weights known.
    """
    weights = 3 if node.op_type == "QLinearConv" else 1
    kernel = node.attr("kernel_shape") or list(node.need_shape(weights)[2:])
    for name, value in (("kernel_shape", kernel), ("strides", [1] * len(kernel))):
        if not node.has_attr(name):
            node.set_attr(name, value)


@avoid("Squeeze without axes", "Squeeze", opset=13)
def state_axes(node: Node) -> None:
    """The axes of length 1 are written out.

    It is exact for all types. The shape has to be known: an open dimension may be 1.
    """
    if node.has_attr("axes") or node.has_input(1):
        return
    axes = [axis for axis, length in enumerate(node.need_shape()) if length == 1]
    if node.opset < 13:
        node.set_attr("axes", axes)
    else:
        node.set_input(1, node.op.int64(axes))
