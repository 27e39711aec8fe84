"""Below opset 9: NonZero, Range and Compress whose count is only known at run time."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run


@pytest.mark.parametrize(
    "text, reason",
    [
        pytest.param("g (float[N] x) => (int64[1,K] y) { y = NonZero (x) }", "is not fully known", id="any number"),
        pytest.param("g (float[2,0] x) => (int64[2,K] y) { y = NonZero (x) }", "NonZero of 0 elements and rank 2", id="nothing"),
        pytest.param("g (float x) => (int64[A,K] y) { y = NonZero (x) }", "NonZero of 1 elements and rank 0", id="a scalar"),
        pytest.param("g (float[4096,2048] x) => (int64[2,K] y) { y = NonZero (x) }", "NonZero of 8388608 elements", id="too many"),
    ],
)
def test_refused(text, reason):
    assert reason in refusal(model(text, 9), 8)


@pytest.mark.parametrize("target", [8, 7])
@pytest.mark.parametrize(
    "x",
    [
        pytest.param(np.array([0, 3, -0.0, np.nan, -np.inf, 1e-45], np.float32), id="vector"),
        pytest.param(np.array([[0, 2**33, 0], [-1, 0, 0]], np.int64), id="int64"),
        pytest.param(np.array([[[True, False], [False, True]]]), id="bool"),
        pytest.param(np.zeros((2, 3), np.int32), id="none"),
        pytest.param(np.ones((2, 3), np.uint8), id="all"),
        pytest.param(np.random.default_rng(1).integers(0, 2, (40, 30)).astype(np.float32), id="many"),
    ],
)
def test_non_zero(x, target):
    dims = ",".join(map(str, x.shape))
    kind = {"float32": "float"}.get(x.dtype.name, x.dtype.name)
    proto = model(f"g ({kind}[{dims}] x) => (int64[{x.ndim},K] y) {{ y = NonZero (x) }}", 9)
    got = run(convert_version(proto, target).model, {"x": x})[0]
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, np.array(np.nonzero(x)))


@pytest.mark.parametrize("kind", ["int16", "int32", "int64"])
@pytest.mark.parametrize("start, limit, delta", [(0, 5, 1), (2, 11, 3), (10, 1, -4), (3, 3, 1), (5, 0, 1), (-7, 7, 7)])
def test_range(kind, start, limit, delta):
    proto = model(f"g ({kind} a, {kind} b, {kind} c) => ({kind}[N] y) {{ y = Range (a, b, c) }}", 11)
    given = {name: np.array(value, kind) for name, value in zip("abc", (start, limit, delta), strict=True)}
    got = run(convert_version(proto, 7).model, given)[0]
    np.testing.assert_array_equal(got, np.arange(start, limit, delta, dtype=kind))


@pytest.mark.parametrize("condition", [[True, False, True], [False, False, False], [True, True], [False, True, True]])
@pytest.mark.parametrize("attributes, rows", [("<axis=1>", 2), ("", None)])
def test_compress(condition, attributes, rows):
    proto = model(
        f"g (float[2,3] x, bool[{len(condition)}] c) => (float{'[2,K]' if rows else '[K]'} y) {{ y = Compress {attributes} (x, c) }}",
        9,
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = convert_version(proto, 7).model
    got = run(result, {"x": x, "c": np.array(condition)})[0]
    np.testing.assert_array_equal(got, np.compress(condition, x, axis=1 if rows else None))


def test_a_slice_with_bounds_at_run_time():
    text = "g (float[6,2] x, int64[1] s, int64[1] e) => (float[K,2] y) <int64[1] a = {0}, int64[1] t = {-2}>"
    proto = model(f"{text} {{ y = Slice (x, s, e, a, t) }}", 13)
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    for start, end in ((5, 1), (-1, -7), (2, 4)):
        assert_same(proto, 7, {"x": x, "s": np.array([start]), "e": np.array([end])})


def test_inside_a_branch():
    proto = model(
        """g (bool c, int64 n) => (int64[K] y) <int64 zero = {0}, int64 one = {1}> {
            y = If (c) <then_branch = yes () => (int64[A] t) { t = Range (zero, n, one) },
                        else_branch = no () => (int64[B] e) { e = Range (one, n, one) }> }""",
        13,
    )
    for truth, count in ((True, 4), (False, 3), (True, 0)):
        assert_same(proto, 7, {"c": np.array(truth), "n": np.array(count)})


REWRITES = [
    (
        "non_zero.sort_the_places",
        9,
        8,
        "g (float[3] x) => (int64[1,N] y) { y = NonZero (x) }",
        """
            {
              found = Cast <to = 9> (x)
              found_2 = Cast <to = 1> (found)
              more = Constant <value = float[1] {4}> ()
              first = Mul (found_2, more)
              places = Constant <value = float[3] {0, 1, 2}> ()
              order = Sub (first, places)
              places_2, places_3 = TopK <axis = 0, k = 3> (order)
              total = ReduceSum <axes = [0], keepdims = 0> (found_2)
              count = Cast <to = 7> (total)
              condition_double = Constant <value = double {1}> ()
              condition = Cast <to = 9> (condition_double)
              counted, counted_2 = Loop (count, condition, count) <body = body (int64 number, bool go_on, int64 carried) => (bool goes_on, int64 carry, int64 given) {
                given = Gather <axis = 0> (places_3, number)
                goes_on = Identity (go_on)
                carry = Identity (carried)
              }>
              coordinates_double = Constant <value = double[1,3] {0, 1, 2}> ()
              coordinates = Cast <to = 7> (coordinates_double)
              y = Gather <axis = 1> (coordinates, counted_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


def test_a_stored_scalar_is_not_computed_since_its_place_has_two_meanings() -> None:
    text = "g (float[1] x) => (int64[A,B] y) <int64 c = {5}> { y = NonZero(c) }"
    assert "NonZero of 1 elements and rank 0 is new in opset 9" in refusal(model(text, 13), 8)
