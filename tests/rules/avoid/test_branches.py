"""If that a runtime decides once: computed both ways, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model, run

from split_rewrite.rewriter import UnconvertibleError

FORM = "If of open lengths"


def choice(taken: str, other: str, interface: str = "(float[N,2] x, bool c) => (float[N,2] y)", shape: str = "N,2") -> str:
    return (
        f"g {interface} {{ y = If (c) <then_branch = t () => (float[{shape}] a) {{ {taken} }}, "
        f"else_branch = e () => (float[{shape}] b) {{ {other} }}> }}"
    )


LENGTH = choice("a = Neg(x)", "v = Shape(x) b = Reshape(x, v)", "(float[N,2] x) => (float[N,2] y)").replace(
    "{ y = If", "<int64 k = {3}, int64 i = {0}> { s = Shape(x) n = Gather(s, i) m = Add(n, k) c = Less(m, n) y = If"
)
REFUSED = {
    "a condition on numbers, among them a length": LENGTH.replace(
        "m = Add(n, k)", "t = ReduceSum(x) z = Cast<to = 7>(t) m = Add(z, n)"
    ),
    "a condition on a length that no branch reads": LENGTH.replace("(float[N,2] x)", "(float[N,2] x, float[M] z)").replace(
        "{ s = Shape(x)", "{ s = Shape(z)"
    ),
    "a condition on a length that depends on numbers": LENGTH.replace("{ s = Shape(x)", "{ q = NonZero(x) s = Shape(q)"),
    "a random condition": LENGTH.replace("m = Add(n, k)", "t = RandomUniformLike<dtype = 1>(k) z = Cast<to = 7>(t) m = Add(z, n)"),
    "an operand that may not fit": choice(
        "a = PRelu(x, z)", "b = Neg(x)", "(float[N,2] x, float[M,1] z, bool c) => (float[N,2] y)"
    ),
    "a scale that may not fit": choice(
        "a = LayerNormalization(x, z)", "b = Neg(x)", "(float[N,K] x, float[M] z, bool c) => (float[N,K] y)", "N,K"
    ),
    "an open length that becomes another one": choice(
        "a = Reshape(x, k)", "m = Neg(x) b = Reshape(m, k)", "(float[N,3] x, bool c) => (float[K,2] y) <int64[2] k = {-1,2}>", "K,2"
    ),
    "a branch that may fail": choice("s = Shape(x) a = Reshape(x, s)", "b = Neg(x)"),
    "branches of two lengths": choice("a = Neg(x)", "b = Neg(z)", "(float[N,2] x, float[M,2] z, bool c) => (float[K,2] y)", "K,2"),
    "lengths that only fit where it is taken": choice(
        "a = Add(x, z)", "b = Neg(x)", "(float[N,2] x, float[M,2] z, bool c) => (float[K,2] y)", "K,2"
    ),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_it_is_refused(text: str, tmp_path: Path) -> None:
    message = r"NPU 1 computes it wrongly \(If of open lengths\): the shape \(.*\) of 'y' is not fully known"
    with pytest.raises(UnconvertibleError, match=message):
        converted(model(text, 17), FORM, tmp_path)


def test_a_quotient_of_integers_is_refused(tmp_path: Path) -> None:
    text = "g (int64[N] x, bool c) => (int64[N] y) { y = If (c) <then_branch = t () => (int64[N] a) { a = Div(x, x) }, "
    text += "else_branch = e () => (int64[N] b) { b = Neg(x) }> }"
    with pytest.raises(UnconvertibleError, match=r"the shape \(N\) of 'y' is not fully known"):
        converted(model(text, 17), FORM, tmp_path)


STAYS = {
    "a condition on lengths": LENGTH,
    "fixed": choice("a = Neg(x)", "b = Abs(x)", "(float[3,2] x, bool c) => (float[3,2] y)", "3,2"),
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_stays(text: str, tmp_path: Path) -> None:
    assert converted(model(text, 17), FORM, tmp_path).graph.node[-1].op_type == "If"


MOVED = choice(
    "d, e = Split<axis = 1>(x, s) a = Concat<axis = 1>(e, d)",
    "f, h = Split<axis = 1>(x, s) b = Concat<axis = 1>(f, h)",
    "(float[N,3] x, bool c) => (float[N,3] y) <int64[2] s = {1, 2}>",
    "N,3",
)
REWRITES = [
    (
        "branches.compute_both",
        choice("a = Identity(x)", "d = Constant<value_float = 2.0>() m = Div(x, d) b = Softmax(m)"),
        "<float d = {2}> { m = Div (x, d) s = Softmax (m) y = Where (c, x, s) }",
    ),
    (
        "branches.compute_both",
        MOVED,
        "<int64[2] s = {1, 2}> { d, e = Split <axis = 1> (x, s) a = Concat <axis = 1> (e, d) y = Where (c, a, x) }",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, before: str, after: str, tmp_path: Path) -> None:
    result = assert_rewrites(before, after, rule, 17, 17, for_a_runtime(FORM, tmp_path))
    for chosen in (True, False):
        x = np.float32([[0, 1, 5], [np.nan, 2, -0.0]])
        feeds = {"x": x if before == MOVED else x[:, :2], "c": np.array(chosen)}
        np.testing.assert_array_equal(run(result, feeds)[0], run(model(before, 17), feeds)[0])
