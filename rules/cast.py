"""Cast and CastLike: `to` is a string until opset 5 and a number from 6 on; saturate (19) and round_mode (24) matter for 8-bit
floats only.

https://onnx.ai/onnx/operators/onnx__Cast.html, https://onnx.ai/onnx/operators/onnx__CastLike.html
"""

from __future__ import annotations

from onnx import GraphProto, TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node

_FLOAT8 = frozenset({TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ})
"""The types that saturate is about."""
_UNSIGNED_ZERO = frozenset({TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ})
"""The 8-bit floats without infinities and without -0, whose table of saturated values changed in opset 24."""
_FLOAT8E8M0 = 24
"""TensorProto.FLOAT8E8M0, which onnx before 1.19 does not have."""


@upgrade("Cast", 6)
def type_to_number(node: Node) -> None:
    """The name of the type in `to` becomes its number."""
    name = str(node.attr("to")).upper()
    if name not in TensorProto.DataType.keys() or name == "UNDEFINED":  # noqa: SIM118 - an enum wrapper is no dict
        raise Unconvertible(f"'{node.attr('to')}' is not a type that Cast knows")
    node.set_attr("to", int(TensorProto.DataType.Value(name)))


@downgrade("Cast", 6)
def type_to_name(node: Node) -> None:
    """The number of the type in `to` becomes its name. Refused in a function, whose types onnx cannot check.

    The model states the type of the result, which onnx does not infer before opset 6, and without which it does not check a Loop.
    """
    if not isinstance(node.scope.graph, GraphProto):
        raise Unconvertible("onnx cannot check a function with a Cast before opset 6", "inline the function before converting")
    node.declare(node.output(0), node.attr("to"))
    node.set_attr("to", TensorProto.DataType.Name(node.attr("to")))


@downgrade("Cast", 19)
def drop_saturate(node: Node) -> None:
    """saturate goes where the result is not an 8-bit float; it means nothing there."""
    if node.attr("to") not in _FLOAT8:
        node.pop_attr("saturate")


@downgrade("CastLike", 19)
def drop_saturate_of_cast_like(node: Node) -> None:
    """saturate goes where the result is not an 8-bit float; it means nothing there."""
    if node.need_elem_type(1) not in _FLOAT8:
        node.pop_attr("saturate")


@upgrade("Cast", 24)
def saturated_infinity_changes(node: Node) -> None:
    """Nothing changes; warns where an infinity is cast to an 8-bit float: NaN before opset 24, the largest number from 24 on."""
    _warn_of_infinity(node, node.attr("to"))


@downgrade("Cast", 24)
def drop_round_mode(node: Node) -> None:
    """round_mode goes where the result is not float8e8m0; warns where an infinity is cast to another 8-bit float."""
    if node.attr("to") != _FLOAT8E8M0:
        node.pop_attr("round_mode")
    _warn_of_infinity(node, node.attr("to"))


@upgrade("CastLike", 24)
def saturated_infinity_changes_in_cast_like(node: Node) -> None:
    """Nothing changes; warns where an infinity is cast to an 8-bit float: NaN before opset 24, the largest number from 24 on."""
    _warn_of_infinity(node, node.elem_type(1))


@downgrade("CastLike", 24)
def drop_round_mode_of_cast_like(node: Node) -> None:
    """round_mode goes where the result is not float8e8m0; warns where an infinity is cast to another 8-bit float."""
    if node.need_elem_type(1) != _FLOAT8E8M0:
        node.pop_attr("round_mode")
    _warn_of_infinity(node, node.elem_type(1))


def _warn_of_infinity(node: Node, to: int | None) -> None:
    """Add a warning where `to` is a type for which opset 24 changed what a saturated infinity becomes."""
    if to in _UNSIGNED_ZERO and node.attr("saturate", 1):
        node.caution("an infinite input gives NaN before opset 24, the largest number from 24 on")


@decompose("CastLike", opset=15)
def cast_to_known_type(node: Node) -> None:
    """CastLike becomes Cast to the type of its second input."""
    node.become("Cast", [node.input(0)], to=node.need_elem_type(1))
