"""Reads operators of real numbers that stand between DequantizeLinear and QuantizeLinear, backwards from the latter.

https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html, https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.graph.node import Node
from .quantized import EIGHT_BITS, Quantized, of_each
from .spelled_out import inner, local
from .zero_points import shifts

_LOW, _HIGH = np.float32(-np.inf), np.float32(np.inf)
_OF_A_STEP = 1 / 32
"""The part of a step of the result by which a bias may be rounded."""
_SAME = 1e-5
"""How far the scale of a bias may be from the product of the scales, in parts of it."""


class Computed(NamedTuple):
    """A node of which a QuantizeLinear reads the only result, and what that becomes."""

    by: Node
    made: Quantized


def result(node: Node) -> Quantized | None:
    """How a QuantizeLinear quantizes float with one scale to 8 bits; None where it does anything else."""
    kind = node.elem_type(node.output(0))
    if kind is None or kind not in EIGHT_BITS or {node.elem_type(), node.elem_type(1)} != {TensorProto.FLOAT}:
        return None
    if of_each(node, 1) != 0 or node.attr("block_size", 0) or node.attr("precision", 0) not in (0, TensorProto.FLOAT):
        return None
    return Quantized(node.output(0), *_parameters(node), kind)


def computed(node: Node, op_type: str) -> Computed | None:
    """The node of `op_type` whose result a QuantizeLinear quantizes, but for bounds that are those of the integers."""
    made, name = result(node), node.input(0)
    if made is None:
        return None
    while (bound := inner(node, name, "Relu") or inner(node, name, "Clip")) is not None and _is_idle(node, bound, made):
        name = bound.input(0)
    found = inner(node, name, op_type)
    return None if found is None else Computed(found, made)


def operand(node: Node, name: str) -> Quantized | None:
    """The 8-bit integers of which `name` is the real numbers, with one scale; None where it is anything else."""
    found = local(node, name)
    return _read(node, found) if found is not None and of_each(found, 1) == 0 else None


def in_columns(node: Node, name: str, axis: int) -> Quantized | None:
    """As `operand`, also with a scale for each index of `axis`."""
    found = local(node, name)
    if found is None or found.op_type != "DequantizeLinear" or of_each(found, 1) is None:
        return None
    rank = found.rank()
    if of_each(found, 1) and (rank is None or found.attr("axis", 1) % rank != axis % rank):
        return None
    return _read(node, found)


class Product(NamedTuple):
    """A node that multiplies two dequantized values, and of which a QuantizeLinear reads the only result."""

    by: Node
    left: Quantized
    right: Quantized
    made: Quantized


def product(node: Node, op_type: str, columns: Callable[[Node], int | None]) -> Product | None:
    """The node of `op_type` whose result a QuantizeLinear quantizes, with its operands in types that onnxruntime multiplies; else
    None.

    `columns` tells the axis of the second operand for each index of which there may be a scale; None where one is for all.
    """
    found = computed(node, op_type)
    if found is None:
        return None
    name, axis = found.by.input(1), columns(found.by)
    left, right = operand(node, found.by.input(0)), operand(node, name) if axis is None else in_columns(node, name, axis)
    if left is None or right is None or not _has_kernel(left, right, found.made):
        return None
    return Product(found.by, left, right, found.made)


def _has_kernel(x: Quantized, weights: Quantized, made: Quantized) -> bool:
    """Whether onnxruntime multiplies these types: those of x and the result are the same, and signed weights go with either."""
    return x.kind == made.kind and weights.kind in (x.kind, TensorProto.INT8)


def bias(node: Node, product: Product) -> str | None:
    """The third input of a product in int32, in steps of the product of the constant scales of its factors; "" if there is none.

    None where it has other steps, is computed, or is a number for which those steps, beside the step of the result, are too coarse.
    """
    if not product.by.has_input(2):
        return ""
    name, scales = product.by.input(2), [node.constant(value.scale) for value in (product.left, product.right)]
    if scales[0] is None or scales[1] is None:
        return None
    steps = (scales[0].astype(np.float64) * scales[1].astype(np.float64)).reshape(-1)
    found = local(node, name)
    if found is None or found.op_type != "DequantizeLinear":
        return _rounded(node, name, steps, node.constant(product.made.scale))
    own, rank = found.constant(1), found.rank()
    if rank is None or (rank == 0 and steps.size > 1):
        return None
    if found.elem_type() != TensorProto.INT32 or shifts(found, 2) or own is None or own.size not in (1, steps.size):
        return None
    if own.size > 1 and (found.attr("axis", 1) % rank != rank - 1 or found.attr("block_size", 0)):
        return None
    return found.input(0) if np.allclose(own.reshape(-1), steps, rtol=_SAME, atol=0) else None


def _rounded(node: Node, name: str, steps: np.ndarray, step: np.ndarray | None) -> str | None:
    """A constant in steps, as int32; None where it is none, has more steps than that type, or is rounded too far for `step`."""
    value = node.constant(name)
    if value is None or step is None or value.dtype != np.float32:
        return None
    rounded = np.rint(value.astype(np.float64) / steps)
    fits = np.isfinite(rounded).all() and (abs(rounded) < 2**31).all()
    fits = fits and (abs(rounded * steps - value) <= _OF_A_STEP * abs(step)).all()
    return node.op.const(rounded.astype(np.int32), TensorProto.INT32) if fits else None


def _read(node: Node, found: Node) -> Quantized | None:
    kind = found.elem_type()
    if found.op_type != "DequantizeLinear" or kind is None or kind not in EIGHT_BITS:
        return None
    if found.attr("block_size", 0) or {found.elem_type(1), found.elem_type(found.output(0))} != {TensorProto.FLOAT}:
        return None
    return Quantized(found.input(0), *_parameters(found), kind)


def _parameters(found: Node) -> tuple[str, str]:
    return found.input(1), found.input(2) if found.has_input(2) else ""


def inputs(node: Node, *values: Quantized) -> list[str]:
    """The integers, scale and zero point of each value, as quantized operators take them: a zero point of 0 is stated, and what is
    one for all is a scalar.
    """
    return [name for value in values for name in (value.data, _scalar(node, value.scale), _zero(node, value))]


def _zero(node: Node, value: Quantized) -> str:
    if value.zero:
        return _scalar(node, value.zero)
    shape = node.need_shape(value.scale)
    return node.op.const(np.zeros([] if shape == (1,) else shape), value.kind)


def _scalar(node: Node, name: str) -> str:
    """A scale or zero point; a vector of one element as a scalar, since most kernels take no other."""
    if node.shape(name) != (1,):
        return name
    value = node.constant(name)
    return (
        node.op.Reshape(name, node.op.int64([])) if value is None else node.op.const(value.reshape(()), node.need_elem_type(name))
    )


def _is_idle(node: Node, bound: Node, made: Quantized) -> bool:
    """Whether the bounds of a Relu or Clip are at or beyond those of the integers that are `made`."""
    scale, zero = node.constant(made.scale), node.constant(made.zero) if made.zero else np.zeros(1)
    if scale is None or zero is None or bound.has_attr("min") or bound.has_attr("max") or not (scale > 0).all():
        return False

    def steps(value: float) -> float:
        return float(np.rint(np.float32(value) / scale.reshape(-1)[0]) + int(zero.reshape(-1)[0]))

    least, most = EIGHT_BITS[made.kind]
    if bound.op_type == "Relu":
        return steps(0.0) <= least
    lower, upper = (bound.constant(index) if bound.has_input(index) else limit for index, limit in ((1, _LOW), (2, _HIGH)))
    return lower is not None and upper is not None and steps(lower.item()) <= least and steps(upper.item()) >= most
