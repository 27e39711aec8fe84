"""If and Loop: what their first versions did not allow.

https://onnx.ai/onnx/operators/onnx__If.html, https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.graph import Node, Scope
from ..rewriter.inference import Shape
from ..rewriter.rule import Unconvertible, downgrade


@downgrade("If", 11)
def branches_of_equal_shapes(node: Node) -> None:
    """Both branches have to give the same shapes."""
    scopes = list(node.scope.children(node.proto, node.source_index, node.body_opset))
    for index, output in enumerate(node.outputs):
        shapes = [_output_shape(scope, index) for scope in scopes]
        if _differ(*shapes):
            raise Unconvertible(f"the branches give '{output}' different shapes, which they may from opset 11 on only")
        if not _are_known(*shapes):
            node.caution(f"before opset 11 both branches have to give '{output}' the same shape, and that is not known")


def _output_shape(scope: Scope, index: int) -> Shape | None:
    return scope.shape(scope.graph.output[index].name)  # type: ignore[union-attr] - a branch is a graph


def _differ(one: Shape | None, other: Shape | None) -> bool:
    if one is None or other is None:
        return False
    pairs = zip(one, other, strict=False)
    return len(one) != len(other) or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def _are_known(one: Shape | None, other: Shape | None) -> bool:
    return one is not None and one == other and None not in one


@downgrade("Loop", 11)
def state_count_and_condition(node: Node) -> None:
    """The trip count and the condition have to be given: the largest count, and true where the body never says stop."""
    if not node.has_input(0):
        node.set_input(0, node.add_constant(np.iinfo(np.int64).max, np.int64, "trip_count"))
    if node.has_input(1):
        return
    if not _goes_on_for_ever(node):
        raise Unconvertible(
            "without a condition the Loop ignores what its body says, and before opset 11 it has to have one",
            "give the Loop a condition, or let its body return the one that it gets",
        )
    node.set_input(1, node.add_constant(True, bool, "condition"))


def _goes_on_for_ever(node: Node) -> bool:
    """Whether the body returns true, or the condition that it gets."""
    body = next(node.scope.children(node.proto, node.source_index, node.body_opset))
    name = body.graph.output[0].name  # type: ignore[union-attr] - a body is a graph
    value = body.constant(name)
    if value is not None:
        return bool(value.all())
    while (producer := body.producers.get(name)) is not None and producer.op_type == "Identity" and not producer.domain:
        name = producer.input[0]
    return name == body.graph.input[1].name  # type: ignore[union-attr] - a body is a graph
