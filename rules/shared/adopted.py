"""Nodes whose opset lacks the operator, taken as a runtime takes them: in the form of the operator's first version."""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node


def take_as(node: Node, op_type: str, *attributes: str) -> None:
    """Make the node an `op_type` of ONNX with the same inputs, outputs and attributes.

    Raises Unconvertible where it has another attribute than `attributes`, or inputs of different types, as ONNX has no such form.
    """
    unknown = next((attribute.name for attribute in node.proto.attribute if attribute.name not in attributes), "")
    if unknown:
        raise Unconvertible(f"{node.op_type} has no attribute {unknown}", "correct the model")
    kinds = {kind for index in range(len(node.inputs)) if node.has_input(index) and (kind := node.type_string(index))}
    if len(kinds) > 1:
        raise Unconvertible(f"ONNX has no {op_type} with inputs of different types: {' and '.join(sorted(kinds))}", "cast them")
    given = {name: node.attr(name) for name in attributes if node.has_attr(name)}
    getattr(node.become, op_type)(*node.inputs, **given)
