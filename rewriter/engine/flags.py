"""Checks attributes that are 0 or 1. No specification says what another number means, and runtimes do not agree."""

from __future__ import annotations

from onnx import AttributeProto, NodeProto

_FLAGS = frozenset(
    (
        *("align_corners", "allowzero", "antialias", "broadcast", "ceil_mode", "center_point_box", "count_include_pad"),
        *("detect_negative", "detect_positive", "exclude_outside", "exclusive", "fmod", "input_forget", "interleaved", "inverse"),
        *("is_case_sensitive", "is_causal", "is_test", "keepdims", "largest", "layout", "linear_before_reset", "new_axis"),
        *("noop_with_empty_axes", "onesided", "output_sequence", "periodic", "reverse", "saturate", "select_last_index", "sorted"),
        *("spatial", "storage_order", "training_mode", "transA", "transB", "upper"),
    )
)
"""The attributes of ONNX's own operators that can only be 0 or 1."""


def odd_flag(node: NodeProto) -> str:
    """The first flag of a node of the default domain that is neither 0 nor 1, as "fmod=17"; "" where there is none."""
    for attribute in node.attribute:
        is_flag = attribute.name in _FLAGS and attribute.type == AttributeProto.INT and not attribute.ref_attr_name
        if is_flag and attribute.i not in (0, 1):
            return f"{attribute.name}={attribute.i}"
    return ""
