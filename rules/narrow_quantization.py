"""QuantizeLinear and DequantizeLinear for types that the target lacks, computed in wider types that it has.

Integers of 4 or 2 bits are quantized to 8 bits and clipped. For floating-point types, the operators accept no wider type, so
quantization becomes a division with rounding, and dequantization a multiplication.
https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html, https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import widen
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.integers import BITS
from .shared.rounding import FLOAT8, FLOAT8E8M0, FORMATS, become_value, rounded
from .shared.saturating import RANGES
from .shared.scales import along_axis, of_each_index
from .shared.typed import type_name

_SCALE, _ZERO = 1, 2
"""The positions of the scale and the zero point in the inputs."""


@widen("QuantizeLinear")
def quantize_to_wider_type(node: Node) -> None:
    """Values quantized to a type that the target lacks become the same numbers in a wider type."""
    kind = node.elem_type(node.output(0)) or TensorProto.UINT8
    scale = node.need_elem_type(_SCALE)
    if scale == TensorProto.BFLOAT16 and node.wider(scale) != scale and node.rounds_to(scale):
        raise Unconvertible("it divides in bfloat16, and in a wider type the result would not be the same to the last bit")
    if kind in RANGES and node.wider(kind) != kind:
        _clip_to(node, kind)
    elif node.wider(kind) != kind:
        _divide_and_round(node, kind)


def _divided_in(node: Node) -> int:
    """The type in which a QuantizeLinear divides: float before opset 23, then that of `precision`, or else of the scale."""
    said = node.attr("precision", 0) or (node.need_elem_type(_SCALE) if node.opset >= 23 else TensorProto.FLOAT)
    return TensorProto.FLOAT if said == FLOAT8E8M0 else said


def _clip_to(node: Node, kind: int) -> None:
    """Quantize to the wider type, which includes the range of `kind`, and clip to that range."""
    wide = node.wider(kind)
    if node.has_attr("output_dtype"):
        node.set_attr("output_dtype", wide)
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    bounds = [node.op.const(bound, dtype) for bound in RANGES[kind]]
    output = node.output(0)
    node.after.Clip(node.detach_output(0, "unclipped"), *bounds, output=output)


def _divide_and_round(node: Node, kind: int) -> None:
    """Turn the node into x / scale, rounded to the floating-point type `kind`."""
    if kind not in FORMATS:
        raise Unconvertible(f"older operators cannot round to {type_name(kind)}")
    _require_no_zero_point(node)
    work = _divided_in(node)
    if work not in (TensorProto.FLOAT, TensorProto.FLOAT16):
        raise Unconvertible(f"it divides in {type_name(work)}, which is not written out for {type_name(kind)}")
    x = _cast(node, node.input(0), node.wider(node.need_elem_type()), work)
    scale = _cast(node, _spread(node), node.wider(node.need_elem_type(_SCALE)), work)
    quotient = _cast(node, node.op.Div(x, scale), work, TensorProto.FLOAT)
    y = rounded(node, quotient, kind, saturate=kind not in FLOAT8 or bool(node.attr("saturate", 1)))
    node.become.Cast(y, to=node.wider(kind))


@widen("DequantizeLinear")
def dequantize_from_wider_type(node: Node) -> None:
    """Values dequantized from or to a floating-point type that the target lacks are computed in float."""
    source, scale = node.need_elem_type(), node.need_elem_type(_SCALE)
    kind = node.attr("output_dtype", 0) or scale
    if source in FORMATS and node.wider(source) != source:
        product, held = _product(node, scale, kind)
    elif node.wider(kind) == kind:
        return
    else:
        product, held = _dequantized(node, source, kind), TensorProto.FLOAT
    if node.wider(kind) != kind:
        product = rounded(node, product, kind)
    if node.wider(kind) == held:
        become_value(node, product)
    else:
        node.become.Cast(product, to=node.wider(kind))


def _product(node: Node, scale: int, kind: int) -> tuple[str, int]:
    """x * scale, for an output of type `kind`, and the type in which it is computed."""
    _require_no_zero_point(node)
    work = TensorProto.FLOAT16 if scale == kind == TensorProto.FLOAT16 else TensorProto.FLOAT
    x = _cast(node, node.input(0), node.wider(node.need_elem_type()), work)
    factor = _cast(node, _spread(node), node.wider(scale), work)
    return node.op.Mul(x, factor), work


def _dequantized(node: Node, source: int, kind: int) -> str:
    """The product, in float, of integers of up to 16 bits and a scale of type `kind`, which is exact for bfloat16."""
    if kind != TensorProto.BFLOAT16 or BITS.get(node.wider(source), 32) > 8:
        raise Unconvertible(f"an output of {type_name(kind)} for x of {type_name(source)} is new in opset 19")
    attributes = {name: node.attr(name) for name in ("axis", "block_size")}
    return node.op.DequantizeLinear(*node.inputs, **attributes)


def _require_no_zero_point(node: Node) -> None:
    """Raises Unconvertible where there is a zero point other than zero, which has no defined meaning for floating-point types."""
    if node.has_input(_ZERO) and np.asarray(node.const_input(_ZERO, "the zero point"), np.float32).any():
        raise Unconvertible("a zero point of a floating-point type has to be 0")


def _cast(node: Node, name: str, held: int, kind: int) -> str:
    return name if held == kind else node.op.Cast(name, to=kind)


def _spread(node: Node) -> str:
    """The scale of the node, in a shape that broadcasts to x."""
    block = node.attr("block_size", 0)
    if not block or node.need_rank(_SCALE) == 0:
        return along_axis(node, _SCALE)
    (axis,) = from_the_front([node.attr("axis", 1)], node.need_rank())
    return of_each_index(node, node.input(_SCALE), axis, block)
