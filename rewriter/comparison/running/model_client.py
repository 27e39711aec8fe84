"""The parent's side of `model_server`: a child process that runs models, kept over many requests and replaced when it dies."""

from __future__ import annotations

import itertools
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from ...process.child import Child, Crashed, NotReady, serving_program
from ..judging.differences import byte_size
from .messages import MANY_BYTES, NUMBERED, DescribeRequest, Description, Failure, ForgetRequest, Outputs, RunRequest

TIME_LIMIT = 300.0
"""Seconds that one model may take in a comparison, over all its runs."""
MEMORY_SHARE = 0.8
"""The share of the machine's memory that a model may take."""
_MOST_SAMPLES = 16
"""The largest number of samples in one message."""
_SERVER = "split_rewrite.rewriter.comparison.running.model_server"


class Worker:
    """Runs models in a child process, which the first request starts. Any number of threads may use it.

    If a request crashes the child or takes too long, the answer is a `Failure`; the next request gets a new child.
    """

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit
        self._memory = _memory_bytes()
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def describe(self, path: Path) -> Description | Failure:
        """The inputs and outputs of the model at `path`."""
        return cast("Description | Failure", self._ask(DescribeRequest(_absolute(path)), self.time_limit))

    def open(self, path: Path, runtime: str = "onnxruntime", probes: tuple[str, ...] = ()) -> Session:
        """Open a session that loads the model at `path` once for many runs; `runtime` is "onnxruntime" or "onnx.reference".

        `probes` are values of the main graph that the runs return as well, after the outputs of the model.
        """
        return Session(self, path, runtime, next(self._numbers), probes)

    def run(self, path: Path, inputs: dict[str, Any], runtime: str = "onnxruntime") -> Outputs | Failure:
        """Load the model at `path` and run it once on `inputs` (name → array, list, dict or None)."""
        with self.open(path, runtime) as session:
            return session.run(inputs)

    def close(self) -> None:
        """End the child. The worker can still be used: the next request starts another child."""
        with self._lock:
            self._stop()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: object, seconds: float) -> object:
        if seconds <= 0:
            return self._out_of_time()
        with self._lock:
            try:
                return pickle.loads(self._running().ask(pickle.dumps(request, protocol=5), seconds, self._memory))
            except Crashed as crash:
                self._stop()
                return self._out_of_time() if crash.is_timeout else Failure("crashed", str(crash))
            except NotReady as end:
                self._stop()
                return Failure("crashed", str(end))
            except BaseException:
                self._stop()  # half a message is on its way
                raise

    def _out_of_time(self) -> Failure:
        """The failure of a request that took longer than the time limit."""
        return Failure("timeout", f"not finished within {self.time_limit:g} s")

    def _forget(self) -> None:
        """Tell the child to free the model that it holds."""
        if self._child is not None:
            self._ask(ForgetRequest(), self.time_limit)

    def _running(self) -> Child:
        """The child; if there is none, it is started."""
        if self._child is None or not self._child.is_alive():
            self._stop()
            self._child = Child(serving_program(_SERVER), "-W", "ignore")
        return self._child

    def _stop(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None


_idle: list[Worker] = []
"""The workers that no thread uses at the moment."""


@contextmanager
def lent_worker() -> Iterator[Worker]:
    """A worker for the current thread, for the time of a `with`.

    One is kept: starting one and importing a runtime takes half a second.
    """
    try:
        worker = _idle.pop()
    except IndexError:
        worker = Worker()
    try:
        yield worker
    finally:
        if _idle:
            worker.close()
        else:
            _idle.append(worker)


class Session:
    """One model in one runtime. The worker's `time_limit` bounds all its runs together."""

    def __init__(self, worker: Worker, path: Path, runtime: str, number: int, probes: tuple[str, ...] = ()) -> None:
        self._worker = worker
        self._probes = probes
        self._path = _absolute(path)
        self._runtime = runtime
        self._number = number
        self._seconds_left = worker.time_limit

    def run(self, inputs: dict[str, Any]) -> Outputs | Failure:
        """Run the model on `inputs`, after loading it if this is the first run or the child was replaced since."""
        ((_, answer),) = self.run_all([inputs])
        return answer

    def run_all(self, samples: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Outputs | Failure]]:
        """Run the model on each of `samples`; yields each sample with its outputs, in order.

        Small samples are sent together, because a message takes longer than the run of a small model. So a few samples are taken
        from the iterable and run before the first result is yielded.
        """
        for group in _groups(samples):
            yield from zip(group, self._run_group(group), strict=True)

    def _run_group(self, group: Sequence[dict[str, Any]]) -> Iterator[Outputs | Failure]:
        """The results for the samples of one message. If the child answers only some of them, the rest is sent again."""
        while group:
            answers = self._ask(group)
            if isinstance(answers, Failure) and len(group) > 1:
                for inputs in group:  # one of them is to blame
                    yield from self._run_group([inputs])
                return
            answers = [answers] if isinstance(answers, Failure) else answers
            yield from answers
            group = group[len(answers) :]

    def _ask(self, group: Sequence[dict[str, Any]]) -> list[Outputs | Failure] | Failure:
        start = time.monotonic()
        request = RunRequest(self._number, self._path, self._runtime, tuple(group), self._probes)
        answer = self._worker._ask(request, max(self._seconds_left, 0))
        self._seconds_left -= time.monotonic() - start
        return cast("list[Outputs | Failure] | Failure", answer)

    def numbered(self) -> Session:
        """A session for the same model whose failures say which node failed, if the runtime can."""
        runtime = NUMBERED if self._runtime == "onnxruntime" else self._runtime
        return Session(self._worker, Path(self._path), runtime, next(self._worker._numbers))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker._forget()


def _groups(samples: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The samples in groups, one group for each message."""
    group: list[dict[str, Any]] = []
    size = 0
    for inputs in samples:
        group.append(inputs)
        size += sum(map(byte_size, inputs.values()))
        if size > MANY_BYTES or len(group) == _MOST_SAMPLES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _absolute(path: Path) -> str:
    return str(Path(path).resolve())


def _memory_bytes() -> int:
    """The bytes of the machine's memory that a model may use."""
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * MEMORY_SHARE)
    except (AttributeError, ValueError, OSError):
        return sys.maxsize
