"""Helps rules to write Loops: the nodes of the body, the values carried from step to step, and the results of each step.

https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, helper

from ...rewriter.graph.node import Node, Operators


class Typed(NamedTuple):
    """A tensor and its element type."""

    name: str
    elem_type: int


class Step(NamedTuple):
    """The end of one step: whether another step follows (a bool scalar), the carried values, and the values to stack."""

    goes_on: str
    carried: Sequence[str]
    given: Sequence[Typed] = ()


class Body:
    """The nodes of one step. They may read every value that is defined before the Loop."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.number = node.fresh_name("number")
        """The number of the step, from 0 on: an int64 scalar."""
        self.go_on = node.fresh_name("go_on")
        """Whether the step before asked for this one: a bool scalar."""
        self.nodes: list[NodeProto] = []
        self.op = Operators(self._add, node.op.const)

    def _add(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str] | int, attributes: dict[str, Any], opset: int | None
    ) -> list[str]:
        """Add a node to the step, in the form of the opset that the rule writes for. Returns its outputs."""
        names = [self._node.fresh_name(op_type.lower()) for _ in range(outputs)] if isinstance(outputs, int) else list(outputs)
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name=names[0], **attributes))
        return names

    def any(self, condition: str) -> str:
        """Whether any element of a bool tensor is true, computed as "the sum of floats is above zero",
        which works for empty tensors too.
        """
        op = self.op
        total = op.ReduceSum(op.Cast(condition, to=TensorProto.FLOAT), keepdims=0)
        return op.Greater(total, self._node.op.const(0, np.float32))


def repeat(
    node: Node, most: int | str, condition: str, start: Sequence[Typed], write: Callable[[Body, list[str]], Step]
) -> list[str]:
    """Put a Loop before `node`. It runs if `condition` holds, as long as each step asks for another, and for at most `most` steps.

    `most` is a number or an int64 scalar. `start` are the initial values of the carried variables.
    `write` adds the nodes of one step, in the form of the opset that the rule writes for, and gets the names of the carried
    values. Returns the values that the last step carries, then the stacked ones.
    """
    body = Body(node)
    carried = [Typed(node.fresh_name("carried"), value.elem_type) for value in start]
    step = write(body, [value.name for value in carried])
    ends = [Typed(step.goes_on, TensorProto.BOOL)]
    ends += [Typed(name, value.elem_type) for name, value in zip(step.carried, start, strict=True)]
    graph = helper.make_graph(
        body.nodes,
        "step",
        [
            helper.make_tensor_value_info(body.number, TensorProto.INT64, []),
            helper.make_tensor_value_info(body.go_on, TensorProto.BOOL, []),
            *(helper.make_tensor_value_info(value.name, value.elem_type, None) for value in carried),
        ],
        [helper.make_tensor_value_info(value.name, value.elem_type, None) for value in [*ends, *step.given]],
    )
    inputs = [node.op.int64(most) if isinstance(most, int) else most, condition, *(value.name for value in start)]
    return node.op.Loop(*inputs, outputs=len(start) + len(step.given), body=graph)
