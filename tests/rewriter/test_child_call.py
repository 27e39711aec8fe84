"""What runs in a child: its answers and errors come back, its death is an error, and it goes when nobody asks any more."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import onnx
import pytest

from split_rewrite.rewriter import child_call
from split_rewrite.rewriter.child_call import Crashed, run_isolated, session

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def twice(value: bytes) -> bytes:
    return value + value


def refuse(message: str) -> None:
    raise onnx.checker.ValidationError(message)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def spin() -> None:
    while True:
        pass


def nested() -> tuple[int, int]:
    return os.getpid(), run_isolated(os.getpid)


CONTEXTS = {"alone": nullcontext, "in-a-session": session}


@pytest.fixture(params=list(CONTEXTS.values()), ids=list(CONTEXTS))
def context(request: pytest.FixtureRequest) -> Iterator[None]:
    with request.param():
        yield


@pytest.mark.usefixtures("context")
class TestEither:
    def test_big_answers_to_big_questions(self) -> None:
        big = os.urandom(1 << 23)
        assert run_isolated(twice, big) == big + big
        assert run_isolated(twice, b"a") == b"aa"

    def test_errors_are_raised_here(self) -> None:
        with pytest.raises(onnx.checker.ValidationError, match="no such thing"):
            run_isolated(refuse, "no such thing")
        assert run_isolated(twice, b"b") == b"bb"

    def test_a_crash_is_an_error_and_the_next_task_is_done(self) -> None:
        for _ in range(2):
            with pytest.raises(Crashed, match="signal SIGKILL"):
                run_isolated(die)
        assert run_isolated(twice, b"c") == b"cc"

    def test_an_exit_without_an_answer(self) -> None:
        with pytest.raises(Crashed, match="no answer"):
            run_isolated(os._exit, 0)

    def test_time_is_limited(self) -> None:
        with pytest.raises(Crashed, match="time limit of 1 s"):
            run_isolated(spin, cpu_seconds=1)
        assert run_isolated(twice, b"d") == b"dd"

    def test_time_is_limited_by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(child_call, "_CPU_SECONDS", 1)
        with pytest.raises(Crashed, match="time limit of 1 s"):
            run_isolated(spin)

    def test_what_cannot_be_pickled(self) -> None:
        here = 5
        assert run_isolated(lambda: here + 1) == 6

    def test_a_child_in_a_child_is_another(self) -> None:
        child, grandchild = run_isolated(nested)
        assert len({os.getpid(), child, grandchild}) == 3


def test_a_session_has_one_child() -> None:
    with session():
        first = run_isolated(os.getpid)
        with session():
            assert run_isolated(os.getpid) == first
        assert run_isolated(os.getpid) == first != os.getpid()
    assert run_isolated(os.getpid) != first


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    old = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, old)


def test_nobody_waits_for_a_child_that_is_at_work() -> None:
    with pytest.raises(KeyboardInterrupt), session(), interrupted_after(0.2):
        run_isolated(time.sleep, 600)


def test_nothing_stays_behind() -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with session():
        pid = run_isolated(os.getpid)
        with pytest.raises(Crashed):
            run_isolated(die)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert child_call._current.get() is None
    if before:
        assert len(os.listdir("/proc/self/fd")) == before
