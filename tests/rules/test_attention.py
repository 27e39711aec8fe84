"""Attention: what 24 and 25 brought, by ONNX's own function body, and cautions."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, model, optimized, refusal, run
from onnx.reference import ReferenceEvaluator

from split_rewrite.rewriter import Options, UnconvertibleError
from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 25, reason="the installed onnx has no Attention-25")


def attention(opset, attributes="", extra_inputs="", inputs="q, k, v"):
    shape = "float[1,2,3,4]"
    return model(
        f"g ({shape} q, {shape} k, {shape} v{extra_inputs}) => ({shape} y) {{ y = Attention {attributes} ({inputs}) }}",
        opset,
        10,
    )


def expected(feeds, allowed):
    """Softmax of scaled scores in double, over the keys that each query is allowed."""
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    scores = np.where(allowed, q @ k.transpose(0, 1, 3, 2) / 2, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def test_a_scale_that_is_no_number_is_refused():
    assert "Attention multiplies by its root twice" in refusal(attention(23, "<scale=nan>"), 22)


FEEDS = {name: np.random.default_rng(seed).normal(size=(1, 2, 3, 4)).astype(np.float32) for seed, name in enumerate("qkv")}


@pytest.mark.parametrize("target", [24, 23, 21, 18])
def test_a_window_is_spelled_out(target):
    result = convert_version(attention(25, "<left_window_size=1, right_window_size=0>"), target).model
    onnx.checker.check_model(result, full_check=True)
    assert "Attention" not in [node.op_type for node in result.graph.node]
    i, j = np.indices((3, 3))
    got = run(convert_version(result, 21).model if target > 21 else result, FEEDS)[0]
    np.testing.assert_allclose(got, expected(FEEDS, (j <= i) & (j >= i - 1)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", [23, 21])
def test_the_length_of_an_outer_cache_is_spelled_out(target):
    proto = attention(24, "", ", int64[1] n", "q, k, v, , , , n")
    result = convert_version(proto, target).model
    onnx.checker.check_model(result, full_check=True)
    feeds = {**FEEDS, "n": np.array([2])}
    got = run(convert_version(result, 21).model if target > 21 else result, feeds)[0]
    np.testing.assert_allclose(got, expected(FEEDS, np.arange(3) < 2), rtol=1e-5, atol=1e-6)


def test_heads_that_go_are_judged_with_a_tolerance():
    """onnxruntime has another kernel for 25: its last bits are not those of 24."""
    result = convert_version(attention(24, "<q_num_heads=2, kv_num_heads=2>"), 25)
    assert result.report.inexact == {"attention.masked_rows"}
    assert [attribute.name for attribute in result.model.graph.node[0].attribute] == []


def test_without_either_it_stays():
    assert [node.op_type for node in convert_version(attention(25), 23).model.graph.node] == ["Attention"]


def cautions(proto, target):
    return [remark.message for remark in convert_version(proto, target).report.remarks if remark.kind == "warning"]


PAST = ", float[1,2,5,4] pk, float[1,2,5,4] pv"


@pytest.mark.parametrize("source, target", [(23, 24), (24, 23)])
def test_a_caution_for_a_causal_mask_with_a_past(source, target):
    (message,) = cautions(attention(source, "<is_causal=1>", PAST, "q, k, v, , pk, pv"), target)
    assert "is_causal=1 with past_key: the mask is aligned to the bottom right" in message


def test_a_caution_for_a_causal_mask_of_an_outer_cache():
    (message,) = cautions(attention(24, "<is_causal=1>", ", int64[1] n", "q, k, v, , , , n"), 25)
    assert "is_causal=1 with nonpad_kv_seqlen" in message


@pytest.mark.parametrize("attributes", ["", "<is_causal=1>"])
def test_no_caution_without(attributes):
    assert cautions(attention(23, attributes), 25) == []


# A mask that is shorter than the keys masks those behind it, from opset 24 on.


def masked(opset, mask, attributes="", keys="2,3,4"):
    """Attention of three queries to `keys` under a mask of the type and shape `mask`."""
    return model(
        f"""g (float[1,2,3,4] q, float[1,{keys}] k, float[1,{keys}] v, {mask} m) => (float[1,2,3,4] y) {{
          y = Attention {attributes} (q, k, v, m)
        }}""",
        opset,
        11,
    )


@pytest.mark.parametrize("target", [23, 9])
def test_refuses_an_integer_mask_that_is_shorter_than_the_keys(target):
    message = refusal(masked(24, "int32[3,2]"), target)
    assert "attn_mask may be shorter than the keys, and attn_mask is int32, which has no minus infinity" in message
    assert "Hint: cast attn_mask to the type of the query" in message


@pytest.mark.parametrize(
    ("opset", "attributes", "target"), [(23, "<is_causal=1>", 22), (25, "<is_causal=1>", 22), (25, "<left_window_size=1>", 24)]
)
def test_refuses_an_integer_mask_beside_keys_that_are_masked(opset, attributes, target):
    message = refusal(masked(opset, "uint8[3,3]", attributes), target)
    assert "masks keys, and attn_mask is uint8, which has no minus infinity" in message


def test_refuses_an_integer_mask_beside_the_length_of_an_outer_cache():
    proto = attention(24, "", ", int64[3,3] m, int64[1] n", "q, k, v, m, , , n")
    assert "nonpad_kv_seqlen masks keys, and attn_mask is int64" in refusal(proto, 23)


def test_an_integer_mask_alone_is_added():
    result = convert_version(masked(24, "int8[3,3]"), 18).model
    mask = np.array([[0, 1, 2], [-1, 3, 0], [5, -2, 1]], np.int8)
    got = run(result, {**FEEDS, "m": mask})[0]
    scores = FEEDS["q"].astype(np.float64) @ FEEDS["k"].transpose(0, 1, 3, 2) / 2 + mask
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(got, weights @ FEEDS["v"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", [23, 18])
@pytest.mark.parametrize("keys", ["2,3,4", "2,K,4"])
@pytest.mark.parametrize(("mask", "columns"), [("bool[3,2]", 2), ("float[3,2]", 2), ("float[3,1]", 1), ("bool[3,M]", 2)])
def test_keys_behind_a_shorter_mask_are_masked(mask, columns, keys, target):
    result = convert_version(masked(24, mask, keys=keys), target).model
    full = np.ones((3, columns), bool) if mask.startswith("bool") else np.zeros((3, columns), np.float32)
    got = run(result if target < 23 else convert_version(result, 22).model, {**FEEDS, "m": full})[0]
    np.testing.assert_allclose(got, expected(FEEDS, np.arange(3) < columns), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("opset", "target"), [(23, 24), (24, 23)])
@pytest.mark.parametrize(("mask", "keys"), [("float[3,3]", "2,3,4"), ("bool[3,K]", "2,K,4")])
def test_a_mask_as_long_as_the_keys_stays(mask, keys, opset, target):
    assert [node.op_type for node in convert_version(masked(opset, mask, keys=keys), target).model.graph.node] == ["Attention"]


def test_keys_of_the_past_are_counted():
    proto = attention(24, "", ", bool[3,4] m, float[1,2,P,4] pk, float[1,2,P,4] pv", "q, k, v, m, pk, pv")
    result = convert_version(proto, 18).model
    old = {name: np.zeros((1, 2, 2, 4), np.float32) for name in ("pk", "pv")}
    got = run(result, {**FEEDS, "m": np.ones((3, 4), bool), **old})[0]
    both = {"q": FEEDS["q"], **{name: np.concatenate([old[f"p{name}"], FEEDS[name]], axis=2) for name in "kv"}}
    np.testing.assert_allclose(got, expected(both, np.arange(5) < 4), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "keys", "made"),
    [
        ("float[3,1]", "2,3,4", ["Expand"]),
        ("float[3,M]", "2,K,4", ["Shape", "Expand"]),
        ("float[3,1]", "H,K,4", ["Shape", "Expand"]),
    ],
)
def test_a_mask_of_one_column_is_spread_before_24_pads_it(shape, keys, made):
    raised = convert_version(masked(23, shape, keys=keys), 24).model
    assert [node.op_type for node in raised.graph.node] == [*made, "Attention"]
    mask = np.array([[0.5], [-1], [2]], np.float32)
    result = convert_version(raised, 18).model
    np.testing.assert_allclose(run(result, {**FEEDS, "m": mask})[0], expected(FEEDS, True), rtol=1e-5, atol=1e-6)


# Below opset 23.

RNG = np.random.default_rng(6)


def test_the_plain_form():
    result = convert_version(
        model("g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[1,2,3,4] y) { y = Attention (q, k, v) }", 23, 10),
        13,
    ).model
    np.testing.assert_allclose(run(result, FEEDS)[0], expected(FEEDS, True), rtol=1e-5, atol=1e-6)


def test_a_causal_mask_of_known_lengths_is_a_constant():
    result = convert_version(attention(23, "<is_causal=1>"), 13).model
    assert [node.op_type for node in result.graph.node] == ["Mul", "Transpose", "MatMul", "Add", "Softmax", "MatMul"]
    i, j = np.indices((3, 3))
    np.testing.assert_allclose(run(result, FEEDS)[0], expected(FEEDS, j <= i), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", [9, 13, 21])
def test_a_query_that_a_mask_bars_from_every_key_gets_zeros(target):
    proto = attention(23, "", ", bool[3,3] m", "q, k, v, m")
    mask = np.array([[True, False, True], [False, False, False], [True, True, True]])
    got = run(convert_version(proto, target).model, {**FEEDS, "m": mask})[0]
    assert not got[:, :, 1].any()
    np.testing.assert_allclose(got[:, :, ::2], expected(FEEDS, mask[[0, 2, 2]])[:, :, ::2], rtol=1e-5, atol=1e-6)


def test_a_mask_of_numbers_is_added():
    proto = attention(23, "", ", float[3,3] m", "q, k, v, m")
    mask = np.where(np.tril(np.ones((3, 3))), 0, -np.inf).astype(np.float32)
    got = run(convert_version(proto, 13).model, {**FEEDS, "m": mask})[0]
    np.testing.assert_allclose(got, expected(FEEDS, np.isfinite(mask)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", [9, 13, 21])
@pytest.mark.parametrize("sizes", ["2,{0},{1}", "B,{0},{1}", "B,S,{1}"])
def test_heads_side_by_side_shared_by_groups_of_queries_behind_a_past(sizes, target):
    """Two heads of keys for four of queries, two keys in the past, causal; outputs for the next step."""
    q, k, v = (RNG.normal(size=(2, 3, width)).astype(np.float32) for width in (16, 8, 8))
    past = [RNG.normal(size=(2, 2, 2, 4)).astype(np.float32) for _ in range(2)]
    text = f"""g (float[{sizes.format(3, 16)}] q, float[{sizes.format(3, 8)}] k, float[{sizes.format(3, 8)}] v,
      float[2,2,P,4] pk, float[2,2,P,4] pv) => (float[2,3,16] y, float[2,2,T,4] nk, float[2,2,T,4] nv) {{
      y, nk, nv = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q, k, v, ABSENT, pk, pv)
    }}"""
    result = convert_version(model(text, 23, 10), target).model
    y, keys, values = run(result, {"q": q, "k": k, "v": v, "pk": past[0], "pv": past[1]})
    want_keys, want_values = (
        np.concatenate([old, new.reshape(2, 3, 2, 4).transpose(0, 2, 1, 3)], axis=2) for old, new in zip(past, (k, v), strict=True)
    )
    np.testing.assert_array_equal(keys, want_keys)
    np.testing.assert_array_equal(values, want_values)
    feeds = {
        "q": q.reshape(2, 3, 4, 4).transpose(0, 2, 1, 3),
        "k": np.repeat(want_keys, 2, axis=1),
        "v": np.repeat(want_values, 2, axis=1),
    }
    i, j = np.indices((3, 5))
    want = expected(feeds, j <= i + 2).transpose(0, 2, 1, 3).reshape(2, 3, 16)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


def test_heads_of_keys_that_queries_share_are_gathered():
    text = """g (float[2,6,4,8] q, float[2,3,5,8] k, float[2,3,5,8] v) => (float[2,6,4,8] y) { y = Attention (q, k, v) }"""
    names = [node.op_type for node in convert_version(model(text, 23, 10), 13).model.graph.node]
    assert names == ["Gather", "Gather", "Mul", "Transpose", "MatMul", "Softmax", "MatMul"]


def test_one_head_of_keys_is_broadcast():
    result = convert_version(
        model("g (float[1,2,3,4] q, float[1,1,3,4] k, float[1,1,3,4] v) => (float[1,2,3,4] y) { y = Attention (q, k, v) }", 23, 10),
        13,
    ).model
    assert [node.op_type for node in result.graph.node] == ["Mul", "Transpose", "MatMul", "Softmax", "MatMul"]
    feeds = {"q": FEEDS["q"], "k": FEEDS["k"][:, :1], "v": FEEDS["v"][:, :1]}
    np.testing.assert_allclose(run(result, feeds)[0], expected(feeds, True), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", [13, 14, 17, 22])
@pytest.mark.parametrize("length", ["3", "L"])
@pytest.mark.parametrize("attributes, given", [("", ""), ("<is_causal = 1>", ""), ("<is_causal = 1>", "m")])
def test_bfloat16_by_the_same_form(attributes, given, length, target):
    mask, call = (f", bool[{length},{length}] m", "q, k, v, m") if given else ("", "q, k, v")
    shape = f"bfloat16[1,2,{length},4]"
    text = f"g ({shape} q, {shape} k, {shape} v{mask}) => ({shape} y) {{ y = Attention {attributes} ({call}) }}"
    result = convert_version(model(text, 23, 10), target, compare="off").model
    onnx.checker.check_model(result, full_check=True)
    assert "ConstantOfShape" not in [node.op_type for node in result.graph.node]  # ONNX's body adds zeros where there is no mask
    i, j = np.indices((3, 3))
    allowed = (j <= i) | (attributes == "")
    feeds = {name: value.astype(ml_dtypes.bfloat16) for name, value in FEEDS.items()}
    if given:
        feeds["m"] = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]], bool)
        allowed &= feeds["m"]
    got = ReferenceEvaluator(result).run(None, feeds)[0].astype(np.float32)
    want = expected({name: feeds[name].astype(np.float64) for name in "qkv"}, allowed)
    np.testing.assert_allclose(got, want, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("target", [13, 17])
def test_onnxruntime_does_not_transpose_the_angles_of_keys(target):
    """It would where the product is not fenced off: keys are rotated behind a Transpose, and it moves that to the next one."""
    text = """g (float[B,S,2,4] x, float[S,4] angles) => (float[B,2,S,4] y) {
      t = Transpose <perm = [0, 2, 1, 3]> (x)  c = Cos (angles)  k = Mul (t, c)  y = Attention (k, k, t)
    }"""
    result = convert_version(model(text, 23, 10), target).model
    assert sorted(optimized(result)) == ["Cos", "FusedMatMul", "MatMul", "Mul", "Reshape", "Softmax", "Transpose"]


@pytest.mark.parametrize(
    "target, mask", [(17, ["Concat", "Expand", "Trilu"]), (13, ["Gather", "Less", "Range", "Unsqueeze", "Where"])]
)
def test_a_causal_mask_of_open_length(target, mask):
    text = "g (float[2,3,S,8] x) => (float[2,3,S,8] y) { y = Attention <is_causal = 1> (x, x, x) }"
    result = convert_version(model(text, 23, 10), target).model
    names = [node.op_type for node in result.graph.node]
    for name in ("Shape", "Mul", "Transpose", "MatMul", "Add", "Softmax", "MatMul"):
        names.remove(name)
    assert sorted(names) == mask
    x = RNG.normal(size=(2, 3, 5, 8)).astype(np.float32)
    i, j = np.indices((5, 5))
    want = expected(dict.fromkeys("qkv", x) | {"q": x / np.sqrt(np.float32(2))}, j <= i)
    np.testing.assert_allclose(run(result, {"x": x})[0], want, rtol=1e-4, atol=1e-5)


def test_a_causal_mask_is_no_trilu_for_a_runtime_that_has_none():
    text = "g (float[2,3,S,8] x) => (float[2,3,S,8] y) { y = Attention <is_causal = 1> (x, x, x) }"
    result = convert_version(model(text, 23, 10), 17, options=Options(for_runtimes=["tensorrt-8.4"])).model
    names = [node.op_type for node in result.graph.node]
    assert "Less" in names
    assert "Trilu" not in names


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_the_scores_as_an_output(mode):
    text = f"""g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[1,2,3,4] y, float[1,2,3,3] w) {{
      y, ABSENT, ABSENT, w = Attention <qk_matmul_output_mode = {mode}> (q, k, v)
    }}"""
    result = convert_version(model(text, 23, 10), 13).model
    assert [node.op_type for node in result.graph.node] == ["Mul", "Transpose", "MatMul", "Softmax", "MatMul"]
    y, weights = run(result, FEEDS)
    scores = (FEEDS["q"] @ FEEDS["k"].transpose(0, 1, 3, 2)).astype(np.float64) / 2
    softmax = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(weights, softmax if mode == 3 else scores, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(y, softmax @ FEEDS["v"], rtol=1e-4, atol=1e-5)


def test_softcap_and_another_precision():
    text = """g (float16[1,2,3,4] q, float16[1,2,3,4] k, float16[1,2,3,4] v) => (float16[1,2,3,4] y) {
      y = Attention <softcap = 1.5, softmax_precision = 1, scale = 1.0> (q, k, v)
    }"""
    result = convert_version(model(text, 23, 10), 13).model
    names = [node.op_type for node in result.graph.node]
    assert names == ["Transpose", "MatMul", "Div", "Tanh", "Mul", "Cast", "Softmax", "Cast", "MatMul"]
    feeds = {name: value.astype(np.float16) for name, value in FEEDS.items()}
    scores = feeds["q"].astype(np.float64) @ feeds["k"].transpose(0, 1, 3, 2)
    weights = np.exp(1.5 * np.tanh(scores / 1.5))
    want = weights / weights.sum(axis=-1, keepdims=True) @ feeds["v"]
    np.testing.assert_allclose(run(result, feeds)[0], want, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize(
    "text",
    [
        "g (float[1,H,3,4] q, float[1,H,3,4] k, float[1,H,3,4] v) => (float[1,H,3,4] y) { y = Attention (q, k, v) }",
        """g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, float[3,3] m) => (float[1,2,3,4] y) {
          y = Attention <softcap = 1.0> (q, k, v, m)
        }""",
    ],
    ids=["heads unknown", "a mask and a softcap, which texts apply in either order"],
)
def test_onnxs_body_takes_its_place_where_that_is_not_sure(text):
    result = convert_version(model(text, 23, 10), 18).model
    assert len(result.graph.node) > 10
    onnx.checker.check_model(result, full_check=True)


@pytest.mark.parametrize("target", [25, 9])
def test_heads_of_inputs_that_have_an_axis_of_them_are_not_counted_again(target):
    """onnx refuses the attributes from opset 25 on, and its function body makes three dimensions of four by them."""
    text = """g (float16[1,2,3,4] q, float16[1,2,5,4] k, double[1,2,5,4] v) => (float16[1,2,3,4] y) {
      y = Attention <is_causal = 1, q_num_heads = 2, kv_num_heads = 2> (q, k, v)
    }"""
    plain = text.replace(", q_num_heads = 2, kv_num_heads = 2", "")
    result = convert_version(model(text, 24, 11), target).model
    assert not any(attribute.name.endswith("num_heads") for node in result.graph.node for attribute in node.attribute)
    assert result.graph.node == convert_version(model(plain, 24, 11), target).model.graph.node


def test_from_25_on_keys_and_values_are_outputs_both_or_neither():
    text = """g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v) => (float[1,2,3,4] y, float[1,2,5,4] p) {
      y, ABSENT, p = Attention (q, k, v)
    }"""
    (node,) = convert_version(model(text, 24, 11), 25).model.graph.node
    assert all(node.output) and (node.output[0], node.output[2]) == ("y", "p")


REWRITES = [
    (
        "attention.no_outer_cache",
        24,
        23,
        "g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, bool[3,2] m) => (float[1,2,3,4] y) { y = Attention (q, k, v, m) }",
        """
            <int64[2] pads = {0, 1}, bool masked = {0}, int64[1] columns = {-1}>
            {
              long = Pad (m, pads, masked, columns)
              y = Attention (q, k, v, long)
            }
        """,
    ),
    (
        "attention.causal_with_a_past",
        23,
        24,
        "g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, float[3,1] m) => (float[1,2,3,4] y) { y = Attention (q, k, v, m) }",
        """
            <int64[1] keys = {3}>
            {
              long = Expand (m, keys)
              y = Attention (q, k, v, long)
            }
        """,
    ),
    (
        "attention.in_matrix_products",
        23,
        13,
        "g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[1,2,3,4] y) { y = Attention (q, k, v) }",
        """
            <float scale = {0.5}>
            {
              scaled = Mul (q, scale)
              keys = Transpose <perm = [0, 1, 3, 2]> (k)
              scores = MatMul (scaled, keys)
              weights = Softmax <axis = -1> (scores)
              y = MatMul (weights, v)
            }
        """,
    ),
    (
        "attention.no_outer_cache",
        24,
        23,
        "g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, int64[1] n) => (float[1,2,3,4] y) { y = Attention (q, k, v, , , , n) }",
        """
            <int64[1] BatchSize = {1}, int64[3] Range = {0, 1, 2}, float[1] ScalarZero = {0}, float[1] FloatNegInf = {-inf},
             float[3,3] AttnBias = {0, 0, 0, 0, 0, 0, 0, 0, 0}, float[1] ScaleFactorSqrt = {0.70710677},
             int64[1] BiasRowMaxAxes = {-1}>
            {
              KVSeqLenExpanded = Unsqueeze (n, BatchSize)
              PaddingMaskBool = Less (Range, KVSeqLenExpanded)
              PaddingMaskFloat = Where (PaddingMaskBool, ScalarZero, FloatNegInf)
              PaddingMask3D = Unsqueeze (PaddingMaskFloat, BatchSize)
              PaddingMask4DFloat = Unsqueeze (PaddingMask3D, BatchSize)
              AttnBiasCausalPad = Add (AttnBias, PaddingMask4DFloat)
              KTranspose = Transpose <perm = [0, 1, 3, 2]> (k)
              QScaled = Mul (q, ScaleFactorSqrt)
              KScaled = Mul (KTranspose, ScaleFactorSqrt)
              QKAttnWeight = MatMul (QScaled, KScaled)
              QKAttnWeightSoftcap = Add (QKAttnWeight, AttnBiasCausalPad)
              AttnWeightSoftmax = Softmax (QKAttnWeightSoftcap)
              BiasRowMax = ReduceMax (AttnBiasCausalPad, BiasRowMaxAxes)
              RowAllMasked = Equal (BiasRowMax, FloatNegInf)
              SoftmaxOutSafe = Where (RowAllMasked, ScalarZero, AttnWeightSoftmax)
              y = MatMul (SoftmaxOutSafe, v)
            }
        """,
    ),
    (
        "attention.no_windows",
        25,
        24,
        "g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[1,2,3,4] y) { y = Attention <left_window_size = 1> (q, k, v) }",
        """
            <float[1] ScaleFactorSqrt = {0.70710677}, float[3,3] WinMaskFloat = {0, 0, 0, 0, 0, 0, -inf, 0, 0},
             bool[3,1] RowAllMasked = {0, 0, 0}, float[1] ScalarZero = {0}>
            {
              KTranspose = Transpose <perm = [0, 1, 3, 2]> (k)
              QScaled = Mul (q, ScaleFactorSqrt)
              KScaled = Mul (KTranspose, ScaleFactorSqrt)
              QKAttnWeight = MatMul (QScaled, KScaled)
              QKAttnWeightSoftcap = Add (QKAttnWeight, WinMaskFloat)
              AttnWeightSoftmax = Softmax (QKAttnWeightSoftcap)
              SoftmaxOutSafe = Where (RowAllMasked, ScalarZero, AttnWeightSoftmax)
              y = MatMul (SoftmaxOutSafe, v)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("length, second, masks", [("S", "w", 2), ("T", "w", 2), ("T", "x", 1)])
def test_layers_share_a_mask_where_one_input_decides_its_length(length: str, second: str, masks: int) -> None:
    """Two inputs with the same symbol are asked one by one: nothing makes their lengths equal."""
    proto = model(
        f"g (float[2,3,S,8] x, float[2,3,{length},8] w) => (float[2,3,S,8] y, float[2,3,U,8] z) {{"
        f"y = Attention <is_causal = 1> (x, x, x)  a = Sin ({second})  z = Attention <is_causal = 1> (a, a, a) }}",
        23,
    )
    nodes = convert_version(proto, 13).model.graph.node
    assert sum(node.op_type == "Where" for node in nodes) == masks


@pytest.mark.skipif(newest_opset() < 28, reason="the installed onnx has no Attention-28")
@pytest.mark.parametrize("calls", [1, 2])
def test_other_last_bits_of_a_newer_kernel_are_accepted_in_a_function_with_a_parameter(calls):
    """As they are in the main graph: no rule touched the node."""
    text = " ".join(f"y{n} = f.attend <scale = 0.{5 + n}> (q, k, v)" for n in range(calls))
    shape, outputs = "float[2,3,4,8]", ", ".join(f"float[2,3,4,8] y{n}" for n in range(calls))
    proto = model(f"""<ir_version: 10, opset_import: ["" : 23, "f" : 1]>
        g ({shape} q, {shape} k, {shape} v) => ({outputs}) {{ {text} }}
        <opset_import: ["" : 23], domain: "f"> attend <scale> (q, k, v) => (y)
        {{ y = Attention <scale: float = @scale> (q, k, v) }}""")
    comparison = convert_version(proto, 28, compare="auto").report.comparison
    assert comparison is not None and comparison.status == "equal"


NEW_KEYS = """g (float[1,1,{q},4] q, float[1,1,{k},4] k, float[1,1,{k},4] v, float[1,1,2,4] pk, float[1,1,2,4] pv) => (float[1,1,{q},4] y) {{
    y, c, d = Attention <is_causal = 1> (q, k, v, , pk, pv) }}"""


def test_a_single_query_before_several_new_keys_has_two_meanings():
    source = model(NEW_KEYS.format(q=1, k=2), 23, 10)
    assert "is_causal=1 hides later keys from a single query, and onnxruntime shows it all keys" in refusal(source, 22)
    random = np.random.default_rng(4)
    shapes = {"q": 1, "k": 2, "v": 2, "pk": 2, "pv": 2}
    feeds = {name: random.normal(size=(1, 1, size, 4)).astype(np.float32) for name, size in shapes.items()}
    result = convert_version(source, 22, options=Options(semantics="onnxruntime")).model
    np.testing.assert_allclose(run(result, feeds)[0], run(source, feeds)[0], rtol=1e-4, atol=1e-6)
    result = convert_version(source, 22, options=Options(semantics="specification")).model
    keys, values = (np.concatenate([feeds[past], feeds[new][:, :, :1]], axis=2) for past, new in (("pk", "k"), ("pv", "v")))
    scores = np.exp(feeds["q"].astype(np.float64) @ keys.transpose(0, 1, 3, 2) / 2)
    np.testing.assert_allclose(run(result, feeds)[0], scores / scores.sum(axis=-1, keepdims=True) @ values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("attributes", "more"),
    [(", softcap = 1.5", ""), (", qk_matmul_output_mode = 1", ", s"), (", qk_matmul_output_mode = 0", ", s")],
)
def test_two_meanings_of_what_becomes_the_function_body(attributes, more):
    """Such a node is refused as well, and has the meaning that is chosen."""
    text = NEW_KEYS.format(q=1, k=2).replace("is_causal = 1", f"is_causal = 1{attributes}").replace("c, d =", f"c, d{more} =")
    source = model(text, 23, 10)
    assert "is_causal=1 hides later keys from a single query" in refusal(source, 17)
    random = np.random.default_rng(4)
    shapes = {"q": 1, "k": 2, "v": 2, "pk": 2, "pv": 2}
    feeds = {name: random.normal(size=(1, 1, size, 4)).astype(np.float32) for name, size in shapes.items()}
    result = convert_version(source, 17, options=Options(semantics="onnxruntime")).model
    np.testing.assert_allclose(run(result, feeds)[0], run(source, feeds)[0], rtol=1e-4, atol=1e-6)
    result = convert_version(source, 17, options=Options(semantics="specification")).model
    np.testing.assert_allclose(run(result, feeds)[0], ReferenceEvaluator(source).run(None, feeds)[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", ["float[B,H,S,E]", "float[B,S,E]"])
def test_two_meanings_of_open_dimensions(shape):
    heads = "" if "H" in shape else ", q_num_heads = 2, kv_num_heads = 2"
    other = shape.replace("S", "T")
    source = model(
        f"""g ({shape} q, {other} k, {other} v, float[B,H,P,D] pk, float[B,H,P,D] pv) => ({shape} y) {{
        y, c, d = Attention <is_causal = 1{heads}> (q, k, v, , pk, pv) }}""",
        23,
        10,
    )
    assert "is_causal=1 hides later keys from a single query" in refusal(source, 22)


@pytest.mark.skipif(newest_opset() < 25, reason="the installed onnx does not know opset 25")
def test_onnxruntime_has_the_other_meaning_from_25_on():
    source = model(NEW_KEYS.format(q=1, k=2), 24, 10)
    random = np.random.default_rng(4)
    shapes = {"q": 1, "k": 2, "v": 2, "pk": 2, "pv": 2}
    feeds = {name: random.normal(size=(1, 1, size, 4)).astype(np.float32) for name, size in shapes.items()}
    report = convert_version(source, 25).report
    assert any("onnxruntime hides later keys from a single query from opset 25 on" in text for text in report.warnings)
    result = convert_version(source, 25, options=Options(semantics="onnxruntime")).model
    np.testing.assert_allclose(run(result, feeds)[0], run(source, feeds)[0], rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(newest_opset() < 25, reason="the installed onnx does not know opset 25")
@pytest.mark.parametrize("target", [24, 22, 17])
@pytest.mark.parametrize("queries", ["1", "S"])
def test_what_25_hides_stays_hidden_below(queries, target):
    source = model(NEW_KEYS.format(q=queries, k=3), 25, 10)
    random = np.random.default_rng(4)
    shapes = {"q": 1, "k": 3, "v": 3, "pk": 2, "pv": 2}
    feeds = {name: random.normal(size=(1, 1, size, 4)).astype(np.float32) for name, size in shapes.items()}
    (expected,) = ReferenceEvaluator(source).run(None, feeds)[:1]
    np.testing.assert_allclose(run(source, feeds)[0], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(run(convert_version(source, target).model, feeds)[0], expected, rtol=1e-4, atol=1e-6)


def test_rows_that_are_masked_as_a_whole_are_found_without_the_maximum_of_infinities():
    """OpenVINO gives the lowest number for it."""
    source = model(
        """g (float[1,1,2,4] q, float[1,1,3,4] k, float[1,1,3,4] v, bool[2,3] m) => (float[1,1,2,4] y) { y = Attention (q, k, v, m) }""",
        23,
        10,
    )
    result = convert_version(source, 18).model
    (maximum,) = (node for node in result.graph.node if node.op_type == "ReduceMax")
    maximum.op_type = "Max"  # of the halves and the lowest number, as OpenVINO computes it, in a row of infinities
    maximum.input[1] = "lowest"
    del maximum.attribute[:]
    result.graph.initializer.append(onnx.numpy_helper.from_array(np.finfo(np.float32).min, "lowest"))
    feeds = {name: np.ones((1, 1, size, 4), np.float32) for name, size in {"q": 2, "k": 3, "v": 3}.items()}
    (y,) = run(result, feeds | {"m": np.array([[True] * 3, [False] * 3])})
    np.testing.assert_array_equal(y[0, 0], [[1] * 4, [0] * 4])


@pytest.mark.parametrize(("queries", "keys"), [("1", "1"), ("2", "3"), ("S", "S")])
def test_other_numbers_of_queries_have_one(queries, keys):
    assert convert_version(model(NEW_KEYS.format(q=queries, k=keys), 23, 10), 22).report.target_opset == 22


def test_an_open_number_of_queries_is_refused():
    source = model(NEW_KEYS.format(q="S", k="T"), 23, 10)
    with pytest.raises(UnconvertibleError, match="is only known at run time"):
        convert_version(source, 22, options=Options(semantics="onnxruntime"))


MASKS = ["3", "1,3", "2,3", "1,1,3", "2,1,3", "1,1,1,3", "2,1,2,3", "2,2,1,3", "2", "1,2"]


@pytest.mark.parametrize("shape", MASKS)
@pytest.mark.parametrize("target", [24, 23, 22])
def test_below_25_a_mask_has_a_row_for_each_query(shape, target):
    source = model(
        f"g (float[2,2,2,4] q, float[2,2,3,4] k, float[2,2,3,4] v, float[{shape}] m) => (float[2,2,2,4] y) {{ y = Attention (q, k, v, m) }}",
        25,
        10,
    )
    random = np.random.default_rng(7)
    feeds = {name: random.normal(size=(2, 2, 2 if name == "q" else 3, 4)).astype(np.float32) for name in "qkv"}
    feeds["m"] = random.normal(size=[int(size) for size in shape.split(",")]).astype(np.float32)
    (expected,) = ReferenceEvaluator(source).run(None, feeds)
    result = convert_version(source, target).model
    np.testing.assert_allclose(run(result, feeds)[0], expected, rtol=1e-4, atol=1e-5)
    assert target < 23 or shape not in ("2,3", "2,1,2,3") or [node.op_type for node in result.graph.node] == ["Attention"]


@pytest.mark.parametrize("outputs", ["y", "y, c, d"])
@pytest.mark.parametrize("queries", ["2", "S"])
def test_below_25_a_past_makes_presents(outputs, queries):
    shape = f"float[1,1,{queries},4]"
    source = model(
        f"""g ({shape} q, {shape} k, {shape} v, float[1,1,2,4] pk, float[1,1,2,4] pv) => ({shape} y) {{
        {outputs} = Attention (q, k, v, , pk, pv) }}""",
        25,
        10,
    )
    random = np.random.default_rng(8)
    feeds = {name: random.normal(size=(1, 1, 2, 4)).astype(np.float32) for name in ("q", "k", "v", "pk", "pv")}
    (node,) = (result := convert_version(source, 24).model).graph.node
    assert (node.op_type, len(node.output), [value.name for value in result.graph.output]) == ("Attention", 3, ["y"])
    np.testing.assert_allclose(run(result, feeds)[0], run(source, feeds)[0], rtol=1e-4, atol=1e-5)


def test_a_short_mask_of_integers_means_the_same_at_24():
    text = "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v, int64[3,2] m) => (float[1,2,3,4] y) { y = Attention (q, k, v, m) }"
    assert [node.op_type for node in convert_version(model(text, 25, 10), 24).model.graph.node] == ["Attention"]


@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("target", [24, 23, 22])
def test_below_25_a_mask_reaches_beyond_a_past(columns, target):
    source = model(
        f"""g (float[1,1,2,4] q, float[1,1,2,4] k, float[1,1,2,4] v, float[2,{columns}] m, float[1,1,2,4] pk, float[1,1,2,4] pv)
        => (float[1,1,2,4] y, float[1,1,4,4] c, float[1,1,4,4] d) {{ y, c, d = Attention (q, k, v, m, pk, pv) }}""",
        25,
        10,
    )
    random = np.random.default_rng(8)
    feeds = {name: random.normal(size=(1, 1, 2, 4)).astype(np.float32) for name in ("q", "k", "v", "pk", "pv")}
    feeds["m"] = random.normal(size=(2, columns)).astype(np.float32)
    result = convert_version(source, target).model
    np.testing.assert_allclose(run(result, feeds)[0], ReferenceEvaluator(source).run(None, feeds)[0], rtol=1e-4, atol=1e-5)
    kept = [node.op_type for node in result.graph.node]
    assert target != 24 or kept == (["Attention"] if columns == 4 else ["Pad", "Attention"])
