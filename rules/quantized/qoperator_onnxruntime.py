"""Operators between DequantizeLinear and QuantizeLinear, as onnxruntime's own on 8-bit integers: QLinearAdd, QGemm, ….

Where a result lies in the middle between two steps, or nearly so, it may be one step apart.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from ...rewriter.engine.registry import respell
from ...rewriter.graph.node import Node
from ..shared import between_scales
from ..shared.between_scales import Computed
from ..shared.contrib import DOMAIN
from ..shared.windows import AVERAGING

_OVER_ONE_AXIS = 13
"""The opset from which on Softmax is over one axis."""


@respell("QuantizeLinear", opset=10, steps=True)
def linear(node: Node) -> None:
    """A Gemm of dequantized matrices, whose result is quantized, becomes a QGemm."""
    found = between_scales.product(node, "Gemm", lambda gemm: 0 if gemm.attr("transB", 0) else 1)
    if found is None or found.by.attr("alpha", 1.0) != 1.0 or found.by.attr("beta", 1.0) != 1.0:
        return
    bias = between_scales.bias(node, found)
    if bias is None:
        return
    a_is_turned, b_is_turned = (found.by.attr(name, 0) or None for name in ("transA", "transB"))
    operands = [*between_scales.inputs(node, found.left, found.right), bias, *between_scales.inputs(node, found.made)[1:]]
    node.become.of(DOMAIN, 1).QGemm(*operands, transA=a_is_turned, transB=b_is_turned)


@respell("QuantizeLinear", opset=10, steps=True)
def addition(node: Node) -> None:
    """An Add of dequantized values becomes a QLinearAdd."""
    _combine(node, "Add", "QLinearAdd")


@respell("QuantizeLinear", opset=10, steps=True)
def multiplication(node: Node) -> None:
    """A Mul of dequantized values becomes a QLinearMul."""
    _combine(node, "Mul", "QLinearMul")


@respell("QuantizeLinear", opset=10, steps=True)
def sigmoid(node: Node) -> None:
    """A Sigmoid of dequantized values becomes a QLinearSigmoid."""
    _change(node, "Sigmoid", "QLinearSigmoid")


@respell("QuantizeLinear", opset=10, steps=True)
def leaky_relu(node: Node) -> None:
    """A LeakyRelu of dequantized values becomes a QLinearLeakyRelu."""
    _change(node, "LeakyRelu", "QLinearLeakyRelu", "alpha")


@respell("QuantizeLinear", opset=10, steps=True)
def average(node: Node) -> None:
    """An AveragePool of dequantized values becomes a QLinearAveragePool, if its windows lie within the padding."""
    found = between_scales.computed(node, "AveragePool")
    if found is not None and not found.by.attr("ceil_mode", 0) and set(found.by.attr("dilations") or [1]) == {1}:
        _change(node, "AveragePool", "QLinearAveragePool", *AVERAGING)


@respell("QuantizeLinear", opset=10, steps=True)
def average_of_all(node: Node) -> None:
    """A GlobalAveragePool of dequantized values becomes a QLinearGlobalAveragePool."""
    _change(node, "GlobalAveragePool", "QLinearGlobalAveragePool")


@respell("QuantizeLinear", opset=13, steps=True)
def softmax(node: Node) -> None:
    """A Softmax over one axis, of dequantized values, becomes a QLinearSoftmax."""
    found = between_scales.computed(node, "Softmax")
    x = None if found is None else between_scales.operand(node, found.by.input(0))
    if node.target >= _OVER_ONE_AXIS and x is not None and _is_positive(node, x.scale):
        _change(node, "Softmax", "QLinearSoftmax", "axis")
    if node.op_type == "QLinearSoftmax":
        node.set_attr("opset", _OVER_ONE_AXIS)


@respell("QuantizeLinear", opset=10, steps=True)
def concatenation(node: Node) -> None:
    """A Concat of dequantized values becomes a QLinearConcat."""
    found = between_scales.computed(node, "Concat")
    parts = None if found is None else _operands(node, found)
    if found is not None and parts is not None:
        operands = between_scales.inputs(node, found.made)[1:] + parts
        node.become.of(DOMAIN, 1).QLinearConcat(*operands, axis=found.by.attr("axis"))


def _is_positive(node: Node, scale: str) -> bool:
    """Whether a scale is known to be positive, as the kernel of QLinearSoftmax wants that of its input."""
    value = node.constant(scale)
    return value is not None and bool((value > 0).all())


def _combine(node: Node, op_type: str, name: str) -> None:
    """Two dequantized values that `op_type` combines become `name` of onnxruntime."""
    found = between_scales.computed(node, op_type)
    values = None if found is None else _operands(node, found)
    if found is not None and values is not None:
        getattr(node.become.of(DOMAIN, 1), name)(*values, *between_scales.inputs(node, found.made)[1:])


def _change(node: Node, op_type: str, name: str, *attributes: str) -> None:
    """A dequantized value that `op_type` changes becomes `name` of onnxruntime, with these attributes."""
    found = between_scales.computed(node, op_type)
    values = None if found is None else _operands(node, found)
    if found is not None and values is not None:
        given = {each: found.by.attr(each) for each in attributes if found.by.has_attr(each)}
        getattr(node.become.of(DOMAIN, 1), name)(*values, *between_scales.inputs(node, found.made)[1:], **given)


def _operands(node: Node, found: Computed) -> list[str] | None:
    """All inputs of the node as integers, each with its scale and zero point; None where one is anything else, or of another type
    than the result.
    """
    values = [between_scales.operand(node, name) for name in found.by.inputs]
    known = [value for value in values if value is not None and value.kind == found.made.kind]
    return between_scales.inputs(node, *known) if len(known) == len(values) else None
