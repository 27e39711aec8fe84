"""Max, Min and Pow in types that came with opset 12."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, run


@pytest.mark.parametrize("kind", ["int64", "int32", "uint32"])
@pytest.mark.parametrize("target", [11, 9, 7])
def test_a_whole_power_of_int64_is_exact(kind, target):
    """onnxruntime computes it in double; so Python's integers say what it is."""
    rows = [(x, e, x**e) for x in [*range(-9, 10), 3037000499, -2097151] for e in range(64)]
    rows += [(x, e, x**e) for x in (-1, 0, 1) for e in (64, 65, 101, 1000)]
    if kind != "uint32":
        rows += [(x, -e, x**e if abs(x) == 1 else 0) for x in (-7, -2, -1, 1, 2, 3) for e in (1, 2, 63, 64, 65)]
    rows = [row for row in rows if -(2**63) <= row[2] < 2**63]
    x, e, expected = zip(*rows, strict=True)
    proto = model(f"g (int64[N] x, {kind}[N] e) => (int64[N] y) {{ y = Pow (x, e) }}", 12)
    got = run(convert_version(proto, target).model, {"x": np.array(x), "e": np.array(e, kind)})[0]
    np.testing.assert_array_equal(got, np.array(expected))


@pytest.mark.parametrize("exponent", [2, 3])
def test_a_square_of_int64_is_exact_whatever_type_the_exponent_has(exponent):
    proto = model(f"g (int64[3] x) => (int64[3] y) <float e = {{{exponent}}}> {{ y = Pow (x, e) }}", 12)
    assert_same(proto, 11, {"x": np.array([1234567, -2097151, 2097150])})


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64)])
def test_another_power_of_int64_is_one_of_double(kind, dtype):
    proto = model(f"g (int64[5] x, {kind}[5] e) => (int64[5] y) {{ y = Pow (x, e) }}", 12)
    assert_same(proto, 11, {"x": np.array([2, 3, 10, 2, 2**60 + 1]), "e": np.array([0.5, 3, 15, -1, 1], dtype)})


@pytest.mark.parametrize("kind, runtime", [("int64", "onnxruntime"), ("uint64", "onnx.reference")])
@pytest.mark.parametrize("op", ["Max", "Min"])
def test_integers_that_no_float_holds(op, kind, runtime):
    """onnxruntime has no Where of uint64."""
    proto = model(f"g ({kind}[3] a, {kind}[2,1] b, {kind}[3] c) => ({kind}[2,3] y) {{ y = {op} (a, b, c) }}", 12)
    big = 2**62
    values = [[big, big + 1, 5], [[big + 1], [big - 1]], [big + 2, 0, big]]
    a, b, c = (np.array(value, kind) for value in values)
    choose = np.maximum if op == "Max" else np.minimum
    got = run(convert_version(proto, 11).model, {"a": a, "b": b, "c": c}, runtime)[0]
    np.testing.assert_array_equal(got, choose(choose(a, b), c))


@pytest.mark.parametrize("base, exponent", [("float", "int64"), ("float", "int32"), ("int32", "float"), ("int32", "int32")])
def test_powers_of_two_types(base, exponent):
    proto = model(f"g ({base}[4] x, {exponent}[4] e) => ({base}[4] y) {{ y = Pow (x, e) }}", 12)
    dtypes = {"float": "float32", "int32": "int32", "int64": "int64"}
    feeds = {"x": np.array([1, 2, 3, -3], dtypes[base]), "e": np.array([4, 5, 0, 3], dtypes[exponent])}
    assert_same(proto, 11, feeds, rtol=1e-7)


def test_one_floating_type_stays():
    proto = model("g (float[4] x, float[4] e) => (float[4] y) { y = Pow (x, e) }", 12)
    assert assert_same(proto, 7, {"x": np.float32([1, 2, 3, 4]), "e": np.float32([0.5, 2, -1, 3])}).graph.node == proto.graph.node


REWRITES = [
    (
        "max_min.compare_integers",
        12,
        11,
        "g (int64[2] a, int64[2] b) => (int64[2] y) { y = Max (a, b) }",
        "{ is_chosen = Greater (a, b) y = Where (is_chosen, a, b) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
