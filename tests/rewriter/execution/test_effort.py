"""Estimates of what a run costs: they tell milliseconds from minutes, and are the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.execution.effort import Effort, effort_of, inferred

Save = Callable[..., Path]
MILLISECOND = 1e6
SIZES = {"x": (1, 8, 160, 160)}
POOL = "g (float[1,8,160,160] x) => (float[1,8,a,b] y) { y = MaxPool <kernel_shape = [3,3]> (x) }"
RELU = "g (float[1,8,160,160] x) => (float[1,8,160,160] y) { y = Relu (x) }"
CONV = "g (float[1,8,160,160] x, float[{n},8,3,3] w) => (float[1,{n},a,b] y) {{ y = Conv (x, w) }}"
LOOP = """g (float[1,8,160,160] x, int64 n, bool c) => (float[1,8,160,160] y) {
  y = Loop (n, c, x) <body = b (int64 i, bool d, float[1,8,160,160] a) => (bool e, float[1,8,160,160] r) { e = Identity (d) r = Sin (a) }> }"""


def effort(save: Save, text: str, shapes: dict[str, tuple[int, ...]] = SIZES) -> Effort:
    return effort_of(str(save(text)), shapes)


def test_a_pool_takes_the_reference_a_second_and_onnxruntime_a_millisecond(save: Save) -> None:
    """Measured: 0.9 s and 1 ms."""
    found = effort(save, POOL)
    assert 300 * MILLISECOND < found.run("float64") == found.run("onnx.reference") < 3000 * MILLISECOND
    assert 0.1 * MILLISECOND < found.run("onnxruntime") < 5 * MILLISECOND
    assert found.elements == 8 * 158 * 158


def test_a_resize_takes_the_reference_of_older_releases_of_onnx_a_second(save: Save) -> None:
    """Measured: 0.6 s with onnx 1.17 to 1.21, and 1 ms with 1.22 and newer."""
    text = """g (float[1,3,8,8] x) => (float[1,3,16,16] y) <float[4] f = {1,1,2,2}> { y = Resize <mode = "nearest"> (x, , f) }"""
    is_old = tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 22)
    found = effort(save, text, {"x": (1, 3, 8, 8)}).reference
    assert 200 * MILLISECOND < found < 2000 * MILLISECOND if is_old else found < 5 * MILLISECOND


@pytest.mark.parametrize("outputs", ["int64[1] y", "int64[1] y, int64[n] r"])
@pytest.mark.parametrize(("limit", "propagates"), [(1 << 40, False), (1000, True)])
def test_the_numbers_of_a_long_range_are_not_written_down(
    limit: int, propagates: bool, outputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """onnx would need a quarter of a second for each million of them, and 8 bytes for each."""
    calls: list[bool] = []
    infer = onnx.shape_inference.infer_shapes

    def recorded(given: onnx.ModelProto, data_prop: bool = False) -> onnx.ModelProto:
        calls.append(data_prop)
        return infer(given)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", recorded)
    text = """g (int64[1] x) => (%s) <int64 a = {0}, int64 b = {%d}, int64 d = {1}, int64[1] k = {5}, int64[1] e = {6}>
        { r = Range (a, b, d) q = Slice (r, k, e) y = Add (q, x) }"""
    inferred(model(text % (outputs, limit), 13))
    assert calls == ([False, True] if propagates else [False])


def test_elementwise_operators_are_cheap_in_both(save: Save) -> None:
    found = effort(save, RELU)
    assert found.reference < 20 * MILLISECOND and found.onnxruntime < MILLISECOND


def test_products_count(save: Save) -> None:
    few, many = (effort(save, CONV.format(n=n), {**SIZES, "w": (n, 8, 3, 3)}) for n in (8, 64))
    assert many.onnxruntime == pytest.approx(8 * few.onnxruntime, rel=0.2)


def test_bodies_run_several_times(save: Save) -> None:
    shapes = {**SIZES, "n": (), "c": ()}
    assert effort(save, LOOP, shapes).onnxruntime > 2 * effort(save, RELU).onnxruntime


def test_the_shapes_of_the_inputs_decide(save: Save) -> None:
    assert effort(save, "g (float[n] x) => (float[n] y) { y = Neg (x) }", {"x": (1000,)}).elements == 1000
