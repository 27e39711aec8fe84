"""Shapes of onnxruntime's attention operators.

Where past and present do not share a buffer, the present keys are the past ones and the new ones.
"""

from __future__ import annotations

from ...type_protos import Dimension, Shape
from ..call import Call
from .common import Shapes


def projected(call: Call) -> Shapes:
    """Attention, which projects [batch, length, input size] itself: its output, and the present keys and values in one."""
    return _projected(call, past=4)


def projected_integers(call: Call) -> Shapes:
    """QAttention: the same outputs."""
    return _projected(call, past=8)


def _projected(call: Call, past: int) -> Shapes:
    shape, weights, kept = call.shape(0), call.shape(1), call.shape(past)
    if shape is None:
        return []
    sizes = call.attr("qkv_hidden_sizes")
    total = None if weights is None else weights[1]
    width = sizes[2] if sizes else total // 3 if isinstance(total, int) else None
    heads = call.attr("num_heads")
    is_uneven = bool(sizes) and sizes[0] != sizes[2]  # runtimes disagree about the size of heads that keys and values share
    size = None if is_uneven else _quotient(sizes[0] if sizes else width, heads)
    before = kept[3] if kept else None if call.has(past) else 0
    length = _sum(before, shape[1]) if not call.attr("past_present_share_buffer", 0) else before
    return [(*shape[:2], width), (2, shape[0], heads, length, size)]


def of_many_heads(call: Call) -> Shapes:
    """MultiHeadAttention: its output, the present keys and values, and the scores."""
    return _of_operands(call, past=6, length_given=call.has(8))


def of_one_query(call: Call) -> Shapes:
    """DecoderMaskedMultiHeadAttention: the same outputs."""
    return _of_operands(call, past=5, length_given=call.has(7))


def _of_operands(call: Call, past: int, length_given: bool) -> Shapes:
    query, key, value = (call.shape(index) if call.has(index) else None for index in range(3))
    heads = call.attr("num_heads")
    if query is None or (call.has(1) and key is None) or (call.has(2) and value is None):
        return [] if query is None else [(query[0], query[1], None)]
    if len(query) == 5:
        length, size, value_size = query[1], query[4], query[4]
    elif key is not None and len(key) == 5:
        length, size, value_size = key[1], key[4], key[4]
    elif key is not None and value is not None and len(key) == 4:
        length, size, value_size = key[2], key[3], value[3]
    elif key is not None and value is not None:
        length, size, value_size = key[1], _quotient(query[2], heads), _quotient(value[2], heads)
    else:
        return [(query[0], query[1], None)]
    kept = call.shape(past)
    before = kept[2] if kept else None if call.has(past) else 0
    total = before if length_given else _sum(before, length)
    width = heads * value_size if isinstance(value_size, int) else value[2] if value and len(value) == 3 else None
    batch, queries = query[:2]
    keys = (batch, heads, total, size), (batch, heads, total, value_size)
    return [(batch, queries, width), *keys, (batch, heads, queries, None if length_given else total)]


def of_groups(call: Call) -> Shapes:
    """GroupQueryAttention: its output, the present keys and values, and the scores."""
    query, past = call.shape(0), call.shape(3)
    if query is None:
        return []
    heads, shared = call.attr("num_heads"), call.attr("kv_num_heads")
    size = _quotient(query[2], heads if call.has(1) else heads + 2 * shared)
    width = heads * size if isinstance(size, int) else query[2] if call.has(1) else None
    output = (*query[:2], width)
    if call.has(3):
        places = _places(call, past, query[1])
        kept: Shape | None = None if past is None else (past[0], past[1], places, past[3])
        return [output, kept, kept, (query[0], heads, query[1], None)]
    kept = (query[0], shared, query[1], size)
    return [output, kept, kept, (query[0], heads, query[1], query[1])]


def _places(call: Call, past: Shape | None, new: Dimension) -> Dimension:
    """The number of places of the present keys: as many as of past ones, or of tokens in all if these are more."""
    total = call.constant(6)
    if past is None or total is None or not isinstance(past[2], int) or call.attr("sliding_window_cache", 0):
        return None
    return max(int(total.reshape(())), past[2])


def _sum(left: Dimension, right: Dimension) -> Dimension:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return right if left == 0 else left if right == 0 else None


def _quotient(size: Dimension, count: int) -> Dimension:
    return size // count if isinstance(size, int) else None
