"""Reduce*: axes as attribute or input, and what absent or empty axes mean.

https://onnx.ai/onnx/operators/onnx__ReduceMean.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible, Undecided
from ...rewriter.graph.node import Node, Operators
from ..shared.axes import REDUCTIONS, from_the_front
from ..shared.parameters import is_stored

_OF_ONE = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")
"""Reductions that leave a single element as it is."""
_OF_SINGLES = ("ReduceL1", "ReduceL2")
"""Reductions that make the absolute value of a single element."""
_STEPS = {"ReduceLogSum": ("ReduceSum", "ReduceLogSum"), "ReduceSumSquare": ("ReduceSumSquare", "ReduceSum")}
"""For reductions in several steps, the operators of the first and of the last step, where these differ from the operator itself."""
_ROUNDED = ("ReduceL2", "ReduceLogSumExp", "ReduceMean")
"""Reductions whose result for integers is rounded, and which take that of the step before."""
_MOST_BETWEEN = 2
"""The nodes at most between an L2 norm and the division by it, which limit or expand it."""
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
_INTEGERS = (TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64)


@avoid("Reduce axes as an input", REDUCTIONS, opset=18)
def leave_out_all_axes(node: Node) -> None:
    """The axes are left out if they are all axes. Other axes are refused, because only an older opset helps.

    It is exact for all types and lengths.
    """
    if not node.has_input(1):
        return
    if not _names_all_axes(node):
        last = 12 if node.op_type == "ReduceSum" else 17
        raise Unconvertible("the axes are an input", f"choose a target opset up to {last}, where they are an attribute")
    _leave_out_axes(node)


@avoid("Reduce axes as an attribute at opset 13 to 17", tuple(op for op in REDUCTIONS if op != "ReduceSum"), opset=13)
def refuse_axes_as_attribute(node: Node) -> None:
    """The node is refused, because only another opset helps."""
    if node.has_attr("axes") and node.target in range(13, 18):
        raise Unconvertible("the axes are an attribute", "choose a target opset from 18 on, where they are an input, or 12")


@avoid("Reduce with noop_with_empty_axes", REDUCTIONS, opset=13)
def reduce_nothing(node: Node) -> None:
    """The node, which reduces nothing, becomes an Identity.

    It is exact for all types, of operators that leave single elements as they are. Others are refused.
    """
    if not node.attr("noop_with_empty_axes", 0):
        return
    axes = node.constant(1)
    if node.has_input(1) and (axes is None or axes.size):
        if axes is None:
            raise Undecided("the axes are computed at run time, and may be none", "make them a constant")
        node.pop_attr("noop_with_empty_axes")
        return
    if node.op_type not in _OF_ONE:
        raise Unconvertible(f"what {node.op_type} makes of single elements has no other form", "remove the node from the model")
    node.become.Identity(node.input(0))


@avoid("Reduce axes computed at run time", REDUCTIONS, opset=18)
@avoid("Squeeze axes computed at run time", ("Squeeze", "Unsqueeze"), opset=13)
def fold_axes(node: Node) -> None:
    """Axes that are computed but the same in every run become a constant.

    It is exact for all types and lengths.
    """
    if not node.has_input(1) or is_stored(node, 1):
        return
    axes = node.constant(1)
    if axes is None:
        raise Unconvertible(f"the axes '{node.input(1)}' are computed at run time", "make them a constant")
    node.set_input(1, node.op.int64(axes))


@avoid("Reduce over all axes, which it names", REDUCTIONS, opset=13)
def name_no_axes(node: Node) -> None:
    """The axes are left out.

    It is exact for all types and lengths.
    """
    if _names_all_axes(node):
        _leave_out_axes(node)


def _names_all_axes(node: Node) -> bool:
    axes, rank = _named_axes(node), node.rank()
    return bool(axes) and rank is not None and len({*from_the_front(axes, rank)}) == rank


def _leave_out_axes(node: Node) -> None:
    for attribute in ("axes", "noop_with_empty_axes"):
        node.pop_attr(attribute)
    if node.has_input(1):
        node.drop_input(1)


@avoid("Reduce over three axes or more", REDUCTIONS, opset=13, exact=False)
def reduce_in_steps(node: Node) -> None:
    """The node becomes several reductions over at most two axes each.

    It is right up to the last bits for floating-point types, and exact for sums, products, minima and maxima of integers. What
    rounds integers is refused. Near the largest number, other sums overflow: a mean may be infinite in one step only.
    """
    named = _named_axes(node)
    if named is None or len(named) < 3:
        return
    if node.op_type in _ROUNDED and node.need_elem_type() in _INTEGERS:
        raise Unconvertible(f"{node.op_type} of integers in several steps would round several times", "compute it in float")
    axes = sorted(from_the_front(named, node.need_rank()))
    first, last = _STEPS.get(node.op_type, (node.op_type, node.op_type))
    between = first if first == "ReduceSum" else last
    keepdims, reduced, op_type = node.attr("keepdims", 1), node.input(0), first
    while len(axes) > 2:  # from the back, so that those in front keep their numbers
        reduced = _reduce(node.op, op_type, reduced, axes[-2:], keepdims)
        axes, op_type = axes[:-2], between
    _reduce(node.become, last, reduced, axes, keepdims)


@avoid("Reduction over axes of length 1", (*_OF_SINGLES, "ReduceLogSum", "ReduceSumSquare"), opset=13)
def compute_single_elements(node: Node) -> None:
    """What the node makes of single elements is written without a reduction: Abs, Log, or a product.

    It is exact for all types, but for the last bits of Log, and where a square overflows. Lengths that are not known are taken to
    be more than 1.
    """
    axes, rank = _named_axes(node), node.rank()
    if not axes or rank is None or any(node.dimension(axis) != 1 for axis in axes):
        return
    op, data, keepdims = node.op, node.input(0), node.attr("keepdims", 1)
    if node.op_type in _OF_SINGLES:
        value = op.Abs(data)
    else:
        node.approximate = node.op_type == "ReduceLogSum"  # another kernel of Log
        value = op.Log(data) if node.op_type == "ReduceLogSum" else op.Mul(data, data)
    node.give(value if keepdims else op.Squeeze(value, op.int64(axes)))


@avoid("ReduceLogSumExp of large numbers", "ReduceLogSumExp", opset=13, exact=False)
def subtract_largest(node: Node) -> None:
    """The largest number is subtracted before Exp, and added again.

    It is right up to the last bits, also where the largest is infinite: then the largest number of the type is subtracted. The axes
    have to be constant.
    """
    axes = _named_axes(node)
    if axes is None and node.has_input(1):
        raise Unconvertible(f"the axes '{node.input(1)}' are computed at run time", "make them a constant")
    if not axes and node.attr("noop_with_empty_axes", 0):
        return
    op, data, all_axes = node.op, node.input(0), axes or [*range(node.need_rank())]
    kind = node.need_elem_type()
    if kind not in _FLOATS:
        raise Unconvertible("it adds powers of integers", "choose another runtime")
    limits = np.finfo(helper.tensor_dtype_to_np_dtype(kind))
    largest = _reduce(op, "ReduceMax", data, all_axes, 1)
    largest = op.Clip(largest, op.const(limits.min, kind), op.const(limits.max, kind))
    powers = _reduce(op, "ReduceSum", op.Exp(op.Sub(data, largest)), all_axes, 1)
    value = op.Add(op.Log(powers), largest)
    node.give(value if node.attr("keepdims", 1) else op.Squeeze(value, op.int64(all_axes)))


def _named_axes(node: Node) -> list[int] | None:
    """The axes; None where they are absent or computed at run time."""
    if node.has_attr("axes"):
        return node.attr("axes")
    axes = node.constant(1) if node.has_input(1) else None
    return None if axes is None else axes.tolist()


def _reduce(op: Operators, op_type: str, data: str, axes: list[int], keepdims: int) -> str:
    """Make a reduction in the form of opset 13."""
    if op_type == "ReduceSum":
        return op.ReduceSum(data, op.int64(axes), keepdims=keepdims)
    return getattr(op, op_type)(data, axes=axes, keepdims=keepdims)


@avoid("Division by the own L2 norm along another axis than 1", "Div", opset=9)
def take_norm_as_it_is(node: Node) -> None:
    """The norm goes through Abs, which changes nothing of it, and which no pattern of a fusion has.

    It is exact for all types.
    """
    norm = node.maker(1)
    for _ in range(_MOST_BETWEEN):
        if norm is not None and norm.op_type != "ReduceL2":
            norm = norm.maker()
    if norm is None or norm.op_type != "ReduceL2" or norm.graph.resolve(norm.input(0)) != node.graph.resolve(node.input(0)):
        return
    shape, axes = node.shape(0), norm.attr("axes") if norm.has_attr("axes") else norm.constant(1)
    if axes is None or len(axes) != 1 or (int(axes[0]) != 1 and (shape is None or int(axes[0]) + len(shape) != 1)):
        node.set_input(1, node.op.Abs(node.input(1)))
