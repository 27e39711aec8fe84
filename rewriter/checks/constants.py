"""Constants in forms that their opset does not have, and which onnxruntime reads all the same.

https://onnx.ai/onnx/operators/onnx__Constant.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx
from onnx import AttributeProto, NodeProto, helper, numpy_helper

from ..engine.outcome import Remark
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GraphLike, default_opset, shown_name
from ..opsets.folding import constant_value

_NAMES = {
    AttributeProto.TENSOR: "value",
    AttributeProto.SPARSE_TENSOR: "sparse_value",
    AttributeProto.INT: "value_int",
    AttributeProto.INTS: "value_ints",
    AttributeProto.FLOAT: "value_float",
    AttributeProto.FLOATS: "value_floats",
    AttributeProto.STRING: "value_string",
    AttributeProto.STRINGS: "value_strings",
}
"""The attribute of each type that a Constant can have."""
_SINCE = 12
"""The opset that brought the attributes which are no tensors."""


def in_known_form(proto: onnx.ModelProto, graphs: Sequence[GraphLike]) -> Iterator[Remark]:
    """Name the only attribute of a Constant that has no name, and below opset 12 write numbers as a tensor, in place.

    `graphs` are all graphs of `proto`. Yields a warning for each.
    """
    is_old = (default_opset(proto.opset_import) or _SINCE) < _SINCE
    for graph in graphs:
        for node in graph.node:
            if node.op_type == "Constant" and node.domain in DEFAULT_DOMAINS and len(node.attribute) == 1:
                yield from _corrected(node, is_old)


def _corrected(node: NodeProto, is_old: bool) -> Iterator[Remark]:
    (attribute,) = node.attribute
    name = _NAMES.get(attribute.type)
    if name and not attribute.name:
        attribute.name = name
        yield Remark("warning", "Constant", shown_name(node), "model", f"its attribute had no name: it is {name}, by its type")
    value = constant_value(node, lambda _: None) if is_old and name == attribute.name else None
    if value is not None:
        attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(value)))
        message = f"it had {name}, which came with opset {_SINCE}: it has a tensor now, as onnxruntime reads it"
        yield Remark("warning", "Constant", shown_name(node), "model", message)
