"""Makes the numbers 0, 1, … up to a limit that is only known at run time, with operators older than Range.

From opset 9 on, NonZero counts; below 9, a Loop stacks the results of its steps.

https://onnx.ai/onnx/operators/onnx__NonZero.html, https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ...rewriter.graph.node import Node


def places_of_ones(node: Node, count: str) -> str:
    """The numbers 0, 1, … less than `count`, an int64 vector of one that is not negative. This is faster than a Loop."""
    op = node.op
    ones = op.ConstantOfShape(count, value=numpy_helper.from_array(np.ones(1, np.int64)))
    places = op.NonZero(ones)
    return op.Reshape(places, op.int64([-1]))


def count_to(node: Node, count: str) -> str:
    """The numbers 0, 1, … less than `count`, an int64 scalar, as an int64 vector; it is empty where the count is not positive."""
    number, given = node.fresh_name("number"), node.fresh_name("given")
    return stack(node, count, number, helper.make_node("Identity", [number], [given], name=given))


def stack(node: Node, count: str, number: str, step: NodeProto) -> str:
    """The results of `step` for the numbers 0, 1, …, as a vector with `count` entries. All values are int64 scalars.

    The Loop of opset 1 must carry a state; here this is the count.
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
    node.graph.note_type(stacked, helper.make_tensor_type_proto(TensorProto.INT64, [None]))
    return stacked
