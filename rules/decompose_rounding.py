"""Rounding to whole numbers, and quantization by one scale, before the operators for it.

https://onnx.ai/onnx/operators/onnx__Round.html, onnx__QuantizeLinear.html, onnx__DequantizeLinear.html,
onnx__DynamicQuantizeLinear.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose
from .decompose_comparison import FLOATING, typed


@decompose("Round", opset=7)
def nearest_even(node: Node) -> None:
    """Of the magnitude: Floor, one more above the half, and at the half where that is odd; then the sign.

    |x| - Floor(|x|) is exact. Infinity and NaN compare false and stay; -0.0 becomes 0.0, which is equal.
    """
    elem_type = node.need_elem_type()
    if elem_type not in FLOATING:
        raise Unconvertible(f"older operators cannot round {TensorProto.DataType.Name(elem_type).lower()}")
    zero, half, one, two = (typed(node, value, elem_type, f"c{value}") for value in (0, 0.5, 1, 2))
    magnitude = node.before("Abs", [node.input(0)], what="magnitude")
    floor = node.before("Floor", [magnitude], what="floor")
    rest = node.before("Sub", [magnitude, floor], what="rest")
    halved = node.before("Mul", [floor, half], what="halved")
    odd = node.before("Sub", [halved, node.before("Floor", [halved], what="pairs")], what="odd")
    above = node.before("Greater", [rest, half], what="above")
    below = node.before("Less", [rest, half], what="below")
    at_half = node.before("Not", [node.before("Or", [above, below], what="off")], what="at_half")
    to_even = node.before("And", [at_half, node.before("Greater", [odd, zero], what="is_odd")], what="to_even")
    up = node.before("Or", [above, to_even], what="up")
    step = node.before("Cast", [up], what="step", to=elem_type)
    rounded = node.before("Add", [floor, step], what="rounded")
    negative = node.before("Cast", [node.before("Less", [node.input(0), zero], what="negative")], what="negative", to=elem_type)
    sign = node.before("Sub", [one, node.before("Mul", [negative, two], what="twice")], what="sign")
    node.become("Mul", [rounded, sign])


@decompose("QuantizeLinear", opset=11)
def round_and_clip(node: Node) -> None:
    """saturate(round(x / scale) + zero point), for one scale."""
    kind = node.need_elem_type(2) if node.has_input(2) else TensorProto.UINT8
    limits = np.iinfo(helper.tensor_dtype_to_np_dtype(kind))
    x = node.input(0)
    if node.need_elem_type() != TensorProto.FLOAT:
        x = node.before("Cast", [x], what="x", to=TensorProto.FLOAT)
    steps = node.before("Round", [node.before("Div", [x, node.input(1)], what="scaled")], what="steps")
    if node.has_input(2):
        zero_point = node.before("Cast", [node.input(2)], what="zero_point", to=TensorProto.FLOAT)
        steps = node.before("Add", [steps, zero_point], what="shifted")
    bounds = [_float(node, float(bound)) for bound in (limits.min, limits.max)]
    node.become("Cast", [node.before("Clip", [steps, *bounds], what="clipped")], to=kind)


@decompose("DynamicQuantizeLinear", opset=10)
def quantize_by_extremes(node: Node) -> None:
    """As the body, but for zeros only the scale is 1, as onnxruntime has it: the page divides zero by zero there."""
    x, zero, largest = node.input(0), _float(node, 0), _float(node, 255)
    low = node.before("Min", [node.before("ReduceMin", [x], what="min", keepdims=0), zero], what="low")
    high = node.before("Max", [node.before("ReduceMax", [x], what="max", keepdims=0), zero], what="high")
    extent = node.before("Sub", [high, low], what="extent")
    is_zero = node.before("Not", [node.before("Greater", [extent, zero], what="is_some")], what="is_zero")
    filler = node.before("Mul", [node.before("Cast", [is_zero], what="is_zero", to=TensorProto.FLOAT), largest], what="filler")
    scale = node.before("Div", [node.before("Add", [extent, filler], what="extent"), largest], outputs=[node.output(1)])
    steps = node.before("Round", [node.before("Neg", [node.before("Div", [low, scale], what="steps")])], what="steps", opset=11)
    point = node.before("Clip", [steps], what="point", min=0.0, max=255.0)
    point = node.before("Cast", [point], outputs=[node.output(2)], to=TensorProto.UINT8)
    node.become("QuantizeLinear", [x, scale, point], opset=10)
    node.drop_output(2)
    node.drop_output(1)


def _float(node: Node, value: float) -> str:
    return typed(node, value, TensorProto.FLOAT, "bound")


@decompose("DequantizeLinear", opset=9)
def subtract_and_scale(node: Node) -> None:
    """(x - zero point) * scale, for one scale; the difference is one of int32."""
    x = node.input(0)
    if node.need_elem_type() != TensorProto.INT32:
        x = node.before("Cast", [x], what="wide", to=TensorProto.INT32)
    if node.has_input(2):
        zero_point = node.before("Cast", [node.input(2)], what="zero_point", to=TensorProto.INT32)
        x = node.before("Sub", [x, zero_point], what="difference")
    node.become("Mul", [node.before("Cast", [x], what="steps", to=TensorProto.FLOAT), node.input(1)])
