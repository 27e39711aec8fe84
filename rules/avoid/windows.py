"""Pooling, convolution and padding where a runtime counts or pads in another way than the specification.

https://onnx.ai/onnx/operators/onnx__AveragePool.html, https://onnx.ai/onnx/operators/onnx__Conv.html,
https://onnx.ai/onnx/operators/onnx__ConvTranspose.html, https://onnx.ai/onnx/operators/onnx__Pad.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import helper

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ..shared.crops import may_cut_what_is_added
from ..shared.same_padding import lengths_along_axes, same_padding, window_lengths, write_pads

_PADDED = ("AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool")


@avoid("AveragePool with count_include_pad", "AveragePool", opset=13)
def pad_first(node: Node) -> None:
    """The padding becomes a separate Pad, so that the average counts it.

    It is exact for all types and lengths, where the padding is stated; with ceil_mode, as for that alone.
    """
    pads = node.attr("pads", [])
    if not node.attr("count_include_pad", 0) or not any(pads):
        return
    if node.attr("auto_pad", "NOTSET") != "NOTSET":
        raise _unstated()
    pad_the_last_window(node)
    if node.attr("count_include_pad", 0):
        _pad(node, pads)


@avoid("AveragePool with ceil_mode", "AveragePool", opset=13)
def pad_the_last_window(node: Node) -> None:
    """What the last windows need behind the axes becomes padding at the end that does not count; padding that counts, a Pad.

    It is right up to the last bits. The lengths of the axes have to be known, and dilations may not need more than the window has.
    """
    if not node.attr("ceil_mode", 0):
        return
    if node.attr("auto_pad", "NOTSET") != "NOTSET":
        raise _unstated()
    kernel, counts = node.attr("kernel_shape"), bool(node.attr("count_include_pad", 0))
    pads = node.attr("pads", [0] * 2 * len(kernel))
    missing = _behind_the_axes(node, pads)
    before, after = _halves([0] * len(pads) if counts else pads)
    behind = [pad + more for pad, more in zip(after, missing, strict=True)]
    if any(missing) and any(pad >= length for pad, length in zip(behind, kernel, strict=True)):
        raise _unstated()  # runtimes refuse padding as long as the window, which only dilations need
    node.pop_attr("ceil_mode")
    node.approximate = True  # the kernel for ceil_mode adds in another order
    if not any(missing):
        return
    if counts and any(pads):
        _pad(node, pads)
    node.pop_attr("count_include_pad")
    node.set_attr("pads", [*before, *behind])


def _unstated() -> Unconvertible:
    return Unconvertible("the padding is automatic, or it has ceil_mode or dilations", "state pads, without the others")


def _behind_the_axes(node: Node, pads: Sequence[int]) -> list[int]:
    """How far the last window reaches beyond the end of each axis and its padding, where ceil_mode is 1.

    A window that would begin behind the axis and the padding in front of it is none.
    """
    sizes, kernel = lengths_along_axes(node)
    ones = [1] * len(kernel)
    missing = []
    axes = zip(sizes, kernel, *_halves(pads), node.attr("strides", ones), node.attr("dilations", ones), strict=True)
    for size, length, before, after, stride, step in axes:
        reach = (length - 1) * step + 1
        last = -(-(size + before + after - reach) // stride) * stride
        if last >= size + before:
            last -= stride
        missing.append(max(last + reach - (size + before + after), 0))
    return missing


@avoid("AveragePool that leaves padding out, exported by pytorch", "AveragePool", opset=13, exact=False)
def weigh_padded(node: Node) -> None:
    """The padding becomes a separate Pad, and the result is multiplied by a factor for windows that reach into it.

    It is right up to the last bits. The lengths of the axes have to be known, and there may be no dilations and no ceil_mode.
    """
    pads, has_dilations = node.attr("pads", []), any(step != 1 for step in node.attr("dilations", []))
    if node.attr("count_include_pad", 0) or not any(pads) or node.graph.exporter != "pytorch":
        return
    if node.attr("auto_pad", "NOTSET") != "NOTSET" or node.attr("ceil_mode", 0) or has_dilations:
        raise _unstated()
    kernel = node.attr("kernel_shape")
    sizes = [node.need_dimension(axis) for axis in range(2, 2 + len(kernel))]
    if any(size + before + after < length for size, before, after, length in zip(sizes, *_halves(pads), kernel, strict=True)):
        raise Unconvertible("the window is longer than the axis with its padding, so the node fails if it runs")
    factor = 1 / _shares(sizes, pads, kernel, node.attr("strides", [1] * len(kernel)))
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    _pad(node, pads)
    output = node.output(0)
    mean = node.detach_output(0, "mean")
    node.after.Mul(mean, node.op.const(factor, dtype), output=output)


def _halves(pads: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The padding in front of each axis, and that behind it."""
    half = len(pads) // 2
    return pads[:half], pads[half:]


def _shares(sizes: Sequence[int], pads: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """The share of each window that is not padding."""
    half = len(pads) // 2
    ones = np.pad(np.ones(sizes), np.reshape(pads, (2, half)).T)
    windows = np.lib.stride_tricks.sliding_window_view(ones, tuple(kernel))
    return windows[tuple(slice(None, None, step) for step in strides)].mean(axis=tuple(range(-len(kernel), 0)))


def _pad(node: Node, pads: Sequence[int]) -> None:
    """Replace the attribute `pads` by a Pad before the node."""
    half = len(pads) // 2
    widths = node.op.int64([0, 0, *pads[:half], 0, 0, *pads[half:]])
    node.set_input(0, node.op.Pad(node.input(0), widths))
    node.pop_attr("count_include_pad")
    node.pop_attr("pads")


@avoid("LpPool with padding", "LpPool", opset=13)
def pad_norm_first(node: Node) -> None:
    """The padding becomes a separate Pad: zeros add nothing to a norm.

    It is exact for all types and lengths, where ceil_mode is 0.
    """
    pads = node.attr("pads", [])
    if not any(pads):
        return
    if node.attr("ceil_mode", 0):
        raise Unconvertible("ceil_mode is 1", "set ceil_mode to 0")
    _pad(node, pads)


@avoid("Global pool of three axes or more", ("GlobalAveragePool", "GlobalMaxPool"), opset=13)
def pool_two_axes(node: Node) -> None:
    """A Reshape before the node turns the pooled axes into two, and a Reshape after it restores the axes of the result.

    The maximum is exact for all types, and the mean up to the last bits. The lengths of the pooled axes have to be known.
    """
    rank = node.need_rank()
    if rank < 5:
        return
    pooled = [node.need_dimension(axis) for axis in range(2, rank)]
    # A 0 copies the length of the input, which has the same batch and channels
    kept = [dim if isinstance(dim, int) else 0 for dim in map(node.dimension, range(2))]
    plane = node.op.int64([*kept, pooled[0], int(np.prod(pooled[1:]))])
    node.set_input(0, node.op.Reshape(node.input(0), plane))
    output = node.output(0)
    result = node.detach_output(0, "of_two_axes")
    node.after.Reshape(result, node.op.int64([*kept, *[1] * len(pooled)]), output=output)


@avoid("Global pool of open lengths", ("GlobalAveragePool", "GlobalMaxPool"), opset=13, exact=False)
def reduce_open_axes(node: Node) -> None:
    """The node becomes a ReduceMean or ReduceMax, where a length of the pooled axes is not known.

    The maximum is exact for all types, and the mean up to the last bits.
    """
    axes = list(range(2, node.need_rank()))
    if all(isinstance(node.dimension(axis), int) for axis in axes):
        return
    reduce = node.become.ReduceMean if node.op_type == "GlobalAveragePool" else node.become.ReduceMax
    reduce(node.input(0), axes=axes, keepdims=1)


@avoid("auto_pad SAME_UPPER", _PADDED, opset=11)
def state_upper_pads(node: Node) -> None:
    """The automatic padding is written out; if it is odd, the larger half is at the end.

    It is exact for all types. The lengths of the axes have to be known, except for ConvTranspose; dilated pools are refused.
    """
    if node.attr("auto_pad", "NOTSET") == "SAME_UPPER":
        write_pads(node, _padding(node))


@avoid("auto_pad SAME_LOWER", _PADDED, opset=11)
def state_lower_pads(node: Node) -> None:
    """The automatic padding is written out; if it is odd, the larger half is at the beginning.

    It is exact for all types. The lengths of the axes have to be known, except for ConvTranspose; dilated pools are refused.
    """
    if node.attr("auto_pad", "NOTSET") == "SAME_LOWER":
        write_pads(node, _padding(node), larger_first=True)


@avoid("ConvTranspose with output_shape", "ConvTranspose", opset=11)
def state_pads(node: Node) -> None:
    """Even automatic padding is written out. Odd padding is refused: the specification contradicts itself about the larger side.

    It is exact for all types. The lengths of the axes have to be known.
    """
    if node.has_attr("output_shape"):
        write_pads(node, _padding(node))


@avoid("ConvTranspose with disputed auto_pad", "ConvTranspose", opset=11)
def refuse_disputed_padding(node: Node) -> None:
    """The node is refused: runtimes disagree about SAME_LOWER with odd padding, and about negative padding."""
    if node.attr("auto_pad", "NOTSET").startswith("SAME") and not node.has_attr("output_shape"):
        _require_agreed(node, _transposed_padding(node))


@avoid("Window along one axis with unequal padding", ("AveragePool", "Conv", "MaxPool"), opset=13)
def with_two_axes(node: Node) -> None:
    """The data gets a second axis of length 1, and the result loses it.

    It is exact for all types and lengths.
    """
    is_automatic = node.attr("auto_pad", "NOTSET").startswith("SAME")
    if (is_automatic or len(set(node.attr("pads", []))) > 1) and node.need_rank() == 3:
        _add_axis(node)


@avoid("ConvTranspose with dilations", "ConvTranspose", opset=13)
def spread_weights(node: Node) -> None:
    """Zeros between the weights take the place of the dilations.

    It is exact for all types and finite numbers. The weights have to be constant.
    """
    dilations = node.attr("dilations", [])
    if all(step == 1 for step in dilations):
        return
    weights = node.const_input(1, "the weights")
    stated = node.attr("kernel_shape", list(weights.shape[2:]))
    if stated != list(weights.shape[2:]):
        raise Unconvertible(f"kernel_shape is {stated}, and the shape of the weights {list(weights.shape)}", "correct the model")
    kernel = [(size - 1) * step + 1 for size, step in zip(weights.shape[2:], dilations, strict=True)]
    spread = np.zeros((*weights.shape[:2], *kernel), weights.dtype)
    spread[(..., *(slice(None, None, step) for step in dilations))] = weights
    node.set_input(1, node.op.const(spread, spread.dtype))
    node.pop_attr("dilations")
    if node.has_attr("kernel_shape"):
        node.set_attr("kernel_shape", kernel)


@avoid("ConvTranspose with unequal padding", "ConvTranspose", opset=13)
def cut_result(node: Node) -> None:
    """A Slice after the node cuts off what the padding does.

    It is exact for all types and lengths. Where output_shape decides the padding, the node stays.
    """
    begins, ends = _halves(node.attr("pads", []))
    if begins == ends or node.has_attr("output_shape"):
        return
    node.pop_attr("pads")
    op, output = node.op, node.output(0)
    last = [-width if width else np.iinfo(np.int64).max for width in ends]
    node.after.Slice(
        node.detach_output(0, "uncut"),
        op.int64(begins),
        op.int64(last),
        op.int64([axis + 2 for axis in range(len(begins))]),
        output=output,
    )


@avoid("Conv along one axis", "Conv", opset=13)
@avoid("ConvTranspose along one axis", "ConvTranspose", opset=13)
def convolve_two_axes(node: Node) -> None:
    """The data gets a second axis of length 1, and the result loses it.

    It is exact for all types and lengths.
    """
    if node.need_rank() == 3:
        _add_axis(node)


_OF_ONE_AXIS = {"dilations": 1, "kernel_shape": 1, "output_padding": 0, "output_shape": 1, "strides": 1}
"""What the attributes of a node with windows are for an axis of length 1."""


def _add_axis(node: Node) -> None:
    """Let a node with one spatial axis have one of length 1 before it."""
    axes = node.op.int64([2])
    for index in range(1 if facts.of(node.op_type).kind is facts.Kind.POOLS else 2):
        weights = node.constant(index)
        wider = node.op.Unsqueeze(node.input(index), axes) if weights is None else node.op.const(weights[:, :, None], weights.dtype)
        node.set_input(index, wider)
    for name, value in _OF_ONE_AXIS.items():
        if node.has_attr(name):
            node.set_attr(name, [value, *node.attr(name)[-1:]])
    if pads := node.attr("pads", []):
        node.set_attr("pads", [0, pads[0], 0, pads[1]])
    for index, output in enumerate(node.outputs):
        if output:
            node.after.Squeeze(node.detach_output(index, "of_two_axes"), axes, output=output)


def _padding(node: Node) -> list[int]:
    """The total padding of each axis. Raises Unconvertible where the specification leaves it open, or is not what runtimes do."""
    if facts.of(node.op_type).kind is facts.Kind.POOLS and any(step > 1 for step in node.attr("dilations", [])):
        node.meaning("automatic padding is that of the dilated window", "pads as if the window were not dilated")
        raise Unconvertible(
            f"ceil_mode or dilations together with auto_pad={node.attr('auto_pad')}", "write the padding out as pads"
        )
    if node.op_type != "ConvTranspose":
        return same_padding(node)
    totals = _transposed_padding(node)
    _require_agreed(node, totals)
    return totals


def _transposed_padding(node: Node) -> list[int]:
    """The total padding, which ConvTranspose cuts off: the result has output_shape, or is as long as the input times the stride.

    The lengths of the input matter for an output_shape only.
    """
    kernel = window_lengths(node)
    ones, zeros = [1] * len(kernel), [0] * len(kernel)
    dilations, strides, extra = node.attr("dilations", ones), node.attr("strides", ones), node.attr("output_padding", zeros)
    beyond = [
        more + (length - 1) * dilation + 1 - stride
        for more, length, dilation, stride in zip(extra, kernel, dilations, strides, strict=True)
    ]
    wanted = node.attr("output_shape")
    if not wanted:
        return beyond
    sizes, _ = lengths_along_axes(node)
    outputs = zip(beyond, sizes, strides, wanted[-len(kernel) :], strict=True)
    return [total + size * stride - out for total, size, stride, out in outputs]


def _require_agreed(node: Node, totals: Sequence[int]) -> None:
    """Raises Unconvertible where runtimes disagree: a total is negative, or odd without SAME_UPPER of opset 11 and later."""
    wanted = node.attr("output_shape")
    is_upper = node.attr("auto_pad", "NOTSET") == "SAME_UPPER" and node.opset >= 11 and not wanted
    if any(total < 0 or (total % 2 and not is_upper) for total in totals):
        what = f"output_shape {wanted}" if wanted else f"auto_pad {node.attr('auto_pad')}"
        raise Unconvertible(f"{what} needs a padding of {list(totals)}, which is odd or negative", "state pads instead")


@avoid("Pad by negative numbers", "Pad", opset=13)
def cut_by_slice(node: Node) -> None:
    """Negative padding becomes a Slice that cuts off the elements.

    It stands behind the Pad if an axis may be shorter than what is cut off, so that it cuts off what is added to the other side.
    That is exact for all types and lengths. Modes other than constant are refused. Padding that is computed at run time is taken
    to add elements only.
    """
    widths = node.attr("pads") if node.has_attr("pads") else _constant_widths(node)
    if all(width >= 0 for width in widths):
        return
    if node.has_input(3) or node.attr("mode", "constant") != "constant":
        raise Unconvertible("the padding is negative, and computed at run time or given for some axes only", "use a Slice instead")
    half = len(widths) // 2
    sides = zip(widths[:half], widths[half:], strict=True)
    is_cut_last = any(may_cut_what_is_added(node.dimension(axis), *own) for axis, own in enumerate(sides))
    bounds = node.op.int64([max(0, -width) for width in widths[:half]]), node.op.int64(_ends(widths[half:]))
    if not is_cut_last:
        node.set_input(0, node.op.Slice(node.input(0), *bounds))
    kept = [max(0, width) for width in widths]
    if node.has_attr("pads"):
        node.set_attr("pads", kept)
    else:
        node.set_input(1, node.op.int64(kept))
    if is_cut_last:
        output = node.output(0)
        padded = node.detach_output(0, "padded")
        node.after.Slice(padded, *bounds, output=output)


@avoid("Pad by copies, not of an image", "Pad", opset=13)
def pad_as_image(node: Node) -> None:
    """The data gets axes of length 1 in front, so that there are four, and the result loses them.

    It is exact for all types and lengths. The padding has to be constant; only the last two axes may be padded.
    """
    if node.attr("mode", "constant") == "constant" or node.has_input(3):
        return
    rank, op, output = node.need_rank(), node.op, node.output(0)
    widths = node.attr("pads") if node.has_attr("pads") else node.const_input(1, "the padding")
    begins, ends = _halves([int(width) for width in widths])
    if rank > 4 or any(begins[:-2]) or any(ends[:-2]):
        raise Unconvertible(f"it pads by {node.attr('mode')}, and not the last two of four axes", "change the order of the axes")
    if rank == 4:
        return
    missing = [0] * (4 - rank)
    pads = [*missing, *begins, *missing, *ends]
    if node.has_attr("pads"):
        node.set_attr("pads", pads)
    else:
        node.set_input(1, op.int64(pads))
    axes = op.int64(list(range(4 - rank)))
    node.set_input(0, op.Unsqueeze(node.input(0), axes))
    node.after.Squeeze(node.detach_output(0, "of_four_axes"), axes, output=output)


def _ends(widths: Sequence[int]) -> list[int]:
    """Where a Slice ends that cuts off what is negative among the `widths` at the end."""
    return [width if width < 0 else np.iinfo(np.int64).max for width in widths]


def _constant_widths(node: Node) -> list[int]:
    """The constant padding; an empty list where it is computed. In all models seen so far, computed padding only adds elements."""
    widths = node.constant(1)
    return [] if widths is None else [int(width) for width in widths]


@avoid("Conv of one element with padding", "Conv", opset=13)
def pad_before_one_element(node: Node) -> None:
    """The padding becomes a separate Pad.

    It is exact for all types and lengths, where the padding is stated.
    """
    pads = node.attr("pads", [])
    if not any(pads) or node.attr("auto_pad", "NOTSET") != "NOTSET":
        return
    kernel = node.attr("kernel_shape") or node.need_shape(1)[2:]
    if all(length == 1 for length in kernel):
        _pad(node, pads)
