from __future__ import annotations

import threading
from pathlib import Path

from split_rewrite.rewriter.cached import cached_property

ROOT = Path(__file__).resolve().parents[2]


class Slow:
    """`answer` is there when `go` is set."""

    def __init__(self) -> None:
        self.has_begun, self.go = threading.Event(), threading.Event()
        self.count = 0

    @cached_property
    def answer(self) -> int:
        """What is asked for."""
        self.has_begun.set()
        assert self.go.wait(60)
        self.count += 1
        return 42


def test_it_is_computed_once_and_may_be_set() -> None:
    slow, other = Slow(), Slow()
    slow.go.set()
    other.answer = 7
    assert [slow.answer, slow.answer, slow.count, other.answer, other.count] == [42, 42, 1, 7, 0]
    assert Slow.answer.__doc__ == "What is asked for."


def test_a_thread_does_not_wait_for_one_that_has_another_object() -> None:
    """With the property of functools it would, up to Python 3.11."""
    slow, fast = Slow(), Slow()
    fast.go.set()
    threads = [threading.Thread(target=lambda one=one: one.answer, daemon=True) for one in (slow, fast)]
    threads[0].start()
    assert slow.has_begun.wait(60)
    threads[1].start()
    threads[1].join(10)
    assert (fast.count, slow.count) == (1, 0)
    slow.go.set()
    threads[0].join(60)
    assert slow.count == 1


def test_nothing_uses_the_property_of_functools() -> None:
    modules = [path for folder in ("rewriter", "rules") for path in (ROOT / folder).rglob("*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in modules if path.stem != "cached"}
    users = {path.name for path, text in texts.items() if "cached_property" in text}
    assert users == {path.name for path, text in texts.items() if "cached import cached_property" in text}
