"""RoiAlign: the coordinate mode that had no name before opset 16."""

import numpy as np
import pytest
from helpers import model, refusal, run
from split_rewrite.rewriter import convert_version


def proto(opset, attributes=""):
    text = "g (float[1,1,4,4] x, float[1,4] rois, int64[1] batch) => (float[1,1,2,2] y)"
    return model(f"{text} {{ y = RoiAlign <output_height=2, output_width=2, sampling_ratio=1{attributes}> (x, rois, batch) }}", opset)


@pytest.mark.parametrize("attributes", ["", ', coordinate_transformation_mode="half_pixel"'])
def test_refuses_the_shift_before_16(attributes):
    assert "RoiAlign does not shift the regions, and coordinate_transformation_mode is half_pixel" in refusal(proto(16, attributes), 15)


def test_down_the_mode_loses_its_name():
    down = convert_version(proto(16, ', coordinate_transformation_mode="output_half_pixel"'), 15).model
    assert sorted(a.name for a in down.graph.node[0].attribute) == ["output_height", "output_width", "sampling_ratio"]


def test_up_the_region_is_not_shifted():
    """One sample in each quarter of the region 0..4: at 1 and 3, where values are read by interpolation."""
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    feeds = {"x": x, "rois": np.array([[0, 0, 4, 4]], np.float32), "batch": np.array([0])}
    got = run(convert_version(proto(10), 16).model, feeds)[0]
    np.testing.assert_array_equal(got[0, 0], x[0, 0][np.ix_([1, 3], [1, 3])])
