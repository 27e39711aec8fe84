"""Mean and variance, with the variance as the mean of squared deviations, as runtimes compute it.

ONNX's own function bodies compute E[x²] - E[x]², which loses all digits where the mean is large compared with the deviation.
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.graph.node import Node
from .axes import from_the_front, require_axis


def axes_from(node: Node) -> list[int]:
    """The axes from the attribute axis (default -1) to the last, as negative numbers.

    onnxruntime recognizes a normalization of data whose rank it does not know only by negative axes, as torch writes them.
    Raises Unconvertible where the data has no such axis, or where only the unknown rank would tell the number of axes.
    """
    axis = node.attr("axis", -1)
    if axis < 0 and node.rank() is None:
        return list(range(axis, 0))
    rank = node.need_rank()
    require_axis(axis, rank)
    (first,) = from_the_front([axis], rank)
    return list(range(first - rank, 0))


def cast_between(node: Node, name: str, kind: int, wanted: int) -> str:
    """`name`, of type `kind`, cast to `wanted` unless that is the same type."""
    return name if kind == wanted else node.op.Cast(name, to=wanted)


def stash_type(node: Node) -> int:
    """The attribute stash_type. Exporters write 0 for "not said", which runtimes take for the default, float, unless the type of a
    further output depends on it.
    """
    unsaid = any(a.name == "stash_type" and not a.i and not a.ref_attr_name for a in node.proto.attribute)
    is_free = not any(node.has_output(index) for index in range(1, len(node.outputs)))
    return TensorProto.FLOAT if unsaid and is_free else node.attr("stash_type", TensorProto.FLOAT)


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


def normalize_by_squares(node: Node, x: str, scale: str, epsilon: float, deviation: int) -> None:
    """Write x / sqrt(mean(x²) + epsilon) * scale over the axes from `axis` on as the first output, in the type of the scale.

    The reciprocal of the root becomes output number `deviation`, if the node has it; then the node is removed. RMSNormalization is
    used from opset 23 on, where the operands have one type: others it has by its text, and not by onnx's inference.
    """
    op = node.op
    kind = node.need_elem_type()
    wanted = node.elem_type(scale) or kind
    if node.target >= 23 and wanted == kind and not node.has_output(deviation):
        op.RMSNormalization(x, scale, output=node.output(0), axis=node.attr("axis", -1), epsilon=epsilon, opset=23)
        node.remove()
        return
    work = working_type(kind, TensorProto.FLOAT)
    wide = cast_between(node, x, kind, work)
    root = root_mean_square(node, wide, axes_from(node), epsilon, work)
    normalized = cast_between(node, op.Div(wide, root), work, wanted)
    op.Mul(normalized, scale, output=node.output(0))
    if node.has_output(deviation):
        op.Reciprocal(cast_between(node, root, work, TensorProto.FLOAT), output=node.output(deviation))
    node.remove()
