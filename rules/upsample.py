"""Upsample: two attributes in opset 1, the attribute scales in 7, an input in 9; from opset 10 on the operator is called Resize.

https://onnx.ai/onnx/operators/onnx__Upsample.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.parameters import to_attribute, to_input
from .shared.spelled_resize import require_scales


@upgrade("Upsample", 7)
def scales_of_all_axes(node: Node) -> None:
    """height_scale and width_scale become scales; the mode bilinear is renamed to linear."""
    node.set_attr("scales", [1.0, 1.0, node.pop_attr("height_scale"), node.pop_attr("width_scale")])
    if node.attr("mode") == "bilinear":
        node.set_attr("mode", "linear")


@upgrade("Upsample", 9)
def scales_to_input(node: Node) -> None:
    """The attribute scales becomes an input."""
    require_scales(node.attr("scales"))
    to_input(node, "scales", 1, np.float32)


@upgrade("Upsample", 10)
def upsample_to_resize(node: Node) -> None:
    """Upsample is renamed to Resize."""
    require_scales(node.constant(1))
    node.become.Resize(*node.inputs, mode=node.attr("mode", "nearest"))


@downgrade("Upsample", 9)
def scales_to_attribute(node: Node) -> None:
    """Constant scales become the attribute."""
    require_scales(node.constant(1))
    to_attribute(node, 1, "scales", "the scales")


@downgrade("Upsample", 7)
def scales_of_height_and_width(node: Node) -> None:
    """scales becomes height_scale and width_scale. Refused where another axis than the last two of an image grows."""
    scales = node.pop_attr("scales")
    if len(scales) != 4 or scales[:2] != [1.0, 1.0]:
        raise Unconvertible(f"scales {scales}: before opset 7, only the last two of four axes can be scaled")
    node.set_attr("height_scale", scales[2])
    node.set_attr("width_scale", scales[3])
    if node.attr("mode") == "linear":
        node.set_attr("mode", "bilinear")
