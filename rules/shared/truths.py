"""The numbers 0 and 1 that stand for values of type bool."""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.graph.node import Node
from .whole_numbers import bounds


def is_counted(node: Node, name: str) -> bool:
    """Whether the number that stands for `name`, a bool that the node reads, is stored or can be computed from a whole number."""
    if node.elem_type(name) != TensorProto.BOOL:
        return False
    maker = _cast(node, name)
    return node.constant(name) is not None or (maker is not None and bounds(maker, maker.input(0)) is not None)


def number(node: Node, name: str) -> str:
    """The value that is 1 where `name` is true, and else 0. `is_counted` has to hold."""
    maker = _cast(node, name)
    if maker is None:
        return node.op.const(node.constant(name), TensorProto.FLOAT)
    source = maker.input(0)
    return source if is_zero_or_one(maker, source) else other_than_zero(node, source)


def _cast(node: Node, name: str) -> Node | None:
    maker = None if node.constant(name) is not None else node.maker(name)
    return maker if maker is not None and maker.op_type == "Cast" else None


def is_zero_or_one(node: Node, name: str) -> bool:
    """Whether a number that the node reads is 0 or 1 in every run."""
    found = bounds(node, name)
    return found is not None and found.low >= 0 and found.high <= 1


def other_than_zero(node: Node, name: str) -> str:
    """1 where a whole number is not 0, and else 0, as a float."""
    return opposite(node, equal_to_zero(node, name))


def equal_to_zero(node: Node, name: str) -> str:
    """1 where a whole number is 0, and else 0, as a float: what its square, which is large for none of int64, lacks to 1."""
    value = as_float(node, name)
    return node.op.Relu(opposite(node, node.op.Mul(value, value)))


def opposite(node: Node, value: str) -> str:
    """1 less a float."""
    return node.op.Sub(node.op.const(1, TensorProto.FLOAT), value)


def as_float(node: Node, name: str, kind: int | None = TensorProto.FLOAT) -> str:
    """The value in the float type `kind`."""
    return name if node.elem_type(name) == kind else node.op.Cast(name, to=kind)
