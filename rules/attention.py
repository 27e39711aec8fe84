"""Attention: the operator came with opset 23, nonpad_kv_seqlen with 24, windows with 25.

Below 23 it is written as exporters did before, using what is known about shapes and options. Where that may be wrong, and for the
features of 24 and 25, ONNX's function body expresses it in older operators.

https://onnx.ai/onnx/operators/onnx__Attention.html
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.fences import fenced, is_transposed, may_be_transposed
from .shared.indices import length
from .shared.normalization import cast_between
from .shared.typed import ANY_FLOATING, type_name

_ALIGNMENT = "the mask is aligned to the bottom right since onnx 1.23, to the top left before"
_WINDOWS = ("left_window_size", "right_window_size")
_NO_INFINITY = "attn_mask is {}, which has no minus infinity: what is masked is not defined"
_FLOAT_MASK = "cast attn_mask to the type of the query"
_Q, _K, _V, _MASK, _PAST_KEY, _PAST_VALUE, _NONPAD_KV_SEQLEN = range(7)
_PRESENT_KEY, _PRESENT_VALUE, _QK_OUTPUT = 1, 2, 3
_SCORES, _SOFTMAX = 0, 3
"""The values of qk_matmul_output_mode that are written out here.

For 1 and 2, whose specification was corrected after its release, ONNX's function body is used.
"""

_LOWEST_BFLOAT16 = -(2 - 2**-7) * 2.0**127


@upgrade("Attention", 24)
def causal_with_a_past(node: Node) -> None:
    """A mask of one column is repeated for all keys. Warns where causal masking has an offset: its specification was corrected."""
    _forget_heads(node)
    _spread_mask(node)
    _mind_offset(node)


@upgrade("Attention", 25)
def masked_rows(node: Node) -> None:
    """Warns of causal masking with an outer cache, and of the softmax as an output, whose specification was corrected."""
    _forget_heads(node)
    _ask_for_presents(node, has_any=node.has_output(_PRESENT_KEY) or node.has_output(_PRESENT_VALUE))
    node.approximate = True  # runtimes have another kernel for 25
    if node.chosen_meaning == "onnxruntime":
        _show_all_keys(node)
    elif _may_see_all_keys(node):
        node.caution("is_causal=1 with past_key: onnxruntime hides later keys from a single query from opset 25 on, and not before")
    if node.attr("is_causal", 0) and node.has_input(_NONPAD_KV_SEQLEN):
        node.caution(f"is_causal=1 with nonpad_kv_seqlen: {_ALIGNMENT}")
    if node.has_output(_QK_OUTPUT) and node.attr("qk_matmul_output_mode", 0) == 3:
        node.caution("qk_matmul_output_mode=3: fully masked rows are 0 since onnx 1.23, and were NaN before")


def _forget_heads(node: Node) -> None:
    """Remove the numbers of heads where the inputs have an axis of heads: from opset 25 on onnx refuses
    them, before it ignored them.
    """
    if node.rank(_Q) == 4:
        node.pop_attr("q_num_heads")
        node.pop_attr("kv_num_heads")


def _ask_for_presents(node: Node, *, has_any: bool) -> None:
    """Make both present_key and present_value outputs if the node `has_any`.

    From opset 25 on onnx refuses one without the other; before, onnxruntime refuses a past without them.
    """
    for index in (_PRESENT_KEY, _PRESENT_VALUE) if has_any else ():
        if not node.has_output(index):
            node.set_output(index, node.fresh_name("present"))


def _mind_offset(node: Node) -> None:
    if node.attr("is_causal", 0) and node.has_input(_PAST_KEY):
        node.caution(f"is_causal=1 with past_key: {_ALIGNMENT}")


def _spread_mask(node: Node) -> None:
    """Repeat a mask of one column for all keys: before opset 24 it is broadcast, from then on missing columns count as masked."""
    if not node.has_input(_MASK) or _is_as_long_as_keys(node):
        return
    columns = node.dimension(-1, _MASK)
    if columns == 1 or not isinstance(columns, int):
        node.set_input(_MASK, node.op.Expand(node.input(_MASK), _count_keys(node)))


def _spread_mask_over_queries(node: Node) -> None:
    """Repeat a mask of one row, or without rows, for all queries, unless it is known to have a row for each.

    One that is known to be shorter than the keys is extended by masked columns.
    """
    if not node.has_input(_MASK):
        return
    lengths = [node.dimension(-1, _MASK), node.dimension(-2, _K)]
    lengths += [node.dimension(-2, _PAST_KEY)] if node.has_input(_PAST_KEY) else []
    if all(isinstance(size, int) for size in lengths) and node.elem_type(_MASK) in (TensorProto.BOOL, *ANY_FLOATING):
        _pad_mask(node)
    rank, queries = node.rank(_MASK), node.dimension(-2, _Q)
    if rank is not None and rank > 1 and queries is not None and node.dimension(-2, _MASK) == queries:
        return
    sizes = node.op.Concat(length(node, node.input(_Q), -2), node.op.int64([1]), axis=0)
    node.set_input(_MASK, node.op.Expand(node.input(_MASK), sizes))


def _pad_mask(node: Node) -> None:
    """Extend a mask that is shorter than the keys by masked columns, as opset 24 does implicitly. Raises: Unconvertible."""
    if not node.has_input(_MASK) or _is_as_long_as_keys(node):
        return
    op, kind = node.op, node.need_elem_type(_MASK)
    if kind not in (TensorProto.BOOL, *ANY_FLOATING):
        raise Unconvertible(f"attn_mask may be shorter than the keys, and {_NO_INFINITY.format(type_name(kind))}", _FLOAT_MASK)
    missing = op.Sub(_count_keys(node), length(node, node.input(_MASK), -1))
    pads = op.Concat(op.int64([0]), missing, axis=0)
    padding = op.const(False, np.bool_) if kind == TensorProto.BOOL else op.const(-np.inf, kind)
    node.set_input(_MASK, op.Pad(node.input(_MASK), pads, padding, op.int64([-1])))


def _is_as_long_as_keys(node: Node) -> bool:
    """Whether the mask is known to have a column for each key, including past keys."""
    keys = node.dimension(-2, _K)
    if node.has_input(_PAST_KEY):
        past = node.dimension(-2, _PAST_KEY)
        keys = past + keys if isinstance(past, int) and isinstance(keys, int) else None
    return keys is not None and keys == node.dimension(-1, _MASK)


def _count_keys(node: Node) -> str:
    """The number of keys, including past ones, as a vector of one.

    It is the last axis but one, with or without an axis of heads.
    """
    own = length(node, node.input(_K), -2)
    return node.op.Add(length(node, node.input(_PAST_KEY), -2), own) if node.has_input(_PAST_KEY) else own


def _refuse_integer_mask(node: Node) -> None:
    """Raises Unconvertible for an integer mask: runtimes mask by minus infinity in the type of attn_mask,
    which becomes some integer.
    """
    kind = node.elem_type(_MASK) if node.has_input(_MASK) else None
    if kind is None or kind in (TensorProto.BOOL, *ANY_FLOATING):
        return
    masking = (
        *(name for name in ("is_causal",) if node.attr(name, 0)),
        *(name for name in _WINDOWS if node.attr(name, -1) >= 0),
        *("nonpad_kv_seqlen" for _ in range(node.has_input(_NONPAD_KV_SEQLEN))),
    )
    if masking:
        raise Unconvertible(f"{masking[0]} masks keys, and {_NO_INFINITY.format(type_name(kind))}", _FLOAT_MASK)


@downgrade("Attention", 25, exact=False)
def no_windows(node: Node) -> None:
    """A node with a window becomes ONNX's function body; so does one whose single query onnxruntime would show all keys then.

    In onnxruntime, a mask has a row for each query then, and a node with a past makes both present_key and present_value.
    """
    if any(node.attr(name, -1) >= 0 for name in _WINDOWS) or _may_see_all_keys(node):
        _refuse_integer_mask(node)
        node.expand()
    elif node.target >= 23:
        _spread_mask_over_queries(node)
        _ask_for_presents(node, has_any=node.has_input(_PAST_KEY))


@downgrade("Attention", 24, exact=False)
def no_outer_cache(node: Node) -> None:
    """A mask is extended to the length of the keys; a node with nonpad_kv_seqlen becomes ONNX's function body."""
    if node.has_input(_NONPAD_KV_SEQLEN):
        _refuse_integer_mask(node)
        _forget_heads(node)
        node.expand()
    else:
        _pad_mask(node)
        _mind_offset(node)


class _Heads(NamedTuple):
    """The number and size of the heads of queries and keys. `value_size` is None where it is unknown."""

    is_flat: bool
    """Whether the inputs have three dimensions, with the heads side by side in the last one."""
    queries: int
    keys: int
    size: int
    value_size: int | None


@decompose("Attention", opset=13, exact=False, sums=True)
def in_matrix_products(node: Node) -> None:
    """The node becomes softmax(scale · q · kᵀ + mask) · v, or ONNX's function body where heads are unknown or meanings disputed."""
    op = node.op
    _refuse_integer_mask(node)
    _forget_heads(node)
    _show_all_keys(node)
    heads = _heads(node)
    if heads is None or not _is_plain(node):
        node.expand()
        return
    kind, scale = node.need_elem_type(), node.attr("scale", 0.0) or 1 / sqrt(heads.size)
    if not scale > 0:
        raise Unconvertible(f"scale={scale:g}: Attention multiplies by its root twice, which is not a number", "correct the model")
    q = _split_heads(node, _Q, [heads.queries, heads.size], heads)
    key = _present(node, _split_heads(node, _K, [heads.keys, heads.size], heads), _PAST_KEY, _PRESENT_KEY)
    value = _present(node, _split_heads(node, _V, [heads.keys, heads.value_size or -1], heads), _PAST_VALUE, _PRESENT_VALUE)
    bias, may_mask_all = _bias(node, key, kind)
    keys, values = _repeated(node, key, heads), _repeated(node, value, heads)
    if scale != 1:
        q = op.Mul(q, op.const(scale, kind))
    scores = op.MatMul(q, op.Transpose(_fenced_keys(node, keys), perm=[0, 1, 3, 2]))
    weights = _weights(node, scores, bias, kind)
    if may_mask_all:
        weights = _without_masked_rows(node, weights, bias, kind)
    if node.has_output(_QK_OUTPUT):
        chosen = scores if _gives_scores(node) else weights
        op.Identity(chosen, output=node.output(_QK_OUTPUT))
    _finish(node, op.MatMul(weights, values), heads)


def _is_plain(node: Node) -> bool:
    """Whether the node uses only features on which specification and runtimes agree, and types that can be computed with."""
    kind = node.elem_type(_Q)
    if kind not in ANY_FLOATING or any(node.elem_type(index) != kind for index in (_K, _V)):
        return False
    if node.attr("softcap", 0.0) and (node.has_input(_MASK) or node.attr("is_causal", 0)):
        return False
    if node.has_input(_PAST_KEY) != node.has_input(_PAST_VALUE):
        return False
    return not node.has_output(_QK_OUTPUT) or _gives_scores(node) or node.attr("qk_matmul_output_mode", _SCORES) == _SOFTMAX


def _gives_scores(node: Node) -> bool:
    """Whether the fourth output is the scores, as they are: by its mode, or because nothing is done to them before the softmax."""
    is_altered = node.attr("softcap", 0.0) or node.has_input(_MASK) or node.attr("is_causal", 0)
    mode = node.attr("qk_matmul_output_mode", _SCORES)
    return mode == _SCORES or (mode < _SOFTMAX and not is_altered)


def _heads(node: Node) -> _Heads | None:
    rank = node.rank(_Q)
    if rank not in (3, 4) or node.rank(_K) != rank or node.rank(_V) != rank:
        return None
    if rank == 4:
        queries, keys = node.dimension(1, _Q), node.dimension(1, _K)
        size, value_size = node.dimension(3, _Q), node.dimension(3, _V)
    else:
        queries, keys = node.attr("q_num_heads"), node.attr("kv_num_heads")
        size, value_size = _share(node, _Q, queries), _share(node, _V, keys)
    if not (isinstance(queries, int) and isinstance(keys, int) and isinstance(size, int)):
        return None
    if min(queries, keys, size) <= 0 or queries % keys:
        return None
    return _Heads(rank == 3, queries, keys, size, value_size if isinstance(value_size, int) else None)


def _share(node: Node, index: int, heads: int | None) -> int | None:
    """The size of a head, where heads are side by side in the last dimension of input `index`; None where it is unknown."""
    dimension = node.dimension(2, index)
    return dimension // heads if isinstance(dimension, int) and heads and dimension % heads == 0 else None


def _split_heads(node: Node, index: int, form: list[int], heads: _Heads) -> str:
    """Reshape [batch, length, heads * size] to [batch, heads, length, size]. `form` is [heads, size]."""
    op = node.op
    if not heads.is_flat:
        return node.input(index)
    apart = op.Reshape(node.input(index), op.int64([0, 0, *form]))
    return op.Transpose(apart, perm=[0, 2, 1, 3])


def _present(node: Node, name: str, past: int, present: int) -> str:
    """Append the keys or values `name` to the past ones. The result becomes an output if the node has it."""
    if node.has_input(past):
        name = node.op.Concat(node.input(past), name, axis=2)
    if node.has_output(present):
        node.op.Identity(name, output=node.output(present))
    return name


def _bias(node: Node, key: str, kind: int) -> tuple[str, bool]:
    """The mask to add to the scores, "" for none, and whether it may mask all keys of a query.

    The causal mask alone never does: each query sees the first key.
    """
    mask = _as_bias(node, node.input(_MASK), kind) if node.has_input(_MASK) else ""
    if not node.attr("is_causal", 0):
        bias = mask
    else:
        causal = _causal_bias(node, key, kind)
        bias = node.op.Add(mask, causal) if mask else causal
    if not mask:
        return bias, False
    known = node.constant(bias)
    return bias, known is None or bool(np.isneginf(known).all(axis=-1).any())


def _may_see_all_keys(node: Node) -> bool:
    """Whether a causal node may have a single query behind a past, which sees all of several new keys in onnxruntime."""
    queries, keys = node.dimension(-2, _Q), node.dimension(-2, _K)
    is_single = queries == 1 or not isinstance(queries, int)
    if not node.attr("is_causal", 0) or not node.has_input(_PAST_KEY) or not is_single:
        return False
    return keys != 1 and (queries is None or queries != keys)


def _show_all_keys(node: Node) -> None:
    """Remove is_causal where a single query sees all keys, as onnxruntime lets it.

    Raises Unconvertible where nobody said whose meaning counts, or where the number of queries is open.
    """
    if not _may_see_all_keys(node):
        return
    if node.meaning("is_causal=1 hides later keys from a single query", "shows it all keys") == "specification":
        return
    if node.dimension(-2, _Q) != 1:
        raise Unconvertible("whether it has a single query, which sees all keys, is only known at run time", node.shape_hint(_Q))
    node.pop_attr("is_causal")


def _as_bias(node: Node, mask: str, kind: int) -> str:
    """The mask as numbers: for a bool mask, 0 where it is true and minus infinity elsewhere; a mask of
    numbers in the type of the scores.
    """
    op = node.op
    mask_kind = node.need_elem_type(_MASK)
    if mask_kind != TensorProto.BOOL:
        return cast_between(node, mask, mask_kind, kind)
    return op.Where(mask, op.const(0, kind), op.const(-np.inf, kind))


def _causal_bias(node: Node, key: str, kind: int) -> str:
    """The causal mask [queries, keys], with minus infinity where a key comes after the query.

    The queries come after the past keys.
    """
    op, queries = node.op, 1 if node.rank(_Q) == 3 else 2
    masked, zero, one = op.const(-np.inf, kind), op.int64(0), op.int64(1)
    if node.target >= 14 and node.graph.may_write("Trilu"):
        past = length(node, node.input(_PAST_KEY), 2, "scalar") if node.has_input(_PAST_KEY) else zero
        sizes = op.Concat(length(node, node.input(_Q), queries), length(node, key, 2), axis=0)
        return op.Trilu(op.Expand(masked, sizes), op.Add(past, one), upper=1, opset=14)
    places = op.Range(zero, length(node, node.input(_Q), queries, "scalar"), one)
    if node.has_input(_PAST_KEY):
        places = op.Add(places, length(node, node.input(_PAST_KEY), 2))
    later = op.Less(op.Unsqueeze(places, op.int64([1])), op.Range(zero, length(node, key, 2, "scalar"), one))
    return op.Where(later, masked, op.const(0, kind))


def _repeated(node: Node, name: str, heads: _Heads) -> str:
    """[batch, keys, length, size] as [batch, queries, length, size]: each head as often as queries share it."""
    if heads.keys in (1, heads.queries):
        return name  # a matrix product broadcasts one head
    shared = np.repeat(np.arange(heads.keys), heads.queries // heads.keys)
    return node.op.Gather(name, node.op.int64(shared), axis=1)


def _fenced_keys(node: Node, keys: str) -> str:
    """The keys, behind a fence if they are rotated by angles of unknown length: otherwise onnxruntime would
    transpose them too early.
    """
    shape = node.shape(keys)
    if shape is not None and all(isinstance(size, int) for size in shape):
        return keys
    return fenced(node, keys, 4) if may_be_transposed(node, keys) and not is_transposed(node, keys) else keys


def _weights(node: Node, scores: str, bias: str, kind: int) -> str:
    """The softmax of the scores, computed in softmax_precision."""
    op = node.op
    softcap, precision = node.attr("softcap", 0.0), node.attr("softmax_precision", kind) or kind
    if softcap:
        cap = op.const(softcap, kind)
        curve = op.Tanh(op.Div(scores, cap))
        scores = op.Mul(curve, cap)
    if bias:
        scores = op.Add(scores, bias)
    softmax = op.Softmax(cast_between(node, scores, kind, precision), axis=-1)
    return cast_between(node, softmax, precision, kind)


def _without_masked_rows(node: Node, weights: str, bias: str, kind: int) -> str:
    """The weights, with 0 instead of NaN for queries whose keys are all masked.

    Halves are compared, since OpenVINO gives the lowest number for the maximum of minus infinities.
    """
    op = node.op
    highest = op.ReduceMax(op.Mul(bias, op.const(0.5, kind)), axes=[-1], keepdims=1)
    lowest = _LOWEST_BFLOAT16 if kind == TensorProto.BFLOAT16 else np.finfo(helper.tensor_dtype_to_np_dtype(kind)).min
    is_masked = op.Less(highest, op.const(lowest / 2, kind))  # Equal came later
    return op.Where(is_masked, op.const(0, kind), weights)


def _finish(node: Node, result: str, heads: _Heads) -> None:
    """Write the output in the same layout as the queries."""
    op = node.op
    if not heads.is_flat:
        op.Identity(result, output=node.output(0))
    else:
        together = op.Transpose(result, perm=[0, 2, 1, 3])
        width = -1 if heads.value_size is None else heads.queries * heads.value_size
        op.Reshape(together, op.int64([0, 0, width]), output=node.output(0))
    node.remove()
