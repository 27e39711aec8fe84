"""DeformConv below opset 19: samples between pixels, then a convolution."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, model

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("mask, groups, offset_groups", [("", 1, 1), (", m", 2, 1), (", m", 1, 2), (", m", 2, 2)])
def test_deform_conv(mask, groups, offset_groups):
    text = (
        f"g (float[2,4,5,6] x, float[6,{4 // groups},2,2] w, float[2,{offset_groups * 8},4,5] o, float[6] b, "
        f"float[2,{offset_groups * 4},4,5] m) => (float[2,6,4,5] y) "
        f"{{ y = DeformConv <group={groups}, offset_group={offset_groups}> (x, w, o, b{mask}) }}"
    )
    proto = model(text, 19)
    given = {
        value.name: RNG.normal(size=[dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in proto.graph.input
    }
    assert_same(proto, 16, given, rtol=1e-4, atol=1e-4)
