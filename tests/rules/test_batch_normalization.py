"""BatchNormalization in all its forms."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from fitting import for_a_list
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

PARAMETERS = "float[3] s, float[3] b, float[3] m, float[3] v"
FEEDS = {
    "s": np.array([1, 2, -1], np.float32),
    "b": np.array([0, 1, 2], np.float32),
    "m": np.array([0.5, -1, 0], np.float32),
    "v": np.array([1, 0.25, 4], np.float32),
}

REFUSED = [
    pytest.param("<is_test=1>", "y, nm, nv, sm, sv", 6, 7, "is_test=1, and outputs that only training has", id="is it training"),
    pytest.param("<spatial=0>", "y, nm, nv, sm, sv", 8, 9, "training with spatial=0", id="training per element"),
    pytest.param("", "y, nm, nv, sm, sv", 9, 14, "saved_mean and saved_var ('sm', 'sv') do not exist", id="saved statistics"),
]


@pytest.mark.parametrize("attributes, outputs, source, target, message", REFUSED)
def test_refuses(attributes, outputs, source, target, message):
    declared = ", ".join(f"float[2,3] {name}" if name == "y" else f"float[3] {name}" for name in outputs.split(", "))
    text = f"g (float[2,3] x, {PARAMETERS}) => ({declared}) {{ {outputs} = BatchNormalization {attributes} (x, s, b, m, v) }}"
    assert message in refusal(model(text, source), target)


def test_refuses_five_dimensions_at_opset_1():
    proto = model(f"g (float[2,3,1,1,1] x, {PARAMETERS}) => (float[2,3,1,1,1] y) {{ y = BatchNormalization (x, s, b, m, v) }}", 7)
    assert "BatchNormalization of opset 1 takes 4 dimensions, and 'x' has 5" in refusal(proto, 5)


def inference(x):
    shape = (1, 3, *[1] * (x.ndim - 2))
    s, b, m, v = (FEEDS[name].reshape(shape) for name in "sbmv")
    return (x - m) / np.sqrt(v + np.float32(1e-5)) * s + b


@pytest.mark.parametrize("source", [1, 6, 7, 9, 14])
@pytest.mark.parametrize("target", [7, 9, 15, 21])
def test_inference_in_every_form(source, target):
    attributes = {1: "<is_test=1, consumed_inputs=[0,0,0,1,1]>", 6: "<is_test=1>"}.get(source, "")
    text = f"g (float[2,3,2,2] x, {PARAMETERS}) => (float[2,3,2,2] y) {{ y = BatchNormalization {attributes} (x, s, b, m, v) }}"
    result = convert_version(model(text, source), target).model
    x = np.random.default_rng(1).normal(size=(2, 3, 2, 2)).astype(np.float32)
    np.testing.assert_allclose(run(result, {"x": x, **FEEDS})[0], inference(x), rtol=1e-6, atol=1e-6)


def test_one_output_without_is_test_is_inference_too():
    proto = model(f"g (float[2,3] x, {PARAMETERS}) => (float[2,3] y) {{ y = BatchNormalization (x, s, b, m, v) }}", 6)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(run(convert_version(proto, 13).model, {"x": x, **FEEDS})[0], inference(x), rtol=1e-6)


def test_down_to_6_and_1_says_what_it_is():
    proto = model(f"g (float[2,3,2,2] x, {PARAMETERS}) => (float[2,3,2,2] y) {{ y = BatchNormalization (x, s, b, m, v) }}", 9)
    attributes = [
        {a.name: onnx.helper.get_attribute_value(a) for a in convert_version(proto, target).model.graph.node[0].attribute}
        for target in (6, 5)
    ]
    assert attributes == [{"is_test": 1}, {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}]


@pytest.mark.parametrize("batch", ["2", "N"])
def test_each_element_for_itself(batch):
    shapes = "float[3,2] s, float[3,2] b, float[3,2] m, float[3,2] v"
    text = f"g (float[{batch},3,2] x, {shapes}) => (float[{batch},3,2] y) {{ y = BatchNormalization <spatial=0> (x, s, b, m, v) }}"
    feeds = {name: np.repeat(value[:, None], 2, axis=1) * np.float32([1, 2]) for name, value in FEEDS.items()}
    x = np.random.default_rng(1).normal(size=(2, 3, 2)).astype(np.float32)
    expected = (x - feeds["m"]) / np.sqrt(feeds["v"] + np.float32(1e-5)) * feeds["s"] + feeds["b"]
    result = convert_version(model(text, 7), 13).model
    np.testing.assert_allclose(run(result, {"x": x, **feeds})[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", [13, 9, 7])
def test_training_is_spelled_out(target):
    text = (
        f"g (float[2,3,4] x, {PARAMETERS}) => (float[2,3,4] y, float[3] nm, float[3] nv) "
        "{ y, nm, nv = BatchNormalization <training_mode=1, momentum=0.75> (x, s, b, m, v) }"
    )
    x = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    assert_same(model(text, 15), target, {"x": x, **FEEDS}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "attributes, source, kept, expected",
    [
        pytest.param("", 9, ["y", "nm", "nv"], {"training_mode": 1}, id="training"),
        pytest.param("<is_test=1>", 6, ["y"], {}, id="inference"),
    ],
)
def test_outputs_that_nothing_reads_go_upward(attributes, source, kept, expected):
    declared = ", ".join(["float[2,3] y", *(f"float[3] {name}" for name in kept[1:])])
    call = f"y, nm, nv, sm, sv = BatchNormalization {attributes} (x, s, b, m, v)"
    (node,) = convert_version(model(f"g (float[2,3] x, {PARAMETERS}) => ({declared}) {{ {call} }}", source), 14).model.graph.node
    assert list(node.output) == kept
    assert {a.name: a.i for a in node.attribute} == expected


def test_momentum_left_out_is_a_float32_also_in_double():
    text = """g (double[2,3] x, double[3] s, double[3] b, double[3] m, double[3] v) => (double[2,3] y, double[3] mean, double[3] var)
        { y, mean, var = BatchNormalization <training_mode = 1> (x, s, b, m, v) }"""
    x, ones = np.random.default_rng(0).standard_normal((2, 3)), np.ones(3)
    feeds = {"x": x, "s": ones, "b": ones, "m": 9 * ones, "v": ones}
    share = float(np.float32(0.9))
    got = run(convert_version(model(text, 14), 13).model, feeds)[1]
    np.testing.assert_allclose(got, 9 * share + x.mean(0) * (1 - share), rtol=1e-14)


TRAINS = "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,3] y, float[2] mean, float[2] var) { y, mean, var = BatchNormalization <training_mode = 1> (x, s, b, m, v) }"
WRITTEN_OUT = """
            <float momentum = {0.9}, int64[1] flat = {-1}, float rest = {0.100000024}, float epsilon = {1e-05},
             int64[2] column = {-1, 1}>
            {
              mean_2 = ReduceMean <axes = [0, 2], keepdims = 1> (x)
              centred = Sub (x, mean_2)
              squares = Mul (centred, centred)
              variance = ReduceMean <axes = [0, 2], keepdims = 1> (squares)
              old = Mul (m, momentum)
              current = Reshape (mean_2, flat)
              new = Mul (current, rest)
              mean = Add (old, new)
              old_2 = Mul (v, momentum)
              current_2 = Reshape (variance, flat)
              new_2 = Mul (current_2, rest)
              var = Add (old_2, new_2)
              variance_2 = Add (variance, epsilon)
              deviation = Sqrt (variance_2)
              column_2 = Reshape (s, column)
              column_3 = Reshape (b, column)
              normalized = Div (centred, deviation)
              scaled = Mul (normalized, column_2)
              y = Add (scaled, column_3)
            }
        """
REWRITES = [
    (
        "batch_normalization.add_consumed_inputs",
        7,
        5,
        "g (float[1,2,3,4] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,3,4] y) { y = BatchNormalization (x, s, b, m, v) }",
        "{ y = BatchNormalization <consumed_inputs = [0, 0, 0, 1, 1], is_test = 1> (x, s, b, m, v) }",
    ),
    (
        "batch_normalization.drop_is_test",
        6,
        7,
        "g (float[1,2] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2] y) { y = BatchNormalization <is_test = 1> (x, s, b, m, v) }",
        "{ y = BatchNormalization (x, s, b, m, v) }",
    ),
    (
        "batch_normalization.add_is_test",
        7,
        6,
        "g (float[1,2] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2] y) { y = BatchNormalization (x, s, b, m, v) }",
        "{ y = BatchNormalization <is_test = 1> (x, s, b, m, v) }",
    ),
    (
        "batch_normalization.one_channel_per_feature",
        7,
        9,
        "g (float[1,2,3] x, float[2,3] s, float[2,3] b, float[2,3] m, float[2,3] v) => (float[1,2,3] y) { y = BatchNormalization <spatial = 0> (x, s, b, m, v) }",
        "<int64[1] v2 = {-1}, int64[3] v8 = {1, 2, 3}> { v1 = Flatten <axis = 1> (x) v3 = Reshape (s, v2) v4 = Reshape (b, v2) v5 = Reshape (m, v2) v6 = Reshape (v, v2) v7 = BatchNormalization (v1, v3, v4, v5, v6) y = Reshape (v7, v8) }",
    ),
    (
        "batch_normalization.add_training_mode",
        13,
        14,
        "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,3] y, float[2] mean, float[2] var) { y, mean, var, saved_mean, saved_var = BatchNormalization (x, s, b, m, v) }",
        "{ y, mean, var = BatchNormalization <training_mode = 1> (x, s, b, m, v) }",
    ),
    (
        "batch_normalization.arithmetic_in_training",
        15,
        15,
        TRAINS,
        WRITTEN_OUT,
    ),
    (
        "batch_normalization.write_out_training",
        14,
        13,
        TRAINS,
        WRITTEN_OUT,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str, tmp_path: Path) -> None:
    pieces = ["Add", "Div", "Mul", "ReduceMean", "Reshape", "Sqrt", "Sub"]
    options = for_a_list(tmp_path, pieces) if opset == target else None
    assert_rewrites(before, after, rule, opset, target, options)
