"""Gelu and its kin as ONNX's own operators, beside onnxruntime's kernels."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused
from drawing import normal
from helpers import known

from split_rewrite.rewriter import convert_version

X = normal(2, 3, 4)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("y = com.microsoft.Gelu(x, x)", "Gelu of onnxruntime does not take these inputs"),
        ("y = com.microsoft.BiasGelu(x)", "BiasGelu of onnxruntime does not take these inputs"),
        ("y = com.microsoft.QuickGelu <alpha = 1> (x)", "QuickGelu of onnxruntime has no attribute alpha of this type"),
    ],
)
def test_what_onnxruntime_has_not(node, message):
    assert message in refused(node, {"x": normal(2, 4)})


def test_without_the_rules_they_stay():
    proto = contrib_model("y = com.microsoft.Gelu(x)", {"x": normal(2, 4)}, "float[2,4] y")
    assert operators(convert_version(proto, 13).model) == ["Gelu"]


CASES = {
    "Gelu": ({"x": X}, "y = com.microsoft.Gelu(x)"),
    "BiasGelu": ({"x": X, "b": normal(4)}, "y = com.microsoft.BiasGelu(x, b)"),
    "FastGelu": ({"x": X}, "y = com.microsoft.FastGelu(x)"),
    "FastGelu of a sum": ({"x": X, "b": normal(4)}, "y = com.microsoft.FastGelu(x, b)"),
    "QuickGelu as Sigmoid": ({"x": X}, "y = com.microsoft.QuickGelu <alpha = 1.0> (x)"),
    "QuickGelu": ({"x": X}, "y = com.microsoft.QuickGelu <alpha = 1.5> (x)"),
    "a chain": ({"x": X}, "a = com.microsoft.Gelu(x) b = com.microsoft.QuickGelu(a) y = Neg(b)"),
}


@pytest.mark.parametrize(("inputs", "node"), CASES.values(), ids=CASES)
def test_it_computes_the_same(inputs, node):
    assert_standard(node, inputs, "float[2,3,4] y", targets=(17, 13, 9), rtol=1e-5, atol=1e-6)


HALVES = {
    "Gelu": "y = com.microsoft.Gelu(x)",
    "BiasGelu": "y = com.microsoft.BiasGelu(x, b)",
    "FastGelu": "y = com.microsoft.FastGelu(x, b)",
    "QuickGelu": "y = com.microsoft.QuickGelu(x)",
}


@pytest.mark.parametrize("node", HALVES.values(), ids=HALVES)
def test_float16(node):
    inputs = {"x": X.astype(np.float16)} | ({"b": normal(4).astype(np.float16)} if ", b" in node else {})
    assert_standard(node, inputs, "float16[2,3,4] y", rtol=4e-3, atol=4e-3, compare="off")


@pytest.mark.parametrize("node", ["y = com.microsoft.FastGelu(x)", "y = com.microsoft.QuickGelu(x)"])
def test_double(node):
    assert_standard(node, {"x": X.astype(np.float64)}, "double[2,3,4] y", rtol=1e-6, atol=1e-7, compare="off")


@pytest.mark.parametrize("target", [*known(20), 13])
def test_what_is_written(target):
    proto = contrib_model("y = com.microsoft.BiasGelu(x, b)", {"x": X, "b": normal(4)}, "float[2,3,4] y")
    written = operators(convert_version(proto, target, compare="off", options=STANDARD).model)
    assert written == (["Add", "Gelu"] if target >= 20 else ["Add", "Div", "Erf", "Add", "Mul", "Mul"])
