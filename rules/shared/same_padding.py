"""Automatic padding, whose specification changed between versions of convolutions and poolings.

https://onnx.ai/onnx/operators/onnx__Conv.html
"""

from __future__ import annotations

from ...rewriter.graph.node import Node


def is_same_padded(node: Node) -> bool:
    """Whether auto_pad determines the padding by the length of the output."""
    return node.attr("auto_pad", "NOTSET").startswith("SAME")


def warn_where_length_differs(node: Node) -> None:
    """Warn where the old specification makes the output as long as the input, and the new one as long as
    that divided by the stride.
    """
    strides = node.attr("strides", [])
    if is_same_padded(node) and any(stride != 1 for stride in strides):
        node.caution(
            f"auto_pad={node.attr('auto_pad')} with strides {strides}: the older text leaves open how long the output is; "
            "runtimes divide the input's length by the stride, as the newer text says"
        )


def may_be_odd(node: Node) -> bool:
    """Whether (kernel - 1) * dilation + 1 + output_padding - stride, the padding, may be odd along some axis."""
    dims = node.attr("kernel_shape") or (node.shape(1) or ())[2:]
    kernel = [size for size in dims if isinstance(size, int)]
    if node.has_attr("output_shape") or not kernel or len(kernel) != len(dims):
        return True
    ones, zeros = [1] * len(kernel), [0] * len(kernel)
    dilations, strides = node.attr("dilations", ones), node.attr("strides", ones)
    rows = zip(kernel, dilations, node.attr("output_padding", zeros), strides, strict=False)
    return any(((size - 1) * dilation + 1 + extra - stride) % 2 for size, dilation, extra, stride in rows)
