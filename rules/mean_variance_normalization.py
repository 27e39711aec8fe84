"""MeanVarianceNormalization: the operator came with opset 9; from 13 on onnxruntime uses its function body.

The variance is the mean of squared deviations, as runtimes compute it. ONNX's own function body computes E[x²] - E[x]², which loses
all digits where the mean is large compared with the deviation.
https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import adopt, decompose, simplify, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.normalization import cast_between, mean_and_deviation


@adopt("MeanVarianceNormalization", opset=9, exact=False)
def take_from_older_opsets(node: Node) -> None:
    """The experimental operator before opset 9 normalizes images, perhaps over the channels too, or only their mean."""
    known = ("across_channels", "normalize_variance")
    if any(attribute.name not in known for attribute in node.proto.attribute) or node.rank() not in (4, None):
        raise Unconvertible(
            f"MeanVarianceNormalization of ONNX's first releases has images of four axes, and only {' and '.join(known)}"
        )
    axes = [0, 1, 2, 3] if node.attr("across_channels", 0) else [0, 2, 3]
    if node.attr("normalize_variance", 1):
        node.become.MeanVarianceNormalization(node.input(0), axes=axes)
    else:
        node.become.Sub(node.input(0), node.op.ReduceMean(node.input(0), axes=axes, keepdims=1))


@upgrade("MeanVarianceNormalization", 13)
def spell_out_axes(node: Node) -> None:
    """The default of axes is written out, since from opset 13 on onnxruntime does not find it inside a local function."""
    axes = _axes(node)
    if node.attr("axes") != axes:
        node.set_attr("axes", axes)


@decompose("MeanVarianceNormalization", opset=9, exact=False)
def normalize_axes(node: Node) -> None:
    """The node becomes (x - mean) / (standard deviation + 1e-9) over the axes, as in ONNX's function body."""
    _normalize(node)


@simplify("MeanVarianceNormalization", opset=13, exact=False)
def normalize_axes_of_other_types(node: Node) -> None:
    """The node becomes the same if its type is not float: its function body has constants of float, and fails in runtimes."""
    if node.elem_type() not in (None, TensorProto.FLOAT):
        _normalize(node)


def _axes(node: Node) -> list[int]:
    """The axes, by default [0, 2, 3]. Those that the input does not have count for nothing in onnxruntime."""
    axes, rank = node.attr("axes", [0, 2, 3]), node.rank()
    known = [axis for axis in axes if rank is None or axis < rank]
    if known != axes:
        node.caution(f"it normalizes over the axes {known} of {axes}, as onnxruntime does, since the input has rank {rank}")
    return known


def _normalize(node: Node) -> None:
    """Write out the normalization, in float where the type is narrower: it cannot hold the 1e-9."""
    kind, axes = node.need_elem_type(), _axes(node)
    work = kind if kind in (TensorProto.FLOAT, TensorProto.DOUBLE) else TensorProto.FLOAT
    axes = from_the_front(axes, node.need_rank()) if min(axes, default=0) < 0 else axes
    _, deviation, std = mean_and_deviation(node, cast_between(node, node.input(0), kind, work), axes, 0.0, work)
    root = node.op.Add(std, node.op.const(1e-9, work))
    if work == kind:
        node.become.Div(deviation, root)
    else:
        node.become.Cast(node.op.Div(deviation, root), to=kind)
