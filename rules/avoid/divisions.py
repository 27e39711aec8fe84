"""Div and Mod of integers, and Div by lengths. https://onnx.ai/onnx/operators/onnx__Div.html,
https://onnx.ai/onnx/operators/onnx__Mod.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind
from ..shared.broadcasting import SPREADS_BOTH
from ..shared.places import LARGEST, are_places

_WHOLE = (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8)


@avoid("Div of integers", "Div", opset=13)
def quotients_of_places(node: Node) -> None:
    """What an ArgMax or ArgMin found is divided by a stored positive number as a float, and rounded down; others are refused.

    It is exact, since both numbers are below 2^22.
    """
    kind, divisor = node.elem_type(), node.constant(1)
    if kind not in _WHOLE:
        return
    if node.opset < SPREADS_BOTH or divisor is None or not _is_small(divisor) or not are_places(node, node.input(0)):
        raise Unconvertible("it divides integers, and no other form of it is exact", "choose another runtime")
    op = node.op
    quotient = op.Div(op.Cast(node.input(0), to=TensorProto.FLOAT), op.const(divisor, TensorProto.FLOAT))
    node.become.Cast(op.Floor(quotient), to=kind)


@avoid("Mod of integers", "Mod", opset=13)
def remainders_of_places(node: Node) -> None:
    """Of what an ArgMax or ArgMin found, the whole multiples of a stored positive number are subtracted.

    It is exact: neither number is negative.
    """
    divisor = node.constant(1)
    if divisor is None or not _is_small(divisor) or not are_places(node, node.input(0)):
        return
    multiples = node.op.Mul(node.op.Div(node.input(0), node.input(1)), node.input(1))
    node.become.Sub(node.input(0), multiples)


def _is_small(divisor: np.ndarray) -> bool:
    return divisor.size > 0 and 0 < divisor.min() <= divisor.max() < LARGEST


@avoid("Div by what follows from open shapes", "Div", opset=8)
def by_no_more_than_itself(node: Node) -> None:
    """The divisor of floats becomes min(divisor, max(divisor, dividend)), which is the divisor, and no longer follows from shapes.

    It is exact: a dividend that is NaN makes NaN of either. A reciprocal of a length is the operator of that name; other quotients
    of what follows from shapes are refused, since nothing else makes the same whole numbers.
    """
    if node.elem_type() not in (TensorProto.FLOAT, TensorProto.FLOAT16) or not _follows_from_shapes(node, 1):
        return
    op, dividend, divisor, value = node.op, node.input(0), node.input(1), node.constant(0)
    if value is not None and value.size == 1 and value.item() == 1 and value.ndim <= node.need_rank(1):
        node.become.Reciprocal(divisor)
    elif value is not None or _follows_from_shapes(node, 0):
        raise Unconvertible("it divides what follows from lengths that are open", "fix them with --overwrite-input-shape")
    else:
        node.set_input(1, op.Min(divisor, op.Max(divisor, dividend)))


_MOST_NODES = 64
"""The nodes that are looked at for what a value is computed of."""


def _follows_from_shapes(node: Node, index: int) -> bool:
    """Whether the operand is not known, and is computed of shapes and known numbers alone."""
    pending, reads_shapes = [(node, node.input(index))], False
    for _ in range(_MOST_NODES):
        if not pending:
            return reads_shapes
        reader, name = pending.pop()
        if reader.constant(name) is not None or reader.known_integers(name) is not None:
            continue
        maker = reader.maker(name)
        if maker is None or not maker.inputs or maker.subgraphs() or maker.proto.domain:
            return False
        if facts.of(maker.op_type).kind is Kind.SHAPE:
            reads_shapes = True
        else:
            pending += [(maker, value) for value in maker.inputs if value]
    return False
