"""NonMaxSuppression below opset 10: the same boxes in the same order as onnxruntime's own."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal


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
    """Boxes and scores on a grid, so that many are equal, and scores that are not numbers."""
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


REWRITES = [
    (
        "non_max_suppression.select_best_remaining_box",
        10,
        9,
        "g (float[1,2,4] b, float[1,1,2] s) => (int64[N,3] y) <int64 n = {1}, float t = {0.5}> { y = NonMaxSuppression (b, s, n, t) }",
        """
            <int64[2] lanes = {-1, 2}, int64[2] table = {-1, 4}, int64 column = {0}, int64 column_3 = {1},
             int64 boxes = {2}, int64 column_6 = {3}, int64[1] flat = {-1}, float number = {0}, int64 most = {2147483648},
             float[1,1] taken = {0}, int64[2] row = {1, -1}, float t = {0.5}, int64[2] slots = {0, 1},
             int64[1,1] lane_numbers = {0}, float most_2 = {1}, int64[0] scalar = {}>
            {
              by_score, by_score_2 = TopK <axis = 2, k = 2> (s)
              less = Less (by_score, by_score)
              every_one = Not (less)
              live = Cast <to = 1> (every_one)
              lanes_2 = Reshape (live, lanes)
              lanes_3 = Reshape (by_score_2, lanes)
              table_2 = Reshape (b, table)
              column_2 = Gather <axis = 1> (table_2, column)
              column_4 = Gather <axis = 1> (table_2, column_3)
              column_5 = Gather <axis = 1> (table_2, boxes)
              column_7 = Gather <axis = 1> (table_2, column_6)
              side = Min (column_2, column_5)
              side_2 = Max (column_2, column_5)
              side_3 = Min (column_4, column_7)
              side_4 = Max (column_4, column_7)
              extent = Sub (side_4, side_3)
              extent_2 = Sub (side_2, side)
              area = Mul (extent, extent_2)
              places = Reshape (by_score_2, flat)
              total = ReduceSum <keepdims = 0> (lanes_2)
              any_live = Greater (total, number)
              loop, loop_2, loop_3 = Loop (most, any_live, lanes_2, taken) <body = body (int64 number_2, bool go_on, float[] carried, float[] carried_2) => (bool[] any, float[] live_2, float[] taken_2, int64[] pick_2) {
                row_2 = Reshape (carried, row)
                pick = ArgMax <axis = 1, keepdims = 0> (row_2)
                lane = Div (pick, boxes)
                start = Mul (lane, boxes)
                slot = Sub (pick, start)
                box = Gather <axis = 0> (places, pick)
                others = Gather <axis = 0> (lanes_3, lane)
                side_5 = Gather <axis = 0> (side, box)
                side_6 = Gather <axis = 0> (side_2, box)
                side_7 = Gather <axis = 0> (side_3, box)
                side_8 = Gather <axis = 0> (side_4, box)
                side_9 = Gather <axis = 0> (area, box)
                side_10 = Gather <axis = 0> (side, others)
                side_11 = Gather <axis = 0> (side_2, others)
                side_12 = Gather <axis = 0> (side_3, others)
                side_13 = Gather <axis = 0> (side_4, others)
                side_14 = Gather <axis = 0> (area, others)
                first = Max (side_7, side_12)
                last = Min (side_8, side_13)
                extent_3 = Sub (last, first)
                first_2 = Max (side_5, side_10)
                last_2 = Min (side_6, side_11)
                extent_4 = Sub (last_2, first_2)
                meets = Greater (extent_3, number)
                meets_2 = Greater (extent_4, number)
                meets_3 = And (meets, meets_2)
                shared = Mul (extent_3, extent_4)
                areas = Add (side_9, side_14)
                union = Sub (areas, shared)
                part = Div (shared, union)
                is_much = Greater (part, t)
                overlaps = And (meets_3, is_much)
                itself = Equal (slots, slot)
                dropped = Or (overlaps, itself)
                here = Equal (lane_numbers, lane)
                once = Cast <to = 1> (here)
                taken_2 = Add (carried_2, once)
                has_room = Less (taken_2, most_2)
                is_full = Not (has_room)
                or = Or (dropped, is_full)
                dropped_2 = And (here, or)
                not = Not (dropped_2)
                kept = Cast <to = 1> (not)
                live_2 = Mul (carried, kept)
                pick_2 = Reshape (pick, scalar)
                is_live = Greater (live_2, number)
                holds = Cast <to = 1> (is_live)
                total_2 = ReduceSum <keepdims = 0> (holds)
                any = Greater (total_2, number)
              }>
              place = Gather <axis = 0> (places, loop_3)
              batch = Div (place, boxes)
              lane_2 = Div (loop_3, boxes)
              class = Sub (lane_2, batch)
              column_8 = Unsqueeze <axes = [1]> (batch)
              column_9 = Unsqueeze <axes = [1]> (class)
              column_10 = Unsqueeze <axes = [1]> (place)
              y = Concat <axis = 1> (column_8, column_9, column_10)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
