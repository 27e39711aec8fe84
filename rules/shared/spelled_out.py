"""Reads computations that several nodes spell out, backwards from the last one."""

from __future__ import annotations

from collections.abc import Iterator

from ...rewriter.graph.node import Node

_RELATIVE = 2e-6
"""How far a constant may be from the number that it stands for: exporters write it in float, or with seven digits."""


def inner(node: Node, name: str, op_type: str) -> Node | None:
    """The node of `op_type` that makes `name`, if nothing else reads that; else None."""
    maker = node.maker(name)
    is_it = maker is not None and maker.op_type == op_type and node.graph.is_read_once(name)
    return maker if is_it else None


def scalar(node: Node, name: str, rank: int | None) -> float | None:
    """The number that the constant `name` has as its only element; None where it is anything else, or a value of `rank` dimensions
    that it is combined with would get more.
    """
    value = node.constant(name) if name else None
    if value is None or value.size != 1 or value.dtype.kind not in "iuf" or (value.ndim and (rank is None or value.ndim > rank)):
        return None
    return float(value.item())


def is_near(number: float | None, wanted: float) -> bool:
    """Whether `number` is there and stands for `wanted`."""
    return number is not None and abs(number - wanted) <= _RELATIVE * abs(wanted)


def either_way(node: Node) -> Iterator[tuple[str, str]]:
    """The two operands of a node, in both orders."""
    if len(node.inputs) == 2:
        yield node.input(0), node.input(1)
        yield node.input(1), node.input(0)


def factors(node: Node) -> list[str]:
    """The values that a Mul, and those before it that nothing else reads, multiply; quotients by a number are not among them."""
    found: list[str] = []
    for name in node.inputs:
        before = inner(node, name, "Mul")
        found += [name] if before is None else factors(before)
    return found
