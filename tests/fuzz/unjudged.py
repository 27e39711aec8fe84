"""What `exhaustive` does not judge, and why: what runtimes compute otherwise than the specification says, and what it leaves open.

Nothing is here because a rule gets it wrong. Each row was seen on the releases of onnx and onnxruntime that this project installs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from engines import all_nodes, default_opset
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from split_rewrite.rewriter.opsets.inference import elem_type_name

_HALVES = {"float16", "bfloat16"}
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


class Use(NamedTuple):
    """One node of a model: `arrays` are the inputs of the model and what it stores, by name."""

    node: NodeProto
    opset: int
    arrays: Mapping[str, np.ndarray]
    kinds: frozenset[str]
    """The element types that the model has."""

    def attribute(self, name: str, default: Any = None) -> Any:
        found = next((attribute for attribute in self.node.attribute if attribute.name == name), None)
        return default if found is None else helper.get_attribute_value(found)

    def operand(self, index: int) -> np.ndarray | None:
        return self.arrays.get(self.node.input[index]) if index < len(self.node.input) else None

    @property
    def floats(self) -> Iterator[np.ndarray]:
        """Its operands of floating-point numbers, as double."""
        for name in self.node.input:
            array = self.arrays.get(name)
            if array is not None and array.dtype.kind not in "OUSbiuc":
                yield array.astype(np.float64)


class Row(NamedTuple):
    """Where `applies` holds of a node, `reason` says why nothing is concluded from it."""

    op_types: str
    applies: Callable[[Use], bool]
    reason: str


def uses(model: ModelProto, feeds: Mapping[str, Any]) -> list[Use]:
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    arrays |= {name: value for name, value in feeds.items() if isinstance(value, np.ndarray)}
    values = (*model.graph.input, *model.graph.output, *model.graph.value_info)
    types = [value.type.tensor_type.elem_type for value in values if value.type.HasField("tensor_type")]
    kinds = frozenset(elem_type_name(kind) for kind in (*types, *(tensor.data_type for tensor in model.graph.initializer)))
    return [Use(node, default_opset(model) or 0, arrays, kinds) for node in all_nodes(model)]


def _reason(rows: Sequence[Row], found: Sequence[Use]) -> str:
    return next(
        (row.reason for use in found for row in rows if use.node.op_type in row.op_types.split() and row.applies(use)),
        "",
    )


# A runtime that is not believed.


def _always(_use: Use) -> bool:
    return True


def _is_empty(array: np.ndarray | None) -> bool:
    return array is not None and array.size == 0


def _multiplies_nothing(use: Use) -> bool:
    """Whether every result is a sum of no products."""
    left = use.operand(0)
    return left is not None and left.shape[-1] == 0


def _pads_less_than_nothing(use: Use) -> bool:
    kernel, auto_pad = use.attribute("kernel_shape", []), use.attribute("auto_pad", b"")
    strides = use.attribute("strides", [1] * len(kernel))
    return use.opset < 19 and auto_pad.startswith(b"SAME") and any(a > b for a, b in zip(strides, kernel, strict=False))


def _meets_zeros_between(use: Use) -> bool:
    is_dilated = any(size != 1 for size in use.attribute("dilations", []))
    return is_dilated and any(not np.isfinite(array.astype(np.float64)).all() for array in use.arrays.values() if _is_float(array))


def _is_complex_without_end(use: Use) -> bool:
    data = use.operand(0)
    return data is not None and data.dtype.kind == "c" and not np.isfinite(data).all()


def _has_infinity(use: Use) -> bool:
    return any(np.isinf(array).any() for array in use.floats)


def _has_no_bound_for_infinity(use: Use) -> bool:
    bounds = [name for name in use.node.input[1:] if name]
    return use.opset >= 11 and len(bounds) < 2 and _has_infinity(use)


def _crops_without_region(use: Use) -> bool:
    """Whether a Resize crops, and its region has not two numbers for each axis."""
    if use.attribute("coordinate_transformation_mode") != b"tf_crop_and_resize":
        return False
    data, region = use.operand(0), use.operand(1)
    axes = use.attribute("axes") or (range(data.ndim) if data is not None else ())
    return region is None or region.shape != (2 * len(axes),)


def _names_no_axis(use: Use) -> bool:
    data, axis = use.operand(0), use.operand(1)
    return data is not None and axis is not None and not (-data.ndim <= axis.reshape(-1)[0] < data.ndim)


def _is_beyond_double(use: Use) -> bool:
    data = use.operand(0)
    return data is not None and data.dtype in (np.int64, np.uint64) and bool((data.astype(object) ** 2 > 2**106).any())


def _has_halves_without_bound(use: Use) -> bool:
    return bool(_HALVES & use.kinds) and _has_no_bound_for_infinity(use)


def _counts_heads_twice(use: Use) -> bool:
    queries = use.operand(0)
    return queries is not None and queries.ndim == 4 and use.attribute("q_num_heads") is not None


def _has_a_short_mask(use: Use) -> bool:
    """Whether the mask is shorter than the keys: from opset 24 on those behind it are masked, before it is broadcast."""
    keys, mask = use.operand(1), use.operand(3)
    return use.opset < 24 and keys is not None and mask is not None and mask.shape[-1] < keys.shape[-2]


def _divides_to_much(use: Use) -> bool:
    """Whether a quotient may be beyond int32; the smallest scale is 0.3."""
    numbers = use.operand(0)
    return numbers is not None and bool((np.abs(numbers.astype(np.float64)) >= 2**29).any())


def _has_label_outside(use: Use) -> bool:
    """Whether a label is negative and not the one to ignore."""
    labels = use.operand(1)
    return labels is not None and bool(((labels < 0) & (labels != use.attribute("ignore_index"))).any())


def _trains(use: Use) -> bool:
    mode = use.operand(2)
    return mode is not None and bool(mode.any())


def _is_zero_throughout(use: Use) -> bool:
    data = use.operand(0)
    return data is not None and not np.any(data)


def _spans_much(use: Use) -> bool:
    """Whether the exponential of a difference of two numbers is 0 in float."""
    with np.errstate(all="ignore"):
        return any(array.size and not array.max() - array.min() < 80 for array in use.floats)


def _has_two_pools(use: Use) -> bool:
    return bool(use.attribute("pool_int64s")) and bool(use.attribute("pool_strings"))


def _has_nan_beside_infinity(use: Use) -> bool:
    return any(np.isnan(array).any() and np.isinf(array).any() for array in use.floats)


_DISTRUSTED = {
    "onnxruntime": (
        Row("Attention", _counts_heads_twice, "gives flat outputs of an Attention whose heads are counted beside an axis of them"),
        Row("ReduceLogSumExp", _has_nan_beside_infinity, "gives an infinity for the sum of NaN and an infinity in ReduceLogSumExp"),
        Row("MatMulInteger QLinearMatMul", _multiplies_nothing, "leaves memory as it was where a product adds up nothing"),
        Row("Optional", lambda use: use.opset > 27, "takes an Optional of any element type for one of float at opset 28"),
        Row("Clip", _has_halves_without_bound, "takes the bounds of float for those that a Clip of float16 leaves out"),
        Row("MaxPool", _has_infinity, "takes the lowest finite number for the maximum of -inf in some kernels of MaxPool"),
        Row(
            "HannWindow HammingWindow BlackmanWindow",
            lambda use: "double" in use.kinds,
            "computes the windows of doubles in float",
        ),
        Row("Dropout", _trains, "draws other random numbers where a Dropout trains"),
        Row("DeformConv", lambda use: "double" in use.kinds, "computes the positions of a DeformConv of doubles in float"),
        Row("AveragePool", _pads_less_than_nothing, "refuses automatic padding of less than nothing below opset 19"),
    ),
    "onnx.reference": (
        Row("LogSoftmax", _spans_much, "takes the logarithm of what underflows in LogSoftmax"),
        Row("AveragePool", lambda use: _has_nan(use), "takes NaN for padding in AveragePool"),
        Row("Conv", _meets_zeros_between, "fills a dilated kernel of Conv with zeros, which make NaN of an infinity"),
        Row("Expand", _is_complex_without_end, "multiplies by ones in Expand, which makes NaN of complex infinities"),
        Row("Clip", _has_no_bound_for_infinity, "lets infinities pass where a bound of Clip is left out"),
        Row(
            "Dropout", lambda use: use.opset < 12 and len(use.node.output) > 1, "has another mask for a Dropout that drops nothing"
        ),
        Row(
            "Squeeze",
            lambda use: use.opset < 13 and use.attribute("axes") == [],
            "takes empty axes of Squeeze for all until opset 12",
        ),
        Row("LpPool", lambda use: use.opset < 2, "takes the root of LpPool in float"),
        Row("Resize", lambda use: bool({"complex64", "complex128"} & use.kinds), "drops imaginary parts in Resize"),
        Row("Resize", _is_beyond_double, "multiplies large integers by weights in double in Resize"),
        Row("Resize", lambda use: "double" in use.kinds, "computes the positions of a Resize of doubles in float"),
        Row("ReduceLogSumExp", _has_infinity, "subtracts infinities in ReduceLogSumExp"),
        Row(
            "ReduceLogSumExp", lambda use: _is_empty(use.operand(0)), "subtracts the infinity that it made of nothing, axis by axis"
        ),
        Row("Attention", _has_a_short_mask, "pads the mask of Attention below opset 24, too"),
        Row("QuantizeLinear", _divides_to_much, "overflows where QuantizeLinear saturates"),
    ),
}
"""What each runtime computes otherwise than the specification says: runtime → rows."""


def distrusted(engine: str, model: ModelProto, feeds: Mapping[str, Any]) -> str:
    """Why the numbers that this runtime gives for the model say nothing; "" where they do."""
    return _reason(_DISTRUSTED[engine], uses(model, feeds))


# Models whose numbers the specification leaves open.


def _has_nonfinite(use: Use) -> bool:
    return any(not np.isfinite(array).all() for array in use.floats)


def _has_nan(use: Use) -> bool:
    return any(np.isnan(array).any() for array in use.floats)


def _has_endless_range(use: Use) -> bool:
    with np.errstate(all="ignore"):
        ranges = [array.astype(np.float32).max(initial=0) - array.astype(np.float32).min(initial=0) for array in use.floats]
    return not np.isfinite(ranges).all()


def _exceeds_integers(use: Use) -> bool:
    """Whether a power of integers is beyond their type: runtimes wrap around, saturate, or compute in double."""
    base, exponent = use.operand(0), use.operand(1)
    if base is None or exponent is None or base.dtype.kind not in "iu" or exponent.dtype.kind not in "iu":
        return False
    try:
        bases, exponents = np.broadcast_arrays(base.astype(np.float64), exponent.astype(np.float64))
    except ValueError:
        return False  # shapes that only opsets below 7 broadcast
    with np.errstate(divide="ignore", invalid="ignore"):
        return bool((np.log2(np.abs(bases)) * exponents >= 8 * base.dtype.itemsize - 1).any())


def _squares_overflow(use: Use) -> bool:
    """Whether a sum of squares is beyond the integer type of the operand."""
    data = use.operand(0)
    if data is None or data.dtype.kind not in "iu":
        return False
    return sum(int(number) ** 2 for number in data.reshape(-1)) > np.iinfo(data.dtype).max


_OPEN = (
    Row("Resize", _crops_without_region, "it crops, and has no region of two numbers for each axis"),
    Row("CumSum CumProd", _names_no_axis, "its axis is none of the tensor's"),
    Row("ReduceL2", _squares_overflow, "it is not said what the root of squares beyond their integer type is"),
    Row("Pow", _exceeds_integers, "it is not said what a power of integers beyond their type becomes"),
    Row("MaxPool GlobalMaxPool", _has_nan, "it is not said whether NaN is the largest number, and kernels differ"),
    Row("TopK", lambda use: use.attribute("sorted", 1) == 0, "it is not said in which order TopK gives what it does not sort"),
    Row("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", _has_label_outside, "it is not said what the loss of no class is"),
    Row("Attention", _has_nonfinite, "kernels multiply infinities in different orders"),
    Row("DynamicQuantizeLinear", _is_zero_throughout, "it is not said what the scale of zeros is"),
    Row("NonZero", lambda use: use.operand(0) is None or np.ndim(use.operand(0)) == 0, "onnxruntime takes a scalar for a vector"),
    Row("TfIdfVectorizer", _has_two_pools, "it is not said which of two pools counts"),
    Row("StringSplit", lambda use: True, "runtimes count the words of nothing, and the characters between words, in their own way"),
    Row("Cast CastLike", lambda use: "string" in use.kinds, "it is not said how many digits a number has in a string"),
    Row("TopK", _has_nan, "it is not said where TopK puts NaN"),
    Row(
        "ArgMax ArgMin", _has_nan, "it is not said whether NaN is the largest number, and kernels take what they come across first"
    ),
    Row("QuantizeLinear", _has_nan, "it is not said which integer NaN becomes"),
    Row("DynamicQuantizeLinear", _has_endless_range, "it is not said which integer NaN becomes, which a range without end makes"),
    Row("DFT STFT", _has_nonfinite, "infinities are multiplied by sines that are zero, or nearly"),
    Row(
        "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
        lambda use: use.attribute("reduction", b"mean") == b"mean" and _is_empty(use.operand(0)),
        "it is not said what the mean of no losses is",
    ),
    Row(
        "ReduceLogSumExp",
        lambda use: bool(_INTEGERS & use.kinds) and not {"float", "double", *_HALVES} & use.kinds,
        "the logarithm is cut to an integer, of which last bits decide, and an infinity becomes any integer",
    ),
)


def left_open(model: ModelProto, feeds: Mapping[str, Any]) -> str:
    """Why no numbers of the model can be judged; "" where they can."""
    return _reason(_OPEN, uses(model, feeds))


# Differences that prove nothing.


def _overflows(use: Use) -> bool:
    """Whether the square of an operand is beyond its type."""
    limits = [np.sqrt(float(_limit(array))) for array in map(use.arrays.get, use.node.input) if _is_float(array)]
    return any((np.isfinite(array) & (np.abs(array) > limit / 64)).any() for array, limit in zip(use.floats, limits, strict=True))


def _folds_infinities(use: Use) -> bool:
    """Whether the factor of a normalization, or what it makes of the mean, is no number of the type."""
    operands = list(use.floats)
    if len(operands) < 5 or any(array.shape != operands[4].shape for array in operands[1:4]):
        return False
    _, scale, bias, mean, variance = operands[:5]
    with np.errstate(all="ignore"):
        shift = scale / np.sqrt(variance + use.attribute("epsilon", 1e-5)) * (np.abs(mean) + 1) + bias
    return not (np.abs(shift) <= float(_limit(use.arrays[use.node.input[0]]))).all()


def _is_float(array: np.ndarray | None) -> bool:
    return array is not None and array.dtype.kind not in "OUSbiuc"


def _limit(array: Any) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(array.dtype).max


_SQUARES = "DFT STFT LinearAttention CausalConvWithState LpNormalization LpPool MeanVarianceNormalization ReduceL2 ReduceSumSquare"
_EXTREME = (
    Row(
        _SQUARES,
        _overflows,
        "the square of an operand, or a product, overflows, and forms of a variance or orders of a sum differ in where",
    ),
    Row("InstanceNormalization", _has_nonfinite, "infinities are multiplied before or after the mean is subtracted"),
    Row(
        "BatchNormalization", _folds_infinities, "kernels fold scale, mean and variance into one factor, and infinities cancel out"
    ),
)


def overflowing(model: ModelProto, feeds: Mapping[str, Any]) -> str:
    """Why elements that are infinite or NaN in one model only prove nothing; "" where they do."""
    return _reason(_EXTREME, uses(model, feeds))


def _stash(use: Use) -> str:
    return elem_type_name(use.attribute("stash_type", TensorProto.FLOAT))


_NAMES = {"bfloat16": "bfloat16", "float16": "float16", "float": "float32", "double": "float64"}
"""The floating-point types by their names in ONNX, the narrowest first, with their names in numpy."""
_COARSE = "GroupNormalization LayerNormalization RMSNormalization"


def working_types(model: ModelProto, feeds: Mapping[str, Any]) -> list[str]:
    """The types, the narrowest first, in which runtimes may compute: stash_type, and those of mixed operands."""
    found: set[str] = set()
    for use in uses(model, feeds):
        if use.node.op_type in _COARSE.split():
            found.add(_stash(use))
        if use.node.op_type == "Gelu" or (use.node.op_type == "BatchNormalization" and len(use.kinds) > 1):
            found.add("float")  # of the constants of the function body, or of the mean and variance
        if use.node.op_type == "GridSample":
            found |= use.kinds | {"float"}  # of positions
        if use.node.op_type == "DeformConv" and "float16" in use.kinds:
            found.add("bfloat16")  # positions are rounded, and sums of what is read there may cancel out
        if use.node.op_type == "Attention":
            found |= use.kinds | {"float"}  # of the scale in the function body
    return [name for kind, name in _NAMES.items() if kind in found]


__all__ = ["distrusted", "left_open", "overflowing", "working_types"]
