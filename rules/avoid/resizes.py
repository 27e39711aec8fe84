"""Resize with coordinates, filters or rounding that a runtime computes differently.

https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

from itertools import product

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node
from ..shared.spelled_resize import is_antialiased, spell_out

_COORDINATES = {
    "asymmetric": ("asymmetric",),
    "half_pixel": ("half_pixel", "pytorch_half_pixel"),
    "align_corners": ("align_corners",),
}
"""The values of `coordinate_transformation_mode` for each name in a form.

Two values are the same except for results of length 1.
"""
_ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


@avoid("Resize with antialias", "Resize", opset=13, exact=False)
def filter_by_gathers(node: Node) -> None:
    """If the lengths are known, the node becomes a weighted sum of Gathers along each axis.

    It is right up to the last bits for float and double; other types are refused.
    """
    if node.opset >= 18 and is_antialiased(node):
        spell_out(node)


def _avoid_nearest(coordinates: str, rounding: str) -> None:
    @avoid(f"Resize to the nearest, {coordinates}, {rounding}", "Resize", opset=13)
    def gather_nearest(node: Node) -> None:
        """If the lengths are known, the node becomes a Gather along each axis.

        It is exact for all types.
        """
        if _is_of(node, "nearest", coordinates) and node.attr("nearest_mode", "round_prefer_floor") == rounding:
            spell_out(node)


def _avoid_cubic(coordinates: str) -> None:
    @avoid(f"Resize cubic, {coordinates}", "Resize", opset=13, exact=False)
    def gather_cubic(node: Node) -> None:
        """If the lengths are known, the node becomes a weighted sum of Gathers along each axis.

        It is right up to the last bits for float and double; other types are refused.
        """
        if _is_of(node, "cubic", coordinates):
            spell_out(node)


def _is_of(node: Node, mode: str, coordinates: str) -> bool:
    found = node.attr("coordinate_transformation_mode", "half_pixel")
    return node.opset >= 11 and node.attr("mode", "nearest") == mode and found in _COORDINATES[coordinates]


for _coordinates, _rounding in product(_COORDINATES, _ROUNDINGS):
    _avoid_nearest(_coordinates, _rounding)
for _coordinates in _COORDINATES:
    _avoid_cubic(_coordinates)
