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
from typing import Any, TypeVar, cast

from .. import calls
from ..process.child import Child, Crashed, NotReady, core_count, serving_program
from . import custom_operators
from .budget import Budget
from .messages import (
    IDLE_SECONDS,
    MANY_BYTES,
    NUMBERED,
    Failure,
    ForgetRequest,
    Outputs,
    PrepareRequest,
    Question,
    RunRequest,
)
from .values import byte_size

_Answer = TypeVar("_Answer")
TIME_LIMIT = 300.0
"""Seconds after which a request that has no other limit counts as one that never ends."""
MEMORY_SHARE = 0.8
"""The share of the machine's memory that a model may take."""
_MARGIN = 10.0
"""The seconds before a child ends because it is idle in which it gets no request any more."""
_LOOK = 0.1
"""The seconds between two looks at whether a thread that waits for a worker has to stop."""
_MOST_SAMPLES = 16
"""The largest number of samples in one message."""
_SERVER = "split_rewrite.rewriter.execution.model_server"


class Worker:
    """Runs models in a child process, which the first request starts. Any number of threads may use it.

    If a request crashes the child or takes too long, the answer is a `Failure`; the next request gets a new child.
    """

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit
        self._memory = _memory_bytes()
        self._child: Child | None = None
        self._used = 0.0
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._budget: Budget | None = None
        self._prepared: set[str] = set()

    def ask(self, question: Question[_Answer]) -> _Answer | Failure:
        """The answer to `question`, which the child computes."""
        return cast("_Answer | Failure", self._ask(question, self.time_limit))

    @contextmanager
    def within(self, budget: Budget) -> Iterator[None]:
        """For the time of a `with`, requests that the clock of `budget` does not allow are not finished.

        Starting a child and importing a runtime do not count.
        """
        outer, self._budget = self._budget, budget
        try:
            with budget.timed():
                yield
        finally:
            self._budget = outer

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
        calls.check()
        with self._lock:
            limit = f"{self.time_limit:g} s"
            try:
                self._prepare(request.runtime if isinstance(request, RunRequest) else "")
                if self._budget is not None and self._budget.seconds_left < seconds:
                    seconds, limit = self._budget.seconds_left, f"{self._budget.clock:.3g} s of processor time"
                return self._answer(request, seconds) if seconds > 0 else _out_of_time(limit)
            except Crashed as crash:
                self._stop()
                calls.check()
                if self._budget is not None and crash.is_timeout:
                    self._budget.charge(seconds)
                return _out_of_time(limit) if crash.is_timeout else Failure("crashed", str(crash))
            except NotReady as end:
                self._stop()
                return Failure("crashed", str(end))
            except BaseException:
                self._stop()  # half a message is on its way
                raise

    def _answer(self, request: object, seconds: float) -> object:
        answer, taken = pickle.loads(self._running().ask(pickle.dumps(request, protocol=5), seconds, self._memory))
        if self._budget is not None and not isinstance(request, PrepareRequest):
            self._budget.charge(taken)
        return answer

    def _prepare(self, runtime: str) -> None:
        """Start the child if there is none, and import `runtime` there if it is not "": no budget is charged for that."""
        self._running()
        if runtime and runtime not in self._prepared:
            self._answer(PrepareRequest(runtime), self.time_limit)
            self._prepared.add(runtime)

    def _forget(self) -> None:
        """Tell the child to free the model that it holds."""
        if self._child is not None:
            self._ask(ForgetRequest(), self.time_limit)

    def _running(self) -> Child:
        """The child; if there is none, it is started."""
        if self._child is None or not self._child.is_alive() or time.monotonic() - self._used > IDLE_SECONDS - _MARGIN:
            self._stop()
            self._child = Child(serving_program(_SERVER), "-W", "ignore")
        self._used = time.monotonic()
        return self._child

    def _stop(self) -> None:
        """End the child."""
        self._prepared.clear()
        if self._child is not None:
            self._child.close()
            self._child = None


_idle: list[Worker] = []
"""The workers that no thread uses at the moment."""
_returned = threading.Condition()
"""Tells threads that a worker was given back. It guards `_idle` and `_lent`."""
_lent = 0
"""The number of workers that threads use at the moment."""
_held = threading.local()
"""Whether the current thread uses a worker."""


@contextmanager
def lent_worker() -> Iterator[Worker]:
    """A worker for the current thread, for the time of a `with`.

    There are as many as the machine has processors, because starting one and importing a runtime takes half a second; threads wait
    for them. Only a thread that has one already gets another without waiting, because others may wait for the one that it has.
    """
    is_outer = not getattr(_held, "any", False)
    worker = _taken(is_outer)
    _held.any = True
    try:
        yield worker
    finally:
        if is_outer:
            _held.any = False
        _give_back(worker)


def _taken(waits: bool) -> Worker:
    """An idle worker, or a new one where there are fewer than processors, or the thread cannot wait."""
    global _lent
    with _returned:
        while waits and not _idle and _lent >= core_count():
            _returned.wait(_LOOK)
            calls.beat()
        _lent += 1
        return _idle.pop() if _idle else Worker()


def _give_back(worker: Worker) -> None:
    global _lent
    with _returned:
        _lent -= 1
        is_kept = len(_idle) < core_count()
        if is_kept:
            _idle.append(worker)
        _returned.notify()
    if not is_kept:
        worker.close()


class Session:
    """One model in one runtime. The worker's `time_limit` bounds all its runs together."""

    def __init__(self, worker: Worker, path: Path, runtime: str, number: int, probes: tuple[str, ...] = ()) -> None:
        self._worker = worker
        self._probes = probes
        self._custom = custom_operators.in_use()
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
        request = RunRequest(self._number, self._path, self._runtime, tuple(group), self._probes, self._custom)
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


def _out_of_time(limit: str) -> Failure:
    return Failure("timeout", f"not finished within {limit}")


def _absolute(path: Path) -> str:
    return str(Path(path).resolve())


def _memory_bytes() -> int:
    """The bytes of the machine's memory that a model may use."""
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * MEMORY_SHARE)
    except (AttributeError, ValueError, OSError):
        return sys.maxsize
