"""Nodes that runtimes take although their opset does not have them. What they mean is in the tests of the rules."""

from __future__ import annotations

from helpers import convert_version, model, refusal

from split_rewrite.rewriter import Options, UnconvertibleError, check_convertible

EARLY = "LayerNormalization (x, s)"
INNER = """g (float[2,4] x, float[4] s, bool c) => (float[2,4] y) {
    y = If (c) <then_branch = a () => (float[2,4] p) { p = LayerNormalization (x, s) },
                else_branch = b () => (float[2,4] q) { q = Relu (x) }> }"""


def test_an_operator_of_an_opset_that_has_it_stays():
    result = convert_version(model(f"g (float[2,4] x, float[4] s) => (float[2,4] y) {{ y = {EARLY} }}", 17), 18)
    assert result.report.warnings == []


def test_only_the_operators_that_runtimes_take():
    """Another operator without a schema is invalid, as onnx.checker says."""
    text = "g (float[4] x) => (float[4] y) { y = Gelu (x) }"
    try:
        convert_version(model(text, 13), 13)
    except Exception as error:
        assert "Gelu 'y': opset 13 does not have this operator" in str(error)


def test_nodes_are_found_in_subgraphs_and_named_once():
    text = INNER.replace("q = Relu (x)", "q = LayerNormalization (x, s)")
    result, report = convert_version(model(text, 11), 17, compare="required")
    assert report.warnings == [
        "LayerNormalization 'p' (model): opset 11 of ONNX does not have LayerNormalization: it is taken as runtimes take it, and so is every other (1)"
    ]
    assert [entry.domain for entry in result.opset_import] == [""]


def test_in_a_function_by_its_own_opset():
    text = """g (float[2,4] x, float[4] s) => (float[2,4] y) { y = local.f (x, s) }
        <domain: "local", opset_import: ["" : 11]> f (a, s) => (b) { b = LayerNormalization (a, s) }"""
    proto = model(text, 17)
    proto.opset_import.add(domain="local", version=1)
    report = convert_version(proto, 17, compare="off").report
    assert "opset 17 of ONNX does not have" not in str(report.warnings)
    assert len(report.warnings) == 1


def test_the_types_behind_it_are_known():
    text = """g (float[N,4] x, float[4] s) => (float[A,B] y) {
        t = LayerNormalization (x, s) m = ReduceMax <axes = [-1], keepdims = 1> (t) y = Sub (t, m) }"""
    convert_version(model(text, 11), 9, compare="required")


def test_a_dry_run_says_the_same():
    proto = model("g (float[2,4] x, float[4] s) => (float[2,4] y) { y = LayerNormalization <mode = 1> (x, s) }", 11)
    (blocker,) = check_convertible(proto, 17).blockers
    assert str(blocker) == refusal(proto, 17)


def test_strict_refuses_it():
    proto = model(INNER, 11)
    try:
        convert_version(proto, 17, options=Options(strict=True))
    except UnconvertibleError as error:
        assert "opset 11 of ONNX does not have LayerNormalization" in str(error)
    else:
        raise AssertionError
