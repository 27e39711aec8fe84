"""Identity of a sequence before opset 14."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run


def test_refuses_sequences_where_there_are_none():
    assert "seq(tensor(float))" in refusal(model("g (seq(float[N]) x) => (seq(float[N]) y) { y = Identity (x) }", 14), 10)


def test_refuses_optionals():
    assert "optional(" in refusal(model("g (optional(float[N]) x) => (optional(float[N]) y) { y = Identity (x) }", 16), 15)


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("int64", np.int64), ("bool", np.bool_), ("string", object)])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_sequence_stays(kind, dtype, count):
    text = f"g (seq({kind}[N]) x, {kind}[N] last) => (seq({kind}[N]) y) {{ z = SequenceInsert (x, last)  y = Identity (z) }}"
    if kind == "string":
        values = [np.array(["a", "b"][:length], dtype) for length in (2, 0, 1)]
    else:
        values = [np.ones(length, dtype) for length in (2, 0, 1)]
    result = convert_version(model(text, 14), 11).model
    got = run(result, {"x": values[:count], "last": values[0]})[0]
    for one, other in zip(got, [*values[:count], values[0]], strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.shape == other.shape


def test_tensors_stay_as_they_are():
    proto = model("g (float[N] x) => (float[N] y) { y = Identity (x) }", 14)
    assert convert_version(proto, 13).model.graph.node[0] == proto.graph.node[0]


REWRITES = [
    (
        "identity.insert_and_erase_element",
        14,
        13,
        "g (seq(float[N]) x) => (seq(float[N]) y) { y = Identity (x) }",
        "<float v1 = {0}, int64 v2 = {0}> { v3 = SequenceInsert (x, v1, v2) y = SequenceErase (v3, v2) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
