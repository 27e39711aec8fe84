"""Attention: what 24 and 25 brought, by ONNX's own function body, and cautions."""

import numpy as np
import onnx
import pytest
from helpers import convert_version, model, run

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
