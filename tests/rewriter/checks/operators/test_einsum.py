"""An Einsum with two ellipses in a term, on which onnx and onnxruntime never end."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

TEXT = 'g (float[2,3] x) => (float[A,B] y) {{ y = Einsum <equation = "{}"> (x) }}'


@pytest.mark.parametrize("equation", ["......->......", "...a...->...a", "a->......", "...,......->..."])
def test_invalid(equation: str) -> None:
    found = invalidity(model(TEXT.format(equation), 13), 12)
    assert found.endswith(f"(main graph) is invalid: a term of the equation '{equation}' has more than one ellipsis")


@pytest.mark.parametrize("equation", ["...ij->...ji", "...->...", "i...->...i", "ij->ji"])
def test_valid(equation: str) -> None:
    convert_version(model(TEXT.format(equation), 13), 12, compare="off")
