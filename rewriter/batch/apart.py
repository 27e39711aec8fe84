"""Converts each model in a process of its own. If that process crashes, hangs or runs out of memory, only this one model is lost.

The process is kept for the next model, because starting one takes longer than most conversions. It ends when this process ends.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from types import FunctionType
from typing import Any, BinaryIO, NoReturn

from ..errors import INTERNAL_ERROR, UNUSABLE, ArgumentError, shortened
from ..process.child_call import child_environment, import_path, interpreter
from .conversion import Answer, convert_model, failed
from .task import ModelReport, Request, Task

_GRACE = 3.0
"""Seconds that a process gets to clean up after it was told to end."""
_LARGEST_KEPT = 1 << 30
"""Bytes of peak memory up to which a process is kept for the next model. A process that needed more is ended."""

# The child sees the modules that this process sees, and not those of the folder that the user happens to be in.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from split_rewrite.rewriter.batch.apart import serve; serve()"


class Ended(Exception):
    """A process ended before it had converted its model. `str()` says how it ended; `exit_status` is the status to report."""

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(message)
        self.exit_status = exit_status


class _Rehearsal(pickle.Pickler):
    """Pickles what a process apart could load."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType | type) and obj.__module__ == "__main__":
            raise pickle.PicklingError(f"{obj.__qualname__} has to be in a module that can be imported, and is in the main program")
        return NotImplemented


def check_sendable(request: Request) -> None:
    """Raises: ArgumentError where a process apart cannot get the options of `request`, such as a rule that it cannot import."""
    try:
        _Rehearsal(io.BytesIO()).dump(request.options)
    except Exception as error:
        reason = shortened(" ".join(str(error).split()) or type(error).__name__)
        raise ArgumentError(f"options: each model is converted in another process, which cannot be given them: {reason}") from error


class Children:
    """The processes that convert models. Each thread that calls `convert` gets a process to itself for the time of the call."""

    def __init__(self) -> None:
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()
        self._is_closed = False

    def convert(self, task: Task, request: Request) -> ModelReport:
        """Convert the model of `task` in a process of its own and return the report. If the process fails, the report says so."""
        child = self._take()
        try:
            answer = child.ask(task, request)
        except Ended as end:
            self._drop(child)
            return ModelReport(task, failed(task, end, end.exit_status))
        except BaseException:
            self._drop(child)  # half a message is on its way
            raise
        if child.is_large or self._is_closed:
            self._drop(child)
        else:
            self._idle.append(child)
        if answer.document is None:
            assert task.earlier is not None
            return ModelReport(task, task.earlier)
        return ModelReport(task, answer.document, answer.page)

    def close(self) -> None:
        """End all processes, whether they are converting or idle."""
        self._is_closed = True
        for child in list(self._all):
            child.close()

    def _take(self) -> _Child:
        with suppress(IndexError):
            child = self._idle.pop()
            if child.is_alive():
                return child
            self._drop(child)
        child = _Child()
        self._all.add(child)
        return child

    def _drop(self, child: _Child) -> None:
        self._all.discard(child)
        child.close()


_children = Children()
"""The processes that `convert_apart` uses when it runs in this process, for example in a thread pool of the caller."""


def convert_apart(task: Task, request: Request) -> ModelReport:
    """Convert the model of `task` as `Children.convert` does. A module-level function, so that any executor can pickle it."""
    return _children.convert(task, request)


class _Child:
    def __init__(self) -> None:
        self.is_large = False
        self._is_ready = False
        self._is_busy = False
        self._is_expired = False
        self._closing = threading.Lock()
        self._process = subprocess.Popen(
            [interpreter(), "-c", _PROGRAM.format(path=import_path())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
            start_new_session=True,  # a Ctrl-C reaches this process alone, and all that the child started can be ended at once
        )

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, task: Task, request: Request) -> Answer:
        """Send the task to the process and return its answer. Raises Ended where the process ends before it answers."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None and answers is not None
        self._is_busy = True
        try:
            if not self._is_ready:
                self._is_ready = pickle.load(answers)
            with self._time_limit(request.timeout):
                pickle.dump((task, request), requests)
                requests.flush()
                answer, self.is_large = pickle.load(answers)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise self._end(request) from error
        self._is_busy = False
        return answer

    def close(self) -> None:
        """End the process and all processes that it started.

        If it is converting, it gets `_GRACE` seconds to remove its temporary files. The thread that asks it and the one that closes
        all processes may come here at the same time.
        """
        with self._closing:
            self._terminate()
            self._process.communicate()

    @contextmanager
    def _time_limit(self, seconds: float | None) -> Iterator[None]:
        if seconds is None:
            yield
            return
        timer = threading.Timer(seconds, self._expire)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._is_expired = True
        self._terminate()

    def _terminate(self) -> None:
        if self._is_busy and self.is_alive():
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _end(self, request: Request) -> Ended:
        status = self._process.wait()
        if not self._is_ready:
            return Ended(f"no process can be started to convert it in: it ended with status {status}", INTERNAL_ERROR)
        if self._is_expired:
            return Ended(f"not finished within {request.timeout:g} s", UNUSABLE)
        if status == -signal.SIGTERM or status == 128 + signal.SIGTERM:
            return Ended("the process that converted it was told to end", UNUSABLE)
        if status >= 0:
            return Ended(f"the process that converted it ended with status {status}", INTERNAL_ERROR)
        reason = signal.Signals(-status).name
        if reason == "SIGKILL":
            return Ended("the process that converted it was killed, as the system does when memory runs out", UNUSABLE)
        return Ended(f"the process that converted it crashed: signal {reason}", INTERNAL_ERROR)


def serve() -> NoReturn:
    """The main loop of the converting process: answer requests until the parent process closes the pipe."""
    requests, answers = _private_pipes()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that temporary files go
    inbox: SimpleQueue[tuple[Task, Request]] = SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests, inbox), daemon=True).start()
    _say(answers, True)
    while True:
        task, request = inbox.get()
        _limit_memory(request.memory)
        if request.folder is not None:
            with suppress(OSError):  # another machine need not have it; then relative paths are not found
                os.chdir(request.folder)
        _say(answers, (convert_model(task, request), _peak_memory() > _LARGEST_KEPT))


def _say(answers: BinaryIO, answer: object) -> None:
    pickle.dump(answer, answers)
    answers.flush()


def _read_requests(requests: BinaryIO, inbox: SimpleQueue[Any]) -> None:
    """Read requests in a thread, even while a model is converted, so that this process notices the end of its parent at once.

    It also ends where a request cannot be loaded, as for lack of memory: nobody waits for an answer that cannot come.
    """
    try:
        while True:
            inbox.put(pickle.load(requests))
    except (EOFError, OSError, pickle.UnpicklingError):
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
    finally:
        os._exit(1)


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Move the pipes away from descriptors 0 and 1, where a library that reads or prints would corrupt the messages."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    return requests, answers


def _limit_memory(limit: int | None) -> None:
    """Limit the memory of this process, and of each process that it starts, to `limit` bytes: allocations beyond that fail."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # POSIX only

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard if limit is None else limit, hard))


def _peak_memory() -> int:
    with suppress(ImportError):
        import resource  # POSIX only

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return 0
