"""onnxruntime's own operators, which its optimizer puts into models, as ONNX operators: `Options(rules=["com.microsoft"])`.

They are computed in the precision of their inputs, as in onnxruntime's CPU kernels.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math

from onnx import AttributeProto

from ..rewriter.engine.registry import replace
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node

_DOMAIN = "com.microsoft"


_FLOAT, _INT = AttributeProto.FLOAT, AttributeProto.INT
_FORMS = {
    "FusedMatMul": (2, 2, {"alpha": _FLOAT, "transA": _INT, "transB": _INT, "transBatchA": _INT, "transBatchB": _INT}),
    "Gelu": (1, 1, {}),
    "BiasGelu": (2, 2, {}),
    "FastGelu": (1, 2, {}),
    "QuickGelu": (1, 1, {"alpha": _FLOAT}),
    "SkipLayerNormalization": (3, 5, {"epsilon": _FLOAT}),
    "SimplifiedLayerNormalization": (2, 2, {"axis": _INT, "epsilon": _FLOAT, "stash_type": _INT}),
    "SkipSimplifiedLayerNormalization": (3, 4, {"epsilon": _FLOAT}),
    "RotaryEmbedding": (
        4,
        4,
        {"interleaved": _INT, "is_packed_batching": _INT, "num_heads": _INT, "rotary_embedding_dim": _INT, "scale": _FLOAT},
    ),
}
"""The smallest and the largest number of inputs of each operator, and its attributes with their types."""


def _require_known_form(node: Node) -> None:
    """Raises Unconvertible where onnxruntime has no such form of the operator: onnx.checker ignores operators of other domains."""
    fewest, most, attributes = _FORMS[node.op_type]
    if not fewest <= len(node.inputs) <= most or not all(node.inputs[:fewest]):
        raise Unconvertible(f"{node.op_type} of onnxruntime does not take these inputs", "correct the model")
    for attribute in node.proto.attribute:
        if attributes.get(attribute.name) != attribute.type and not attribute.ref_attr_name:
            reason = f"{node.op_type} of onnxruntime has no attribute {attribute.name} of this type"
            raise Unconvertible(reason, "correct the model")


def _end(node: Node, op_type: str, inputs: list[str]) -> None:
    """Make the last node, which has the output of `node`."""
    getattr(node.op, op_type)(*inputs, output=node.output(0))
    node.remove()


@replace(_DOMAIN, "FusedMatMul", opset=13)
def multiply_matrices(node: Node) -> None:
    """The node becomes Transpose, MatMul, and Mul by alpha."""
    _require_known_form(node)
    if node.attr("transBatchA", 0) or node.attr("transBatchB", 0):
        raise Unconvertible("FusedMatMul with transBatchA or transBatchB moves the batch, which is not written in older operators")
    operands = [_transposed(node, index, f"trans{letter}") for index, letter in enumerate("AB")]
    alpha = node.attr("alpha", 1.0)
    if alpha == 1.0:
        _end(node, "MatMul", operands)
        return
    product = node.op.MatMul(*operands)
    _end(node, "Mul", [product, node.op.const(alpha, node.need_elem_type())])


def _transposed(node: Node, index: int, attribute: str) -> str:
    name = node.input(index)
    if not node.attr(attribute, 0):
        return name
    axes = list(range(node.need_rank(index)))
    if len(axes) < 2:
        raise Unconvertible(f"{attribute} of FusedMatMul needs a matrix, and '{name}' has rank {len(axes)}", "correct the model")
    return node.op.Transpose(name, perm=[*axes[:-2], axes[-1], axes[-2]])


@replace(_DOMAIN, "Gelu", opset=13)
def gelu(node: Node) -> None:
    """x / 2 · (1 + erf(x / √2))."""
    _require_known_form(node)
    _gelu(node, node.input(0))


@replace(_DOMAIN, "BiasGelu", opset=13)
def gelu_of_sum(node: Node) -> None:
    """The node becomes the Gelu of x + bias."""
    _require_known_form(node)
    _gelu(node, node.op.Add(node.input(0), node.input(1)))


def _gelu(node: Node, x: str) -> None:
    op = node.op
    scaled = op.Mul(x, op.const(1 / math.sqrt(2), node.need_elem_type()))
    shifted = op.Add(op.Erf(scaled), op.const(1.0, node.need_elem_type()))
    half = op.Mul(x, op.const(0.5, node.need_elem_type()))
    _end(node, "Mul", [half, shifted])


@replace(_DOMAIN, "FastGelu", opset=13)
def fast_gelu(node: Node) -> None:
    """x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), with x + bias for x if there is a bias."""
    op = node.op
    _require_known_form(node)
    x = op.Add(node.input(0), node.input(1)) if node.has_input(1) else node.input(0)
    square = op.Mul(x, x)
    cubic = op.Mul(square, op.const(0.044715 * math.sqrt(2 / math.pi), node.need_elem_type()))
    factor = op.Add(cubic, op.const(math.sqrt(2 / math.pi), node.need_elem_type()))
    curved = op.Tanh(op.Mul(x, factor))
    half = op.const(0.5, node.need_elem_type())
    weight = op.Add(op.Mul(curved, half), half)
    _end(node, "Mul", [x, weight])


@replace(_DOMAIN, "QuickGelu", opset=13)
def quick_gelu(node: Node) -> None:
    """x · sigmoid(alpha · x)."""
    _require_known_form(node)
    x = node.input(0)
    scaled = node.op.Mul(x, node.op.const(node.attr("alpha", 1.702), node.need_elem_type()))
    _end(node, "Mul", [x, node.op.Sigmoid(scaled)])


@replace(_DOMAIN, "SkipLayerNormalization", opset=17)
def normalize_sum(node: Node) -> None:
    """The node becomes Add, a second Add for the bias, and LayerNormalization of the sum, which is the fourth output."""
    _require_known_form(node)
    total = _sum(node, bias=4)
    operands = [total, node.input(2), *([node.input(3)] if node.has_input(3) else [])]
    epsilon = node.attr("epsilon", 1e-12)
    node.op.LayerNormalization(*operands, output=node.output(0), axis=-1, epsilon=epsilon)
    node.remove()


@replace(_DOMAIN, "SimplifiedLayerNormalization", opset=23)
def normalize_by_squares(node: Node) -> None:
    """The node becomes RMSNormalization, an operator of ONNX since opset 23.

    Models have this operator in ONNX's domain, where onnxruntime accepts it; it is moved to com.microsoft before.
    """
    _require_known_form(node)
    if node.has_output(1):
        raise Unconvertible(f"mean and deviation of a {node.op_type} are for training", "remove these outputs")
    attributes = {"axis": node.attr("axis", -1), "epsilon": node.attr("epsilon", 1e-5), "stash_type": node.attr("stash_type", 1)}
    node.op.RMSNormalization(*node.inputs[:2], output=node.output(0), **attributes)
    node.remove()


@replace(_DOMAIN, "SkipSimplifiedLayerNormalization", opset=23)
def normalize_sum_by_squares(node: Node) -> None:
    """The node becomes Add, a second Add for the bias, and RMSNormalization of the sum, which is the fourth output."""
    _require_known_form(node)
    total = _sum(node, bias=3)
    epsilon = node.attr("epsilon", 1e-12)
    node.op.RMSNormalization(total, node.input(2), output=node.output(0), axis=-1, epsilon=epsilon)
    node.remove()


def _sum(node: Node, bias: int) -> str:
    """The sum that a SkipLayerNormalization normalizes, which is its fourth output.

    `bias` is the position of the bias in the inputs.
    """
    op = node.op
    if node.has_output(1) or node.has_output(2):
        raise Unconvertible(f"mean and deviation of a {node.op_type} are for training", "remove these outputs")
    sizes = zip(reversed(node.shape() or ()), reversed(node.shape(1) or ()), strict=False)
    if any(size == 1 and other != 1 and isinstance(other, int) for size, other in sizes):
        raise Unconvertible(f"{node.op_type} does not broadcast its first input to the second", "correct the model")
    total = op.Add(node.input(0), node.input(1))
    if node.has_input(bias):
        total = op.Add(total, node.input(bias))
    if node.has_output(3):
        op.Identity(total, output=node.output(3))
    return total


@replace(_DOMAIN, "RotaryEmbedding", opset=23)
def rotate_positions(node: Node) -> None:
    """The node becomes ONNX's own RotaryEmbedding, with a row of angles for each position."""
    _require_known_form(node)
    if node.attr("scale", 1.0) != 1.0 or node.attr("is_packed_batching", 0):
        raise Unconvertible("RotaryEmbedding with scale or is_packed_batching has no form in ONNX")
    if node.need_rank(1) != 2:
        raise Unconvertible(
            "RotaryEmbedding has one offset for all positions, but ONNX needs each position", "give it [batch, sequence]"
        )
    x, positions, cos, sin = node.inputs
    interleaved, part, heads = node.attr("interleaved", 0), node.attr("rotary_embedding_dim", 0), node.attr("num_heads", 0)
    width = 2 * node.need_dimension(1, 2)
    if node.need_rank() == 3 and not heads:
        heads = node.need_dimension(2) // width
    if interleaved not in (0, 1) or width != (part or _head_size(node, heads)):
        raise Unconvertible(
            "RotaryEmbedding rotates a part of each head that does not fit its table of cosines", "correct the model"
        )
    node.become.RotaryEmbedding(
        x, cos, sin, positions, interleaved=interleaved, num_heads=heads or None, rotary_embedding_dim=part or None
    )


def _head_size(node: Node, heads: int) -> int:
    """The number of elements of each head of x, which has an axis of heads, or `heads` heads side by side in the last axis."""
    return node.need_dimension(3) if node.need_rank() == 4 else node.need_dimension(2) // max(heads, 1)
