"""NonZero below opset 9, where the shape is known: a sort moves the positions of non-zero elements to the front.

https://onnx.ai/onnx/operators/onnx__NonZero.html
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.counting import stack
from .shared.tables import arange

_MAX_SORTED = 1 << 22
"""The number of elements of the largest input: float32 holds the numbers up to twice as many, and the positions are a constant."""


@decompose("NonZero", opset=8)
def sort_the_places(node: Node) -> None:
    """TopK sorts the positions of non-zero elements to the front, and a Loop takes as many as there are."""
    op = node.op
    if node.need_elem_type() == TensorProto.STRING:
        raise Unconvertible("NonZero of strings is new in opset 9")
    shape = node.need_shape()
    size = prod(shape)
    if not shape or not 0 < size <= _MAX_SORTED:
        raise Unconvertible(f"NonZero of {size} elements and rank {len(shape)} is new in opset 9")
    flat = op.Reshape(node.input(0), op.int64([-1]))
    found = op.Cast(flat, to=TensorProto.BOOL)
    found = op.Cast(found, to=TensorProto.FLOAT)
    first = op.Mul(found, op.const([size + 1], np.float32))
    order = op.Sub(first, op.const(arange(size), np.float32))
    _, places = op.TopK(order, outputs=2, k=size, axis=0)
    total = op.ReduceSum(found, axes=[0], keepdims=0)
    count = op.Cast(total, to=TensorProto.INT64)
    number, given = node.fresh_name("number"), node.fresh_name("given")
    kept = stack(node, count, number, helper.make_node("Gather", [places, number], [given], name=given, axis=0))
    coordinates = np.array(np.unravel_index(arange(size), shape))
    node.become.Gather(op.int64(coordinates), kept, axis=1)
