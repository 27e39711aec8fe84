"""The rules that avoid forms of reductions, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites, convert_version, model

from split_rewrite.rewriter import UnconvertibleError

REWRITES = [
    (
        "reductions.take_norm_as_it_is",
        "Division by the own L2 norm along another axis than 1",
        13,
        "g (float[2,3,4] x) => (float[2,3,4] y) <float e = {1}> { n = ReduceL2<axes = [-1]>(x) c = Clip(n, e) y = Div(x, c) }",
        "<float e = {1}> { n = ReduceL2<axes = [-1]>(x) c = Clip(n, e) a = Abs(c) y = Div(x, a) }",
    ),
    (
        "reductions.leave_out_all_axes",
        "Reduce axes as an input",
        18,
        "g (float[2,3] x) => (float[1,1] y) <int64[2] a = {1, 0}> { y = ReduceMean(x, a) }",
        "{ y = ReduceMean (x) }",
    ),
    (
        "reductions.reduce_nothing",
        "Reduce with noop_with_empty_axes",
        18,
        "g (float[2] x) => (float[2] y) { y = ReduceSum <noop_with_empty_axes = 1>(x) }",
        "{ y = Identity (x) }",
    ),
    (
        "reductions.reduce_nothing",
        "Reduce with noop_with_empty_axes",
        18,
        "g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceSum <noop_with_empty_axes = 1>(x, a) }",
        "<int64[1] a = {1}> { y = ReduceSum (x, a) }",
    ),
    (
        "reductions.fold_axes",
        "Squeeze axes computed at run time",
        13,
        "g (float[1,2] x) => (float[2] y) <int64 z = {0}, int64[1] v = {1}> { a = Reshape(z, v) y = Squeeze(x, a) }",
        "<int64[1] axes = {0}> { y = Squeeze (x, axes) }",
    ),
    (
        "reductions.reduce_in_steps",
        "Reduce over three axes or more",
        13,
        "g (float[2,3,4,5] x) => (float[1,3,1,1] y) { y = ReduceMean<axes = [-1, 0, 2]>(x) }",
        "{ reduced = ReduceMean <axes = [2, 3], keepdims = 1> (x) y = ReduceMean <axes = [0], keepdims = 1> (reduced) }",
    ),
    (
        "reductions.reduce_in_steps",
        "Reduce over three axes or more",
        18,
        "g (float[2,3,4,5] x) => (float[3] y) <int64[3] a = {0, 2, 3}> { y = ReduceSumSquare<keepdims = 0>(x, a) }",
        """<int64[2] last = {2, 3}, int64[1] first = {0}>
        { reduced = ReduceSumSquare <keepdims = 0> (x, last) y = ReduceSum <keepdims = 0> (reduced, first) }""",
    ),
    (
        "reductions.name_no_axes",
        "Reduce over all axes, which it names",
        18,
        "g (float[2,3] x) => (float[1,1] y) <int64[2] a = {1, 0}> { y = ReduceMax<noop_with_empty_axes = 1>(x, a) }",
        "{ y = ReduceMax (x) }",
    ),
    (
        "reductions.compute_single_elements",
        "Reduction over axes of length 1",
        18,
        "g (float[2,1,3] x) => (float[2,3] y) <int64[1] a = {1}> { y = ReduceL2<keepdims = 0>(x, a) }",
        "<int64[1] axes = {1}> { size = Abs (x) y = Squeeze (size, axes) }",
    ),
    (
        "reductions.compute_single_elements",
        "Reduction over axes of length 1",
        13,
        "g (float[2,1,3] x) => (float[2,1,3] y) { y = ReduceLogSum<axes = [1]>(x) }",
        "{ y = Log (x) }",
    ),
    (
        "reductions.compute_single_elements",
        "Reduction over axes of length 1",
        13,
        "g (float[2,1,3] x) => (float[2,1,3] y) { y = ReduceSumSquare<axes = [-2]>(x) }",
        "{ y = Mul (x, x) }",
    ),
    (
        "reductions.subtract_largest",
        "ReduceLogSumExp of large numbers",
        18,
        "g (float[2,3] x) => (float[2] y) <int64[1] a = {1}> { y = ReduceLogSumExp<keepdims = 0>(x, a) }",
        """<int64[1] axes = {1}, float least = {-3.4028235e+38}, float most = {3.4028235e+38}> {
        unlimited = ReduceMax <keepdims = 1> (x, axes) largest = Clip (unlimited, least, most) less = Sub (x, largest) powers = Exp (less)
        sum = ReduceSum <keepdims = 1> (powers, axes) log = Log (sum) all = Add (log, largest) y = Squeeze (all, axes) }""",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


@pytest.mark.parametrize("op_type", ["ReduceMean", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_integers_are_not_rounded_in_several_steps(op_type: str, kind: str, tmp_path: Path) -> None:
    text = f"g ({kind}[2,3,4,5] x) => ({kind}[1,3,1,1] y) {{ y = {op_type}<axes = [0, 2, 3]>(x) }}"
    with pytest.raises(UnconvertibleError, match=f"{op_type} of integers in several steps would round several times"):
        convert_version(model(text, 13), 13, options=for_a_runtime("Reduce over three axes or more", tmp_path))
