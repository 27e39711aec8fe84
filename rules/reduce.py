"""The reductions: axes are an attribute until opset 17 (ReduceSum: 12), later an input, with noop_with_empty_axes.

https://onnx.ai/onnx/operators/onnx__ReduceL1.html, https://onnx.ai/onnx/operators/onnx__ReduceL2.html,
https://onnx.ai/onnx/operators/onnx__ReduceLogSum.html, https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html,
https://onnx.ai/onnx/operators/onnx__ReduceMax.html, https://onnx.ai/onnx/operators/onnx__ReduceMean.html,
https://onnx.ai/onnx/operators/onnx__ReduceMin.html, https://onnx.ai/onnx/operators/onnx__ReduceProd.html,
https://onnx.ai/onnx/operators/onnx__ReduceSum.html, https://onnx.ai/onnx/operators/onnx__ReduceSumSquare.html
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import MAKE_CONSTANT, Node
from .shared.axes import REDUCTIONS
from .shared.parameters import axes_of, to_attribute, to_input
from .shared.squeezed_sizes import as_int, axes_as_double, how_many, sizes_without
from .shared.typed import ANY_FLOATING, type_name

_SINCE_18 = tuple(name for name in REDUCTIONS if name != "ReduceSum")
"""The reductions whose axes became an input in opset 18."""
_WITHOUT_REDUCTION = {"ReduceL1": "Abs", "ReduceL2": "Abs", "ReduceLogSum": "Log", "ReduceSumSquare": "Mul"}
"""The rest of a reduction over no axes. For reductions not listed it is Identity; ReduceLogSumExp gives log(exp(x))."""
_STAGES = {
    "ReduceL1": ("ReduceL1", "ReduceSum", ""),
    "ReduceL2": ("ReduceSumSquare", "ReduceSum", "Sqrt"),
    "ReduceLogSum": ("ReduceSum", "ReduceSum", "Log"),
    "ReduceSumSquare": ("ReduceSumSquare", "ReduceSum", ""),
}
"""For reductions over several axes, one after the other: the operator for the first axis, that for further axes, and that at the
end.

Reductions that are not listed use themselves for every axis, and nothing at the end.
"""
_OF_LOGARITHMS = ("ReduceLogSum", "ReduceLogSumExp")
"""Reductions whose result is a logarithm."""
_ROUNDS_NOTHING = ("ReduceMax", "ReduceMin")
"""Reductions whose result over several axes at once equals that over one axis after the other."""
_ROUNDS_INTEGERS = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean")
"""Reductions that round integer results, and would do so for each axis."""


@upgrade(("ReduceMax", "ReduceMin"), 12)
@upgrade(REDUCTIONS, 11)
def drop_axes_of_a_scalar(node: Node) -> None:
    """The axes of a scalar go. Runtimes take axis 0 for it; from opset 11 on, or 12, onnx says that it is out of range."""
    if node.has_attr("axes") and node.rank() == 0:
        node.pop_attr("axes")


@upgrade("ReduceSum", 13)
@upgrade(_SINCE_18, 18)
def axes_to_input(node: Node) -> None:
    """The attribute axes becomes an input."""
    to_input(node, "axes", 1)


@downgrade("ReduceSum", 13)
@downgrade(_SINCE_18, 18)
def axes_to_attribute(node: Node) -> None:
    """Constant axes become the attribute; for computed axes, the data is reshaped and reduced once for each axis."""
    reduces_nothing = node.pop_attr("noop_with_empty_axes", 0)
    axes = axes_of(node)
    rank = node.rank()
    if axes and rank is not None and len({axis % rank for axis in axes} if rank else ()) < len(axes):
        raise Unconvertible(f"axes has an axis twice: {axes}", "remove one of them")
    if axes or (axes is None and not node.has_input(1)):
        if axes is None and reduces_nothing:
            _keep_the_rest(node)
        else:
            to_attribute(node, 1, "axes", "axes")
        return
    if axes is None:
        _reduce_at_run_time(node, bool(reduces_nothing))
        return
    node.drop_input(1)
    if reduces_nothing:
        _keep_the_rest(node)


@downgrade(("ReduceMax", "ReduceMin"), 20)
def reduce_booleans_as_numbers(node: Node) -> None:
    """Booleans are reduced as 0 and 1 in float, and compared with 0, which is also right for the infinities of an empty set."""
    if node.elem_type() != TensorProto.BOOL:
        return
    node.set_input(0, node.op.Cast(node.input(0), to=TensorProto.FLOAT))
    output = node.output(0)
    number = node.detach_output(0, "number")
    node.after.Greater(number, node.op.const(0, np.float32), output=output)


@upgrade(("ReduceLogSum", "ReduceLogSumExp"), 28, exact=False)
def reduce_integers_as_double(node: Node) -> None:
    """Integers of types that opset 28 removes are reduced in double and cast back.

    onnxruntime 1.32 has no kernel for ReduceLogSumExp of opset 28, and computes its formula as it stands. Of integers it cuts the
    exponentials, which nothing specifies.
    """
    kind = node.elem_type()
    if node.op_type == "ReduceLogSumExp":
        if kind is not None and kind not in ANY_FLOATING:
            reason = f"{node.op_type} of {type_name(kind)}: no specification says how the exponentials are rounded"
            raise Unconvertible(reason, "cast the data to float")
        node.caution(
            "onnxruntime 1.32 has no kernel for it at opset 28, and gives infinity where an exponential is beyond its type"
        )
    if kind not in (TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64):
        return
    node.set_input(0, node.op.Cast(node.input(0), to=TensorProto.DOUBLE))
    output = node.output(0)
    node.after.Cast(node.detach_output(0, "double"), output=output, to=kind)


def _keep_the_rest(node: Node) -> None:
    """Turn the node into what is left of a reduction over no axes."""
    data = node.input(0)
    if node.op_type == "ReduceL2" and node.need_elem_type() in ANY_FLOATING:  # |x|, but for squares beyond the type
        square = node.op.Mul(data, data)
        node.become.Sqrt(square)
        return
    rest = _WITHOUT_REDUCTION.get(node.op_type, "Identity")
    if node.op_type in _OF_LOGARITHMS and node.need_elem_type() not in ANY_FLOATING:
        kind = type_name(node.need_elem_type())
        raise Unconvertible(f"{node.op_type} of {kind} over no axes: no specification says how the logarithm is rounded")
    node.approximate = rest == "Log"  # a reduction's kernel takes another logarithm than that of Log
    getattr(node.become, rest)(*([data, data] if rest == "Mul" else [data]))


def _reduce_at_run_time(node: Node, reduces_nothing: bool) -> None:
    """Reduce one axis after the other.

    Each is moved to the middle of the shape (before, axis, after) and reduced to length 1 there. If their number is unknown, all
    axes take their turn, and in place of one that stays, an axis of length 1 that is put behind the others is reduced.
    """
    rank, count = node.need_rank(), node.dimension(0, 1)
    _check_rounding(node, count)
    node.approximate = count != 1 and node.op_type not in _ROUNDS_NOTHING
    node.explain(f"its axes '{node.input(1)}' are computed at run time", MAKE_CONSTANT)
    if isinstance(count, int):
        data, shape = _reduce_each(node, node.input(0), node.input(1), rank, count)
        _give(node, data, lambda: sizes_without(node, shape, node.input(1), rank, count))
        return
    if rank == 0:
        node.drop_input(1)
        _keep_the_rest(node)
        return
    op = node.op
    reduced = _which_are_reduced(node, rank, reduces_nothing)
    axes = op.Sub(op.int64([rank] * rank), op.Mul(reduced, op.int64([rank - axis for axis in range(rank)])))
    longer = op.Unsqueeze(node.input(0), opset=11, axes=[rank])
    data, shape = _reduce_each(node, longer, axes, rank + 1, rank)
    data = op.Squeeze(data, opset=11, axes=[rank])
    _give(node, data, lambda: op.Compress(op.Shape(data), op.Equal(reduced, op.int64([0])), axis=0))


def _check_rounding(node: Node, count: int | str | None) -> None:
    """Refuses integers that would be rounded more than once, if there may be more than one axis."""
    if count == 1 or node.op_type not in _ROUNDS_INTEGERS or node.need_elem_type() in ANY_FLOATING:
        return
    number = count if isinstance(count, int) else "unknown"
    reason = f"the {number} axes '{node.input(1)}' are computed at run time; axis by axis, integers would be rounded more than once"
    raise Unconvertible(reason, MAKE_CONSTANT)


def _which_are_reduced(node: Node, rank: int, reduces_nothing: bool) -> str:
    """1 for each of the `rank` axes that is reduced, 0 for the others. If none is given, all are, unless that `reduces_nothing`."""
    op = node.op
    column = op.const(np.arange(rank, dtype=np.int64).reshape(-1, 1), np.int64)
    reduced = how_many(node, "Equal", [column, as_int(node, axes_as_double(node, node.input(1), rank))])
    if not reduces_nothing:
        reduced = op.Add(reduced, as_int(node, op.Equal(op.Shape(node.input(1)), op.int64([0]))))
    return as_int(node, op.Cast(reduced, to=TensorProto.BOOL))  # an axis may be given twice


def _reduce_each(node: Node, data: str, axes: str, rank: int, count: int) -> tuple[str, str]:
    """Reduce `data` of `rank` axes over each of the `count` numbers in `axes`, to length 1. Returns the result and its shape."""
    op = node.op
    first, further, last = _STAGES.get(node.op_type, (node.op_type, node.op_type, "")) if count > 1 else (node.op_type, "", "")
    shape = op.Shape(data)
    positions = op.int64(list(range(rank)))
    for index in range(count):
        one = op.Gather(axes, op.int64([index]), axis=0)
        data, shape = _reduce_one(node, further if index else first, data, shape, _position(node, one, rank), positions)
    return getattr(op, last)(data) if last else data, shape


def _give(node: Node, data: str, sizes: Callable[[], str]) -> None:
    """Turn the node into `data`, which has all axes, or with keepdims=0 into a Reshape to `sizes`."""
    if node.attr("keepdims", 1):
        node.become.Identity(data)
    else:
        node.become.Reshape(data, sizes(), opset=14, allowzero=1)


def _position(node: Node, axis: str, rank: int) -> str:
    """`axis`, a vector of one, as a non-negative axis of `rank` axes, in double."""
    op = node.op
    axis = op.Cast(axis, to=TensorProto.DOUBLE)
    negative = op.Less(axis, op.const([0], np.float64))
    shift = op.Cast(negative, to=TensorProto.DOUBLE)
    shift = op.Mul(shift, op.const([rank], np.float64))
    return op.Add(axis, shift)


def _reduce_one(node: Node, reduce: str, data: str, shape: str, axis: str, positions: str) -> tuple[str, str]:
    """Reduce `axis` of `data` to length 1 by the operator `reduce`. Returns the result and its shape."""
    op = node.op
    index = op.Cast(axis, to=TensorProto.INT64)
    as_double = op.Cast(positions, to=TensorProto.DOUBLE)
    before = _product(node, shape, op.Less(as_double, axis))
    after = _product(node, shape, op.Greater(as_double, axis))
    middle = op.Gather(shape, index, axis=0)
    folded = op.Concat(before, middle, after, axis=0)
    data = _reshape(node, data, folded)
    data = getattr(op, reduce)(data, opset=12, axes=[1], keepdims=1)  # the form with the attribute
    here = op.Cast(op.Equal(positions, index), to=TensorProto.INT64)
    there = op.Sub(op.int64([1]), here)
    shape = op.Add(op.Mul(shape, there), here)
    return _reshape(node, data, shape), shape


def _product(node: Node, shape: str, mask: str) -> str:
    """The product of the dimensions where `mask` is true, as a vector of one int64."""
    op = node.op
    chosen = op.Cast(mask, to=TensorProto.INT64)
    others = op.Sub(op.int64([1]), chosen)
    factors = op.Add(op.Mul(shape, chosen), others)
    return op.ReduceProd(factors, axes=[0], keepdims=1)


def _reshape(node: Node, data: str, shape: str) -> str:
    """A Reshape with allowzero=1, from opset 14: a 0 in the computed shape is a length, and does not copy a
    dimension of the input.
    """
    return node.op.Reshape(data, shape, opset=14, allowzero=1)
