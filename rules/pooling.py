"""AveragePool, MaxPool, LpPool, GlobalLpPool and MaxUnpool: ceil_mode, dilations and counted padding came with later opsets.

https://onnx.ai/onnx/operators/onnx__AveragePool.html (1, 7, 10, 11, 19, 22), https://onnx.ai/onnx/operators/onnx__MaxPool.html (1,
8, 10, 11, 12, 22), https://onnx.ai/onnx/operators/onnx__LpPool.html (1, 2, 11, 18, 22),
https://onnx.ai/onnx/operators/onnx__GlobalLpPool.html (1, 2), https://onnx.ai/onnx/operators/onnx__MaxUnpool.html (9, 11, 22)
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import avoid, decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.same_padding import is_same_padded, same_padding, warn_where_length_differs, write_pads
from .shared.tables import arange, require_few


class Axis(NamedTuple):
    """The pooling along one spatial axis, in elements. `size` is the length of the input."""

    size: int
    kernel: int
    stride: int
    dilation: int
    pad_begin: int
    pad_end: int
    rounds_up: bool
    """Whether a last window that reaches beyond the padded input counts (ceil_mode=1)."""

    @property
    def reach(self) -> int:
        """The number of elements that the dilated kernel spans."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def windows(self) -> int:
        """The number of windows by the specification before opset 22."""
        return -(-self._room // self.stride) + 1 if self.rounds_up else self.windows_rounding_down

    @property
    def windows_rounding_down(self) -> int:
        """The number of windows that lie within the padded input."""
        return self._room // self.stride + 1

    @property
    def _room(self) -> int:
        return self.size + self.pad_begin + self.pad_end - self.reach

    @property
    def windows_with_data(self) -> int:
        """The number of windows by the specification since opset 22, which drops windows that start behind the input."""
        return min(self.windows, (self.size + self.pad_begin - 1) // self.stride + 1)

    @property
    def pad_end_rounding_down(self) -> int:
        """The padding at the end with which rounding down gives `windows_with_data` windows."""
        return max(0, (self.windows_with_data - 1) * self.stride + self.reach - self.size - self.pad_begin)

    @property
    def positions(self) -> np.ndarray:
        """The positions that each window covers, including those outside the input: [windows with data, kernel]."""
        require_few(self.windows_with_data * self.kernel)
        starts = arange(self.windows_with_data)[:, None] * self.stride - self.pad_begin
        return starts + arange(self.kernel) * self.dilation

    def sees(self, positions: np.ndarray) -> np.ndarray:
        """Which of `positions` are inside the input."""
        return (positions >= 0) & (positions < self.size)


def _axes(node: Node) -> list[Axis]:
    """The spatial axes of the pooling. Raises Unconvertible where a length is unknown, or the padding is automatic."""
    auto_pad = node.attr("auto_pad", "NOTSET")
    if auto_pad != "NOTSET":
        raise Unconvertible(f"ceil_mode or dilations together with auto_pad={auto_pad}", "write the padding out as pads")
    return _axes_by_pads(node)


def _axes_by_pads(node: Node) -> list[Axis]:
    """The spatial axes of the pooling with the padding in the attribute pads. Raises Unconvertible where a length is unknown."""
    kernel = node.attr("kernel_shape")
    ones, pads, rounds_up = [1] * len(kernel), _pads(node), bool(node.attr("ceil_mode", 0))
    strides, dilations = node.attr("strides", ones), node.attr("dilations", ones)
    return [
        Axis(node.need_dimension(2 + i), kernel[i], strides[i], dilations[i], pads[i], pads[i + len(kernel)], rounds_up)
        for i in range(len(kernel))
    ]


def _pads(node: Node) -> list[int]:
    """The pads, first those at the beginning of each axis, then those at the end."""
    return node.attr("pads") or [0] * 2 * len(node.attr("kernel_shape"))


# Windows that start behind the input.


@upgrade(("AveragePool", "LpPool", "MaxPool"), 22)
def mind_dropped_windows(node: Node) -> None:
    """Nothing changes. Refused where a last window may cover padding only: opset 22 drops it, and so do runtimes at every opset."""
    if not _may_see_padding_only(node):
        return
    is_open = any(not isinstance(node.dimension(axis), int) for axis in _spatial(node))
    if is_open or any(axis.windows != axis.windows_with_data for axis in _axes(node)):
        _mind_windows(node)


def _mind_windows(node: Node) -> None:
    """Raises Unconvertible where a window may cover padding only, unless onnxruntime's meaning is chosen."""
    if not _drops_windows(node):
        raise Unconvertible("ceil_mode=1: windows that see only the padding behind the input are dropped since opset 22")


def _drops_windows(node: Node) -> bool:
    """Whether windows that see only padding do not count. Raises Unconvertible where no meaning is chosen."""
    meaning = node.meaning(
        "ceil_mode=1 makes windows that see only the padding behind the input before opset 22, and none from 22 on",
        "makes none at any opset",
    )
    return meaning == "onnxruntime"


@avoid("Window behind the input", ("LpPool", "MaxPool"), opset=13)
@downgrade(("AveragePool", "LpPool", "MaxPool"), 22)
def drop_windows_behind_the_input(node: Node) -> None:
    """Where ceil_mode would add windows that cover padding only, it is replaced by padding that gives no such window.

    With auto_pad=SAME it is removed: the output has the length ceil(length / stride) in any case, and onnx infers another length
    below 22. Refused together with dilations, for which runtimes pad differently. With auto_pad=VALID it is removed where it adds
    no window, and refused where it adds one behind the input beside another. It is exact for all types.
    """
    if is_same_padded(node) and node.attr("ceil_mode", 0):
        if _is_dilated(node):
            _axes(node)  # refuses automatic padding
        _drop_ceil_mode(node)
    if _rounds_up_in_vain(node):
        _drop_ceil_mode(node)
    elif _adds_windows_behind(node):
        _axes(node)  # refuses automatic padding
    if not _may_see_padding_only(node):
        return
    if any(not isinstance(node.dimension(axis), int) for axis in _spatial(node)):
        _mind_windows(node)
    elif any(axis.windows != axis.windows_with_data for axis in _axes(node)):
        _round_down(node)


def _is_dilated(node: Node) -> bool:
    """Whether the window skips elements."""
    kernel = node.attr("kernel_shape")
    return any(size > 1 and dilation > 1 for size, dilation in zip(kernel, node.attr("dilations", [1] * len(kernel)), strict=True))


def _may_see_padding_only(node: Node) -> bool:
    """Whether ceil_mode can add a window that starts behind the input, which needs stride and padding longer than the kernel."""
    if not node.attr("ceil_mode", 0) or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return False
    kernel = node.attr("kernel_shape")
    ones = [1] * len(kernel)
    rows = zip(kernel, node.attr("strides", ones), node.attr("dilations", ones), _pads(node)[len(kernel) :], strict=True)
    return any(stride + pad_end > (size - 1) * dilation + 1 for size, stride, dilation, pad_end in rows)


def _rounds_up_in_vain(node: Node) -> bool:
    """Whether ceil_mode adds no window, together with auto_pad=VALID.

    There the specification does not round up, but runtimes do. Both agree if rounding up adds only windows behind the input.
    """
    axes = _valid_axes_rounding_up(node)
    return bool(axes) and all(axis.windows_with_data == axis.windows_rounding_down for axis in axes)


def _adds_windows_behind(node: Node) -> bool:
    """Whether ceil_mode adds windows that start behind the input, together with auto_pad=VALID."""
    return any(axis.windows_with_data != axis.windows for axis in _valid_axes_rounding_up(node))


def _valid_axes_rounding_up(node: Node) -> list[Axis]:
    """The spatial axes of a node with ceil_mode and auto_pad=VALID; none of others, or where a length is unknown."""
    if not node.attr("ceil_mode", 0) or node.attr("auto_pad", "NOTSET") != "VALID":
        return []
    return _axes_by_pads(node) if all(isinstance(node.dimension(axis), int) for axis in _spatial(node)) else []


def _spatial(node: Node) -> range:
    """The spatial axes of the data."""
    return range(2, 2 + len(node.attr("kernel_shape")))


# Rounding up.


@downgrade(("AveragePool", "MaxPool"), 10)
def round_down(node: Node) -> None:
    """ceil_mode becomes padding at the end; for a MaxPool with dilations, the elements of each window are gathered side by side."""
    _drop_dilations_of_one(node)
    if node.has_attr("dilations"):
        _gather_windows(node)
    else:
        _round_down_if_asked(node)


def _gather_windows(node: Node) -> None:
    """Put the elements of each window side by side.

    In place of padding, one of them is repeated, which does not change the maximum.
    """
    axes = _axes_with_data(node)
    windows = _windows(node, axes)
    if node.has_output(1):
        _indices_of_maxima(node, axes, windows)
    node.set_input(0, windows)
    for name in ("dilations", "pads", "ceil_mode"):
        node.pop_attr(name)
    node.set_attr("strides", [axis.kernel for axis in axes])


def _windows(node: Node, axes: list[Axis]) -> str:
    """The elements of all windows, side by side: [N, C, windows * kernel, ...]."""
    name = node.input(0)
    for number, axis in enumerate(axes):
        seen = node.op.int64(_seen(axis).reshape(-1))
        name = node.op.Gather(name, seen, axis=2 + number)
    return name


def _seen(axis: Axis) -> np.ndarray:
    """The positions along `axis` that each window covers: [windows, kernel].

    In place of padding, the position of its first element.
    """
    positions, inside = axis.positions, axis.sees(axis.positions)
    if not inside.any(axis=1).all():
        raise Unconvertible("a window sees padding only")
    return np.where(inside, positions, np.take_along_axis(positions, inside.argmax(axis=1)[:, None], axis=1))


def _drop_dilations_of_one(node: Node) -> None:
    """Remove the attribute dilations where all are 1."""
    if all(dilation == 1 for dilation in node.attr("dilations", [])):
        node.pop_attr("dilations")


def _round_down_if_asked(node: Node) -> None:
    """Replace ceil_mode=1 by padding, where the node has it."""
    if not node.attr("ceil_mode", 0) or is_same_padded(node) or _rounds_up_in_vain(node):
        _drop_ceil_mode(node)  # there are as many windows either way
        return
    _axes_with_data(node, may_drop=True)
    _round_down(node)


def _drop_ceil_mode(node: Node) -> None:
    """Remove ceil_mode, with which the kernel for averages adds in another order."""
    node.approximate = node.approximate or (node.op_type == "AveragePool" and node.attr("ceil_mode", 0) == 1)
    node.pop_attr("ceil_mode")


def _axes_with_data(node: Node, may_drop: bool = False) -> list[Axis]:
    """The spatial axes. Raises Unconvertible where there is no window, or one starts behind the input.

    With `may_drop` such a window does not count in the meaning of onnxruntime, if that is chosen.
    """
    axes = _axes(node)
    if any(axis.windows_with_data < 1 for axis in axes):
        raise Unconvertible("no window fits into the input")
    if any(axis.windows != axis.windows_with_data for axis in axes) and not (may_drop and _drops_windows(node)):
        raise Unconvertible(
            "with ceil_mode=1 the last window sees padding only" if node.attr("ceil_mode", 0) else "a window sees padding only"
        )
    return axes


def _round_down(node: Node) -> None:
    """Replace ceil_mode=1 by padding at the end, with which all windows are complete. This padding is not counted in an average."""
    axes = _axes(node)
    begins, ends = [axis.pad_begin for axis in axes], [axis.pad_end_rounding_down for axis in axes]
    counts_padding = node.op_type == "AveragePool" and node.attr("count_include_pad", 0)
    if counts_padding:
        begins, ends = [0] * len(axes), [max(0, end - axis.pad_end) for end, axis in zip(ends, axes, strict=True)]
    if any(end >= axis.kernel for end, axis in zip(ends, axes, strict=True)):
        raise Unconvertible("without ceil_mode its dilations need padding as long as the kernel, which runtimes refuse")
    _drop_ceil_mode(node)
    if counts_padding:
        _pad_before(node)
    node.set_attr("pads", begins + ends)


# Averages.


@downgrade("AveragePool", 7)
def pad_before_pooling(node: Node) -> None:
    """Padding that is counted (count_include_pad=1) becomes a Pad with zeros before the node."""
    if not node.attr("count_include_pad", 0):
        node.pop_attr("count_include_pad")
    elif is_same_padded(node):
        raise Unconvertible("count_include_pad=1 together with automatic padding", "write the padding out as pads")
    else:
        _pad_before(node)


def _pad_before(node: Node) -> None:
    """Replace padding that is counted by a Pad with zeros before the node."""
    pads = _pads(node)
    half = len(pads) // 2
    node.pop_attr("count_include_pad")
    node.pop_attr("pads")
    if any(pads):
        around = [0, 0, *pads[:half], 0, 0, *pads[half:]]
        node.set_input(0, node.op.Pad(node.input(0), opset=10, pads=around))


@downgrade("AveragePool", 19)
def average_as_convolution(node: Node) -> None:
    """With dilations, the node becomes a convolution with ones, divided by the number of elements in each window."""
    _drop_dilations_of_one(node)
    node.approximate = True  # runtimes have another kernel for 19, even where dilations are 1
    if not node.has_attr("dilations"):
        _state_negative_padding(node)
        return
    kind = node.need_elem_type()
    _axes_with_data(node)  # before padding that is counted becomes data
    if node.attr("count_include_pad", 0):
        _pad_before(node)
    counts = reduce(np.multiply.outer, [axis.sees(axis.positions).sum(axis=1) for axis in _axes_with_data(node)])
    divisor = node.op.const(counts, kind)
    node.become.Div(_sum_windows(node, node.input(0)), divisor)


def _state_negative_padding(node: Node) -> None:
    """Replace automatic padding that is negative, which onnxruntime takes since 19 only.

    It can be where a stride is longer than the kernel. Refused where a length is unknown there.
    """
    strides, kernel = node.attr("strides", []), node.attr("kernel_shape")
    longer = [axis for axis, stride in enumerate(strides) if is_same_padded(node) and stride > kernel[axis]]
    if not longer:
        return
    node.explain("a stride is longer than the kernel, and a negative auto_pad needs opset 19", node.shape_hint())
    if any((node.need_dimension(2 + axis) - 1) % strides[axis] >= kernel[axis] for axis in longer):
        write_pads(node, same_padding(node), larger_first=node.attr("auto_pad") == "SAME_LOWER")


@downgrade("LpPool", 18)
def norm_as_convolution(node: Node) -> None:
    """ceil_mode becomes padding; with dilations, the sum of powers becomes a convolution with ones."""
    op = node.op
    _drop_dilations_of_one(node)
    if not node.has_attr("dilations"):
        _round_down_if_asked(node)
        return
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    power = node.attr("p", 2)
    if power == 0:
        raise Unconvertible("p=0: no LpPool has the root of order 0", "correct the model")
    absolute = op.Abs(node.input(0))
    powers = op.Pow(absolute, op.const(power, dtype))
    root = op.const(1 / power, dtype)
    node.become.Pow(_sum_windows(node, powers), root)
    node.approximate = True


def _sum_windows(node: Node, name: str) -> str:
    """The sum over each window of `name`, which has the shape of input 0: a convolution with ones for each channel."""
    channels, axes = node.need_dimension(1), _axes_with_data(node)
    kernel = [axis.kernel for axis in axes]
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    ones = node.op.const(np.ones((channels, 1, *kernel)), dtype)
    return node.op.Conv(
        name,
        ones,
        group=channels,
        kernel_shape=kernel,
        strides=[axis.stride for axis in axes],
        dilations=[axis.dilation for axis in axes],
        pads=[axis.pad_begin for axis in axes] + [axis.pad_end_rounding_down for axis in axes],
    )


# MaxPool's second output.


@downgrade("MaxPool", 8)
def drop_storage_order(node: Node) -> None:
    """storage_order is removed; the second output, which came with opset 8, is computed by ArgMax if it is read."""
    if node.is_read(1):
        axes = _axes_with_data(node)
        _indices_of_maxima(node, axes, _windows(node, axes))
    elif node.has_output(1):
        node.drop_output(1)
    node.pop_attr("storage_order")


def _indices_of_maxima(node: Node, axes: list[Axis], windows: str) -> None:
    """Compute output 1 from the elements of the windows: for each window, the index of its first maximum in
    the flattened tensor.
    """
    op = node.op
    shape, counts, kernel = node.need_shape(), [axis.windows_with_data for axis in axes], [axis.kernel for axis in axes]
    spatial, images, result = shape[2:], shape[0] * shape[1], [*shape[:2], *counts]
    output = node.output(1)
    node.drop_output(1)
    if not prod(result):
        op.Identity(op.int64(np.zeros(result, np.int64)), output=output)
        return
    form = [*shape[:2], *(size for pair in zip(counts, kernel, strict=True) for size in pair)]
    split = op.Reshape(windows, op.int64(form))
    order = [0, 1, *range(2, len(form), 2), *range(3, len(form), 2)]
    rows = op.Transpose(split, perm=order)
    rows = op.Reshape(rows, op.int64([-1, prod(kernel)]))
    slot = op.ArgMax(rows, axis=1, keepdims=0)
    slot = op.Reshape(slot, op.int64([images, prod(counts)]))
    start = op.int64(arange(prod(counts)) * prod(kernel))
    place = op.Add(slot, start)
    by_column = bool(node.attr("storage_order", 0))
    strides = [prod(spatial[:d]) if by_column else prod(spatial[d + 1 :]) for d in range(len(spatial))]
    found = reduce(np.add.outer, [_seen(axis) * stride for axis, stride in zip(axes, strides, strict=True)])
    table = found.transpose([*range(0, found.ndim, 2), *range(1, found.ndim, 2)])
    index = op.Gather(op.int64(table.reshape(-1)), place, axis=0)
    image = op.int64(arange(images)[:, None] * prod(spatial))
    index = op.Add(index, image)
    op.Reshape(index, op.int64(result), output=output)


@decompose("MaxUnpool", opset=10)
def scatter_maxima(node: Node) -> None:
    """The maxima are scattered into zeros of the original shape."""
    op = node.op
    shape, kernel, data = node.need_shape(), node.attr("kernel_shape"), node.input(0)
    strides, pads, half = node.attr("strides", [1] * len(kernel)), _pads(node), len(kernel)
    spatial = [
        (size - 1) * stride - pads[i] - pads[half + i] + length
        for i, (size, stride, length) in enumerate(zip(shape[2:], strides, kernel, strict=True))
    ]
    result = [*shape[:2], *spatial]
    if node.has_input(2) and node.const_input(2, "the output shape").tolist() != result:
        raise Unconvertible("an output shape other than by kernel, strides and pads, which runtimes take in different ways")
    require_few(prod(result))
    zeros = np.zeros(prod(result), helper.tensor_dtype_to_np_dtype(node.need_elem_type()))
    flat = op.int64([-1])
    places, maxima = (op.Reshape(name, flat) for name in (node.input(1), data))
    unpooled = op.Scatter(op.const(zeros, zeros.dtype), places, maxima, axis=0)
    node.become.Reshape(unpooled, op.int64(result))


# Automatic padding.


@upgrade(("AveragePool", "LpPool"), 11)
@downgrade(("AveragePool", "LpPool"), 11)
@upgrade("MaxPool", 12)
@downgrade("MaxPool", 12)
def warn_of_same_padding(node: Node) -> None:
    """Nothing changes. Warns of automatic padding with a stride, which the older specification leaves open."""
    warn_where_length_differs(node)


# The power of LpPool.


@upgrade(("LpPool", "GlobalLpPool"), 2)
def power_to_integer(node: Node) -> None:
    """The attribute p becomes an integer. Refused where it is not a whole number."""
    power = node.attr("p", 2.0)
    if not power.is_integer() or abs(power) >= 2**63:
        raise Unconvertible(f"p={power:g} is not a 64-bit integer, which opset 2 and newer need")
    if node.has_attr("p"):
        node.set_attr("p", int(power))


@downgrade(("LpPool", "GlobalLpPool"), 2)
def power_to_float(node: Node) -> None:
    """The attribute p becomes a float."""
    if node.has_attr("p"):
        node.set_attr("p", float(node.attr("p")))
