"""What differs in the last bits alone, or in what no specification defines, is no difference; anything else is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import model

from split_rewrite.rewriter import Options, convert_version
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.model_client import Worker
from split_rewrite.rewriter.opsets.transitions import newest_opset

pytest.importorskip("onnxruntime")

Save = Callable[..., Path]
INEXACT = Tolerance(inexact=True, sums=True)
GROUPS = """g (float[2,8,4,4] x) => (float[2,8,4,4] y) {{
    s = Constant<value_floats = [1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]>() b = Constant<value_floats = [0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0]>()
    a = Selu(x) {} }}"""
NORMALIZATION = "y = GroupNormalization<num_groups = 2, epsilon = {}>(a, s, b)"
BY_HAND = """r = Constant<value_ints = [0,2,-1]>() one = Constant<value_floats = [1.0,1.0]>() zero = Constant<value_floats = [0.0,0.0]>()
    f = Reshape(a, r) i = InstanceNormalization<epsilon = 0.00001>(f, one, zero) n = Shape(a) y = Reshape(i, n)"""
JUMPS = {
    "largest": ("y = Hardmax<axis = 1>(d)", "(float[2,6,2] y)"),
    "place of the largest": ("y = ArgMax<axis = 1>(d)", "(int64[2,1,2] y)"),
    "order": ("k = Constant<value_ints = [2]>() y, p = TopK<axis = 1>(d, k)", "(float[2,2,2] y, int64[2,2,2] p)"),
    "sign": ("y = Sign(d)", "(float[2,6,2] y)"),
    "comparison": ("n = Neg(d) y = Greater(d, n)", "(bool[2,6,2] y)"),
}


def assert_found_equal(text: str, opset: int, target: int) -> None:
    found = convert_version(model(text, opset), target, options=Options(compare_budget=60)).report.comparison
    assert found is not None and found.status == "equal", found


@pytest.mark.skipif(newest_opset() < 21, reason="the installed onnx has no GroupNormalization of opset 21")
def test_a_normalization_of_nearly_equal_numbers_may_round_otherwise(save: Save, worker: Worker) -> None:
    """Selu makes one number of all that are far below 0, and what is left of them is rounding."""
    by_hand = save(GROUPS.format(BY_HAND), 17)
    found = compare(
        save(GROUPS.format(NORMALIZATION.format("0.000011")), 21), by_hand, worker=worker, tolerance=INEXACT, thorough=True
    )
    assert found.status == "different"
    assert_found_equal(GROUPS.format(NORMALIZATION.format("0.00001")), 21, 17)


@pytest.mark.skipif(newest_opset() < 23, reason="the installed onnx has no Attention")
def test_runtimes_that_agree_about_some_elements_by_chance_prove_nothing() -> None:
    """A row of scores that are all -inf: onnxruntime takes the mean of the values there, and onnx.reference 0, which is among them."""
    text = "g (float[B,3,S,8] q, float[B,3,T,8] k) => (float[B,3,S,8] y) { y = Attention<is_causal = 1>(q, k, k) }"
    assert_found_equal(text, 23, 17)


SORTED = {
    "argmax": ("int64[N] y", "y = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (l)"),
    "topk": ("float[N,1] v, int64[N,1] y", "v, y = TopK <axis = 1, largest = 0> (l, k)"),
}


@pytest.mark.parametrize(("outputs", "node"), SORTED.values(), ids=SORTED.keys())
@pytest.mark.parametrize("maker", ["Log", "Sqrt"])
def test_where_nan_is_sorted_to_is_no_difference(outputs: str, node: str, maker: str) -> None:
    assert_found_equal(f"g (float[N,4] x) => ({outputs}) <int64[1] k = {{1}}> {{ l = {maker} (x) {node} }}", 17, 9)


@pytest.mark.parametrize("maker", ["Log", "Sqrt"])
def test_beside_nan_that_is_sorted_a_difference_is_found(maker: str, save: Save, worker: Worker) -> None:
    text = "g (float[N,4] x) => (int64[N] y) { l = MAKER (x) y = ArgMax <axis = 1, keepdims = 0> (l) }".replace("MAKER", maker)
    one, other = save(text, 17), save(text.replace("ArgMax", "ArgMin"), 17)
    assert compare(one, other, worker=worker).status == "different"


@pytest.mark.parametrize(("nodes", "outputs"), JUMPS.values(), ids=JUMPS)
def test_an_order_that_last_bits_decide_is_no_difference(nodes: str, outputs: str) -> None:
    assert_found_equal(f"g (float[2,6,1] x) => {outputs} {{ d = DFT(x) {nodes} }}", 20, 16)


@pytest.mark.parametrize(("nodes", "outputs"), JUMPS.values(), ids=JUMPS)
def test_an_order_of_other_numbers_is_one(nodes: str, outputs: str, save: Save, worker: Worker) -> None:
    text = f"g (float[2,6,1] x) => {outputs} {{{{ t = DFT(x) {{}} {nodes} }}}}"
    pair = save(text.format("d = Identity(t)"), 20), save(text.format("d = Neg(t)"), 20)
    found = compare(*pair, worker=worker, tolerance=INEXACT, thorough=True)
    assert (found.status, found.rounded) == ("different", False)


RESIZE = 'r = Resize<mode = "{}", axes = [2, 3], keep_aspect_ratio_policy = "not_larger">(x, , , s)'
RESIZED = "g (float[n,2,5,6] x) => (float[n,2,a,b] y, float[n,2,5,6] z) <int64[2] s = {{7, 9}}, float nil = {{0}}> {{ {} }}"
WITHOUT_NAN = "m = IsNaN({0}) {1} = Where(m, nil, {0})"


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_nan_times_a_weight_of_0_is_no_difference(mode: str) -> None:
    assert_found_equal(RESIZED.format(f"{RESIZE.format(mode)} y = Identity(r) z = Relu(x)"), 18, 17)


@pytest.mark.parametrize(
    ("mode", "wrong", "status"),
    [
        pytest.param("linear", f"{WITHOUT_NAN.format('r', 'y')} z = Identity(x)", "equal", id="behind weights"),
        pytest.param("linear", f"y = Identity(r) {WITHOUT_NAN.format('x', 'z')}", "different", id="beside them"),
        pytest.param("nearest", f"{WITHOUT_NAN.format('r', 'y')} z = Identity(x)", "different", id="behind what only moves"),
        pytest.param("linear", "y = Relu(r) z = Identity(x)", "different", id="numbers behind weights"),
    ],
)
def test_nan_counts_where_it_is_said_where_it_is(mode: str, wrong: str, status: str, save: Save, worker: Worker) -> None:
    right = "y = Identity(r) z = Identity(x)"
    one, other = (save(RESIZED.format(f"{RESIZE.format(mode)} {nodes}"), 18) for nodes in (right, wrong))
    assert compare(one, other, worker=worker, thorough=True, budget=Budget(60)).status == status
