"""DepthToSpace and SpaceToDepth: CRD by DCR."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run

from split_rewrite.rewriter.opsets.transitions import newest_opset


def text(op, shape, out, mode="CRD"):
    return f'g (float{shape} x) => (float{out} y) {{ y = {op} <blocksize=2, mode="{mode}"> (x) }}'


def test_refuses_channels_of_unknown_number():
    assert "dimension 'C' of 'x' is unknown" in refusal(model(text("DepthToSpace", "[1,C,2,3]", "[1,D,4,6]"), 11), 10).replace(
        "axis ", ""
    )


X = np.arange(2 * 8 * 2 * 3, dtype=np.float32).reshape(2, 8, 2, 3)


@pytest.mark.parametrize("mode", ["CRD", "DCR"])
@pytest.mark.parametrize("target", [10, 7])
def test_depth_to_space(mode, target):
    sizes = (2, 2, 2, 2, 2, 3)
    parts = X.reshape(sizes).transpose(0, 1, 4, 2, 5, 3) if mode == "CRD" else X.reshape(sizes).transpose(0, 3, 4, 1, 5, 2)
    result = convert_version(model(text("DepthToSpace", "[2,8,2,3]", "[2,2,4,6]", mode), 11), target).model
    np.testing.assert_array_equal(run(result, {"x": X})[0], parts.reshape(2, 2, 4, 6))


@pytest.mark.skipif(newest_opset() < 28, reason="the installed onnx has no opset 28")
@pytest.mark.parametrize("mode", ["CRD", "DCR"])
@pytest.mark.parametrize("target", [24, 13])
def test_space_to_depth(mode, target):
    x = np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)
    parts = x.reshape(2, 3, 2, 2, 3, 2).transpose((0, 1, 3, 5, 2, 4) if mode == "CRD" else (0, 3, 5, 1, 2, 4))
    result = convert_version(model(text("SpaceToDepth", "[2,3,4,6]", "[2,12,2,3]", mode), 28), target).model
    np.testing.assert_array_equal(run(result, {"x": x})[0], parts.reshape(2, 12, 2, 3))


REWRITES = [
    (
        "depth_space.blocks_first",
        11,
        10,
        'g (float[1,8,2,3] x) => (float[1,2,4,6] y) { y = DepthToSpace <blocksize = 2, mode = "CRD"> (x) }',
        "<int64[8] v1 = {0, 4, 1, 5, 2, 6, 3, 7}> { v2 = Gather <axis = 1> (x, v1) y = DepthToSpace <blocksize = 2> (v2) }",
    ),
    (
        "depth_space.channels_first",
        28,
        27,
        'g (float[1,2,4,2] x) => (float[1,8,2,1] y) { y = SpaceToDepth <blocksize = 2, mode = "CRD"> (x) }',
        """
            <int64[8] channels = {0, 2, 4, 6, 1, 3, 5, 7}>
            {
              blocks_first = SpaceToDepth <blocksize = 2> (x)
              y = Gather <axis = 1> (blocks_first, channels)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
