"""The rules that avoid forms of elementwise operators, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, convert_version, model, run

from split_rewrite.rewriter import Options, UnconvertibleError

REWRITES = [
    (
        "elementwise.sum_of_two",
        "Add of a convolution along three axes",
        13,
        "g (float[1,1,2,2,2] x) => (float[1,1,2,2,2] y) <float[1,1,1,1,1] w = {2}> { c = Conv(x, w) y = Add(x, c) }",
        "<float[1,1,1,1,1] w = {2}> { c = Conv(x, w) y = Sum(x, c) }",
    ),
    (
        "elementwise.subtract_negative",
        "Sum of Erf that is scaled before it is multiplied",
        13,
        "g (float[3] x) => (float[3] y) <float r = {1.5}, float o = {1}, float h = {0.5}> "
        "{ d = Div(x, r) e = Erf(d) s = Add(e, o) m = Mul(h, s) y = Mul(x, m) }",
        "<float r = {1.5}, float o = {-1}, float h = {0.5}> { d = Div(x, r) e = Erf(d) s = Sub(e, o) m = Mul(h, s) y = Mul(x, m) }",
    ),
    (
        "elementwise.greater",
        "Less",
        13,
        "g (float[2] a, float[2] b) => (bool[2] y) { y = Less(a, b) }",
        "{ y = Greater (b, a) }",
    ),
    (
        "elementwise.two_by_two",
        "Three or more operands",
        13,
        "g (float[2] a, float[2] b, float[2] c) => (float[2] y) { y = Max(a, b, c) }",
        "{ of_two = Max (a, b) y = Max (of_two, c) }",
    ),
    (
        "elementwise.two_by_two",
        "Three or more operands",
        13,
        "g (float[2] a, float[2] b, float[2] c) => (float[2] y) { y = Mean(a, b, c) }",
        "<float count = {3}> { of_two = Sum (a, b) of_two_2 = Sum (of_two, c) y = Div (of_two_2, count) }",
    ),
    (
        "elementwise.add_axes_of_slope",
        "PRelu with a slope of one axis",
        13,
        "g (float[N,3,4] x) => (float[N,3,4] y) <float[4] s = {1, 2, 3, 4}> { y = PRelu(x, s) }",
        "<float[1,1,4] s = {1, 2, 3, 4}> { y = PRelu (x, s) }",
    ),
    (
        "elementwise.add_axes_of_slope",
        "PRelu with a slope of one axis",
        13,
        "g (float[N,3,4] x, float[M] s) => (float[N,3,4] y) { y = PRelu(x, s) }",
        "<int64[2] a = {0, 1}> { slope = Unsqueeze (s, a) y = PRelu (x, slope) }",
    ),
    (
        "elementwise.divide_wider",
        "Div of integers of 8 bits",
        14,
        "g (int8[2] x, int8[2] z) => (int8[2] y) { y = Div(x, z) }",
        "{ a = Cast <to = 6> (x) b = Cast <to = 6> (z) q = Div (a, b) y = Cast <to = 3> (q) }",
    ),
    (
        "elementwise.multiply",
        "Pow by 3",
        13,
        "g (float[2] x) => (float[2] y) <float e = {3}> { y = Pow(x, e) }",
        "{ square = Mul (x, x) y = Mul (square, x) }",
    ),
    (
        "elementwise.spread_last_operand",
        "Where that spreads its last operand",
        13,
        "g (bool[2,3] c, float[2,3] x, float[3] z) => (float[2,3] y) { y = Where(c, x, z) }",
        "<int64[2] shape = {2, 3}> { spread = Expand (z, shape) y = Where (c, x, spread) }",
    ),
    (
        "elementwise.spread_last_operand",
        "Where that spreads its last operand",
        13,
        "g (bool[N,3] c, float[1,3] x, float z) => (float[N,3] y) { y = Where(c, x, z) }",
        "{ shape = Shape (c) spread = Expand (z, shape) y = Where (c, x, spread) }",
    ),
    (
        "elementwise.spread_first_operand",
        "Order of floats that spreads its first operand",
        13,
        "g (float[1,4] x, float[3,1] z) => (bool[3,4] y) { y = GreaterOrEqual(x, z) }",
        "<int64[2] shape = {3, 4}> { spread = Expand (x, shape) y = GreaterOrEqual (spread, z) }",
    ),
    (
        "elementwise.spread_first_operand",
        "Order of floats that spreads its first operand",
        13,
        "g (float[3] x, float[N,3] z) => (bool[N,3] y) { y = Less(x, z) }",
        "{ shape = Shape (z) spread = Expand (x, shape) y = Less (spread, z) }",
    ),
    (
        "elementwise.write_out_sigmoid",
        "Sigmoid of float64 that is multiplied",
        13,
        "g (double[3] x) => (double[3] y) { s = Sigmoid(x) y = Mul(x, s) }",
        "<double one = {1}> { n = Neg (x) e = Exp (n) d = Add (one, e) s = Div (one, d) y = Mul (x, s) }",
    ),
    (
        "elementwise.is_not_zero",
        "Cast to bool",
        13,
        "g (float[2] x) => (bool[2] y) { y = Cast<to = 9>(x) }",
        "<float zero = {0}> { is_zero = Equal (x, zero) y = Not (is_zero) }",
    ),
    (
        "elementwise.transpose_first",
        "Gemm with transA",
        13,
        "g (float[3,2] a, float[3,2] b) => (float[2,2] y) { y = Gemm<transA = 1>(a, b) }",
        "{ transposed = Transpose <perm = [1, 0]> (a) y = Gemm (transposed, b) }",
    ),
    (
        "elementwise.truncate_first",
        "Cast of a float to an integer",
        13,
        "g (float[2] x) => (int64[2] y) { y = Cast<to = 7>(x) }",
        """
            {
              sign = Sign (x)
              size = Abs (x)
              whole = Floor (size)
              truncated = Mul (sign, whole)
              y = Cast <to = 7> (truncated)
            }
        """,
    ),
    (
        "elementwise.drop_beta",
        "Gemm with beta 0",
        13,
        "g (float[2,2] a, float[2] c) => (float[2,2] y) { y = Gemm<beta = 0.0, transB = 1>(a, a, c) }",
        "<float zero = {-0.0}> { y = Gemm <transB = 1> (a, a, zero) }",
    ),
    (
        "shrink.by_definition",
        "Shrink",
        9,
        "g (float[2] x) => (float[2] y) { y = Shrink<bias = 0.5>(x) }",
        """
            <float NegLmbda = {-0.5}, float Lambd = {0.5}, float Zero = {0}>
            {
              InputLessThanNegLambda = Less (x, NegLmbda)
              InputAddBias = Add (x, Lambd)
              InputSubBias = Sub (x, Lambd)
              LambdaLessThanInput = Less (Lambd, x)
              InputSubBiasOrZero = Where (LambdaLessThanInput, InputSubBias, Zero)
              y = Where (InputLessThanNegLambda, InputAddBias, InputSubBiasOrZero)
            }
        """,
    ),
    (
        "elementwise.spell_out",
        "HardSigmoid that can be part of a HardSwish",
        13,
        "g (float[2] x) => (float[2] y) { y = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) }",
        "<float alpha = {0.16666667}, float beta = {0.5}, float zero = {0}, float one = {1}> "
        "{ scaled = Mul (x, alpha) line = Add (scaled, beta) y = Clip (line, zero, one) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


@pytest.mark.parametrize("kind", ["float8e4m3fn", "uint4"])
def test_a_narrow_type_is_compared_with_0_in_a_wider_one(kind: str, tmp_path: Path) -> None:
    proto = model(f"g ({kind}[2] x) => (bool[2] y) {{ y = Cast<to = 9>(x) }}", 21, ir_version=10)
    result = converted(proto, "Cast to bool", tmp_path)
    assert [node.op_type for node in result.graph.node] == ["Cast", "Cast", "Equal", "Not"]


WHOLE = {
    "a floor": "w = Floor(x)",
    "a truncation": "s = Sign(x) a = Abs(x) f = Floor(a) w = Mul(s, f)",
    "within whole bounds": "f = Round(x) w = Clip(f, low, high)",
    "a sum": "f = Ceil(x) g = Add(f, one) w = Max(g, one)",
}
FRACTIONS = {
    "a bound": "f = Round(x) w = Clip(f, half, high)",
    "a quotient": "f = Round(x) w = Div(f, high)",
    "a factor": "f = Round(x) w = Mul(f, x)",
    "no maker": "w = Max(x, one)",
}


@pytest.mark.parametrize("nodes", [*WHOLE.values(), *FRACTIONS.values()], ids=[*WHOLE, *FRACTIONS])
def test_what_is_whole_is_not_truncated_again(nodes: str, tmp_path: Path) -> None:
    stored = "<float low = {-3}, float high = {4}, float one = {1}, float half = {0.5}>"
    proto = model(f"g (float[5] x) => (int64[5] y) {stored} {{ {nodes} y = Cast<to = 7>(w) }}", 13)
    result = converted(proto, "Cast of a float to an integer", tmp_path)
    added = len(result.graph.node) - len(proto.graph.node)
    assert added == (0 if nodes in WHOLE.values() else 4)
    x = np.array([-2.5, -0.3, 0.0, 1.7, 9.2], np.float32)
    np.testing.assert_array_equal(run(result, {"x": x})[0], run(proto, {"x": x})[0])


def test_a_stored_boolean_is_written_once() -> None:
    """OpenCV takes neither constants of bool nor Casts to bool: the one is not written for the other for ever."""
    proto = model("g (float[N,3] x) => (float[N,3] y) { y = Trilu(x) }", 16)
    with pytest.raises(UnconvertibleError, match="the shape of 'x' is open: N"):
        convert_version(proto, options=Options(for_runtimes=["opencv-4.12"]))


def test_a_stored_value_that_is_cast_to_bool_is_compared_in_float(tmp_path: Path) -> None:
    proto = model("g (bool[3] c) => (bool[3] y) <int32[3] s = {0, -2, 7}> { k = Cast<to = 9>(s) y = And(c, k) }", 13)
    result = converted(proto, "Cast to bool", tmp_path)
    assert [node.op_type for node in result.graph.node] == ["Greater", "And"]
    np.testing.assert_array_equal(run(result, {"c": np.array([True, True, True])})[0], [False, True, True])


@pytest.mark.parametrize(
    "text",
    [
        "g (float[N,4] x) => (bool[N,4] y) <float z = {1}> { y = Greater (x, z) }",
        "g (float[N,4] x, float[4] z) => (bool[N,4] y) { y = Greater (x, z) }",
        "g (int64[M,1] x, int64[N] z) => (bool[M,N] y) { y = Greater (x, z) }",
        "g (float[4] x, float[K] z, int64[2] r) => (bool[A,B] y) { s = Reshape (z, r) l = Shape (s) e = Expand (x, l) y = Less (e, s) }",
    ],
)
def test_a_first_operand_that_is_not_spread_is_left_alone(text: str, tmp_path: Path) -> None:
    source = model(text, 13)
    assert converted(source, "Order of floats that spreads its first operand", tmp_path).graph.node == source.graph.node


def test_a_first_operand_of_unknown_shape_is_refused(tmp_path: Path) -> None:
    text = "g (float[M,1] x, float[N] z) => (bool[M,N] y) { y = Greater (x, z) }"
    with pytest.raises(UnconvertibleError, match=r"the shape \(M, N\) of 'y' is not fully known"):
        converted(model(text, 13), "Order of floats that spreads its first operand", tmp_path)


def test_an_operand_that_was_expanded_to_a_smaller_one_is_spread_once_more(tmp_path: Path) -> None:
    text = """g (bool[3] c, float[2,3] x, float v) => (float[2,3] y) { s = Shape (c) e = Expand (v, s) y = Where (c, x, e) }"""
    result = converted(model(text, 13), "Where that spreads its last operand", tmp_path)
    assert len([node for node in result.graph.node if node.op_type == "Expand"]) == 2
