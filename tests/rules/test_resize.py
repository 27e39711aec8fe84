"""Resize: coordinates of opset 10, optional inputs, axes, policies; spelled out where the older form has no word for it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

from split_rewrite.rewriter import Options, UnconvertibleError

X = np.random.default_rng(0).standard_normal((1, 1, 6, 8)).astype(np.float32)
COORDINATES = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]


def _ops(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


def _by_scales(scales: str, attributes: str, shape: str = "1, 1, 6, 8") -> str:
    values = f"<float[4] s = {{{scales}}}>"
    return f"g (float[{shape}] x) => (float[1, 1, A, B] y) {values} {{ y = Resize <{attributes}> (x, , s) }}"


@pytest.mark.parametrize(
    ("text", "opset", "target", "message"),
    [
        pytest.param(
            "g (float[1, 1, 6, 8] x) => (float[A, B, C, D] y) <float[4] s = {1, 1, inf, 1}> { y = Resize (x, s) }",
            *(10, 9, "a scale is inf, which is not positive and finite"),
            id="an_infinite_scale_below_10",
        ),
        pytest.param(
            "g (float[1, 1, 6, 8] x) => (float[A, B, C, D] y) <float[4] s = {1, 1, 0, 1}> { y = Resize (x, s) }",
            *(10, 11, "a scale is 0, which is not positive and finite"),
            id="a_scale_of_zero_above_10",
        ),
        pytest.param(
            _by_scales("1, 1, 1, 1.1", 'mode = "linear", antialias = 1'),
            *(18, 17, "antialias=1 of an axis that keeps its length, with a scale that is not 1"),
            id="antialias_of_a_kept_length",
        ),
        pytest.param(
            "g (float[1, 1, 3, 4] x) => (float[1, 1, A, B] y) <int64[2] z = {6, 6}> "
            '{ y = Resize <axes = [-2, -1], keep_aspect_ratio_policy = "not_larger", mode = "linear"> (x, , , z) }',
            *(18, 17, "onnxruntime leaves the shape as it is, since axes are negative"),
            id="a_policy_for_axes_from_the_back",
        ),
        pytest.param(
            _by_scales("1, 1, 0.5, 0.5", 'mode = "cubic", antialias = 1', "1, 1, H, W"),
            *(18, 17, "the axis dimension 'H' of 'x' is unknown"),
            id="antialias_of_an_unknown_length",
        ),
        pytest.param(
            _by_scales("1, 1, 1, 0.00390625", 'mode = "linear", antialias = 1', "1, 1, 6, 1024"),
            *(18, 17, "antialias=1 with a filter of 512 elements"),
            id="antialias_of_a_wide_filter",
        ),
        pytest.param(
            "g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <float[8] r = {0, 0, 0, 0, 1, 1, 1, 1}, int64[4] z = {1, 1, 3, 4}> "
            '{ y = Resize <mode = "linear", antialias = 1, coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , z) }',
            *(18, 17, "antialias=1 of a region of interest has no older form"),
            id="antialias_of_a_region",
        ),
        pytest.param(
            "g (float[1, 1, 6, 8] x) => (float[1, 1, 6, 7] y) <float[8] r = {0, 0, 0, 0.2, 1, 1, 1, 1}, int64[4] z = {1, 1, 6, 7}> "
            '{ y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , z) }',
            *(13, 10, "whether the border of the region of interest is extrapolated depends on how the runtime rounds"),
            id="a_region_that_ends_at_the_border",
        ),
        pytest.param(
            "g (float[1, 1, 6, 8] x) => (float[1, 1, 6, 7] y) <float r = {1}, int64[4] z = {1, 1, 6, 7}> "
            '{ y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , z) }',
            *(13, 10, "the region of interest must have the shape [8], and not [1]"),
            id="a_region_that_is_no_vector",
        ),
        pytest.param(
            _by_scales("1, 1, 2, 2", 'mode = "cubic", exclude_outside = 1', "1, 1, H, W"),
            *(13, 10, "the axis dimension 'H' of 'x' is unknown"),
            id="half_pixel_of_an_unknown_length",
        ),
        pytest.param(
            'g (float[1, 1, 6, 8] x, float[4] s) => (float[1, 1, A, B] y) { y = Resize <mode = "cubic", exclude_outside = 1> (x, , s) }',
            *(13, 10, "the older form needs the scales as a constant, and 's' is computed at run time"),
            id="computed_scales_of_a_cubic",
        ),
        pytest.param(
            "g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <float[4] s = {1, 1, 2, 0.6}> { y = Resize (x, s) }",
            *(10, 9, "rounds one axis up and another down"),
            id="opset_10_rounds_both_ways",
        ),
        pytest.param(
            _by_scales("1, 1, 0.7, 1", 'mode = "linear"', "1, 1, 10, 8"),
            *(13, 10, "10 · 0.699999988 is 6 or 7 depending on rounding"),
            id="a_length_between_two_numbers",
        ),
        pytest.param(
            "g (float[1, 1, 6, 8] x) => (float[1, 1, 9, 8] y) <int64[4] z = {1, 1, 9, 8}> "
            '{ y = Resize <nearest_mode = "ceil", exclude_outside = 1> (x, , , z) }',
            *(13, 10, "exclude_outside=1 has no meaning in mode nearest, and onnxruntime refuses it"),
            id="nearest_to_what_is_excluded",
        ),
        pytest.param(
            "g (float[1, 1, 14, 8] x) => (float[1, 1, 17, 8] y) <int64[4] z = {1, 1, 17, 8}> { y = Resize (x, , , z) }",
            *(13, 10, "depends on how the runtime rounds"),
            id="a_tie_between_two_elements",
        ),
    ],
)
def test_refused(text: str, opset: int, target: int, message: str) -> None:
    assert message in refusal(model(text, opset), target)


@pytest.mark.parametrize("scales", ["1, 1, 2, 3", "1, 1, 0.5, 0.25", "1, 1, 0.6, 0.75", "1, 1, 2, 0.6", "1, 1, 1.5, 2.7"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("target", [11, 13, 19])
def test_opset_10_is_asymmetric_and_rounds_up_where_it_shrinks(scales: str, mode: str, target: int) -> None:
    text = f'g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <float[4] s = {{{scales}}}> {{ y = Resize <mode = "{mode}"> (x, s) }}'
    assert_same(model(text, opset=10), target, {"x": X}, rtol=0 if mode == "nearest" else 1e-6)


@pytest.mark.parametrize("target", [11, 13, 19])
def test_nearest_of_opset_10_by_computed_scales_grows_and_then_shrinks(target: int) -> None:
    source = model('g (float[A, B, C] x, float[3] s) => (float[D, E, F] y) {y = Resize<mode = "nearest">(x, s)}', 10)
    result = convert_version(source, target)
    assert not result.report.warnings and _ops(result.model) == ["Max", "Resize", "Min", "Resize"]
    x = np.arange(5 * 7 * 9, dtype=np.float32).reshape(5, 7, 9)
    for scales in ([1, 1, 1], [0.3, 0.7, 0.9], [1, 1.5, 2.3], [0.6, 1, 1.7], [2.5, 0.4, 1 / 3], [0.99, 3, 0.5]):
        for data in (x, x[:3, :2, :8]):
            given = {"x": data, "s": np.array(scales, np.float32)}
            np.testing.assert_array_equal(*run(result.model, given), *run(source, given), strict=True)


@pytest.mark.parametrize("target", [17, 12, 11, 10, 9])
def test_a_crop_without_a_region_is_one_of_everything(target: int) -> None:
    """onnxruntime takes it so from opset 13 on, and asks for the region below."""
    text = """g (float[1, 1, 4, 5] x) => (float[1, 1, A, B] y) <int64[4] s = {1, 1, 7, 3}> {
        y = Resize <mode = "nearest", coordinate_transformation_mode = "tf_crop_and_resize"> (x, , , s) }"""
    before = model(text, 18)
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5)
    after = convert_version(before, target, compare="required").model
    np.testing.assert_array_equal(run(after, {"x": x})[0], run(before, {"x": x})[0])


def test_empty_scales_beside_sizes_become_absent_and_back() -> None:
    text = (
        "g (float[1, 1, 6, 8] x) => (float[1, 1, 9, 4] y) <float[0] e = {}, int64[4] z = {1, 1, 9, 4}> { y = Resize (x, e, e, z) }"
    )
    up = assert_same(model(text, opset=11), 13, {"x": X})
    assert list(up.graph.node[0].input) == ["x", "e", "", "z"]
    down = assert_same(up, 11, {"x": X})
    assert all(down.graph.node[0].input)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", ["1, 1, 2, 3", "1, 1, 0.5, 0.75"])
@pytest.mark.parametrize("target", [10, 7])
def test_scales(coordinates: str, mode: str, scales: str, target: int) -> None:
    attributes = f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}"'
    # Weights are computed in double and rounded to float, where onnxruntime computes them in float.
    assert_same(model(_by_scales(scales, attributes), opset=13), target, {"x": X}, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rounding", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("sizes", ["1, 1, 12, 4", "1, 1, 3, 8", "1, 1, 18, 16"])
def test_nearest_is_exact(rounding: str, sizes: str) -> None:
    text = f"g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <int64[4] z = {{{sizes}}}>"
    text += f' {{ y = Resize <nearest_mode = "{rounding}", coordinate_transformation_mode = "asymmetric"> (x, , , z) }}'
    assert_same(model(text, opset=13), 9, {"x": X})


def test_computed_sizes_of_a_known_result() -> None:
    text = "g (float[1, 1, 6, 8] x, int64[4] z) => (float[1, 1, 12, 4] y) { y = Resize (x, , , z) }"
    assert_same(model(text, opset=13), 9, {"x": X, "z": np.array([1, 1, 12, 4])})


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales, out", [([1, 1, 2, 0.5], "1, 1, 12, 4"), ([1, 1, 0.7, 1.1], "1, 1, 4, 8")])
def test_computed_scales_of_aligned_corners(mode: str, scales: list[float], out: str) -> None:
    """For onnxruntime, only the lengths count."""
    attributes = f'mode = "{mode}", coordinate_transformation_mode = "align_corners"'
    text = f"g (float[1, 1, 6, 8] x, float[4] s) => (float[{out}] y) {{ y = Resize <{attributes}> (x, , s) }}"
    proto = model(text, opset=13)
    assert "by the specification align_corners goes by the length length · scale, and onnxruntime goes by" in refusal(proto, 9)
    result = convert_version(proto, 9, options=Options(semantics="onnxruntime")).model
    given = {"x": X, "s": np.float32(scales)}
    np.testing.assert_allclose(run(result, given)[0], run(proto, given)[0], rtol=1e-5, atol=1e-5)
    with pytest.raises(UnconvertibleError, match="the scales"):
        convert_version(proto, 9, options=Options(semantics="specification"))


@pytest.mark.parametrize("antialias", ["", ", antialias = 1"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize(
    ("coordinates", "scales"), [("align_corners", "1, 1, 0.7, 0.45"), ("pytorch_half_pixel", "1, 1, 0.3, 0.2")]
)
def test_a_length_that_is_no_whole_number_has_two_meanings(coordinates: str, scales: str, mode: str, antialias: str) -> None:
    attributes = f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}"{antialias}'
    proto = model(_by_scales(scales, attributes), opset=18 if antialias else 13)
    assert f"it has two meanings: by the specification {coordinates} goes by the length" in refusal(proto, 9)
    semantics = {"onnxruntime": "onnxruntime"} if antialias else {"onnxruntime": "onnxruntime", "onnx.reference": "specification"}
    for runtime, meaning in semantics.items():
        result = convert_version(proto, 9, options=Options(semantics=meaning)).model  # type: ignore[arg-type]
        expected = run(proto, {"x": X}, runtime)[0]
        np.testing.assert_allclose(run(result, {"x": X})[0], expected, rtol=1e-4, atol=1e-5)
    assert convert_version(proto, 21).model.graph.node == proto.graph.node


def test_a_policy_that_rounds_a_length_has_two_meanings() -> None:
    text = "g (float[1, 1, 6, 8] x) => (float[1, 1, 7, 9] y) <int64[2] z = {9, 9}>"
    text += ' { y = Resize <mode = "linear", axes = [2, 3], keep_aspect_ratio_policy = "not_larger",'
    proto = model(text + ' coordinate_transformation_mode = "align_corners"> (x, , , z) }', opset=18)
    assert "by the specification align_corners goes by the length 6.75, and onnxruntime goes by" in refusal(proto, 17)
    for runtime, meaning in {"onnxruntime": "onnxruntime", "onnx.reference": "specification"}.items():
        result = convert_version(proto, 17, options=Options(semantics=meaning)).model  # type: ignore[arg-type]
        np.testing.assert_allclose(run(result, {"x": X})[0], run(proto, {"x": X}, runtime)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("exclude_outside", [0, 1])
def test_cubic_at_the_borders(exclude_outside: int) -> None:
    attributes = f'mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = {exclude_outside}'
    assert_same(model(_by_scales("1, 1, 2, 0.5", attributes), opset=13), 9, {"x": X}, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", [17, 9])
@pytest.mark.parametrize("scales", ["1, 1, 0.5, 0.4", "1, 1, 0.3, 1.5", "1, 1, 1.7, 0.7", "1, 1, 0.2, 0.13"])
@pytest.mark.parametrize("exclude_outside", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialias(mode: str, exclude_outside: int, scales: str, target: int) -> None:
    for coordinates in ("half_pixel", "asymmetric", "align_corners"):
        attributes = f'mode = "{mode}", exclude_outside = {exclude_outside}, antialias = 1'
        attributes += f', coordinate_transformation_mode = "{coordinates}"'
        proto = model(_by_scales(scales, attributes), opset=18)
        result = convert_version(proto, target, options=Options(semantics="onnxruntime")).model
        np.testing.assert_allclose(run(result, {"x": X})[0], run(proto, {"x": X})[0], rtol=1e-5, atol=1e-5)


def test_antialias_reads_nothing_that_does_not_count() -> None:
    """Zero times infinity is NaN: an infinity reaches what its filter reaches, and no more."""
    x = np.zeros((1, 1, 6, 8), np.float32)
    x[0, 0, 0, 0] = np.inf
    result = convert_version(model(_by_scales("1, 1, 0.5, 0.5", 'mode = "linear", antialias = 1'), 18), 11).model
    assert np.argwhere(run(result, {"x": x})[0][0, 0] != 0).tolist() == [[0, 0]]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    "region", ["0, 0, -0.3, 0.1, 1, 1, 0.8, 1.4", "0, 0, 0.11, 0.23, 1, 1, 1.9, 0.7", "0, 0, 1.2, 0, 1, 1, 1.6, 1"]
)
@pytest.mark.parametrize("target", [10, 8])
def test_crop_beyond_the_input(mode: str, region: str, target: int) -> None:
    attributes = f'mode = "{mode}", coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 7.5'
    text = f"g (float[1, 1, 6, 8] x) => (float[1, 1, 5, 7] y) <float[8] r = {{{region}}}, int64[4] z = {{1, 1, 5, 7}}>"
    result = assert_same(
        model(f"{text} {{ y = Resize <{attributes}> (x, r, , z) }}", opset=13), target, {"x": X}, rtol=1e-5, atol=1e-5
    )
    assert "Resize" not in _ops(result)


def test_crop() -> None:
    text = "g (float[1, 1, 6, 8] x) => (float[1, 1, 3, 5] y) <float[8] r = {0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9}, int64[4] z = {1, 1, 3, 5}>"
    text += ' { y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , z) }'
    assert_same(model(text, opset=13), 9, {"x": X}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("what", ["float[2] s = {2, 0.5}", "int64[2] z = {12, 4}"])
@pytest.mark.parametrize("axes", ["2, 3", "-2, -1", "3, 2"])
@pytest.mark.parametrize("shape", ["1, 1, 6, 8", "1, C, H, W"])
def test_axes(what: str, axes: str, shape: str) -> None:
    operands = "(x, , s)" if " s " in what else "(x, , , z)"
    text = f'g (float[{shape}] x) => (float[D, E, A, B] y) <{what}> {{ y = Resize <mode = "linear", axes = [{axes}]> {operands} }}'
    assert_same(model(text, opset=18), 13, {"x": X})


@pytest.mark.parametrize(
    "operands",
    [
        pytest.param("<float[0] r = {}, float[0] s = {}, int64[2] z = {9, 4}> { y = Resize <%s> (x, r, s, z) }", id="sizes"),
        pytest.param("<float[0] r = {}, float[2] s = {1.5, 0.5}> { y = Resize <%s> (x, r, s) }", id="scales"),
    ],
)
@pytest.mark.parametrize("target", [17, 13, 12])
def test_operands_of_some_axes_that_are_empty(operands: str, target: int) -> None:
    text = f"g (float[1, 1, 6, 8] x) => (float[1, 1, 9, 4] y) {operands % 'axes = [-2, -1]'}"
    assert_same(model(text, opset=18), target, {"x": X})


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_policy(policy: str, mode: str) -> None:
    text = "g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <int64[2] z = {12, 12}>"
    text += f' {{ y = Resize <mode = "{mode}", axes = [2, 3], keep_aspect_ratio_policy = "{policy}"> (x, , , z) }}'
    assert_same(model(text, opset=18), 13, {"x": X}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_a_policy_shifts_an_axis_that_keeps_its_length(mode: str, coordinates: str) -> None:
    """8 elements grow to 9, and 3 to 3.375, which is 3."""
    text = "g (float[1, 1, 3, 8] x) => (float[1, 1, 3, 9] y) <int64[2] z = {4, 9}>"
    attributes = f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}", nearest_mode = "floor"'
    text += f' {{ y = Resize <{attributes}, axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , z) }}'
    assert_same(model(text, opset=18), 17, {"x": X[:, :, :3]}, rtol=1e-5, atol=1e-5)


SAME_SHAPE = {
    "a region": (
        13,
        "<float[8] r = {0, 0, 0.1, 0.2, 1, 1, 0.7, 0.9}, int64[4] z = {1, 1, 6, 8}>",
        'coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , z)',
    ),
    "scales": (13, "<float[4] s = {1, 1, 1.1, 1.05}>", 'coordinate_transformation_mode = "half_pixel"> (x, , s)'),
}


@pytest.mark.parametrize("form", SAME_SHAPE)
def test_positions_that_shift_in_the_same_shape_have_two_meanings(form: str) -> None:
    opset, stored, node = SAME_SHAPE[form]
    proto = model(f'g (float[1, 1, 6, 8] x) => (float[1, 1, 6, 8] y) {stored} {{ y = Resize <mode = "linear", {node} }}', opset)
    assert "its positions are shifted, and onnxruntime copies its input, since the shape is the same" in refusal(proto, 10)
    for runtime, meaning in {"onnxruntime": "onnxruntime", "onnx.reference": "specification"}.items():
        result = convert_version(proto, 10, options=Options(semantics=meaning)).model  # type: ignore[arg-type]
        expected = run(proto, {"x": X}, runtime)[0]
        np.testing.assert_allclose(run(result, {"x": X})[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_symmetric_coordinates(mode: str) -> None:
    text = _by_scales("1, 1, 0.6, 1.3", f'mode = "{mode}", coordinate_transformation_mode = "half_pixel_symmetric"')
    assert_same(model(text, opset=19), 17, {"x": X}, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_symmetric_coordinates_of_a_length_that_is_rounded(policy: str, mode: str) -> None:
    """5 elements grow to 5.83, which is 6, or 6 to 13.2, which is 13: the centre of the input stays the centre of the output."""
    text = "g (float[1, 1, 5, 6] x) => (float[1, 1, A, B] y) <int64[2] z = {11, 7}>"
    text += f' {{ y = Resize <mode = "{mode}", axes = [2, 3], keep_aspect_ratio_policy = "{policy}",'
    text += ' coordinate_transformation_mode = "half_pixel_symmetric"> (x, , , z) }'
    assert_same(model(text, opset=19), 18, {"x": X.reshape(-1)[:30].reshape(1, 1, 5, 6)}, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "given", ["<float[2] q = {1, 0.3}> { y = Resize <%s> (x, , q) }", "<int64[2] q = {1, 1}> { y = Resize <%s> (x, , , q) }"]
)
def test_refuses_symmetric_coordinates_beside_a_whole_number(given: str) -> None:
    """Rounded down, such a coordinate is that number or the one before it, as float32 happens to round."""
    attributes = 'nearest_mode = "floor", coordinate_transformation_mode = "half_pixel_symmetric"'
    length = 5 if "float" in given else 3
    proto = model(f"g (float[1, {length}] x) => (float[1, 1] y) {given % attributes}", opset=19)
    assert "its neighbour depends on how the runtime rounds" in refusal(proto, 18)


def test_symmetric_coordinates_that_are_exact() -> None:
    attributes = 'nearest_mode = "floor", coordinate_transformation_mode = "half_pixel_symmetric"'
    text = f"g (float[1, 6] x) => (float[1, 9] y) <float[2] q = {{1, 1.5}}> {{ y = Resize <{attributes}> (x, , q) }}"
    assert_same(model(text, opset=19), 18, {"x": X.reshape(-1)[:6].reshape(1, 6)})


def test_what_only_grows_is_an_upsample_below_10() -> None:
    proto = model("g (float[1, 1, 6, 8] x) => (float[1, 1, 12, 24] y) <float[4] s = {1, 1, 2, 3}> { y = Resize (x, s) }", opset=10)
    assert _ops(assert_same(proto, 9, {"x": X})) == ["Upsample"]
    assert _ops(assert_same(proto, 7, {"x": X})) == ["Upsample"]


def test_other_types_move_by_nearest() -> None:
    text = "g (int64[1, 1, 2, 2] x) => (int64[1, 1, 4, 4] y) <int64[4] z = {1, 1, 4, 4}> { y = Resize (x, , , z) }"
    x = np.array([[[[2**60, 1], [2, 3]]]])
    result = convert_version(model(text, opset=13), 9).model
    np.testing.assert_array_equal(run(result, {"x": x})[0], x.repeat(2, 2).repeat(2, 3))


REWRITES = [
    (
        "resize.absent_scales",
        11,
        13,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[0] r = {}, float[0] s = {}, int64[4] n = {1, 1, 4, 4}> { y = Resize (x, r, s, n) }",
        "<float[0] v1 = {}, int64[4] v2 = {1, 1, 4, 4}> { y = Resize (x, v1, ABSENT, v2) }",
    ),
    (
        "resize.empty_scales",
        13,
        12,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <int64[4] n = {1, 1, 4, 4}> { y = Resize (x, , , n) }",
        "<float[0] v1 = {}, int64[4] v2 = {1, 1, 4, 4}> { y = Resize (x, v1, v1, v2) }",
    ),
    (
        "resize.asymmetric_coordinates",
        10,
        11,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, s) }",
        '<float[0] v1 = {}, float[4] v2 = {1, 1, 2, 2}> { y = Resize <coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor"> (x, v1, v2) }',
    ),
    (
        "resize.keep_asymmetric",
        11,
        10,
        'g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[0] r = {}, float[4] s = {1, 1, 2, 2}> { y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, r, s) }',
        '<float[4] v1 = {1, 1, 2, 2}> { y = Resize <mode = "nearest"> (x, v1) }',
    ),
    (
        "resize.drop_symmetric_coordinates",
        19,
        18,
        'g (float[1,1,2,2] x) => (float[1,1,4,4] y) <int64[4] n = {1, 1, 4, 4}> { y = Resize <coordinate_transformation_mode = "half_pixel_symmetric", mode = "linear"> (x, , , n) }',
        """
            <int64[4] n = {1, 1, 4, 4}>
            {
              y = Resize <coordinate_transformation_mode = "half_pixel", mode = "linear"> (x, ABSENT, ABSENT, n)
            }
        """,
    ),
    (
        "resize.entries_for_all_axes",
        18,
        17,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[2] s = {2, 2}> { y = Resize <axes = [2, 3]> (x, , s) }",
        "<float[4] spread = {1, 1, 2, 2}> { y = Resize (x, ABSENT, spread) }",
    ),
    (
        "resize.resize_to_upsample",
        10,
        9,
        "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, s) }",
        '<float[4] s = {1, 1, 2, 2}> { y = Upsample <mode = "nearest"> (x, s) }',
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


# -- sizes and scales that are computed

ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
IMAGE = np.random.default_rng(2).standard_normal((2, 3, 5, 7)).astype(np.float32)


def _computed(what: str, attributes: str, kind: str = "float", shape: str = "N, C, H, W") -> str:
    inputs = "(x, , , z)" if what == "sizes" else "(x, , z)"
    vector = "int64[4] z" if what == "sizes" else "float[4] z"
    return f"g ({kind}[{shape}] x, {vector}) => ({kind}[A, B, D, E] y) {{ y = Resize <{attributes}> {inputs} }}"


def _assert_resizes(text: str, target: int, sizes: list[list[float]], data: np.ndarray, dtype: type, exact: bool) -> None:
    source = model(text, 13)
    result = convert_version(source, target).model
    assert "Resize" not in _ops(result)
    for each in sizes:
        given = {"x": data, "z": np.array(each, dtype)}
        expected, got = run(source, given)[0], run(result, given)[0]
        np.testing.assert_allclose(got, expected, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-5)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("target", [10, 9])
def test_nearest_by_computed_sizes(coordinates: str, rounding: str, target: int) -> None:
    attributes = f'coordinate_transformation_mode = "{coordinates}", nearest_mode = "{rounding}"'
    sizes = [[2, 3, 5, 7], [2, 3, 9, 4], [1, 3, 1, 1], [2, 6, 10, 14], [2, 3, 3, 21], [2, 3, 38, 2]]
    _assert_resizes(_computed("sizes", attributes), target, sizes, IMAGE, np.int64, exact=True)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest_by_many_computed_sizes(rounding: str) -> None:
    """Also at positions in the middle between two elements, which onnxruntime counts as such though they are rounded."""
    attributes = f'coordinate_transformation_mode = "asymmetric", nearest_mode = "{rounding}"'
    sizes = [[1, 1, 1, size] for size in range(1, 44)]
    data = np.arange(14, dtype=np.float32).reshape(1, 1, 1, 14)
    _assert_resizes(_computed("sizes", attributes), 10, sizes, data, np.int64, exact=True)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
def test_nearest_by_computed_scales(coordinates: str, rounding: str) -> None:
    attributes = f'coordinate_transformation_mode = "{coordinates}", nearest_mode = "{rounding}"'
    scales = [[1, 1, 1, 1], [1, 1, 2, 3], [0.5, 1, 0.6, 0.3], [1, 2, 1.5, 2.5]]
    _assert_resizes(_computed("scales", attributes), 10, scales, IMAGE, np.float32, exact=True)


@pytest.mark.parametrize("what", ["sizes", "scales"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
@pytest.mark.parametrize("target", [10, 9])
def test_linear_by_what_is_computed(what: str, coordinates: str, target: int) -> None:
    attributes = f'mode = "linear", coordinate_transformation_mode = "{coordinates}"'
    given = {"sizes": [[2, 3, 9, 4], [2, 3, 2, 21]], "scales": [[1, 1, 2, 3], [1, 1, 0.6, 1.7]]}[what]
    dtype = np.int64 if what == "sizes" else np.float32
    text = _computed(what, attributes)
    if what == "scales" and coordinates == "asymmetric" and target == 10:
        assert _ops(convert_version(model(text, 13), 10).model) == ["Resize"]
    else:
        _assert_resizes(text, target, given, IMAGE, dtype, exact=False)


@pytest.mark.parametrize("scales", [[1, 1, 1], [0.3, 0.7, 0.9], [1, 1.5, 2.3], [0.6, 1, 1.7], [2.5, 0.4, 1 / 3]])
def test_resize_of_opset_10_by_computed_scales(scales: list[float]) -> None:
    source = model('g (float[A, B, C] x, float[3] s) => (float[D, E, F] y) {y = Resize<mode = "nearest">(x, s)}', 10)
    given = {"x": np.arange(5 * 7 * 9, dtype=np.float32).reshape(5, 7, 9), "s": np.array(scales, np.float32)}
    np.testing.assert_array_equal(*run(convert_version(source, 9).model, given), *run(source, given), strict=True)


def test_axes_that_keep_their_length_are_left_alone() -> None:
    text = """g (float[N, C, H, W] x, int64[2] z) => (float[A, B, D, E] y) {
        s = Shape (x) n = Slice (s, zero, two) t = Concat <axis = 0> (n, z) y = Resize <mode = "nearest"> (x, , , t) }"""
    text = text.replace("=> (float[A, B, D, E] y) {", "=> (float[A, B, D, E] y) <int64[1] zero = {0}, int64[1] two = {2}> {")
    result = convert_version(model(text, 13), 10).model
    assert _ops(result).count("NonZero") == 2
    given = {"x": IMAGE, "z": np.array([10, 3], np.int64)}
    np.testing.assert_array_equal(*run(result, given), *run(model(text, 13), given), strict=True)


# -- data of open lengths

LENGTHS = [(5, 6), (20, 31), (7, 9), (3, 40), (8, 16), (1, 2)]


def _assert_resizes_any(source: onnx.ModelProto, target: int, options: Options | None = None) -> None:
    result = convert_version(source, target, options=options).model
    assert "Resize" not in _ops(result)
    for height, width in LENGTHS:
        given = {"x": np.random.default_rng(height).standard_normal((2, 3, height, width)).astype(np.float32)}
        expected, got = run(source, given)[0], run(result, given)[0]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5, strict=True)


def _of_open_lengths(operand: str, attributes: str, opset: int, names: str) -> onnx.ModelProto:
    text = f"g (float[N, C, H, W] x) => (float[N, C, A, B] y) <{operand}> {{ y = Resize <{attributes}> ({names}) }}"
    return model(text, opset)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_policy_for_open_lengths(mode: str, policy: str, coordinates: str) -> None:
    attributes = f'axes = [2, 3], keep_aspect_ratio_policy = "{policy}", mode = "{mode}", '
    attributes += f'coordinate_transformation_mode = "{coordinates}"'
    source = _of_open_lengths("int64[2] z = {7, 9}", attributes, 18, "x, , , z")
    options = None
    if coordinates in ("align_corners", "pytorch_half_pixel"):
        assert f"{coordinates} goes by the length length · scale" in refusal(source, 17)
        options = Options(semantics="onnxruntime")
    for target in (17, 9):
        _assert_resizes_any(source, target, options)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("policy", ["stretch", "not_larger"])
def test_antialias_of_open_lengths(policy: str, coordinates: str) -> None:
    attributes = f'axes = [2, 3], antialias = 1, keep_aspect_ratio_policy = "{policy}", mode = "linear", '
    attributes += f'coordinate_transformation_mode = "{coordinates}"'
    source = _of_open_lengths("int64[2] z = {4, 9}", attributes, 18, "x, , , z")
    options = Options(semantics="onnxruntime") if policy != "stretch" else None
    for target in (17, 9):
        _assert_resizes_any(source, target, options)


@pytest.mark.parametrize(("scales", "target"), [("1, 1, 0.5, 0.25", 17), ("1, 1, 0.3, 2.5", 17), ("1, 1, 1, 0.6", 12)])
def test_antialias_by_scales_of_open_lengths(scales: str, target: int) -> None:
    operand = f"float[4] s = {{{scales}}}"
    _assert_resizes_any(_of_open_lengths(operand, 'antialias = 1, mode = "linear"', 18, "x, , s"), target)


def test_an_element_of_weight_0_does_not_count() -> None:
    """An infinite element changes what is near it, and nothing else: 0 times infinity is NaN."""
    source = _of_open_lengths("float[4] s = {1, 1, 0.5, 0.5}", 'antialias = 1, mode = "linear"', 18, "x, , s")
    data = np.ones((1, 1, 16, 16), np.float32)
    data[0, 0, 4, 4] = np.inf
    (got,) = run(convert_version(source, 17).model, {"x": data})
    assert not np.isnan(got).any()
    assert np.isinf(got).sum() == np.isinf(run(source, {"x": data})[0]).sum()


def test_scales_that_may_keep_the_shape_have_two_meanings() -> None:
    source = _of_open_lengths("float[4] s = {1, 1, 1.25, 1.2}", 'mode = "linear"', 13, "x, , s")
    assert "onnxruntime copies its input, since the shape is the same" in refusal(source, 10)
    result = convert_version(source, 10, options=Options(semantics="onnxruntime")).model
    for height, width in [(3, 4), (3, 5), (4, 5), (9, 9)]:
        given = {"x": np.random.default_rng(4).standard_normal((1, 1, height, width)).astype(np.float32)}
        np.testing.assert_allclose(run(result, given)[0], run(source, given)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric"])
def test_computed_scales_that_keep_the_shape_copy_as_onnxruntime_does(mode: str, coordinates: str) -> None:
    """The lengths are 5 and 7: the last scales lengthen one axis, all others none."""
    source = model(_computed("scales", f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}"'), 13)
    result = convert_version(source, 9)
    assert "where they change no length, the input is copied, as onnxruntime does" in str(result.report.warnings)
    for scales in [[1, 1, 1, 1], [1, 1, 1.1, 1.1], [1, 1, 1.19, 1], [1, 1, 1, 1.14], [1, 1, 1.19, 1.15]]:
        given = {"x": IMAGE, "z": np.array(scales, np.float32)}
        np.testing.assert_allclose(run(result.model, given)[0], run(source, given)[0], rtol=1e-5, atol=1e-5)


def test_an_antialiased_axis_that_keeps_its_length_is_copied() -> None:
    """Each axis for itself, and not only if all keep theirs."""
    source = model(_computed("scales", 'mode = "linear", antialias = 1'), 18)
    result = convert_version(source, 17).model
    for scales in [[1, 1, 1.1, 1.1], [1, 1, 1.19, 0.6], [1, 1, 1.1, 1.3], [1, 1, 1.3, 1.14], [1, 1, 0.5, 0.6]]:
        given = {"x": IMAGE, "z": np.array(scales, np.float32)}
        np.testing.assert_allclose(run(result, given)[0], run(source, given)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scales", ["1, 1, 1.19, 0.6", "1, 1, 1.19, 1.3"])
def test_an_antialiased_axis_that_may_keep_its_length_has_two_meanings(scales: str) -> None:
    source = _of_open_lengths(f"float[4] s = {{{scales}}}", 'antialias = 1, mode = "linear"', 18, "x, , s")
    assert "onnxruntime copies its input, since the shape is the same" in refusal(source, 17)
    result = convert_version(source, 17, options=Options(semantics="onnxruntime")).model
    for height, width in [(3, 4), (5, 5), (9, 3)]:
        given = {"x": np.random.default_rng(4).standard_normal((1, 1, height, width)).astype(np.float32)}
        np.testing.assert_allclose(run(result, given)[0], run(source, given)[0], rtol=1e-5, atol=1e-5)


def test_computed_scales_that_keep_the_shape_shift_by_the_specification() -> None:
    source = model(_computed("scales", 'mode = "linear", coordinate_transformation_mode = "asymmetric"'), 13)
    result = convert_version(source, 9, options=Options(semantics="specification"), compare="off").model
    shifted = run(result, {"x": IMAGE, "z": np.array([1, 1, 1, 1.14], np.float32)})[0]
    places = np.arange(7) / np.float32(1.14)
    expected = np.apply_along_axis(lambda row: np.interp(places, np.arange(7), row), 3, IMAGE)
    np.testing.assert_allclose(shifted, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("target", [10, 9])
def test_scales_of_open_lengths(mode: str, target: int) -> None:
    source = _of_open_lengths("float[4] s = {1, 1, 2, 2.5}", f'mode = "{mode}"', 13, "x, , s")
    _assert_resizes_any(source, target)
    assert _ops(convert_version(source, target).model).count("NonZero") == 2


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_an_axis_of_a_region_that_keeps_its_length_has_two_meanings(mode: str) -> None:
    text = f"""g (float[1,1,4,4] x) => (float[1,1,4,2] y) <float[8] r = {{0, 0, 0.5, 0, 1, 1, 1, 1}}, int64[4] z = {{1, 1, 4, 2}}> {{
        y = Resize <mode = "{mode}", coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 9.0> (x, r, , z) }}"""
    source = model(text, 13)
    message = "the region of interest counts along the axes [2], and onnxruntime copies these, since their lengths stay"
    assert message in refusal(source, 10)
    given = {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)}
    result = convert_version(source, 10, options=Options(semantics="onnxruntime")).model
    np.testing.assert_allclose(run(result, given)[0], run(source, given)[0], rtol=1e-5)


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize("target", [10, 9])
def test_cubic_of_computed_sizes(coordinates: str, target: int) -> None:
    attributes = f'mode = "cubic", cubic_coeff_a = -0.5, coordinate_transformation_mode = "{coordinates}"'
    text = f"g (float[1, 1, H, W] x, int64[4] z) => (float[1, 1, A, B] y) {{ y = Resize <{attributes}> (x, , , z) }}"
    proto = model(text, opset=13)
    result = convert_version(proto, target).model
    for lengths in ([9, 3], [6, 8], [1, 20]):
        feeds = {"x": X, "z": np.array([1, 1, *lengths])}
        np.testing.assert_allclose(run(result, feeds)[0], run(proto, feeds)[0], rtol=1e-5, atol=1e-5)


OPEN_BATCH = """g (float[N,3,8,8] x{more}) => (float[N,3,{out}] y) <int64[3] hw = {{3, 4, 6}}> {{
    n = Shape<end = {end}>(x) t = Concat<axis = 0>(n, {last}) y = Resize<antialias = 1, exclude_outside = {exclude}, mode = "{mode}">(x, , , t) }}"""


@pytest.mark.parametrize("exclude", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_only_an_open_batch_needs_nothing_at_run_time(mode: str, exclude: int) -> None:
    """As torch writes an interpolation with antialias."""
    proto = model(OPEN_BATCH.format(more="", out="4,6", end=1, last="hw", exclude=exclude, mode=mode), 18)
    result = convert_version(proto, 17).model
    assert "Shape" not in {node.op_type for node in result.graph.node}
    for batch in (0, 1, 3):
        feeds = {"x": np.random.default_rng(batch).standard_normal((batch, 3, 8, 8)).astype(np.float32)}
        np.testing.assert_allclose(run(result, feeds)[0], run(proto, feeds)[0], rtol=1e-5, atol=1e-5)


def test_a_symbol_that_only_the_output_declares_keeps_no_length() -> None:
    """Exporters give the axes of an output the names of those of the input, though they are of another length."""
    text = OPEN_BATCH.replace("[N,3,8,8]", "[N,3,h,w]").format(
        more=", int64[2] s", out="h,w", end=2, last="s", exclude=0, mode="linear"
    )
    proto = model(text, 18)
    result = convert_version(proto, 17).model
    feeds = {"x": np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32), "s": np.array([6, 8])}
    np.testing.assert_allclose(run(result, feeds)[0], run(proto, feeds)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_policy_for_computed_sizes_of_a_known_result(mode: str, policy: str) -> None:
    """The shape of the result is known, and not the scale that all axes have in common."""
    out = "7,7" if policy == "not_larger" else "8,8"
    text = f"""g (float[1,1,2,2] x, int64[2] s) => (float[1,1,{out}] y) {{
        y = Resize<axes = [2, 3], keep_aspect_ratio_policy = "{policy}", mode = "{mode}">(x, , , s) }}"""
    proto = model(text, 18)
    result = convert_version(proto, 17).model
    feeds = {"x": np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2), "s": np.array([7, 8])}
    np.testing.assert_allclose(run(result, feeds)[0], run(proto, feeds)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("lengths", ["5,7", "H,W"])
@pytest.mark.parametrize("scales", [(2, 2), (0.6, 1), (1.3, 2.7), (3, 0.4)])
def test_symmetric_coordinates_by_computed_scales(mode: str, lengths: str, scales: tuple[float, float]) -> None:
    text = f"""g (float[1,1,{lengths}] x, float[4] s) => (float[1,1,C,D] y) {{
        y = Resize<mode = "{mode}", coordinate_transformation_mode = "half_pixel_symmetric">(x, , s) }}"""
    proto = model(text, 19)
    result = convert_version(proto, 18).model
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 1, 5, 7)).astype(np.float32), "s": np.float32([1, 1, *scales])}
    np.testing.assert_allclose(run(result, feeds)[0], run(proto, feeds)[0], rtol=1e-4, atol=1e-5)
