"""The sizes of the parts of a Split, in the form of any opset.

https://onnx.ai/onnx/operators/onnx__Split.html
"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from .indices import length


def equal_sizes(dimension: int, parts: int) -> list[int]:
    """The sizes that num_outputs=`parts` means: ceil(dimension / parts) for all parts but the last, which gets the rest.

    The last size is negative where the parts before it exceed the dimension; such a Split is invalid.
    """
    size = -(-dimension // parts)
    return [size] * (parts - 1) + [dimension - size * (parts - 1)]


def explicit_sizes(node: Node) -> list[int] | None:
    """The constant sizes of a Split of any opset, from the attribute or the input; None where it has none, or computes them."""
    if node.has_attr("split"):
        return [int(size) for size in node.attr("split")]
    value = node.constant(1)
    return None if value is None else [int(size) for size in value.reshape(-1)]


def part_count(node: Node) -> int:
    """The number of parts of a Split of any opset, some of which may have no name.

    Raises Unconvertible where the specification and onnxruntime disagree: num_outputs is larger than the number of outputs.
    """
    named, count = len(node.outputs), node.attr("num_outputs")
    if count is None or count <= named:
        return named if count is None else count
    meaning = node.meaning(f"num_outputs={count} counts all parts", f"makes the {named} that are outputs of the node, or fails")
    return count if meaning == "specification" else named


def known_sizes(node: Node) -> list[int] | None:
    """The sizes of all parts of a Split of any opset: constant sizes, or equal parts of a known dimension; else None."""
    if node.has_attr("split") or node.has_input(1):
        return explicit_sizes(node)
    dimension = node.dimension(node.attr("axis", 0))
    return equal_sizes(dimension, part_count(node)) if isinstance(dimension, int) else None


def sizes_at_run_time(node: Node, axis: int, parts: int) -> str:
    """The sizes that `equal_sizes` gives, computed from the dimension at run time."""
    op = node.op
    dimension = node.dimension(axis)
    label = f"dimension '{dimension}'" if dimension else f"dimension {axis}"
    node.explain(f"{label} of '{node.input(0)}' is unknown, so the sizes are computed at run time", node.shape_hint())
    whole = length(node, node.input(0), axis)
    size = op.Div(op.Add(whole, op.int64([parts - 1])), op.int64([parts]))
    last = op.Sub(whole, op.Mul(size, op.int64([parts - 1])))
    return op.Concat(*([size] * (parts - 1) + [last]), axis=0)


def state_sizes(node: Node, sizes: list[int]) -> None:
    """Set the sizes of a Split of any opset, in the form of its opset."""
    if node.opset < 13:
        node.set_attr("split", sizes)
        return
    node.pop_attr("num_outputs")
    node.set_input(1, node.op.int64(sizes))


def name_parts(node: Node, parts: int) -> None:
    """Name all outputs, and let there be `parts` of them."""
    for index in range(len(node.outputs), parts):
        node.set_output(index, node.fresh_name(f"part{index}"))
    name_outputs(node)


def name_outputs(node: Node) -> None:
    """Name the outputs without a name. Such outputs are legal and count as parts, but onnxruntime crashes on them."""
    if "" not in node.proto.output:
        return
    for index, name in enumerate(node.outputs):
        if not name:
            node.set_output(index, node.fresh_name(f"part{index}"))
