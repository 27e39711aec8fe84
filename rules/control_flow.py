"""If and Loop: forms that their versions before opset 11 do not allow, and branches that never run.

https://onnx.ai/onnx/operators/onnx__If.html, https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import GraphProto, TensorProto, helper

from ..rewriter.engine.registry import downgrade, simplify
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node, Shape, Subgraph
from .shared.branches import branch_that_runs, differ, output_shape, put_in_place

_LOOP_INPUTS = 2
"""The number of inputs of a Loop before the carried values: trip count and condition."""
_SHAPES_MAY_DIFFER = 11
"""The first opset in which the branches of an If may return different shapes."""


@simplify("If", opset=_SHAPES_MAY_DIFFER)
def take_the_branch(node: Node) -> None:
    """An If with a constant condition becomes the branch that runs, on the way down, if that helps, and where lists have gone.

    It helps if a branch would need rewriting, or if the branches return different shapes. The other branch never runs, so it need
    not be expressed, which may be impossible. And a single branch determines the shapes. An element of a list has a shape that
    runtimes do not know before the run; when the list has gone they do, and refuse what never runs if it does not fit the shape.
    """
    goes_down = node.target < node.body_opset
    branch = branch_that_runs(node) if goes_down or node.graph.had_lists else None
    if branch is not None and (node.graph.had_lists or _has_to_change(node) or _tells_more(node, branch)):
        put_in_place(node, branch)


def _has_to_change(node: Node) -> bool:
    """Whether the If, or something in its branches, has to be rewritten for the target."""
    return node.target < _SHAPES_MAY_DIFFER or any(branch.has_to_change() for branch in node.subgraphs())


def _tells_more(node: Node, branch: Subgraph) -> bool:
    """Whether the branch tells lengths of the outputs that the If, whose other branch returns others, leaves open."""
    shapes = ((node.shape(output), output_shape(branch, index)) for index, output in enumerate(node.outputs) if output)
    return any(shape is not None and (known is None or shape.count(None) < known.count(None)) for known, shape in shapes)


@downgrade("If", 11)
def branches_of_equal_shapes(node: Node) -> None:
    """Branches of different shapes, which opset 11 brought, return rows of equal length. Warns where shapes are unknown."""
    branches = node.subgraphs()
    for index, output in enumerate(node.outputs):
        shapes = [output_shape(branch, index) for branch in branches]
        if differ(*shapes):
            _return_rows(node, index)
        elif _is_one_length_known(*shapes):
            raise Unconvertible(
                f"before opset 11 runtimes take a length that one branch gives '{output}' for that of both, which it may not be",
                "fix it with --overwrite-input-shape",
            )
        elif not _are_known(*shapes):
            node.caution(
                f"before opset 11 both branches have to give '{output}' the same shape, and it is not known whether they do"
            )


def _return_rows(node: Node, index: int) -> None:
    """Let the branches return the elements of output `index` in rows of equal length.

    A Slice and a Reshape behind the If make the shape of the branch that ran. Raises Unconvertible unless both shapes are known,
    have the same rank, and not more than one length of 0.
    """
    output = node.output(index)
    kind = node.elem_type(output)
    by_condition = sorted(node.subgraphs(), key=lambda branch: branch.name == "then_branch")
    shapes = [[size for size in output_shape(branch, index) or () if isinstance(size, int)] for branch in by_condition]
    are_known = all(
        len(shape) == branch.rank(branch.proto.output[index].name) for shape, branch in zip(shapes, by_condition, strict=True)
    )
    if kind is None or not are_known or len(shapes[0]) != len(shapes[1]) or any(shape.count(0) > 1 for shape in shapes):
        raise Unconvertible(f"the branches give '{output}' different shapes, which is allowed only from opset 11 on")
    counts = [math.prod(shape) for shape in shapes]
    for branch, count in zip(by_condition, counts, strict=True):
        _return_row(node, branch.proto, index, kind, (count, max(counts)))
    node.edited()
    row, after = node.detach_output(index, "row"), node.after
    chosen = after.Reshape(after.Cast(node.input(0), to=TensorProto.INT64), after.int64([1]))
    count = after.Gather(after.int64(counts), chosen, axis=0)
    sizes = [[size or -1 for size in shape] for shape in shapes]  # a 0 would copy a length, and -1 finds it
    shape = after.Squeeze(after.Gather(after.int64(sizes), chosen, axis=0), axes=[0])
    elements = after.Slice(row, after.int64([0]), count, after.int64([1]), opset=10)
    after.Reshape(elements, shape, output=output)


def _return_row(node: Node, branch: GraphProto, index: int, kind: int, lengths: tuple[int, int]) -> None:
    """Let the branch return output `index` as one row, with zeros or empty strings behind it: (elements before, after)."""
    count, length = lengths
    row, longer = node.fresh_name("row"), node.fresh_name("longer")
    branch.node.append(helper.make_node("Flatten", [branch.output[index].name], [row], axis=0))
    if count < length:
        blank: Any = "" if kind == TensorProto.STRING else 0
        padding = node.add_tensor(
            helper.make_tensor(node.fresh_name("padding"), kind, [1, length - count], [blank] * (length - count))
        )
        branch.node.append(helper.make_node("Concat", [row, padding], [longer], axis=1))
    branch.output[index].CopyFrom(helper.make_tensor_value_info(longer if count < length else row, kind, [1, length]))


def _is_one_length_known(one: Shape | None, other: Shape | None) -> bool:
    """Whether one shape has a number where the other, of the same rank, has none."""
    pairs = () if one is None or other is None else zip(one, other, strict=True)
    return any(isinstance(a, int) != isinstance(b, int) for a, b in pairs)


def _are_known(one: Shape | None, other: Shape | None) -> bool:
    """Whether two shapes are fully known and equal."""
    return one is not None and one == other and None not in one


_FOR_EVER = 1 << 53
"""A trip count that no run comes to, and that a float64 holds: below opset 9 a Constant of larger integers does not load."""


@downgrade("Loop", 11)
def add_count_and_condition(node: Node) -> None:
    """An absent trip count becomes the largest int64, an absent condition true; a Loop without carried values carries a bool."""
    if not node.has_input(0):
        node.set_input(0, node.op.int64(_FOR_EVER if node.target < 9 else np.iinfo(np.int64).max))
    if node.has_input(1):
        _carry_something(node)
        return
    if not _goes_on_for_ever(node):
        raise Unconvertible(
            "without a condition, the Loop ignores the one that its body returns, and before opset 11 the condition is required",
            "give the Loop a condition, or let its body return the one that it gets",
        )
    node.set_input(1, node.op.const(True, bool))
    _carry_something(node)


def _carry_something(node: Node) -> None:
    """Let a Loop that carries no value carry a bool, which never changes."""
    if len(node.inputs) > _LOOP_INPUTS:
        return
    body = node.subgraphs()[0].proto
    before, after = (helper.make_tensor_value_info(node.fresh_name(f"idle_{when}"), TensorProto.BOOL, []) for when in ("in", "out"))
    body.input.append(before)
    body.output.insert(1, after)
    body.node.append(helper.make_node("Identity", [before.name], [after.name], name=after.name))
    node.add_input(node.op.const(True, bool))
    node.proto.output.insert(0, node.fresh_name("idle"))


def _goes_on_for_ever(node: Node) -> bool:
    """Whether the body always returns true, or the condition that it gets, so that it never ends the Loop."""
    body = node.subgraphs()[0]
    name = body.proto.output[0].name
    value = body.constant(name)
    if value is not None:
        return bool(value.all())
    return body.original(name) == body.proto.input[1].name
