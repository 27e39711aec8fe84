"""The rules that avoid forms of normalizations, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model, run

from split_rewrite.rewriter import UnconvertibleError

NORM = """g (float[2,4,3] x) => (float[2,4,3] y) <float[3] s = {1, 2, 3}, float two = {2}, float e = {0.001}> {
    m = ReduceMean<axes = [1, 2]>(x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean<axes = [1, 2]>(p)
    a = Add(e, v) r = Sqrt(a) q = Div(d, r) y = Mul(s, q) }"""
REWRITES = [
    (
        "normalizations.divide_by_the_bias",
        "LRN with a bias that is no whole number",
        13,
        "g (float[1,4,2,2] x) => (float[1,4,2,2] y) { y = LRN<size = 3, bias = 0.25, alpha = 0.5, beta = 0.5>(x) }",
        "<float factor = {2}> { of_bias_1 = LRN <size = 3, bias = 1.0, alpha = 2.0, beta = 0.5> (x) y = Mul (of_bias_1, factor) }",
    ),
    (
        "normalizations.spread_scale",
        "LayerNormalization with a scale that is spread",
        17,
        "g (float[2,3,2] x, float[2] s) => (float[2,3,2] y) <float[1,2] b = {1, 2}> { y = LayerNormalization<axis = 1>(x, s, b) }",
        "<int64[2] lengths = {3, 2}, float[3,2] bias = {1, 2, 1, 2, 1, 2}> "
        "{ scale = Expand (s, lengths) y = LayerNormalization <axis = 1> (x, scale, bias) }",
    ),
    (
        "normalizations.square_by_a_product",
        "Norm that is scaled by another shape than its axes have",
        13,
        NORM,
        """<float[3] s = {1, 2, 3}, float e = {0.001}> {
            m = ReduceMean <axes = [1, 2]> (x) d = Sub (x, m) p = Mul (d, d) v = ReduceMean <axes = [1, 2], keepdims = 1> (p)
            a = Add (v, e) r = Sqrt (a) q = Div (d, r) y = Mul (s, q) }""",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, opset, opset, for_a_runtime(form, tmp_path))


@pytest.mark.parametrize("attributes", ["bias = 1.5", "bias = 0.1, alpha = 0.7, beta = 0.3", "bias = 2.5, beta = 2.0"])
def test_an_lrn_computes_the_same(attributes: str, tmp_path: Path) -> None:
    before = model(f"g (float[1,5,2,2] x) => (float[1,5,2,2] y) {{ y = LRN<size = 3, {attributes}>(x) }}", 13)
    result = converted(before, "LRN with a bias that is no whole number", tmp_path)
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 5, 2, 2)).astype(np.float32)}
    np.testing.assert_allclose(run(result, feeds)[0], run(before, feeds)[0], rtol=1e-5)  # 100 last bits


def test_a_scale_of_one_element_computes_the_same(tmp_path: Path) -> None:
    text = "g (float[2,3,4] x, float[1] s) => (float[2,3,4] y) <float[4] b = {1, 2, 3, 4}> { y = LayerNormalization<axis = -2>(x, s, b) }"
    before = model(text, 17)
    result = converted(before, "LayerNormalization with a scale that is spread", tmp_path)
    feeds = {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4), "s": np.array([3], np.float32)}
    np.testing.assert_allclose(run(result, feeds)[0], run(before, feeds)[0], rtol=1e-5)  # onnxruntime rounds otherwise


def test_a_scale_of_single_batches_is_refused(tmp_path: Path) -> None:
    before = model("g (float[2,2,3] x, float[2,1,3] s) => (float[2,2,3] y) { y = LayerNormalization (x, s) }", 17)
    with pytest.raises(UnconvertibleError, match="'s' has more dimensions than are normalized"):
        converted(before, "LayerNormalization with a scale that is spread", tmp_path)


OTHER_NORMS = {
    "scaled by the lengths of its axes": NORM.replace("[1, 2]>", "[2]>"),
    "scaled by what is computed": NORM.replace("Mul(s, q)", "Mul(m, q)"),
    "squares of something else": NORM.replace("Pow(d, two)", "Pow(x, two)"),
    "another power": NORM.replace("two = {2}", "two = {3}"),
    "the divisor is divided": NORM.replace("Div(d, r)", "Div(r, d)"),
    "no root": NORM.replace("Sqrt(a)", "Abs(a)"),
    "no mean": NORM.replace("v = ReduceMean", "v = ReduceMax"),
    "no number is added": NORM.replace("Add(e, v)", "Abs(v)"),
}


@pytest.mark.parametrize("text", OTHER_NORMS.values(), ids=OTHER_NORMS)
def test_other_norms_stay(text: str, tmp_path: Path) -> None:
    before = model(text, 13)
    assert converted(before, "Norm that is scaled by another shape than its axes have", tmp_path).graph.node == before.graph.node


@pytest.mark.parametrize(
    "scale", ["float s = {2}", "float[1] s = {2}", "float[4,3] s = {1,2,3,4,5,6,7,8,9,10,11,12}", "float[4,1] s = {1,2,3,4}"]
)
@pytest.mark.parametrize("quotient", ["q = Div(d, r)", "i = Reciprocal(r) q = Mul(d, i)", "i = Reciprocal(r) q = Mul(i, d)"])
@pytest.mark.parametrize("axes", ["[1]", "[-1]", "[0, 2]"])
def test_a_norm_computes_the_same(scale: str, quotient: str, axes: str, tmp_path: Path) -> None:
    text = NORM.replace("float[3] s = {1, 2, 3}", scale).replace("q = Div(d, r)", quotient).replace("[1, 2]>", f"{axes}>")
    result = converted(model(text, 13), "Norm that is scaled by another shape than its axes have", tmp_path)
    assert "Pow" not in [node.op_type for node in result.graph.node]
    feeds = {"x": np.random.default_rng(4).standard_normal((2, 4, 3)).astype(np.float32)}
    np.testing.assert_allclose(run(result, feeds)[0], run(model(text, 13), feeds)[0], rtol=1e-5, atol=1e-6)
