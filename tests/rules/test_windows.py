"""Window functions, of any size."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

from split_rewrite import rewriter


def test_refused():
    text = "g () => (int8[2] y) <int64 n = {2}> { y = BlackmanWindow <output_datatype = 3> (n) }"
    assert "a window of int8: how an element is truncated depends on its last bit" in refusal(model(text, 17), 16)


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("size, target", [(10, 7), (9, 16), (2, 11)])
def test_constant_size(operator, periodic, size, target):
    text = f"g () => (float[{size}] y) <int64 n = {{{size}}}> {{ y = {operator} <periodic={periodic}> (n) }}"
    assert_same(model(text, 17), target, {}, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("target", [13, 9, 7])
def test_size_at_run_time(operator, target):
    text = f"g (int32 n) => (double[N] y) {{ y = {operator} <output_datatype=11> (n) }}"
    assert_same(model(text, 17), target, {"n": np.array(12, np.int32)}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("operator", "a0", "a1", "a2"),
    [("HannWindow", 0.5, 0.5, 0.0), ("HammingWindow", 25 / 46, 21 / 46, 0.0), ("BlackmanWindow", 0.42, 0.5, 0.08)],
)
def test_doubles_are_computed_as_doubles(operator, a0, a1, a2):
    """onnxruntime itself has some of the coefficients as floats."""
    text = f"g (int64 n) => (double[N] y) {{ y = {operator} <output_datatype = 11> (n) }}"
    angle = 2 * np.pi / 12 * np.arange(12)
    (got,) = run(convert_version(model(text, 17), 13).model, {"n": np.array(12)})
    np.testing.assert_allclose(got, a0 - a1 * np.cos(angle) + a2 * np.cos(2 * angle), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("size", ["n", "m"])
def test_doubles_are_not_called_different(operator, size):
    text = f"g (int64 n) => (double[N] y) <int64 m = {{5}}> {{ y = {operator} <output_datatype = 11> ({size}) }}"
    assert rewriter.convert_version(model(text, 17), 11, compare="required").report.comparison.status == "equal"


def test_a_constant_size_makes_a_constant():
    result = convert_version(model("g () => (float[8] y) <int64 n = {8}> { y = HannWindow (n) }", 17), 13).model
    assert [node.op_type for node in result.graph.node] == ["Constant"]
    np.testing.assert_allclose(run(result, {})[0], np.hanning(9)[:8], rtol=1e-6, atol=1e-7)


REWRITES = [
    (
        "windows.sum_of_cosines",
        17,
        16,
        "g (int64 n) => (float[N] y) { y = HannWindow (n) }",
        """
            <int64[1] vector = {1}, int64 scalar = {0}, int64 scalar_2 = {1}, float circle = {6.2831855},
             float coefficient = {0.5}>
            {
              size = Reshape (n, vector)
              indices = Range (scalar, n, scalar_2)
              places = Cast <to = 1> (indices)
              period = Cast <to = 1> (size)
              step = Div (circle, period)
              angle = Mul (places, step)
              cos = Cos (angle)
              first = Mul (cos, coefficient)
              y = Sub (coefficient, first)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
