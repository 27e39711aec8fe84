"""RNN, GRU, LSTM: output_sequence and layout."""

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, model, run

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("has_y", [True, False])
def test_down_to_6_output_sequence_says_whether_there_is_y(op, has_y):
    rows = 5 * GATES[op]
    declared = ("float[3,1,2,5] y, " if has_y else "") + "float[1,2,5] h"
    text = (
        f"g (float[3,2,4] x, float[1,{rows},4] w, float[1,{rows},5] r) => ({declared}) {{ y, h = {op} <hidden_size=5> (x, w, r) }}"
    )
    proto = model(text, 7)
    proto.graph.node[0].output[0] = "y" if has_y else ""
    found = attributes(convert_version(proto, 6).model.graph.node[0])
    assert found.get("output_sequence") == (1 if has_y else None)


@pytest.mark.parametrize("op", GATES)
def test_up_from_6_output_sequence_goes(op):
    rows = 5 * GATES[op]
    text = (
        f"g (float[3,2,4] x, float[1,{rows},4] w, float[1,{rows},5] r) => (float[3,1,2,5] y) "
        f"{{ y = {op} <hidden_size=5, output_sequence=1> (x, w, r) }}"
    )
    assert attributes(convert_version(model(text, 6), 7).model.graph.node[0]) == {"hidden_size": 5}


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("target", [13, 7])
def test_batch_first_becomes_transposes(op, target):
    """onnxruntime has no layout=1: the expected numbers are those of the sequence-first form on transposed data."""
    rows, states = 5 * GATES[op], ["h0", "c0"] if op == "LSTM" else ["h0"]
    names = ["y", "h", "c"] if op == "LSTM" else ["y", "h"]
    inputs = ", ".join(["x", "w", "r", "", "", *states])

    def proto(layout):
        x, state, y = {0: ("3,2,4", "1,2,5", "3,1,2,5"), 1: ("2,3,4", "2,1,5", "2,3,1,5")}[layout]
        outputs = ", ".join(f"float[{y if name == 'y' else state}] {name}" for name in names)
        weights = f"float[1,{rows},4] w, float[1,{rows},5] r"
        given = "".join(f", float[{state}] {name}" for name in states)
        call = f"{', '.join(names)} = {op} <hidden_size=5, layout={layout}> ({inputs})"
        return model(f"g (float[{x}] x, {weights}{given}) => ({outputs}) {{ {call} }}", 14)

    random = np.random.default_rng(5)
    feeds = {"x": (2, 3, 4), "w": (1, rows, 4), "r": (1, rows, 5), **dict.fromkeys(states, (2, 1, 5))}
    feeds = {name: random.normal(size=shape).astype(np.float32) for name, shape in feeds.items()}
    sequence_first = {name: v.transpose(1, 0, 2) if name in ("x", "h0", "c0") else v for name, v in feeds.items()}
    y, *final = run(proto(0), sequence_first)
    result = convert_version(proto(1), target).model
    expected = [y.transpose(2, 0, 1, 3), *(state.transpose(1, 0, 2) for state in final)]
    for want, got in zip(expected, run(result, feeds), strict=True):
        np.testing.assert_array_equal(got, want)


REWRITES = [
    (
        "rnn.drop_output_sequence",
        6,
        7,
        "g (float[1,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[1,1,1,1] y) { y = RNN <hidden_size = 1, output_sequence = 1> (x, w, r) }",
        "{ y = RNN <hidden_size = 1> (x, w, r) }",
    ),
    (
        "rnn.add_output_sequence",
        7,
        6,
        "g (float[1,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[1,1,1,1] y) { y = RNN <hidden_size = 1> (x, w, r) }",
        "{ y = RNN <hidden_size = 1, output_sequence = 1> (x, w, r) }",
    ),
    (
        "rnn.sequence_first",
        14,
        13,
        "g (float[2,3,1] x, float[1,4,1] w, float[1,4,4] r) => (float[2,3,1,4] y) { y = RNN <hidden_size = 4, layout = 1> (x, w, r) }",
        "{ v1 = Transpose <perm = [1, 0, 2]> (x) v2 = RNN <hidden_size = 4> (v1, w, r) y = Transpose <perm = [2, 0, 1, 3]> (v2) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
