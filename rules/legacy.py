"""Experimental operators of ONNX's first releases, which exporters of 2017 and 2018 wrote. None of them ever was in an opset.

Those with a meaning become what it is in onnxruntime, which computed most of them in models before opset 10, or what
their text says; the others are refused.

https://github.com/onnx/onnx/blob/v1.2.2/docs/Operators.md#experimental-ops
"""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import adopt
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING

_INT64 = TensorProto.INT64


@adopt("Affine", opset=7, exact=False)
def scale_and_shift(node: Node) -> None:
    """alpha * x + beta."""
    _require_one_input(node)
    node.give(_shifted(node, _scaled(node, node.input(0), node.attr("alpha", 1.0)), node.attr("beta", 0.0)))


@adopt("Scale", opset=7)
def scale(node: Node) -> None:
    """scale * x."""
    _require_one_input(node)
    node.give(_scaled(node, node.input(0), node.attr("scale", 1.0)))


@adopt("ImageScaler", opset=7, exact=False)
def scale_image(node: Node) -> None:
    """scale * x + bias, with a bias for each channel."""
    _require_one_input(node)
    bias = node.attr("bias")
    channels = None if bias is None else len(bias)
    size = node.dimension(1)
    if bias is None or node.rank() not in (4, None) or (isinstance(size, int) and size != channels):
        raise _refusal(node, "needs images of four axes and a bias for each channel")
    shift = node.op.const(np.reshape(bias, (-1, 1, 1)), node.need_elem_type())
    node.become.Add(_scaled(node, node.input(0), node.attr("scale", 1.0)), shift)


@adopt("ParametricSoftplus", opset=7, exact=False)
def parametric_softplus(node: Node) -> None:
    """alpha * log(1 + exp(beta * x))."""
    alpha, beta = _alpha_and_beta(node)
    node.give(_scaled(node, node.op.Softplus(_scaled(node, node.input(0), beta)), alpha))


@adopt("ScaledTanh", opset=7, exact=False)
def scaled_tanh(node: Node) -> None:
    """alpha * tanh(beta * x)."""
    alpha, beta = _alpha_and_beta(node)
    node.give(_scaled(node, node.op.Tanh(_scaled(node, node.input(0), beta)), alpha))


@adopt("Crop", opset=10)
def crop(node: Node) -> None:
    """The node becomes a Slice of height and width: without the borders, or of the size `scale` behind the left and the top one."""
    _require_one_input(node)
    border, size = list(node.attr("border", [])), list(node.attr("scale", []))
    if len(border) != 4 or min(border) < 0 or len(size) not in (0, 2) or node.rank() not in (4, None):
        raise _refusal(node, "needs images of four axes, four borders, and a height and width if it has a scale")
    left, top, right, bottom = border
    ends = [top + size[0], left + size[1]] if size else [-bottom or _END, -right or _END]
    _require_fitting(node, [top, left], ends)
    node.become.Slice(node.input(0), node.op.int64([top, left]), node.op.int64(ends), node.op.int64([2, 3]))


_END = (1 << 63) - 1
"""The end of a Slice that goes to the end of the axis."""


def _require_fitting(node: Node, starts: list[int], ends: list[int]) -> None:
    """Raises Unconvertible where the image is smaller than what is cut from it, which a Slice would let pass."""
    for axis, start, end in zip((2, 3), starts, ends, strict=True):
        size = node.dimension(axis)
        if isinstance(size, int) and end != _END and (end > size or end + size * (end < 0) < start):
            raise _refusal(node, f"cannot take more than the {size} elements of axis {axis}")


@adopt("DynamicSlice", opset=10)
def slice_by_inputs(node: Node) -> None:
    """The node becomes a Slice, which has taken its bounds from inputs since opset 10."""
    if not 3 <= len(node.inputs) <= 4:
        raise _refusal(node, "has three or four inputs")
    node.become.Slice(*node.inputs)


@adopt("ConstantFill", opset=9)
def fill(node: Node) -> None:
    """The node becomes ConstantOfShape: of the shape in an attribute, of an input's shape, or of the shape that an input holds."""
    kind, value = node.attr("dtype", TensorProto.FLOAT), node.attr("value", 0.0)
    if kind not in (*FLOATING, _INT64, TensorProto.INT32, TensorProto.BOOL):
        raise _refusal(node, f"does not fill with element type {kind}")
    if kind not in FLOATING:
        value = bool(value) if kind == TensorProto.BOOL else int(value)
    node.become.ConstantOfShape(_shape_to_fill(node), value=helper.make_tensor("", kind, [1], [value]))


@adopt("GivenTensorFill", opset=7)
def given_tensor(node: Node) -> None:
    """The node becomes a constant with the values and the shape of its attributes."""
    values, shape = node.attr("values", []), list(node.attr("shape", []))
    if node.inputs or node.attr("extra_shape") or not shape or math.prod(shape) != len(values):
        raise _refusal(node, "is known only with a shape in an attribute, and as many values")
    node.become.Constant(value=helper.make_tensor("", TensorProto.FLOAT, shape, values))


@adopt(("ATen", "GRUUnit", "LoopIndexTensor"), opset=7)
def refuse(node: Node) -> None:
    """The operator has no meaning outside of the program that wrote it."""
    raise _refusal(node, "is in no opset, and no runtime computes it", "export the model again with a current exporter")


def _shape_to_fill(node: Node) -> str:
    """The shape that a ConstantFill fills."""
    op, extra = node.op, list(node.attr("extra_shape", []))
    if not node.has_input(0):
        if extra or node.attr("input_as_shape", 0):
            raise _refusal(node, "has neither extra_shape nor input_as_shape without an input")
        return op.int64(list(node.attr("shape", [])))
    shape = node.input(0)
    if not node.attr("input_as_shape", 0):
        shape = op.Shape(shape)
    elif node.need_elem_type() != _INT64:
        shape = op.Cast(shape, to=_INT64)
    return op.Concat(shape, op.int64(extra), axis=0) if extra else shape


def _alpha_and_beta(node: Node) -> tuple[float, float]:
    """Both attributes, which have no default."""
    _require_one_input(node)
    if not (node.has_attr("alpha") and node.has_attr("beta")):
        raise _refusal(node, "needs alpha and beta: their defaults were never written down", "set both")
    return node.attr("alpha"), node.attr("beta")


def _refusal(node: Node, what: str, hint: str = "correct the model") -> Unconvertible:
    """The refusal of a node that no exporter or runtime of the time knew so."""
    return Unconvertible(f"{node.op_type} of ONNX's first releases {what}", hint)


def _require_one_input(node: Node) -> None:
    """Raises Unconvertible where the node does not have exactly one input."""
    if len(node.inputs) != 1 or not node.has_input(0):
        raise _refusal(node, "has one input")


def _scaled(node: Node, value: str, factor: float) -> str:
    return value if factor == 1.0 else node.op.Mul(value, node.op.const(factor, node.need_elem_type()))


def _shifted(node: Node, value: str, shift: float) -> str:
    return value if shift == 0.0 else node.op.Add(value, node.op.const(shift, node.need_elem_type()))
