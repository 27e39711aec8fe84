"""The parent side of `runner`: a child process that runs models, kept over many requests and replaced when it dies."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

from .model_server import DescribeRequest, Description, Failure, ForgetRequest, Outputs, RunRequest

TIME_LIMIT = 300.0
"""Seconds that one model may take, over all its runs in a comparison."""
MEMORY_SHARE = 0.8
"""The part of the machine's memory that a model may take."""

# The child sees the modules that this process sees, and not those of the folder that the user happens to be in.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from split_rewrite.rewriter.comparison.model_server import serve; serve({memory})"


class Worker:
    """Runs models in a child process, started by the first request. Any number of threads may use it.

    A request that crashes the child, or takes longer than it may, is answered by a `Failure`; the next gets a new
    child.
    """

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def describe(self, path: Path) -> Description | Failure:
        """The inputs and outputs of the model at `path`."""
        return cast("Description | Failure", self._ask(DescribeRequest(_absolute(path)), self.time_limit))

    def open(self, path: Path, runtime: str = "onnxruntime", probes: tuple[str, ...] = ()) -> Session:
        """A session that loads `path` once for many runs; `runtime` is "onnxruntime" or "onnx.reference".

        `probes` are values of the main graph that are to be outputs too, after its own.
        """
        return Session(self, path, runtime, next(self._numbers), probes)

    def run(self, path: Path, inputs: dict[str, Any], runtime: str = "onnxruntime") -> Outputs | Failure:
        """Load the model at `path` and run it once on `inputs` (name → array, list, dict or None)."""
        with self.open(path, runtime) as session:
            return session.run(inputs)

    def close(self) -> None:
        """End the child. The worker can still be used: it starts another one."""
        with self._lock:
            self._stop()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: object, seconds: float) -> object:
        with self._lock:
            process = self._running()
            deadline = time.monotonic() + seconds
            timer = threading.Timer(seconds, process.kill)
            timer.start()
            try:
                return _exchange(process, request)
            except (EOFError, OSError, pickle.UnpicklingError):
                self._stop()
                if time.monotonic() >= deadline:
                    return Failure("timeout", f"not finished within {self.time_limit:g} s")
                return Failure("crashed", _death(process.returncode))
            except BaseException:
                self._stop()  # half a message is on its way
                raise
            finally:
                timer.cancel()

    def _forget(self) -> None:
        """Let the child free the model it holds."""
        if self._process is not None:
            self._ask(ForgetRequest(), self.time_limit)

    def _running(self) -> subprocess.Popen[bytes]:
        """The child of this very process: one that a fork took along belongs to the other side."""
        if self._process is None or self._owner != os.getpid():
            program = _PROGRAM.format(path=sys.path, memory=_memory_bytes())
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._owner = os.getpid()
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.communicate()


class Session:
    """One model in one runtime. `time_limit` of the worker bounds all its runs together."""

    def __init__(self, worker: Worker, path: Path, runtime: str, number: int, probes: tuple[str, ...] = ()) -> None:
        self._worker = worker
        self._probes = probes
        self._path = _absolute(path)
        self._runtime = runtime
        self._number = number
        self._seconds_left = worker.time_limit

    def run(self, inputs: dict[str, Any]) -> Outputs | Failure:
        """Run the model; loads it when this is the first run, or the child was replaced since."""
        start = time.monotonic()
        request = RunRequest(self._number, self._path, self._runtime, inputs, self._probes)
        answer = self._worker._ask(request, max(self._seconds_left, 0))
        self._seconds_left -= time.monotonic() - start
        return cast("Outputs | Failure", answer)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker._forget()


def _exchange(process: subprocess.Popen[bytes], request: object) -> object:
    assert process.stdin is not None and process.stdout is not None
    pickle.dump(request, process.stdin, protocol=5)
    process.stdin.flush()
    return pickle.load(process.stdout)


def _death(status: int) -> str:
    if status >= 0:
        return f"the process ended with status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def _absolute(path: Path) -> str:
    return str(Path(path).resolve())


def _memory_bytes() -> int:
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * MEMORY_SHARE)
    except (AttributeError, ValueError, OSError):
        return sys.maxsize
