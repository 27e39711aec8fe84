"""How far a long job is: whoever works says it, whoever shows it listens. By default nobody does, and it costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
"""Gets what is being done, how many steps of it are done, and how many there are."""
Advance = Callable[[int], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """`listener` hears of all work done inside."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def is_shown() -> bool:
    """Whether anybody listens."""
    return _listener.get() is not None


def begin(what: str, total: int) -> Advance:
    """Work of `total` steps begins; the answer is to be called with the number of steps done since the last call."""
    listener = _listener.get()
    if listener is None:
        return lambda steps: None
    done = 0
    listener(what, 0, total)

    def advance(steps: int) -> None:
        nonlocal done
        done = min(done + steps, total)
        listener(what, done, total)

    return advance
