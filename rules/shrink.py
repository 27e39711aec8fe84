"""Shrink below opset 9, and where a runtime is wrong: values between -lambd and lambd become 0, others move towards 0 by bias.

https://onnx.ai/onnx/operators/onnx__Shrink.html
"""

from __future__ import annotations

from math import isfinite

from onnx import TensorProto

from ..rewriter.engine.registry import avoid, decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.integers import UNSIGNED
from .shared.typed import FLOATING, type_name

_WORK: dict[int, int] = {
    TensorProto.FLOAT16: TensorProto.FLOAT,
    **dict.fromkeys((TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16), TensorProto.INT32),
}
"""The types that are computed in another type: float16 is compared with lambd as float, and below opset 14
small integers cannot be added.
"""


@avoid("Shrink", "Shrink", opset=9)
def by_definition(node: Node) -> None:
    """The node becomes ONNX's own function body for float and double, and otherwise what it becomes below opset 9.

    It is exact for all types. Attributes with which the result of integers would be rounded or out of range are refused.
    """
    if node.need_elem_type() in (TensorProto.FLOAT, TensorProto.DOUBLE):
        node.expand()
    else:
        choose_by_bounds(node)


@decompose("Shrink", opset=9)
def choose_by_bounds(node: Node) -> None:
    """The input is compared with lambd, and moved by bias or set to 0, in a type that holds these attributes exactly.

    ONNX's own function body is not used, because it first rounds the attributes to the type of the input, which may be narrow.
    """
    op = node.op
    kind = node.need_elem_type()
    bias, lambd = node.attr("bias", 0.0), node.attr("lambd", 0.5)
    if kind not in FLOATING:
        lambd = _require_whole(node, kind, bias, lambd)
    x, work = node.input(0), _WORK.get(kind, kind)
    if work != kind:
        x = op.Cast(x, to=work)
    above, zero = op.Greater(x, op.const(lambd, work)), op.const(0, work)
    if kind in UNSIGNED:
        result = op.Where(above, op.Sub(x, op.const(bias, work)), zero)
    else:
        below = op.Less(x, op.const(-lambd, work))
        result = op.Where(op.Or(above, below), _moved(node, x, above, below, work), zero)
    if work == kind:
        node.become.Identity(result)
    else:
        node.become.Cast(result, to=kind)


def _moved(node: Node, x: str, above: str, below: str, kind: int) -> str:
    """`x` less bias where `above` holds, plus bias where `below` does, which goes first where both do."""
    op, bias = node.op, node.attr("bias", 0.0)
    if bias == 0:
        return x
    if node.attr("lambd", 0.5) < 0:
        above = op.And(above, op.Not(below))
    ways = op.Sub(op.Cast(below, to=kind), op.Cast(above, to=kind))
    return op.Add(x, op.Mul(ways, op.const(bias, kind)))


def _require_whole(node: Node, kind: int, bias: float, lambd: float) -> float:
    """The whole number that gives the same comparison with integers as `lambd`.

    Raises Unconvertible where the result would be rounded, or would exceed the type.
    """
    name = type_name(kind)
    if not (isfinite(bias) and isfinite(lambd)):
        raise Unconvertible(f"lambd={lambd:g} and bias={bias:g} of {name} are not whole numbers", "correct the model")
    if bias != int(bias):
        raise Unconvertible(f"bias={bias:g} of {name}: no specification says how the result is rounded", "correct the model")
    whole = float(lambd // 1)
    if bias < 0 or (kind in UNSIGNED and (whole < 0 or bias > whole + 1)):
        raise Unconvertible(
            f"lambd={lambd:g} and bias={bias:g} of {name}: the result may be out of range for the type", "correct the model"
        )
    return whole
