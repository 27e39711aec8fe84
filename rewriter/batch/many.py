"""Converts many models, on the cores of this machine or on any executor, such as one of a Dask cluster."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from queue import SimpleQueue

import onnx

from ..conversion import arguments
from ..conversion.options import Comparing, Options, checked, files_of_options, require_custom_operators
from ..errors import INTERNAL_ERROR, ArgumentError, SplitRewriteError, WrongTypeError
from ..process.child import NONE_STARTED, core_count
from .apart import Children, check_sendable, convert_apart
from .conversion import failed
from .inputs import plan
from .memory import memory_need
from .task import ModelReport, Request, Task, kept_files

_MOST_SUBMITTED = 2000
"""The number of tasks that an executor holds at most at any time, so that a million inputs do not become a million futures."""

_log = logging.getLogger(__name__)


def convert_many(
    inputs: Iterable[str | os.PathLike[str]] | Mapping[str, onnx.ModelProto],
    target_opset: int | None,
    *,
    into: str | os.PathLike[str] | None = None,
    in_place: bool = False,
    executor: Executor | None = None,
    compare: Comparing = "auto",
    options: Options | None = None,
    timeout: float | None = None,
    memory: int | None = None,
) -> Iterator[ModelReport]:
    """Convert the models of `inputs`, and yield the report of each as soon as it is done, in any order.

    `inputs` are files, folders (their .onnx files at any depth), globs, lists ("@list.txt") and URIs. The results go into the
    folder `into`, with the same folders below it, or with `in_place` to where the models are. With neither, nothing is written, as
    in `check_convertible`. Models in memory are a mapping of their names to them; the `model` of each report is the result, if
    there is one. `executor` is any executor of `concurrent.futures`; the default is one with a process for each core.
    With any executor, each model is converted in a process of its own. `timeout`, in seconds, is for one model; `memory`, in bytes,
    bounds the estimated need of all models that are converted at the same time.

    A model that is refused, or whose process crashes or runs out of time, has a report like any other. Raises, before anything is
    converted: SplitRewriteError where there are no models, or a file would be written that is also read, or written twice;
    ArgumentError or TypeError for wrong arguments.
    """
    in_memory = arguments.models("inputs", inputs) if isinstance(inputs, Mapping) else None
    paths = [] if isinstance(inputs, Mapping) else arguments.paths("inputs", inputs)
    if into is not None:
        arguments.check_path("into", into)
    if in_place and into is not None:
        raise ArgumentError("into and in_place exclude each other")
    if in_memory is not None and (in_place or into is not None):
        raise ArgumentError("into and in_place are for files; the results of models in memory are in the reports")
    target, options = checked(target_opset, compare, options)
    if executor is not None and not hasattr(executor, "submit"):
        raise WrongTypeError(f"executor has to be an Executor or None, not {type(executor).__name__}")
    arguments.check_limit("timeout", timeout)
    arguments.check_limit("memory", memory)
    request = Request(target, compare, options, timeout, memory)
    check_sendable(request)
    folder = None if into is None else os.path.join(into, "")
    if options.isolation == "in-process":
        raise ArgumentError(f"convert_many needs a child process, and {NONE_STARTED}")
    if in_memory is not None and not in_memory:
        raise SplitRewriteError("there are no models in what was given")
    if in_memory is not None:
        require_custom_operators(options)
        return run([Task(name, None, name, model=model) for name, model in in_memory.items()], request, executor)
    tasks = plan(paths, folder, in_place, lambda tasks: [*files_of_options(options), *kept_files(tasks, options)])
    require_custom_operators(options)
    return run(tasks, request, executor)


def run(
    tasks: Sequence[Task],
    request: Request,
    executor: Executor | None = None,
    processes: int | None = None,
    *,
    are_recorded: bool = False,
) -> Iterator[ModelReport]:
    """Yield the reports of `tasks` as they are done.

    They run on `executor`; without one, in as many processes of this machine as `processes` says, by default one for each core.
    Where the caller records each report (`are_recorded`), a process of this machine begins no other task before, so that whoever
    is killed has lost the tasks at work, and no others.
    """
    with suppress(FileNotFoundError):  # it was removed, so that no path can begin there
        request = request._replace(folder=os.getcwd())
    with ExitStack() as stack:
        convert, most = convert_apart, _MOST_SUBMITTED
        if executor is None:
            children, count = Children(), processes or core_count()
            most = count if are_recorded else most
            executor = stack.enter_context(ThreadPoolExecutor(count))
            stack.callback(children.close)  # before the threads are waited for
            convert = children.convert
        for report in _as_completed(Admission(tasks, request, most), request, executor, convert):
            level = logging.INFO if report.exit_status == 0 else logging.WARNING
            _log.log(level, "%s", _said(report), extra={"model": report.source})
            yield report


def _said(report: ModelReport) -> str:
    """The outcome of one model as a line for the log. Characters that are not valid Unicode are replaced."""
    text = f"{report.source}: {report.outcome}" + (f": {report.message}" if report.message else "")
    return text.encode(errors="backslashreplace").decode()


def _as_completed(
    admission: Admission, request: Request, executor: Executor, convert: Callable[[Task, Request], ModelReport]
) -> Iterator[ModelReport]:
    running: dict[Future[ModelReport], tuple[Task, int]] = {}
    done: SimpleQueue[Future[ModelReport]] = SimpleQueue()
    try:
        while True:
            for task, need in admission.next_tasks():
                future = _submitted(executor, convert, task, request)
                running[future] = task, need
                future.add_done_callback(done.put)
            if not running:
                return
            future = done.get()
            task, need = running.pop(future)
            admission.release(need)
            yield _report(future, task)
    finally:
        for future in running:
            future.cancel()


def _submitted(
    executor: Executor, convert: Callable[[Task, Request], ModelReport], task: Task, request: Request
) -> Future[ModelReport]:
    """Submit the task and return its future. If the executor does not take tasks any more, the future has the error."""
    try:
        return executor.submit(convert, task, request)
    except Exception as error:
        refused: Future[ModelReport] = Future()
        refused.set_exception(error)
        return refused


def _report(future: Future[ModelReport], task: Task) -> ModelReport:
    """The report of a finished task.

    Where the executor lost the task, for example because a worker was killed, the report says so.
    """
    try:
        return future.result()
    except (Exception, CancelledError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return ModelReport(
            task._replace(model=None), failed(task, RuntimeError(f"the executor did not finish it: {reason}"), INTERNAL_ERROR)
        )


class Admission:
    """Decides when a task may be submitted. No more than `most` of them run, or wait to run.

    If memory is limited, large models come first, and small ones run beside them if they fit.
    """

    def __init__(self, tasks: Sequence[Task], request: Request, most: int = _MOST_SUBMITTED) -> None:
        self._memory = request.memory
        self._most = most
        needs = [(task, 0 if self._memory is None else memory_need(task, request)) for task in tasks]
        self._waiting = deque(sorted(needs, key=lambda pair: -pair[1]))
        self._running = 0
        self._used = 0

    def next_tasks(self) -> Iterator[tuple[Task, int]]:
        """The tasks to submit now, each with the bytes of memory that it needs; call `release` with that
        number when the task is done.
        """
        while self._waiting and self._running < self._most:
            if self._fits(self._waiting[0][1]):
                task, need = self._waiting.popleft()
            elif self._fits(self._waiting[-1][1]):
                task, need = self._waiting.pop()
            else:
                return
            self._running += 1
            self._used += need
            yield task, need

    def release(self, need: int) -> None:
        """Give back the memory of a finished task, `need` bytes."""
        self._running -= 1
        self._used -= need

    def _fits(self, need: int) -> bool:
        """Whether a task that needs this many bytes may run now. If nothing else runs, any task may."""
        return self._memory is None or self._running == 0 or self._used + need <= self._memory
