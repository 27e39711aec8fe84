"""What `exhaustive` does not judge, and why: what runtimes compute otherwise than the specification says, and what it leaves open.

Nothing is here because a rule gets it wrong. Each row was seen on the releases of onnx and onnxruntime that this project installs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from engines import all_nodes, default_opset
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from split_rewrite.rewriter.opsets.type_protos import elem_type_name

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


def _takes_bounds_of_float(use: Use) -> bool:
    """Whether a bound below opset 11 is left out, whose default is a number of float, for another type."""
    has_both = use.attribute("min") is not None and use.attribute("max") is not None
    return use.opset < 11 and bool({"double", *_HALVES} & use.kinds) and not has_both


def _is_beyond_mantissa(use: Use) -> bool:
    data = use.operand(0)
    return data is not None and data.dtype in (np.int64, np.uint64) and bool(np.any(np.abs(data.astype(object)) > 2**53))


def _has_a_depth_between(use: Use) -> bool:
    depth = use.operand(1)
    return _is_float(depth) and bool((depth != np.trunc(depth)).any())


def _multiplies_large_numbers(use: Use) -> bool:
    """Whether products of queries and keys may overflow, or the numbers beside a mask be rounded much."""
    if np.isnan(use.attribute("softcap", 0.0)):
        return True
    return any(
        (np.abs(array) > np.sqrt(float(_limit(of))) / 64).any() for of, array in zip(_floats_of(use), use.floats, strict=True)
    )


def _floats_of(use: Use) -> list[np.ndarray]:
    return [array for array in map(use.arrays.get, use.node.input) if _is_float(array)]  # type: ignore[misc]


def _counts_heads_twice(use: Use) -> bool:
    queries = use.operand(0)
    return queries is not None and queries.ndim == 4 and use.attribute("q_num_heads") is not None


def _has_a_short_mask(use: Use) -> bool:
    """Whether the mask is shorter than the keys: from opset 24 on those behind it are masked, before it is broadcast."""
    keys, mask = use.operand(1), use.operand(3)
    return use.opset < 24 and keys is not None and mask is not None and mask.shape[-1] < keys.shape[-2]


def _divides_to_much(use: Use) -> bool:
    """Whether a quotient may be beyond int32."""
    numbers, scales = use.operand(0), use.operand(1)
    if numbers is None or not numbers.size:
        return False
    if scales is None:  # computed of the numbers, and 0 where they are all nearly
        return bool((numbers != 0).any() and np.abs(numbers.astype(np.float64)).max() < np.finfo(np.float32).tiny)
    if not scales.size:
        return False
    least = np.abs(scales.astype(np.float64)).min()
    return not np.abs(numbers.astype(np.float64)).max() < 2**30 * least


def _starts_before_the_first(use: Use) -> bool:
    """Whether a slice may go backwards from before the first element, which counts as the first one, or to INT_MAX."""
    starts, steps = use.operand(1), use.operand(4)
    data = use.operand(0)
    if data is None or starts is None or steps is None:
        return False
    ends = use.operand(2)
    is_far = bool(ends is not None and (ends >= 2**31 - 1).any())
    return bool((steps < 0).any()) and (is_far or bool((starts < -min(data.shape, default=0)).any()))


def _takes_too_many(use: Use) -> bool:
    data, count = use.operand(0), use.operand(1)
    return data is not None and count is not None and bool((count > max(data.shape, default=1)).any())


def _has_fractions(use: Use) -> bool:
    indices = use.operand(0)
    return _is_float(indices) and bool((indices != np.trunc(indices)).any())


def _pads_with_what_it_finds(use: Use) -> bool:
    return len(use.node.output) > 1 and _has_infinity(use)


def _has_infinity_or_nan(use: Use) -> bool:
    return any(not np.isfinite(array).all() for array in use.floats)


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
        Row(
            "CausalConvWithState",
            lambda use: (data := use.operand(0)) is None or data.size == 0,
            "leaves memory as it was in the new state of no data",
        ),
        Row("Optional", lambda use: use.opset > 27, "takes an Optional of any element type for one of float at opset 28"),
        Row("Clip", _has_halves_without_bound, "takes the bounds of float for those that a Clip of float16 leaves out"),
        Row("MaxPool", _has_infinity, "takes the lowest finite number for the maximum of -inf in some kernels of MaxPool"),
        Row(
            "HannWindow HammingWindow BlackmanWindow",
            lambda use: "double" in use.kinds,
            "computes the windows of doubles in float",
        ),
        Row("LayerNormalization", _has_infinity, "makes NaN of the mean of infinities in LayerNormalization"),
        Row("Dropout", _trains, "draws other random numbers where a Dropout trains"),
        Row("DeformConv", lambda use: "double" in use.kinds, "computes the positions of a DeformConv of doubles in float"),
        Row("AveragePool", _pads_less_than_nothing, "refuses automatic padding of less than nothing below opset 19"),
    ),
    "onnx.reference": (
        Row("Clip", _takes_bounds_of_float, "has no bounds of float for those that a Clip leaves out below opset 11"),
        Row("ReduceMean", _is_beyond_mantissa, "takes the mean of integers in double"),
        Row("LogSoftmax", _spans_much, "takes the logarithm of what underflows in LogSoftmax"),
        Row("AveragePool", lambda use: _has_nan(use), "takes NaN for padding in AveragePool"),
        Row("Conv", _meets_zeros_between, "fills a dilated kernel of Conv with zeros, which make NaN of an infinity"),
        Row("Expand", _is_complex_without_end, "multiplies by ones in Expand, which makes NaN of complex infinities"),
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
        Row("Slice", _starts_before_the_first, "takes nothing where a backward Slice starts before the first element"),
        Row("TopK", _takes_too_many, "takes none where TopK takes more than there are"),
        Row("Resize", _has_infinity_or_nan, "multiplies neighbours by weights of 0 in Resize"),
        Row("LayerNormalization", _has_infinity, "makes NaN of the mean of infinities in LayerNormalization"),
        Row("OneHot", _has_fractions, "compares indices with fractions, which OneHot casts to integers"),
        Row("MaxPool", _pads_with_what_it_finds, "takes padding for the largest where that is infinite, too"),
    ),
}
"""What each runtime computes otherwise than the specification says: runtime → rows."""


def distrusted(engine: str, model: ModelProto, feeds: Mapping[str, Any]) -> str:
    """Why the numbers that this runtime gives for the model say nothing; "" where they do."""
    return _reason(_DISTRUSTED[engine], uses(model, feeds))


# Models whose numbers the specification leaves open.

_COARSE = "GroupNormalization LayerNormalization RMSNormalization"


def _has_nan(use: Use) -> bool:
    return any(np.isnan(array).any() for array in use.floats)


def _counts_no_steps(use: Use) -> bool:
    delta = use.operand(2)
    return _has_infinity_or_nan(use) or (delta is not None and not delta.all())


def _has_attribute_beyond(use: Use) -> bool:
    """Whether the type of an operand turns a number among the attributes into 0 or an infinity."""
    numbers = np.array([attribute.f for attribute in use.node.attribute if attribute.type == AttributeProto.FLOAT])
    numbers = numbers[np.isfinite(numbers) & (numbers != 0)]
    arrays = [array for array in map(use.arrays.get, use.node.input) if _is_float(array)]
    with np.errstate(all="ignore"):
        held = [numbers.astype(array.dtype).astype(np.float64) for array in arrays]
    return any((~np.isfinite(each) | (each == 0)).any() for each in held)


def _shifts_too_far(use: Use) -> bool:
    numbers, by = use.operand(0), use.operand(1)
    return use.opset < 28 and numbers is not None and by is not None and bool((by >= 8 * numbers.dtype.itemsize).any())


def _divides_to_nan(use: Use) -> bool:
    """Whether numbers or scales are NaN, both infinite, or both 0, in the type in which they are divided."""
    numbers, scales = use.operand(0), use.operand(1)
    if numbers is None or scales is None:
        return _has_nan(use)
    precision = use.attribute("precision", 0)
    work = helper.tensor_dtype_to_np_dtype(precision) if precision else scales.dtype
    with np.errstate(all="ignore"):
        wide = [array.astype(work).astype(np.float64) for array in (numbers, scales)]
    are_both = (all(test(array).any() for array in wide) for test in (np.isinf, lambda array: array == 0))
    return any(np.isnan(array).any() for array in wide) or any(are_both)


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


def _is_float(array: np.ndarray | None) -> bool:
    return array is not None and array.dtype.kind not in "OUSbiuc"


def _limit(array: Any) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(array.dtype).max


def _stash(use: Use) -> str:
    return elem_type_name(use.attribute("stash_type", TensorProto.FLOAT))


def _overflows(use: Use) -> bool:
    """Whether the square of an operand is beyond its type, or that in which a normalization computes."""
    if use.attribute("epsilon", 0.0) > 2**60:
        return True
    stash = float(np.finfo(np.float32).max) if _stash(use) == "float" and use.node.op_type in _COARSE.split() else np.inf
    limits = [np.sqrt(min(float(_limit(array)), stash)) for array in map(use.arrays.get, use.node.input) if _is_float(array)]
    return any((np.isfinite(array) & (np.abs(array) > limit / 64)).any() for array, limit in zip(use.floats, limits, strict=True))


def _forgets_bias(use: Use) -> bool:
    """Whether a mean times the factor of a normalization is so large that the bias is lost beside it."""
    operands = list(use.floats)
    if len(operands) < 5 or any(array.shape != operands[4].shape for array in operands[1:4]):
        return False
    _, scale, _, mean, variance = operands[:5]
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + use.attribute("epsilon", 1e-5))
    return bool((np.abs(factor * mean) > 2**12).any())


def _adds_large_numbers(use: Use) -> bool:
    """Whether terms of a sum may be so large that others are lost beside them: all operands but the positions."""
    sizes = [
        np.abs(array).max(initial=0) for index, array in enumerate(use.floats) if use.node.op_type != "DeformConv" or index != 2
    ]
    return any(not size < 2**12 for size in sizes)


def _joins_nothing_with_more(use: Use) -> bool:
    """Whether an operand of a Concat is empty along another axis than that of the node."""
    axis = use.attribute("axis", 1)
    known = [array.shape for index in range(len(use.node.input)) if (array := use.operand(index)) is not None]
    return any(0 in np.delete(shape, axis) for shape in known if -len(shape) <= axis < len(shape))


_OPEN = (
    Row("Concat", _joins_nothing_with_more, "onnxruntime takes any lengths beside an empty operand, and leaves memory as it was"),
    Row("Resize", _crops_without_region, "it crops, and has no region of two numbers for each axis"),
    Row("CumSum CumProd", _names_no_axis, "its axis is none of the tensor's"),
    Row("ReduceL2", _squares_overflow, "it is not said what the root of squares beyond their integer type is"),
    Row("Pow", _exceeds_integers, "it is not said what a power of integers beyond their type becomes"),
    Row("MaxPool GlobalMaxPool", _has_nan, "it is not said whether NaN is the largest number, and kernels differ"),
    Row("TopK", lambda use: use.attribute("sorted", 1) == 0, "it is not said in which order TopK gives what it does not sort"),
    Row("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", _has_label_outside, "it is not said what the loss of no class is"),
    Row("Attention", _has_infinity_or_nan, "kernels multiply infinities in different orders"),
    Row("Attention", _multiplies_large_numbers, "products overflow, or not, in an order that is not said"),
    Row("OneHot", _has_a_depth_between, "it is not said how many positions a depth between two integers has"),
    Row("DynamicQuantizeLinear", _is_zero_throughout, "it is not said what the scale of zeros is"),
    Row("NonZero", lambda use: use.operand(0) is None or np.ndim(use.operand(0)) == 0, "onnxruntime takes a scalar for a vector"),
    Row("TfIdfVectorizer", _has_two_pools, "it is not said which of two pools counts"),
    Row("StringSplit", lambda use: True, "runtimes count the words of nothing, and the characters between words, in their own way"),
    Row("Cast CastLike", lambda use: "string" in use.kinds, "it is not said how many digits a number has in a string"),
    Row("TopK", _has_nan, "it is not said where TopK puts NaN"),
    Row(
        "ArgMax ArgMin", _has_nan, "it is not said whether NaN is the largest number, and kernels take what they come across first"
    ),
    Row("QuantizeLinear", _divides_to_nan, "it is not said which integer NaN becomes"),
    Row("QLinearConv QLinearMatMul", _has_infinity_or_nan, "it is not said which integer NaN becomes"),
    Row("DynamicQuantizeLinear", _has_nan, "it is not said whether NaN is the largest number"),
    Row("Range", _counts_no_steps, "it is not said how many steps lead to infinity or NaN, or how many of 0"),
    Row("RoiAlign GridSample", _has_infinity_or_nan, "it is not said what is at a position that is no number"),
    Row(
        "Celu Elu HardSigmoid LeakyRelu LinearAttention Selu Shrink SwiGLU ThresholdedRelu",
        _has_attribute_beyond,
        "it is not said what an attribute means that is 0 or infinite in the type of the operands",
    ),
    Row(
        "AffineGrid DeformConv Det",
        _adds_large_numbers,
        "infinities and numbers that are lost beside others depend on the order of a sum",
    ),
    Row(
        f"BatchNormalization InstanceNormalization LinearAttention {_COARSE}",
        _overflows,
        "it is not said where a variance or a product overflows",
    ),
    Row("NonMaxSuppression", _has_nan, "it is not said whether a score that is NaN is above a threshold"),
    Row("BatchNormalization", _forgets_bias, "kernels add the bias to the mean first, beside which it is lost"),
    Row("BitShift", _shifts_too_far, "it is not said before opset 28 what a shift by the width of the type is"),
    Row("DFT STFT", _has_infinity_or_nan, "infinities are multiplied by sines that are zero, or nearly"),
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


def _folds_infinities(use: Use) -> bool:
    """Whether the factor of a normalization, or what it makes of the mean, is no number of the type."""
    operands = list(use.floats)
    if len(operands) < 5 or any(array.shape != operands[4].shape for array in operands[1:4]):
        return False
    _, scale, bias, mean, variance = operands[:5]
    with np.errstate(all="ignore"):
        shift = scale / np.sqrt(variance + use.attribute("epsilon", 1e-5)) * (np.abs(mean) + 1) + bias
    return not (np.abs(shift) <= float(_limit(use.arrays[use.node.input[0]]))).all()


_SQUARES = "DFT STFT CausalConvWithState LpNormalization LpPool MeanVarianceNormalization ReduceL2 ReduceSumSquare"
_EXTREME = (
    Row(
        _SQUARES,
        _overflows,
        "the square of an operand, or a product, overflows, and forms of a variance or orders of a sum differ in where",
    ),
    Row("GRU LSTM RNN", _adds_large_numbers, "a sum of products overflows, or not, in an order that is not said"),
    Row(
        "InstanceNormalization GroupNormalization",
        _has_infinity_or_nan,
        "infinities are multiplied before or after the mean is subtracted",
    ),
    Row(
        "BatchNormalization", _folds_infinities, "kernels fold scale, mean and variance into one factor, and infinities cancel out"
    ),
)


def overflowing(model: ModelProto, feeds: Mapping[str, Any]) -> str:
    """Why elements that are infinite or NaN in one model only prove nothing; "" where they do."""
    return _reason(_EXTREME, uses(model, feeds))


_NAMES = {"bfloat16": "bfloat16", "float16": "float16", "float": "float32", "double": "float64"}
"""The floating-point types by their names in ONNX, the narrowest first, with their names in numpy."""


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
