"""Indices and lengths that are only known at run time, computed by operators of opset 7.

Below opset 9 no operator compares int64, and below 12 Min and Max accept only floating point. So signs are tested in float
(rounding does not change a sign) and bounds in double (exact for every length of a tensor; larger numbers stay larger).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from onnx import TensorProto

from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from .axes import require_axis

Form = Literal["scalar", "vector"]
"""Whether a length is a scalar or a vector of one element."""
_MAX_LOOK_BACK = 8
"""The number of nodes that the proof of a sign goes back. Exporters put one or two between the source of indices and a Gather."""


def length(node: Node, name: str, axis: int, form: Form = "vector") -> str:
    """The length of `axis` of `name` as int64, a scalar or a vector of one; it is a constant where it is known."""
    op = node.op
    shape = node.shape(name)
    if shape is not None:
        require_axis(axis, len(shape))
    if shape is not None and isinstance(dim := shape[axis], int):
        return op.int64(dim if form == "scalar" else [dim])
    name, axis = node.graph.origin_of_dimension(name, axis)
    if form == "vector":
        return op.Shape(name, start=axis, end=axis + 1 or None, opset=15)
    return op.Gather(op.Shape(name), op.int64(axis), axis=0)


def is_never_negative(node: Node, name: str, steps: int = _MAX_LOOK_BACK) -> bool:
    """Whether the nodes that make `name`, up to `steps` nodes back, prove that it has no negative element."""
    value = node.constant(name)
    if value is not None:
        return bool((value >= 0).all())
    maker = node.maker(name)
    if maker is None or steps == 0:
        return False
    fact = facts.of(maker.op_type)
    if fact.has("not-negative"):
        return True
    if maker.op_type == "TopK":
        return len(maker.outputs) == 2 and node.graph.resolve(name) == maker.output(1)
    if maker.op_type == "Cast":
        return _is_unsigned(maker)
    if maker.op_type == "Mod" and not maker.attr("fmod", 0):
        return is_never_negative(maker, maker.input(1), steps - 1)
    return fact.only_moves_first and is_never_negative(maker, maker.input(0), steps - 1)


def _is_unsigned(cast: Node) -> bool:
    """Whether the input of `cast` has an unsigned type whose values all fit into the type of the result."""
    is_narrowed = cast.attr("to") in (TensorProto.INT8, TensorProto.INT16)
    unsigned = () if is_narrowed else (TensorProto.UINT8, TensorProto.UINT16)
    return cast.elem_type() in (TensorProto.BOOL, *unsigned)


def wrapped(node: Node, indices: str, elem_type: int, size: str) -> str:
    """`indices`, whole numbers of any type, with `size`, an int64 scalar, added to negative ones."""
    op = node.op
    if elem_type != TensorProto.INT64:
        size = op.Cast(size, to=elem_type)
    if node.target >= 9:
        return op.Where(op.Less(indices, op.const(0, elem_type)), op.Add(indices, size), indices, opset=max(node.written_for, 9))
    as_float = op.Cast(indices, to=TensorProto.FLOAT)
    negative = op.Less(as_float, op.const(0, np.float32))
    as_number = op.Cast(negative, to=elem_type)
    shift = op.Mul(as_number, size)
    return op.Add(indices, shift)


def position(node: Node, bound: str, size: str, lowest: int | str, beyond: int | str) -> str:
    """The bound of a slice (a vector of one, int32 or int64) as a non-negative position.

    It is limited to at least `lowest`, and at most `size` (a vector of one int64) plus `beyond`; these two are numbers or vectors
    of one double.
    """
    op = node.op
    at, end = (op.Cast(value, to=TensorProto.DOUBLE) for value in (bound, size))
    at = wrapped(node, at, TensorProto.DOUBLE, size)
    at = _extreme(node, "Max", at, lowest if isinstance(lowest, str) else double(node, [float(lowest)]))
    more = beyond if isinstance(beyond, str) else double(node, [float(beyond)])
    at = _extreme(node, "Min", at, end if beyond == 0 else op.Add(end, more))
    return op.Cast(at, to=TensorProto.INT64)


def _extreme(node: Node, op_type: Literal["Max", "Min"], value: str, bound: str) -> str:
    """The larger or the smaller of two values. Below opset 8, runtimes have Max and Min only for float."""
    if node.target >= 8:
        return getattr(node.op, op_type)(value, bound)
    beyond = (node.op.Less if op_type == "Max" else node.op.Greater)(value, bound)
    return choose(node, beyond, bound, value)


def choose(node: Node, condition: str, yes: str, no: str) -> str:
    """`yes` where `condition` holds, else `no`, for finite doubles; Where, which does this, came with opset 9."""
    op = node.op
    if node.target >= 9:
        return op.Where(condition, yes, no, opset=max(node.written_for, 9))
    taken = op.Cast(condition, to=TensorProto.DOUBLE)
    left = op.Cast(op.Not(condition), to=TensorProto.DOUBLE)
    parts = [op.Mul(*pair) for pair in ([yes, taken], [no, left])]
    return op.Add(*parts)


def double(node: Node, value: list[float]) -> str:
    """A constant of type double."""
    return node.op.const(value, np.float64)


def count_up(node: Node, start: str, limit: str, step: str) -> str:
    """The numbers start, start + step, … before `limit`, as a vector. The arguments are vectors of one int64."""
    scalars = [_scalar(node, value) for value in (start, limit, step)]
    return node.op.Range(*scalars, opset=11)


def _scalar(node: Node, vector: str) -> str:
    """`vector`, of one element, as a scalar."""
    return node.op.Reshape(vector, node.op.int64([]))
