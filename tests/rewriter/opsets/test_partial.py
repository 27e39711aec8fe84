"""Entries that are computed are the entries that onnx's reference implementation computes, wherever they are known."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from split_rewrite.rewriter.opsets import partial

SIZES = {"b": 3, "l": 5}
"""What the symbols are in one run; None stands for 7."""
OPERANDS = [("b",), ("l",), (2,), (1,), (0,), (None,), ("b", 2, "l"), (None, 1, "b"), (1, 1, 1), ("b", None, 0)]


def value(entries: partial.Entries) -> np.ndarray:
    return np.array([SIZES[e] if isinstance(e, str) else 7 if e is None else e for e in entries], np.int64)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Equal"])
def test_arithmetic(operator: str) -> None:
    node = helper.make_node(operator, ["a", "b"], ["c"])
    for one in OPERANDS:
        for other in OPERANDS:
            if operator == "Div" and 0 in value(other):
                continue
            found = partial.entries(node, [one, other], [1, 1])
            (expected,) = ReferenceEvaluator(node).run(None, {"a": value(one), "b": value(other)})
            assert found is not None and len(found) == len(expected)
            for entry, number in zip(found, np.asarray(expected).tolist(), strict=True):
                assert entry is None or (SIZES[entry] if isinstance(entry, str) else entry) == number


@pytest.mark.parametrize("operands", [[(None,), ("b", 2)], [None, ("b",)], [("b", 1), ("b", 1, 2)]])
def test_what_is_not_known_gives_no_number(operands: list[partial.Entries | None]) -> None:
    node = helper.make_node("Add", ["a", "b"], ["c"])
    found = partial.entries(node, operands, [1, 1])
    assert found is None or all(entry is None for entry in found)


def test_an_equal_symbol_may_have_any_size_but_a_negative_one() -> None:
    node = helper.make_node("Equal", ["a", "b"], ["c"])
    assert partial.entries(node, [("b", "b", "b", "b", 2), (-1, 3, "l", "b", None)], [1, 1]) == (0, None, None, 1, None)


def test_a_long_vector_says_no_shape() -> None:
    node = helper.make_node("Concat", ["a", "b"], ["c"], axis=0)
    assert partial.entries(node, [(1,) * 40, (2,) * 40], [1, 1]) is None


def test_an_attribute_that_a_caller_sets_says_nothing() -> None:
    node = helper.make_node("Cast", ["a"], ["b"])
    node.attribute.add(name="to", ref_attr_name="type", type=2)
    assert partial.entries(node, [("b",)], [1]) is None


def test_rows_of_a_matrix_are_no_entries() -> None:
    node = helper.make_node("Gather", ["a", "b"], ["c"])
    assert partial.entries(node, [("b", 2), (0,)], [2, 0]) is None


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [(("b", 2, "l"), (None, 2, "l")), (("b", "l"), (None, None)), (("l", 1, 1, "b"), ("l", 1, 1, "b"))],
)
def test_a_size_beyond_the_axes_of_a_reshaped_value_is_never_0(wanted: partial.Entries, expected: partial.Entries) -> None:
    """On an axis that the data has, a size of 0 copies the dimension; on any other, the Reshape fails."""
    node = helper.make_node("Reshape", ["x", "s"], ["y"])
    assert partial.output_shape(node, ("l", None), [None, wanted]) == expected
