"""Arithmetic of integers that come from lengths and constants, comparisons, and choices; and elementwise operators as functions of
elements of which nothing else is known. The page of each is https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from ...opsets import transitions
from .. import terms
from ..calls import Call, models, repeated
from ..constants import element_of
from ..solver import z3
from ..tensors import WHOLE, NotModelledError, Tensor, Value, of_entries, sort_of, with_entries
from ..terms import Term


def _require_plain(call: Call) -> None:
    """Require equal lengths in versions that do not repeat. Raises NotModelledError for the old ways to broadcast."""
    if call.attr("broadcast", 0) or call.attr("axis") is not None:
        raise NotModelledError("it broadcasts in an old way")
    schema = transitions.schema_at(call.op_type, call.opset)
    if schema is None or schema.since_version >= _REPEATS:
        return
    first, *others = (call.tensor(index) for index in range(len(call.inputs)))
    for other in others:
        if other.rank != first.rank:
            raise NotModelledError("it broadcasts in an old way")
        call.require(terms.every(map(terms.equal, first.dims, other.dims)), "that operands have the same shape")


_REPEATS = 7
"""The opset from which on operators repeat operands of length 1."""


def _combined(call: Call, function: Callable[..., Term], kind: int | None = None, *, is_sized: bool = False) -> list[Value]:
    """The tensor of `function` of the elements of all operands; `kind`: its element type if that is not the operands'."""
    _require_plain(call)
    tensors = [call.tensor(index) for index in range(len(call.inputs))]
    dims = call.broadcast(*tensors)
    sources = [repeated(tensor, dims) for tensor in tensors]
    found = tensors[-1].elem_type if kind is None else kind
    return [Tensor(found, dims, lambda index: function(*(source(index) for source in sources)), is_sized=is_sized)]


def _require_sized(call: Call) -> None:
    if not all(_is_exact(call.tensor(index)) for index in range(len(call.inputs))):
        raise NotModelledError("it computes with numbers that may overflow")


def _is_exact(tensor: Tensor) -> bool:
    """Whether no arithmetic on the elements overflows."""
    return tensor.is_sized and tensor.elem_type == TensorProto.INT64


def _require_whole(call: Call) -> None:
    if not all(call.tensor(index).elem_type in WHOLE for index in range(len(call.inputs))):
        raise NotModelledError("it computes with data that are no integers")


@models("Add", "Sum")
def total(call: Call) -> list[Value]:
    """The sum of integers."""
    return _of_sizes(call, lambda *numbers: terms.total(numbers))


@models("Sub")
def difference(call: Call) -> list[Value]:
    """The difference of integers."""
    return _of_sizes(call, lambda one, other: terms.simplified(one - other))


@models("Mul")
def product(call: Call) -> list[Value]:
    """The product of integers."""
    return _of_sizes(call, lambda one, other: terms.simplified(one * other))


def _of_sizes(call: Call, function: Callable[..., Term]) -> list[Value]:
    _require_sized(call)
    return _combined(call, lambda *numbers: _held(call, function(*numbers), 63), is_sized=True)


@models("Div")
def quotient(call: Call) -> list[Value]:
    """The quotient, rounded to 0, of numbers from 0 on by one above 0."""
    _require_sized(call)
    _require_signs(call)
    return _combined(call, terms.floor, is_sized=True)


@models("Mod")
def modulus(call: Call) -> list[Value]:
    """What is left of numbers from 0 on after a division by one above 0."""
    _require_sized(call)
    _require_signs(call)
    return _combined(call, terms.remainder, is_sized=True)


def _require_signs(call: Call) -> None:
    for divisor in call.elements(1):
        if not call.is_certain(terms.is_below(0, divisor)):
            raise NotModelledError("it may divide by 0 or less")
    for number in call.elements(0):
        if not call.is_certain(terms.is_most(0, number)):
            raise NotModelledError("it may divide a negative number")


@models("Min")
def smallest(call: Call) -> list[Value]:
    """The smallest of integers."""
    return _extreme(call, terms.smaller)


@models("Max")
def largest(call: Call) -> list[Value]:
    """The largest of integers."""
    return _extreme(call, terms.larger)


def _extreme(call: Call, choose: Callable[[Term, Term], Term]) -> list[Value]:
    _require_whole(call)
    is_sized = all(call.tensor(index).is_sized for index in range(len(call.inputs)))
    return _combined(call, lambda *numbers: reduce(choose, numbers), is_sized=is_sized)


@models("Equal")
def equal(call: Call) -> list[Value]:
    """Whether integers are equal."""
    return _compared(call, terms.equal)


@models("Less")
def less(call: Call) -> list[Value]:
    """Whether integers are less than others."""
    return _compared(call, terms.is_below)


@models("LessOrEqual")
def less_or_equal(call: Call) -> list[Value]:
    """Whether integers are at most others."""
    return _compared(call, terms.is_most)


@models("Greater")
def greater(call: Call) -> list[Value]:
    """Whether integers are greater than others."""
    return _compared(call, lambda one, other: terms.is_below(other, one))


@models("GreaterOrEqual")
def greater_or_equal(call: Call) -> list[Value]:
    """Whether integers are at least others."""
    return _compared(call, lambda one, other: terms.is_most(other, one))


def _compared(call: Call, function: Callable[[Term, Term], Term]) -> list[Value]:
    _require_whole(call)
    return _combined(call, function, TensorProto.BOOL)


@models("And")
def both(call: Call) -> list[Value]:
    """Whether both conditions hold."""
    return _combined(call, lambda *conditions: terms.every(conditions))


@models("Or")
def either(call: Call) -> list[Value]:
    """Whether one of two conditions holds."""
    return _combined(call, lambda *conditions: terms.some(conditions))


@models("Not")
def opposite(call: Call) -> list[Value]:
    """Whether a condition does not hold."""
    return _combined(call, terms.negated)


@models("Where")
def where(call: Call) -> list[Value]:
    """Elements of one tensor or another."""
    is_sized = call.tensor(1).is_sized and call.tensor(2).is_sized
    return _combined(call, terms.choice, is_sized=is_sized)


@models("Cast", "CastLike")
def cast(call: Call) -> list[Value]:
    """Another type. Of numbers of which nothing is known, it is a function, the same at every opset but for 8-bit floats."""
    tensor = call.tensor(0)
    kind = call.tensor(1).elem_type if call.op_type == "CastLike" else call.attr("to")
    given = tensor.elem_type
    if any(call.attr(word) is not None for word in ("saturate", "round_mode")):
        raise NotModelledError("a word of its is for 8-bit floats, and runtimes refuse it for others")
    if given == kind:
        return [tensor]
    if given not in _PLAIN or kind not in _PLAIN:
        raise NotModelledError("its types mean something else at other opsets")
    is_sized = kind in WHOLE and (given == TensorProto.BOOL or (tensor.is_sized and kind in _BITS))
    return [Tensor(kind, tensor.dims, lambda index: _as_type(call, tensor.at(index), tensor, kind), is_sized=is_sized)]


def _as_type(call: Call, element: Term, tensor: Tensor, kind: int) -> Term:
    """An element of `tensor` in another type."""
    given = tensor.elem_type
    if tensor.is_sized and kind in _BITS:
        return _held(call, element, _BITS[kind])
    if given in WHOLE and kind == TensorProto.BOOL:
        return terms.negated(terms.equal(element, 0))
    if given == TensorProto.BOOL and kind in WHOLE:
        return terms.choice(element, 1, 0)
    if isinstance(element, bool | int) and kind not in WHOLE:
        return element_of(kind)(np.array(element).astype(helper.tensor_dtype_to_np_dtype(kind)))
    return z3.Function(f"cast {given} to {kind}", sort_of(given), sort_of(kind))(terms.term(element))


_PLAIN = WHOLE | {TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE}
"""The types between which a cast is the same at every opset."""
_BITS: dict[int, int] = {TensorProto.INT32: 31, TensorProto.INT64: 63}
"""The types to which sizes are cast, and how many bits a positive number has there."""


def _held(call: Call, number: Term, bits: int) -> Term:
    """The number, which has to fit: a term for lengths of inputs of which six, multiplied, fit."""
    if terms.magnitude(number, 1 << bits // 6, call.sizes) >= 1 << bits:
        raise NotModelledError("a number may overflow")
    return number


@models("ReduceProd")
def reduced_product(call: Call) -> list[Value]:
    """The product of a vector."""
    return _reduced(call, terms.product)


@models("ReduceSum")
def reduced_sum(call: Call) -> list[Value]:
    """The sum of a vector."""
    return _reduced(call, terms.total)


@models("ReduceMax")
def reduced_largest(call: Call) -> list[Value]:
    """The largest entry of a vector."""
    return _reduced(call, lambda numbers: reduce(terms.larger, numbers))


@models("ReduceMin")
def reduced_smallest(call: Call) -> list[Value]:
    """The smallest entry of a vector."""
    return _reduced(call, lambda numbers: reduce(terms.smaller, numbers))


def _reduced(call: Call, function: Callable[[list[Any]], Term]) -> list[Value]:
    """One number of all the elements of a vector of integers that come from lengths and constants."""
    tensor = with_entries(call.tensor(0))
    if tensor.entries is None or not _is_exact(tensor) or tensor.rank != 1 or not tensor.entries.size:
        raise NotModelledError("it computes with data")
    axes = call.axes(1)
    if axes not in (None, [], [0], [-1]) or (not axes and call.flag("noop_with_empty_axes", 0)):
        raise NotModelledError("its axes are not all")
    entries = np.empty((1,) if call.flag("keepdims", 1) else (), object)
    entries[...] = _held(call, function(list(tensor.entries)), 63)
    return [of_entries(tensor.elem_type, entries, is_sized=True)]
