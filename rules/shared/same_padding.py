"""Automatic padding, whose specification changed between versions of convolutions and poolings.

https://onnx.ai/onnx/operators/onnx__Conv.html
"""

from __future__ import annotations

from collections.abc import Sequence

from ...rewriter.errors import Unconvertible
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


def same_padding(node: Node) -> list[int]:
    """The total padding of each axis with which the result is as long as the input divided by the stride.

    It is -1 at least, which counts as none. Raises Unconvertible where it is less, since runtimes skip different elements then, and
    where a length is unknown.
    """
    sizes, kernel = lengths_along_axes(node)
    ones = [1] * len(kernel)
    axes = zip(sizes, kernel, node.attr("strides", ones), node.attr("dilations", ones), strict=True)
    totals = [(-(-size // stride) - 1) * stride + (length - 1) * step + 1 - size for size, length, stride, step in axes]
    if any(total < -1 for total in totals):
        raise Unconvertible(
            f"auto_pad {node.attr('auto_pad')} needs a padding of {totals}, which is negative", "state pads instead"
        )
    return totals


def write_pads(node: Node, totals: Sequence[int], larger_first: bool = False) -> None:
    """Write the padding, `totals` along each axis, into the attribute pads; the larger half is at the end, or `larger_first`."""
    widths = [max(0, total) for total in totals]
    begins = [(width + larger_first) // 2 for width in widths]
    ends = [width - begin for width, begin in zip(widths, begins, strict=True)]
    for replaced in ("auto_pad", "ceil_mode", "output_shape"):  # ceil_mode never counts beside auto_pad
        node.pop_attr(replaced)
    node.set_attr("pads", [*begins, *ends])


def window_lengths(node: Node) -> Sequence[int]:
    """The lengths of the window along the spatial axes."""
    return node.attr("kernel_shape") or node.need_shape(1)[2:]


def lengths_along_axes(node: Node) -> tuple[Sequence[int], Sequence[int]]:
    """The lengths of the input and of the window, along the spatial axes."""
    kernel = window_lengths(node)
    return [node.need_dimension(2 + axis) for axis in range(len(kernel))], kernel
