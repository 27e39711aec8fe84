"""What the operators that read an input say of the values that decide."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.comparison.inputs.readers import Reading, readings

READ = {
    "positions, through what moves them": (
        "g (float[7] x, int64[2,1] i) => (float[2] y) { j = Squeeze(i) k = Cast<to = 6>(j) y = Gather(x, k) }",
        "i",
        {"positions": {7}, "becomes_integer": True, "is_cast": True},
    ),
    "scales, and numbers that saturate": (
        "g (float[4] x, float s) => (uint8[4] y) { y = QuantizeLinear(x, s) }",
        "s",
        {"scales": True, "becomes_integer": True},
    ),
    "axes": ("g (float[2,3,4] x, int64[1] a) => (float y) { y = ReduceSum(x, a) }", "a", {"axes": {3}}),
    "sizes, through arithmetic": (
        "g (int64[1] s) => (float[n] y) { t = Add(s, s) y = ConstantOfShape(t) }",
        "s",
        {"sizes": True},
    ),
    "the amount of a shift": (
        'g (uint8[4] x, uint8[4] n) => (uint8[4] y) { y = BitShift<direction = "LEFT">(x, n) }',
        "n",
        {"shifts": True},
    ),
    "landmarks, in a branch": (
        "g (bool c, float[4] x) => (float[4] y) { y = If(c) <then_branch = t () => (float[4] a) { k = Constant<value_float = 6.0>() a = Min(x, k) },"
        " else_branch = e () => (float[4] b) { b = Elu<alpha = 0.5>(x) }> }",
        "x",
        {"landmarks": {6.0, 0.5}},
    ),
    "a number reached through shifts": (
        "g (int64 x) => (bool y) <int64 a = {16000}, int64 b = {-8000}> { d = Sub(x, a) y = Equal(d, b) }",
        "x",
        {"landmarks": {16000.0, 8000.0}, "compared": {8000.0}},
    ),
    "a number reached through factors and signs": (
        "g (int64 x) => (bool y) <float a = {4}, float b = {10}, float c = {2}> {"
        " f = Cast<to = 1>(x) m = Mul(a, f) n = Neg(m) s = Sub(b, n) y = Equal(c, s) }",
        "x",
        {"landmarks": {4.0, -2.0}, "compared": {-2.0}},
    ),
    "a bound": ("g (float[4] x, float a) => (float[4] y) { y = Clip(x, a) }", "a", {"is_lower": True}),
    "starts": ("g (float[4] x, int64[1] s, int64[1] e) => (float[n] y) { y = Slice(x, s, e) }", "s", {"starts": True}),
    "steps": (
        "g (float[4] x, int64[1] s, int64[1] e, int64[1] a, int64[1] t) => (float[n] y) { y = Slice(x, s, e, a, t) }",
        "t",
        {"strides": True},
    ),
    "labels": (
        "g (float[3,5] x, int64[3] l) => (float y) { y = SoftmaxCrossEntropyLoss<ignore_index = -5>(x, l) }",
        "l",
        {"positions": {5}, "from_front": True, "ignored": {-5}},
    ),
    "positions in the whole output": (
        "g (float[1,1,2,2] x, int64[1,1,2,2] i) => (float[1,1,4,4] y) { y = MaxUnpool<kernel_shape = [2,2], strides = [2,2]>(x, i) }",
        "i",
        {"positions": {16}, "from_front": True},
    ),
    "counts": (
        "g (float[5,2] x, int64[1] k) => (float[n,2] v, int64[n,2] i) { v, i = TopK<axis = 0>(x, k) }",
        "k",
        {"positions": {5}, "from_front": True, "is_count": True, "is_ordered": True},
    ),
    "a declared shape": (
        "g (float[6] x, int64[2] s) => (float[2,3] y) { y = Reshape(x, s) }",
        "s",
        {"sizes": True, "shape": (2, 3), "may_follow": True},
    ),
    "axes that are added": (
        "g (float[6] x, int64[2] a) => (float[1,6,1] y) { y = Unsqueeze(x, a) }",
        "a",
        {"axes": {3}},
    ),
    "the start of a Range": (
        "g (int64 a, int64 b, int64 d) => (int64[n] y) { y = Range(a, b, d) }",
        "a",
        {"ranges": True},
    ),
    "what is squared": ("g (int32[4] x) => (int32[1] y) { y = ReduceSumSquare(x) }", "x", {"is_squared": True}),
    "what becomes a float": ("g (double[4] x, float[1] t) => (float[4] y) { y = CastLike(x, t) }", "x", {}),
    "nothing but the shape": ("g (float[n] x) => (int64[1] y) { y = Shape(x) }", "x", {}),
}


@pytest.mark.parametrize("text, name, expected", READ.values(), ids=READ.keys())
def test_what_reads_an_input(text: str, name: str, expected: dict[str, object]) -> None:
    assert readings(model(text)).by_input[name] == Reading(**expected)  # type: ignore[arg-type]


def test_outputs_that_values_decide() -> None:
    text = "g (float[n] x) => (float[n] y, int64[1] s, float c) { y = Neg(x) s = Shape(x) c = Constant<value_float = 1.0>() }"
    assert readings(model(text)).computed == {"y": {"x"}, "s": frozenset(), "c": frozenset()}


def test_outputs_behind_weights_that_may_be_0() -> None:
    text = """g (float[1,1,4,4] x, float[4] s, bool c) => (float[1,1,h,w] a, float[1,1,h,w] b, float[k] d, int64[4] e, float[1,1,4,4] f) {
        p = Resize<mode = "linear">(x, , s) a = Relu(p) b = Resize(x, , s) e = Shape(p) f = Neg(x)
        d = If(c) <then_branch = t () => (float[k] u) { m = Constant<value_ints = [-1]>() u = Reshape(p, m) },
            else_branch = o () => (float[k] v) { v = Constant<value_floats = [1.0]>() }> }"""
    assert readings(model(text)).spread == {"a", "d"}
