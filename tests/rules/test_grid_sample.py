"""GridSample: names of the modes since opset 20; before 16, and for volumes before 20, by Gather."""

import itertools

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run

from split_rewrite.rewriter import InvalidModelError


def proto(attributes, opset, shape="[2,3,4,5]", grid="[2,3,2,2]", out="[2,3,3,2]", kind="float"):
    text = f"g ({kind}{shape} x, float{grid} grid) => ({kind}{out} y)"
    return model(f"{text} {{ y = GridSample {attributes and f'<{attributes}>'} (x, grid) }}", opset)


REFUSED = [
    pytest.param(proto("", 16, "[0,3,4,5]", "[0,3,2,2]", "[0,3,3,2]"), 15, "'x' has no elements", id="no images"),
    pytest.param(proto('mode="nearest"', 16, kind="int32"), 15, "only float and double are sampled", id="integers"),
    pytest.param(
        proto('padding_mode="reflection", align_corners=1', 16, "[2,3,1,5]"), 15, "an axis of length 1", id="between one corner"
    ),
]


@pytest.mark.parametrize("older, target, message", REFUSED)
def test_refuses(older, target, message):
    assert message in refusal(older, target)


def feeds(shape, grid):
    """Some positions lie outside, some far outside, some on pixels and halfway between two."""
    random = np.random.default_rng(3)
    positions = random.uniform(-3, 3, size=grid).astype(np.float32)
    positions.reshape(-1)[:6] = [-1, 1, 0, 0.5, -0.6, 5]
    return {"x": random.normal(size=shape).astype(np.float32), "grid": positions}


@pytest.mark.parametrize("old, new", [("bilinear", "linear"), ("bicubic", "cubic"), ("nearest", "nearest"), ("", "")])
def test_the_names_change_and_nothing_else(old, new):
    older, newer = (proto(name and f'mode="{name}"', opset) for name, opset in ((old, 16), (new, 20)))
    up, down = convert_version(older, 20).model, convert_version(newer, 16).model
    assert [a.s.decode() for a in up.graph.node[0].attribute] == ([new] if new else [])
    assert [a.s.decode() for a in down.graph.node[0].attribute] == ([old] if old else [])
    onnx.checker.check_model(down, full_check=True)
    inputs = feeds((2, 3, 4, 5), (2, 3, 2, 2))
    np.testing.assert_array_equal(run(up, inputs), run(older, inputs))


PADDINGS, ALIGNED = ["zeros", "border", "reflection"], [0, 1]


@pytest.mark.parametrize("mode, padding, aligned", list(itertools.product(["bilinear", "nearest", "bicubic"], PADDINGS, ALIGNED)))
@pytest.mark.parametrize("target", [15, 9])
def test_images_by_gather(mode, padding, aligned, target):
    older = proto(f'mode="{mode}", padding_mode="{padding}", align_corners={aligned}', 16)
    inputs = feeds((2, 3, 4, 5), (2, 3, 2, 2))
    np.testing.assert_allclose(run(convert_version(older, target).model, inputs)[0], run(older, inputs)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode, padding, aligned", list(itertools.product(["linear", "nearest"], PADDINGS, ALIGNED)))
def test_volumes_by_gather(mode, padding, aligned):
    shapes = {"shape": "[2,1,3,4,5]", "grid": "[2,3,2,2,3]", "out": "[2,1,3,2,2]"}
    volume = proto(f'mode="{mode}", padding_mode="{padding}", align_corners={aligned}', 20, **shapes)
    inputs = feeds((2, 1, 3, 4, 5), (2, 3, 2, 2, 3))
    np.testing.assert_allclose(run(convert_version(volume, 19).model, inputs)[0], run(volume, inputs)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode, padding, aligned", list(itertools.product(["bilinear", "nearest", "bicubic"], PADDINGS, ALIGNED)))
@pytest.mark.parametrize("shape", ["[N,3,4,5]", "[N,C,H,W]", "[2,3,H,5]", "[1,C,4,W]"])
@pytest.mark.parametrize("target", [15, 9])
def test_lengths_that_are_only_known_at_run_time(mode, padding, aligned, shape, target):
    attributes = f'mode="{mode}", padding_mode="{padding}", align_corners={aligned}'
    older = proto(attributes, 16, shape, "[N,A,B,2]", "[N,C,A,B]")
    result = convert_version(older, target).model
    for sizes in ((2, 3, 4, 5), (1, 3, 4, 5)):
        inputs = feeds(sizes, (sizes[0], 3, 2, 2))
        if shape[1] in ("N", str(sizes[0])):
            np.testing.assert_allclose(run(result, inputs)[0], run(older, inputs)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_one_pixel_at_run_time(mode):
    """Reflected between corners that are one, a place is that of the only pixel."""
    older = proto(f'mode="{mode}", padding_mode="reflection", align_corners=1', 16, "[N,C,H,W]", "[N,A,B,2]", "[N,C,A,B]")
    result = convert_version(older, 15).model
    x = np.float32([[[[3], [3]]]])
    grid = np.random.default_rng(5).uniform(-1, 1, (1, 3, 2, 2)).astype(np.float32)
    np.testing.assert_allclose(run(result, {"x": x, "grid": grid})[0], np.full((1, 1, 3, 2), 3, np.float32), rtol=1e-5)


def test_no_images_at_run_time():
    older = proto("", 16, "[N,3,H,5]", "[N,3,2,2]", "[N,3,3,2]")
    inputs = {"x": np.ones((0, 3, 4, 5), np.float32), "grid": np.ones((0, 3, 2, 2), np.float32)}
    assert run(convert_version(older, 15).model, inputs)[0].shape == (0, 3, 3, 2)


def test_volumes_of_any_length():
    volume = proto("", 20, "[N,1,D,4,W]", "[N,3,2,2,3]", "[N,1,3,2,2]")
    inputs = feeds((2, 1, 3, 4, 5), (2, 3, 2, 2, 3))
    np.testing.assert_allclose(run(convert_version(volume, 19).model, inputs)[0], run(volume, inputs)[0], rtol=1e-4, atol=1e-5)


def test_pixels_outside_do_not_count_even_if_they_are_infinite():
    older = proto("", 16, "[1,1,2,2]", "[1,1,1,2]", "[1,1,1,1]")
    inputs = {"x": np.full((1, 1, 2, 2), np.inf, np.float32), "grid": np.float32([[[[9, 9]]]])}
    assert run(convert_version(older, 15).model, inputs)[0].item() == 0


@pytest.mark.parametrize("mode, padding", list(itertools.product(["bilinear", "nearest", "bicubic"], PADDINGS)))
def test_positions_that_are_no_numbers_read_some_pixel(mode, padding):
    """What they give is not said; the original runs, and so has the result to."""
    older = proto(f'mode="{mode}", padding_mode="{padding}"', 16, "[1,1,2,2]", "[1,1,4,2]", "[1,1,1,4]")
    grid = np.float32([[[[np.nan, 0], [np.inf, 0], [0, -np.inf], [0, 0]]]])
    inputs = {"x": np.ones((1, 1, 2, 2), np.float32), "grid": grid}
    got, expected = run(convert_version(older, 15).model, inputs)[0], run(older, inputs)[0]
    np.testing.assert_allclose(got[..., 3], expected[..., 3], rtol=1e-5)


def test_refuses_a_mode_that_there_is_not() -> None:
    text = 'g (float[1,1,2,2] x, float[1,1,1,2] p) => (float[1,1,1,1] y) {y = GridSample<mode = "nothing">(x, p)}'
    with pytest.raises(InvalidModelError, match="mode is 'nothing'; GridSample has only linear, bilinear, nearest, cubic, bicubic"):
        convert_version(model(text, 16), 15)


REWRITES = [
    (
        "grid_sample.new_mode_names",
        16,
        20,
        'g (float[1,1,2,2] x, float[1,1,1,2] p) => (float[1,1,1,1] y) { y = GridSample <mode = "bicubic"> (x, p) }',
        '{ y = GridSample <mode = "cubic"> (x, p) }',
    ),
    (
        "grid_sample.old_mode_names",
        20,
        19,
        'g (float[1,1,2,2] x, float[1,1,1,2] p) => (float[1,1,1,1] y) { y = GridSample <mode = "cubic"> (x, p) }',
        '{ y = GridSample <mode = "bicubic"> (x, p) }',
    ),
    (
        "grid_sample.sum_of_pixels",
        16,
        15,
        'g (float[1,1,2,2] x, float[1,1,1,2] p) => (float[1,1,1,1] y) { y = GridSample <mode = "nearest", padding_mode = "border"> (x, p) }',
        """
            <int64 axis = {1}, float number = {1}, float number_2 = {2},
             float number_3 = {0}, float number_4 = {-0.5}, float number_5 = {1.5}, int64 axis_2 = {0}, int64 size = {2},
             int64[4] shape = {1, 1, 1, 1}>
            {
              channels_last = Transpose <perm = [0, 2, 3, 1]> (x)
              pixels = Flatten <axis = 3> (channels_last)
              positions = Gather <axis = 3> (p, axis)
              positions_2 = Flatten <axis = 1> (positions)
              add = Add (positions_2, number)
              mul = Mul (add, number_2)
              sub = Sub (mul, number)
              div = Div (sub, number_2)
              nearest = Round (div)
              clamped = Clip (nearest, number_3, number)
              less = Less (nearest, number_4)
              greater = Greater (nearest, number_5)
              outside = Or (less, greater)
              place = Where (outside, clamped, nearest)
              nowhere = IsNaN (place)
              somewhere = Where (nowhere, number_3, place)
              clamped_2 = Clip (somewhere, number_3, number)
              index = Cast <to = 7> (clamped_2)
              positions_3 = Gather <axis = 3> (p, axis_2)
              positions_4 = Flatten <axis = 1> (positions_3)
              add_2 = Add (positions_4, number)
              mul_2 = Mul (add_2, number_2)
              sub_2 = Sub (mul_2, number)
              div_2 = Div (sub_2, number_2)
              nearest_2 = Round (div_2)
              clamped_3 = Clip (nearest_2, number_3, number)
              less_2 = Less (nearest_2, number_4)
              greater_2 = Greater (nearest_2, number_5)
              outside_2 = Or (less_2, greater_2)
              place_2 = Where (outside_2, clamped_3, nearest_2)
              nowhere_2 = IsNaN (place_2)
              somewhere_2 = Where (nowhere_2, number_3, place_2)
              clamped_4 = Clip (somewhere_2, number_3, number)
              index_2 = Cast <to = 7> (clamped_4)
              mul_3 = Mul (index, size)
              index_3 = Add (mul_3, index_2)
              pixel = Gather <axis = 0> (pixels, index_3)
              channels_first = Transpose <perm = [0, 2, 1]> (pixel)
              y = Reshape (channels_first, shape)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_half_precision_is_sampled_in_float(mode):
    text = f'g (float16[1,2,4,5] x, float16[1,3,3,2] grid) => (float16[1,2,3,3] y) {{ y = GridSample <mode = "{mode}"> (x, grid) }}'
    random = np.random.default_rng(4)
    inputs = {
        "x": random.normal(size=(1, 2, 4, 5)).astype(np.float16),
        "grid": random.uniform(-1.2, 1.2, (1, 3, 3, 2)).astype(np.float16),
    }
    wide = {name: value.astype(np.float32) for name, value in inputs.items()}
    expected = run(model(text.replace("float16", "float"), 16), wide)[0]
    result = convert_version(model(text, 16), 15).model
    np.testing.assert_allclose(run(result, inputs)[0], expected, rtol=1e-3, atol=1e-3)
