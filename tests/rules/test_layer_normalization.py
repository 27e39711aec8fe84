"""Normalizations, where a mean that is large beside the deviation shows how the variance is computed."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, known, model, optimized, refusal, run

RNG = np.random.default_rng(5)
FAR = (1000 + RNG.normal(size=(2, 4, 6))).astype(np.float32)


OF_UNKNOWN_RANK = (
    "g (float[A,B] x, int64[K] s, float[6] w) => (float[C,D] y) { z = Reshape (x, s)  y = LayerNormalization <axis = %d> (z, w) }"
)


@pytest.mark.parametrize(("axis", "target"), [(1, 16), (-1, 10)])
def test_refuses_an_unknown_rank(axis, target):
    """It counts where the axes do, or where the older ReduceMean does not take negative ones."""
    assert "the rank of 'z' is unknown" in refusal(model(OF_UNKNOWN_RANK % axis, 17), target)


@pytest.mark.parametrize("target", [16, 13, 11])
def test_onnxruntime_recognizes_it_without_a_known_rank(target):
    result = convert_version(model(OF_UNKNOWN_RANK % -1, 17), target).model
    assert optimized(result) == ["LayerNormalization", "Reshape"]


@pytest.mark.parametrize("axis", [-1, 1, 0, -2])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("target", [16, 11, 7])
def test_layer_normalization(axis, bias, target):
    dims = ",".join(map(str, FAR.shape[axis:]))
    extra, operand = (f", float[{dims}] b", ", b") if bias else ("", "")
    text = (
        f"g (float[2,4,6] x, float[{dims}] s{extra}) => (float[2,4,6] y, float[A,B,C] m, float[A,B,C] d) "
        f"{{ y, m, d = LayerNormalization <axis={axis}, epsilon=0.001> (x, s{operand}) }}"
    )
    given = {"x": FAR, "s": RNG.random(FAR.shape[axis:], np.float32)} | (
        {"b": RNG.random(FAR.shape[axis:], np.float32)} if bias else {}
    )
    result = assert_same(model(text, 17), target, given, rtol=1e-3, atol=1e-3)
    x = FAR.astype(np.float64)
    axes = tuple(range(axis % 3, 3))
    expected = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-3) * given["s"] + given.get("b", 0)
    np.testing.assert_allclose(run(result, given)[0], expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("target", [11, 13, 16])
def test_onnxruntime_recognizes_it(target):
    text = """g (float[2,4,6] x) => (float[2,4,6] y) <float[6] s = {1,2,3,4,5,6}, float[6] b = {1,2,3,4,5,6}> {
      y = LayerNormalization (x, s, b)
    }"""
    assert optimized(convert_version(model(text, 17), target).model) == ["LayerNormalization"]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_onnxruntime_recognizes_it_without_a_bias(kind):
    text = f"""g ({kind}[2,4,6] x, {kind}[6] s) => ({kind}[2,4,6] y) {{ y = LayerNormalization <epsilon = 0.1> (x, s) }}"""
    result = convert_version(model(text, 17), 13).model
    assert optimized(result) == ["LayerNormalization"]
    dtype = np.float32 if kind == "float" else np.float64
    x, s = RNG.normal(size=(2, 4, 6)).astype(dtype), RNG.normal(size=6).astype(dtype)
    want = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.1) * s
    np.testing.assert_allclose(run(result, {"x": x, "s": s})[0], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "g (float[2,4,6] x, float[4,6] s) => (float[2,4,6] y) { y = LayerNormalization <axis = 1> (x, s) }",
        "g (float[2,4,6] x, float[6] s) => (float[2,4,6] y, float[2,4,1] m) { y, m = LayerNormalization (x, s) }",
        "g (float[2,4,W] x, float[W] s) => (float[2,4,W] y) { y = LayerNormalization (x, s) }",
    ],
    ids=["over two axes", "with the mean", "of open width"],
)
def test_a_bias_is_made_only_where_it_helps(text):
    names = [node.op_type for node in convert_version(model(text, 17), 13).model.graph.node]
    assert names == ["ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]


# onnxruntime moves Transposes before it looks for normalizations.


def behind_a_transpose(dims):
    return f"""g (float[{dims}] x) => (float[A,B,C,D] y) <float[6] s = {{1,2,3,4,5,6}}, float[6] b = {{1,2,3,4,5,6}}> {{
      c = Sin (x)  t = Transpose <perm = [0, 2, 3, 1]> (c)  n = LayerNormalization (t, s, b)  y = Cos (n)
    }}"""


@pytest.mark.parametrize("dims", ["2,6,3,5", "1,6,1,5", "B,6,3,5", "B,6,H,W"])
@pytest.mark.parametrize("target", [11, 13, 16])
def test_onnxruntime_recognizes_it_behind_a_transpose(dims, target):
    x = (1000 + RNG.normal(size=(1 if dims[0] == "1" else 2, 6, 1 if dims[0] == "1" else 3, 5))).astype(np.float32)
    result = assert_same(model(behind_a_transpose(dims), 17), target, {"x": x}, rtol=1e-3, atol=1e-3)
    left = optimized(result)
    assert left.count("LayerNormalization") == 1
    assert "ReduceMean" not in left


def test_a_reshape_keeps_them_apart_only_where_there_is_a_transpose():
    text = behind_a_transpose("B,6,H,W")
    operators = [
        [n.op_type for n in convert_version(model(each, 17), 13).model.graph.node]
        for each in (text, text.replace("Transpose <perm = [0, 2, 3, 1]>", "Cos").replace("B,6,H,W", "B,H,W,6"))
    ]
    assert [names.count("Reshape") for names in operators] == [1, 0]


@pytest.mark.parametrize("dims", ["2,6,0,5", "0,6,3,5", "B,6,H,W"])
def test_nothing_is_normalized_behind_a_transpose(dims):
    x = np.zeros([int(dim) if dim.isdigit() else {"B": 2, "H": 0, "W": 5}[dim] for dim in dims.split(",")], np.float32)
    (y,) = run(convert_version(model(behind_a_transpose(dims), 17), 13).model, {"x": x})
    assert y.shape == x.transpose(0, 2, 3, 1).shape


def test_with_statistics_the_shape_stays():
    """onnxruntime fuses no normalization whose mean is read."""
    text = behind_a_transpose("2,6,3,5").replace("n = ", "n, m = ").replace("D] y)", "D] y, float[2,3,5,1] m)")
    nodes = convert_version(model(text, 17), 13).model.graph.node
    assert "Reshape" not in [node.op_type for node in nodes]


@pytest.mark.skipif(not known(21), reason="onnx has no opset 21")
@pytest.mark.parametrize("target", [17, 11, 7])
def test_group_normalization(target):
    text = "g (float[2,4,6] x, float[4] s, float[4] b) => (float[2,4,6] y) { y = GroupNormalization <num_groups=2> (x, s, b) }"
    s, b = RNG.random(4, np.float32), RNG.random(4, np.float32)
    x = FAR.astype(np.float64).reshape(2, 2, -1)
    normal = ((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)).reshape(FAR.shape)
    got = run(convert_version(model(text, 21), target).model, {"x": FAR, "s": s, "b": b})[0]
    np.testing.assert_allclose(got, normal * s[:, None] + b[:, None], rtol=2e-3, atol=2e-3)


def test_mean_variance_normalization():
    text = "g (float[2,3,2,2] x) => (float[2,3,2,2] y) { y = MeanVarianceNormalization (x) }"
    x = (50 + RNG.normal(size=(2, 3, 2, 2))).astype(np.float32)
    assert_same(model(text, 9), 8, {"x": x}, rtol=1e-4, atol=1e-4)


def test_doubles_are_computed_in_double_and_the_mean_keeps_its_type():
    text = """g (double[2,8] x, double[8] s) => (double[2,8] y, float[2,1] mean, float[2,1] inverse) {
      y, mean, inverse = LayerNormalization (x, s)
    }"""
    x, s = np.random.default_rng(5).standard_normal((2, 8)), np.random.default_rng(6).standard_normal(8)
    y, mean, inverse = run(convert_version(model(text, 17), 16).model, {"x": x, "s": s})
    std = np.sqrt(x.var(axis=1, keepdims=True) + np.float64(np.float32(1e-5)))
    np.testing.assert_allclose(y, (x - x.mean(axis=1, keepdims=True)) / std * s, rtol=1e-12)
    assert (mean.dtype, inverse.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(inverse, 1 / std, rtol=1e-6)


EARLY = "g (float[2,4,6] x, float[6] w, float[6] b) => (float[2,4,6] y) { y = LayerNormalization <axis = -1, epsilon = 0.001> (x, w, b) }"
"""As onnxruntime's optimizer writes it into models of older opsets."""

REWRITES = [
    (
        "layer_normalization.take_from_older_opsets",
        11,
        17,
        EARLY,
        "{ y = LayerNormalization <axis = -1, epsilon = 0.001> (x, w, b) }",
    ),
    (
        "layer_normalization.normalize_last_axes",
        17,
        13,
        "g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y) { y = LayerNormalization (x, s, b) }",
        """
            <float two = {2}, float epsilon = {1e-05}>
            {
              mean = ReduceMean <axes = [-1], keepdims = 1> (x)
              deviation = Sub (x, mean)
              square = Pow (deviation, two)
              variance = ReduceMean <axes = [-1], keepdims = 1> (square)
              padded = Add (variance, epsilon)
              std = Sqrt (padded)
              normalized = Div (deviation, std)
              scaled = Mul (normalized, s)
              y = Add (scaled, b)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


# -- in models of older opsets


def test_refuses_an_attribute_that_no_opset_has():
    assert "LayerNormalization has no attribute mode" in refusal(model(EARLY.replace("axis", "mode"), 11), 13)


def test_refuses_a_scale_of_another_type():
    text = EARLY.replace("float[6] w", "double[6] w")
    assert "ONNX has no LayerNormalization with inputs of different types" in refusal(model(text, 11), 18)


@pytest.mark.parametrize("opset", [9, 11, 14, 16])
@pytest.mark.parametrize("target", [9, 13, 18])
def test_a_model_that_has_it_too_early(opset, target):
    proto = model(EARLY, opset)
    inputs = {"x": FAR - 1000, "w": RNG.random(6, np.float32), "b": RNG.random(6, np.float32)}
    result, report = convert_version(proto, target, compare="required")
    assert report.warnings == [
        f"LayerNormalization 'y' (model): opset {opset} of ONNX does not have LayerNormalization: it is taken as runtimes take it"
    ]
    np.testing.assert_allclose(run(result, inputs)[0], run(proto, inputs)[0], rtol=1e-5, atol=1e-5)


# -- without a stash_type that says something

UNSAID = "g (float16[2,4,6] x, float16[6] w) => (float16[2,4,6] y) { y = LayerNormalization <stash_type = 0> (x, w) }"


@pytest.mark.parametrize("target", [16, 9])
def test_a_stash_type_of_0_is_float(target):
    proto = model(UNSAID, 17)
    inputs = {"x": (FAR - 1000).astype(np.float16), "w": RNG.random(6).astype(np.float16)}
    np.testing.assert_allclose(run(convert_version(proto, target).model, inputs)[0], run(proto, inputs)[0], rtol=2e-3, atol=2e-3)


def test_statistics_that_nothing_reads_leave_no_node() -> None:
    text = "g (float[2,4] x, float[4] s, float[4] b) => (float[2,4] y) { y, mean, inv = LayerNormalization (x, s, b) }"
    nodes = convert_version(model(text, 17), 13).model.graph.node
    assert [node.op_type for node in nodes] == ["ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"]
