"""Mean and variance, with the variance as the mean of squared deviations, as runtimes compute it.

ONNX's own function bodies take E[x²] - E[x]², which loses every digit where the mean is large compared with the deviation.
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.graph.node import Node


def cast_between(node: Node, name: str, kind: int, wanted: int) -> str:
    """`name`, of type `kind`, as `wanted`."""
    return name if kind == wanted else node.op.Cast(name, to=wanted)


def working_type(kind: int, stash: int) -> int:
    """The type to normalize data of type `kind` in, where stash_type asks for `stash`: the wider one.

    Runtimes take stash_type for the least precision: they compute doubles in double, though its default is float.
    """
    return kind if (kind, stash) in _WIDENS else stash


_HALVES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
_WIDENS = {(TensorProto.DOUBLE, stash) for stash in (*_HALVES, TensorProto.FLOAT)} | {
    (TensorProto.FLOAT, stash) for stash in _HALVES
}
"""Types of data, each with a stash_type that is narrower."""


def _mean(node: Node, name: str, axes: list[int]) -> str:
    """The mean of `name` over `axes`, which stay with length 1."""
    return node.op.ReduceMean(name, opset=13, axes=axes, keepdims=1)


def mean_and_deviation(node: Node, x: str, axes: list[int], epsilon: float, kind: int) -> tuple[str, str, str]:
    """The mean of `x` over `axes`, the deviation of each element from it, and the square root of the variance plus `epsilon`."""
    mean = _mean(node, x, axes)
    deviation = node.op.Sub(x, mean)
    return mean, deviation, root_mean_square(node, deviation, axes, epsilon, kind)


def root_mean_square(node: Node, x: str, axes: list[int], epsilon: float, kind: int) -> str:
    """The square root of the mean of the squares of `x` plus `epsilon`.

    Runtimes that fuse normalizations look for the square as a Pow, and for no other.
    """
    op = node.op
    square = op.Pow(x, op.const(2, kind))
    variance = _mean(node, square, axes)
    if epsilon:
        variance = op.Add(variance, op.const(epsilon, kind))
    return op.Sqrt(variance)
