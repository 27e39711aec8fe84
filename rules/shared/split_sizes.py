"""The sizes of the parts of a Split, in the form of any opset.

https://onnx.ai/onnx/operators/onnx__Split.html
"""

from __future__ import annotations

from ...rewriter.graph.node import Node


def equal_sizes(dimension: int, parts: int) -> list[int]:
    """The sizes that num_outputs=`parts` means: ceil(dimension / parts) for all but the last, which gets what is left.

    The last is negative where the parts before it are more than the dimension holds; such a Split is invalid.
    """
    size = -(-dimension // parts)
    return [size] * (parts - 1) + [dimension - size * (parts - 1)]


def explicit_sizes(node: Node) -> list[int] | None:
    """The sizes that a Split of any opset has as a constant, attribute or input; None where it has none, or computes them."""
    if node.has_attr("split"):
        return [int(size) for size in node.attr("split")]
    value = node.constant(1)
    return None if value is None else [int(size) for size in value.reshape(-1)]


def part_count(node: Node) -> int:
    """How many parts a Split of any opset makes; it may name fewer of them.

    Raises Unconvertible where the specification and onnxruntime disagree: num_outputs is more than there are outputs.
    """
    named, count = len(node.outputs), node.attr("num_outputs")
    if count is None or count <= named:
        return named if count is None else count
    meaning = node.meaning(f"num_outputs={count} counts all parts", f"makes the {named} that are outputs of the node, or fails")
    return count if meaning == "specification" else named


def known_sizes(node: Node) -> list[int] | None:
    """The sizes of all parts of a Split of any opset: constant ones, or equal parts of a known dimension; else None."""
    if node.has_attr("split") or node.has_input(1):
        return explicit_sizes(node)
    dimension = node.dimension(node.attr("axis", 0))
    return equal_sizes(dimension, part_count(node)) if isinstance(dimension, int) else None


def state_sizes(node: Node, sizes: list[int]) -> None:
    """Give a Split of any opset these sizes, in the form that it has."""
    if node.opset < 13:
        node.set_attr("split", sizes)
        return
    node.pop_attr("num_outputs")
    node.set_input(1, node.op.int64(sizes))


def name_outputs(node: Node) -> None:
    """Name the outputs that have no name. These are legal and count as parts, but onnxruntime crashes on them."""
    if "" not in node.proto.output:
        return
    for index, name in enumerate(node.outputs):
        if not name:
            node.set_output(index, node.fresh_name(f"part{index}"))
