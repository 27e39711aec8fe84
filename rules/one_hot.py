"""OneHot: it came with opset 9; from opset 11 on, indices in [-depth, -1] count from the back, before that they select nothing.

https://onnx.ai/onnx/operators/onnx__OneHot.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, express, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.indices import wrapped
from .shared.integers import UNSIGNED
from .shared.parameters import one_number
from .shared.tables import arange

_LONGEST = 1 << 24
"""The largest number of positions that are written into the model, which takes 128 MiB."""


@upgrade("OneHot", 11)
def warn_of_negative_indices(node: Node) -> None:
    """Nothing changes. Warns where an index may be negative, which selects nothing before opset 11."""
    if _may_be_negative(node):
        node.caution("indices that are negative selected nothing before opset 11, and count from the back from 11 on")


@downgrade("OneHot", 11)
def indices_from_the_front(node: Node) -> None:
    """The depth is added to negative indices, and the output's rank to a negative axis."""
    op = node.op
    axis = node.attr("axis", -1)
    if axis < -1:
        node.set_attr("axis", axis + node.need_rank() + 1)
    if not _may_be_negative(node):
        return
    indices, depth = node.inputs[:2]
    whole = op.Cast(indices, to=TensorProto.INT64)
    size = op.Cast(depth, to=TensorProto.INT64)
    size = op.Reshape(size, op.int64([]))
    once = wrapped(node, whole, TensorProto.INT64, size)
    # What is still negative selects nothing: as the depth itself, which is not negative, as the old text wants.
    sign = op.Cast(once, to=TensorProto.FLOAT)
    outside = op.Less(sign, op.const(0, np.float32))
    outside = op.Cast(outside, to=TensorProto.INT64)
    missing = op.Mul(outside, op.Sub(size, once))
    node.set_input(0, op.Add(once, missing))


def _may_be_negative(node: Node) -> bool:
    """Whether an index is negative, or cannot be proved not to be."""
    known = node.constant(0)
    return bool((known < 0).any()) if known is not None else node.elem_type(0) not in UNSIGNED


@decompose("OneHot", opset=8)
def compare_with_positions(node: Node) -> None:
    """Each index is compared with the positions along the new axis, and a Gather takes the off or the on value.

    The specification of opset 9 leaves negative indices open; runtimes count them from the back there too.
    """
    hot = _hot(node)
    node.become.Gather(node.input(2), node.op.Cast(hot, to=TensorProto.INT64), axis=0)


@express("OneHot", opset=9)
def choose_between_two_values(node: Node) -> None:
    """Each index is compared with the positions along the new axis, and a Where takes the constant on or off value."""
    values = node.constant(2)
    if values is not None and node.elem_type(2) != TensorProto.STRING:
        off, on = (node.op.const(value, values.dtype) for value in values)
        node.become.Where(_hot(node), on, off)


def _hot(node: Node) -> str:
    """Where the on value comes."""
    op = node.op
    rank = node.need_rank() + 1
    (axis,) = from_the_front([node.attr("axis", -1)], rank)
    depth = _depth(node, axis)
    indices = op.Cast(node.input(0), to=TensorProto.INT64)
    indices = op.Unsqueeze(indices, axes=[axis])
    positions = arange(depth).reshape([-1 if d == axis else 1 for d in range(rank)])
    hot = op.Equal(indices, op.int64(positions))
    if _may_be_negative(node):
        from_the_back = op.int64(positions - depth)
        hot = op.Or(hot, op.Equal(indices, from_the_back))
    return hot


def _depth(node: Node, axis: int) -> int:
    """The depth, or the length that the model declares for the new axis."""
    shape = node.shape(node.output(0))
    declared = shape[axis] if shape is not None and axis < len(shape) else None
    if node.constant(1) is None and isinstance(declared, int):
        return declared
    depth = float(one_number(node.const_input(1, "the depth")))
    if not 0 <= depth <= _LONGEST:
        raise Unconvertible(f"the depth is {depth:g}, and a table of its positions has at most {_LONGEST:,} entries")
    return int(depth)
