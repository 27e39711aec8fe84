"""What is observed of a model in its runs: shapes of inner values, also in bodies, without its weights."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.comparison.original import Original
from split_rewrite.rewriter.comparison.regions.changed_nodes import NodeChanges
from split_rewrite.rewriter.comparison.regions.division import Input
from split_rewrite.rewriter.comparison.regions.observation import Observations, Runner
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.model_client import Worker
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytest.importorskip("onnxruntime")


def runner(folder: Path, *engines: str) -> Runner:
    return Runner(folder, engines, Worker(), Budget(), None)


def observed(proto: onnx.ModelProto, folder: Path, *names: str, body: int = 0) -> list[list[tuple[int, ...]]]:
    """The shapes of the values `names` of a graph, in each run."""
    original = Original(Skeleton.of(proto))
    pairs = NodeChanges(original, proto, {}).pairs
    inputs = [Input(pairs[body], name) for name in names]
    observations = Observations(original, pairs, inputs, runner(folder, "onnxruntime"))
    return [[seen.shapes[value.name] for seen in observations.of(value)] for value in inputs]


def test_nothing_is_seen_of_a_model_that_does_not_run(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "other" : 1]>
    g (float[N] x) => (float[N] y) { h = other.Unknown (x)\n y = Relu (h) }"""
    assert observed(model(text), tmp_path, "h") == [[]]


def test_shapes_are_those_of_the_run_and_not_those_declared(tmp_path: Path) -> None:
    text = "g (float[2,3] x, bool[6] c) => (float[A] y) <float[7,7] h> { h = Transpose (x)\n y = Compress (h, c) }"
    assert observed(model(text), tmp_path, "h") == [[(3, 2)] * 2]


def test_the_branch_of_an_if_is_run_on_its_own(tmp_path: Path) -> None:
    text = """g (float[2,3] x, bool c) => (float[A,B] y) { t = Transpose (x)
        y = If (c) <then_branch = t () => (float[P,Q] a) { r = Transpose (t)\n a = Relu (r) }, else_branch = e () => (float[P,Q] b) { b = Neg (t) }> }"""
    assert observed(model(text), tmp_path, "r", body=1) == [[(2, 3)] * 2]


@pytest.mark.parametrize(("kind", "is_seen"), [("int32", False), ("int64", True)])
def test_a_runtime_that_computes_a_node_wrongly_shows_nothing(kind: str, is_seen: bool, tmp_path: Path) -> None:
    """onnxruntime has no kernel for int32, and onnx.reference sorts what is not to be sorted."""
    proto = model(f"g ({kind}[3] x) => ({kind}[N] y) {{ h = Unique<sorted = 0> (x)\n y = Neg (h) }}", 13)
    original = Original(Skeleton.of(proto))
    pairs = NodeChanges(original, proto, {}).pairs
    value = Input(pairs[0], "h")
    seen = Observations(original, pairs, [value], runner(tmp_path, "onnxruntime", "onnx.reference")).of(value)
    assert bool(seen) is is_seen
