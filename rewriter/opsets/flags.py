"""Checks attributes that are 0 or 1. No specification says what another number means, and runtimes do not agree."""

from __future__ import annotations

from onnx import AttributeProto, NodeProto

from . import facts


def odd_flag(node: NodeProto) -> str:
    """The first flag of a node that is neither 0 nor 1, as "fmod=17"; "" where there is none."""
    flags = facts.of(node.op_type, node.domain).flags
    for attribute in node.attribute if flags else ():
        is_flag = attribute.name in flags and attribute.type == AttributeProto.INT and not attribute.ref_attr_name
        if is_flag and attribute.i not in (0, 1):
            return f"{attribute.name}={attribute.i}"
    return ""
