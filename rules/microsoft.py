"""Operators of onnxruntime, which its optimizer puts into models, as operators of ONNX: `Options(rules=["com.microsoft"])`.

They are in the precision of their inputs, as the kernels of onnxruntime for the CPU.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math

from ..rewriter.engine.registry import replace
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.typed import typed

_DOMAIN = "com.microsoft"


def _number(node: Node, value: float, what: str) -> str:
    return typed(node, value, node.need_elem_type(), what)


def _end(node: Node, op_type: str, inputs: list[str]) -> None:
    """The last node gives what `node` gave."""
    node.before(op_type, inputs, outputs=[node.output(0)])
    node.remove()


@replace(_DOMAIN, "FusedMatMul", opset=13)
def multiply_matrices(node: Node) -> None:
    """Transpose, MatMul, and Mul by alpha."""
    if node.attr("transBatchA", 0) or node.attr("transBatchB", 0):
        raise Unconvertible("FusedMatMul with transBatchA or transBatchB moves the batch, which is not written in older operators")
    operands = [_transposed(node, index, f"trans{letter}") for index, letter in enumerate("AB")]
    alpha = node.attr("alpha", 1.0)
    if alpha == 1.0:
        _end(node, "MatMul", operands)
        return
    product = node.before("MatMul", operands)
    _end(node, "Mul", [product, _number(node, alpha, "alpha")])


def _transposed(node: Node, index: int, attribute: str) -> str:
    name = node.input(index)
    if not node.attr(attribute, 0):
        return name
    axes = list(range(node.need_rank(index)))
    if len(axes) < 2:
        raise Unconvertible(f"{attribute} of FusedMatMul needs a matrix, and '{name}' has rank {len(axes)}", "correct the model")
    return node.before("Transpose", [name], what=attribute, perm=[*axes[:-2], axes[-1], axes[-2]])


@replace(_DOMAIN, "Gelu", opset=13)
def gelu(node: Node) -> None:
    """x / 2 · (1 + erf(x / √2))."""
    _gelu(node, node.input(0))


@replace(_DOMAIN, "BiasGelu", opset=13)
def gelu_of_sum(node: Node) -> None:
    """The Gelu of x + bias."""
    _gelu(node, node.before("Add", [node.input(0), node.input(1)], what="biased"))


def _gelu(node: Node, x: str) -> None:
    scaled = node.before("Mul", [x, _number(node, 1 / math.sqrt(2), "scale")], what="scaled")
    shifted = node.before("Add", [node.before("Erf", [scaled]), _number(node, 1.0, "one")], what="shifted")
    half = node.before("Mul", [x, _number(node, 0.5, "half")], what="halved")
    _end(node, "Mul", [half, shifted])


@replace(_DOMAIN, "FastGelu", opset=13)
def fast_gelu(node: Node) -> None:
    """x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), of x + bias where there is one."""
    x = node.before("Add", [node.input(0), node.input(1)], what="biased") if node.has_input(1) else node.input(0)
    square = node.before("Mul", [x, x], what="square")
    cubic = node.before("Mul", [square, _number(node, 0.044715 * math.sqrt(2 / math.pi), "cubic")], what="scaled_square")
    factor = node.before("Add", [cubic, _number(node, math.sqrt(2 / math.pi), "linear")], what="factor")
    curved = node.before("Tanh", [node.before("Mul", [x, factor], what="argument")])
    half = _number(node, 0.5, "half")
    weight = node.before("Add", [node.before("Mul", [curved, half], what="halved"), half], what="weight")
    _end(node, "Mul", [x, weight])


@replace(_DOMAIN, "QuickGelu", opset=13)
def quick_gelu(node: Node) -> None:
    """x · sigmoid(alpha · x)."""
    x = node.input(0)
    scaled = node.before("Mul", [x, _number(node, node.attr("alpha", 1.702), "alpha")], what="scaled")
    _end(node, "Mul", [x, node.before("Sigmoid", [scaled])])


@replace(_DOMAIN, "SkipLayerNormalization", opset=17)
def normalize_sum(node: Node) -> None:
    """Add, Add of the bias, and LayerNormalization of the sum, which is the fourth output."""
    total = _sum(node, bias=4)
    operands = [total, node.input(2), *([node.input(3)] if node.has_input(3) else [])]
    epsilon = node.attr("epsilon", 1e-12)
    node.before("LayerNormalization", operands, outputs=[node.output(0)], axis=-1, epsilon=epsilon)
    node.remove()


@replace(_DOMAIN, "SimplifiedLayerNormalization", opset=23)
def normalize_by_squares(node: Node) -> None:
    """RMSNormalization, which ONNX has from opset 23 on. onnxruntime has this operator in ONNX's domain; it is moved before."""
    if node.has_output(1):
        raise Unconvertible(f"mean and deviation of a {node.op_type} are for training", "remove these outputs")
    attributes = {"axis": node.attr("axis", -1), "epsilon": node.attr("epsilon", 1e-5), "stash_type": node.attr("stash_type", 1)}
    node.before("RMSNormalization", node.inputs[:2], outputs=[node.output(0)], **attributes)
    node.remove()


@replace(_DOMAIN, "SkipSimplifiedLayerNormalization", opset=23)
def normalize_sum_by_squares(node: Node) -> None:
    """Add, Add of the bias, and RMSNormalization of the sum, which is the fourth output."""
    total = _sum(node, bias=3)
    epsilon = node.attr("epsilon", 1e-12)
    node.before("RMSNormalization", [total, node.input(2)], outputs=[node.output(0)], axis=-1, epsilon=epsilon)
    node.remove()


def _sum(node: Node, bias: int) -> str:
    """The sum that a SkipLayerNormalization normalizes, which is its fourth output; `bias` is the position of that input."""
    if node.has_output(1) or node.has_output(2):
        raise Unconvertible(f"mean and deviation of a {node.op_type} are for training", "remove these outputs")
    total = node.before("Add", [node.input(0), node.input(1)], what="sum")
    if node.has_input(bias):
        total = node.before("Add", [total, node.input(bias)], what="biased")
    if node.has_output(3):
        node.before("Identity", [total], outputs=[node.output(3)])
    return total


@replace(_DOMAIN, "RotaryEmbedding", opset=23)
def rotate_positions(node: Node) -> None:
    """ONNX's own RotaryEmbedding, where each position has a row of its own."""
    if node.attr("scale", 1.0) != 1.0 or node.attr("is_packed_batching", 0):
        raise Unconvertible("RotaryEmbedding with scale or is_packed_batching has no form in ONNX")
    if node.need_rank(1) != 2:
        raise Unconvertible("RotaryEmbedding counts its positions from an offset, and ONNX wants each", "give it [batch, sequence]")
    x, positions, cos, sin = node.inputs[:4]
    part = node.attr("rotary_embedding_dim", 0)
    heads = node.attr("num_heads", 0)
    if node.need_rank() == 3 and not heads:
        heads = node.need_dimension(2) // (2 * node.need_dimension(1, 2))
    node.become(
        "RotaryEmbedding",
        [x, cos, sin, positions],
        interleaved=node.attr("interleaved", 0),
        num_heads=heads or None,
        rotary_embedding_dim=part or None,
    )
