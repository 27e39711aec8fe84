"""A dry run lists what a conversion would refuse, and how far the model can go; both by conversions of the same models."""

from __future__ import annotations

import helpers
import onnx
import pytest
from helpers import convert_version

from split_rewrite.rewriter import Options, UnconvertibleError, check_convertible

pytestmark = pytest.mark.quick

MODELS = {
    "runs-everywhere": ("g (float[4] x) => (float[P] a, float[Q] b) {a, b = Split<num_outputs = 2>(x)}", 18),
    "sizes-at-run-time": ("g (float[4] x, int64[2] s) => (float[P] a, float[Q] b) {a, b = Split(x, s)}", 13),
    "bfloat16": ("g (bfloat16[4] x) => (bfloat16[P] a, bfloat16[Q] b) {a, b = Split(x)}", 13),
    "strings": ("g (string[4] x) => (string[P] a) {a = StringConcat(x, x)}", 20),
    "subgraph": (
        "g (bool c, float[4] x, int64[2] s) => (float[P] y) {y = If (c) <"
        "then_branch = t () => (float[Q] p) {p, q = Split(x, s)}, else_branch = e () => (float[R] r) {r = Identity(x)}>}",
        13,
    ),
    "function": (
        """<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[N] x) => (float[P] a) {a = local.f(x)}
        <domain: "local", opset_import: ["" : 18]> f (v) => (p) {p, q = Split<num_outputs = 2>(v)}""",
        18,
    ),
    "function-that-reaches-further-than-what-is-on-its-way": (
        """<ir_version: 8, opset_import: ["" : 4, "local" : 1]> g (float[1] x, float[1] n, float[1] a) => (float[P, R] y, float[Q] z) {
        y = local.f(x)\n z = Tile(x, n, a)}
        <domain: "local", opset_import: ["" : 4]> f (v) => (p) {p = Reshape<shape = [1, 1]>(v)}""",
        4,
    ),
}


def blockers_of(model: onnx.ModelProto, target: int) -> list[str]:
    try:
        convert_version(model, target)
    except UnconvertibleError as error:
        return list(map(str, error.blockers))
    return []


@pytest.mark.parametrize(("text", "opset"), MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("target", [7, 9, 12, 17, 21])
def test_blockers_equal_what_the_conversion_refuses(text: str, opset: int, target: int) -> None:
    model = helpers.model(text, opset)
    assert list(map(str, check_convertible(model, target).blockers)) == blockers_of(model, target)


@pytest.mark.parametrize(("text", "opset"), MODELS.values(), ids=MODELS)
def test_reach_is_as_far_as_conversions_go(text: str, opset: int) -> None:
    model = helpers.model(text, opset)
    reach = check_convertible(model, opset).reach
    assert reach is not None
    assert reach.lowest <= opset <= reach.highest
    for inside in {reach.lowest, reach.highest}:
        assert not blockers_of(model, inside)
    if reach.lowest > 1:
        assert set(map(str, reach.below)) <= set(blockers_of(model, reach.lowest - 1))
        assert reach.below
    if reach.highest < onnx.defs.onnx_opset_version():
        assert set(map(str, reach.above)) <= set(blockers_of(model, reach.highest + 1))
        assert reach.above


def test_the_model_is_not_changed() -> None:
    model = helpers.model(*MODELS["subgraph"])
    before = model.SerializeToString()
    check_convertible(model, 11)
    assert model.SerializeToString() == before


def test_strict_makes_blockers_of_cautions() -> None:
    model = helpers.model("g (float[N] x, int64[2] s) => (float[P, Q] y) {y = Reshape<allowzero = 1>(x, s)}", 14)
    assert not check_convertible(model, 13).blockers
    (blocker,) = check_convertible(model, 13, options=Options(strict=True)).blockers
    assert "without --strict this is a warning" in blocker.hint
