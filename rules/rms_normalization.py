"""RMSNormalization below opset 23, in the form that exporters wrote before and that runtimes fuse.

https://onnx.ai/onnx/operators/onnx__RMSNormalization.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front, require_axis
from .shared.normalization import cast_between, root_mean_square, working_type
from .shared.typed import FLOATING


@decompose("RMSNormalization", opset=13, exact=False)
def divide_by_the_root_mean_square(node: Node) -> None:
    """The node becomes x / sqrt(mean(x²) + epsilon) * scale over the axes from `axis` on, in stash_type or the wider data type."""
    kind = node.need_elem_type()
    work = working_type(kind, node.attr("stash_type", TensorProto.FLOAT))
    axes = _axes(node)
    if axes is None or work not in FLOATING:
        node.expand()
        return
    x = cast_between(node, node.input(0), kind, work)
    root = root_mean_square(node, x, axes, node.attr("epsilon", 1e-5), work)
    normalized = node.op.Div(x, root)
    node.become.Mul(cast_between(node, normalized, work, node.need_elem_type(1)), node.input(1))


def _axes(node: Node) -> list[int] | None:
    """The axes to normalize over, not negative where the rank is known; None where they are unknown."""
    axis, rank = node.attr("axis", -1), node.rank()
    if rank is None:
        return list(range(axis, 0)) if axis < 0 else None
    require_axis(axis, rank)
    (first,) = from_the_front([axis], rank)
    return list(range(first, rank))
