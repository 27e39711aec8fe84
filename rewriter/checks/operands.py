"""Finds attribute values and shapes of inputs that no runtime takes, and that onnx.checker does not look at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from onnx import TensorProto

from ..graph.node import Node

Check = Callable[[Node], Iterator[str]]

_PRECISIONS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16)
"""The types in which a GroupNormalization may compute its mean and variance."""
_PAST_KEY, _PAST_VALUE = 4, 5
_POSITIONS = 3
_SCALES, _SIZES = 2, 3


def _where_known(check: Check) -> Check:
    """`check`, except for nodes with attributes that are parameters of a function."""
    return lambda node: iter(()) if any(a.ref_attr_name for a in node.proto.attribute) else check(node)


def _attention_problems(node: Node) -> Iterator[str]:
    """https://onnx.ai/onnx/operators/onnx__Attention.html"""
    for name in ("q_num_heads", "kv_num_heads"):
        count = node.attr(name)
        if count is not None and (count < 0 or (count == 0 and node.rank(0) == 3)):
            yield f"the number of heads {name} is {count}"
    scale = node.attr("scale")
    if scale is not None and scale <= 0:
        yield f"scale is {scale:g}, and has to be positive"
    cap = node.attr("softcap", 0.0)
    if not 0 <= cap < math.inf:  # kernels cap nothing, or give NaN
        yield f"softcap is {cap:g}, and has to be 0 or positive, and finite"
    if node.has_input(_PAST_KEY) != node.has_input(_PAST_VALUE):
        yield "it has only one of past_key and past_value"


def _group_problems(node: Node) -> Iterator[str]:
    """https://onnx.ai/onnx/operators/onnx__GroupNormalization.html"""
    stash = node.attr("stash_type", TensorProto.FLOAT)
    if stash not in _PRECISIONS:
        yield f"stash_type is {stash}, which is no floating-point type"


def _rotary_problems(node: Node) -> Iterator[str]:
    """https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html"""
    shape, rotated = node.shape(0), node.attr("rotary_embedding_dim", 0)
    heads = node.attr("num_heads", 0)
    if not rotated and shape is not None and isinstance(shape[-1], int) and (len(shape) == 4 or heads > 0):
        rotated = shape[-1] if len(shape) == 4 else shape[-1] // heads
    for index, name in ((1, "cos_cache"), (2, "sin_cache")):
        cache, rank = node.shape(index), 2 if node.has_input(_POSITIONS) else 3
        if cache is not None and len(cache) != rank:
            yield f"{name} has rank {len(cache)}, and needs {rank} {'beside' if rank == 2 else 'without'} position_ids"
        elif rotated and cache and isinstance(cache[-1], int) and cache[-1] != rotated // 2:
            yield f"{name} has {cache[-1]} columns for {rotated} rotated elements, which need {rotated // 2}"


def _gram_problems(node: Node) -> Iterator[str]:
    """https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html"""
    shortest, longest = node.attr("min_gram_length"), node.attr("max_gram_length")
    if shortest is not None and shortest < 1:
        yield f"min_gram_length is {shortest}, and has to be positive"
    elif shortest is not None and longest is not None and longest < shortest:
        yield f"max_gram_length is {longest}, below min_gram_length, which is {shortest}"
    if node.attr("max_skip_count", 0) < 0:
        yield f"max_skip_count is {node.attr('max_skip_count')}"


def _crop_problems(node: Node) -> Iterator[str]:
    """https://onnx.ai/onnx/operators/onnx__CenterCropPad.html"""
    lengths, axes = node.shape(1), node.attr("axes")
    count = node.rank(0) if axes is None else len(axes)
    if lengths and count is not None and isinstance(lengths[0], int) and lengths[0] != count:
        yield f"shape has {lengths[0]} entries for {count} axes"


def _resize_problems(node: Node) -> Iterator[str]:
    """https://onnx.ai/onnx/operators/onnx__Resize.html"""
    axes, scales = node.attr("axes"), node.shape(_SCALES)
    if scales and isinstance(scales[0], int) and scales[0] > 0 and node.has_input(_SIZES):
        yield "it has both scales and sizes"
    for index, name in ((_SCALES, "scales"), (_SIZES, "sizes")):
        lengths = node.shape(index)
        if axes is not None and lengths and isinstance(lengths[0], int) and lengths[0] not in (0, len(axes)):
            yield f"{name} has {lengths[0]} entries for {len(axes)} axes"


def _compress_problems(node: Node) -> Iterator[str]:
    """https://onnx.ai/onnx/operators/onnx__Compress.html"""
    rank = node.rank(1)
    if rank is not None and rank != 1:
        yield f"the condition has rank {rank}, and needs 1"


OPERAND_CHECKS: dict[str, Check] = {
    "Attention": _where_known(_attention_problems),
    "GroupNormalization": _where_known(_group_problems),
    "RotaryEmbedding": _where_known(_rotary_problems),
    "TfIdfVectorizer": _where_known(_gram_problems),
    "CenterCropPad": _where_known(_crop_problems),
    "Compress": _where_known(_compress_problems),
    "Resize": _where_known(_resize_problems),
}
"""The check of each operator, which yields what is wrong with a node."""
