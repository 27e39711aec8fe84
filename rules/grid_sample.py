"""GridSample: other names of the modes and any number of dimensions from opset 20 on.

https://onnx.ai/onnx/operators/onnx__GridSample.html
"""

from __future__ import annotations

from ..rewriter.graph import Node
from ..rewriter.rule import downgrade, upgrade
from .decompose_grid_sample import sample_by_gather

_NEW_NAMES = {"bilinear": "linear", "bicubic": "cubic"}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}


@upgrade("GridSample", 20)
def new_names(node: Node) -> None:
    """bilinear is linear, bicubic is cubic; the default means the same."""
    if node.has_attr("mode"):
        node.set_attr("mode", _NEW_NAMES.get(node.attr("mode"), node.attr("mode")))


@downgrade("GridSample", 20)
def old_names(node: Node) -> None:
    """The old names; what is no image is sampled by older operators."""
    if node.need_rank() != 4:
        sample_by_gather(node)
        node.approximate = True
    elif node.has_attr("mode"):
        node.set_attr("mode", _OLD_NAMES.get(node.attr("mode"), node.attr("mode")))
