"""Truths as numbers, for lists of operators without bool, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from fitting import assert_fits, for_a_list
from helpers import convert_version, model, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from split_rewrite import rewriter

ARITHMETIC = ["Add", "Cast", "Concat", "Gather", "Mul", "Relu", "Reshape", "Sub", "Transpose"]
NO_BOOL = """[all]
type = { "*" = ["float", "int32"] }"""
FROM_INT = "c = Cast<to = 1>(i) s = Mul(c, c) l = Sub(one, s) z = Relu(l) t = Sub(one, z)"
REWRITES = [
    (
        "truths.cast_of_a_number",
        "g (int32[3] i) => (float[3] y) { b = Cast<to = 9>(i) y = Cast<to = 1>(b) }",
        f"<float one = {{1}}> {{ {FROM_INT.replace('t = Sub', 'y = Sub')} }}",
    ),
    (
        "truths.moved_as_numbers",
        "g (int32[2,3] i) => (float[3,2] y) { b = Cast<to = 9>(i) t = Transpose(b) y = Cast<to = 1>(t) }",
        f"<float one = {{1}}> {{ {FROM_INT} y = Transpose(t) }}",
    ),
    (
        "truths.one_less_the_number",
        "g (int32[3] i) => (float[3] y) { b = Cast<to = 9>(i) n = Not(b) y = Cast<to = 1>(n) }",
        f"<float one = {{1}}> {{ {FROM_INT} y = Sub(one, t) }}",
    ),
    (
        "truths.product_of_truths",
        "g (int32[3] i) => (float[3] y) <bool[3] k = {1,0,1}> { b = Cast<to = 9>(i) n = And(b, k) y = Cast<to = 1>(n) }",
        f"<float one = {{1}}, float[3] k = {{1,0,1}}> {{ {FROM_INT} y = Mul(t, k) }}",
    ),
    (
        "truths.neither_is_false",
        "g (int32[3] i) => (float[3] y) <bool[3] k = {1,0,1}> { b = Cast<to = 9>(i) n = Or(b, k) y = Cast<to = 1>(n) }",
        f"<float one = {{1}}, float[3] k = {{0,1,0}}> {{ {FROM_INT} n = Sub(one, t) p = Mul(n, k) y = Sub(one, p) }}",
    ),
    (
        "truths.square_of_difference",
        "g (int32[3] i) => (float[3] y) <bool[3] k = {1,0,1}> { b = Cast<to = 9>(i) n = Xor(b, k) y = Cast<to = 1>(n) }",
        f"<float one = {{1}}, float[3] k = {{1,0,1}}> {{ {FROM_INT} d = Sub(t, k) y = Mul(d, d) }}",
    ),
    (
        "truths.no_difference",
        "g (int32[3] i, int32[3] j) => (float[3] y) { n = Equal(i, j) y = Cast<to = 1>(n) }",
        "<float one = {1}> { d = Sub(i, j) c = Cast<to = 1>(d) s = Mul(c, c) l = Sub(one, s) y = Relu(l) }",
    ),
    (
        "truths.sign_of_the_difference",
        "g (int32[3] i) => (float[3] y) <int32 k = {7}> { n = Less(i, k) y = Cast<to = 1>(n) }",
        """<float one = {1}, float k = {7}> {
            c = Cast<to = 1>(i) d = Sub(k, c) r = Relu(d) l = Sub(one, r) z = Relu(l) y = Sub(one, z) }""",
    ),
    (
        "truths.sign_of_the_difference",
        "g (int32[3] i) => (float[3] y) <int32 k = {7}> { n = LessOrEqual(i, k) y = Cast<to = 1>(n) }",
        """<float one = {1}, float k = {7}> {
            c = Cast<to = 1>(i) d = Sub(c, k) r = Relu(d) l = Sub(one, r) y = Relu(l) }""",
    ),
    (
        "truths.weighted_sum",
        "g (int32[3] i) => (float[3] y) <float k = {7}, float m = {-2}> { b = Cast<to = 9>(i) y = Where(b, k, m) }",
        f"<float one = {{1}}, float k = {{7}}, float m = {{-2}}> {{ {FROM_INT} p = Mul(t, k) n = Sub(one, t) q = Mul(n, m) y = Add(p, q) }}",
    ),
    (
        "truths.weighted_sum",
        "g (int32[3] i) => (float[3] y) <float k = {0}, float m = {-2}> { b = Cast<to = 9>(i) y = Where(b, k, m) }",
        f"<float one = {{1}}, float m = {{2}}> {{ {FROM_INT} n = Sub(t, one) y = Mul(n, m) }}",
    ),
    (
        "truths.weighted_sum",
        "g (int32[1] i) => (float[3] y) <float k = {5}, float[3] m = {0,0,0}> { b = Cast<to = 9>(i) y = Where(b, k, m) }",
        f"<float one = {{1}}, float[3] k = {{5,5,5}}> {{ {FROM_INT} y = Mul(t, k) }}",
    ),
]


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        ("Cast", "g (float[3] i) => (float[3] y) { b = Cast<to = 9>(i) y = Cast<to = 1>(b) }"),
        (
            "Cast",
            """g (int32[3] i) => (float[3] y) <float n = {-1}> {
                v = Cast<to = 1>(i) m = Mul(v, n) b = Cast<to = 9>(m) y = Cast<to = 1>(b) }""",
        ),
        ("Equal", "g (float[3] i, float[3] j) => (float[3] y) { b = Equal(i, j) y = Cast<to = 1>(b) }"),
        ("Less", "g (int32[3] i, int32[3] j) => (float[3] y) { b = Less(i, j) y = Cast<to = 1>(b) }"),
        ("Less", "g (int32[3] i) => (float[3] y) <int32 j = {8388609}> { b = Less(i, j) y = Cast<to = 1>(b) }"),
        ("Where", "g (int32[3] i, float[3] x) => (float[3] y) <float z = {0}> { b = Cast<to = 9>(i) y = Where(b, x, z) }"),
        ("Where", "g (int32[3] i) => (float[3] y) <float z = {0}, float n = {-inf}> { b = Cast<to = 9>(i) y = Where(b, z, n) }"),
        ("Where", "g (int32[3] i) => (float[3] y) <float z = {-0.0}, float n = {1}> { b = Cast<to = 9>(i) y = Where(b, z, n) }"),
    ],
)
def test_what_may_be_other_than_0_and_1_is_refused(operator: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(
        rewriter.UnconvertibleError, match=rf"{operator} '\w' \(main graph\): (its rewrite needs )?.*NPU 1 does not"
    ):
        convert_version(model(text, 16), options=for_a_list(tmp_path, ARITHMETIC, NO_BOOL))


def test_outputs_stay_bool(tmp_path: Path) -> None:
    text = "g (int32[3] i) => (bool[3] y) { b = Cast<to = 9>(i) y = Not(b) }"
    with pytest.raises(
        rewriter.UnconvertibleError, match=r"Not 'y' \(main graph\): its rewrite needs Cast: NPU 1 does not allow it"
    ):
        convert_version(model(text, 16), options=for_a_list(tmp_path, ARITHMETIC, NO_BOOL))


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES)
def test_rewrites(rule: str, before: str, after: str, tmp_path: Path) -> None:
    assert_fits((rule, ARITHMETIC, NO_BOOL, before, after), tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "b = Cast<to = 9>(i) y = Where(b, z, n)",
        "b = Cast<to = 9>(i) t = Not(b) y = Where(t, z, n)",
        "m = Max(i) b = Cast<to = 9>(m) y = Cast<to = 1>(b)",
    ],
)
def test_zeros_have_no_sign(body: str, tmp_path: Path) -> None:
    text = f"g (int32[3] i) => (float[3] y) <float z = {{0}}, float[3] n = {{0,-1,-1}}> {{ {body} }}"
    feeds = {"i": np.array([1, 1, 0], np.int32)}
    result = convert_version(model(text, 16), options=for_a_list(tmp_path, [*ARITHMETIC, "Max"], NO_BOOL)).model
    (wanted,), (found,) = run(model(text, 16), feeds), run(result, feeds)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


LIMITS = [0, 1, -1, 2, 7, 46341, 65536, 2**24 + 1, 2**31 - 1, -(2**31), -(2**31) + 1]
"""Whole numbers whose squares, differences and floats are close to the limits of their types."""


@pytest.mark.parametrize("operator", ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
@pytest.mark.parametrize("number", [0, -1, 8388608, -8388608])
def test_all_integers_are_compared(operator: str, number: int, tmp_path: Path) -> None:
    text = f"g (int32[11] i) => (float[11] y) <int32 k = {{{number}}}> {{ b = {operator}(i, k) y = Cast<to = 1>(b) }}"
    feeds = {"i": np.array([*LIMITS[:-3], number, number - 1, number + 1], np.int32)}
    result = convert_version(model(text, 16), options=for_a_list(tmp_path, ARITHMETIC, NO_BOOL)).model
    for given_ in (feeds, {"i": np.array(LIMITS, np.int32)}):
        np.testing.assert_array_equal(run(result, given_)[0], run(model(text, 16), given_)[0])


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", "int8"])
def test_all_integers_are_true_but_0(kind: str, tmp_path: Path) -> None:
    text = f"g ({kind}[5] i) => (float[5] y) {{ b = Cast<to = 9>(i) y = Cast<to = 1>(b) }}"
    rules = f'[all]\ntype = {{ "*" = ["float", "{kind}"] }}'
    limits = np.iinfo(kind)
    feeds = {"i": np.array([0, 1, limits.min, limits.max, limits.max // 2 + 1], kind)}
    result = convert_version(model(text, 16), options=for_a_list(tmp_path, ARITHMETIC, rules)).model
    assert "Relu" in [node.op_type for node in result.graph.node]
    np.testing.assert_array_equal(run(result, feeds)[0], (feeds["i"] != 0).astype(np.float32))


TRUTHS = ["c0 = Cast<to = 9>(i)", "c1 = Equal(i, j)", "c2 = Less(i, k)", "c3 = GreaterOrEqual(j, k)"]
STEPS = ["And({0}, {1})", "Or({0}, {1})", "Xor({0}, {1})", "Equal({0}, {1})", "Not({0})", "Reshape({0}, s)", "And({0}, m)"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_logic_of_numbers(data: st.DataObject, tmp_path: Path) -> None:
    """Whatever And, Or, Xor, Not, Equal and Reshape make of comparisons, it is the same without bool."""
    lines, names = [*TRUTHS], ["c0", "c1", "c2", "c3"]
    for number in range(data.draw(st.integers(1, 6))):
        lines.append(f"t{number} = {data.draw(st.sampled_from(STEPS)).format(names[-1], data.draw(st.sampled_from(names)))}")
        names.append(f"t{number}")
    lines += ["a = And(c0, c1)", "o = Or(a, c2)", "x = Xor(o, c3)", f"last = Xor(x, {names[-1]})"]
    text = f"""g (int32[4] i, int32[4] j) => (float[4] y)
        <int32 k = {{3}}, bool[4] m = {{1,0,1,1}}, int64[1] s = {{4}}, float p = {{-3}}, float q = {{2.5}}> {{
        {" ".join(lines)} y = Where(last, p, q) }}"""
    result = convert_version(model(text, 16), options=for_a_list(tmp_path, ARITHMETIC, NO_BOOL)).model
    inferred = onnx.shape_inference.infer_shapes(result, strict_mode=True)
    assert all(value.type.tensor_type.elem_type != onnx.TensorProto.BOOL for value in inferred.graph.value_info)
    numbers = st.lists(st.sampled_from([*LIMITS, 3, 4]), min_size=4, max_size=4)
    feeds = {name: np.array(data.draw(numbers), np.int32) for name in ("i", "j")}
    np.testing.assert_array_equal(run(result, feeds)[0], run(model(text, 16), feeds)[0])
