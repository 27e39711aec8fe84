"""DFT: the axis between attribute and input, with its default."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, model, refusal

X = np.random.default_rng(0).standard_normal((2, 4, 6, 1)).astype(np.float32)


def test_a_computed_axis_is_refused() -> None:
    text = "g (float[2, 4, 6, 1] x, int64 a) => (float[A, B, C, 2] y) { y = DFT (x, , a) }"
    assert "the axis 'a' is computed at run time" in refusal(model(text, opset=20), 19)


@pytest.mark.parametrize(("axis", "expected"), [(1, 1), (-2, 2), (-3, 1), (None, 2)])
def test_downward(axis: int | None, expected: int) -> None:
    values, operands = ("", "x") if axis is None else (f"<int64 a = {{{axis}}}>", "x, , a")
    text = f"g (float[2, 4, 6, 1] x) => (float[2, 4, 6, 2] y) {values} {{ y = DFT ({operands}) }}"
    result = assert_same(model(text, opset=20), 17, {"x": X})
    assert result.graph.node[0].attribute[0].i == expected


@pytest.mark.parametrize("attributes", ["", "axis = 2", "onesided = 1", "axis = 1, inverse = 0"])
def test_upward_writes_out_the_default(attributes: str) -> None:
    dft = f"DFT <{attributes}>" if attributes else "DFT"
    proto = model(f"g (float[2, 4, 6, 1] x) => (float[A, B, C, 2] y) {{ y = {dft} (x) }}", opset=17)
    assert len(assert_same(proto, 20, {"x": X}).graph.node[0].input) == 3
