"""NonMaxSuppression below opset 10: the same boxes in the same order as onnxruntime's own."""

import numpy as np
import pytest
from helpers import assert_same, model, refusal


def proto(boxes="2,B,4", scores="2,3,B", inputs="b, s, m, i, t", **sizes):
    for name, size in sizes.items():
        boxes, scores = boxes.replace(name, str(size)), scores.replace(name, str(size))
    text = f"g (float[{boxes}] b, float[{scores}] s, int64[1] m, float[1] i, float[1] t) => (int64[K, 3] y)"
    return model(f"{text} {{ y = NonMaxSuppression <center_point_box = CENTER> ({inputs}) }}".replace("CENTER", "0"), 11)


@pytest.mark.parametrize(
    "given, target, reason",
    [
        pytest.param(proto(), 9, "the axis dimension 'B' of 's' is unknown", id="how many are sorted"),
        pytest.param(proto(B=0), 9, "NonMaxSuppression of 0 boxes is new in opset 10", id="no box to look at"),
    ],
)
def test_refused(given, target, reason):
    assert reason in refusal(given, target)


def feeds(shape, most, overlap, threshold, seed=0):
    """Boxes and scores on a grid, so that many are equal, and scores that are no numbers."""
    rng = np.random.default_rng(seed)
    boxes, scores = rng.integers(0, 6, (shape[0], shape[2], 4)) / 4, rng.integers(-3, 6, shape) / 4
    scores[rng.random(shape) < 0.1] = np.nan
    floats = {"b": boxes, "s": scores, "i": [overlap], "t": [threshold]}
    return {"m": np.array([most]), **{name: np.array(value, np.float32) for name, value in floats.items()}}


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("target", [9, 8, 7])
@pytest.mark.parametrize("most", [-1, 0, 1, 4, 2**40])
def test_ties_batches_and_classes(center, target, most):
    given = proto(B=20)
    given.graph.node[0].attribute[0].i = center
    for overlap, threshold in [(0, -1), (0.3, 0), (0.5, 0.5), (1, -0.25), (0.5, 9)]:
        assert_same(given, target, feeds((2, 3, 20), most, overlap, threshold))


@pytest.mark.parametrize("inputs", ["b, s", "b, s, m", "b, s, m, i"])
def test_inputs_that_are_absent(inputs):
    values = feeds((2, 3, 9), 4, 0.5, 0)
    values["s"] = np.nan_to_num(values["s"])
    assert_same(proto(B=9, inputs=inputs), 9, values)


@pytest.mark.parametrize("batches, classes", [(2, 3), (1, 1), (0, 2), (1, 0)])
@pytest.mark.parametrize("target", [9, 7])
def test_sizes_at_run_time(batches, classes, target):
    assert_same(proto("N,7,4", "N,C,7"), target, feeds((batches, classes, 7), 3, 0.4, 0))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_boxes_without_size_or_end(value):
    values = feeds((2, 3, 20), 5, 0.3, 0)
    values["b"][:, ::3, 1] = value
    values["b"][:, 1::3, 2:] = values["b"][:, 1::3, :2]
    assert_same(proto(B=20), 9, values)
