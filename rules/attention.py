"""Attention: nonpad_kv_seqlen came with opset 24, windows with 25; ONNX's function body says what they mean in older operators.

https://onnx.ai/onnx/operators/onnx__Attention.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.graph import bodies
from ..rewriter.graph.node import Node

_ALIGNMENT = "the mask is aligned to the bottom right since onnx 1.23, to the top left before"
_PAST_KEY, _NONPAD_KV_SEQLEN, _QK_OUTPUT = 4, 6, 3


@upgrade("Attention", 24)
def causal_with_a_past(node: Node) -> None:
    """A caution where causal masking has an offset: its text was put right in place."""
    _mind_offset(node)


@upgrade("Attention", 25)
def masked_rows(node: Node) -> None:
    """A caution where the text of 24 was put right in place: causal masking of an outer cache, and the softmax as an output."""
    if node.attr("is_causal", 0) and node.has_input(_NONPAD_KV_SEQLEN):
        node.caution(f"is_causal=1 with nonpad_kv_seqlen: {_ALIGNMENT}")
    if node.has_output(_QK_OUTPUT) and node.attr("qk_matmul_output_mode", 0) == 3:
        node.caution("qk_matmul_output_mode=3: rows that are masked throughout are 0 since onnx 1.23, and NaN before")


def _mind_offset(node: Node) -> None:
    if node.attr("is_causal", 0) and node.has_input(_PAST_KEY):
        node.caution(f"is_causal=1 with past_key: {_ALIGNMENT}")


@downgrade("Attention", 25, exact=False)
def no_windows(node: Node) -> None:
    """With a window, ONNX's function body takes its place."""
    if node.attr("left_window_size", -1) >= 0 or node.attr("right_window_size", -1) >= 0:
        bodies.expand(node)


@downgrade("Attention", 24, exact=False)
def no_outer_cache(node: Node) -> None:
    """With nonpad_kv_seqlen, ONNX's function body takes its place."""
    if node.has_input(_NONPAD_KV_SEQLEN):
        bodies.expand(node)
    else:
        _mind_offset(node)
