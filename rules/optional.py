"""OptionalGetElement and OptionalHasElement: from opset 18 on they also accept a tensor, a sequence or an absent input.

https://onnx.ai/onnx/operators/onnx__OptionalGetElement.html, https://onnx.ai/onnx/operators/onnx__OptionalHasElement.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node


@downgrade("OptionalGetElement", 18)
def element_is_the_input(node: Node) -> None:
    """The element of a tensor or sequence, which is not an optional, becomes that input itself."""
    if not _is_optional(node):
        node.forward(0, node.input(0))
        node.remove()


@downgrade("OptionalHasElement", 18)
def constant_answer(node: Node) -> None:
    """The answer becomes a constant: true for a tensor or sequence, false for an absent input."""
    if node.has_input(0) and _is_optional(node):
        return
    answer = node.op.const(node.has_input(0), bool)
    node.become.Identity(answer)


def _is_optional(node: Node) -> bool:
    """Whether input 0 is an optional. Raises Unconvertible where its type is unknown."""
    kind = node.type_string()
    if kind is None:
        raise Unconvertible(f"it is unknown whether '{node.input(0)}' is an optional", "declare its type in value_info")
    return kind.startswith("optional(")
