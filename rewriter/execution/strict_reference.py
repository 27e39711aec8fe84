"""onnx's reference evaluator with operators that refuse inputs which the specification forbids or leaves undefined.

The original evaluator computes something for these. For such inputs a model has no result that a conversion could be compared with.
A few operators compute extreme numbers as the specification says, which the original evaluator does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from ..opsets.one_rounding import round_once

_FEW_DIGITS = 1e-3
"""A variance below this share of the mean square has lost three digits."""


class SplitSizesError(Exception):
    """The sizes are not valid for Split or SplitToSequence by the specification."""


def strict_evaluator(more: Sequence[Any] = ()) -> Any:
    """The class of the strict evaluator, with `more` operators. Like onnx's ReferenceEvaluator, it is called with a model."""
    from onnx.reference import ReferenceEvaluator

    operators = [
        *_strict_splits(),
        *_strict_divisions(),
        _strict_slice(),
        _scatter(),
        _clip(),
        _stft(),
        _cumulative_sum(),
        _shrink(),
        _strict_power(),
        _strict_one_hot(),
        _strict_roi_align(),
        _strict_normalization(),
        _batch_normalization(),
        _local_response_normalization(),
        _dequantize(),
        *_attention(),
        *more,
    ]

    class Evaluator(ReferenceEvaluator):
        """The class that onnx uses for bodies of functions too, but without passing `new_ops` on to them;
        here they are always there.
        """

        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **{**options, "new_ops": operators})
            round_once(self)

    return Evaluator


def _strict_splits() -> list[Any]:
    """Split and SplitToSequence operators that refuse sizes which the specification forbids."""
    from onnx.reference.op_run import OpRun

    class Split(OpRun):
        """https://onnx.ai/onnx/operators/onnx__Split.html, every version."""

        op_domain = ""

        def _run(self, x: np.ndarray, split: Any = None, axis: int = 0, num_outputs: int | None = None) -> Any:
            dim, count = x.shape[axis], len(self.onnx_node.output)
            if split is not None:
                sizes = [int(size) for size in split]  # Split 1 has them as floats
                count_fits = len(sizes) == count
            else:
                sizes = _even_sizes(dim, count) if num_outputs is None else _uneven_sizes(dim, num_outputs)
                count_fits = len(sizes) >= count  # the last outputs may be left out
            if not count_fits:
                raise SplitSizesError(f"Split cannot give sizes {sizes} to {count} outputs")
            return tuple(_cut(self, x, sizes, axis)[:count])

    class SplitToSequence(OpRun):
        """https://onnx.ai/onnx/operators/onnx__SplitToSequence.html, every version."""

        op_domain = ""

        def _run(self, x: np.ndarray, split: np.ndarray | None = None, axis: int = 0, keepdims: int = 1) -> Any:
            dim = x.shape[axis]
            if split is not None:
                sizes = [int(size) for size in split] if split.ndim else _sizes_of_at_most(int(split), dim)
                return (_cut(self, x, sizes, axis),)
            parts = _cut(self, x, [1] * dim, axis)
            return (parts if keepdims else [part.squeeze(axis) for part in parts],)

    return [Split, SplitToSequence]


def _cut(node: Any, x: np.ndarray, sizes: list[int], axis: int) -> list[np.ndarray]:
    """The parts of `x`. Raises SplitSizesError where `sizes` do not add up to the length of the axis."""
    dim = x.shape[axis]
    if min(sizes, default=0) < 0 or sum(sizes) != dim:
        raise SplitSizesError(f"{node.onnx_node.op_type} cannot cut a dimension of {dim} into parts of sizes {sizes}")
    return np.split(x, np.cumsum(sizes)[:-1], axis) if sizes else []


def _sizes_of_at_most(size: int, dim: int) -> list[int]:
    """The sizes of the parts if each but the last has `size`, and the last has the rest of `dim`."""
    if size < 1:
        raise SplitSizesError(f"SplitToSequence cannot cut a dimension into parts of size {size}")
    return [min(size, dim - start) for start in range(0, dim, size)]


def _strict_divisions() -> list[Any]:
    """Div and Mod operators that refuse to divide integers by zero: numpy gives 0, and no specification defines the result."""
    from onnx.reference.ops.op_div import Div as PlainDiv
    from onnx.reference.ops.op_mod import Mod as PlainMod

    class Div(PlainDiv):
        def _run(self, *inputs: Any, **attributes: Any) -> Any:
            _require_divisors(inputs[1])
            return super()._run(*inputs, **attributes)

    class Mod(PlainMod):
        def _run(self, *inputs: Any, **attributes: Any) -> Any:
            _require_divisors(inputs[1])
            return super()._run(*inputs, **attributes)

    return [Div, Mod]


def _require_divisors(divisors: np.ndarray) -> None:
    """Raises an error where one of the integer divisors is zero."""
    if divisors.dtype.kind in "iu" and not divisors.all():
        raise ZeroDivisionError("integers are divided by zero")


def _strict_slice() -> Any:
    """A Slice operator that refuses an axis that is given twice, since no specification says which starts and ends count then."""
    from onnx.reference.ops.op_slice import SliceCommon

    class Slice(SliceCommon):
        def _run(self, data: np.ndarray, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
            if axes is not None and len({int(axis) % data.ndim for axis in axes}) < len(axes):
                raise ValueError(f"Slice has an axis twice in {[int(axis) for axis in axes]}")
            _require_starts(data.shape, starts, axes, steps)
            return super()._run(data, starts, ends, axes, steps)

    return Slice


def _require_starts(shape: tuple[int, ...], starts: Any, axes: Any, steps: Any) -> None:
    """Raises an error where a Slice backwards starts before its axis: then it takes the first element, and numpy takes none."""
    if steps is None:
        return
    chosen = range(len(starts)) if axes is None else [int(axis) for axis in axes]
    for start, axis, step in zip(starts, chosen, steps, strict=True):
        if step < 0 and start < -shape[axis]:
            raise ValueError(f"Slice goes backwards from {start} along an axis of {shape[axis]}")


def _scatter() -> Any:
    """Scatter, the old name of ScatterElements, which the reference does not know."""
    from onnx.reference.ops.op_scatter_elements import ScatterElements

    class Scatter(ScatterElements):
        """https://onnx.ai/onnx/operators/onnx__Scatter.html"""

        op_domain = ""

        def _run(self, *inputs: Any, **attributes: Any) -> Any:
            return super()._run(*inputs, axis=attributes.get("axis", 0), reduction="none")

    return Scatter


def _clip() -> Any:
    """Clip, whose bounds are the largest finite numbers of the type where they are left out: the reference has none there."""
    from onnx.reference.op_run import OpRun

    class Clip(OpRun):
        """https://onnx.ai/onnx/operators/onnx__Clip.html, every version."""

        op_domain = ""

        def _run(self, data: np.ndarray, *bounds: Any, min: Any = None, max: Any = None) -> Any:
            given = [*bounds, None, None][:2] if bounds else [min, max]
            limits = _limits(data.dtype)
            low, high = (limit if bound is None else bound for bound, limit in zip(given, limits, strict=True))
            return (np.minimum(np.maximum(data, low), high).astype(data.dtype),)

    return Clip


def _stft() -> Any:
    """STFT of a real signal that has no last axis, as runtimes take it: the reference takes its batch for the signal."""
    from onnx.reference.ops.op_stft import STFT as Original  # noqa: N811 - the new one has the name of the operator

    class STFT(Original):
        """https://onnx.ai/onnx/operators/onnx__STFT.html, every version."""

        op_domain = ""

        def _run(self, signal: np.ndarray, *operands: Any, **attributes: Any) -> Any:
            return super()._run(signal[..., None] if signal.ndim == 2 else signal, *operands, **attributes)

    return STFT


def _cumulative_sum() -> Any:
    """CumSum along an axis that is a vector of one number, as exporters write it and runtimes take it: the reference refuses it."""
    from onnx.reference.ops.op_cum_sum import CumSum as PlainCumSum

    class CumSum(PlainCumSum):
        """https://onnx.ai/onnx/operators/onnx__CumSum.html, every version."""

        def _run(self, x: np.ndarray, axis: np.ndarray, exclusive: Any = None, reverse: Any = None) -> Any:
            return super()._run(x, axis[0] if axis.shape == (1,) else axis, exclusive=exclusive, reverse=reverse)

    return CumSum


def _limits(dtype: np.dtype) -> tuple[Any, Any]:
    """The lowest and the largest finite number of a type."""
    from ml_dtypes import finfo

    limits = np.iinfo(dtype) if dtype.kind in "iu" else finfo(dtype)
    return limits.min, limits.max


def _shrink() -> Any:
    """Shrink, which compares and moves integers exactly: the reference does so in double."""
    from onnx.reference.ops.op_shrink import Shrink as PlainShrink

    class Shrink(PlainShrink):
        def _run(self, x: np.ndarray, bias: Any = None, lambd: Any = None) -> Any:
            if x.dtype.kind not in "iu":
                return super()._run(x, bias, lambd)
            if bias != int(bias):
                raise ValueError(f"Shrink moves integers by {bias}")
            numbers, move = x.astype(object), int(bias)
            moved = np.where(numbers < -lambd, numbers + move, np.where(numbers > lambd, numbers - move, 0))
            limits = np.iinfo(x.dtype)
            if moved.size and not limits.min <= moved.min() <= moved.max() <= limits.max:
                raise OverflowError(f"Shrink moves integers beyond {x.dtype}")
            return (moved.astype(x.dtype),)

    return Shrink


def _strict_power() -> Any:
    """A Pow operator that refuses a power of integers beyond their type: runtimes wrap around, saturate, or compute in double."""
    from onnx.reference.ops.op_pow import Pow as PlainPow

    class Pow(PlainPow):
        def _run(self, *inputs: Any, **attributes: Any) -> Any:
            base, exponent = inputs[:2]
            if base.dtype.kind in "iu" and exponent.dtype.kind in "iu":
                with np.errstate(all="ignore"):
                    bits = np.log2(np.abs(base.astype(np.float64))) * exponent.astype(np.float64)
                if (bits >= 8 * base.dtype.itemsize - 1).any():
                    raise OverflowError("a power of integers is beyond their type")
            return super()._run(*inputs, **attributes)

    return Pow


def _strict_one_hot() -> Any:
    """A OneHot operator that refuses a negative depth, of which the reference makes an empty axis."""
    from onnx.reference.ops.op_one_hot import OneHot as PlainOneHot

    class OneHot(PlainOneHot):
        def _run(self, indices: Any, depth: Any, *others: Any, **attributes: Any) -> Any:
            if np.min(depth) < 0:
                raise ValueError(f"the depth of OneHot is {np.min(depth)}")
            return super()._run(indices, depth, *others, **attributes)

    return OneHot


def _strict_roi_align() -> Any:
    """A RoiAlign operator that refuses NaN and infinities with mode max.

    No specification says whether the NaN that an infinity times a weight of 0 gives is the largest number.
    """
    from onnx.reference.ops.op_roi_align import RoiAlign as PlainRoiAlign

    class RoiAlign(PlainRoiAlign):
        def _run(self, x: np.ndarray, rois: np.ndarray, *others: Any, **attributes: Any) -> Any:
            mode = next((attribute.s for attribute in self.onnx_node.attribute if attribute.name == "mode"), b"avg")
            if mode == b"max" and not (np.isfinite(x).all() and np.isfinite(rois).all()):
                raise ValueError("the largest of numbers and NaN is not defined")
            return super()._run(x, rois, *others, **attributes)

    return RoiAlign


def _strict_normalization() -> Any:
    """A MeanVarianceNormalization that refuses elements with a small variance.

    Its definition subtracts the square of the mean from the mean of the squares. Where these are nearly the same, the difference
    has few digits, or is negative.
    """
    from onnx.reference.op_run import OpRun

    class MeanVarianceNormalization(OpRun):
        """https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html"""

        op_domain = ""

        def _run(self, x: np.ndarray, **_: Any) -> Any:
            given = next((attribute for attribute in self.onnx_node.attribute if attribute.name == "axes"), None)
            axes = tuple(given.ints) if given is not None else (0, 2, 3)
            mean, squares = np.mean(x, axis=axes, keepdims=True), np.mean(np.square(x), axis=axes, keepdims=True)
            variance = squares - np.square(mean)
            if (variance.astype(np.float64) < _FEW_DIGITS * squares.astype(np.float64)).any():
                raise ValueError("elements have a variance that is small beside their mean")
            normal = (x - mean) / (np.sqrt(variance) + np.asarray(1e-9, x.dtype))
            return (normal.astype(x.dtype),)

    return MeanVarianceNormalization


def _batch_normalization() -> Any:
    """A BatchNormalization that trains only where it has to. The reference trains always below opset 14, except for is_test."""
    from onnx.reference.ops.op_batch_normalization import BatchNormalization_14 as PlainBatchNormalization

    class BatchNormalization(PlainBatchNormalization):
        """https://onnx.ai/onnx/operators/onnx__BatchNormalization.html, every version."""

        op_domain = ""

        def _run(self, *inputs: Any, **linked: Any) -> Any:
            given = _attributes(self.onnx_node, linked)
            opset = self.run_params["opsets"][""]
            trains = not given.get("is_test", 0) if opset < 7 else any(self.onnx_node.output[1:])
            if opset < 14 and (trains or not given.get("spatial", 1)):
                raise ValueError("BatchNormalization trains, or normalizes each position apart")
            options = {"epsilon": 1e-5, "momentum": 0.9, "training_mode": 0}
            return super()._run(*inputs, **{name: given.get(name, usual) for name, usual in options.items()})

    return BatchNormalization


def _local_response_normalization() -> Any:
    """An LRN of all channels. The reference normalizes as many of them as there are images, in images of two axes."""
    from onnx.reference.op_run import OpRun

    class LRN(OpRun):
        """https://onnx.ai/onnx/operators/onnx__LRN.html, every version."""

        op_domain = ""

        def _run(self, x: np.ndarray, **linked: Any) -> Any:
            given = _attributes(self.onnx_node, linked)
            size, channels = given["size"], x.shape[1]
            squares, before = np.square(x, dtype=np.result_type(x, np.float32)), (size - 1) // 2
            windows = ((max(0, place - before), place + size - before) for place in range(channels))
            sums = np.stack([squares[:, first:end].sum(axis=1) for first, end in windows], axis=1) if channels else squares
            scale = given.get("bias", 1.0) + given.get("alpha", 1e-4) / size * sums
            return ((x / scale ** given.get("beta", 0.75)).astype(x.dtype),)

    return LRN


def _dequantize() -> Any:
    """A DequantizeLinear of any version. The reference lacks those below opset 19, which are the newer one with fewer types."""
    from onnx.reference.ops.op_dequantize_linear import _CommonDequantizeLinear as PlainDequantizeLinear

    class DequantizeLinear(PlainDequantizeLinear):
        """https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html, every version."""

        op_domain = ""

        def _run(self, *inputs: Any, **linked: Any) -> Any:
            return super()._run(*inputs, **{"axis": 1, **_attributes(self.onnx_node, linked)})

    return DequantizeLinear


def _attributes(node: NodeProto, linked: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node that it states, by name; `linked` has those that the caller of a function sets."""
    stated = {each.name: helper.get_attribute_value(each) for each in node.attribute if not each.ref_attr_name}
    return stated | {each.name: linked[each.name] for each in node.attribute if each.ref_attr_name and each.name in linked}


def _attention() -> list[Any]:
    """Attention that is causal and has one mask for all queries: the reference lets all of them see the first key alone."""
    try:
        from onnx.reference.ops.op_attention import Attention as PlainAttention
    except ImportError:  # before onnx 1.18
        return []

    class Attention(PlainAttention):
        """https://onnx.ai/onnx/operators/onnx__Attention.html, every version."""

        op_domain = ""

        def _run(
            self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: Any = None, *others: Any, **given: Any
        ) -> Any:
            self._validate_attention25 = self.run_params["opsets"][""] >= 25
            if mask is not None and given.get("is_causal") and (mask.ndim < 2 or mask.shape[-2] == 1):
                mask = np.repeat(np.atleast_2d(mask), queries.shape[-2], axis=-2)
            return super()._run(queries, keys, values, mask, *others, **given)

    return [Attention]


def _even_sizes(dim: int, count: int) -> list[int]:
    return [dim // count] * count


def _uneven_sizes(dim: int, count: int) -> list[int]:
    size = -(-dim // count)
    return [size] * (count - 1) + [dim - size * (count - 1)]
