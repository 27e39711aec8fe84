"""Split with uneven parts, without sizes, with empty parts, or with computed sizes, in forms that the profiles of runtimes name.

https://onnx.ai/onnx/operators/onnx__Split.html
"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible, Undecided
from ...rewriter.graph.node import Node
from ..shared.parameters import is_stored
from ..shared.split_sizes import explicit_sizes, known_sizes, name_parts, part_count, sizes_at_run_time, state_sizes


@avoid("Split by num_outputs along an open axis", "Split", opset=18)
def compute_sizes(node: Node) -> None:
    """The sizes are computed at run time.

    It is exact for all types and lengths.
    """
    axis = node.attr("axis", 0)
    if not node.has_attr("num_outputs") or isinstance(node.dimension(axis), int):
        return
    name_parts(node, part_count(node))
    sizes = sizes_at_run_time(node, axis, len(node.outputs))
    node.pop_attr("num_outputs")
    node.set_input(1, sizes)


@avoid("Split by num_outputs, uneven", "Split", opset=18)
def state_uneven_sizes(node: Node) -> None:
    """The sizes are written out.

    It is exact for all types. The length of the axis has to be known.
    """
    if not node.has_attr("num_outputs"):
        return
    try:
        node.need_dimension(node.attr("axis", 0))
    except Unconvertible as unknown:
        raise Undecided(unknown.reason, unknown.hint) from None
    sizes = _sizes(node)
    if len(set(sizes)) > 1:
        state_sizes(node, sizes)


@avoid("Split without sizes", "Split", opset=13)
def state_all_sizes(node: Node) -> None:
    """The sizes are written out.

    It is exact for all types. The length of the axis has to be known.
    """
    if not (node.has_attr("split") or node.has_input(1)):
        state_sizes(node, _sizes(node))


def _sizes(node: Node) -> list[int]:
    """The sizes that a Split without sizes implies. Raises Unconvertible where the dimension is unknown, or too small."""
    node.need_dimension(node.attr("axis", 0))
    sizes = known_sizes(node)
    if sizes is None or sizes[-1] < 0:
        raise Unconvertible(f"the dimension cannot make {part_count(node)} parts, so the node fails if it runs")
    return sizes


@avoid("Split with a part of length 0", "Split", opset=13)
def drop_empty_parts(node: Node) -> None:
    """Empty parts that nothing reads are removed.

    It is exact for all types. An empty part that is read is refused.
    """
    sizes = known_sizes(node)
    if sizes is None or 0 not in sizes:
        return
    for index, name in enumerate(node.outputs):
        if sizes[index] == 0 and node.is_read(index):
            raise Unconvertible(f"the empty part '{name}' is read", "remove it from the model")
    kept = [index for index, size in enumerate(sizes) if size]
    outputs = [node.output(index) for index in kept]
    if not kept:
        raise Unconvertible("all parts are empty", "remove the node from the model")
    for index in range(len(node.outputs) - 1, -1, -1):
        node.set_output(index, outputs[index]) if index < len(outputs) else node.drop_output(index)
    state_sizes(node, [sizes[index] for index in kept])


@avoid("Split sizes computed at run time", "Split", opset=13)
def fold_sizes(node: Node) -> None:
    """Sizes that are computed but the same in every run become a constant.

    It is exact for all types and lengths.
    """
    sizes = explicit_sizes(node)
    if not node.has_input(1) or is_stored(node, 1):
        return
    if sizes is None:
        raise Unconvertible(f"the sizes '{node.input(1)}' are computed at run time", node.shape_hint())
    state_sizes(node, sizes)
