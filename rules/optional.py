"""OptionalGetElement and OptionalHasElement: from opset 18 on also of a tensor, a sequence, or nothing.

https://onnx.ai/onnx/operators/onnx__OptionalHasElement.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node


@downgrade("OptionalGetElement", 18)
def the_element_itself(node: Node) -> None:
    """The element of what is no optional is the thing itself."""
    if not _is_optional(node):
        node.become("Identity", node.inputs)


@downgrade("OptionalHasElement", 18)
def known_answer(node: Node) -> None:
    """A tensor or sequence is there; an absent input is not."""
    if node.has_input(0) and _is_optional(node):
        return
    answer = node.add_constant(node.has_input(0), bool, "answer")
    node.become("Identity", [answer])


def _is_optional(node: Node) -> bool:
    kind = node.scope.type_string(node.input(0))
    if kind is None:
        raise Unconvertible(f"it is unknown whether '{node.input(0)}' is an optional", "declare its type in value_info")
    return kind.startswith("optional(")
