"""The layout of com.microsoft.nchwc: channels in blocks of 8 or 16, as the processor wants them that optimized the model.

A value [batch, channels, …] is stored as [batch, blocks, …, block]; the last block is filled up with zeros.
https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/mlas/lib/reorder.cpp
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
from onnx import NodeProto, TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets.facts import Kind, of

DOMAIN = "com.microsoft.nchwc"
_SIZES = (8, 16)
_ENOUGH = 4
"""The numbers that a map needs for the zeros of a block to show where it ends."""
_ALIGNED = 4
"""Numbers of channels that enter blocks are multiples of this."""


def block_of(node: Node) -> int:
    """The number of channels in a block. No file states it, but most show it: by channels that fill an odd number of eights, or by
    the zeros that fill the last block of the weights up.

    Where both numbers fit, it is that of onnxruntime on this processor, with a warning: what it computes of the file here counts.
    Raises Unconvertible where this is unknown.
    """
    left, graph = set(_SIZES), node.graph
    own = graph.block_of_processor
    nodes = graph.as_read(DOMAIN)
    makers = {name: each for each in nodes for name in each.output}
    for each in nodes:
        left.intersection_update(_fitting(node, each, makers.get(next(iter(each.input), ""))))
        if len(left) == 1:
            if own is not None and own not in left:
                node.caution(
                    f"its blocks have {min(left)} channels, and {own} on this processor, where onnxruntime misreads the original"
                )
            return left.pop()
    if own in left and graph.has_all_of(DOMAIN):
        node.caution(
            f"nothing in the file shows how large its blocks of channels are: they are taken to have {own}, as on this processor"
        )
        return own
    raise Unconvertible(
        f"{node.op_type} is laid out for one kind of processor, and nothing in the file shows for which",
        "optimize the model at the level extended (ORT_ENABLE_EXTENDED) instead of all",
    )


def _fitting(node: Node, other: NodeProto, maker: NodeProto | None) -> Iterable[int]:
    """The sizes of blocks that do not contradict the node `other`, whose first input `maker` makes."""
    weights, bias = _weights(node, other), _weights(node, other, 2)
    if weights is not None:
        fitting = [size for size in _SIZES if weights.dims[0] % size == 0 and _takes(node, other, maker, weights.dims, size)]
        may_be_filled_up = bias is None or not node.graph.read(bias)[-1]
        shown = [size for size in fitting if may_be_filled_up and _is_filled_up(node.graph.read(weights), size)]
        return shown[-1:] or fitting
    channels = next((each.i for each in other.attribute if each.name == "channels"), 0)
    made = None if maker is None else _weights(node, maker)
    if made is not None and channels:
        return [size for size in _SIZES if filled(channels, size) == made.dims[0]]
    return _SIZES


def _takes(node: Node, other: NodeProto, maker: NodeProto | None, dims: Sequence[int], size: int) -> bool:
    """Whether the convolution `other` may have weights of this shape in blocks of `size`.

    Groups have whole blocks, or one channel each; without groups, channels are read in blocks where there are enough to fill one.
    """
    groups = next((each.i for each in other.attribute if each.name == "group"), 1)
    fills = dims[1] >= size and dims[1] % size == 0
    if groups != 1:
        return dims[1] == 1 or (fills and dims[0] // max(groups, 1) % size == 0)
    if maker is not None:
        return fills if maker.op_type != "ReorderOutput" else dims[1] < size
    return dims[1] < size if node.graph.is_input(other.input[0]) else fills or dims[1] < size


def _weights(node: Node, other: NodeProto, place: int = 1) -> TensorProto | None:
    """The stored weights of the node `other`, or its bias, in the place 2; None where it has none, or none with elements."""
    tensor = node.graph.tensor(other.input[place]) if len(other.input) > place else None
    if tensor is None or prod(tensor.dims) <= 0:
        return None
    return tensor if (len(tensor.dims) >= 2 if place == 1 else len(tensor.dims) == 1) else None


def _is_filled_up(stored: np.ndarray, block: int) -> bool:
    """Whether zeros fill the last block of maps up, and are nowhere else in it but for channels that are zeros alone.

    With few numbers for each map, and with other zeros among them, blocks of 8 may look like blocks of 16: then nothing is shown.
    """
    last = stored.reshape(stored.shape[0] // block, -1, block)[-1]
    last = last[last.any(axis=1)]
    used = int(last.any(axis=0).sum())
    return len(last) >= _ENOUGH and 0 < used < block and bool(last[:, :used].all())


def missing_channels(node: Node, axis: int) -> int:
    """How many channels the last block lacks of what enters the blocks, with its channels on `axis`."""
    known = node.dimension(axis)
    if isinstance(known, int) and known % max(_SIZES) == 0:
        return 0
    block = block_of(node)
    channels = _channels_of(node, axis, block)
    return filled(channels, block) - channels


def filled(channels: int, block: int) -> int:
    """The number of channels, with those that fill the last block up."""
    return -(-channels // block) * block


def _channels_of(node: Node, axis: int, block: int) -> int:
    """The number of channels, on `axis`, of what enters the blocks: its length or, where this is unknown, the channels by which the
    convolutions that follow multiply with numbers. Where there are others, the result does not run, since no lengths fit then.
    """
    known = node.dimension(axis)
    if isinstance(known, int):
        return known
    convolutions = [reader for reader in node.graph.readers(node.output(0)) if reader.domain == DOMAIN]
    stored = (tensor for tensor in (_weights(node, each) for each in convolutions) if tensor is not None)
    used = max((_used_channels(plain_weights(node.graph.read(tensor), block)) for tensor in stored), default=0)
    return -(-used // _ALIGNED) * _ALIGNED or node.need_dimension(axis)


def _used_channels(weights: np.ndarray) -> int:
    """The number of channels before those that weights [maps, channels, …], or [channels, 1, …], multiply by zeros alone."""
    by_channel = weights if weights.shape[1] == 1 else weights.swapaxes(0, 1)
    (used,) = by_channel.reshape(len(by_channel), -1).any(axis=1).nonzero()
    return 0 if len(used) == 0 else int(used[-1]) + 1


def plain_weights(stored: np.ndarray, block: int) -> np.ndarray:
    """Weights [maps, channels, …] out of blocks of maps, and of channels where there is at least a block of them.

    Raises Unconvertible where the maps do not fill blocks.
    """
    if stored.ndim < 2 or stored.shape[0] % block:
        raise Unconvertible(f"weights of the shape {list(stored.shape)} do not fill blocks of {block}", "correct the model")
    maps, channels, *window = stored.shape
    inner = block if channels % block == 0 else 1
    blocks = stored.reshape(maps // block, channels // inner, *window, inner, block)
    rank = blocks.ndim
    return blocks.transpose(0, rank - 1, 1, rank - 2, *range(2, rank - 2)).reshape(stored.shape)


def require_blocks(node: Node) -> None:
    """Raises Unconvertible where something reads the output that does not leave blocks as they are: it would see them."""
    pending, seen = [node.output(0)], set[str]()
    while pending:
        name = pending.pop()
        seen.add(name)
        if node.graph.is_output(name):
            raise Unconvertible(f"the output '{name}' of the graph is laid out in blocks", "correct the model")
        for reader in node.graph.readers(name):
            if reader.domain != DOMAIN and not _keeps_blocks(reader):
                label = reader.name or reader.output[0]
                raise Unconvertible(f"{reader.op_type} '{label}' reads what {node.op_type} lays out in blocks", "correct the model")
            if reader.domain != DOMAIN:
                pending += [output for output in reader.output if output not in seen]


def _keeps_blocks(node: NodeProto) -> bool:
    fact = of(node.op_type, node.domain)
    return fact.kind is Kind.ELEMENTWISE or (fact.is_variadic and fact.kind is Kind.MOVES)
