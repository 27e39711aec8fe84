"""Elementwise operators in terms of others, and what is written."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fitting import ZEROS, Row, assert_fits, for_a_list, refused_for, same_as_written
from helpers import convert_version, model, run
from onnx import numpy_helper

REWRITES = [
    (
        "arithmetic.exponential_below_zero",
        ["Relu", "Exp", "Min", "Sub", "Mul", "Add"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Elu<alpha = 0.5>(x) }",
        """
            <float zero = {0}, float one = {1}, float half = {0.5}>
            {
             negative = Min (x, zero)
             e = Exp (negative)
             below = Sub (e, one)
             positive = Relu (x)
             scaled = Mul (below, half)
             y = Add (positive, scaled)
            }
        """,
    ),
    (
        "arithmetic.logarithm_of_the_smaller_exponential",
        ["Relu", "Exp", "Abs", "Neg", "Log", "Add"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Softplus(x) }",
        """
            <float one = {1}>
            {
             size = Abs (x)
             negative = Neg (size)
             e = Exp (negative)
             more = Add (e, one)
             positive = Relu (x)
             log = Log (more)
             y = Add (positive, log)
            }
        """,
    ),
    (
        "arithmetic.sum_with_the_negative",
        ["Add", "Neg"],
        "",
        "g (float[2,3] x, float[3] z) => (float[2,3] y) { y = Sub(x, z) }",
        """
            {
             v1 = Neg (z)
             y = Add (x, v1)
            }
        """,
    ),
    (
        "arithmetic.product_with_minus_one",
        ["Mul"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
        """
            <float v1 = {-1}>
            {
             y = Mul (x, v1)
            }
        """,
    ),
    (
        "arithmetic.difference_from_zero",
        ["Sub"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }",
        """
            <float v1 = {-0}>
            {
             y = Sub (v1, x)
            }
        """,
    ),
    (
        "arithmetic.product_with_the_reciprocal",
        ["Mul"],
        "",
        "g (float[2,3] x) => (float[2,3] y) <float[3] d = {1,2,4}> { y = Div(x, d) }",
        """
            <float[3] v1 = {1,0.5,0.25}>
            {
             y = Mul (x, v1)
            }
        """,
    ),
    (
        "arithmetic.quotient_of_one",
        ["Div"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Reciprocal(x) }",
        """
            <float v1 = {1}>
            {
             y = Div (v1, x)
            }
        """,
    ),
    (
        "arithmetic.power_of_minus_one",
        ["Pow"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Reciprocal(x) }",
        """
            <float v1 = {-1}>
            {
             y = Pow (x, v1)
            }
        """,
    ),
    (
        "arithmetic.repeated_product",
        ["Mul"],
        "",
        "g (float[2,3] x) => (float[2,3] y) <float e = {3}> { y = Pow(x, e) }",
        """
            {
             v1 = Mul (x, x)
             y = Mul (v1, x)
            }
        """,
    ),
    (
        "arithmetic.power_of_one_half",
        ["Pow"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Sqrt(x) }",
        """
            <float v1 = {0.5}>
            {
             y = Pow (x, v1)
            }
        """,
    ),
    (
        "arithmetic.larger_of_both_signs",
        ["Add", "Max", "Neg"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Abs(x) }",
        """
            <float v3 = {0}>
            {
             v1 = Neg (x)
             v2 = Max (x, v1)
             y = Add (v2, v3)
            }
        """,
    ),
    (
        "arithmetic.smaller_of_both_signs",
        ["Min", "Neg", "Sub"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Abs(x) }",
        """
            <float v1 = {0}>
            {
             v2 = Neg (x)
             v3 = Min (x, v2)
             y = Sub (v1, v3)
            }
        """,
    ),
    (
        "arithmetic.larger_than_zero",
        ["Max"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }",
        """
            <float v1 = {0}>
            {
             y = Max (x, v1)
            }
        """,
    ),
    (
        "arithmetic.clipped_at_zero",
        ["Clip"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }",
        """
            <float v1 = {0}, float v2 = {inf}>
            {
             y = Clip (x, v1, v2)
            }
        """,
    ),
    (
        "arithmetic.between_bounds",
        ["Min", "Max"],
        "",
        "g (float[2,3] x) => (float[2,3] y) <float a = {0}, float b = {6}> { y = Clip(x, a, b) }",
        """
            <float v1 = {0}, float v3 = {6}>
            {
             v2 = Max (x, v1)
             y = Min (v2, v3)
            }
        """,
    ),
    (
        "arithmetic.rectified",
        ["Relu"],
        "",
        "g (float[2,3] x) => (float[2,3] y) <float a = {0}, float b = {inf}> { y = Clip(x, a, b) }",
        """
            {
             y = Relu (x)
            }
        """,
    ),
    (
        "arithmetic.larger_of_two_slopes",
        ["Max", "Mul"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = LeakyRelu<alpha = 0.5>(x) }",
        """
            <float v1 = {0.5}>
            {
             v2 = Mul (x, v1)
             y = Max (x, v2)
            }
        """,
    ),
    (
        "arithmetic.with_a_stored_slope",
        ["PRelu"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = LeakyRelu<alpha = 0.5>(x) }",
        """
            <float[1] v1 = {0.5}>
            {
             y = PRelu (x, v1)
            }
        """,
    ),
    (
        "arithmetic.from_two_rectifications",
        ["Sub", "Relu", "Mul", "Neg"],
        "",
        "g (float[2,3] x) => (float[2,3] y) <float[1] s = {0.25}> { y = PRelu(x, s) }",
        """
            <float[1] v4 = {0.25}>
            {
             v1 = Relu (x)
             v2 = Neg (x)
             v3 = Relu (v2)
             v5 = Mul (v3, v4)
             y = Sub (v1, v5)
            }
        """,
    ),
    (
        "arithmetic.clipped_line",
        ["Mul", "Add", "Clip"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = HardSigmoid<alpha = 0.25>(x) }",
        """
            <float v1 = {0.25}, float v3 = {0.5}, float v5 = {0}, float v6 = {1}>
            {
             v2 = Mul (x, v1)
             v4 = Add (v2, v3)
             y = Clip (v4, v5, v6)
            }
        """,
    ),
    (
        "arithmetic.by_tanh",
        ["Add", "Mul", "Tanh"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Sigmoid(x) }",
        """
            <float v1 = {0.5}>
            {
             v2 = Mul (x, v1)
             v3 = Tanh (v2)
             v4 = Mul (v3, v1)
             y = Add (v4, v1)
            }
        """,
    ),
    (
        "arithmetic.by_exponential",
        ["Div", "Add", "Exp", "Neg"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Sigmoid(x) }",
        """
            <float v3 = {1}>
            {
             v1 = Neg (x)
             v2 = Exp (v1)
             v4 = Add (v2, v3)
             y = Div (v3, v4)
            }
        """,
    ),
    (
        "arithmetic.by_sigmoid",
        ["Sub", "Mul", "Sigmoid"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Tanh(x) }",
        """
            <float v1 = {2}, float v5 = {1}>
            {
             v2 = Mul (x, v1)
             v3 = Sigmoid (v2)
             v4 = Mul (v3, v1)
             y = Sub (v4, v5)
            }
        """,
    ),
    (
        "arithmetic.added_one_by_one",
        ["Add"],
        "",
        "g (float[2] a, float[2] b, float[2] c) => (float[2] y) { y = Sum(a, b, c) }",
        """
            {
             v1 = Add (a, b)
             y = Add (v1, c)
            }
        """,
    ),
    (
        "arithmetic.tangent_in_float",
        ["Clip", "Mul", "Add", "Tanh"],
        "",
        "g (float[2] x) => (float[2] y) { y = Erf(x) }",
        """
            <float low = {-4}, float high = {4}, float c7 = {5.4156724e-09}, float c6 = {2.7717135e-08}, float c5 = {-4.795811e-06}, float c4 = {8.460125e-05}, float c3 = {-0.00061484665}, float c2 = {-0.00019528155}, float c1 = {0.10276986}, float c0 = {1.1283792}>
            {
             v = Clip (x, low, high)
             s = Mul (v, v)
             m7 = Mul (c7, s)
             s6 = Add (m7, c6)
             m6 = Mul (s6, s)
             s5 = Add (m6, c5)
             m5 = Mul (s5, s)
             s4 = Add (m5, c4)
             m4 = Mul (s4, s)
             s3 = Add (m4, c3)
             m3 = Mul (s3, s)
             s2 = Add (m3, c2)
             m2 = Mul (s2, s)
             s1 = Add (m2, c1)
             m1 = Mul (s1, s)
             s0 = Add (m1, c0)
             t = Mul (v, s0)
             y = Tanh (t)
            }
        """,
    ),
    (
        "arithmetic.quotient_in_float",
        ["Clip", "Mul", "Add", "Div"],
        "",
        "g (float[2] x) => (float[2] y) { y = Erf(x) }",
        """
            <float v1 = {-4}, float v2 = {4}, float v5 = {1.0668689e-06}, float v7 = {6.097914e-05}, float v10 = {0.0008932763}, float v13 = {0.010791716}, float v16 = {0.07754498}, float v19 = {0.3245832}, float v22 = {1.1283792}, float v24 = {4.517058e-08}, float v26 = {1.0687548e-05}, float v29 = {0.00024367824}, float v32 = {0.003325057}, float v35 = {0.029847248}, float v38 = {0.17571841}, float v41 = {0.6209877}, float v44 = {1}>
            {
             v3 = Clip (x, v1, v2)
             v4 = Mul (v3, v3)
             v6 = Mul (v5, v4)
             v8 = Add (v6, v7)
             v9 = Mul (v8, v4)
             v11 = Add (v9, v10)
             v12 = Mul (v11, v4)
             v14 = Add (v12, v13)
             v15 = Mul (v14, v4)
             v17 = Add (v15, v16)
             v18 = Mul (v17, v4)
             v20 = Add (v18, v19)
             v21 = Mul (v20, v4)
             v23 = Add (v21, v22)
             v25 = Mul (v24, v4)
             v27 = Add (v25, v26)
             v28 = Mul (v27, v4)
             v30 = Add (v28, v29)
             v31 = Mul (v30, v4)
             v33 = Add (v31, v32)
             v34 = Mul (v33, v4)
             v36 = Add (v34, v35)
             v37 = Mul (v36, v4)
             v39 = Add (v37, v38)
             v40 = Mul (v39, v4)
             v42 = Add (v40, v41)
             v43 = Mul (v42, v4)
             v45 = Add (v43, v44)
             v46 = Mul (v3, v23)
             y = Div (v46, v45)
            }
        """,
    ),
    (
        "arithmetic.rectified_twice",
        ["Relu", "Sub"],
        "",
        "g (float[2] x) => (float[2] y) <float lo = {-1}, float hi = {6}> { y = Clip(x, lo, hi) }",
        """<float v1 = {-1}, float v2 = {7}, float v3 = {6}> {
            above = Sub (x, v1)
            positive = Relu (above)
            distance = Sub (v2, positive)
            left = Relu (distance)
            y = Sub (v3, left)
        }""",
    ),
    (
        "arithmetic.rectified_twice",
        ["Relu", "Sub"],
        "",
        "g (float[2] x) => (float[2] y) <float lo = {0}, float hi = {6}> { y = Clip(x, lo, hi) }",
        """<float v = {6}> {
            positive = Relu (x)
            distance = Sub (v, positive)
            left = Relu (distance)
            y = Sub (v, left)
        }""",
    ),
    (
        "arithmetic.negated_largest",
        ["Max", "Neg"],
        "",
        "g (float[2] x, float[2] z) => (float[2] y) { y = Min(x, z) }",
        "{ a = Neg (x) b = Neg (z) c = Max (a, b) y = Neg (c) }",
    ),
    (
        "arithmetic.negated_smallest",
        ["Min", "Neg"],
        "",
        "g (float[2] x, float[2] z) => (float[2] y) { y = Max(x, z) }",
        "{ a = Neg (x) b = Neg (z) c = Min (a, b) y = Neg (c) }",
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


@pytest.mark.parametrize("allowed", [["Sub", "Min", "Neg"], ["Add", "Max", "Neg"], ["Min", "Mul", "Sub"], ["Min", "Sub"]])
def test_the_sign_of_a_zero_stays(tmp_path: Path, allowed: list[str]) -> None:
    text = "g (float[6] x) => (float[6] y, float[6] z) { a = Abs(x) y = Reciprocal(a) b = Neg(x) z = Reciprocal(b) }"
    same_as_written(tmp_path, [*allowed, "Reciprocal"], text, {"x": ZEROS})


def test_the_slope_of_a_scalar_is_one(tmp_path: Path) -> None:
    text = "g (float x) => (float y) { y = LeakyRelu<alpha = 0.5>(x) }"
    assert same_as_written(tmp_path, ["PRelu"], text, {"x": np.array(-2, np.float32)}) == ["PRelu"]


def test_an_infinite_slope_is_refused(tmp_path: Path) -> None:
    infinite = model("g (float[2] x) => (float[2] y) <float[2] s = {1, 2}> { y = PRelu(x, s) }", 13)
    infinite.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([0.5, np.inf], np.float32), "s"))
    assert "PRelu" in refused_for(tmp_path, ["Relu", "Neg", "Mul", "Sub"], infinite)


def test_a_slope_that_may_be_infinite_is_refused(tmp_path: Path) -> None:
    proto = model("g (float[2] x, float[2] s) => (float[2] y) { y = PRelu(x, s) }", 13)
    assert "PRelu" in refused_for(tmp_path, ["Relu", "Neg", "Mul", "Sub"], proto)


def test_a_slope_of_0_is_no_product(tmp_path: Path) -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = LeakyRelu<alpha = 0.0>(x) }", 13)
    assert "LeakyRelu" in refused_for(tmp_path, ["Max", "Mul"], proto)


@pytest.mark.parametrize("allowed", [["Mul"], ["Mul", "Reciprocal"]])
def test_a_reciprocal_that_is_infinite_is_refused(tmp_path: Path, allowed: list[str]) -> None:
    proto = model("g (float[2] x) => (float[2] y) <float d = {1.0}> { y = Div(x, d) }", 13)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(1e-39, np.float32), "d"))
    assert "Div" in refused_for(tmp_path, allowed, proto)


def test_a_divisor_of_float16_that_is_computed_is_refused(tmp_path: Path) -> None:
    proto = model("g (float16[2] x, float16[2] d) => (float16[2] y) { y = Div(x, d) }", 13)
    assert "Div" in refused_for(tmp_path, ["Mul", "Reciprocal"], proto)


@pytest.mark.parametrize("allowed", [["Tanh"], ["Sigmoid", "Sub"]])
def test_the_error_function_by_a_tangent_is_right_to_six_digits(allowed: list[str], tmp_path: Path) -> None:
    options = replace(for_a_list(tmp_path, ["Clip", "Mul", "Add", *allowed]), verify=False)
    x = np.append(np.linspace(-9, 9, 100_001), [np.inf, -np.inf, np.nan]).astype(np.float32)
    result = convert_version(model(f"g (float[{x.size}] x) => (float[{x.size}] y) {{ y = Erf(x) }}", 13), 13, options=options).model
    wanted = [math.erf(value) for value in x.tolist()]
    np.testing.assert_allclose(run(result, {"x": x})[0], wanted, rtol=0, atol=4e-7)


@pytest.mark.parametrize(("low", "high"), [("1e-12", "1"), ("1e-7", "1"), ("0", "1e9"), ("-3e38", "3e38"), ("-65504", "65504")])
def test_a_clip_whose_bounds_lose_digits_beside_each_other_is_refused(low: str, high: str, tmp_path: Path) -> None:
    text = f"g (float[2] x) => (float[2] y) <float lo = {{{low}}}, float hi = {{{high}}}> {{ y = Clip(x, lo, hi) }}"
    assert "rectified" not in refused_for(tmp_path, ["Relu", "Sub"], model(text, 13))
