"""Range: the operator came with opset 11; opset 27 adds float16, bfloat16 and stash_type, the type in which these are computed.

https://onnx.ai/onnx/operators/onnx__Range.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade
from ..rewriter.graph.node import Node
from .shared.counting import count_to, places_of_ones
from .shared.typed import FLOATING, halves

_DELTA = 2


@downgrade("Range", 27)
def compute_in_stash_type(node: Node) -> None:
    """stash_type is removed: float16 and bfloat16 are computed in that type, between Casts."""
    kind = node.need_elem_type()
    stash = node.pop_attr("stash_type", TensorProto.FLOAT)
    if kind not in (TensorProto.FLOAT16, TensorProto.BFLOAT16) or stash == kind:
        return
    for index in range(3):
        node.set_input(index, node.op.Cast(node.input(index), to=stash))
    output = node.output(0)
    node.after.Cast(node.detach_output(0, "stash"), output=output, to=kind)


@decompose("Range", opset=10)
def count_then_scale(node: Node) -> None:
    """The node becomes start + i * delta, where i comes from NonZero of ones, or below opset 9 from a Loop that counts."""
    op = node.op
    elem_type = node.need_elem_type()
    work = elem_type if elem_type in FLOATING else TensorProto.INT64
    node.approximate = work != TensorProto.INT64
    length = node.shape(node.output(0))
    if elem_type == TensorProto.FLOAT and (length is None or not isinstance(length[0], int)):
        node.caution(
            "its length is counted in double, as onnxruntime does since 1.29; runtimes that count in float may find another"
        )
    start, limit, delta = (name if elem_type == work else op.Cast(name, to=work) for name in node.inputs)
    span, step = _span(node, start, limit), op.Cast(delta, to=TensorProto.DOUBLE)
    one_by_one = work == TensorProto.INT64 and node.constant(_DELTA) == 1
    steps = span if one_by_one else op.Ceil(op.Div(span, step))
    count = op.Cast(op.Relu(steps), to=TensorProto.INT64)
    form = op.int64([] if node.target < 9 else [1])
    count = op.Reshape(count, form)
    index = count_to(node, count) if node.target < 9 else places_of_ones(node, count)
    scaled = op.Mul(op.Cast(index, to=work), delta)
    node.become.Cast(op.Add(scaled, start), to=elem_type)


def _span(node: Node, start: str, limit: str) -> str:
    """`limit` less `start` as double. The difference of two int64 may be beyond int64, and is taken of their halves."""
    op = node.op
    if node.need_elem_type() in FLOATING:
        first, last = (op.Cast(name, to=TensorProto.DOUBLE) for name in (start, limit))
        return op.Sub(last, first)
    if node.need_elem_type() != TensorProto.INT64 or node.constant(0) == 0:
        return op.Cast(op.Sub(limit, start), to=TensorProto.DOUBLE)
    (high, low), (first_high, first_low) = (halves(node, name, TensorProto.INT64) for name in (limit, start))
    upper = op.Mul(op.Sub(high, first_high), op.const(2.0**32, TensorProto.DOUBLE))
    return op.Add(upper, op.Sub(low, first_low))
