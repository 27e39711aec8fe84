"""The activations that onnxruntime fuses into other operators, by name."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import defs

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets.facts import Kind, Role, of

_CORRECT = "correct the model"
_OPSET = 14
"""The first opset that has all of them."""
_SCALED = {"ScaledTanh": "Tanh", "ParametricSoftplus": "Softplus"}
"""Activations that ONNX no longer has: alpha · f(beta · x)."""


def activated(node: Node, value: str, name: str, given: Mapping[str, float]) -> str:
    """`value` after the activation `name`, "" for none.

    `given` are parameters: alpha, beta and gamma, or the bounds min and max. As in onnxruntime, those that the activation does not
    have do not count. Raises Unconvertible where ONNX has no such activation, or a parameter is missing.
    """
    op, kind = node.op, node.need_elem_type()
    if not name:
        return value
    if name in _SCALED:
        alpha, beta = _taken(node, name, given, "alpha", "beta")
        curved = getattr(op, _SCALED[name])(op.Mul(value, op.const(beta, kind)))
        return op.Mul(curved, op.const(alpha, kind))
    fact = of(name)
    is_bounded = fact.takes(Role.LOWER)
    if fact.kind is not Kind.ELEMENTWISE or (len(fact.roles) != 1 and not is_bounded):
        raise Unconvertible(f"{node.op_type} has the activation '{name}', which onnxruntime does not have", _CORRECT)
    bounds = [op.const(bound, kind) for bound in _taken(node, name, given, "min", "max")] if is_bounded else []
    names = sorted(defs.get_schema(name, _OPSET).attributes)
    attributes = dict(zip(names, _taken(node, name, given, *names), strict=True))
    return getattr(op, name)(value, *bounds, opset=_OPSET, **attributes)


def _taken(node: Node, name: str, given: Mapping[str, float], *names: str) -> list[float]:
    missing = [each for each in names if each not in given]
    if missing:
        raise Unconvertible(f"the activation {name} of {node.op_type} needs {' and '.join(missing)}", _CORRECT)
    return [given[each] for each in names]
