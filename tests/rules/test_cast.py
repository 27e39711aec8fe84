"""Cast: the name and the number of a type; saturate and round_mode."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import assert_compares_equal, assert_rewrites, assert_same, convert_version, known, model, refusal, run

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.storage.payload import tensor_of
from split_rewrite.rewriter.structure.survey import all_graphs

SINCE_24 = pytest.mark.skipif(not known(24), reason="the installed onnx has no opset 24")


@pytest.mark.parametrize(
    ("text", "opset", "target", "message"),
    [
        pytest.param(
            'g (float[2] x) => (int64[2] y) { y = Cast <to = "integer"> (x) }',
            *(5, 6, "'integer' is not a type"),
            id="no_type_of_that_name",
        ),
        pytest.param(
            "g (float[2] x) => (float[2] y) { t = Cast <to = 17, saturate = 0> (x) y = Cast <to = 1> (t) }",
            *(19, 18, "two meanings: by the specification what is beyond the largest number becomes infinity or NaN"),
            id="float8_without_saturation",
        ),
        pytest.param(
            "g (double[2] x) => (float[2] y) { t = Cast <to = 17> (x) y = Cast <to = 1> (t) }",
            *(19, 18, "two meanings: by the specification a cast rounds once, and onnxruntime rounds double to float first"),
            id="float8_of_double",
        ),
    ],
)
def test_refused(text: str, opset: int, target: int, message: str) -> None:
    assert message in refusal(model(text, opset), target)


@pytest.mark.parametrize(("name", "number"), [("INT64", 7), ("float", 1), ("BOOL", 9), ("DOUBLE", 11)])
def test_name_to_number_and_back(name: str, number: int) -> None:
    text = f'g (float[2] x) => ({name.lower()}[2] y) {{ y = Cast <to = "{name}"> (x) }}'
    new = convert_version(model(text, opset=5), 13).model
    assert new.graph.node[0].attribute[0].i == number
    assert convert_version(new, 5).model.graph.node[0].attribute[0].s == name.upper().encode()


@pytest.mark.parametrize("saturate", [0, 1])
def test_saturate_says_nothing_of_other_types(saturate: int) -> None:
    text = f"g (float[2] x) => (int32[2] y) {{ y = Cast <to = 6, saturate = {saturate}> (x) }}"
    (node,) = convert_version(model(text, opset=19), 13).model.graph.node
    assert [attribute.name for attribute in node.attribute] == ["to"]


@SINCE_24
def test_round_mode_says_nothing_of_other_types() -> None:
    text = 'g (float[2] x) => (double[2] y) { y = Cast <to = 11, round_mode = "down"> (x) }'
    result = convert_version(model(text, opset=24), 13).model
    assert [attribute.name for attribute in result.graph.node[0].attribute] == ["to"]
    np.testing.assert_array_equal(
        run(result, {"x": np.array([0.1, 2], np.float32)})[0], np.array([0.1, 2], np.float32).astype(np.float64)
    )


@pytest.mark.parametrize("target", [2, 5, 6, 13])
@pytest.mark.parametrize(
    "body",
    [
        'c = Cast <to = "FLOAT"> (x)\n a, b = Split <axis = 0> (c)\n e, f = Split <axis = 0> (c)\n y = Add (b, f)',
        'c = Cast <to = "FLOAT"> (x)\n d = Relu (c)\n a, b = Split <axis = 0> (d)\n y = Neg (b)',
        'c = Cast <to = "FLOAT"> (x)\n d = Pad <paddings = [0, 1]> (c)\n y = Relu (d)',
        'c = Cast <to = "FLOAT"> (x)\n d = Split <axis = 0> (c)\n y = Relu (d)',
        'd = Relu (x)\n y = If (k) <then_branch = t () => (float[2] p) { c = Cast <to = "FLOAT"> (d)\n p, q = Split <axis = 0> (c) }, '
        "else_branch = e () => (float[2] r) { s, r = Split <axis = 0> (d) }>",
    ],
    ids=["split", "split-of-relu", "pad", "split-that-goes", "in-a-branch"],
)
def test_from_opset_1_the_type_is_stated_that_inference_does_not_read(body: str, target: int) -> None:
    result = convert_version(model(f"g (float[4] x, bool k) => (float[N] y) {{ {body} }}", 1, 3), target).model
    stated = [value.name for graph in all_graphs(result) for value in graph.value_info]
    assert stated == (["c"] if target < 6 else [])


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("int64", np.int64), ("bool", np.bool_)])
def test_cast_like(kind, dtype):
    text = f"g (int32[3] x, {kind}[1] t) => ({kind}[3] y) {{ y = CastLike (x, t) }}"
    assert_same(model(text, 15), 9, {"x": np.array([0, 1, -5], np.int32), "t": np.zeros(1, dtype)})


def test_refuses_a_cast_in_a_function_below_6() -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 15, "f" : 1]> g (float[3] x) => (int64[3] y) {y = f.f(x)}\n'
        '<domain: "f", opset_import: ["" : 14]> f (x) => (y) {c = Cast<to = 7>(x)\n y = Identity(c)}'
    )
    assert "onnx cannot check a function with a Cast before opset 6" in refusal(model(text, 16), 3)


def test_a_cast_that_something_reads_below_6() -> None:
    text = "g (float[3] x) => (int64[3] y) {c = Cast<to = 7>(x)\n y = Identity(c)}"
    assert_compares_equal(model(text, 9), 3)


def test_a_loop_carries_on_what_a_cast_below_6_makes() -> None:
    """onnx refuses a Loop with an input of unknown type, and does not infer the type of such a Cast."""
    text = """g (float[2] x, int64 n, bool k) => (int64[A] z) {
        c = Cast <to = 7> (x)
        z = Loop (n, k, c) <body = b (int64 i, bool go, int64[2] s) => (bool on, int64[2] t) { on = Identity (go)\n t = Identity (s) }>
    }"""
    assert [value.name for value in convert_version(model(text, 9), 5).model.graph.value_info] == ["c"]


REWRITES = [
    (
        "cast.type_to_number",
        5,
        6,
        'g (float[2] x) => (int64[2] y) { y = Cast <to = "INT64"> (x) }',
        "{ y = Cast <to = 7> (x) }",
    ),
    (
        "cast.type_to_name",
        6,
        5,
        "g (float[2] x) => (int64[2] y) { y = Cast <to = 7> (x) }",
        '{ y = Cast <to = "INT64"> (x) }',
    ),
    (
        "cast.drop_saturate",
        19,
        18,
        "g (float[2] x) => (int64[2] y) { y = Cast <saturate = 0, to = 7> (x) }",
        "{ y = Cast <to = 7> (x) }",
    ),
    (
        "cast.drop_saturate_of_cast_like",
        19,
        18,
        "g (float[2] x, int64[1] t) => (int64[2] y) { y = CastLike <saturate = 0> (x, t) }",
        "{ y = CastLike (x, t) }",
    ),
    (
        "cast.drop_round_mode",
        24,
        23,
        'g (float[2] x) => (int64[2] y) { y = Cast <round_mode = "down", to = 7> (x) }',
        "{ y = Cast <to = 7> (x) }",
    ),
    (
        "cast.cast_in_wider_types",
        21,
        20,
        "g (int32[4] x) => (int32[4] y) { n = Cast <to = 22> (x)  y = Cast <to = 6> (n) }",
        "<int32 half = {8}, int32 modulus = {16}> { i = Cast <to = 6> (x)  a = Add (i, half)  m = Mod (a, modulus)"
        "  s = Sub (m, half)  n = Cast <to = 3> (s)  y = Cast <to = 6> (n) }",
    ),
    (
        "cast.cast_to_known_type",
        15,
        14,
        "g (float[2] x, int64[1] t) => (int64[2] y) { y = CastLike (x, t) }",
        "{ y = Cast <to = 7> (x) }",
    ),
    (
        "cast.drop_round_mode_of_cast_like",
        24,
        23,
        'g (float[2] x, int64[1] t) => (int64[2] y) { y = CastLike <round_mode = "down"> (x, t) }',
        "{ y = CastLike (x, t) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


def there_and_back(kind: int, opset: int, source: str = "float", **attributes: int) -> onnx.ModelProto:
    """x, cast to the type of number `kind` and back."""
    text = f"g ({source}[N] x) => ({source}[N] y) {{ t = Cast <to = {kind}> (x)  y = CastLike (t, x) }}"
    given = model(text, opset, 10)
    given.graph.node[0].attribute.extend(onnx.helper.make_attribute(name, value) for name, value in attributes.items())
    return given


def every_float_and_its_neighbours(dtype: type) -> np.ndarray:
    """All finite numbers of `dtype`, what lies in the middle between two of them, the next floats, and special ones, as float."""
    bits = np.dtype(dtype).itemsize * 8
    numbers = np.arange(1 << bits, dtype=f"u{bits // 8}").view(dtype).astype(np.float32)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    around = np.concatenate([numbers, numbers[:-1] / 2 + numbers[1:] / 2])
    special = np.float32([0.0, -0.0, np.nan, np.inf, -np.inf, 1e30, -1e30, 3.4e38, 1e-38, 1e-45, -1e-45])
    random = np.exp(np.random.default_rng(0).uniform(-30, 30, 5000)).astype(np.float32)
    infinity = np.float32(np.inf)
    return np.concatenate([around, np.nextafter(around, infinity), np.nextafter(around, -infinity), special, random, -random])


@pytest.mark.parametrize("saturate", [1, 0])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
@pytest.mark.parametrize("target", [18, 13, 9])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float8_to_the_last_bit(name: str, saturate: int, target: int) -> None:
    dtype = getattr(ml_dtypes, name)
    x = every_float_and_its_neighbours(dtype)
    given = there_and_back(onnx.TensorProto.DataType.Value(name.replace("_", "").upper()), 19, saturate=saturate)
    (got,) = run(convert_version(given, target, options=Options(semantics="specification")).model, {"x": x})
    largest = np.float32(ml_dtypes.finfo(dtype).max)
    expected = (np.clip(x, -largest, largest) if saturate else x).astype(dtype).astype(np.float32)
    if name.endswith("fnuz"):  # infinities are NaN by the text before opset 24
        expected[np.isinf(x)] = np.nan
    np.testing.assert_array_equal(got, expected)
    if target > 9:  # the arithmetic that rounds below opset 11 gives 0 for numbers between -0.5 and 0
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[got == 0]))


@pytest.mark.parametrize(("name", "largest"), [("FLOAT8E4M3FNUZ", 240), ("FLOAT8E5M2FNUZ", 57344)])
def test_an_infinity_is_the_largest_number_for_onnxruntime(name: str, largest: int) -> None:
    given = there_and_back(onnx.TensorProto.DataType.Value(name), 19)
    result = convert_version(given, 13, options=Options(semantics="onnxruntime"))
    assert run(result.model, {"x": np.float32([np.inf, -np.inf, 1])})[0].tolist() == [largest, -largest, 1]
    assert result.report.warnings == []
    assert "by the specification an infinite input gives NaN before opset 24" in refusal(given, 13)


@pytest.mark.parametrize("source", ["float", "int32"])
def test_an_infinity_that_is_cast_has_two_meanings_around_opset_24(source: str) -> None:
    if not known(23, 24):
        pytest.skip("the installed onnx has no opset 24")
    for opset, target in ((23, 24), (24, 23)):
        given = there_and_back(onnx.TensorProto.FLOAT8E4M3FNUZ, opset, source)
        if source == "float":
            assert "an infinite input gives NaN before opset 24" in refusal(given, target)
        kept = convert_version(given, target, options=Options(semantics="onnxruntime" if source == "float" else None))
        assert kept.report.warnings == []


@pytest.mark.parametrize("target", [12, 11, 9])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bfloat16_to_the_last_bit(target: int) -> None:
    x = every_float_and_its_neighbours(ml_dtypes.bfloat16)
    (got,) = run(convert_version(there_and_back(onnx.TensorProto.BFLOAT16, 15), target).model, {"x": x})
    np.testing.assert_array_equal(got, x.astype(ml_dtypes.bfloat16).astype(np.float32))


NARROW_FLOATS = {
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    23: "float4_e2m1fn",
    27: "float6_e2m3fn",
    28: "float6_e3m2fn",
}
"""Narrow floating-point types by their numbers in TensorProto.DataType, as ml_dtypes calls them."""
HAVE_NO_NAN = (23, 27, 28)


def every_number(kind: int) -> np.ndarray:
    """All numbers of the type `kind`, in this type of ml_dtypes."""
    bits = {16: 16, 23: 4}.get(kind, 6 if kind in HAVE_NO_NAN else 8)
    return np.arange(1 << bits, dtype="u2" if bits == 16 else "u1").view(getattr(ml_dtypes, NARROW_FLOATS[kind]))


@pytest.mark.skipif(not known(28), reason="the installed onnx has no opset 28")
@pytest.mark.parametrize("kind", NARROW_FLOATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_from_every_narrow_float_to_every_other(kind: int) -> None:
    """All numbers but infinities, and NaN where the type has it, with the sign of 0."""
    numbers = every_number(kind)
    others = [other for other in NARROW_FLOATS if other != kind]
    nodes = [onnx.helper.make_node("Cast", ["w"], [f"n{other}"], to=other) for other in others]
    nodes += [onnx.helper.make_node("Cast", [f"n{other}"], [f"y{other}"], to=onnx.TensorProto.FLOAT) for other in others]
    outputs = [onnx.helper.make_tensor_value_info(f"y{other}", onnx.TensorProto.FLOAT, [numbers.size]) for other in others]
    graph = onnx.helper.make_graph(nodes, "g", [], outputs, [tensor_of(numbers, "w")])
    given = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 28)], ir_version=14)
    results = run(convert_version(given, 18, options=Options(semantics="specification")).model, {})
    is_finite = np.isfinite(numbers.astype(np.float32))
    for other, got in zip(others, results, strict=True):
        dtype = getattr(ml_dtypes, NARROW_FLOATS[other])
        largest = np.float32(ml_dtypes.finfo(dtype).max)
        expected = np.clip(numbers.astype(np.float32), -largest, largest).astype(dtype).astype(np.float32)
        chosen = is_finite if other in HAVE_NO_NAN else ~np.isinf(numbers.astype(np.float32))
        np.testing.assert_array_equal(got[chosen], expected[chosen], err_msg=dtype.__name__)
        np.testing.assert_array_equal(np.signbit(got[is_finite]), np.signbit(expected[is_finite]), err_msg=dtype.__name__)


@SINCE_24
@pytest.mark.parametrize("target", [23, 9])
@pytest.mark.parametrize(
    ("mode", "saturate", "expected"),
    [
        # of 0, the smallest float, the smallest number, 1, what is next to 1, 1.5, what is next to 1.5, more than the largest, inf
        ("up", 1, [-127, -127, -127, 0, 0, 1, 1, 1, 1, 127, 127]),
        ("down", 1, [-127, -127, -127, 0, -1, 0, 0, 0, 0, 127, 127]),
        ("nearest", 1, [-127, -127, -127, 0, 0, 0, 1, 0, 1, 127, 127]),
        ("nearest", 0, [np.nan, np.nan, -127, 0, 0, 0, 1, 0, 1, np.nan, np.nan]),
        ("down", 0, [np.nan, np.nan, -127, 0, -1, 0, 0, 0, 0, np.nan, np.nan]),
    ],
)
def test_powers_of_two(mode: str, saturate: int, expected: list[float], target: int) -> None:
    given = there_and_back(24, 24, round_mode=mode, saturate=saturate)
    after, before = np.float32(np.inf), np.float32(0)
    one, tie = np.float32(1), np.float32(1.5)
    near = [one, np.nextafter(one, before), np.nextafter(one, after), tie, np.nextafter(tie, before), np.nextafter(tie, after)]
    x = np.float32([0, 1e-45, 2.0**-127, *near, 3e38, np.inf, np.nan])
    (got,) = run(convert_version(given, target).model, {"x": x})
    np.testing.assert_array_equal(got, np.float32(2.0) ** np.float32([*expected, np.nan]))


@SINCE_24
@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_every_power_of_two_and_its_neighbours(mode: str, kind: str) -> None:
    """A cast of double is meant to round once, by the specification."""
    dtype = np.float32 if kind == "float" else np.float64
    powers = (2.0 ** np.arange(-127, 128)).astype(dtype)
    some = np.concatenate([powers, powers * dtype(1.5), powers * dtype(2**0.5)])
    x = np.concatenate([some, np.nextafter(some, dtype(0)), np.nextafter(some, dtype(np.inf))])
    given = there_and_back(24, 24, kind, round_mode=mode)
    (got,) = run(convert_version(given, 18, options=Options(semantics="specification")).model, {"x": x})
    clipped = np.clip(x.astype(np.float64), 2.0**-127, 2.0**127)
    lower = np.ldexp(1.0, np.frexp(clipped)[1] - 1)
    goes_up = {"up": clipped > lower, "down": clipped < lower, "nearest": clipped >= 1.5 * lower}[mode]
    np.testing.assert_array_equal(got, np.where(goes_up, 2 * lower, lower).astype(dtype))


@pytest.mark.parametrize(("kind", "dtype"), [(onnx.TensorProto.INT4, ml_dtypes.int4), (onnx.TensorProto.UINT4, ml_dtypes.uint4)])
@pytest.mark.parametrize("target", [20, 13, 9])
def test_low_bits_of_integers(kind: int, dtype: type, target: int) -> None:
    x = np.arange(-70000, 70000, dtype=np.int32)
    (got,) = run(convert_version(there_and_back(kind, 21, "int32"), target).model, {"x": x})
    np.testing.assert_array_equal(got, x.astype(np.int8).astype(dtype).astype(np.int32))


@pytest.mark.parametrize(("semantics", "expected"), [("specification", [2, -2, 0, 7]), ("onnxruntime", [3, -3, 0, -8])])
def test_fractions_to_four_bits(semantics: str, expected: list[int]) -> None:
    given = there_and_back(onnx.TensorProto.INT4, 21)
    result = convert_version(given, 18, options=Options(semantics=semantics)).model  # type: ignore[arg-type]
    assert run(result, {"x": np.float32([2.5, -2.5, 0.49999997, 7.5])})[0].tolist() == expected


@pytest.mark.parametrize(("number", "kind", "expected"), [("1", "float", 1.0), ("300", "int32", 300), ("2", "bool", True)])
def test_cast_like_of_a_stored_number_is_the_number_in_that_type(number: str, kind: str, expected: object) -> None:
    text = f"g ({kind}[2] x) => ({kind}[2] y) {{ c = Constant <value_int = {number}> () d = CastLike (c, x) y = Identity (d) }}"
    result = convert_version(model(text.replace(f"{kind}[2] y", f"{kind} y"), 15), 14).model
    assert [node.op_type for node in result.graph.node if node.op_type != "Identity"] == ["Constant"]
    value = onnx.numpy_helper.to_array(result.graph.node[0].attribute[0].t)
    assert value.shape == () and value == expected


def test_cast_like_of_stored_numbers_stays_a_cast() -> None:
    text = "g (float[2] x) => (float[3] y) { c = Constant <value_ints = [1, 2, 3]> () y = CastLike (c, x) }"
    assert [node.op_type for node in convert_version(model(text, 15), 14).model.graph.node] == ["Constant", "Cast"]
