"""The rules that avoid forms of recurrent operators, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model, run

REWRITES = [
    (
        "recurrences.one_node_for_each_direction",
        "Bidirectional recurrent operator",
        14,
        "g (float[2,1,1] x) => (float[2,2,1,1] y) <float[2,1,1] w = {1, 2}> "
        '{ y = RNN<hidden_size = 1, direction = "bidirectional", activations = ["Relu", "Tanh"]>(x, w, w) }',
        """
            <int64[2] backward = {1, 0}, float[1,1,1] w0 = {1}, float[1,1,1] w1 = {2}>
            {
              reversed = Gather <axis = 0> (x, backward)
              first = RNN <hidden_size = 1, activations = ["Relu"]> (x, w0, w0)
              second = RNN <hidden_size = 1, activations = ["Tanh"]> (reversed, w1, w1)
              ahead = Gather <axis = 0> (second, backward)
              y = Concat <axis = 1> (first, ahead)
            }
        """,
    ),
    (
        "recurrences.run_forward",
        "Recurrent operator in reverse",
        14,
        "g (float[3,2,1] x, float[1,1,1] w) => (float[3,1,2,1] y, float[1,2,1] h) "
        '{ y, h = RNN<hidden_size = 1, direction = "reverse">(x, w, w) }',
        """
            <int64[3] backward = {2, 1, 0}>
            {
              reversed = Gather <axis = 0> (x, backward)
              ahead, h = RNN <hidden_size = 1> (reversed, w, w)
              y = Gather <axis = 0> (ahead, backward)
            }
        """,
    ),
    (
        "recurrences.reach_last_state_forward",
        "Last state of a recurrent operator in reverse",
        14,
        "g (float[2,2,1] x, float[1,1,1] w) => (float[1,2,1] h) "
        '{ absent, h = RNN<hidden_size = 1, direction = "reverse">(x, w, w) }',
        "<int64[2] backward = {1, 0}> { reversed = Gather <axis = 0> (x, backward) absent, h = RNN <hidden_size = 1> (reversed, w, w) }",
    ),
    (
        "recurrences.name_other_outputs",
        "LSTM with its last cell state alone",
        14,
        "g (float[2,1,1] x, float[1,4,1] w) => (float[1,1,1] c) { ABSENT, ABSENT, c = LSTM<hidden_size = 1>(x, w, w) }",
        "{ all, last, c = LSTM <hidden_size = 1> (x, w, w) }",
    ),
    (
        "recurrences.state_bias",
        "Recurrent operator without a bias",
        14,
        "g (float[3,2,1] x, float[1,1,1] w) => (float[3,1,2,1] y) { y = RNN<hidden_size = 1>(x, w, w) }",
        "<float[1,2] bias = {0, 0}> { y = RNN <hidden_size = 1> (x, w, w, bias) }",
    ),
    (
        "recurrences.take_last_step",
        "Recurrent operator without all steps",
        14,
        "g (float[3,2,1] x, float[1,1,1] w) => (float[1,2,1] h) { ABSENT, h = RNN<hidden_size = 1>(x, w, w) }",
        "<int64 last = {-1}> { all = RNN <hidden_size = 1> (x, w, w) h = Gather <axis = 0> (all, last) }",
    ),
    (
        "recurrences.take_last_step",
        "Recurrent operator without all steps",
        14,
        'g (float[3,2,1] x, float[1,1,1] w) => (float[1,2,1] h) { ABSENT, h = RNN<hidden_size = 1, direction = "reverse">(x, w, w) }',
        '{ all, h = RNN <hidden_size = 1, direction = "reverse"> (x, w, w) }',
    ),
    (
        "recurrences.state_outputs",
        "Recurrent operator without last state",
        14,
        "g (float[3,2,1] x, float[1,1,1] w) => (float[3,1,2,1] y) { y = RNN<hidden_size = 1>(x, w, w) }",
        "{ y, last_hidden = RNN <hidden_size = 1> (x, w, w) }",
    ),
    (
        "recurrences.state_first",
        "Recurrent operator without a first state",
        14,
        "g (float[3,2,1] x, float[1,1,1] w) => (float[3,1,2,1] y) { y = RNN<hidden_size = 1>(x, w, w) }",
        "<float[1,2,1] first = {0, 0}> { y = RNN <hidden_size = 1> (x, w, w, , , first) }",
    ),
    (
        "recurrences.state_outputs",
        "Recurrent operator without last state",
        14,
        "g (float[1,1,1] x, float[1,4,1] w) => (float[1,1,1,1] y) { y = LSTM<hidden_size = 1>(x, w, w) }",
        "{ y, h, c = LSTM <hidden_size = 1> (x, w, w) }",
    ),
    (
        "recurrences.take_last_state",
        "Last state of a recurrent operator",
        14,
        "g (float[3,1,1] x, float[1,1,1] w) => (float[3,1,1,1] y, float[1,1,1] h) { y, h = RNN<hidden_size = 1>(x, w, w) }",
        "<int64 last = {-1}> { y = RNN <hidden_size = 1> (x, w, w) h = Gather <axis = 0> (y, last) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


@pytest.mark.parametrize(("op_type", "direction"), [("LSTM", "reverse"), ("GRU", "bidirectional"), ("LSTM", "bidirectional")])
def test_each_direction_computes_the_same_forward(op_type: str, direction: str, tmp_path: Path) -> None:
    """All steps and the last states, with weights, peepholes and first states computed at run time."""
    ways, gates = 1 + (direction == "bidirectional"), 3 + (op_type == "LSTM")
    shapes = {"x": [4, 2, 3], "w": [ways, gates * 2, 3], "r": [ways, gates * 2, 2], "b": [ways, gates * 4], "h0": [ways, 2, 2]}
    made = [f"float[4,{ways},2,2] y", f"float[{ways},2,2] h"]
    called = "x, w, r, b, , h0"
    if op_type == "LSTM":
        shapes |= {"c0": [ways, 2, 2], "p": [ways, 6]}
        made.append(f"float[{ways},2,2] c")
        called += ", c0, p"
    given = ", ".join(f"float{shape} {name}" for name, shape in shapes.items())
    results = ", ".join(name.split()[-1] for name in made)
    attributes = f'hidden_size = 2, direction = "{direction}"'
    before = model(f"g ({given}) => ({', '.join(made)}) {{ {results} = {op_type}<{attributes}>({called}) }}", 14)
    form = "Bidirectional recurrent operator" if ways == 2 else "Last state of a recurrent operator in reverse"
    result = converted(before, form, tmp_path)
    assert direction.encode() not in result.SerializeToString()
    generator = np.random.default_rng(0)
    feeds = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    for expected, got in zip(run(before, feeds), run(result, feeds), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
