"""Upsample between its three forms, and as Resize."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

X = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)


@pytest.mark.parametrize(
    ("text", "opset", "target", "message"),
    [
        pytest.param(
            "g (float[1, 1, 3, 4] x, float[4] s) => (float[A, B, C, D] y) { y = Upsample (x, s) }",
            *(9, 8, "the older form needs the scales as a constant, and 's' is computed at run time"),
            id="computed_scales",
        ),
        pytest.param(
            "g (float[1, 1, 3, 4] x) => (float[1, 2, 3, 4] y) { y = Upsample <scales = [1.0, 2.0, 1.0, 1.0]> (x) }",
            *(7, 6, "before opset 7, only the last two of four axes can be scaled"),
            id="channels",
        ),
        pytest.param(
            "g (float[1, 1, 3, 4] x) => (float[A, B, C, D] y) <float[4] s = {1, 1, inf, 1}> { y = Upsample (x, s) }",
            *(9, 8, "a scale is inf, which is not positive and finite"),
            id="infinite",
        ),
        pytest.param(
            "g (float[1, 1, 3, 4] x) => (float[A, B, C, D] y) <float[4] s = {1, 1, nan, 1}> { y = Upsample (x, s) }",
            *(9, 10, "a scale is nan, which is not positive and finite"),
            id="not-a-number",
        ),
    ],
)
def test_refused(text: str, opset: int, target: int, message: str) -> None:
    assert message in refusal(model(text, opset), target)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("target", [9, 10, 11, 13, 18])
def test_upward(mode: str, target: int) -> None:
    text = (
        f'g (float[1, 1, 3, 4] x) => (float[1, 1, 6, 12] y) {{ y = Upsample <mode = "{mode}", scales = [1.0, 1.0, 2.0, 3.0]> (x) }}'
    )
    result = assert_same(model(text, opset=7), target, {"x": X}, rtol=1e-6)
    assert [node.op_type for node in result.graph.node] == ["Upsample" if target == 9 else "Resize"]


@pytest.mark.parametrize(("mode", "newer"), [("nearest", "nearest"), ("bilinear", "linear")])
def test_opset_1(mode: str, newer: str) -> None:
    text = f'g (float[1, 1, 3, 4] x) => (float[1, 1, 6, 12] y) {{ y = Upsample <mode = "{mode}", height_scale = 2.0, width_scale = 3.0> (x) }}'
    proto = model(text, opset=1)
    result = convert_version(proto, 8).model
    attributes = {a.name: a for a in result.graph.node[0].attribute}
    assert (attributes["mode"].s.decode(), list(attributes["scales"].floats)) == (newer, [1, 1, 2, 3])
    assert run(convert_version(proto, 13).model, {"x": X})[0].shape == (1, 1, 6, 12)
    back = {a.name: a for a in convert_version(result, 1).model.graph.node[0].attribute}
    assert (back["mode"].s.decode(), back["height_scale"].f, back["width_scale"].f) == (mode, 2, 3)


REWRITES = [
    (
        "upsample.upsample_to_resize",
        9,
        10,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }",
        '<float[4] v1 = {1, 1, 2, 2}> { y = Resize <mode = "nearest"> (x, v1) }',
    ),
    (
        "upsample.scales_of_all_axes",
        1,
        7,
        'g (float[1,1,2,2] x) => (float[1,1,4,4] y) { y = Upsample <height_scale = 2.0, mode = "bilinear", width_scale = 2.0> (x) }',
        '{ y = Upsample <mode = "linear", scales = [1.0, 1.0, 2.0, 2.0]> (x) }',
    ),
    (
        "upsample.scales_of_height_and_width",
        7,
        6,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) { y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x) }",
        "{ y = Upsample <height_scale = 2.0, width_scale = 2.0> (x) }",
    ),
    (
        "upsample.scales_to_attribute",
        9,
        8,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }",
        "{ y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x) }",
    ),
    (
        "upsample.scales_to_input",
        8,
        9,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) { y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x) }",
        "<float[4] v1 = {1, 1, 2, 2}> { y = Upsample (x, v1) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
