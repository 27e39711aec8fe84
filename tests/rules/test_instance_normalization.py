"""InstanceNormalization below opset 6: images only."""

from __future__ import annotations

import numpy as np
from helpers import convert_version, model, refusal


def test_refuses_what_is_no_image() -> None:
    proto = model("g (float[1,2,3] x, float[2] s, float[2] b) => (float[1,2,3] y) { y = InstanceNormalization (x, s, b) }", 6)
    assert "InstanceNormalization of opset 1 takes 4 dimensions, and 'x' has 3" in refusal(proto, 5)


def test_images_stay() -> None:
    proto = model("g (float[1,2,3,4] x, float[2] s, float[2] b) => (float[1,2,3,4] y) { y = InstanceNormalization (x, s, b) }", 6)
    (node,) = convert_version(proto, 5).model.graph.node
    assert node.op_type == "InstanceNormalization"
    assert np.isclose(next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5), 1e-5)
