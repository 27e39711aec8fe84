"""Operators of onnxruntime with a bias as ONNX's own. There is no kernel for CPUs: numpy computes what is expected."""

from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pytest
from contrib import STANDARD, contrib_model, operators
from drawing import normal
from helpers import convert_version, run

X, BIAS = normal(2, 3, 8), normal(8)


def converted(node: str, inputs: dict[str, np.ndarray], declared: str, target: int = 13) -> tuple[list[np.ndarray], list[str]]:
    result = convert_version(contrib_model(node, inputs, declared), target, options=STANDARD).model
    return run(result, inputs), operators(result)


def test_two_sums():
    skip = normal(2, 3, 8)
    (y,), written = converted("y = com.microsoft.BiasAdd (x, b, s)", {"x": X, "b": BIAS, "s": skip}, "float[2,3,8] y")
    np.testing.assert_array_equal(y, X + BIAS + skip)
    assert written == ["Add", "Add"]


@pytest.mark.parametrize("target", [18, 13, 9])
def test_half_of_it_times_the_gelu_of_the_other(target):
    (y,), _ = converted("y = com.microsoft.BiasSplitGelu (x, b)", {"x": X, "b": BIAS}, "float[2,3,4] y", target)
    left, right = np.split((X + BIAS).astype(np.float64), 2, axis=2)
    np.testing.assert_allclose(y, left * right / 2 * (1 + np.vectorize(erf)(right / sqrt(2))), rtol=1e-5, atol=1e-6)


RATIO, TRAINING = {"r": np.array(0.3, np.float32)}, {"t": np.array(False)}
DROPOUTS = [
    ("x, b", {}, {}, ["Add"]),
    ("x, b, s", {"s": X}, {}, ["Add", "Add"]),
    ("x, b, s, r", {"s": X} | RATIO, {}, ["Add", "Add"]),
    ("x, b, s, r, t", {"s": X} | RATIO, TRAINING, ["Add", "Add"]),
    ("x, b, ABSENT, r, t", RATIO, TRAINING, ["Add"]),
    ("x, b, s, r, t", {"s": X} | RATIO | TRAINING, {}, ["Add", "Dropout", "Add"]),
]


@pytest.mark.parametrize(("operands", "more", "constants", "written"), DROPOUTS)
def test_without_training_nothing_is_dropped(operands, more, constants, written):
    inputs = {"x": X, "b": BIAS} | more
    proto = contrib_model(f"y = com.microsoft.BiasDropout ({operands})", inputs, "float[2,3,8] y", constants=constants)
    result = convert_version(proto, 13, options=STANDARD).model
    assert operators(result) == written
    np.testing.assert_array_equal(run(result, inputs)[0], X + BIAS + (X if "s" in more else 0))


def test_the_mask_of_what_was_dropped():
    (y, mask), _ = converted("y, m = com.microsoft.BiasDropout (x, b)", {"x": X, "b": BIAS}, "float[2,3,8] y, bool[2,3,8] m")
    np.testing.assert_array_equal(y, X + BIAS)
    assert mask.all()
