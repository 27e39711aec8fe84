"""Mean and variance, with the variance as the mean of squared deviations, as runtimes compute it.

ONNX's own function bodies compute E[x²] - E[x]², which loses all digits where the mean is large compared with the deviation.
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.graph.node import Node


def cast_between(node: Node, name: str, kind: int, wanted: int) -> str:
    """`name`, of type `kind`, cast to `wanted` unless that is the same type."""
    return name if kind == wanted else node.op.Cast(name, to=wanted)


def working_type(kind: int, stash: int) -> int:
    """The type in which data of type `kind` is normalized where stash_type asks for `stash`: the wider of the two.

    Runtimes use stash_type as the minimum precision: they compute double in double, though the default of stash_type is float.
    """
    return kind if (kind, stash) in _WIDENS else stash


_HALVES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
_WIDENS = {(TensorProto.DOUBLE, stash) for stash in (*_HALVES, TensorProto.FLOAT)} | {
    (TensorProto.FLOAT, stash) for stash in _HALVES
}
"""Pairs of a data type and a narrower stash_type."""


def _mean(node: Node, name: str, axes: list[int]) -> str:
    """The mean of `name` over `axes`, which keep length 1."""
    return node.op.ReduceMean(name, opset=13, axes=axes, keepdims=1)


def mean_and_deviation(node: Node, x: str, axes: list[int], epsilon: float, kind: int) -> tuple[str, str, str]:
    """The mean of `x` over `axes`, the deviation of each element from it, and the square root of the variance plus `epsilon`."""
    mean = _mean(node, x, axes)
    deviation = node.op.Sub(x, mean)
    return mean, deviation, root_mean_square(node, deviation, axes, epsilon, kind)


def root_mean_square(node: Node, x: str, axes: list[int], epsilon: float, kind: int) -> str:
    """The square root of the mean of the squares of `x` plus `epsilon`.

    Runtimes that fuse normalizations recognize the square only as a Pow.
    """
    op = node.op
    square = op.Pow(x, op.const(2, kind))
    variance = _mean(node, square, axes)
    if epsilon:
        variance = op.Add(variance, op.const(epsilon, kind))
    return op.Sqrt(variance)
