"""Removes Splits that are not needed: of constants, into one part, of a part of another Split, or undone by a Concat.

A Split cannot be made smaller because an output is not read: sizes must cover the whole dimension, and num_outputs counts parts
without a name. A Split is removed if none of its parts is read.
https://onnx.ai/onnx/operators/onnx__Split.html, https://onnx.ai/onnx/operators/onnx__Concat.html
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from onnx import TensorProto, numpy_helper

from ...rewriter.engine.registry import simplify
from ...rewriter.graph.node import Node
from ..shared.sequence_origin import parts_of_one_split, same_axis
from ..shared.split_sizes import equal_sizes, explicit_sizes, known_sizes, name_outputs, part_count, state_sizes

MAX_SHARED = 1024
"""The size in bytes of the largest constant with other uses that is split: its parts are copies, and the file grows by as much."""
MAX_COPIED = 65_536
"""The size in bytes of the largest constant whose parts are copied, because they are not contiguous in the
payload, or cannot be initializers.
"""
_CONSTANT_OR_PART = frozenset({"Constant", "Split"})
_PART = frozenset({"Split", "Squeeze"})
"""The operators whose results these rules look for: a constant or a part of another Split, and a part that may be squeezed."""


def _has_one_output(node: Node) -> bool:
    """Whether the Split has a single named output."""
    return len(node.outputs) == 1


def _computes_sizes(node: Node) -> bool:
    """Whether the sizes are computed by a node."""
    return node.has_input(1) and not node.graph.may_be_stored(node.input(1))


def _splits_a_constant_or_part(node: Node) -> bool:
    """Whether the data may be a constant, or a part of another Split."""
    data, graph = node.input(0), node.graph
    return graph.maker_type(data, _CONSTANT_OR_PART) is not None or graph.may_be_stored(data)


def _starts_with_a_part(node: Node) -> bool:
    """Whether the first input of the Concat may be a part of a Split."""
    return node.graph.maker_type(node.input(0), _PART) is not None


@simplify("Split", opset=13, when=_has_one_output)
def single_part(node: Node) -> None:
    """A Split into one part becomes its input."""
    if part_count(node) != 1 or len(node.outputs) != 1:
        return
    node.forward(0, node.input(0))
    node.remove()


@simplify("Split", opset=13, when=_computes_sizes)
def literal_sizes(node: Node) -> None:
    """Sizes that are computed from constants become a stored constant."""
    maker = node.maker(1)
    if node.opset < 13 or maker is None or maker.op_type == "Constant":
        return
    sizes = explicit_sizes(node)
    if sizes is not None:
        node.set_input(1, node.op.int64(sizes))


@simplify("Split", opset=13, when=_splits_a_constant_or_part)
def parts_of_constant(node: Node) -> None:
    """A Split of a constant becomes its parts, as constants."""
    tensor = _stored(node)
    if tensor is None:
        return
    axis, sizes = node.attr("axis", 0), known_sizes(node)
    if not -len(tensor.dims) <= axis < len(tensor.dims) or sizes is None or not _fit(sizes, tensor.dims[axis]):
        return
    axis %= len(tensor.dims)
    if not _may_store_parts(node, tensor, is_contiguous=math.prod(tensor.dims[:axis]) == 1):
        return
    parts = [_part(node, tensor, axis, end - size, size) for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]
    if any(part.data_type != tensor.data_type for part in parts):
        return  # an old onnx reads some types as others
    for index, part in enumerate(parts[: len(node.outputs)]):
        name = node.add_tensor(part)
        node.graph.release(name)
        node.forward(index, name)
    node.remove()


def _stored(node: Node) -> TensorProto | None:
    """The data as a stored tensor, from an initializer or a Constant node; else None."""
    tensor = node.graph.tensor(node.input(0))
    maker = node.maker()
    if tensor is not None or maker is None or maker.op_type != "Constant":
        return tensor
    values = [attribute.t for attribute in maker.proto.attribute if attribute.name == "value" and not attribute.ref_attr_name]
    return values[0] if values else None


def _fit(sizes: list[int], dimension: int) -> bool:
    """Whether `sizes` are valid and add up to `dimension`."""
    return min(sizes) >= 0 and sum(sizes) == dimension


def _may_store_parts(node: Node, tensor: TensorProto, *, is_contiguous: bool) -> bool:
    """Whether the parts may be stored: the file must not grow by more than the limits above, whether the constant stays or goes."""
    is_text = tensor.data_type == TensorProto.STRING
    size = sum(map(len, tensor.string_data)) if is_text else node.graph.byte_length(tensor)
    name = node.graph.resolve(node.input(0))
    stays = node.graph.is_input(name) or not node.graph.is_read_once(name)
    if stays:
        return size <= MAX_SHARED
    return size <= MAX_COPIED or (is_contiguous and not is_text and node.graph.takes_initializers)


def _part(node: Node, tensor: TensorProto, axis: int, start: int, size: int) -> TensorProto:
    """`size` rows of `tensor` along `axis`, starting at `start`."""
    graph, name = node.graph, node.fresh_name("part")
    if math.prod(tensor.dims[:axis]) != 1 or tensor.data_type == TensorProto.STRING:
        rows = np.take(graph.read(tensor), range(start, start + size), axis)
        return numpy_helper.from_array(rows, name)
    row = math.prod(tensor.dims[axis + 1 :])
    dims = [*tensor.dims[:axis], size, *tensor.dims[axis + 1 :]]
    return graph.part_of(tensor, range(start * row, (start + size) * row), dims, name)


@simplify("Split", opset=13, when=_splits_a_constant_or_part)
def split_of_part(node: Node) -> None:
    """A Split of a part that nothing else reads is merged into the Split that makes it."""
    part = node.input(0)
    outer = _outer_split(node, part)
    sizes = None if outer is None else known_sizes(outer)
    if outer is None or sizes is None or not same_axis(node.attr("axis", 0), outer.attr("axis", 0), outer.rank()):
        return
    at = outer.outputs.index(part)
    inner = _sizes_of_part(node, sizes[at])
    if inner is None or not _fit(inner, sizes[at]):
        return
    _name_all_parts(outer)
    _name_all_parts(node)
    outputs = [*outer.outputs[:at], *node.outputs, *outer.outputs[at + 1 :]]
    outer.proto.output[:] = outputs
    state_sizes(outer, [*sizes[:at], *inner, *sizes[at + 1 :]])
    outer.renew()
    node.remove()


def _outer_split(node: Node, part: str) -> Node | None:
    """The Split in the same graph that makes `part`, if `node` is the only reader and the Split can get other sizes; else None."""
    outer = node.maker()
    if outer is None or outer.op_type != "Split" or part not in outer.outputs or not node.graph.defines(part):
        return None
    can_state_sizes = outer.opset < 13 or node.graph.takes_initializers
    return outer if can_state_sizes and node.graph.is_read_once(part) else None


def _sizes_of_part(node: Node, dimension: int) -> list[int] | None:
    """The sizes of the parts of `node`, whose axis has the length `dimension`; None where they are unknown."""
    if node.has_attr("split") or node.has_input(1):
        return explicit_sizes(node)
    return equal_sizes(dimension, part_count(node))


def _name_all_parts(node: Node) -> None:
    """Name the parts without a name."""
    for index in range(len(node.outputs), part_count(node)):
        node.set_output(index, node.fresh_name(f"part{index}"))
    name_outputs(node)


@simplify("Concat", opset=13, when=_starts_with_a_part)
def concat_of_parts(node: Node) -> None:
    """A Concat of all parts of a Split, in order and along its axis, becomes the data that was split."""
    parts = parts_of_one_split(node, [node.graph.resolve(name) for name in node.inputs])
    if parts is None or parts.squeezed or not same_axis(node.attr("axis", 1), parts.axis, parts.node.rank()):
        return
    node.forward(0, parts.data)
    node.remove()
