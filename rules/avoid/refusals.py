"""Forms of nodes that cannot be written in another form which is right: only another opset or another runtime may help.

The page of each operator in `_FORMS` is https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

from collections.abc import Callable

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

_ELSEWHERE = "choose another runtime"


def _has_dilations(node: Node) -> bool:
    return any(dilation != 1 for dilation in node.attr("dilations", []))


def _has_three_axes(node: Node) -> bool:
    return node.rank() == 5


def _is_of_opset_10(node: Node) -> bool:
    return node.opset == 10


def _is_linear(node: Node) -> bool:
    return node.attr("mode", "nearest") == "linear"


def _pads_with_value(node: Node) -> bool:
    return node.opset < 11 and node.attr("mode", "constant") == "constant" and node.attr("value", 0.0) != 0.0


def _resets_before(node: Node) -> bool:
    return not node.attr("linear_before_reset", 0)


def _has_reduction(node: Node) -> bool:
    return node.attr("reduction", "none") != "none"


def _has_fmod(node: Node) -> bool:
    return bool(node.attr("fmod", 0))


def _takes_a_region(node: Node) -> bool:
    return node.attr("coordinate_transformation_mode", "") == "tf_crop_and_resize"


def _always(_: Node) -> bool:
    return True


_FORMS: tuple[tuple[str, str, Callable[[Node], bool], str, str], ...] = (
    ("AveragePool with dilations", "AveragePool", _has_dilations, "it has dilations", "choose a target opset up to 18"),
    ("MaxPool with dilations", "MaxPool", _has_dilations, "it has dilations", _ELSEWHERE),
    ("ConvTranspose along three axes", "ConvTranspose", _has_three_axes, "it has three spatial axes", _ELSEWHERE),
    ("Resize of opset 10", "Resize", _is_of_opset_10, "it is of opset 10", "choose a target opset from 11 on"),
    ("Resize of a region", "Resize", _takes_a_region, "it takes a region", _ELSEWHERE),
    ("Upsample, linear", "Upsample", _is_linear, "its mode is linear", "choose a target opset from 11 on"),
    ("Pad before opset 11", "Pad", _pads_with_value, "it pads with a value", "choose a target opset from 11 on"),
    ("GRU with linear_before_reset 0", "GRU", _resets_before, "linear_before_reset is 0", "train it with linear_before_reset 1"),
    ("ScatterND with reduction", "ScatterND", _has_reduction, "it has a reduction", _ELSEWHERE),
    ("ScatterElements with reduction", "ScatterElements", _has_reduction, "it has a reduction", _ELSEWHERE),
    ("Mod with fmod", "Mod", _has_fmod, "fmod is 1", _ELSEWHERE),
    ("GlobalLpPool", "GlobalLpPool", _always, "there is no other form of it", _ELSEWHERE),
)
"""For each form: its name, the operator, a test whether a node has it, what is wrong with it, and what the user can do."""


def _register(form: str, op_type: str, has_form: Callable[[Node], bool], reason: str, hint: str) -> None:
    @avoid(form, op_type, opset=13)
    def refuse(node: Node) -> None:
        """The node is refused, because there is no equivalent form at this opset."""
        if has_form(node):
            raise Unconvertible(reason, hint)


for _row in _FORMS:
    _register(*_row)
