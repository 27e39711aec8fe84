"""Gelu of opset 20, for the products of x, a half and 1 + erf or 1 + tanh that exporters wrote before.

https://onnx.ai/onnx/operators/onnx__Gelu.html
"""

from __future__ import annotations

from itertools import permutations
from math import pi, sqrt

from onnx import TensorProto

from ...rewriter.engine.registry import respell
from ...rewriter.graph.node import Node
from ..shared.spelled_out import either_way, factors, inner, is_near, scalar


@respell("Mul", opset=20, joined="Gelu")
def gelu(node: Node) -> None:
    """x * 0.5 * (1 + erf(x / sqrt 2)), in any order, and the same with tanh(sqrt(2 / pi) (x + 0.044715 x³)), become a Gelu."""
    if node.elem_type() != TensorProto.FLOAT or not node.graph.may_write("Gelu"):
        return
    values = factors(node)
    for half, x, share in permutations(values) if len(values) == 3 else ():
        curve = _curve(node, x, share) if scalar(node, half, node.rank(x)) == 0.5 else ""
        if curve:
            node.become.Gelu(x)
            if curve == "Tanh":
                node.set_attr("approximate", "tanh")
            return


def _curve(node: Node, x: str, share: str) -> str:
    """ "Erf" or "Tanh", where `share` is 1 + that curve of x; else ""."""
    plus = inner(node, share, "Add")
    for one, curve in either_way(plus) if plus is not None else ():
        if scalar(node, one, node.rank(x)) != 1:
            continue
        erf, tanh = inner(node, curve, "Erf"), inner(node, curve, "Tanh")
        if erf is not None and _is_scaled(node, x, erf.input(0)):
            return "Erf"
        if tanh is not None and _is_cubic(node, x, tanh.input(0)):
            return "Tanh"
    return ""


def _is_scaled(node: Node, x: str, name: str) -> bool:
    """Whether `name` is x / sqrt 2."""
    rank = node.rank(x)
    quotient = inner(node, name, "Div")
    if quotient is not None:
        return quotient.input(0) == x and is_near(scalar(node, quotient.input(1), rank), sqrt(2))
    product = inner(node, name, "Mul")
    return product is not None and any(
        one == x and is_near(scalar(node, other, rank), sqrt(0.5)) for one, other in either_way(product)
    )


def _is_cubic(node: Node, x: str, name: str) -> bool:
    """Whether `name` is sqrt(2 / pi) (x + 0.044715 x³)."""
    product = inner(node, name, "Mul")
    return product is not None and any(
        is_near(scalar(node, scale, node.rank(x)), sqrt(2 / pi)) and _is_sum_with_cube(node, x, total)
        for scale, total in either_way(product)
    )


def _is_sum_with_cube(node: Node, x: str, name: str) -> bool:
    plus = inner(node, name, "Add")
    return plus is not None and any(one == x and _is_weighted_cube(node, x, cubic) for one, cubic in either_way(plus))


def _is_weighted_cube(node: Node, x: str, name: str) -> bool:
    """Whether `name` is 0.044715 x³."""
    product = inner(node, name, "Mul")
    if product is None:
        return False
    values = factors(product)
    weights = [value for value in values if is_near(scalar(node, value, node.rank(x)), 0.044715)]
    rest = [value for value in values if value not in weights]
    return len(weights) == 1 and (rest == [x, x, x] or (len(rest) == 1 and _is_cube(node, x, rest[0])))


def _is_cube(node: Node, x: str, name: str) -> bool:
    power = inner(node, name, "Pow")
    return power is not None and power.input(0) == x and scalar(node, power.input(1), node.rank(x)) == 3
