"""Reads the quotient by the root of a mean of squares, which LayerNormalization and RMSNormalization stand for.

https://onnx.ai/onnx/operators/onnx__LayerNormalization.html, https://onnx.ai/onnx/operators/onnx__RMSNormalization.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...rewriter.graph.node import Node
from .spelled_out import either_way, inner, local, scalar

Reads = Callable[[Node, str, str], Node | None]
"""Reads the node of an operator that makes a value, as `inner` and `of_type` do."""


class OverRoot(NamedTuple):
    """`x`, divided by the root of `mean`, which is the ReduceMean of its squares, and `number`, which is added to that."""

    x: str
    mean: Node
    number: str


class Normalized(NamedTuple):
    """`x`, divided by the root of the mean of its squares over the last `axes`, and `epsilon`."""

    x: str
    axes: int
    epsilon: float


def normalized(node: Node, name: str) -> Normalized | None:
    """What `name` is the quotient of, if its divisor is the root of a mean of squares and a number."""
    for found in over_root(node, name):
        epsilon, axes = scalar(node, found.number, found.mean.rank(found.mean.output(0))), _last_axes(found.mean)
        if epsilon is not None and axes:
            return Normalized(found.x, axes, epsilon)
    return None


def over_root(node: Node, name: str, read: Reads = inner) -> Iterator[OverRoot]:
    """The ways to read `name` as a quotient by the root of a mean of squares and something else, by a Div, or a product with its
    reciprocal.
    """
    quotient = read(node, name, "Div")
    if quotient is not None:
        yield from _by_root(node, quotient.input(0), quotient.input(1), read)
    product = read(node, name, "Mul")
    for x, inverse in either_way(product) if product is not None else ():
        divisor = _inverted(node, inverse, read)
        if divisor:
            yield from _by_root(node, x, divisor, read)


def _inverted(node: Node, name: str, read: Reads) -> str:
    """The value of which `name` is the reciprocal, "" for others."""
    reciprocal = read(node, name, "Reciprocal")
    if reciprocal is not None:
        return reciprocal.input(0)
    quotient = read(node, name, "Div")
    if quotient is None or scalar(node, quotient.input(0), node.rank(quotient.input(1))) != 1:
        return ""
    return quotient.input(1)


def _by_root(node: Node, x: str, name: str, read: Reads) -> Iterator[OverRoot]:
    root = read(node, name, "Sqrt")
    plus = None if root is None else read(node, root.input(0), "Add")
    for mean, number in either_way(plus) if plus is not None else ():
        reduced = read(node, mean, "ReduceMean")
        if reduced is not None and _is_square(node, reduced.input(0), x, read):
            yield OverRoot(x, reduced, number)


def _is_square(node: Node, name: str, x: str, read: Reads) -> bool:
    product = read(node, name, "Mul")
    if product is not None:
        return product.inputs == [x, x]
    power = read(node, name, "Pow")
    return power is not None and power.input(0) == x and scalar(node, power.input(1), node.rank(x)) == 2


def centered(node: Node, found: Normalized) -> str:
    """The value whose mean over the same axes was subtracted, "" where that is not what `found.x` is."""
    difference = local(node, found.x)
    if difference is None or difference.op_type != "Sub":
        return ""
    mean = inner(node, difference.input(1), "ReduceMean")
    is_mean = mean is not None and mean.input(0) == difference.input(0) and _last_axes(mean) == found.axes
    return difference.input(0) if is_mean else ""


def _last_axes(mean: Node) -> int:
    """The number of the axes over which a ReduceMean goes that keeps them; 0 where they are not the last ones, or are not known."""
    given = mean.constant(1) if mean.has_input(1) else None
    stated = mean.attr("axes") if given is None else given.tolist()
    if not stated or not mean.attr("keepdims", 1):
        return 0
    rank = mean.rank()
    if rank is None and max(stated) >= 0:
        return 0
    axes = sorted(axis if axis < 0 or rank is None else axis - rank for axis in stated)
    return len(axes) if axes == list(range(-len(axes), 0)) else 0


def is_of_last_axes(node: Node, scale: str, x: str, axes: int) -> bool:
    """Whether `scale` has exactly the last `axes` lengths of x, which are known, and of which runtimes take none of 0."""
    lengths, shape = node.shape(scale), node.shape(x)
    if lengths is None or shape is None or len(lengths) != axes:
        return False
    return all(isinstance(length, int) and length > 0 for length in lengths) and list(lengths) == list(shape[-axes:])
