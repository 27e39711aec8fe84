"""RoiAlign: the coordinate mode that had no name before opset 16."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

HALF, WHOLE = (f', coordinate_transformation_mode="{mode}"' for mode in ("half_pixel", "output_half_pixel"))


def proto(opset, attributes="", samples=1):
    text = "g (float[1,1,4,4] x, float[1,4] rois, int64[1] batch) => (float[1,1,2,2] y)"
    size = f"output_height=2, output_width=2, sampling_ratio={samples}"
    return model(f"{text} {{ y = RoiAlign <{size}{attributes}> (x, rois, batch) }}", opset)


@pytest.mark.parametrize("attributes", ["", HALF])
def test_refuses_the_shift_with_samples_by_size_before_16(attributes):
    message = refusal(proto(16, attributes, samples=0), 15)
    assert "RoiAlign does not shift the regions, and coordinate_transformation_mode is half_pixel" in message


def test_refuses_samples_by_size_before_there_was_roi_align():
    message = refusal(proto(16, WHOLE, samples=0), 9)
    assert "older operators cannot adapt the number of samples to the size of a region, as sampling_ratio=0 does" in message


REGIONS = [[0, 0, 10, 8], [-4, -4, 3, 3], [5, 5, 5.2, 5.3], [10, 2, 30, 9], [3, 3, 1, 1], [-40, -40, -30, -30], [0, 0, 16, 12]]
"""Inside, across the border, less than a pixel, far across, backward, nothing of it inside, all of it."""
KNOWN, FREE = ("2,3,6,8", "7,4", "7"), ("N,C,H,W", "R,F", "R")


@pytest.mark.parametrize("attributes, target", [(HALF, 15), (HALF, 10), (HALF, 7), (WHOLE, 9), (WHOLE, 7)])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("dims", [KNOWN, FREE], ids=["known", "at run time"])
def test_samples_are_gathered(attributes, target, mode, dims):
    size = 'output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5, mode="' + mode + '"'
    text = f"g (float[{dims[0]}] x, float[{dims[1]}] rois, int64[{dims[2]}] batch) => (float[P,Q,3,2] y)"
    given = model(f"{text} {{ y = RoiAlign <{size}{attributes}> (x, rois, batch) }}", 16)
    x = np.random.default_rng(3).standard_normal((2, 3, 6, 8)).astype(np.float32)
    feeds = {"x": x, "rois": np.array(REGIONS, np.float32), "batch": np.array([0, 1, 1, 0, 1, 0, 0])}
    result = assert_same(given, target, feeds, rtol=1e-6, atol=1e-6)
    assert "RoiAlign" not in {node.op_type for node in result.graph.node}


def test_no_regions():
    given = model(
        "g (float[1,2,4,4] x, float[R,4] rois, int64[R] batch) => (float[R,2,2,2] y) "
        "{ y = RoiAlign <output_height=2, output_width=2, sampling_ratio=2> (x, rois, batch) }",
        16,
    )
    feeds = {"x": np.ones((1, 2, 4, 4), np.float32), "rois": np.zeros((0, 4), np.float32), "batch": np.zeros(0, np.int64)}
    assert run(convert_version(given, 11).model, feeds)[0].shape == (0, 2, 2, 2)


@pytest.mark.parametrize("kind, dtype, rtol", [("double", np.float64, 1e-12), ("float16", np.float16, 1e-3)])
def test_in_other_types(kind, dtype, rtol):
    """A plane: what is read from it is where it was read, the middle of each bin."""
    text = f"g ({kind}[1,1,8,8] x, {kind}[1,4] rois, int64[1] batch) => ({kind}[1,1,2,2] y)"
    given = model(f"{text} {{ y = RoiAlign <output_height=2, output_width=2, sampling_ratio=2> (x, rois, batch) }}", 16)
    rows, columns = np.indices((8, 8))
    feeds = {"x": (10 * rows + columns)[None, None].astype(dtype), "rois": np.array([[1, 2, 5, 7]], dtype), "batch": np.array([0])}
    got = run(convert_version(given, 13).model, feeds)[0]
    assert got.dtype == dtype
    np.testing.assert_allclose(got[0, 0], [[10 * 2.75 + 1.5, 10 * 2.75 + 3.5], [10 * 5.25 + 1.5, 10 * 5.25 + 3.5]], rtol=rtol)


def test_down_the_mode_loses_its_name():
    down = convert_version(proto(16, ', coordinate_transformation_mode="output_half_pixel"'), 15).model
    assert sorted(a.name for a in down.graph.node[0].attribute) == ["output_height", "output_width", "sampling_ratio"]


def test_up_the_region_is_not_shifted():
    """One sample in each quarter of the region 0..4: at 1 and 3, where values are read by interpolation."""
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    feeds = {"x": x, "rois": np.array([[0, 0, 4, 4]], np.float32), "batch": np.array([0])}
    got = run(convert_version(proto(10), 16).model, feeds)[0]
    np.testing.assert_array_equal(got[0, 0], x[0, 0][np.ix_([1, 3], [1, 3])])


REWRITES = [
    (
        "roi_align.add_output_half_pixel",
        10,
        16,
        "g (float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) { y = RoiAlign (x, r, b) }",
        '{ y = RoiAlign <coordinate_transformation_mode = "output_half_pixel"> (x, r, b) }',
    ),
    (
        "roi_align.drop_output_half_pixel",
        16,
        15,
        'g (float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) { y = RoiAlign <coordinate_transformation_mode = "output_half_pixel"> (x, r, b) }',
        "{ y = RoiAlign (x, r, b) }",
    ),
    (
        "roi_align.gather_samples",
        10,
        9,
        "g (float[1,1,2,2] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) { y = RoiAlign <sampling_ratio = 1> (x, r, b) }",
        """
            <int64[1] column = {1}, int64[1] column_2 = {3}, float number = {1}, float[1,1] number_2 = {0},
             float[1,1] number_3 = {0.5}, float number_4 = {-1}, float size = {2}, int64[1] column_3 = {0},
             int64[1] axis = {2}, int64[2] pixels = {-1, 1}, int64 image = {4}, int64 length2 = {2},
             int64[6] bins = {1, 1, 1, 1, 1, 1}>
            {
              bound = Gather <axis = 1> (r, column)
              bound_2 = Unsqueeze <axes = [2]> (bound)
              bound_3 = Gather <axis = 1> (r, column_2)
              bound_4 = Unsqueeze <axes = [2]> (bound_3)
              extent = Sub (bound_4, bound_2)
              extent_2 = Max (extent, number)
              starts = Mul (number_2, extent_2)
              starts_2 = Add (bound_2, starts)
              steps = Mul (number_3, extent_2)
              positions = Add (starts_2, steps)
              before = Less (positions, number_4)
              behind = Greater (positions, size)
              outside = Or (before, behind)
              place = Relu (positions)
              place_2 = Min (place, number)
              low = Floor (place_2)
              high = Add (low, number)
              high_2 = Min (high, number)
              weight = Sub (place_2, low)
              weight_2 = Sub (number, weight)
              pixel = Cast <to = 7> (low)
              pixel_2 = Cast <to = 7> (high_2)
              inside = Not (outside)
              bound_5 = Gather <axis = 1> (r, column_3)
              bound_6 = Unsqueeze <axes = [2]> (bound_5)
              bound_7 = Gather <axis = 1> (r, axis)
              bound_8 = Unsqueeze <axes = [2]> (bound_7)
              extent_3 = Sub (bound_8, bound_6)
              extent_4 = Max (extent_3, number)
              starts_3 = Mul (number_2, extent_4)
              starts_4 = Add (bound_6, starts_3)
              steps_2 = Mul (number_3, extent_4)
              positions_2 = Add (starts_4, steps_2)
              before_2 = Less (positions_2, number_4)
              behind_2 = Greater (positions_2, size)
              outside_2 = Or (before_2, behind_2)
              place_3 = Relu (positions_2)
              place_4 = Min (place_3, number)
              low_2 = Floor (place_4)
              high_3 = Add (low_2, number)
              high_4 = Min (high_3, number)
              weight_3 = Sub (place_4, low_2)
              weight_4 = Sub (number, weight_3)
              pixel_3 = Cast <to = 7> (low_2)
              pixel_4 = Cast <to = 7> (high_4)
              inside_2 = Not (outside_2)
              channels_last = Transpose <perm = [0, 2, 3, 1]> (x)
              pixels_2 = Reshape (channels_last, pixels)
              inside_3 = And (inside, inside_2)
              counted = Cast <to = 7> (inside_3)
              share = Cast <to = 1> (inside_3)
              image_2 = Mul (b, image)
              image_3 = Unsqueeze <axes = [1, 2]> (image_2)
              row = Mul (pixel, length2)
              place_5 = Add (row, pixel_3)
              place_6 = Mul (place_5, counted)
              place_7 = Add (image_3, place_6)
              pixel_5 = Gather <axis = 0> (pixels_2, place_7)
              weight_5 = Mul (weight_2, weight_4)
              weight_6 = Mul (weight_5, share)
              weight_7 = Unsqueeze <axes = [3]> (weight_6)
              part = Mul (pixel_5, weight_7)
              place_8 = Add (row, pixel_4)
              place_9 = Mul (place_8, counted)
              place_10 = Add (image_3, place_9)
              pixel_6 = Gather <axis = 0> (pixels_2, place_10)
              weight_8 = Mul (weight_2, weight_3)
              weight_9 = Mul (weight_8, share)
              weight_10 = Unsqueeze <axes = [3]> (weight_9)
              part_2 = Mul (pixel_6, weight_10)
              row_2 = Mul (pixel_2, length2)
              place_11 = Add (row_2, pixel_3)
              place_12 = Mul (place_11, counted)
              place_13 = Add (image_3, place_12)
              pixel_7 = Gather <axis = 0> (pixels_2, place_13)
              weight_11 = Mul (weight, weight_4)
              weight_12 = Mul (weight_11, share)
              weight_13 = Unsqueeze <axes = [3]> (weight_12)
              part_3 = Mul (pixel_7, weight_13)
              place_14 = Add (row_2, pixel_4)
              place_15 = Mul (place_14, counted)
              place_16 = Add (image_3, place_15)
              pixel_8 = Gather <axis = 0> (pixels_2, place_16)
              weight_14 = Mul (weight, weight_3)
              weight_15 = Mul (weight_14, share)
              weight_16 = Unsqueeze <axes = [3]> (weight_15)
              part_4 = Mul (pixel_8, weight_16)
              merged = Sum (part, part_2, part_3, part_4)
              binned = Reshape (merged, bins)
              pooled = ReduceMean <axes = [2, 4], keepdims = 0> (binned)
              y = Transpose <perm = [0, 3, 1, 2]> (pooled)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
