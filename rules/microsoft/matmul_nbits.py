"""MatMulNBits: MatMul with weights of 2, 4 or 8 bits, of which each block of a row has a scale and a zero point.

The weights are a matrix [N, K] packed into bytes, low bits first, in rows of blocks. From opset 21 on they stay packed, as uint4
with DequantizeLinear by blocks; before, they are stored as uint8, with a scale for each block of `block_size` elements.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import contrib

_A, _B, _SCALES, _ZEROS, _GROUPS, _BIAS = range(6)
_UINT2 = 25
"""The number of TensorProto.UINT2, which older versions of onnx do not name."""
_PACKED = {2: _UINT2, 4: int(TensorProto.UINT4), 8: int(TensorProto.UINT8)}
_TO_INT8 = 4
"""The accuracy_level at which onnxruntime rounds the first operand to 8 bits."""
_CORRECT = "correct the model"


class _Form(NamedTuple):
    """The matrix of weights: its rows N and columns K, and the blocks of each row."""

    bits: int
    rows: int
    columns: int
    block: int

    @property
    def blocks(self) -> int:
        """The number of blocks of a row; the last one may be longer than the row."""
        return -(-self.columns // self.block)

    @property
    def stored(self) -> int:
        """The number of elements that are stored of each row."""
        return self.blocks * self.block


@contrib("MatMulNBits", opset=21, sums=True)
def multiply_by_packed_weights(node: Node) -> None:
    """The weights become a stored tensor behind DequantizeLinear, and the node MatMul by their Transpose, and Add of the bias.

    With accuracy_level=4 onnxruntime rounds the other operand to 8 bits; the result does not. Where a block is a whole row, the
    weights are computed by arithmetic: of a DequantizeLinear, onnxruntime would make a MatMulNBits with accuracy_level=4.
    """
    op, form = node.op, _form(node)
    is_whole = form.blocks == 1 and not _stays_packed(node, form)
    weights = _arithmetic(node, form) if is_whole or _is_irregular(node, form) else _dequantized(node, form)
    if form.stored != form.columns:
        weights = op.Slice(weights, op.int64([0]), op.int64([form.columns]), op.int64([1]))
    product = op.MatMul(node.input(_A), op.Transpose(weights, perm=[1, 0]))
    node.rounds = node.attr("accuracy_level", 0) == _TO_INT8
    node.give(op.Add(product, node.input(_BIAS)) if node.has_input(_BIAS) else product)


def _form(node: Node) -> _Form:
    form = _Form(node.attr("bits", 4), node.attr("N"), node.attr("K"), node.attr("block_size"))
    if form.bits not in _PACKED or min(form[1:]) < 1 or form.block * form.bits % 8:
        raise Unconvertible(f"MatMulNBits has no weights of {form.bits} bits in blocks of {form.block}", _CORRECT)
    if node.attr("weight_prepacked", 0):
        raise Unconvertible("the weights of MatMulNBits are packed for one kind of GPU", "make the model without weight_prepacked")
    if node.has_input(_ZEROS) and node.has_input(_GROUPS):
        raise Unconvertible("MatMulNBits has g_idx and zero points, which onnxruntime ignores then", "quantize without g_idx")
    stored = node.graph.tensor(node.input(_B))
    if stored is None:
        raise Unconvertible(f"the weights '{node.input(_B)}' are computed at run time", "make them an initializer")
    if prod(stored.dims) * 8 != form.rows * form.stored * form.bits:
        raise Unconvertible(f"the weights '{node.input(_B)}' do not have the size that the attributes state", _CORRECT)
    return form


def _is_irregular(node: Node, form: _Form) -> bool:
    """Whether the zero points are real numbers, or each column says to which block it belongs."""
    if node.has_input(_ZEROS) and node.need_elem_type(_ZEROS) != TensorProto.UINT8:
        return True
    return node.has_input(_GROUPS) and not _is_regular(node, form)


def _stays_packed(node: Node, form: _Form) -> bool:
    """Whether the target has integers of 4 bits, which DequantizeLinear reads by blocks."""
    return form.bits == 4 and node.target >= 21


def _is_regular(node: Node, form: _Form) -> bool:
    """Whether the columns belong to the blocks in which they are."""
    groups = node.constant(_GROUPS)
    return groups is not None and np.array_equal(groups, np.arange(groups.size) // form.block)


def _dequantized(node: Node, form: _Form) -> str:
    """The weights, of shape [N, stored], by DequantizeLinear: of blocks, or of each block as a row of its own."""
    op, zeros = node.op, _zero_points(node, form)
    if _stays_packed(node, form):
        stored = _weights(node, form, [form.rows, form.stored], is_packed=True)
        scale, zero = _shaped(node, _SCALES, [form.rows, form.blocks]), op.const(zeros, TensorProto.UINT4)
        return op.DequantizeLinear(stored, scale, zero, axis=1, block_size=form.block)
    stored = _weights(node, form, [form.rows * form.blocks, form.block], is_packed=False)
    scale = _shaped(node, _SCALES, [form.rows * form.blocks])
    real = op.DequantizeLinear(stored, scale, op.const(zeros.reshape(-1), TensorProto.UINT8), axis=0)
    return op.Reshape(real, op.int64([form.rows, form.stored]))


def _arithmetic(node: Node, form: _Form) -> str:
    """The weights, of shape [N, stored], as (q - zero point) · scale."""
    op, kind = node.op, node.need_elem_type(_A)
    whole, each = [form.rows, form.stored], [form.rows, form.blocks]
    if node.has_input(_ZEROS) and node.need_elem_type(_ZEROS) != TensorProto.UINT8:
        zeros = _shaped(node, _ZEROS, each)
    else:
        zeros = op.const(_zero_points(node, form), kind)
    scales = _shaped(node, _SCALES, each)
    if node.has_input(_GROUPS):
        if node.need_dimension(0, _GROUPS) != form.stored:
            raise Unconvertible("g_idx of MatMulNBits does not name a block for each stored column", "quantize without g_idx")
        integers = op.Cast(_weights(node, form, whole, is_packed=False), to=kind)
        zeros, scales = (op.Gather(name, node.input(_GROUPS), axis=1) for name in (zeros, scales))
        return op.Mul(op.Sub(integers, zeros), scales)
    integers = op.Cast(_weights(node, form, [*each, form.block], is_packed=False), to=kind)
    zeros, scales = (op.Unsqueeze(name, op.int64([2])) for name in (zeros, scales))
    return op.Reshape(op.Mul(op.Sub(integers, zeros), scales), op.int64(whole))


def _weights(node: Node, form: _Form, dims: list[int], *, is_packed: bool) -> str:
    """The name of the stored integers, as a tensor of shape `dims`: packed, or as uint8."""
    stored, name = node.graph.tensor(node.input(_B)), node.fresh_name("weights")
    assert stored is not None
    wide = 0 if is_packed or form.bits == 8 else int(TensorProto.UINT8)
    return node.add_tensor(node.graph.unpacked(stored, _PACKED[form.bits], dims, name, wide))


def _shaped(node: Node, index: int, dims: list[int]) -> str:
    """Input `index` in the shape `dims`, of as many elements."""
    stored, name = node.graph.tensor(node.input(index)), node.input(index)
    if list(node.shape(index) or ()) == dims:
        return name
    if stored is None:
        return node.op.Reshape(name, node.op.int64(dims))
    if prod(stored.dims) != prod(dims):
        raise Unconvertible(f"'{name}' does not have a number for each block of weights", _CORRECT)
    return node.add_tensor(node.graph.part_of(stored, range(prod(dims)), dims, node.fresh_name("blocks")))


def _zero_points(node: Node, form: _Form) -> np.ndarray:
    """The zero point of each block, of shape [N, blocks]: each row of them is packed into bytes of its own."""
    if not node.has_input(_ZEROS):
        return np.full((form.rows, form.blocks), 1 << (form.bits - 1), np.uint8)
    packed = node.constant(_ZEROS)
    length = -(-form.blocks * form.bits // 8)
    if packed is None or packed.size != form.rows * length:
        raise Unconvertible(f"the zero points '{node.input(_ZEROS)}' are not one for each block of weights", _CORRECT)
    bits = np.unpackbits(packed.reshape(form.rows, length), axis=1, bitorder="little").reshape(form.rows, -1, form.bits)
    return np.packbits(bits, axis=2, bitorder="little")[:, : form.blocks, 0]
