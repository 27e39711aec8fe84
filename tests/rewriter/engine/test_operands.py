"""Operands of another rank than the specification gives them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import convert_version, model, run

X = np.arange(20, dtype=np.float32).reshape(4, 5)


@pytest.mark.parametrize("target", [7, 9, 11, 17])
@pytest.mark.parametrize(
    "stored",
    [
        pytest.param("int64 s = {1}, int64 e = {3}", id="scalars"),
        pytest.param("int64[1] s = {1}, int64 e = {3}", id="scalar-end"),
        pytest.param("int64[1,2] s = {1, 0}, int64[2] e = {3, 4}", id="matrix"),
    ],
)
def test_bounds_are_vectors_in_the_result(stored: str, target: int) -> None:
    """onnx.checker takes all of these, and its older forms only vectors."""
    result = convert_version(model(f"g (float[4,5] x) => (float[A,B] y) <{stored}> {{ y = Slice (x, s, e) }}", 18), target).model
    if target < 10:
        expected = X[1:3, 0:4] if "matrix" in stored or "1,2" in stored else X[1:3]
        np.testing.assert_array_equal(run(result, {"x": X})[0], expected)


def test_bounds_of_an_older_form_stay_as_they_are() -> None:
    text = "g (float[2] x, float r, float a) => (float[A] y) { y = Tile (x, r, a) }"
    onnx.checker.check_model(convert_version(model(text, 1), 2).model)
