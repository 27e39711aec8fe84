"""BitShift: the operator came with opset 11; opset 28 adds signed integers and defines shifts by the width of the type or more.

https://onnx.ai/onnx/operators/onnx__BitShift.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.integers import BITS, UNSIGNED, become_cast, complement_where, to_64_bits


@downgrade("BitShift", 28)
def shift_within_the_width(node: Node) -> None:
    """Signed integers are shifted as unsigned bits, and shifts by the width of the type or more are written out.

    Before opset 28, BitShift takes unsigned integers only, and the result of a shift by the width or more is undefined.
    """
    op = node.op
    elem_type = node.need_elem_type()
    bits, (x, by) = BITS[elem_type], node.inputs
    known = node.constant(1)
    in_range = known is not None and bool(((known >= 0) & (known < bits)).all())
    if in_range and elem_type in UNSIGNED:
        return
    arithmetic = elem_type not in UNSIGNED and node.attr("direction") == "RIGHT"
    # onnxruntime shifts no uint16, and what is discarded in the end may as well be shifted
    unsigned = TensorProto.UINT64 if bits == 64 else TensorProto.UINT32
    x, by = (to_64_bits(node, name, elem_type) for name in (x, by))
    inside = None if in_range else _is_inside(node, by, elem_type, bits)
    negative = op.Less(x, op.int64(0)) if arithmetic else ""
    bit_pattern = complement_where(node, negative, x) if arithmetic else x
    if inside:
        by = op.Mul(by, inside)
    operands = [op.Cast(name, to=unsigned) for name in (bit_pattern, by)]
    shifted = op.BitShift(*operands, direction=node.attr("direction"))
    wide = TensorProto.UINT64 if elem_type == TensorProto.UINT64 else TensorProto.INT64
    shifted = op.Cast(shifted, to=wide)
    if inside:
        shifted = op.Mul(shifted, inside)
    become_cast(node, complement_where(node, negative, shifted) if arithmetic else shifted, elem_type)


def _is_inside(node: Node, by: str, elem_type: int, bits: int) -> str:
    """1 where the number of places is at least 0 and less than `bits`, else 0, in the type of `by`."""
    op = node.op
    wide = TensorProto.UINT64 if elem_type == TensorProto.UINT64 else TensorProto.INT64
    bounds = [op.const(bound, wide) for bound in (0, bits)]
    from_0 = op.Not(op.Less(by, bounds[0]))
    inside = op.And(from_0, op.Less(by, bounds[1]))
    return op.Cast(inside, to=wide)


@decompose("BitShift", opset=9)
def multiply_by_power_of_two(node: Node) -> None:
    """A shift by n places becomes a multiplication by 2**n, or a division by it. The power is looked up in a table."""
    op = node.op
    elem_type = node.need_elem_type()
    if elem_type not in UNSIGNED:
        raise Unconvertible("a shift of signed integers is not defined before opset 28")
    bits = BITS[elem_type]
    wide = np.uint64 if elem_type == TensorProto.UINT64 else np.int64
    powers = op.const([2**n for n in range(bits)], wide)
    by = op.Cast(node.input(1), to=TensorProto.INT64)
    power = op.Gather(powers, by, axis=0)
    operator = "Mul" if node.attr("direction") == "LEFT" else "Div"
    become_cast(node, getattr(op, operator)(to_64_bits(node, node.input(0), elem_type), power), elem_type)
