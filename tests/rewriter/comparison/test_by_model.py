"""Comparison of two model files: what is judged equal, what different, and what is not judged at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from helpers import convert_version, model
from hostile_models import deadly_model

from split_rewrite.rewriter import convert_version as compared_conversion
from split_rewrite.rewriter.comparison import by_model
from split_rewrite.rewriter.comparison.by_model import Samples, compare
from split_rewrite.rewriter.comparison.inputs import original_runs
from split_rewrite.rewriter.comparison.judging.outputs import compare_outputs
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance
from split_rewrite.rewriter.comparison.runs import Pair, Run
from split_rewrite.rewriter.comparison.verdicts import Comparison
from split_rewrite.rewriter.errors import SplitRewriteError
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.messages import Failure, Outputs
from split_rewrite.rewriter.execution.model_client import Session, Worker
from split_rewrite.rewriter.opsets.transitions import newest_opset

pytest.importorskip("onnxruntime")

MODELS = Path(__file__).resolve().parents[3] / "models"
ONNX_HAS_ML_DTYPES = tuple(map(int, onnx.__version__.split(".")[:2])) >= (1, 19)

Save = Callable[..., Path]
RELU = "g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"
UNEVEN = "g (float[n] x) => (float[a] a, float[b] b) { a, b = Split<num_outputs = 2>(x) }"
EVEN_13 = "g (float[n] x) => (float[a] a, float[b] b) { a, b = Split(x) }"


def status(found: Comparison) -> tuple[str, str]:
    return found.status, found.runtime.partition(" ")[0]


# --- dimensions of 1, and vectors without elements ---------------------------------------------------------------------------------------------

FORGOTTEN = {
    "empty axes": (
        "g (float[n,m] x, int64[k] a) => (float[p,q] y) { y = ReduceSum<noop_with_empty_axes=1>(x, a) }",
        "g (float[n,m] x, int64[k] a) => (float[p,q] y) { y = ReduceSum(x, a) }",
    ),
    "a broadcast of one": (
        'g (float[n,m] x, float[p,q] w) => (float[a,b] y) { y = Einsum<equation="ij,jk->ik">(x, w) }',
        "g (float[n,m] x, float[p,q] w) => (float[a,b] y) { y = MatMul(x, w) }",
    ),
    "a broadcast of one, in a sum": (
        'g (float[n,m] x, float[p,q] w) => (float[a,b] y) { y = Einsum<equation="ij,kj->ik">(x, w) }',
        "g (float[n,m] x, float[p,q] w) => (float[a,b] y) { t = Transpose(w) y = MatMul(x, t) }",
    ),
}


@pytest.mark.parametrize("pair", FORGOTTEN.values(), ids=FORGOTTEN)
def test_what_fails_on_dimensions_of_1_or_empty_vectors_alone_is_different(
    pair: tuple[str, str], save: Save, worker: Worker
) -> None:
    original, result = map(save, pair)
    for runtime in ("auto", "both"):
        found = compare(original, result, worker=worker, thorough=True, runtime=runtime)
        assert found.status == "different"
        assert "on inputs of shapes" in found.reason
    assert compare(original, result, worker=worker, thorough=True, edges=False, optimizer=False).status == "equal"
    assert compare(original, original, worker=worker, thorough=True).status == "equal"


UNDEFINED = {
    "the original refuses it": (
        "g (float[n] x, float[m] z) => (float[p] y) { r = ReduceMax(x) t = Mul(r, z) y = Relu(t) }",
        "g (float[n] x, float[m] z) => (float[p] y) { r = ReduceMax(x) t = Mul(r, z) o = Constant<value_float=0.0>() y = Max(t, o) }",
    ),
    "NaN in both": (
        "g (float[n] x) => (float[p] y) { y = ReduceMean(x) }",
        """g (float[n] x) => (float[p] y) { s = ReduceSum(x) k = Shape(x) c = Cast<to=1>(k) y = Div(s, c) }""",
    ),
    "against the declared symbols": (
        "g (float[n] x, float[m] z) => (float[n] y) { y = Add(x, z) }",
        "g (float[n] x, float[m] z) => (float[n] y) { k = Shape(x) e = Expand(z, k) y = Add(x, e) }",
    ),
}


@pytest.mark.parametrize("pair", UNDEFINED.values(), ids=UNDEFINED)
def test_dimensions_of_0_or_1_make_no_difference_where_nothing_is_defined(
    pair: tuple[str, str], save: Save, worker: Worker
) -> None:
    found = compare(*map(save, pair), worker=worker, thorough=True, tolerance=Tolerance(inexact=True))
    assert found.status == "equal", found.reason


def test_a_difference_on_dimensions_of_0_that_only_one_runtime_finds_is_none(
    save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, result = map(save, FORGOTTEN["a broadcast of one"])
    run_again = Pair.run_again

    def of_the_original(pair: Pair, engine: str, runs: list[Run], model: Path | None = None) -> list[Outputs | Failure]:
        return run_again(pair, engine, runs, original if engine == "onnx.reference" else model)

    monkeypatch.setattr(Pair, "run_again", of_the_original)
    assert compare(original, result, worker=worker, thorough=True).status == "equal"


def test_sizes_that_a_rule_warns_of_are_not_tried() -> None:
    text = 'g (float[n,m] x, float[p,q] w) => (float[a,b] y) { y = Einsum<equation="ij,jk->ik">(x, w) }'
    report = convert_version(model(text, 12), 11, compare="auto").report
    assert report.comparison is not None and report.comparison.status == "equal"
    (warning,) = report.warnings
    assert "opset 12 broadcasts one that is 1" in warning


# --- what only another runtime runs -----------------------------------------------------------------------------------

MAXIMUM = "g (int32[n] x, int32[n] w) => (int32[n] y) { y = Max(x, w) }"
IN_DOUBLE = "g (int32[n] x, int32[n] w) => (int32[n] y) { a = Cast<to=11>(x) b = Cast<to=11>(w) m = Max(a, b) y = Cast<to=6>(m) }"


def test_a_result_that_the_preferred_runtime_lacks_kernels_for_is_said_to_be_refused(save: Save, worker: Worker) -> None:
    """onnxruntime has Max of opset 7 for float alone."""
    original, result = save(MAXIMUM, 13), save(IN_DOUBLE, 7)
    found = compare(original, result, worker=worker)
    assert (status(found), found.refused) == (("equal", "onnx.reference"), True)
    assert found.reason.startswith("onnxruntime runs the original but not the result: Could not find an implementation for Max(6)")
    wrong = compare(original, save(IN_DOUBLE.replace("Max", "Min"), 7), worker=worker)
    assert (wrong.status, wrong.refused) == ("different", False)


def test_nothing_is_refused_where_both_models_run_or_neither_does(save: Save, worker: Worker) -> None:
    both = compare(save(MAXIMUM, 13), save(MAXIMUM, 12), worker=worker)
    neither = compare(save(IN_DOUBLE, 7), save(IN_DOUBLE, 6), worker=worker)
    asked = compare(save(MAXIMUM, 13), save(IN_DOUBLE, 7), worker=worker, runtime="reference")
    assert [(found.status, found.refused) for found in (both, neither, asked)] == [("equal", False)] * 3


SELDOM_GIVEN = {
    "a size that follows from others": (
        "g (float[6] x, int64[2] s) => (float[p,q] y) { y = Reshape(x, s) }",
        "g (float[6] x, int64[2] s) => (float[p,q] y) { t = Abs(s) y = Reshape(x, t) }",
    ),
    "a condition other than the default": (
        "g (float[3] x, bool c) => (float[3] y) <bool c = {1}> "
        "{ y = If(c)<then_branch = t () => (float[3] a) { a = Relu(x) }, else_branch = e () => (float[3] b) { b = Neg(x) }> }",
        "g (float[3] x, bool c) => (float[3] y) <bool c = {1}> { y = Relu(x) }",
    ),
    "a factor other than the default": (
        "g (float[3] x, float[3] w) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Mul(x, w) }",
        "g (float[3] x, float[3] w) => (float[3] y) <float[3] w = {1, 2, 3}, float[3] k = {1, 2, 3}> { y = Mul(x, k) }",
    ),
    "an end other than the default": (
        "g (float[9] x, int64[1] b, int64[1] e) => (float[n] y) <int64[1] e = {4}> { y = Slice(x, b, e) }",
        "g (float[9] x, int64[1] b, int64[1] e) => (float[n] y) <int64[1] e = {4}, int64[1] k = {4}> { y = Slice(x, b, k) }",
    ),
}


@pytest.mark.parametrize("pair", SELDOM_GIVEN.values(), ids=SELDOM_GIVEN)
def test_what_differs_on_inputs_that_are_seldom_given_is_different(pair: tuple[str, str], save: Save, worker: Worker) -> None:
    original, result = map(save, pair)
    assert compare(original, result, worker=worker, thorough=True).status == "different"
    assert compare(original, original, worker=worker, thorough=True).status == "equal"


def test_defaults_before_ir_4_cannot_be_overridden(tmp_path: Path, worker: Worker) -> None:
    paths = [tmp_path / name for name in ("a.onnx", "b.onnx")]
    for path, text in zip(paths, SELDOM_GIVEN["a factor other than the default"], strict=True):
        onnx.save(onnx.parser.parse_model('<ir_version: 3, opset_import: ["" : 9]> ' + text), path)
    found = compare(*paths, worker=worker, thorough=True)
    assert found.status == "equal"


# --- what is different ------------------------------------------------------------------------------------------------

DIFFERENT = {
    "another operator": (RELU, "g (float[n,4] x) => (float[n,4] y) { y = Abs(x) }", "output 'y' differs: "),
    "one ulp": (
        "g (float[n] x) => (float[n] y) { one = Constant<value = float {1.0}>()\n y = Mul(x, one) }",
        "g (float[n] x) => (float[n] y) { one = Constant<value = float {1.00000011920929}>()\n y = Mul(x, one) }",
        "output 'y' differs: ",
    ),
    "dtype of an output": (
        "g (float[n] x) => (float[n] y) { y = Identity(x) }",
        "g (float[n] x) => (double[n] y) { y = Cast<to = 11>(x) }",
        "output 'y' differs: float64 instead of float32",
    ),
    "shape of an output": (
        "g (float[2,3] x) => (float y) { y = Identity(x) }",
        "g (float[2,3] x) => (float y) { y = Transpose(x) }",
        "output 'y' differs: shape [3, 2] instead of shape [2, 3]",
    ),
    "NaN on one side": (
        "g (float[4] x) => (float[4] y) { a = Abs(x)\n y = Neg(a) }",
        "g (float[4] x) => (float[4] y) { a = Abs(x)\n b = Neg(a)\n y = Log(b) }",
        "output 'y' differs: nan instead of -",
    ),
    "a sequence is shorter": (
        "g (float[4] x) => (seq(float) y) { y = SplitToSequence(x) }",
        "g (float[4] x) => (seq(float) y) { y = SequenceConstruct(x) }",
        "1 elements instead of 4 elements",
    ),
    "an element of a sequence": (
        "g (float[4] x) => (seq(float) y) { y = SequenceConstruct(x, x) }",
        "g (float[4] x) => (seq(float) y) { z = Neg(x)\n y = SequenceConstruct(x, z) }",
        " at [1][0] (4 of 4 elements differ)",
    ),
    "a map inside a sequence": (
        "g (float[1,2] x) => (seq(map(int64,float)) y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [5, 6]>(x) }",
        "g (float[1,2] x) => (seq(map(int64,float)) y) { z = Neg(x)\ny = ai.onnx.ml.ZipMap<classlabels_int64s = [5, 6]>(z) }",
        " at [0][5]",
    ),
    "keys of a map": (
        "g (float[1,2] x) => (seq(map(int64,float)) y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [5, 6]>(x) }",
        "g (float[1,2] x) => (seq(map(int64,float)) y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [5, 7]>(x) }",
        "[0]: keys [5, 7] instead of keys [5, 6]",
    ),
    "strings": (
        "g (float[2] x) => (string[2] y) { y = Constant<value_strings = ['a', 'b']>() }".replace("'", '"'),
        "g (float[2] x) => (string[2] y) { y = Constant<value_strings = ['a', 'c']>() }".replace("'", '"'),
        "output 'y' differs: 'c' instead of 'b' at [1] (1 of 2 elements differ)",
    ),
    "a number where inputs are positive, NaN otherwise": (
        "g (float[9] x) => (float y) { l = Log(x)\n y = ReduceSum<keepdims = 0>(l) }",
        "g (float[9] x) => (float y) { l = Log(x)\n y = ReduceMean<keepdims = 0>(l) }",
        "output 'y' differs: -",
    ),
    "input renamed": (
        RELU,
        "g (float[n,4] z) => (float[n,4] y) { y = Relu(z) }",
        "the inputs of the result are z float32, those of the original x float32",
    ),
    "input type": (
        "g (float[n] x) => (float[n] y) { y = Cast<to = 1>(x) }",
        "g (double[n] x) => (float[n] y) { y = Cast<to = 1>(x) }",
        "the inputs of the result are x float64, those of the original x float32",
    ),
    "default lost": (
        "g (float[n] x, float[1] w = {2.0}) => (float[n] y) { y = Mul(x, w) }",
        "g (float[n] x) => (float[n] y) <float[1] w = {2.0}> { y = Mul(x, w) }",
        "the result has lost the inputs with defaults w float32",
    ),
    "outputs swapped": (
        "g (float[n] x) => (float[n] y, float[n] z) { y = Neg(x)\n z = Abs(x) }",
        "g (float[n] x) => (float[n] z, float[n] y) { y = Neg(x)\n z = Abs(x) }",
        "the outputs of the result are z, y, those of the original y, z",
    ),
    "right at one size of a symbolic dimension only": (
        "g (float[n] x) => (float[m] y) { s = Shape(x)\n y = Expand(x, s) }",
        "g (float[n] x) => (float[m] y) { s = Constant<value_ints = [3]>()\n y = Expand(x, s) }",
        "runs the original but not the result: Expand node",
    ),
    "loads nowhere": (
        RELU,
        "g (float[n,4] x) => (float[n,4] y) { y = Relu(x, x) }",
        "runs the original but not the result: ",
    ),
}


@pytest.mark.parametrize("original, result, reason", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_different(save: Save, worker: Worker, original: str, result: str, reason: str) -> None:
    found = compare(save(original), save(result), worker=worker)
    assert found.status == "different"
    assert reason in found.reason
    assert "\n" not in found.reason


def test_operator_that_its_opset_does_not_have_is_no_missing_kernel(save: Save, worker: Worker) -> None:
    gelu = "g (float[n,4] x) => (float[n,4] y) { y = Gelu(x) }"
    found = compare(save(gelu, 20), save(gelu, 13), worker=worker)
    assert status(found) == ("different", "onnxruntime")
    assert "No Op registered for Gelu with domain_version of 13" in found.reason


@pytest.mark.parametrize("runtime", ["onnxruntime", "reference"])
def test_dropped_num_outputs_shows_at_an_odd_size(save: Save, worker: Worker, runtime: Any) -> None:
    """An even size alone would call it equal, and so would onnx.reference, which cuts unevenly below opset 18 too."""
    found = compare(save(UNEVEN), save(EVEN_13, 13), worker=worker, runtime=runtime)
    assert found.status == "different"
    assert "Split" in found.reason


def test_reference_alone_is_named_in_a_difference(save: Save, worker: Worker) -> None:
    other = save("g (float[n,4] x) => (float[n,4] y) { y = Abs(x) }")
    found = compare(save(RELU), other, worker=worker, runtime="reference")
    assert found.status == "different"
    assert f"(by onnx.reference {onnx.__version__} alone)" in found.reason


@pytest.mark.parametrize(
    ("shape", "split", "status"),
    [
        pytest.param("2, 3, n", "int64[3] k = {1, 0, 5}", "equal", id="sizes that fit one dimension alone"),
        pytest.param("2, 3, 4", "int64[3] k = {1, 0, 1}", "not compared", id="sizes that do not add up"),
        pytest.param("2, 3, 5", "int64[3] k = {-1, 2, 4}", "not compared", id="a negative size"),
        pytest.param("2, 3, 4", "int64 k = {0}", "not compared", id="parts of nothing"),
    ],
)
def test_reference_refuses_parts_that_are_not_there(shape: str, split: str, status: str, save: Save, worker: Worker) -> None:
    """It would cut what it can; a model that says the same in another way may fail there, and is not wrong."""
    before = f"""g (float[{shape}] x) => (float[a, b, c] y) <{split}, int64 last = {{-1}}>
        {{ s = SplitToSequence<axis = -1>(x, k) y = SequenceAt(s, last) }}"""
    after = f"""g (float[{shape}] x) => (float[a, b, c] y) <int64[1] from = {{1}}, int64[1] to = {{6}}, int64[1] axis = {{2}}>
        {{ y = Slice(x, from, to, axis) }}"""
    found = compare(save(before), save(after), worker=worker, runtime="reference")
    assert found.status == status, found.reason


@pytest.mark.parametrize(
    ("nodes", "opset"),
    [
        pytest.param("y = Slice<starts = [0, 0], ends = [2, 1], axes = [0, 0]>(x)", 9, id="attributes"),
        pytest.param("y = Slice(x, k, k, k)", 13, id="inputs"),
        pytest.param("z = Neg(k) l = Concat<axis = 0>(z, o) y = Slice(x, l, l, l)", 13, id="from either end"),
    ],
)
def test_reference_refuses_an_axis_twice(nodes: str, opset: int, save: Save, worker: Worker) -> None:
    path = save(f"g (float[4] x) => (float[a] y) <int64[2] k = {{0, 0}}, int64[1] o = {{-1}}> {{ {nodes} }}", opset=opset)
    with worker.open(path, "onnx.reference") as session:
        assert "Slice has an axis twice in" in session.run({"x": np.ones(4, np.float32)}).message


def test_reference_takes_the_long_name_of_the_domain(worker: Worker, tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["ai.onnx" : 13]> g (bool c, float[2] x) => (float[2] y) { y = If(c) <
        then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = ai.onnx.Abs(x) }> }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "long.onnx")
    for condition in (True, False):
        with worker.open(tmp_path / "long.onnx", "onnx.reference") as session:
            answer = session.run({"c": np.array(condition), "x": np.float32([-1, 2])})
        np.testing.assert_array_equal(answer.values[0], np.float32([1, -2] if condition else [1, 2]))


@pytest.mark.parametrize("place", ["main graph", "function", "branch"])
def test_reference_refuses_them_wherever_they_are(place: str, save: Save, worker: Worker) -> None:
    nodes = "k = Constant<value = int64[2] {1, 1}>() last, more = Split(%s, k)"
    text = {
        "main graph": ("float[4] x", f"{nodes % 'x'} y = Identity(last)", ""),
        "function": (
            "float[4] x",
            "y = local.cut(x)",
            f'<domain: "local", opset_import: ["" : 18]> cut (v) => (last) {{ {nodes % "v"} }}',
        ),
        "branch": (
            "float[4] x",
            f"c = Constant<value = bool {{1}}>() y = If(c) <then_branch = t () => (float[a] last) {{ {nodes % 'x'} }}, "
            "else_branch = e () => (float[a] o) { o = Neg(x) }>",
            "",
        ),
    }[place]
    path = save(f"g ({text[0]}) => (float[a] y) {{ {text[1]} }}", extra=text[2])
    with worker.open(path, "onnx.reference") as session:
        answer = session.run({"x": np.ones(4, np.float32)})
    assert "cannot cut a dimension of 4 into parts of sizes [1, 1]" in answer.message


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        pytest.param("Compress<axis = 0>(x, c)", "Gather<axis = 0>(x, i)", "equal", id="a condition longer than the axis"),
        pytest.param("Compress<axis = 0>(x, c)", "Gather<axis = 0>(x, wrong)", "different", id="wrong on what both take"),
        pytest.param("ReduceMax<keepdims = 0>(x, twice)", "Neg(x)", "not compared", id="an axis given twice"),
        pytest.param("Compress<axis = 1>(x, c)", "Gather<axis = 1>(x, i)", "not compared", id="forbidden throughout"),
        pytest.param("Squeeze(x, last)", "Neg(x)", "not compared", id="an axis dropped twice"),
    ],
)
def test_inputs_that_onnxruntime_alone_takes_are_no_proof(before: str, after: str, status: str, save: Save, worker: Worker) -> None:
    text = """g (float[n, 1] x) => (float[a, b] y) <bool[3] c = {0, 0, 1}, int64[1] i = {2}, int64[1] wrong = {1}, int64[2] twice = {0, 0}, int64[2] last = {1, 1}> { y = %s }"""
    found = compare(save(text % before), save(text % after), worker=worker, thorough=True)
    assert found.status == status
    given = Samples(data=[{"x": np.ones((1, 1), np.float32)}])
    assert compare(save(text % before), save(text % after), worker=worker, samples=given).status == "different"


@pytest.mark.parametrize(
    ("nodes", "status"),
    [
        pytest.param("s = Shape(x) a = Abs(x) e = Reshape(a, s)", "equal", id="right where it turns"),
        pytest.param("s = Shape(x) a = Neg(x) e = Reshape(a, s)", "different", id="wrong where it turns"),
    ],
)
def test_shape_of_what_is_collected_in_no_turn_does_not_count(nodes: str, status: str, save: Save, worker: Worker) -> None:
    """onnxruntime makes it up, and onnx.reference does not run models that scan backwards."""
    text = """g (float[n, 3] x, int64 turns) => (float[a, b, c] y, float[d, f] z) {
        on = Constant<value = bool {1}>()
        y = Loop(turns, on) <body = once (int64 i, bool go) => (bool keep, float[?, ?] e) { keep = Identity(go) %s }>
        z = Scan(x) <num_scan_inputs = 1, scan_input_directions = [1], body = turn (float[3] r) => (float[3] o) { o = Neg(r) }> }"""
    before, after = save(text % "e = Abs(x)"), save(text % nodes)
    assert compare(before, after, worker=worker, thorough=True).status == status


_ROUNDED = "k = Constant<value_ints = [0]>() a = ReduceL2(x, k) "
_THROUGH_A_SEQUENCE = "s = SplitToSequence(a) n = Constant<value_int = 0>() b = SequenceAt(s, n) "


@pytest.mark.parametrize(
    ("before", "after", "status", "reason"),
    [
        pytest.param(
            f"(float16[5] x) => (bool[1] y) {{ {_ROUNDED} {_THROUGH_A_SEQUENCE} c = SequenceAt(s, n) y = Greater(b, c) }}",
            f"(float16[5] x) => (bool[1] y) {{ {_ROUNDED} b = Identity(a) y = Greater(b, a) }}",
            "equal",
            "onnxruntime rounds to float16 between some nodes and not between others",
            id="a rounding between two nodes that onnxruntime leaves out",
        ),
        pytest.param(
            f"(float16[5] x) => (bool[1] y) {{ {_ROUNDED} y = Greater(a, a) }}",
            f"(float16[5] x) => (bool[1] y) {{ {_ROUNDED} z = Sub(a, a) y = Equal(a, a) }}",
            "different",
            "output 'y' differs: True instead of False at [0]",
            id="float16 that differs all the same",
        ),
        pytest.param(
            "(int64[5] x) => (int64[2] y) { k = Constant<value_ints = [2147483648, 1]>() l = Constant<value_int = 5>() y = Max(k, l) }",
            "(int64[5] x) => (int64[2] y) { y = Constant<value_ints = [2147483648, 5]>() }",
            "equal",
            "onnxruntime takes the lower halves of large int64 for signed numbers (Max 'y') of the original",
            id="an int64 with the highest bit of its lower half",
        ),
        pytest.param(
            "(int64[5] x) => (int64[2] y) { k = Constant<value_ints = [2, 1]>() l = Constant<value_int = 5>() y = Max(k, l) }",
            "(int64[5] x) => (int64[2] y) { y = Constant<value_ints = [5, 6]>() }",
            "different",
            "output 'y' differs: 6 instead of 5",
            id="small int64 that differ",
        ),
    ],
)
def test_second_opinion_where_onnxruntime_wavers(
    before: str, after: str, status: str, reason: str, save: Save, worker: Worker
) -> None:
    x = np.array([1.25, -1, -0.25, 2.5, -0.5]).astype(np.float16 if "float16" in before else np.int64)
    found = compare(save("g " + before, opset=18), save("g " + after, opset=18), worker=worker, samples=Samples(data=[{"x": x}]))
    assert (found.status, found.reason[: len(reason)]) == (status, reason)


@pytest.mark.parametrize(
    ("split", "keepdims", "sizes"),
    [
        pytest.param("int64[3] k = {1, 0, 4}", 1, [1, 0, 4], id="sizes"),
        pytest.param("int64 k = {2}", 1, [2, 2, 1], id="parts of two"),
        pytest.param("int64 k = {9}", 0, [5], id="one part, keepdims without effect"),
        pytest.param("int64 k = {2}", 0, [2, 2, 1], id="parts of two, keepdims without effect"),
        pytest.param("", 1, [1] * 5, id="slices"),
        pytest.param("", 0, [1] * 5, id="slices without their axis"),
    ],
)
def test_reference_cuts_as_numpy_does(split: str, keepdims: int, sizes: list[int], save: Save, worker: Worker) -> None:
    path = save(f"""g (float[5, 2] x) => (seq(float) y) <{split or "int64 unused = {0}"}>
        {{ y = SplitToSequence<axis = -2, keepdims = {keepdims}>(x{", k" if split else ""}) }}""")
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    with worker.open(path, "onnx.reference") as session:
        answer = session.run({"x": x})
    parts = np.split(x, np.cumsum(sizes)[:-1])
    expected = parts if keepdims or split else [part[0] for part in parts]
    for got, part in zip(answer.values[0], expected, strict=True):
        np.testing.assert_array_equal(got, part, strict=True)


def test_failure_inside_the_reference_is_no_difference(save: Save, worker: Worker) -> None:
    result = save("g (float[n,4] x) => (float[n,4] y) { s = Constant<value_ints = [7]>()\n y = Reshape(x, s) }")
    found = compare(save(RELU), result, worker=worker, runtime="reference")
    assert found.status == "not compared"
    assert found.reason.startswith("onnx.reference runs the original but not the result: ")


# --- what is not compared ---------------------------------------------------------------------------------------------

RANDOM = "y = RandomNormalLike(x)"
NOT_COMPARED = {
    "random operator": (
        f"g (float[n] x) => (float[n] y) {{ {RANDOM} }}",
        18,
        "RandomNormalLike 'y' draws random numbers",
    ),
    "seeded random operator": (
        "g (float[n] x) => (float[n] y) { y = Bernoulli<seed = 1.0>(x) }",
        18,
        "Bernoulli 'y' draws random numbers",
    ),
    "random operator in a branch": (
        f"g (float[n] x, bool c) => (float[n] y) {{ y = If(c) <"
        f"then_branch = t () => (float[n] y) {{ {RANDOM} }}, else_branch = e () => (float[n] z) {{ z = Neg(x) }}> }}",
        18,
        "RandomNormalLike 'y' draws random numbers",
    ),
    "training Dropout": (
        "g (float[100] x) => (float[100] y) { t = Constant<value = bool {1}>()\n"
        "r = Constant<value_float = 0.5>()\n y = Dropout(x, r, t) }",
        18,
        "the original gives other outputs each time it is run",
    ),
    "custom operator": (
        "g (float[n] x) => (float[n] y) { y = custom.Thing(x) }",
        18,
        "onnxruntime cannot run the original: Fatal error: custom:Thing",
    ),
    "no size fits": (
        "g (float[n] x) => (float[a,1000,1000] y) { s = Constant<value_ints = [-1, 1000, 1000]>()\n y = Reshape(x, s) }",
        18,
        "Hint: give other inputs by --test-input-shape or --input-data; they are x float32[n]",
    ),
    "nothing but NaN": (
        "g (float[n] x) => (float[n] y) { z = Sub(x, x)\n y = Div(z, z) }",
        18,
        "output 'y' is NaN throughout on all inputs tried. Hint: give other inputs by",
    ),
    "declared shape too big": (
        "g (float[40000000000] x) => (float[40000000000] y) { y = Relu(x) }",
        18,
        "the inputs are too big to invent: x float32[40000000000]",
    ),
    "out of memory": (
        "g (int64[1] x) => (float[n] y) { k = Constant<value_ints = [1000000000000]>()\ns = Add(k, x)\n y = ConstantOfShape(s) }",
        18,
        "onnxruntime on the original: out of memory, ",
    ),
    "Softmax that flattens, on a runtime that does not": (
        "g (bfloat16[n,3,4] x) => (bfloat16[n,3,4] y) { a = Add(x, x)\n f = Cast<to = 1>(a)\n"
        "s = Softmax(f)\n y = Cast<to = 16>(s) }",
        12,
        "onnx.reference does not flatten the input of Softmax below opset 13 (Softmax 's') of the original",
    ),
}


@pytest.mark.parametrize("text, opset, reason", NOT_COMPARED.values(), ids=NOT_COMPARED.keys())
def test_not_compared(save: Save, worker: Worker, text: str, opset: int, reason: str) -> None:
    path = save(text, opset)
    found = compare(path, path, worker=worker)
    assert found.status == "not compared"
    assert reason in found.reason
    assert found.outputs == ()


def test_random_operator_in_a_function_is_found(save: Save, worker: Worker) -> None:
    function = f'<opset_import: ["" : 18], domain: "local"> noise (x) => (y) {{ {RANDOM} }}'
    path = save("g (float[n] x) => (float[n] y) { y = local.noise(x) }", extra=function)
    assert compare(path, path, worker=worker).reason == "RandomNormalLike 'y' draws random numbers"


def test_slow_model_is_not_compared(save: Save) -> None:
    text = """g (int64 n) => (float[1] y) {
      big = Constant<value_int = 1000000000000>()
      on = Constant<value = bool {1}>()
      v = Constant<value_floats = [0.0]>()
      y = Loop(big, on, v) <body = b (int64 i, bool c, float[1] a) => (bool d, float[1] e) {
        d = Identity(c)
        e = Sin(a)
      }> }"""
    path = save(text)
    with Worker(time_limit=2) as worker:
        found = compare(path, path, worker=worker)
        assert found.status == "not compared"
        assert found.reason == "onnxruntime on the original: not finished within 2 s"
        assert compare(save(RELU), save(RELU), worker=worker).status == "equal"


def test_unreadable_original_and_result(save: Save, worker: Worker, tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.onnx"
    garbage.write_bytes(b"\x00garbage")
    assert compare(garbage, garbage, worker=worker).reason.startswith("the original cannot be read: ")
    found = compare(save(RELU), garbage, worker=worker)
    assert found.status == "different"
    assert found.reason.startswith("the result cannot be read: ")


def test_runtime_of_the_other_meaning_is_not_asked(save: Save, worker: Worker) -> None:
    """keepdims=0 beside a split input means nothing by the specification, but onnxruntime squeezes."""
    sequence = "g (float[n,4] x) => (seq(float) y) { k = Constant<value_int = 1>()\n y = SplitToSequence%s(x, k) }"
    original, result = save(sequence % "<keepdims = 0>"), save(sequence % "")
    found = compare(original, result, worker=worker, semantics="specification")
    assert status(found) == ("equal", "onnx.reference")
    assert found.reason.startswith("onnxruntime obeys keepdims=0 of a SplitToSequence that has a split input")
    found = compare(original, result, worker=worker, runtime="onnxruntime", semantics="specification")
    assert found.status == "not compared"
    found = compare(original, result, worker=worker, semantics="onnxruntime")
    assert status(found) == ("different", "onnxruntime")
    found = compare(original, result, worker=worker, runtime="reference", semantics="onnxruntime")
    assert found.reason.startswith("onnx.reference does not do as onnxruntime, which obeys keepdims=0")


def test_result_without_a_kernel_falls_back_on_the_reference(save: Save, worker: Worker) -> None:
    """onnxruntime computes Split in int8 but has no SplitToSequence for it."""
    parts = "g (int8[4] x) => (int8[2] a) { a, b = Split<num_outputs = 2>(x) }"
    sequence = """g (int8[4] x) => (int8[2] a) { k = Constant<value_int = 2>()
      s = SplitToSequence(x, k)\n i = Constant<value_int = 0>()\n a = SequenceAt(s, i) }"""
    found = compare(save(parts), save(sequence), worker=worker)
    assert status(found) == ("equal", "onnx.reference")
    assert found.reason.startswith("onnxruntime runs the original but not the result: Could not find an implementation")
    named = compare(save(parts), save(sequence), worker=worker, runtime="onnxruntime")
    assert named.status == "not compared"


def test_a_result_that_kills_the_runtime_is_different(save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    original, result = save(RELU), save(RELU)
    ask = Session._ask

    def die(self: Session, group: Sequence[dict[str, Any]]) -> list[Outputs | Failure] | Failure:
        return Failure("crashed", "signal SIGSEGV") if self._path == str(result) else ask(self, group)

    monkeypatch.setattr(Session, "_ask", die)
    found = compare(original, result, worker=worker)
    assert found.status == "different"
    assert found.reason == "onnxruntime runs the original but not the result: it crashed, signal SIGSEGV"


def test_split_with_an_unnamed_output_never_reaches_onnxruntime(save: Save, worker: Worker) -> None:
    path = deadly_model(save)
    found = compare(path, path, worker=worker)
    assert status(found) == ("equal", "onnx.reference")
    assert worker.run(path, {"x": np.ones(4, np.float32)}) == Failure("crashed", "signal SIGSEGV")


# --- what is equal ----------------------------------------------------------------------------------------------------

ORT, REF = "onnxruntime", "onnx.reference"
EQUAL = {
    "float": (RELU, 18, ORT),
    "float16": ("g (float16[n] x) => (float16[n] y) { y = Neg(x) }", 18, ORT),
    "double": ("g (double[n] x) => (double[n] y) { y = Neg(x) }", 18, ORT),
    "bool": ("g (bool[n] x) => (bool[n] y) { y = Not(x) }", 18, ORT),
    "every integer": (
        "g (int8[n] a, uint8[n] b, int16[n] c, uint16[n] d, int32[n] e, uint32[n] f, int64[n] g, uint64[n] h)"
        "=> (int8[n] a1, uint8[n] b1, int16[n] c1, uint16[n] d1, int32[n] e1, uint32[n] f1, int64[n] g1, uint64[n] h1)"
        f"{{ {' '.join(f'{name}1 = Identity({name})' for name in 'abcdefgh')} }}",
        18,
        ORT,
    ),
    "strings": ("g (string[n] x) => (string[n] y) { y = Identity(x) }", 18, ORT),
    "strings that must be numbers": ("g (string[n] x) => (float[n] y) { y = Cast<to = 1>(x) }", 18, ORT),
    "bfloat16": ("g (bfloat16[n] x) => (bfloat16[n] y) { y = Identity(x) }", 18, ORT),
    "float8": ("g (float8e4m3fn[n] x) => (float8e4m3fn[n] y) { y = Identity(x) }", 21, ORT),
    "int4": ("g (int4[n] x) => (int4[n] y) { y = Identity(x) }", 21, REF),
    "complex": ("g (complex64[n] x) => (complex64[n] y) { y = Identity(x) }", 18, REF),
    "sequence": ("g (seq(float[n]) x) => (seq(float[n]) y) { y = Identity(x) }", 18, ORT),
    "optional": ("g (optional(float[n]) x) => (float[n] y) { y = OptionalGetElement(x) }", 18, ORT),
    "map": (
        'g (map(int64,float) x) => (float[1,3] y) { y = ai.onnx.ml.CastMap<cast_to = "TO_FLOAT">(x) }',
        18,
        ORT,
    ),
    "map of strings out": (
        'g (float[n,2] x) => (seq(map(string,float)) y) { y = ai.onnx.ml.ZipMap<classlabels_strings = ["a", "b"]>(x) }',
        18,
        ORT,
    ),
    "no input": ("g () => (float[2] y) { y = Constant<value_floats = [1.0, 2.0]>() }", 18, ORT),
    "no element": ("g (float[0,3] x) => (float[0,3] y) { y = Relu(x) }", 18, ORT),
    "unknown rank that must be 4": (
        "g (float[] x) => (float[] y) <float[1,4,1,1] w = {1.0, 2.0, 3.0, 4.0}> { y = Conv(x, w) }",
        18,
        ORT,
    ),
    "indices": ("g (float[2,3] x, int64[n] i) => (float[n,3] y) { y = Gather(x, i) }", 18, ORT),
    "indices of a single row": ("g (float[1,3] x, int64[n] i) => (float[n,3] y) { y = Gather(x, i) }", 18, ORT),
    "divisor": ("g (int64[n] x, int64[n] i) => (int64[n] y) { y = Div(x, i) }", 18, ORT),
    "even size": (EVEN_13, 13, ORT),
    "dimensions of two names that must agree": (
        "g (float[n] x, float[m] z) => (float y) { c = Concat<axis = 0>(x, x)\nd = Concat<axis = 0>(z, z)\n y = Add(c, d) }",
        18,
        ORT,
    ),
    "no kernel: SplitToSequence of int8": ("g (int8[4] x) => (seq(int8) y) { y = SplitToSequence(x) }", 18, REF),
    "no kernel: Add 6": ("g (float[3] x) => (float[3] y) { y = Add(x, x) }", 6, REF),
    "no kernel: Split 1": ("g (float[4] x) => (float[2] a, float[2] b) { a, b = Split<axis = 0>(x) }", 1, REF),
    "no kernel: Split 1 with sizes as floats": (
        "g (float[4] x) => (float[1] a, float[3] b) <float[2] s = {1.0, 3.0}> { a, b = Split<axis = 0>(x, s) }",
        1,
        REF,
    ),
}


@pytest.mark.parametrize("text, opset, runtime", EQUAL.values(), ids=EQUAL.keys())
def test_equal_to_itself(save: Save, worker: Worker, text: str, opset: int, runtime: str) -> None:
    path = save(text, opset)
    found = compare(path, path, worker=worker)
    assert status(found) == ("equal", runtime), found.reason
    assert len(found.outputs) == len(onnx.load(path).graph.output)
    assert all(output.equal and output.max_abs == output.max_rel == 0 for output in found.outputs)
    assert bool(found.reason) == (runtime != ORT)


@pytest.mark.skipif(not ONNX_HAS_ML_DTYPES, reason="onnx.reference computes in bfloat16 from onnx 1.19")
def test_bfloat16_arithmetic_without_a_kernel(save: Save, worker: Worker) -> None:
    path = save("g (bfloat16[n] x) => (bfloat16[n] y) { y = Add(x, x) }")
    found = compare(path, path, worker=worker)
    assert status(found) == ("equal", REF)
    assert found.outputs[0].dtype == "bfloat16"


def test_dimension_fixed_in_the_result(save: Save, worker: Worker) -> None:
    original = save("g (float[n] x, float[n] z) => (float[n] y) { y = Add(x, z) }")
    result = save("g (float[5] x, float[n] z) => (float[n] y) { y = Add(x, z) }")
    found = compare(original, result, worker=worker)
    assert found.status == "equal"
    assert found.outputs[0].shape == (5,)


def test_external_data_beside_the_model(save: Save, worker: Worker) -> None:
    path = save("g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1.0, 2.0, 3.0, 4.0}> { y = MatMul(x, w) }")
    model = onnx.load(path)
    weights = onnx.numpy_helper.to_array(model.graph.initializer[0])
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    external = path.with_name("external.onnx")
    onnx.save(model, external, save_as_external_data=True, location="weights", size_threshold=0)
    for runtime in ("onnxruntime", "reference"):
        assert compare(path, external, worker=worker, runtime=runtime).status == "equal"


def test_tolerance(save: Save, worker: Worker) -> None:
    paths = [save(text) for text in DIFFERENT["one ulp"][:2]]
    assert not compare(*paths, worker=worker).outputs[0].equal
    found = compare(*paths, worker=worker, tolerance=Tolerance(rtol=2e-7))
    assert found.status == "equal"
    assert 0 < found.outputs[0].max_rel <= 2e-7
    assert (found.rtol, found.atol, found.seed) == (2e-7, 0.0, 0)


# --- inputs the user gives --------------------------------------------------------------------------------------------


def test_data_for_a_sequence_is_refused(save: Save, worker: Worker) -> None:
    path = save(EQUAL["sequence"][0])
    with pytest.raises(SplitRewriteError, match=r"an array does not fit the declared seq\(float32\[n\]\)"):
        compare(path, path, worker=worker, samples=Samples(data=[{"x": np.ones(3, np.float32)}]))


def test_given_shape_reaches_what_no_choice_does(save: Save, worker: Worker) -> None:
    path = save(NOT_COMPARED["no size fits"][0])
    assert compare(path, path, worker=worker, samples=Samples(shapes={"x": [2000000]})).outputs[0].shape == (2, 1000, 1000)


# --- real models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.onnx")), ids=lambda path: path.name)
def test_real_model_equals_itself_in_both_runtimes(worker: Worker, path: Path) -> None:
    for runtime in ("onnxruntime", "reference"):
        budget = Budget(60)  # old releases of onnx.reference take seconds for a convolution
        assert compare(path, path, worker=worker, runtime=runtime, budget=budget).status == "equal"


@pytest.mark.parametrize("arrays", sorted(MODELS.glob("*.npz")), ids=lambda path: path.name)
def test_real_model_equals_itself_on_the_inputs_beside_it(worker: Worker, arrays: Path) -> None:
    model = arrays.with_suffix(".onnx")
    with np.load(arrays) as data:
        samples = Samples(data=[dict(data)])
    assert compare(model, model, worker=worker, samples=samples).status == "equal"


# --- the child --------------------------------------------------------------------------------------------------------


def _compare_in_a_new_process(path: Path, first_on_path: Path) -> dict[str, str]:
    program = (
        "import dataclasses, json, sys; from pathlib import Path\n"
        "from split_rewrite.rewriter.comparison.by_model import compare\n"
        "found = dataclasses.asdict(compare(Path(sys.argv[1]), Path(sys.argv[1])))\n"
        "found['loaded'] = [name for name in ('onnxruntime', 'onnx.reference') if name in sys.modules]\n"
        "print(json.dumps(found))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(first_on_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout) | {"stderr": done.stderr}


def test_parent_imports_no_runtime(save: Save, tmp_path: Path) -> None:
    found = _compare_in_a_new_process(save(RELU), tmp_path)
    assert found["status"] == "equal"
    assert found["loaded"] == []


def test_without_onnxruntime(save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    path = save(RELU)
    found = compare(path, path, worker=worker)
    assert status(found) == ("equal", "onnx.reference")
    assert found.reason == ""
    with pytest.raises(SplitRewriteError, match="--runtime onnxruntime: onnxruntime is not installed"):
        compare(path, path, worker=worker, runtime="onnxruntime")


# --- samples, tolerances, both runtimes -------------------------------------------------------------------------------


def test_every_sample_is_run(save: Save, worker: Worker) -> None:
    """Relu is Abs where nothing is negative."""
    original, result = save(RELU), save("g (float[n,4] x) => (float[n,4] y) { y = Abs(x) }")
    positive, negative = np.ones((1, 4), np.float32), np.full((2, 4), -1, np.float32)
    assert compare(original, result, worker=worker, samples=Samples(data=[{"x": positive}])).status == "equal"
    found = compare(original, result, worker=worker, samples=Samples(data=[{"x": positive}, {"x": negative}]))
    assert found.status == "different"
    assert found.outputs[0].note == "1.0 instead of 0.0 at [0, 0] (8 of 8 elements differ)"


def test_of_large_outputs_few_are_held(save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    path, runs, ask = save(RELU), [], Session._ask
    monkeypatch.setattr(Session, "_ask", lambda session, group: runs.extend(group) or ask(session, group))
    assert compare(path, path, worker=worker, thorough=True, edges=False, optimizer=False).status == "equal"
    assert len(runs) == 2 * (10 + 24)
    runs.clear()
    monkeypatch.setattr(original_runs, "_MANY_BYTES", 31)  # one output has 4 elements of 4 bytes or more
    assert compare(path, path, worker=worker, thorough=True, edges=False, optimizer=False).status == "equal"
    assert len(runs) == 2 * 2


def test_sample_that_cannot_be_run_leaves_all_undecided(save: Save, worker: Worker) -> None:
    path = save("g (float[n] x, float[m] z) => (float[k] y) { y = Add(x, z) }")
    fitting = {"x": np.ones(3, np.float32), "z": np.ones(3, np.float32)}
    found = compare(path, path, worker=worker, samples=Samples(data=[fitting, fitting | {"z": np.ones(2, np.float32)}]))
    assert found.status == "not compared"
    assert found.reason.startswith("sample 2: onnxruntime cannot run the original on the given inputs")


TWO_OUTPUTS = "g (float[n] x) => (float[n] y, double[n] z) <float c = {%s}> { y = Mul(x, c) d = Cast<to=11>(y) z = Neg(d) }"


def test_tolerance_of_one_output(save: Save, worker: Worker) -> None:
    paths = [save(TWO_OUTPUTS % "1.0"), save(TWO_OUTPUTS % "1.001")]
    assert compare(*paths, worker=worker, tolerance=Tolerance(rtol=2e-3)).status == "equal"
    found = compare(*paths, worker=worker, tolerance=Tolerance(rtol_of={"y": 2e-3}))
    assert [output.equal for output in found.outputs] == [True, False]
    assert found.reason.startswith("output 'z' differs: ")
    found = compare(*paths, worker=worker, tolerance=Tolerance(rtol=2e-3, rtol_of={"y": 0.0}))
    assert [output.equal for output in found.outputs] == [False, True]


def test_tolerance_of_an_output_that_there_is_not(save: Save, worker: Worker) -> None:
    path = save(RELU)
    for tolerance, option in ((Tolerance(rtol_of={"x": 1.0}), "--rtol"), (Tolerance(atol_of={"x": 1.0}), "--atol")):
        with pytest.raises(SplitRewriteError, match=f"{option} x: no such output; the outputs are y"):
            compare(path, path, worker=worker, tolerance=tolerance)


def test_last_bits_are_called_so_and_are_different_all_the_same(save: Save, worker: Worker) -> None:
    found = compare(*(save(text) for text in DIFFERENT["one ulp"][:2]), worker=worker)
    assert (found.status, found.last_bits) == ("different", True)
    assert "; only last bits differ, and no rule used here may change them" in found.reason
    found = compare(*(save(text) for text in DIFFERENT["another operator"][:2]), worker=worker)
    assert not found.last_bits and "last bits" not in found.reason


ATTENTION = """g (float[2,3,4,8] q, float[2,3,6,8] k, float[2,3,6,8] v) => (float[2,3,4,8] y)
    {t = Attention<scale = %s>(q, k, v) c = Constant<value_float = %s>() y = Mul(t, c)}"""


@pytest.mark.skipif(newest_opset() < 25, reason="the installed onnx has no Attention of opset 25")
@pytest.mark.parametrize("factor", ["2.0", "1e6"], ids=["last bits", "much made of them"])
def test_another_kernel_for_the_other_opset_is_no_difference(save: Save, worker: Worker, factor: str) -> None:
    text = ATTENTION % ("0.3", factor)
    found = compare(save(text, 23), save(text, 25), worker=worker, thorough=True)
    assert (found.status, found.last_bits) == ("equal", True), found.reason
    assert found.evidence == "sampled" and found.samples > 2
    assert "kernel" in found.reason
    changed = save(ATTENTION % ("0.3000001", factor), 25)
    assert compare(save(text, 23), changed, worker=worker, thorough=True).status == "different"


def test_both_runtimes_have_to_agree(save: Save, worker: Worker) -> None:
    path = save(RELU)
    found = compare(path, path, worker=worker, runtime="both")
    assert found.status == "equal"
    assert found.runtime.startswith("onnxruntime ") and f" and onnx.reference {onnx.__version__}" in found.runtime
    other = save("g (float[n,4] x) => (float[n,4] y) { y = Abs(x) }")
    assert compare(path, other, worker=worker, runtime="both").status == "different"


def test_both_runtimes_are_needed_for_equal(save: Save, worker: Worker) -> None:
    """onnxruntime has no SplitToSequence of int8."""
    path = save("g (int8[4] x) => (seq(int8[2]) s) { k = Constant<value_int = 2>() s = SplitToSequence(x, k) }")
    assert compare(path, path, worker=worker).status == "equal"
    found = compare(path, path, worker=worker, runtime="both")
    assert found.status == "not compared"
    assert found.reason.startswith("onnxruntime cannot run the original: ")


# --- where the first difference is ------------------------------------------------------------------------------------


def test_integers_divided_by_zero_are_no_numbers_to_compare(save: Save, worker: Worker) -> None:
    path = save("g (int64[n] x, int64[1] d) => (int64[n] y) { y = Mod(x, d) }")
    zero = Samples(data=[{"x": np.arange(3), "d": np.zeros(1, np.int64)}])
    found = compare(path, path, worker=worker, samples=zero, runtime="reference")
    assert found.status == "not compared"
    assert "integers are divided by zero" in found.reason


def test_what_libraries_print_corrupts_nothing(save: Save, tmp_path: Path) -> None:
    """onnxruntime stands for any library: this one prints, reads its input, and cannot be imported."""
    package = tmp_path / "onnxruntime"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import os, sys\nprint('hello')\nos.write(1, b'raw')\nos.write(2, b'raw')\nsys.stdin.read()\nraise ImportError('broken')"
    )
    path = save(RELU)
    found = _compare_in_a_new_process(path, tmp_path)
    assert found["status"] == "equal"
    assert found["runtime"] == f"onnx.reference {onnx.__version__}"
    assert found["reason"] == "onnxruntime cannot run the original: onnxruntime cannot be imported: broken"
    assert found["stderr"] == ""


DILATED = """g (float[1,8,160,160] x) => (float[1,8,156,156] y) {
  y = MaxPool <kernel_shape = [3,3], dilations = [2,2]> (x) }"""


def test_nothing_is_judged_where_the_budget_does_not_suffice_for_a_run(save: Save, worker: Worker) -> None:
    path = save(DILATED)
    found = compare(path, path, worker=worker, budget=Budget(0.01))
    assert found.status == "not compared"
    assert "running both models in onnxruntime takes about 0.02 s, more than is left of the budget of 0.01 s" in found.reason
    assert "--compare-budget SECONDS allows more" in found.reason


def test_as_many_samples_are_run_as_the_budget_suffices_for(save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx.reference would take a second for each."""
    counts: list[int] = []
    monkeypatch.setattr(by_model, "compare_outputs", lambda runs, *rest: counts.append(len(runs)) or compare_outputs(runs, *rest))
    path = save(DILATED)
    assert compare(path, path, worker=worker, thorough=True, budget=Budget(0.2)).status == "equal"
    assert compare(path, path, worker=worker, thorough=True, budget=Budget(60)).status == "equal"
    few, many = counts
    assert 1 <= few <= 5 and many > 20


# --- what equal outputs show ------------------------------------------------------------------------------------------

MOVED = "g ({0}[2,3] x) => ({0}[3,2] y) {{ y = Transpose (x) }}"
EVIDENCE = {
    "elements that all differ": (MOVED.format("float"), "proved for the shapes tried"),
    "few whole numbers suffice": (MOVED.format("int8"), "proved for the shapes tried"),
    "two truth values do not": (MOVED.format("bool"), "same arithmetic"),
    "more elements than numbers": ("g (int8[8,8] x) => (int8[8,8] y) { y = Transpose (x) }", "same arithmetic"),
    "numbers that are computed": (RELU, "same arithmetic"),
    "float8": ("g (float8e5m2[2,3] x) => (float8e5m2[3,2] y) { y = Transpose (x) }", "same arithmetic"),
    "a product": ("g (float[2,3] x, float[3,2] z) => (float[2,2] y) { y = MatMul (x, z) }", "same arithmetic"),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_what_equal_outputs_show(case: str, save: Save, worker: Worker) -> None:
    text, evidence = EVIDENCE[case]
    found = compare(save(text, 19), save(text, 19), worker=worker, thorough=True)
    assert (found.status, found.evidence) == ("equal", evidence) and found.samples > 2


def test_open_sizes_are_tried_beyond_the_usual_ones(save: Save, worker: Worker) -> None:
    """A Slice that ends at 10 is the same for all shorter vectors."""
    cut = "g (float[N] x) => (float[M] y) <int64[1] s = {0}, int64[1] e = {10}> { y = Slice (x, s, e) }"
    assert (
        compare(save("g (float[N] x) => (float[M] y) { y = Identity (x) }"), save(cut), worker=worker, thorough=True).status
        == "different"
    )


def test_what_gives_numbers_on_large_inputs_alone_is_compared(save: Save, worker: Worker) -> None:
    for text in ("y = Acosh (x)", "y = Sqrt (h)"):
        path = save(f"g (float[3] x) => (float[3] y) <float[1] c = {{5}}> {{ h = Sub (x, c)  {text} }}")
        assert compare(path, path, worker=worker, thorough=True).status == "equal"


def test_what_is_equal_within_a_tolerance_is_sampled(save: Save, worker: Worker) -> None:
    text = "g (float[4] x) => (float[4] y) <float[1] c = {%s}> { y = Add (x, c) }"
    found = compare(save(text % "0.5"), save(text % "0.500001"), worker=worker, thorough=True, tolerance=Tolerance(inexact=True))
    assert (found.status, found.evidence) == ("equal", "sampled")


@pytest.mark.parametrize("number", ["1.0", "3.0", "4.0", "6.0"])
def test_a_constant_that_one_sample_has_in_the_same_place_is_told_from_an_element(number: str, save: Save, worker: Worker) -> None:
    text = (
        "g (float[3] x) => (float[4] y) <float[1] c = {%s}, int64[1] i = {%d}> { t = Gather (x, i)  y = Concat <axis = 0> (x, %s) }"
    )
    for index in range(3):
        original, result = save(text % (number, index, "t")), save(text % (number, index, "c"))
        assert compare(original, result, worker=worker, thorough=True).status == "different"


def test_data_that_is_shorter_than_a_window_proves_nothing() -> None:
    """onnxruntime takes it, gives one element, and divides by another number from opset 19 on; by the specification there is none."""
    text = """g (float[1,4,H,W] x, int64[4] n) => (float[1,4,a,b] y, float[1,4,c,d] z) {
        y = AveragePool <count_include_pad = 1, kernel_shape = [2,2], strides = [2,2]> (x)
        z = Resize <coordinate_transformation_mode = "half_pixel", mode = "linear", nearest_mode = "floor"> (y, ABSENT, ABSENT, n) }"""
    found = compared_conversion(model(text, 16), 20).report.comparison
    assert found is not None
    assert found.status == "equal"
