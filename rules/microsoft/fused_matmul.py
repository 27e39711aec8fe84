"""FusedMatMul, TransposeMatMul and FusedMatMulActivation: MatMul with Transposes, a factor and an activation.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedMatMul
"""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.activations import activated
from ..shared.contrib import contrib

_SOFTMAX = "Softmax"


@contrib(("FusedMatMul", "TransposeMatMul"), opset=13, sums=True)
def multiply_matrices(node: Node) -> None:
    """The node becomes Transpose, MatMul, and Mul by alpha."""
    node.give(_product(node))


@contrib("FusedMatMulActivation", opset=13, sums=True)
def multiply_matrices_and_activate(node: Node) -> None:
    """The node becomes Transpose, MatMul, Mul by alpha, and the activation."""
    name, value = node.attr("activation"), _product(node)
    if name == _SOFTMAX:
        node.give(node.op.Softmax(value, axis=node.attr("activation_axis", -1)))
        return
    given = {each: node.attr(f"activation_{each}") for each in ("alpha", "beta", "gamma") if node.has_attr(f"activation_{each}")}
    node.give(activated(node, value, name, given))


def _product(node: Node) -> str:
    if node.attr("transA", 0) and node.need_rank(1) == 1:
        raise Unconvertible(
            f"onnxruntime does not transpose the matrix of a {node.op_type} that it multiplies by a vector",
            "transpose it before, or make the vector a matrix of one column",
        )
    op = node.op
    product = op.MatMul(*(_transposed(node, index, letter) for index, letter in enumerate("AB")))
    alpha = node.attr("alpha", 1.0)
    return product if alpha == 1.0 else op.Mul(product, op.const(alpha, node.need_elem_type()))


def _transposed(node: Node, index: int, letter: str) -> str:
    """The operand as it is multiplied. With transBatch its dimensions are [rows, batch…, columns], in that order."""
    name = node.input(index)
    is_transposed, has_late_batch = node.attr(f"trans{letter}", 0), node.attr(f"transBatch{letter}", 0)
    if not is_transposed and not has_late_batch:
        return name
    axes = list(range(node.need_rank(index)))
    if len(axes) < 2:
        raise Unconvertible(
            f"trans{letter} of {node.op_type} needs a matrix, and '{name}' has rank {len(axes)}", "correct the model"
        )
    perm = [*axes[1:-1], axes[0], axes[-1]] if has_late_batch else axes
    perm = [*perm[:-2], perm[-1], perm[-2]] if is_transposed else perm
    return name if perm == axes else node.op.Transpose(name, perm=perm)
