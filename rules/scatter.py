"""Scatter became ScatterElements in opset 11, which takes negative indices; reductions came with 16 and 18.

https://onnx.ai/onnx/operators/onnx__ScatterElements.html, https://onnx.ai/onnx/operators/onnx__ScatterND.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose, downgrade, upgrade
from .axes import add_rank
from .indices import int64, length, wrapped

_COMBINE = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
_NOT_COMBINED = (TensorProto.BOOL, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128)
"""What Scatter moves, and none of `_COMBINE` takes."""
_MAX_STEPS = 64
"""Updates that are written one after the other: each is five nodes."""


@upgrade("Scatter", 11)
def new_name(node: Node) -> None:
    """The same operator under another name."""
    node.become("ScatterElements", node.inputs, axis=node.attr("axis"))


@decompose("ScatterElements", opset=10)
def old_name(node: Node) -> None:
    """Axis and indices count from the front."""
    add_rank(node, "axis")
    axis = node.attr("axis", 0)
    data, indices, updates = node.inputs
    known = node.constant(1)
    if known is None:
        indices = wrapped(node, indices, node.need_elem_type(1), length(node, data, axis, "scalar"))
    elif (known < 0).any():
        size = node.need_dimension(axis)
        indices = node.add_constant(known + (known < 0) * known.dtype.type(size), known.dtype, "indices")
    node.become("Scatter", [data, indices, updates], axis=axis)


@downgrade("ScatterElements", 18)
@downgrade("ScatterElements", 16)
def reduce_elements_step_by_step(node: Node) -> None:
    """A reduction that the older form lacks: along the axis, one update after the other is combined with what is there."""
    combine = _missing_reduction(node)
    if combine is None:
        return
    axis = node.attr("axis", 0)
    data, indices, updates = node.inputs
    for step in range(_require_few(node, node.need_dimension(axis, 1))):
        position = int64(node, [step], "step")
        index = node.before("Gather", [indices, position], what="index", axis=axis)
        update = node.before("Gather", [updates, position], what="update", axis=axis)
        present = node.before("GatherElements", [data, index], what="present", axis=axis)
        combined = node.before(combine, [present, update], what="combined")
        data = node.before("ScatterElements", [data, index, combined], what="reduced", axis=axis)
    node.become("Identity", [data])


@downgrade("ScatterND", 18)
@downgrade("ScatterND", 16)
def reduce_slices_step_by_step(node: Node) -> None:
    """A reduction that the older form lacks: one update after the other is combined with what is there."""
    combine = _missing_reduction(node)
    if combine is None:
        return
    data, indices, updates = node.inputs
    shape, rank = node.need_shape(1), node.need_rank()
    steps = _require_few(node, int(np.prod(shape[:-1])))
    slice_rank = rank - shape[-1]
    rows = node.before("Reshape", [indices, int64(node, [steps, shape[-1]], "rows")], what="rows")
    slices = node.before("Reshape", [updates, _row_shape(node, len(shape) - 1, steps, slice_rank)], what="slices")
    for step in range(steps):
        position = int64(node, [step], "step")
        index = node.before("Gather", [rows, position], what="index", axis=0)
        update = node.before("Gather", [slices, position], what="update", axis=0)
        present = node.before("GatherND", [data, index], what="present")
        combined = node.before(combine, [present, update], what="combined")
        data = node.before("ScatterND", [data, index, combined], what="reduced")
    node.become("Identity", [data])


def _row_shape(node: Node, outer: int, steps: int, slice_rank: int) -> str:
    """[steps, the dimensions of one slice], as a constant or computed from the updates."""
    sizes = [length(node, node.input(2), outer + axis) for axis in range(slice_rank)]
    parts = [int64(node, [steps], "steps"), *sizes]
    return parts[0] if len(parts) == 1 else node.before("Concat", parts, what="slices", axis=0)


def _missing_reduction(node: Node) -> str | None:
    """The operator that combines two elements, where the older form does not know the reduction."""
    reduction = node.attr("reduction", "none")
    known = ("none",) if node.written_for < 16 else ("none", "add", "mul")
    if reduction in known:
        return None
    if reduction not in _COMBINE:
        raise Unconvertible(f"reduction={reduction} has no meaning")
    kind = node.need_elem_type()
    if kind in _NOT_COMBINED:
        name = TensorProto.DataType.Name(kind).lower()
        raise Unconvertible(f"reduction={reduction} of {name}, which {_COMBINE[reduction]} does not take")
    return _COMBINE[reduction]


def _require_few(node: Node, steps: int) -> int:
    if steps > _MAX_STEPS:
        reduction = node.attr("reduction")
        raise Unconvertible(f"reduction={reduction} of {steps} updates would take {5 * steps} nodes in older operators")
    return steps
