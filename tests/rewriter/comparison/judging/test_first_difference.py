"""The first value in which two models differ, and what makes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from split_rewrite.rewriter import Samples
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance
from split_rewrite.rewriter.execution.model_client import Worker

Save = Callable[..., Path]


def test_first_difference_is_named_with_what_makes_it(save: Save, worker: Worker) -> None:
    text = "g (float[n] x) => (float[n] y) { a = Neg(x) b = %s c = Abs(b) d = Neg(c) y = Identity(d) }"
    found = compare(save(text % "Relu(a)"), save(text % "Sigmoid(a)"), worker=worker)
    assert "; the first tensor that differs is 'b', made by Relu 'b'; Relu became Sigmoid" in found.reason


def test_first_difference_in_a_long_chain_where_one_node_became_many(save: Save, worker: Worker) -> None:
    def chain(middle: str) -> str:
        nodes = [f"h{i + 1} = Neg(h{i})" for i in range(500)]
        nodes[321] = middle
        return "g (float[n] h0) => (float[n] h500) {" + " ".join(nodes) + "}"

    wrong = chain("p = Abs(h321) q = Exp(p) h322 = Neg(q)")
    found = compare(save(chain("h322 = Neg(h321)")), save(wrong), worker=worker)
    assert "the first tensor that differs is 'h322', made by Neg 'h322'; Neg became Abs, Exp, Neg" in found.reason


def test_first_difference_that_vanishes_on_one_path_is_found_on_the_other(save: Save, worker: Worker) -> None:
    text = "g (float[n] x) => (float[n] y) { a = %s z = Sub(a, a) b = Relu(a) c = Add(b, z) y = Identity(c) }"
    found = compare(save(text % "Neg(x)"), save(text % "Identity(x)"), worker=worker)
    assert "the first tensor that differs is 'a', made by Neg 'a'; Neg became Identity" in found.reason


def test_node_that_is_the_same_in_both_is_named_as_such(save: Save, worker: Worker) -> None:
    text = "g (float[2,3,4] x) => (float[2,3,4] y) { a = Neg(x) s = Softmax<axis=1>(a) y = Identity(s) }"
    found = compare(save(text, 12), save(text, 13), worker=worker)
    assert "the first tensor that differs is 's', made by Softmax 's' from equal inputs in both" in found.reason


ROUNDED = """g (float[64] x) => (int32[64] y) <float k = {10000000.0}, float m = {-1.0000001}> {
    a = %s\n b = Mul(a, k)\n y = Cast<to = 6>(b) }"""


@pytest.mark.parametrize(
    ("other", "tolerance", "rounded"),
    [
        ("Mul(x, m)", Tolerance(inexact=True), True),
        ("Mul(x, m)", Tolerance(), False),
        ("Abs(x)", Tolerance(inexact=True), False),
    ],
    ids=["last-bits", "exact-rules", "wrong-before-it-is-rounded"],
)
def test_a_step_that_rounding_makes_of_last_bits(
    save: Save, worker: Worker, other: str, tolerance: Tolerance, rounded: bool
) -> None:
    found = compare(save(ROUNDED % "Neg(x)"), save(ROUNDED % other), worker=worker, tolerance=tolerance)
    assert (found.status, found.rounded) == ("different", rounded)


STEPS = {"last-bits": ("Mul(x, m)", "f", True), "equal-inputs": ("Neg(x)", "f", False), "two-steps": ("Mul(x, m)", "t", False)}


@pytest.mark.parametrize(("before_it", "cast", "rounded"), STEPS.values(), ids=STEPS)
def test_a_step_of_a_node_that_changed_is_of_last_bits_only_where_its_inputs_differ(
    save: Save, worker: Worker, before_it: str, cast: str, rounded: bool
) -> None:
    """Behind the Mul, there is a step less below 0, where Floor takes the place of what Cast does."""
    before = ROUNDED.replace("10000000.0", "10.0") % "Neg(x)"
    after = before.replace("Neg(x)", before_it).replace(
        "y = Cast<to = 6>(b)", f"f = Floor(b) t = Add(f, f) y = Cast<to = 6>({cast})"
    )
    found = compare(save(before), save(after), worker=worker, tolerance=Tolerance(inexact=True))
    assert (found.status, found.rounded) == ("different", rounded)


@pytest.mark.parametrize(("before_it", "rounded"), [("Mul(x, m)", True), ("Neg(x)", False)], ids=["last-bits", "equal-inputs"])
def test_a_jump_of_the_same_operator_in_another_spelling(save: Save, worker: Worker, before_it: str, rounded: bool) -> None:
    """Whether the spelling means the same is for the comparison of that node alone to say: here it does not."""
    text = "g (float[8,8] x) => (int64[8] y) <float m = {-1.0000001}> { a = %s y = ArgMax<axis = %d, keepdims = 0>(a) }"
    before, after = text % ("Neg(x)", 0), text % (before_it, 1)
    found = compare(save(before), save(after), worker=worker, tolerance=Tolerance(inexact=True))
    assert (found.status, found.rounded) == ("different", rounded)
    samples = Samples(data=[{"x": np.random.default_rng(0).random((8, 8), np.float32)}])
    found = compare(save(before), save(after), worker=worker, tolerance=Tolerance(inexact=True), samples=samples)
    assert (found.status, found.rounded) == ("different", False)  # what is given is not excused


def test_what_a_changed_node_makes_of_given_inputs_is_no_step(save: Save, worker: Worker) -> None:
    before = ROUNDED.replace("10000000.0", "10.0") % "Neg(x)"
    after = before.replace("Neg(x)", "Mul(x, m)").replace("y = Cast<to = 6>(b)", "f = Floor(b) y = Cast<to = 6>(f)")
    samples = Samples(data=[{"x": np.linspace(-1, 1, 64, dtype=np.float32)}])
    found = compare(save(before), save(after), worker=worker, tolerance=Tolerance(inexact=True), samples=samples)
    assert (found.status, found.rounded) == ("different", False)


def test_first_difference_beside_external_data(save: Save, worker: Worker, tmp_path: Path) -> None:
    text = "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1.0, 2.0, 3.0, 4.0}> { h = MatMul(x, w) y = %s }"
    paths = []
    for operator in ("Relu(h)", "Abs(h)"):
        path = tmp_path / f"{operator[:3]}-external.onnx"
        onnx.save(
            onnx.load(save(text % operator)), path, save_as_external_data=True, location=f"{path.stem}.data", size_threshold=0
        )
        paths.append(path)
    for runtime in ("onnxruntime", "reference"):
        found = compare(*paths, worker=worker, runtime=runtime)  # type: ignore[arg-type]
        assert "the first tensor that differs is 'y', made by Relu 'y'; Relu became Abs" in found.reason
