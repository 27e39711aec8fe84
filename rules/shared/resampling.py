"""Resize along one axis of known length: for each element of the result, which elements of the input it combines, and
their weights.

The results are numbers (numpy), not nodes.
https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...rewriter.errors import Unconvertible
from .tables import arange, require_few

_FLOAT_NOISE = 4 * float(np.finfo(np.float32).eps)
"""The relative error of a coordinate that a runtime computes from a scale that float32 rounds."""
_MAX_TAPS = 256
"""The number of input elements that one element of the result may combine, with two nodes for each."""


class Sampling(NamedTuple):
    """An axis of `length` elements that is resampled to `resized` ones.

    `start` and `end` of the region of interest are fractions of the axis. `exact` is the length by which coordinates go that need
    one: `resized`, or length * scale before it is rounded down.
    """

    length: int
    resized: int
    scale: float
    start: float
    end: float
    exact: float | None = None

    @property
    def reference_length(self) -> float:
        return self.resized if self.exact is None else self.exact


class Filter(NamedTuple):
    """The attributes of a Resize that determine the input elements and their weights."""

    mode: str
    coordinates: str
    nearest: str
    cubic_a: float
    exclude_outside: bool
    antialias: bool = False


class Tap(NamedTuple):
    """For each element of the result, one element of the input, [resized], and its weight, [resized], or
    None where all weights are 1.
    """

    indices: np.ndarray
    weights: np.ndarray | None


def taps(axis: Sampling, how: Filter) -> list[Tap]:
    """The taps along one axis. The result is their weighted sum.

    Raises Unconvertible where the nearest element depends on how the coordinate is rounded.
    """
    at = _coordinates(axis, how, np.dtype(np.float64))
    if how.mode == "nearest":
        return [Tap(_nearest(axis, how, at), None)]
    if how.antialias and axis.resized > 0:
        return _antialiased(axis, how, at)
    first = np.floor(at)
    share = at - first
    if how.mode == "linear":
        offsets, weights = [0, 1], [1 - share, share]
    else:
        offsets, weights = [-1, 0, 1, 2], _cubic(share, how.cubic_a)
    indices = [first.astype(np.int64) + offset for offset in offsets]
    if how.exclude_outside:
        weights = _inside_only(indices, weights, axis.length)
    clamped = [np.clip(index, 0, axis.length - 1) for index in indices]
    return [Tap(index, weight) for index, weight in zip(clamped, weights, strict=True)]


def is_inside(axis: Sampling, how: Filter) -> np.ndarray:
    """For each element of the result, whether its coordinate lies in the input; a region of interest may extend beyond it.

    Raises Unconvertible where this depends on how the coordinate is rounded.
    """
    if how.coordinates != "tf_crop_and_resize":
        require_few(axis.resized)
        return np.ones(axis.resized, bool)
    exact, single = (_coordinates(axis, how, np.dtype(dtype)) for dtype in (np.float64, np.float32))
    inside = (exact >= 0) & (exact <= axis.length - 1)
    if not np.array_equal(inside, (single >= 0) & (single <= axis.length - 1)):
        raise Unconvertible("whether the border of the region of interest is extrapolated depends on how the runtime rounds")
    return inside


def _coordinates(axis: Sampling, how: Filter, dtype: np.dtype) -> np.ndarray:
    """The coordinate in the input of each element of the result, computed in `dtype`."""
    x = arange(axis.resized, dtype=dtype)
    scale, half = dtype.type(axis.scale), dtype.type(0.5)
    last = dtype.type(axis.length - 1)
    if how.coordinates == "asymmetric":
        return x / scale
    if how.coordinates == "half_pixel" or (how.coordinates == "pytorch_half_pixel" and axis.reference_length > 1):
        return (x + half) / scale - half
    if how.coordinates == "pytorch_half_pixel":
        return np.zeros_like(x)
    if how.coordinates == "align_corners":
        return x * last / dtype.type(axis.reference_length - 1) if axis.resized > 1 else np.zeros_like(x)
    if how.coordinates == "half_pixel_symmetric":
        adjustment = dtype.type(axis.resized) / (scale * dtype.type(axis.length))
        return dtype.type(axis.length) / 2 * (1 - adjustment) + (x + half) / scale - half
    if how.coordinates == "tf_crop_and_resize":
        start, end = dtype.type(axis.start), dtype.type(axis.end)
        if axis.resized > 1:
            return start * last + x * (end - start) * last / dtype.type(axis.reference_length - 1)
        return half * (start + end) * last + x
    raise Unconvertible(f"the coordinates '{how.coordinates}' have no older form")


def _nearest(axis: Sampling, how: Filter, at: np.ndarray) -> np.ndarray:
    """The nearest element for each coordinate.

    Raises Unconvertible where it is another one for coordinates in float32, as in runtimes. Symmetric ones are a difference,
    whose terms each runtime computes in an order of its own.
    """
    is_exact = float(np.float32(axis.scale)) == axis.scale and axis.resized == axis.scale * axis.length
    noise = 0.0 if is_exact or how.coordinates != "half_pixel_symmetric" else _FLOAT_NOISE * (1 + np.abs(at))
    single = _coordinates(axis, how, np.dtype(np.float32)).astype(np.float64)
    exact, *others = (np.clip(_round(x, how.nearest), 0, axis.length - 1) for x in (at, single, at - noise, at + noise))
    if not all(np.array_equal(exact, other) for other in others):
        raise Unconvertible("an element lies so near the middle between two that its neighbour depends on how the runtime rounds")
    return exact.astype(np.int64)


def _round(at: np.ndarray, how: str) -> np.ndarray:
    """`at`, rounded by the nearest_mode of `how`."""
    if how == "floor":
        return np.floor(at)
    if how == "ceil":
        return np.ceil(at)
    if how == "round_prefer_ceil":
        return np.floor(at + 0.5)
    if how == "round_prefer_floor":
        return np.ceil(at - 0.5)
    raise Unconvertible(f"nearest_mode '{how}' has no older form")


def _antialiased(axis: Sampling, how: Filter, at: np.ndarray) -> list[Tap]:
    """The taps of an axis that shrinks with antialiasing: the filter is stretched, so that every element of
    the input contributes.
    """
    if how.coordinates == "tf_crop_and_resize":
        raise Unconvertible("antialias=1 of a region of interest has no older form", "export without antialias")
    if axis.resized == axis.length and axis.scale != 1:
        raise Unconvertible("antialias=1 of an axis that keeps its length, with a scale that is not 1, differs between runtimes")
    shrink = min(axis.scale, 1.0)
    reach = (1 if how.mode == "linear" else 2) / shrink
    indices = np.ceil(at - reach)[:, None].astype(np.int64) + arange(math.floor(2 * reach) + 1)
    distance = np.abs(indices - at[:, None]) * shrink
    weights = np.maximum(1 - distance, 0) if how.mode == "linear" else _cubic_at(distance, how.cubic_a)
    if how.exclude_outside:
        weights = np.where((indices >= 0) & (indices < axis.length), weights, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    # What does not count must not be read: zero times infinity is NaN. The heaviest stands in for it.
    heaviest = np.take_along_axis(indices, np.abs(weights).argmax(axis=1)[:, None], axis=1)
    indices = np.clip(np.where(weights == 0, heaviest, indices), 0, axis.length - 1)
    used = np.flatnonzero(weights.any(axis=0))
    if len(used) > _MAX_TAPS:
        raise Unconvertible(f"antialias=1 with a filter of {len(used)} elements would take twice as many nodes")
    return [Tap(indices[:, tap], weights[:, tap]) for tap in used]


def _cubic_at(distance: np.ndarray, a: float) -> np.ndarray:
    """The cubic filter with coefficient `a`, at non-negative distances."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def _cubic(share: np.ndarray, a: float) -> list[np.ndarray]:
    """The weights of the four elements around a coordinate, which is `share` behind the second of them."""
    return [_cubic_at(distance, a) for distance in (share + 1, share, 1 - share, 2 - share)]


def _inside_only(indices: list[np.ndarray], weights: list[np.ndarray], length: int) -> list[np.ndarray]:
    """The weights, with 0 for elements outside the input, scaled so that their sum is 1."""
    kept = [np.where((index >= 0) & (index < length), weight, 0) for index, weight in zip(indices, weights, strict=True)]
    total = np.sum(kept, axis=0)
    return [weight / total for weight in kept]
