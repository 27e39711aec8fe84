"""How answers are found: one after the other without a stack, each once, and again where an edit may change them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from split_rewrite.rewriter.graph.knowledge.asking import Asked, Finding, answer, forget, forget_readers
from split_rewrite.rewriter.graph.knowledge.record import EMPTY, Question

pytestmark = pytest.mark.quick

LONG = 100_000


class Numbers(SimpleNamespace):
    """A graph whose values have numbers as names: what is found about each is up to a test."""

    def __init__(self) -> None:
        super().__init__(records={}, readers={}, model=SimpleNamespace(input_symbols=frozenset()), found=[])

    def resolve(self, name: str) -> str:
        return name

    def find(self, name: str) -> Any:
        return self

    def ask(self, finder: Callable[[Any, str], Finding], name: str) -> Any:
        def noted(place: Any, name: str) -> Finding:
            self.found.append(name)
            return finder(place, name)

        return answer({Question.CONSTANT: noted}, self, name, Question.CONSTANT)  # type: ignore[arg-type]


def depth(place: Any, name: str) -> Finding:
    before = -1 if name == "0" else (yield Asked(place, str(int(name) - 1), Question.CONSTANT))
    return {name: before + 1}


def test_a_long_chain_needs_no_stack() -> None:
    assert Numbers().ask(depth, str(LONG)) == LONG


def test_each_answer_is_found_once() -> None:
    place = Numbers()
    assert [place.ask(depth, name) for name in ("3", "5", "4")] == [3, 5, 4]
    assert sorted(place.found) == ["0", "1", "2", "3", "4", "5"]


def test_nothing_is_known_of_a_cycle() -> None:
    def around(place: Any, name: str) -> Finding:
        other = yield Asked(place, "b" if name == "a" else "a", Question.CONSTANT)
        return {name: other}

    assert Numbers().ask(around, "a") is None


def unknown_first(place: Any, name: str) -> Finding:
    """Nothing is known of 0 until the place says so, and nothing of what is found from it."""
    if name == "0":
        return {name: place.zero}
    before = yield Asked(place, str(int(name) - 1), Question.CONSTANT)
    return {name: None if before is None else before + 1}


def test_what_was_unknown_is_asked_again_after_an_edit() -> None:
    place = Numbers()
    place.zero = None
    assert place.ask(unknown_first, "3") is None
    place.zero = 0
    assert place.ask(unknown_first, "3") is None, "nobody said that something changed"
    assert forget(place, ["0"])  # type: ignore[arg-type]
    assert place.ask(unknown_first, "3") == 3


def test_what_is_known_stays_after_an_edit() -> None:
    place = Numbers()
    place.ask(depth, "3")
    forget(place, ["0"])  # type: ignore[arg-type]
    forget_readers([(place, "1")])  # type: ignore[list-item]
    assert [place.records[name].constant for name in "0123"] == [0, 1, 2, 3]
    assert not forget(place, ["7"])  # type: ignore[arg-type]


def test_what_is_found_on_the_way_is_kept_and_forgotten_in_the_same_way() -> None:
    def pair(place: Any, name: str) -> Finding:
        if name == "x":
            return {name: None}
        operand = yield Asked(place, "x", Question.CONSTANT)
        return {"a": operand, "b": operand}

    place = Numbers()
    assert place.ask(pair, "a") is None and place.records["b"].constant is None
    forget(place, ["x"])  # type: ignore[arg-type]
    assert place.records["a"] == place.records["b"] == EMPTY
