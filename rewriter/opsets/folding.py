"""Evaluates the small integer arithmetic by which exporters compute sizes, shapes and axes.

It uses numpy, one line for each operator. A node may have the form of any opset (axes as an attribute or as an input), because the
graph around it may be half converted. For operators that are not listed, and for large results, `evaluate` returns None. Integers
from other operators are computed by `by_reference`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
from onnx import helper

from . import facts

MAX_ELEMENTS = 65_536
"""The number of elements above which results are not computed, because they would cost more than they help."""

_MOST_POWERS = 64
"""The number of powers above which none is computed."""

Values = list["np.ndarray | None"]
Attributes = dict[str, Any]


def evaluate(node: onnx.NodeProto, inputs: Values) -> list[np.ndarray] | None:
    """The outputs of `node` for constant `inputs` (None where an input is absent), or None where they are unknown."""
    function = _FUNCTIONS.get(facts.of(node.op_type, node.domain).word("folds"))
    if function is None:
        return None
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return None
    if any(value is not None and value.size > MAX_ELEMENTS for value in inputs):
        return None
    try:
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        with np.errstate(all="raise"):
            result = [_as_array(value) for value in function(inputs, attributes)]
    except (ArithmeticError, ValueError, IndexError, TypeError, KeyError, AttributeError):
        return None  # an invalid computation has no value; the checker names it
    if any(value.size > MAX_ELEMENTS for value in result):
        return None
    return result


def _as_array(value: Any) -> np.ndarray:
    """`value` as an array: numpy returns scalars for operands without dimensions, and for strings a `str`."""
    return np.asarray(value, object if isinstance(value, str) else None)


def _argument(inputs: Values, index: int, attributes: Attributes, name: str) -> list[int] | None:
    """The value of an operand that is an attribute in old opsets and an input in new ones."""
    if name in attributes:
        value = attributes[name]
        return list(value) if isinstance(value, list | tuple) else [value]
    if index < len(inputs) and (array := inputs[index]) is not None:
        return [int(v) for v in array.reshape(-1)]
    return None


def _broadcast_shape(*arrays_or_shapes: np.ndarray | tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which the operands broadcast. Raises ValueError where it is too large to be computed."""
    shapes = (entry.shape if isinstance(entry, np.ndarray) else entry for entry in arrays_or_shapes)
    shape = np.broadcast_shapes(*shapes)
    if math.prod(shape) > MAX_ELEMENTS:
        raise ValueError("too large")
    return shape


def _data(inputs: Values, index: int = 0) -> np.ndarray:
    value = inputs[index]
    if value is None:
        raise ValueError("a required input is absent")
    return value


def _cast(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    source, to = _data(inputs), attributes["to"]
    if isinstance(to, bytes):  # a name until opset 5
        to = onnx.TensorProto.DataType.Value(to.decode())
    if source.dtype.name == "bfloat16":
        source = source.astype(np.float32)  # which holds it
    if to in _FLOAT_TARGETS and source.dtype.kind in "iubf":
        result = source.astype(_FLOAT_TARGETS[to])
        if to == onnx.TensorProto.FLOAT16 and not np.array_equal(source.astype(np.float32).astype(np.float16), result):
            raise ValueError("rounded once or twice, by way of float, as the runtime is")
        return [result]
    if to not in _CAST_TARGETS or source.dtype.kind not in "iubf":
        raise ValueError("not a number")
    if source.dtype.kind == "f" and not (np.abs(source) < 2**31).all():
        raise ValueError("runtimes differ in what they make of floats that are no int32, infinite ones and NaN among them")
    result = source.astype(_CAST_TARGETS[to])
    if to in _NARROW_TARGETS and not np.array_equal(np.trunc(source), result):
        raise ValueError("runtimes differ in what they make of numbers beyond a narrow or unsigned type")
    return [result]


def _bit_cast(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    data, to = _data(inputs), np.dtype(helper.tensor_dtype_to_np_dtype(attributes["to"]))
    if to.kind not in "iuf" or data.dtype.kind not in "iufb" or to.itemsize != data.dtype.itemsize:
        raise ValueError("bits that numpy stores in another way")
    return [data.copy().view(to)]


def _elementwise(function: Callable[..., np.ndarray]) -> Callable[[Values, Attributes], list[np.ndarray]]:
    def apply(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
        if attributes:
            raise ValueError("legacy broadcast")
        operands = [_data(inputs, index) for index in range(len(inputs))]
        if any(operand.dtype != operands[0].dtype for operand in operands):
            raise ValueError("operands of different types")
        _broadcast_shape(*operands)
        return [function(*operands)]

    return apply


def _divide(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if left.dtype.kind in "iu":
        if (right == 0).any() or (left < 0).any() or (right < 0).any():
            raise ValueError("rounding of negative quotients differs between runtimes")
        return left // right
    return left / right


def _modulo(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    if attributes.get("fmod", 0):
        return _elementwise(np.fmod)(inputs, {})
    return _elementwise(_remainder)(inputs, {})


def _remainder(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if left.dtype.kind not in "iu" or (right <= 0).any() or (left < 0).any():
        raise ValueError("the sign of the remainder is that of either operand")
    return left % right


def _resize(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    """The data, where its size stays: each place then has its own position, whatever the mode."""
    if len(inputs) < 3 or attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize" or "axes" in attributes:
        raise ValueError("a form without scales and sizes, or a part of the image")
    data, scales, sizes = _data(inputs), inputs[2], inputs[3] if len(inputs) > 3 else None
    lengths = sizes if sizes is not None else np.ones(0) if scales is None else scales * data.shape
    if lengths.tolist() != [*data.shape] or not np.isfinite(data).all():
        raise ValueError("computed from neighbours, which rounds")
    return [data]


def _power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Powers that are exact, such as a square or the root of a square: functions of libraries may round others in their own way."""
    result = np.power(base.astype(np.float64), exponent.astype(np.float64))
    pairs = np.broadcast_arrays(base, exponent, result)
    if result.size > _MOST_POWERS or not all(map(_is_exact_power, *(each.ravel().tolist() for each in pairs))):
        raise ValueError("rounded, or too many to see whether they are")
    if not np.array_equal(result.astype(base.dtype), result):
        raise ValueError("rounded, or beyond the type")
    return result.astype(base.dtype)


def _is_exact_power(base: float, exponent: float, result: float) -> bool:
    up, down = exponent.as_integer_ratio()
    return abs(up) <= 8 and down <= 4 and abs(result) < 2**53 and Fraction(result) ** down == Fraction(base) ** up


def _gather(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    data, indices, axis = _data(inputs), _data(inputs, 1), attributes.get("axis", 0)
    if data.size * indices.size > MAX_ELEMENTS * data.shape[axis]:
        raise ValueError("too large")
    return [np.take(data, indices, axis=axis)]


def _gather_elements(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    data, indices, axis = _data(inputs), _data(inputs, 1), attributes.get("axis", 0)
    gathered = np.take_along_axis(data, indices, axis)
    if gathered.shape != indices.shape:
        raise ValueError("indices for other rows than those of the data")
    return [gathered]


def _scatter_nd(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    data, indices, updates = (_data(inputs, index) for index in range(3))
    depth = indices.shape[-1]
    places = indices.reshape(-1, depth) % np.array(data.shape[:depth], np.int64)
    if attributes.get("reduction", b"none") != b"none" or len(np.unique(places, axis=0)) != len(places):
        raise ValueError("a sum, or several updates of one place")
    lengths = np.array(data.shape[:depth])
    if ((indices < -lengths) | (indices >= lengths)).any() or updates.shape != indices.shape[:-1] + data.shape[depth:]:
        raise ValueError("out of bounds, or of other shapes")
    result = data.copy()
    result[tuple(places.T)] = updates.reshape(len(places), *data.shape[depth:])
    return [result]


def _slice(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    data = _data(inputs)
    starts = _argument(inputs, 1, attributes, "starts")
    ends = _argument(inputs, 2, attributes, "ends")
    if starts is None or ends is None:
        raise ValueError("starts and ends are required")
    axes = _argument(inputs, 3, attributes, "axes") or list(range(len(starts)))
    steps = _argument(inputs, 4, {}, "steps") or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index: list[Any] = [slice(None)] * data.ndim
        index[axis] = slice(start, end, step) if step > 0 else _backward(start, end, step, data.shape[axis])
        data = data[tuple(index)]
    return [data]


def _backward(start: int, end: int, step: int, length: int) -> slice:
    """The slice from `start` back to before `end`, which is before the first element where it is below -length."""
    if start < -length:
        raise ValueError("numpy takes nothing, and the specification the first element")
    if end in WITHOUT_END:
        raise ValueError("nothing by the specification, and everything from the first element on for runtimes")
    first = min(start + length if start < 0 else start, length - 1)
    last = end + length if end < 0 else end
    return slice(first, last if last >= 0 else None, step) if first >= 0 else slice(0, 0)


WITHOUT_END = (2**31 - 1, 2**63 - 1)
"""The ends that exporters write for "to the end" of the axis, in whichever direction."""


def _squeeze(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    axes = _argument(inputs, 1, attributes, "axes")
    return [np.squeeze(_data(inputs), axis=None if axes is None else tuple(axes))]


def _unsqueeze(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    axes = _argument(inputs, 1, attributes, "axes")
    if axes is None:
        raise ValueError("axes are required")
    return [np.expand_dims(_data(inputs), tuple(axes))]


def _reshape(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    data, shape = _data(inputs), _argument(inputs, 1, attributes, "shape")
    if shape is None:
        raise ValueError("shape is required")
    if not attributes.get("allowzero", 0):
        shape = [data.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    return [data.reshape(shape)]


def _constant_of_shape(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    shape = [int(v) for v in _data(inputs)]
    if any(size < 0 for size in shape) or np.prod(shape, dtype=object) > MAX_ELEMENTS:
        raise ValueError("too large")
    value = onnx.numpy_helper.to_array(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    if value.dtype.names:  # onnx 1.17 reads types that numpy lacks as bits
        raise ValueError("a type that numpy lacks")
    return [np.full(shape, value.reshape(-1)[0], value.dtype)]


def _range(inputs: Values, _attributes: Attributes) -> list[np.ndarray]:
    start, limit, delta = (_data(inputs, index).reshape(()) for index in range(3))
    if start.dtype.kind != "i" or abs(int(limit) - int(start)) > MAX_ELEMENTS * abs(int(delta)):
        raise ValueError("too large, or not integers")
    return [np.arange(int(start), int(limit), int(delta), dtype=start.dtype)]


def _concat(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    return [np.concatenate([_data(inputs, index) for index in range(len(inputs))], axis=attributes["axis"])]


def _expand(inputs: Values, _attributes: Attributes) -> list[np.ndarray]:
    data, shape = _data(inputs), tuple(int(v) for v in _data(inputs, 1))
    return [np.array(np.broadcast_to(data, _broadcast_shape(data, shape)))]


def _where(inputs: Values, _attributes: Attributes) -> list[np.ndarray]:
    operands = [_data(inputs, index) for index in range(3)]
    _broadcast_shape(*operands)
    return [np.where(*operands)]


def _trilu(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    data, k = _data(inputs), int(_data(inputs, 1)) if len(inputs) > 1 else 0
    if data.dtype.kind not in "iufb" or abs(k) > MAX_ELEMENTS:
        raise ValueError("no numbers, or a diagonal beyond any that is folded")
    return [np.triu(data, k) if attributes.get("upper", 1) else np.tril(data, k)]


def _cumulative_sum(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
    data, axis = _data(inputs), int(_data(inputs, 1).reshape(()))  # exporters write the axis as a vector, too
    if data.dtype.kind != "i":
        raise ValueError("no integers")
    ordered = np.flip(data, axis) if attributes.get("reverse") else data
    sums = np.cumsum(ordered, axis, data.dtype) - (ordered if attributes.get("exclusive") else 0)
    return [np.flip(sums, axis) if attributes.get("reverse") else sums]


def most_exact(dtype: np.dtype[Any]) -> float:
    """The largest number that is the same in this type and in double, in which runtimes reduce integers; infinity for floats."""
    return min(2**53 - 1, np.iinfo(dtype).max) if dtype.kind in "iu" else math.inf


def _extreme(function: np.ufunc) -> Callable[..., np.ndarray]:
    """The smallest or largest of several arrays. Raises ValueError for negative zeros: beside positive ones, runtimes differ."""

    def apply(*operands: np.ndarray) -> np.ndarray:
        if any(((operand == 0) & np.signbit(operand)).any() for operand in operands if operand.dtype.kind == "f"):
            raise ValueError("a negative zero")
        return function.reduce(np.broadcast_arrays(*operands))

    return apply


def _reduce(function: Callable[..., np.ndarray], *, rounds: bool = False) -> Callable[[Values, Attributes], list[np.ndarray]]:
    """A reduction; one that `rounds` gives other last bits for more than two floats, in whose order runtimes are free."""

    def apply(inputs: Values, attributes: Attributes) -> list[np.ndarray]:
        if attributes.get("noop_with_empty_axes", 0):
            raise ValueError("rare, not worth a line")
        axes = _argument(inputs, 1, attributes, "axes")
        data, keepdims = _data(inputs), bool(attributes.get("keepdims", 1))
        along = tuple(axes) if axes else None
        result = np.asarray(function(data, axis=along, keepdims=keepdims)).astype(data.dtype)
        if rounds and data.dtype.kind not in "iub" and data.size > 2 * result.size:
            raise ValueError("the last bits depend on the order")
        if rounds and (function(np.abs(data.astype(np.float64)), axis=along, keepdims=keepdims) > most_exact(data.dtype)).any():
            raise ValueError("runtimes compute integers in double, and make the largest integer of what is beyond the type")
        if np.isnan(data.astype(np.float64)).any():
            raise ValueError("runtimes differ in whether NaN is larger than a number")
        return [result]

    return apply


_NARROW_TARGETS: dict[int, Any] = {
    onnx.TensorProto.INT8: np.int8,
    onnx.TensorProto.INT16: np.int16,
    onnx.TensorProto.UINT8: np.uint8,
    onnx.TensorProto.UINT16: np.uint16,
    onnx.TensorProto.UINT32: np.uint32,
    onnx.TensorProto.UINT64: np.uint64,
}

_CAST_TARGETS: dict[int, Any] = {
    onnx.TensorProto.INT32: np.int32,
    onnx.TensorProto.INT64: np.int64,
    onnx.TensorProto.BOOL: np.bool_,
    **_NARROW_TARGETS,
}

_FLOAT_TARGETS: dict[int, Any] = {
    onnx.TensorProto.FLOAT16: np.float16,
    onnx.TensorProto.FLOAT: np.float32,
    onnx.TensorProto.DOUBLE: np.float64,
}

_FUNCTIONS: dict[str, Callable[[Values, Attributes], list[np.ndarray]]] = {
    "identity": lambda inputs, _: [_data(inputs)],
    "cast": _cast,
    "bit_cast": _bit_cast,
    "string_concat": _elementwise(np.add),
    "concat": _concat,
    "gather": _gather,
    "gather_elements": _gather_elements,
    "scatter_nd": _scatter_nd,
    "slice": _slice,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "reshape": _reshape,
    "transpose": lambda inputs, attributes: [np.transpose(_data(inputs), attributes.get("perm"))],
    "constant_of_shape": _constant_of_shape,
    "range": _range,
    "expand": _expand,
    "trilu": _trilu,
    "cumsum": _cumulative_sum,
    "where": _where,
    "add": _elementwise(np.add),
    "sub": _elementwise(np.subtract),
    "mul": _elementwise(np.multiply),
    "div": _elementwise(_divide),
    "mod": _modulo,
    "resize": _resize,
    "pow": _elementwise(_power),
    "sqrt": _elementwise(np.sqrt),
    "floor": _elementwise(np.floor),
    "ceil": _elementwise(np.ceil),
    "round": _elementwise(np.rint),
    "neg": _elementwise(np.negative),
    "abs": _elementwise(np.abs),
    "equal": _elementwise(np.equal),
    "less": _elementwise(np.less),
    "greater": _elementwise(np.greater),
    "less_or_equal": _elementwise(np.less_equal),
    "greater_or_equal": _elementwise(np.greater_equal),
    "not": _elementwise(np.logical_not),
    "and": _elementwise(np.logical_and),
    "or": _elementwise(np.logical_or),
    "min": _elementwise(_extreme(np.minimum)),
    "max": _elementwise(_extreme(np.maximum)),
    "reduce_sum": _reduce(np.sum, rounds=True),
    "reduce_prod": _reduce(np.prod, rounds=True),
    "reduce_max": _reduce(np.max),
    "reduce_min": _reduce(np.min),
}
"""The functions that rows of facts name, behind `folds=`."""


def constant_value(node: onnx.NodeProto, array: Callable[[onnx.TensorProto], np.ndarray | None]) -> np.ndarray | None:
    """The value of a Constant node, in any of its attribute forms. `array` reads a tensor.

    None for sparse values, references to a function's parameter, and strings that are not UTF-8, and where `array` returns None.

    https://onnx.ai/onnx/operators/onnx__Constant.html
    """
    if len(node.attribute) != 1 or node.attribute[0].ref_attr_name:
        return None
    attribute = node.attribute[0]
    if attribute.name == "value":
        return array(attribute.t)
    convert = _CONSTANT_FORMS.get(attribute.name)
    try:
        return None if convert is None else convert(attribute)
    except UnicodeDecodeError:
        return None


_CONSTANT_FORMS: dict[str, Callable[[onnx.AttributeProto], np.ndarray]] = {
    "value_int": lambda attribute: np.array(attribute.i, np.int64),
    "value_ints": lambda attribute: np.array(attribute.ints, np.int64),
    "value_float": lambda attribute: np.array(attribute.f, np.float32),
    "value_floats": lambda attribute: np.array(attribute.floats, np.float32),
    "value_string": lambda attribute: np.array(attribute.s.decode(), object),
    "value_strings": lambda attribute: np.array([s.decode() for s in attribute.strings], object),
}
