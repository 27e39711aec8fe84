"""Clip: min and max are attributes until opset 10 and inputs from 11 on; 12 adds integer types, 13 defines what min > max means.

https://onnx.ai/onnx/operators/onnx__Clip.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.parameters import one_number

_INPUTS = {"min": 1, "max": 2}
"""The position of each bound in the inputs, from opset 11 on."""


@upgrade("Clip", 11)
def bounds_to_inputs(node: Node) -> None:
    """The attributes min and max become inputs. For types other than float, absent bounds become the defaults of the attributes."""
    bounds = {name: node.pop_attr(name) for name in _INPUTS}
    kind = node.need_elem_type()
    largest = float(np.finfo(np.float32).max)
    for name, default in (("min", -largest), ("max", largest)):
        bound = bounds[name]
        if bound is not None and np.isnan(bound):
            raise _nan_bound()
        if bound is None and kind == TensorProto.FLOAT:
            continue
        # In float16 the default is infinite: no bound at all.
        value = np.array(default if bound is None else bound, helper.tensor_dtype_to_np_dtype(kind))
        node.set_input(_INPUTS[name], node.op.const(value, value.dtype))


@downgrade("Clip", 13)
def order_bounds(node: Node) -> None:
    """A constant min above max is lowered to max: from opset 13 on the result is then max, while before it is undefined."""
    low, high = (node.constant(index) for index in _INPUTS.values())
    if low is not None and high is not None and one_number(low) > one_number(high):
        node.set_input(_INPUTS["min"], node.input(_INPUTS["max"]))


@downgrade("Clip", 12)
def clip_by_comparisons(node: Node) -> None:
    """64-bit integers are compared with the bounds and chosen by Where, since no type of Clip below opset 12 can hold them.

    Doubles, and integers that become doubles, go through Max and Min: runtimes have no such Clip.
    """
    op, kind = node.op, node.elem_type()
    if kind == TensorProto.DOUBLE:
        if any(bound is not None and np.isnan(bound).any() for bound in map(node.constant, (1, 2))):
            raise _nan_bound()
        _clip_by_max_and_min(node)
        return
    if kind is not None and kind in (TensorProto.INT32, TensorProto.UINT32):
        _clip_as_double(node, kind)
        return
    if kind not in (TensorProto.INT64, TensorProto.UINT64):
        return
    data, low, high = node.input(0), node.input(1), node.input(2)
    if low:
        data = op.Where(op.Less(data, low), low, data)
    if high:
        node.become.Where(op.Greater(data, high), high, data)
    else:
        node.become.Identity(data)


@downgrade("Clip", 11)
def bounds_to_attributes(node: Node) -> None:
    """Constant bounds become attributes. With computed bounds, or for double, the node becomes Max and Min."""
    kind = node.elem_type()
    low, high = (node.constant(index) if node.has_input(index) else _default(kind, index) for index in _INPUTS.values())
    if any(bound is not None and np.isnan(bound).any() for bound in (low, high)):
        raise _nan_bound()
    if low is None or high is None or not (_fits_attribute(low, kind) and _fits_attribute(high, kind)):
        _clip_by_max_and_min(node)
        return
    if one_number(low) > one_number(high):  # onnxruntime loads no attributes where min is above max
        _clip_by_max_and_min(node)
        return
    for name, value in (("min", low), ("max", high)):
        if node.has_input(_INPUTS[name]) or kind != TensorProto.FLOAT:
            node.set_attr(name, float(one_number(value)))
    for index in reversed(_INPUTS.values()):
        node.drop_input(index)


def _clip_as_double(node: Node, kind: int) -> None:
    """Clip 32-bit integers as doubles, which hold them all."""
    if not (node.has_input(1) or node.has_input(2)):
        node.become.Identity(node.input(0))
        return
    op = node.op
    data, low, high = (op.Cast(node.input(index), to=TensorProto.DOUBLE) if node.has_input(index) else "" for index in range(3))
    data = op.Max(data, low) if low else data
    data = op.Min(data, high) if high else data
    node.become.Cast(data, to=kind)


def _nan_bound() -> Unconvertible:
    """The refusal of a bound that is not a number."""
    return Unconvertible("a bound is NaN, which runtimes take in different ways", "leave the bound out")


def _default(kind: int | None, index: int) -> np.ndarray | None:
    """The default for an absent bound; None where the type is unknown."""
    if kind is None:
        return None
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    return np.array(np.finfo(dtype).min if index == _INPUTS["min"] else np.finfo(dtype).max, dtype)


def _fits_attribute(value: np.ndarray, kind: int | None) -> bool:
    """Whether `value` is one number that a float attribute holds exactly. double uses Max and Min: runtimes have no such Clip."""
    return kind != TensorProto.DOUBLE and value.size == 1


def _clip_by_max_and_min(node: Node) -> None:
    """Turn the node into Min(Max(data, low), high)."""
    kind = node.need_elem_type()
    bounds = [node.input(index) or node.op.const(_default(kind, index), kind) for name, index in _INPUTS.items()]
    raised = node.op.Max(node.input(0), bounds[0])
    node.become.Min(raised, bounds[1])
