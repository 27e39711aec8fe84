"""Run a function where it cannot hurt: in a forked child, whose crash becomes an ordinary Python error.

onnx's C++ (checker, shape inference) can abort, overflow the stack or loop on odd models. A child inherits the imported modules;
where the platform cannot fork, a fresh interpreter does the same. Within a `session`, one child does all that is asked: forking
and forgetting a process of a hundred megabytes costs 3 ms and more each time, and the memory of the next one is cold again.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import FileIO
from typing import Any, NamedTuple

_M_MXFAST = 1
"""The option of mallopt for the largest block that is merged late."""


_CPU_SECONDS = 30
"""For any task; what loops in onnx never ends. Checking 100,000 nodes, 10 MiB, takes a second."""
_CPU_SECONDS_PER_MIB = 10


class Crashed(Exception):
    """The child died without an answer; `str()` says of what ("signal SIGSEGV", "time limit of 60 s")."""


class _Task(NamedTuple):
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    cpu_seconds: int


def run_isolated(function: Callable[..., Any], *args: Any, cpu_seconds: int | None = None) -> Any:
    """`function(*args)`, computed in a child process.

    The result must be picklable; what cannot be pickled of the rest gets a child of its own, also in a session.
    `cpu_seconds` bounds the child's processor time; by default, it grows with the bytes among `args`.
    Raises: whatever `function` raises; `Crashed` when the child dies or runs out of time.
    """
    if cpu_seconds is None:
        size = sum(len(argument) for argument in args if isinstance(argument, bytes))
        cpu_seconds = _CPU_SECONDS + _CPU_SECONDS_PER_MIB * (size >> 20)
    task = _Task(function, args, cpu_seconds)
    if not hasattr(os, "fork"):
        return _run_in_new_interpreter(task)
    open_session = _current.get()
    request = None if open_session is None else _pickled(task)
    if open_session is not None and request is not None:
        return open_session.ask(request, task)
    child = _Child(task)
    try:
        return child.answer(task)
    finally:
        child.close()


@contextmanager
def session() -> Iterator[None]:
    """Calls of `run_isolated` inside share one child, forked at once, while this process is still small."""
    if not hasattr(os, "fork") or _current.get() is not None:
        yield
        return
    opened = _Session()
    token = _current.set(opened)
    try:
        yield
    finally:
        _current.reset(token)
        opened.close()


class _Session:
    def __init__(self) -> None:
        self._child: _Child | None = _Child()

    def ask(self, request: bytes, task: _Task) -> Any:
        """Raises as `run_isolated`; the next task gets a new child where this one died."""
        if self._child is None:
            self._child = _Child()
        try:
            self._child.ask(request)
            return self._child.answer(task)
        except Crashed:
            self.close()
            raise

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


_current: ContextVar[_Session | None] = ContextVar("session", default=None)


class _Child:
    """A forked process that does one task after the other: `first`, which it inherits, and those that come through a pipe."""

    def __init__(self, first: _Task | None = None) -> None:
        requests, self._to_child = os.pipe()
        self._from_child, answers = os.pipe()
        with warnings.catch_warnings():
            # numpy's idle BLAS threads make CPython warn of fork; the child never enters BLAS.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            os.close(self._to_child)
            os.close(self._from_child)
            _serve(first, requests, answers)
        os.close(requests)
        os.close(answers)
        self._busy = first is not None
        self._status: int | None = None

    def ask(self, request: bytes) -> None:
        self._busy = True
        with suppress(BrokenPipeError), FileIO(self._to_child, "wb", closefd=False) as pipe:
            _send(pipe, request)

    def answer(self, task: _Task) -> Any:
        with FileIO(self._from_child, "rb", closefd=False) as pipe:
            answer = _receive(pipe)
        if answer is None:
            raise Crashed(_death(self._wait(), task.cpu_seconds) or "no answer")
        self._busy = False
        ok, value = pickle.loads(answer)
        if ok:
            return value
        raise value

    def close(self) -> None:
        """Let the child go; if it is at work, nobody waits for the answer any more."""
        os.close(self._to_child)
        os.close(self._from_child)
        if self._busy and self._status is None:
            os.kill(self._pid, signal.SIGKILL)
        self._wait()

    def _wait(self) -> int:
        if self._status is None:
            _, self._status = os.waitpid(self._pid, 0)
        return self._status


def _serve(task: _Task | None, requests: int, answers: int) -> None:
    """Do `task` and then what is asked, until nobody can ask any more; leave without any of the parent's exit handlers."""
    try:
        _current.set(None)
        _silence()
        _merge_freed_memory_at_once()
        with FileIO(requests, "rb") as incoming, FileIO(answers, "wb") as outgoing:
            task = task or _next_task(incoming)
            while task is not None:
                _limit(task.cpu_seconds)
                _send(outgoing, _answer(task))
                task = _next_task(incoming)
    finally:
        os._exit(0)


def _next_task(pipe: FileIO) -> _Task | None:
    request = _receive(pipe)
    return None if request is None else pickle.loads(request)


def _send(pipe: FileIO, message: bytes) -> None:
    for part in (len(message).to_bytes(8, "little"), message):
        left = memoryview(part)
        while left:
            left = left[pipe.write(left) :]


def _receive(pipe: FileIO) -> bytearray | None:
    """One message; None where the other end is closed before it is complete."""
    header = _read(pipe, 8)
    return None if header is None else _read(pipe, int.from_bytes(header, "little"))


def _read(pipe: FileIO, length: int) -> bytearray | None:
    data = bytearray(length)
    left = memoryview(data)
    while left:
        count = pipe.readinto(left)
        if not count:
            return None
        left = left[count:]
    return data


def _limit(cpu_seconds: int) -> None:
    """Processor time from now on."""
    import resource  # POSIX only, like fork

    usage = resource.getrusage(resource.RUSAGE_SELF)
    until = int(usage.ru_utime + usage.ru_stime) + 1 + cpu_seconds
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until if most == resource.RLIM_INFINITY else min(until, most), most))


def _silence() -> None:
    """C++ aborts print to file descriptor 2, and leave a core; the user gets our line instead."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)


def _merge_freed_memory_at_once() -> None:
    """glibc merges small blocks that were freed all together, whenever a large one is wanted, which onnx does all the time.

    The full check of 100,000 nodes takes 0.92 s so, and 0.73 s where blocks are merged as they are freed.
    """
    with suppress(AttributeError, OSError):  # other C libraries have no such setting
        ctypes.CDLL(None).mallopt(_M_MXFAST, 0)


def _pickled(task: _Task) -> bytes | None:
    try:
        return pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def _answer(task: _Task) -> bytes:
    try:
        return pickle.dumps((True, task.function(*task.arguments)))
    except Exception as error:
        try:
            packed = pickle.dumps((False, error))
            pickle.loads(packed)  # some C++ exceptions pickle but cannot be built again
            return packed
        except Exception:
            return pickle.dumps((False, RuntimeError(str(error))))


def _death(status: int, cpu_seconds: int) -> str:
    if not os.WIFSIGNALED(status):
        return ""
    number = os.WTERMSIG(status)
    if number == signal.SIGXCPU:
        return f"time limit of {cpu_seconds} s"
    return f"signal {signal.Signals(number).name}"


def _run_in_new_interpreter(task: _Task) -> Any:
    program = (
        "import pickle, sys; from split_rewrite.rewriter import child_call; "
        "sys.stdout.buffer.write(child_call._answer(pickle.load(sys.stdin.buffer)))"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps(task),
            capture_output=True,
            timeout=task.cpu_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Crashed(f"time limit of {task.cpu_seconds} s") from error
    if done.returncode != 0:
        raise Crashed(f"exit status {done.returncode}")
    ok, value = pickle.loads(done.stdout)
    if ok:
        return value
    raise value
