"""CumSum (below opset 11) and CumProd (below 26): a Scan that carries the total, or for a short axis one node for each step.

https://onnx.ai/onnx/operators/onnx__CumSum.html, https://onnx.ai/onnx/operators/onnx__CumProd.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto, TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.any_axis import along_any
from .shared.axes import from_the_front, require_axis
from .shared.parameters import one_number

_STEPS = {"CumSum": ("Add", 0), "CumProd": ("Mul", 1)}
"""The operator of one step, and its neutral element."""
_HALVES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
"""Types for which runtimes may round each total, or only the last one."""
WRITTEN_OUT = 16
"""The length of an axis up to which the steps are written out: such nodes can be converted down to opset 7, a Scan only to 9."""


@decompose(("CumSum", "CumProd"), opset=13)
def accumulate_step_by_step(node: Node) -> None:
    """The elements of the axis are added or multiplied one after the other, by a Scan, or by one node for each step."""
    rank, given = node.need_rank(), node.constant(1)
    if given is None and rank > 1:
        along_any(node, 1, range(rank))
        return
    axis = 0 if given is None else int(one_number(given))
    require_axis(axis, rank)
    (axis,) = from_the_front([axis], rank)
    dimension = node.dimension(axis)
    if 0 in (node.shape() or ()):
        node.become.Identity(node.input(0))  # onnxruntime scans nothing that is empty
        return
    node.approximate = node.need_elem_type() in _HALVES
    if isinstance(dimension, int) and 0 < dimension <= WRITTEN_OUT:
        _write_out(node, axis, dimension)
    else:
        _scan(node, axis, rank)


def _write_out(node: Node, axis: int, count: int) -> None:
    """Split the axis, of length `count`, into its elements, and combine these one after the other."""
    op = node.op
    operator, neutral = _STEPS[node.op_type]
    parts = op.Split(node.input(0), outputs=count, axis=axis)
    order = parts[::-1] if node.attr("reverse", 0) else parts
    totals = [order[0]]
    for part in order[1:]:
        totals.append(getattr(op, operator)(totals[-1], part))
    if node.attr("exclusive", 0):
        totals = [_filled(node, neutral, op.Shape(parts[0])), *totals[:-1]]
    node.become.Concat(*(totals[::-1] if node.attr("reverse", 0) else totals), axis=axis)


def _filled(node: Node, value: int, shape: str) -> str:
    """A tensor of shape `shape` with `value` in the type of the input; ConstantOfShape does not support all these types."""
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    return node.op.Expand(node.op.const(np.array(value, dtype), dtype), shape)


def _scan(node: Node, axis: int, rank: int) -> None:
    """Let a Scan carry the total.

    A neutral element is put before the data and cut off afterwards: onnxruntime scans no empty tensor.
    """
    op = node.op
    operator, neutral = _STEPS[node.op_type]
    elem_type, direction = node.need_elem_type(), node.attr("reverse", 0)
    others = [other for other in range(rank) if other != axis]
    if not all(isinstance(node.dimension(other), int) for other in others):
        node.caution("onnxruntime's Scan crashes if a dimension beside the axis is 0")
    shape = op.Shape(node.input(0))
    inner = op.Gather(shape, op.int64(others), axis=0)
    start = _filled(node, neutral, inner)
    extra = op.Unsqueeze(start, op.int64([axis]))
    data = op.Concat(*([extra, node.input(0)] if direction else [node.input(0), extra]), axis=axis)
    names = [node.fresh_name(what) for what in ("before", "element", "total", "given")]
    body = _body(names, operator, elem_type, rank - 1, exclusive=bool(node.attr("exclusive", 0)))
    _, totals = op.Scan(
        start,
        data,
        outputs=2,
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_output_axes=[axis],
        scan_input_directions=[direction],
        scan_output_directions=[direction],
    )
    first, end = (1, np.iinfo(np.int64).max) if direction else (0, -1)
    node.become.Slice(totals, *(op.int64([value]) for value in (first, end, axis)))


def _body(names: Sequence[str], operator: str, elem_type: int, rank: int, *, exclusive: bool) -> GraphProto:
    """The body of the Scan. `names` are the old total, the element, the new total and the scan output, each with `rank` axes."""
    before, element, total, given = names
    values = {name: helper.make_tensor_value_info(name, elem_type, [None] * rank) for name in names}
    nodes = [
        helper.make_node(operator, [before, element], [total], name=total),
        helper.make_node("Identity", [before if exclusive else total], [given], name=given),
    ]
    return helper.make_graph(nodes, "step", [values[before], values[element]], [values[total], values[given]])
