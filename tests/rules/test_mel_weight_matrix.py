"""MelWeightMatrix of constants."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal


def mel(columns=8, length=16, rate=8192, lower=0.0, upper=4096.0, inputs="", attributes="", kind="float"):
    """A matrix times x."""
    values = {"n": f"int64 n = {{{columns}}}", "d": f"int64 d = {{{length}}}", "r": f"int64 r = {{{rate}}}"}
    values |= {"l": f"float l = {{{lower}}}", "u": f"float u = {{{upper}}}"}
    known = ", ".join(text for name, text in values.items() if not inputs.startswith(f"int64 {name}"))
    rows = length // 2 + 1
    return model(
        f"g ({inputs}{kind}[T,{rows}] x) => ({kind}[T,{columns}] y) <{known}> "
        f"{{ w = MelWeightMatrix {attributes} (n, d, r, l, u)  y = MatMul (x, w) }}",
        17,
    )


@pytest.mark.parametrize(
    "proto, reason",
    [
        pytest.param(
            mel(inputs="int64 n, "),
            "the older form needs the number of mel bins as a constant, and 'n' is computed at run time",
            id="at run time",
        ),
        pytest.param(mel(length=511, rate=16000, lower=125.0), "falls on the boundary of a bin", id="rounding decides"),
        pytest.param(mel(upper=10000.0), "reach beyond the spectrum", id="too high"),
        pytest.param(mel(lower=5000.0, upper=3000.0, columns=2), "reach beyond the spectrum", id="backward"),
        pytest.param(mel(length=1 << 24), "would have to be written into the model", id="large"),
    ],
)
def test_refused(proto, reason):
    assert reason in refusal(proto, 16)


@pytest.mark.parametrize(
    "columns, length, rate, lower, upper",
    [(8, 16, 8192, 0.0, 4096.0), (80, 512, 16000, 20.0, 7600.0), (40, 1024, 22050, 133.333, 8000.0), (1, 64, 8000, 0.0, 3800.0)],
)
@pytest.mark.parametrize("target", [16, 11, 7])
def test_the_matrix(columns, length, rate, lower, upper, target):
    proto = mel(columns, length, rate, lower, upper)
    identity = np.eye(length // 2 + 1, dtype=np.float32)
    result = assert_same(proto, target, {"x": identity}, rtol=1e-7)
    assert [node.op_type for node in result.graph.node] == ["Constant", "MatMul"]


@pytest.mark.parametrize("kind, number, dtype", [("double", 11, np.float64)])
def test_in_other_types(kind, number, dtype):
    proto = mel(attributes=f"<output_datatype = {number}>", kind=kind)
    assert_same(proto, 13, {"x": np.eye(9, dtype=dtype)}, rtol=1e-15)


REWRITES = [
    (
        "mel_weight_matrix.constant_triangles",
        17,
        16,
        "g (float[1,3] x) => (float[1,2] y) <int64 bins = {2}, int64 length = {4}, int64 rate = {8}, float low = {0}, float high = {4}> { w = MelWeightMatrix (bins, length, rate, low, high) y = MatMul (x, w) }",
        "{ w = Constant <value = float[3,2] {1, 0, 0, 1, -0, -0}> () y = MatMul (x, w) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
