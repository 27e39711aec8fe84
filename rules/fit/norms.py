"""The norm by squares alone, for runtimes that have only the LayerNormalization, which subtracts the mean as well.

The mean of x and -x together is 0, and their variance is the mean of the squares of x.
https://onnx.ai/onnx/operators/onnx__RMSNormalization.html, https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import express, respell
from ...rewriter.graph.node import Node
from ..shared.spelled_norms import Normalized, centered, is_of_last_axes, normalized
from ..shared.spelled_out import either_way


@respell("Mul", opset=17, sums=True, zeros=True, joined="LayerNormalization", beside="Concat")
def deviation_of_both_signs(node: Node) -> None:
    """x / sqrt(mean(x²) + epsilon) * scale becomes the first half of a LayerNormalization of x and -x."""
    may_become = node.elem_type() == TensorProto.FLOAT and node.graph.may_write("LayerNormalization")
    for name, scale in either_way(node) if may_become else ():
        found = normalized(node, name)
        if found is not None and not centered(node, found) and is_of_last_axes(node, scale, found.x, found.axes):
            _write(node, found, scale)
            return


@express("RMSNormalization", opset=23, exact=False, sums=True, zeros=True)
def layer_of_both_signs(node: Node) -> None:
    """The node becomes the first half of a LayerNormalization of x and -x."""
    rank = node.need_rank()
    axes = rank - node.attr("axis", -1) % rank
    plain = node.elem_type() == TensorProto.FLOAT and node.attr("stash_type", TensorProto.FLOAT) == TensorProto.FLOAT
    if plain and is_of_last_axes(node, node.input(1), node.input(0), axes):
        _write(node, Normalized(node.input(0), axes, node.attr("epsilon", 1e-5)), node.input(1))


def _write(node: Node, found: Normalized, scale: str) -> None:
    """Write the LayerNormalization of both signs. `scale` has the last axes of x, whose lengths are known."""
    op, stored = node.op, node.constant(scale)
    weights = np.ones(node.need_shape(scale)) if stored is None else stored
    both = op.Concat(found.x, op.Neg(found.x), axis=-1)
    twice = op.const(np.concatenate([weights, weights], axis=-1), TensorProto.FLOAT)
    result = op.LayerNormalization(both, twice, axis=-found.axes, epsilon=found.epsilon)
    half = op.Slice(result, op.int64([0]), op.int64([weights.shape[-1]]), op.int64([-1]))
    if stored is None:
        node.become.Mul(half, scale)
    else:
        node.give(half)
