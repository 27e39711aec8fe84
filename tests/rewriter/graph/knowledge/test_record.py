"""Records: answers that never change, and what may still grow."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TypeProto, helper

from split_rewrite.rewriter.graph.knowledge.record import EMPTY, UNASKED, Question, Typed, may_grow, merged
from split_rewrite.rewriter.opsets.type_protos import Shape, shape_of

pytestmark = pytest.mark.quick

SYMBOLS = frozenset({"N"})


def tensor(shape: Shape | None) -> TypeProto:
    return helper.make_tensor_type_proto(1, shape)


def test_an_answer_makes_another_record() -> None:
    record = EMPTY.with_answer(Question.ENTRIES, (1, "N"))
    assert record.entries == (1, "N") and record.constant is UNASKED
    assert EMPTY.entries is UNASKED


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, True),
        ((1, None), True),
        ((1, "N"), False),
        (np.zeros(2), False),
        ("tensor(float)", False),
        (tensor([2, "N"]), False),
        (tensor([2, "M"]), True),
        (tensor(None), True),
        (Typed(tensor([2]), (2,)), False),
        (Typed(tensor([None]), (None,)), True),
        (Typed(), True),
        (Typed(helper.make_sequence_type_proto(tensor(None))), False),
    ],
)
def test_what_may_grow(answer: object, expected: bool) -> None:
    assert may_grow(answer, SYMBOLS) is expected


def test_an_edit_leaves_what_is_settled() -> None:
    record = EMPTY.with_answer(Question.ENTRIES, (1, 2)).with_answer(Question.CONSTANT, None)
    assert record.settled(SYMBOLS) == EMPTY.with_answer(Question.ENTRIES, (1, 2))


@pytest.mark.parametrize(
    ("known", "found", "expected"),
    [
        (None, (2,), (2,)),
        ((None, "N"), (3, 4), (3, 4)),
        ((None, 4), (3, None), (3, 4)),
        (("N",), (None,), ("N",)),
        ((1, 2), (None,), (1, 2)),
    ],
)
def test_two_types_of_one_value_add_up(known: Shape | None, found: Shape | None, expected: Shape | None) -> None:
    assert shape_of(merged(tensor(known), tensor(found))) == expected


def test_a_length_that_is_only_declared_is_not_proven() -> None:
    assert Typed(shape=(2, "N", 3), unproven=frozenset({0})).proven == (None, "N", 3)
