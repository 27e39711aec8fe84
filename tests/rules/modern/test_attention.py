"""Attention in pieces: what is written, and what stays because it is something else."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, model, run
from onnx import ModelProto

from split_rewrite.rewriter import Options, convert_version
from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 23, reason="the installed onnx has no Attention")

MODERN = Options(modernize=True)
INPUTS = (
    "g (float[B,2,S,4] q, float[B,2,T,4] k, float[B,2,T,6] v{}) => (float[B,2,S,6] y) <float c = {{0.25}}, float r = {{2}}> {{ "
)
TURN = "kt = Transpose <perm = [0, 1, 3, 2]> (k) "
PLAIN = INPUTS.format("") + TURN + "s = MatMul (q, kt) p = Softmax <axis = -1> (s) y = MatMul (p, v) }"
SCALED = INPUTS.format("") + TURN + "s = MatMul (q, kt) d = Div (s, r) p = Softmax <axis = 3> (d) y = MatMul (p, v) }"
SPREAD = PLAIN.replace("[B,2,T,4] k", "[B,T,2,4] k").replace("[0, 1, 3, 2]", "[0, 2, 3, 1]")
FIXED = (
    INPUTS.replace("[B,2,S,", "[B,2,2,")
    .replace("[B,2,T,", "[B,2,3,")
    .replace("float r = {{2}}>", "float r = {{2}}, float[2,3] m = {{0, -1, 0, 2, 0, -5000}}>")
)
MASKED = (
    FIXED.format("")
    + TURN
    + "a = Mul (q, c) b = Mul (kt, c) s = MatMul (a, b) t = Add (m, s) p = Softmax <axis = -1> (t) y = MatMul (p, v) }"
)
REWRITES = [
    ("attention.attention", PLAIN, "{ y = Attention <scale = 1.0> (q, k, v) }"),
    ("attention.attention", SCALED, "{ y = Attention <scale = 0.5> (q, k, v) }"),
    ("attention.attention", SPREAD, "{ t = Transpose <perm = [0, 2, 1, 3]> (k) y = Attention <scale = 1.0> (q, t, v) }"),
    (
        "attention.attention",
        MASKED,
        "<float[2,3] m = {0, -1, 0, 2, 0, -5000}> { y = Attention <scale = 0.0625> (q, k, v, m) }",
    ),
]
RNG = np.random.default_rng(3)
SHAPES = {"q": (2, 2, 2, 4), "k": (2, 2, 3, 4), "v": (2, 2, 3, 6)}
FEEDS = {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=["plain", "scaled", "positions before heads", "masked"])
def test_rewrites(rule: str, before: str, after: str) -> None:
    result = assert_rewrites(before, after, rule, 13, 23, MODERN)
    feeds = {value.name: FEEDS[value.name] for value in result.graph.input}
    feeds["k"] = feeds["k"].swapaxes(1, 2) if before == SPREAD else feeds["k"]
    np.testing.assert_allclose(run(result, feeds)[0], run(model(before, 13), feeds)[0], rtol=1e-5, atol=1e-6)


OTHERS = {
    "nobody asked": (PLAIN, 23, Options()),
    "the target lacks it": (PLAIN, 22, MODERN),
    "another axis": (PLAIN.replace("axis = -1", "axis = 2"), 23, MODERN),
    "keys that are not turned": (
        PLAIN.replace("[0, 1, 3, 2]", "[0, 1, 2, 3]").replace("float[B,2,T,4] k", "float[B,2,4,T] k"),
        23,
        MODERN,
    ),
    "heads that repeat": (PLAIN.replace("float[B,2,T,4] k", "float[B,1,T,4] k"), 23, MODERN),
    "three axes": (PLAIN.replace("[B,2,", "[B,").replace("[0, 1, 3, 2]", "[0, 2, 1]").replace("axis = -1", "axis = 2"), 23, MODERN),
    "a scale that float cannot hold": (
        SCALED.replace("r = {2}", "r = {1e38}")
        .replace("MatMul (q, kt)", "MatMul (q, kt) s2 = Div (s, r)")
        .replace("Div (s, r) p", "Div (s2, r) p"),
        23,
        MODERN,
    ),
    "a scale that is no number": (SCALED.replace("r = {2}", "r = {nan}"), 23, MODERN),
    "heads without elements": (PLAIN.replace("T,6] v", "T,0] v").replace("S,6] y", "S,0] y"), 23, MODERN),
    "a negative scale": (SCALED.replace("r = {2}", "r = {-2}"), 23, MODERN),
    "a mask for all positions at once": (
        MASKED.replace("float[2,3] m = {0, -1, 0, 2, 0, -5000}", "float[2,1] m = {0, -1}"),
        23,
        MODERN,
    ),
    "a mask at run time": (
        MASKED.replace(", float[2,3] m = {0, -1, 0, 2, 0, -5000}", "").replace("3,6] v)", "3,6] v, float[2,3] m)"),
        23,
        MODERN,
    ),
    "a row that is masked as a whole": (MASKED.replace("{0, -1, 0, 2, 0, -5000}", "{0, -1, 0, -5000, -5000, -5000}"), 23, MODERN),
    "the scores are read": (PLAIN.replace("=> (float[B,2,S,6] y)", "=> (float[B,2,S,6] y, float[B,2,S,T] s)"), 23, MODERN),
    "doubles": (PLAIN.replace("float", "double"), 23, MODERN),
}


@pytest.mark.parametrize(("text", "target", "options"), OTHERS.values(), ids=OTHERS)
def test_what_is_something_else_stays(text: str, target: int, options: Options) -> None:
    assert "Attention" not in operators(convert_version(model(text, 13), target, options=options).model)


def test_what_this_program_wrote_for_an_older_opset_comes_back() -> None:
    text = (
        "g (float[B,2,S,4] q, float[B,2,T,4] k, float[B,2,T,6] v) => (float[B,2,S,6] y) { y = Attention <scale = 0.3> (q, k, v) }"
    )
    down = convert_version(model(text, 23), 13).model
    back = convert_version(down, 23, options=MODERN).model
    assert operators(back) == "Attention"
    feeds = {name: FEEDS[name] for name in "qkv"}
    np.testing.assert_allclose(run(back, feeds)[0], run(down, feeds)[0], rtol=1e-5, atol=1e-6)


def operators(proto: ModelProto) -> str:
    return " ".join(node.op_type for node in proto.graph.node)
