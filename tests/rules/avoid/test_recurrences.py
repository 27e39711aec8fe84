"""The rules that avoid forms of recurrent operators, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

REWRITES = [
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
