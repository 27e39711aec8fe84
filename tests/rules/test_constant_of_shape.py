"""ConstantOfShape below opset 9."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, model


@pytest.mark.parametrize("kind", ["float", "int64", "int32", "bool", "uint8"])
@pytest.mark.parametrize("target", [8, 7])
def test_constant_of_shape(kind, target):
    text = f"g (int64[2] s) => ({kind}[A,B] y) {{ y = ConstantOfShape <value = {kind}[1] {{1}}> (s) }}"
    assert_same(model(text, 9), target, {"s": np.array([2, 3], np.int64)})


def test_constant_of_a_shape_with_nothing_in_it():
    assert_same(model("g (int64[2] s) => (float[A,B] y) { y = ConstantOfShape (s) }", 9), 8, {"s": np.array([0, 3], np.int64)})
