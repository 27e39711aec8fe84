"""One call of a public function: the name of its model, its limit on time, and its progress, as the working code sees them.

The code inside announces its steps with `progress`; wherever it may take long, it asks `check` whether it has to stop. What stops
it is a `Stopped`, which no handler of errors on the way takes for an error of its own, and which `limits` turns into the error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

from . import progress
from .boundary import Theirs
from .errors import OutOfTimeError, SplitRewriteError


class Stopped(BaseException):
    """The call has to end with `error`. It is a BaseException so that it passes through everything that handles exceptions."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


_name: ContextVar[str] = ContextVar("name", default="")
_limit: ContextVar[tuple[float, float] | None] = ContextVar("limit", default=None)
"""The time of `time.monotonic` at which the call has to end, and the seconds that it was given."""


def name() -> str:
    """The name of the model of the current call; "" if it has none."""
    return _name.get()


def remaining() -> float | None:
    """The seconds that are left for the current call, None for any number."""
    limit = _limit.get()
    return None if limit is None else limit[0] - time.monotonic()


def check() -> None:
    """Raises Stopped where the time of the current call is over."""
    limit = _limit.get()
    if limit is not None and time.monotonic() >= limit[0]:
        raise Stopped(OutOfTimeError(f"not finished within {limit[1]:g} s"))


def is_watched() -> bool:
    """Whether the current call has a limit on time, or somebody who may stop it. Then a wait calls `beat` from time to time."""
    return _limit.get() is not None or _caller.get() is not None


def beat() -> None:
    """Raises Stopped where the time of the current call is over, or its listener, which is called again, raises an error."""
    check()
    caller = _caller.get()
    if caller is not None:
        caller.again()


@contextmanager
def limits(model_name: str = "", timeout: float | None = None, listener: progress.Listener | None = None) -> Iterator[None]:
    """Work on the model of this name for at most `timeout` seconds, and call `listener` with the progress.

    Inside another call, the earlier limit counts. Raises: OutOfTimeError, and Theirs for what `listener` raises.
    """
    now = time.monotonic()
    outer = _limit.get()
    own = outer if timeout is None else (now + timeout, timeout)
    limit = own if outer is None or own is None else min(own, outer)
    caller = _caller.get() if listener is None else _Caller(listener)
    tokens = _name.set(model_name or _name.get()), _limit.set(limit), _caller.set(caller)
    try:
        with nullcontext() if caller is None else progress.listening(caller):
            check()
            yield
    except SplitRewriteError as error:
        error.model = error.model or name()
        raise
    except Stopped as stop:
        if not isinstance(stop.error, OutOfTimeError):
            raise Theirs(stop.error) from None
        stop.error.model = name()
        raise stop.error from None
    finally:
        for variable, token in zip((_name, _limit, _caller), tokens, strict=True):
            variable.reset(token)  # type: ignore[arg-type]


class _Caller:
    """The caller's listener, whose errors stop the call."""

    def __init__(self, listener: Callable[[str, int, int], object]) -> None:
        self._listener = listener
        self._last = ("starting", 0, 1)

    def __call__(self, what: str, done: int, total: int) -> None:
        self._last = (what, done, total)
        self.again()

    def again(self) -> None:
        """Call the listener with what it heard last."""
        try:
            self._listener(*self._last)
        except Exception as error:
            raise Stopped(error) from None


_caller: ContextVar[_Caller | None] = ContextVar("caller", default=None)
