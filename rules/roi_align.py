"""RoiAlign: what it did before opset 16 is called output_half_pixel since, and is not the default.

https://onnx.ai/onnx/operators/onnx__RoiAlign.html
"""

from __future__ import annotations

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, downgrade, upgrade
from .decompose_roi_align import sample_by_gather

_MODE = "coordinate_transformation_mode"


@upgrade("RoiAlign", 16)
def say_output_half_pixel(node: Node) -> None:
    """No half-pixel shift of the regions, as before."""
    node.set_attr(_MODE, "output_half_pixel")


@downgrade("RoiAlign", 16)
def only_output_half_pixel(node: Node) -> None:
    """The only mode that there was is not the default; with the shift, pixels are gathered one by one."""
    mode = node.pop_attr(_MODE, "half_pixel")
    if mode == "output_half_pixel":
        return
    if mode != "half_pixel" or node.attr("sampling_ratio", 0) <= 0:
        raise Unconvertible(
            f"before opset 16 RoiAlign does not shift the regions, and {_MODE} is {mode}",
            "set it to output_half_pixel, or sampling_ratio to 2, if the model was trained so, or choose a target from 16 on",
        )
    node.approximate = True
    sample_by_gather(node, is_shifted=True)
