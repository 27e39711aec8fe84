"""0, 1, 2, … and the places of what is not zero, below opset 9: a Loop stacks what its steps give, as many as there are.

https://onnx.ai/onnx/operators/onnx__Loop.html, https://onnx.ai/onnx/operators/onnx__NonZero.html
"""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto, helper

from ...rewriter.graph.node import Node


def count_to(node: Node, count: str) -> str:
    """0, 1, … below `count`, an int64 scalar; a vector of int64, empty where the count is not above zero."""
    number, given = node.fresh_name("number"), node.fresh_name("given")
    return stack(node, count, number, helper.make_node("Identity", [number], [given], name=given))


def stack(node: Node, count: str, number: str, step: NodeProto) -> str:
    """What `step` makes of `number`, 0 at first, `count` times, in a vector; all are int64 scalars.

    Loop of opset 1 has to carry something: here, the count.
    """
    go_on, carried, goes_on, carry = (node.fresh_name(what) for what in ("go_on", "carried", "goes_on", "carry"))
    copies = [helper.make_node("Identity", [old], [new], name=new) for old, new in ((go_on, goes_on), (carried, carry))]
    kinds = {go_on: TensorProto.BOOL, goes_on: TensorProto.BOOL}
    inputs, outputs = (
        [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.INT64), []) for name in names]
        for names in ((number, go_on, carried), (goes_on, carry, step.output[0]))
    )
    body = helper.make_graph([step, *copies], "step", inputs, outputs)
    condition = node.add_constant(True, np.bool_, "condition")
    _, stacked = node.before_many("Loop", [count, condition, count], 2, what="counted", body=body)
    node.scope.types.note(stacked, helper.make_tensor_type_proto(TensorProto.INT64, [None]))
    return stacked
