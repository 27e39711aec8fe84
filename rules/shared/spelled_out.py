"""Reads computations that several nodes spell out, backwards from the last one."""

from __future__ import annotations

from collections.abc import Iterator

from ...rewriter.graph.node import Node

_RELATIVE = 1.5e-7
"""How far a constant may be from the number that it stands for: exporters write it in float, or with seven digits."""
_MOST_FACTORS = 4
"""The number of factors that an operator has at most."""


def inner(node: Node, name: str, op_type: str) -> Node | None:
    """The node of `op_type` that makes `name` in the graph of `node`, if nothing else reads that; else None."""
    maker = local(node, name)
    is_it = maker is not None and maker.op_type == op_type and node.graph.is_read_once(name)
    return maker if is_it else None


def of_type(node: Node, name: str, op_type: str) -> Node | None:
    """The node of `op_type` that makes `name` in the graph of `node`, whatever else reads that; else None."""
    maker = local(node, name)
    return maker if maker is not None and maker.op_type == op_type else None


def local(node: Node, name: str) -> Node | None:
    """The node that makes `name` in the graph of `node`, where names mean the same; else None."""
    return node.maker(name) if node.graph.defines(name) else None


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
    """The values that a Mul, and those before it that nothing else reads, multiply; none where there are many."""
    found: list[str] = []
    waiting = [*node.inputs]
    while waiting and len(found) + len(waiting) <= _MOST_FACTORS:
        name = waiting.pop(0)
        before = inner(node, name, "Mul")
        if before is None:
            found.append(name)
        else:
            waiting += before.inputs
    return [] if waiting else found
