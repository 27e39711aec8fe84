"""Removes optionals that are known to have an element, or none: nodes that read the optional read the element.

https://onnx.ai/onnx/operators/onnx__Optional.html, https://onnx.ai/onnx/operators/onnx__OptionalGetElement.html,
https://onnx.ai/onnx/operators/onnx__OptionalHasElement.html
"""

from __future__ import annotations

from onnx import TensorProto, helper

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node
from ..shared.sequence_origin import maker, require_same_values, source


@simplify("Optional", opset=15)
def keep_output(node: Node) -> None:
    """An optional that is an output of the graph stays, because the interface must not change."""
    if node.graph.is_output(node.output(0)):
        raise NotSimplified(f"'{node.output(0)}' is an output of the {node.where}")


@simplify("OptionalGetElement", opset=15)
def read_element(node: Node) -> None:
    """OptionalGetElement of an Optional with an element becomes that element."""
    optional = _optional(node)
    if optional is None:
        return
    if not optional.has_input(0):
        raise NotSimplified(f"the optional '{node.input(0)}' has no element: it fails if it runs")
    element = optional.graph.resolve(optional.input(0))
    require_same_values(node, optional.graph, [element])
    node.forward(0, element)
    node.remove()


@simplify("OptionalHasElement", opset=15)
def answer(node: Node) -> None:
    """OptionalHasElement of an Optional becomes a constant."""
    optional = _optional(node)
    if optional is not None:
        answer = helper.make_tensor("answer", TensorProto.BOOL, [], [optional.has_input(0)])
        node.become.Constant(value=answer)
        node.graph.reconsider()


def _optional(node: Node) -> Node | None:
    """The Optional that makes input 0; None where the input is not an optional, or is absent.

    Raises: NotSimplified where another node makes it, or it is a graph input.
    """
    made_by = maker(node) if node.has_input(0) else None
    if made_by is not None and made_by.op_type == "Optional":
        return made_by
    kind = node.type_string() if node.has_input(0) else ""
    if kind is not None and not kind.startswith("optional("):
        return None
    raise NotSimplified(f"whether the optional '{node.input(0)}' has an element is not known: {source(node, 0, made_by)}")
