"""Unique below opset 11, by numpy's; strings compared below opset 19, by Python."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, known, model, refusal, run

DTYPES = {"float": "float32", "double": "float64", "float16": "float16", "int64": "int64", "int8": "int8", "uint32": "uint32"}


def unique(shape, kind="float", **attributes) -> str:
    given = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    axis = attributes.get("axis")
    sizes = ["M"] if axis is None else [*map(str, shape)]
    if axis is not None:
        sizes[axis] = "M"
    result = f"{kind}[{','.join(sizes)}] y, int64[M] first, int64[S] numbers, int64[M] counts"
    return f"g ({kind}[{','.join(map(str, shape))}] x) => ({result}) {{ y, first, numbers, counts = Unique{f'<{given}>' if given else ''} (x) }}"


@pytest.mark.parametrize(
    "text, reason",
    [
        pytest.param(unique((3,), "string"), "older operators cannot sort string", id="strings"),
        pytest.param(unique(("N",)), "the shape (N) of 'x' is not fully known", id="how many are sorted"),
        pytest.param(unique((2, 0)), "Unique of 0 elements is new in opset 11", id="nothing to sort"),
        pytest.param(unique((9, 65), axis=0), "Unique of slices of 65 elements would take 325 nodes", id="long slices"),
    ],
)
def test_refused(text, reason):
    assert reason in refusal(model(text, 11), 10)


def expectation(x, ordered, axis):
    values, first, numbers, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    numbers = numbers.reshape(-1)
    if not ordered:
        order = np.argsort(first)
        values, first, counts = np.take(values, order, axis or 0), first[order], counts[order]
        numbers = np.argsort(order)[numbers]
    return values, first, numbers, counts


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize("target", [10, 9, 7])
@pytest.mark.parametrize("shape, axis", [((9,), None), ((1,), None), ((3, 4), None), ((30, 2), 0), ((2, 7, 3), -2), ((1, 2), 0)])
def test_values_places_and_counts(shape, axis, target, ordered, kind):
    x = np.random.default_rng(1).integers(0, 4, shape).astype(DTYPES[kind])
    if kind == "int64":
        x += 2**60
    attributes = {} if axis is None else {"axis": axis}
    result = convert_version(model(unique(shape, kind, sorted=ordered, **attributes), 11), target).model
    for got, expected in zip(run(result, {"x": x}), expectation(x, ordered, axis), strict=True):
        np.testing.assert_array_equal(got, expected)
        assert got.shape == expected.shape


def test_zeros_are_equal_and_the_first_of_them_stays():
    result = convert_version(model(unique((4,)), 11), 9).model
    values, *rest = run(result, {"x": np.float32([1, -0.0, 0.0, 1])})
    assert [*np.signbit(values)] == [True, False]
    assert [list(part) for part in rest] == [[1, 0], [1, 0, 0, 1], [2, 2]]


strings = pytest.mark.skipif(not known(19), reason="onnx has no opset 19")


def equal(a, b, result) -> str:
    return f"g (string[{a}] a, string[{b}] b) => (bool[{result}] y) {{ y = Equal (a, b) }}"


@strings
def test_strings_below_11():
    assert "its rewrite needs Unique: older operators cannot sort string" in refusal(model(equal("N", "N", "N"), 19), 10)


@strings
@pytest.mark.parametrize("target", [18, 13, 11])
@pytest.mark.parametrize(
    "declared, shapes",
    [
        (("N", "M", "K"), ((5,), (1,))),
        (("N", "M", "K"), ((0,), (0,))),
        (("2,3", "3", "2,3"), ((2, 3), (3,))),
        (("", "N", "N"), ((), (4,))),
        (("N,3", "1,3", "N,3"), ((0, 3), (1, 3))),
        (("3,N", "3,1", "3,N"), ((3, 0), (3, 1))),
        (("N,M", "M", "N,M"), ((4, 2), (2,))),
    ],
)
def test_strings(declared, shapes, target):
    proto = model(equal(*declared), 19)
    for value, shape in zip(proto.graph.input, shapes, strict=True):
        if not shape:
            value.type.tensor_type.shape.ClearField("dim")
    rng, words = np.random.default_rng(2), np.array(["a", "b", "ä", "", "A", "a "], object)
    a, b = (np.array(rng.choice(words, shape), object) for shape in shapes)
    got = run(convert_version(proto, target).model, {"a": a, "b": b})[0]
    np.testing.assert_array_equal(got, np.asarray(a == b, bool), strict=True)


@pytest.mark.parametrize("is_sorted", [0, 1])
def test_what_is_no_number_is_one_value_behind_all_others(is_sorted):
    """onnxruntime itself loses it; numpy and the reference do not."""
    attributes = f"sorted = {is_sorted}"
    text = f"g (float[7] x) => (float[N] y, int64[N] a, int64[7] b, int64[N] c) {{ y, a, b, c = Unique <{attributes}> (x) }}"
    x = np.array([1, np.nan, 2, np.nan, 1, -np.inf, np.inf], np.float32)
    result = convert_version(model(text, 13), 10).model
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if not is_sorted:
        order = np.argsort(first)
        values, first, counts, inverse = values[order], first[order], counts[order], np.argsort(order)[inverse]
    for expected, got in zip((values, first, inverse, counts), run(result, {"x": x}), strict=True):
        np.testing.assert_array_equal(got, expected)


REWRITES = [
    (
        "unique.sort_and_compare_neighbours",
        11,
        10,
        "g (int64[3] x) => (int64[N] y) { y = Unique (x) }",
        """
            <int64 sorted_base = {4294967296}, int64[1] count = {3}, int64[2] part = {0, 1}, int64[2] part_3 = {1, 2},
             int64[1] first = {1}, int64[1] flat = {-1}>
            {
              sorted_high = Div (x, sorted_base)
              sorted_rounded = Mul (sorted_high, sorted_base)
              sorted_low = Sub (x, sorted_rounded)
              sorted_double = Cast <to = 11> (sorted_high)
              sorted_double_2 = Cast <to = 11> (sorted_low)
              sorted_negated = Neg (sorted_double)
              sorted_negated_2 = Neg (sorted_double_2)
              sorted_by_low, sorted_by_low_2 = TopK <axis = 0> (sorted_negated_2, count)
              sorted_high_2 = Gather <axis = 0> (sorted_negated, sorted_by_low_2)
              sorted_by_high, sorted_by_high_2 = TopK <axis = 0> (sorted_high_2, count)
              sorted = Gather <axis = 0> (sorted_by_low_2, sorted_by_high_2)
              sorted_2 = Gather <axis = 0> (x, sorted)
              part_2 = Gather <axis = 0> (sorted_2, part)
              part_4 = Gather <axis = 0> (sorted_2, part_3)
              equal = Equal (part_2, part_4)
              differs = Not (equal)
              differs_2 = Cast <to = 7> (differs)
              is_start = Concat <axis = 0> (first, differs_2)
              nonzero = NonZero (is_start)
              starts = Reshape (nonzero, flat)
              firsts = Gather <axis = 0> (sorted, starts)
              y = Gather <axis = 0> (x, firsts)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
