"""TopK: k is an attribute until opset 9 and an input from 10 on; 11 adds largest, sorted, negative axes and integer types.

https://onnx.ai/onnx/operators/onnx__TopK.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import MAKE_CONSTANT, Node
from .shared.axes import add_rank
from .shared.indices import length
from .shared.parameters import one_number
from .shared.typed import WIDE_INTEGERS, halves

_WIDER = {
    TensorProto.FLOAT: (TensorProto.INT8, TensorProto.INT16, TensorProto.UINT8, TensorProto.UINT16),
    TensorProto.DOUBLE: (TensorProto.INT32, TensorProto.UINT32),
}
"""The floating-point type in which each integer type is sorted.

In its own type, a negated unsigned integer, or the smallest signed one, would not fit.
"""


@upgrade("TopK", 10)
def k_to_input(node: Node) -> None:
    """The attribute k becomes an input."""
    node.set_input(1, node.op.int64([node.pop_attr("k")]))


@downgrade("TopK", 11)
def largest_and_sorted(node: Node) -> None:
    """largest=0 sorts the negated data; sorted is removed, since any order is right. 64-bit integers are sorted by halves."""
    kind = node.elem_type()
    if kind is not None and kind in WIDE_INTEGERS:
        _sort_by_halves(node, kind)
        return
    if node.attr("axis") == -1:
        node.pop_attr("axis")  # the default below, too
    add_rank(node, "axis")
    node.pop_attr("sorted")
    if node.pop_attr("largest", 1):
        return
    kind = node.need_elem_type()
    wider = next((floating for floating, integers in _WIDER.items() if kind in integers), None)
    if wider is not None:
        node.set_input(0, node.op.Cast(node.input(0), to=wider))
    node.set_input(0, node.op.Neg(node.input(0)))
    if node.has_output(0):
        output = node.output(0)
        values = node.detach_output(0, "values")
        if wider is not None:
            values = node.after.Neg(values)
        (node.after.Cast if wider is not None else node.after.Neg)(values, output=output, to=kind if wider is not None else None)


def _sort_by_halves(node: Node, kind: int) -> None:
    """Sort 64-bit integers, which no float holds, first by their low and then by their high halves; the
    second sort keeps the order of ties.
    """
    op = node.op
    add_rank(node, "axis")
    node.explain("64-bit integers are sorted along the whole axis", node.shape_hint())
    data, k = node.inputs
    axis = node.attr("axis", node.need_rank() - 1)
    pair = halves(node, data, kind)
    if not node.attr("largest", 1):
        pair = tuple(op.Neg(half) for half in pair)
    high, low = pair
    everything = length(node, data, axis)
    _, order = op.TopK(low, everything, outputs=2, axis=axis)
    high = op.GatherElements(high, order, opset=11, axis=axis)
    _, places = op.TopK(high, k, outputs=2, axis=axis)
    indices = op.GatherElements(order, places, output=node.output(1), opset=11, axis=axis)
    if node.has_output(0):
        op.GatherElements(data, indices, output=node.output(0), opset=11, axis=axis)
    node.remove()


@downgrade("TopK", 10)
def k_to_attribute(node: Node) -> None:
    """A constant k becomes the attribute; with a computed k, the whole axis is sorted and a Slice takes the first k."""
    value = node.constant(1)
    k, data = node.input(1), node.input(0)
    if value is not None:
        count = int(one_number(value))
        if count < 1:
            raise Unconvertible(f"k is {count}, and before opset 10 TopK takes no k below 1", "remove the node: it returns nothing")
        node.become.TopK(data, axis=node.attr("axis"), k=count)
        return
    node.explain(f"its k '{k}' is computed at run time", MAKE_CONSTANT)
    axis = node.attr("axis", -1)
    everything = node.need_dimension(axis)
    if not everything:
        raise Unconvertible("its axis is empty, and before opset 10 TopK takes no k below 1", "remove the node: it returns nothing")
    axes = node.op.int64([axis % node.need_rank()])
    outputs = node.outputs
    for index, output in enumerate(outputs):
        if output:
            _cut(node, node.detach_output(index, "sorted"), k, axes, output)
    node.become.TopK(data, axis=node.attr("axis"), k=everything)


def _cut(node: Node, values: str, k: str, axes: str, output: str) -> None:
    """Take the first `k` of the sorted values by a Slice of opset 10, which accepts computed ends."""
    node.after.Slice(values, node.op.int64([0]), k, axes, output=output, opset=10)
