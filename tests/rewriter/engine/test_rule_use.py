"""What the use of a rule adds to the outcome."""

from __future__ import annotations

import onnx
import pytest
from helpers import convert_version, model

from split_rewrite import rewriter
from split_rewrite.rewriter import Options, UnconvertibleError

pytestmark = pytest.mark.quick

DFT = "f = DFT(z)"
GELU = "h = Gelu(x)"
ONE = "g (float[1,4,1] z, float[4] x) => (float[1,4,2] f, float[4] h) {{ {} {} }}"


@pytest.mark.parametrize("nodes", [(DFT, GELU), (GELU, DFT)])
def test_one_rule_that_sums_makes_the_outcome_one_of_sums(nodes: tuple[str, str]) -> None:
    report = convert_version(model(ONE.format(*nodes), 20), 13).report
    assert report.sums and len(report.inexact) == 2


def test_a_rule_that_is_not_exact_need_not_sum() -> None:
    report = convert_version(model("g (float[4] x) => (float[4] h) { h = Gelu(x) }", 20), 13).report
    assert report.inexact and not report.sums


def test_an_exact_rule_is_not_listed() -> None:
    report = convert_version(
        model("g (float[4] x) => (float[2] a, float[2] b) { a, b = Split<num_outputs = 2>(x) }", 18), 13
    ).report
    assert (report.applied, report.inexact, report.sums) == ({"split.spell_out_parts": 1}, set(), False)


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 25, reason="the installed onnx has no Attention-25")
def test_another_kernel_counts_for_a_node_that_an_exact_rule_changed() -> None:
    """The numbers of heads go at 24. At 25, where runtimes have another kernel, nothing is left to change."""
    heads = "float[1,2,3,4]"
    text = f"g ({heads} q, {heads} k, {heads} v) => ({heads} y) {{ y = Attention<q_num_heads = 0>(q, k, v) }}"
    report = convert_version(model(text, 23, 10), 25).report
    assert set(report.applied) == report.inexact == {"attention.causal_with_a_past"}
    assert rewriter.convert_version(model(text, 23, 10), 25, compare="required").report.comparison is not None
    untouched = model(text.replace("<q_num_heads = 0>", ""), 23, 10)
    assert not convert_version(untouched, 25).report.applied


def test_a_rule_that_is_excluded_and_needed_is_a_refusal() -> None:
    split = model("g (float[5] x) => (float[3] a, float[2] b) { a, b = Split<num_outputs = 2>(x) }", 18)
    with pytest.raises(UnconvertibleError, match=r"rule split\.spell_out_parts is needed here, and --only or --skip excludes it"):
        convert_version(split, 13, options=Options(skip=frozenset({"split"})))
