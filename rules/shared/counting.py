"""0, 1, 2, … below a number that is only known when the model runs, by operators that are older than Range.

From opset 9 on NonZero counts; below it, a Loop stacks what its steps give.


https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ...rewriter.graph.node import Node


def places_of_ones(node: Node, count: str) -> str:
    """0, 1, … below `count`, an int64 vector of one that is not negative: quicker than a Loop."""
    op = node.op
    ones = op.ConstantOfShape(count, value=numpy_helper.from_array(np.ones(1, np.int64)))
    places = op.NonZero(ones)
    return op.Reshape(places, op.int64([-1]))


def count_to(node: Node, count: str) -> str:
    """The numbers 0, 1, … below `count`, an int64 scalar, as a vector of int64; it is empty where the count is not above zero."""
    number, given = node.fresh_name("number"), node.fresh_name("given")
    return stack(node, count, number, helper.make_node("Identity", [number], [given], name=given))


def stack(node: Node, count: str, number: str, step: NodeProto) -> str:
    """What `step` makes of `number`, which counts from 0, in a vector of `count` entries; all are int64 scalars.

    Loop of opset 1 has to carry a state: here, the count.
    """
    go_on, carried, goes_on, carry = (node.fresh_name(what) for what in ("go_on", "carried", "goes_on", "carry"))
    copies = [helper.make_node("Identity", [old], [new], name=new) for old, new in ((go_on, goes_on), (carried, carry))]
    kinds = {go_on: TensorProto.BOOL, goes_on: TensorProto.BOOL}
    inputs, outputs = (
        [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.INT64), []) for name in names]
        for names in ((number, go_on, carried), (goes_on, carry, step.output[0]))
    )
    body = helper.make_graph([step, *copies], "step", inputs, outputs)
    condition = node.op.const(True, np.bool_)
    _, stacked = node.op.Loop(count, condition, count, outputs=2, body=body)
    node.scope.types.note(stacked, helper.make_tensor_type_proto(TensorProto.INT64, [None]))
    return stacked
