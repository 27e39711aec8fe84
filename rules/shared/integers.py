"""Integer arithmetic in 64 bits, in which the bits of all narrower integers are exact."""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.graph.node import Node

BITS: dict[int, int] = {
    TensorProto.INT8: 8,
    TensorProto.UINT8: 8,
    TensorProto.INT16: 16,
    TensorProto.UINT16: 16,
    TensorProto.INT32: 32,
    TensorProto.UINT32: 32,
    TensorProto.INT64: 64,
    TensorProto.UINT64: 64,
}
"""The number of bits of each integer type."""
UNSIGNED = (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64)
"""The unsigned integer types."""


def to_64_bits(node: Node, name: str, elem_type: int) -> str:
    """`name`, of type `elem_type`, as int64; uint64, which does not fit into int64, stays as it is."""
    wide = TensorProto.UINT64 if elem_type == TensorProto.UINT64 else TensorProto.INT64
    return name if elem_type == wide else node.op.Cast(name, to=wide)


def become_cast(node: Node, value: str, elem_type: int) -> None:
    """Turn the node into a Cast of `value`, an int64 or uint64, to `elem_type`."""
    node.become.Cast(value, to=elem_type)


def complement_where(node: Node, condition: str, number: str) -> str:
    """-1 - `number` where `condition` holds, else `number`, computed as x * (1 - 2c) - c modulo 2**64."""
    op = node.op
    c = op.Cast(condition, to=TensorProto.INT64)
    sign = op.Sub(op.int64(1), op.Add(c, c))
    return op.Sub(op.Mul(number, sign), c)
