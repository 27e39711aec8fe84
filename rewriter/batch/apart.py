"""Converts each model in a process of its own. If that process crashes, hangs or runs out of memory, only this one model is lost.

The process is kept for the next model, because starting one takes longer than most conversions. It ends when this process ends.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn

from ..errors import INTERNAL_ERROR, UNUSABLE, ArgumentError, shortened
from ..process import serving
from ..process.child import Child, Crashed, NotReady, Pool, serving_program
from .conversion import Answer, convert_model, failed
from .task import ModelReport, Request, Task

_GRACE = 3.0
"""Seconds that a process gets to clean up after it was asked to end."""
_LARGEST_KEPT = 1 << 30
"""Bytes of peak memory up to which a process is kept for the next model. A process that needed more is ended."""


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


def _start() -> Child:
    return Child(serving_program(__name__), grace=_GRACE)


class Children:
    """The processes that convert models. Each thread that calls `convert` gets a process to itself for the time of the call."""

    def __init__(self) -> None:
        self._pool = Pool(_start, most_idle=sys.maxsize)

    def convert(self, task: Task, request: Request) -> ModelReport:
        """Convert the model of `task` in a process of its own and return the report. If the process fails, the report says so."""
        about = task._replace(model=None)  # whoever keeps the report does not keep the model
        try:
            with self._pool.lent() as child:
                answer = _ask(child, task, request)
        except Ended as end:
            return ModelReport(about, failed(task, end, end.exit_status))
        if answer.document is None:
            assert task.earlier is not None
            return ModelReport(about, task.earlier)
        return ModelReport(about, answer.document, answer.page, answer.model)

    def close(self) -> None:
        """End all processes, whether they are converting or idle."""
        self._pool.close()


_children = Children()
"""The processes that `convert_apart` uses when it runs in this process, for example in a thread pool of the caller."""


def convert_apart(task: Task, request: Request) -> ModelReport:
    """Convert the model of `task` as `Children.convert` does. A module-level function, so that any executor can pickle it."""
    return _children.convert(task, request)


def _ask(child: Child, task: Task, request: Request) -> Answer:
    """The answer of `child`, which is closed if it holds much memory. Raises Ended where it ends before it answers."""
    memory = serving.NO_LIMIT if request.memory is None else request.memory
    try:
        said = child.ask(pickle.dumps((task, request)), request.timeout, memory)
    except NotReady as end:
        raise Ended(f"no process can be started to convert it in: {end}", INTERNAL_ERROR) from end
    except Crashed as crash:
        raise _ended(crash, request) from crash
    answer, is_large = pickle.loads(said)
    if is_large:
        child.close()
    return answer


def _ended(crash: Crashed, request: Request) -> Ended:
    status = crash.status
    if crash.is_timeout:
        return Ended(f"not finished within {request.timeout:g} s", UNUSABLE)
    if status in (-signal.SIGTERM, 128 + signal.SIGTERM):
        return Ended("the process that converted it was terminated", UNUSABLE)
    if status == serving.OUT_OF_MEMORY:
        return Ended("the process that converted it ran out of memory", UNUSABLE)
    if status >= 0:
        return Ended(f"the process that converted it ended with status {status}", INTERNAL_ERROR)
    if str(crash) == "signal SIGKILL":
        return Ended("the process that converted it was killed, as the system does when memory runs out", UNUSABLE)
    return Ended(f"the process that converted it crashed: {crash}", INTERNAL_ERROR)


def serve() -> NoReturn:
    """Convert models until the parent is gone."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that temporary files go
    serving.serve(_answer)


def _answer(message: memoryview) -> bytes:
    """The report of the conversion that `message` requests, and whether this process holds much memory after it."""
    task, request = pickle.loads(message)
    if request.folder is not None:
        with suppress(OSError):  # another machine need not have it; then relative paths are not found
            os.chdir(request.folder)
    return pickle.dumps((convert_model(task, request), _peak_memory() > _LARGEST_KEPT))


def _peak_memory() -> int:
    """The most memory that this process has held, in bytes; 0 where the system does not say.

    On Linux, what getrusage says counts what the parent held when it started this process.
    """
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    with suppress(ImportError):
        import resource  # POSIX only

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return 0
