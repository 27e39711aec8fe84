"""GridSample: names of the modes, and images only before opset 20."""

import numpy as np
import onnx
import pytest
from helpers import model, refusal, run
from split_rewrite.rewriter import convert_version


def proto(mode, opset, shape="[1,2,4,4]", grid="[1,3,3,2]", out="[1,2,3,3]"):
    attribute = f'<mode="{mode}">' if mode else ""
    return model(f"g (float{shape} x, float{grid} grid) => (float{out} y) {{ y = GridSample {attribute} (x, grid) }}", opset)


def test_refuses_volumes_before_20():
    volume = proto("linear", 20, "[1,2,4,4,4]", "[1,3,3,3,3]", "[1,2,3,3,3]")
    assert "before opset 20 GridSample takes 4 dimensions, and 'x' has 5" in refusal(volume, 19)


@pytest.mark.parametrize("old, new", [("bilinear", "linear"), ("bicubic", "cubic"), ("nearest", "nearest"), ("", "")])
def test_the_names_change_and_nothing_else(old, new):
    random = np.random.default_rng(3)
    feeds = {"x": random.normal(size=(1, 2, 4, 4)), "grid": random.uniform(-1.2, 1.2, size=(1, 3, 3, 2))}
    feeds = {name: value.astype(np.float32) for name, value in feeds.items()}
    up, down = convert_version(proto(old, 16), 20).model, convert_version(proto(new, 20), 16).model
    assert [a.s.decode() for a in up.graph.node[0].attribute] == ([new] if new else [])
    assert [a.s.decode() for a in down.graph.node[0].attribute] == ([old] if old else [])
    onnx.checker.check_model(down, full_check=True)
    np.testing.assert_array_equal(run(up, feeds), run(proto(old, 16), feeds))
