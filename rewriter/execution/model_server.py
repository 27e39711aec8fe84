"""The child process of a comparison: it loads one model at a time, runs it, and answers with its outputs or with a failure.

The output that native code prints is discarded, and a crash there affects no other process.
"""

from __future__ import annotations

import importlib
import pickle
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from ..process import serving
from .in_onnxruntime import NumberedOnnxRuntime, OnnxRuntime, OptimizedOnnxRuntime
from .in_reference import Float64, Reference
from .messages import (
    IDLE_SECONDS,
    MANY_BYTES,
    NUMBERED,
    OPTIMIZED,
    Failure,
    ForgetRequest,
    Outputs,
    PrepareRequest,
    Question,
    RejectedError,
    RunRequest,
    one_line,
)
from .values import byte_size

_MANY_SECONDS = 0.1
"""Seconds after which an answer is sent even if samples are missing."""


class _Loaded(Protocol):
    def run(self, inputs: dict[str, Any]) -> Outputs: ...


_RUNTIMES: dict[str, Callable[[str, tuple[str, ...], tuple[str, ...]], _Loaded]] = {
    "onnxruntime": OnnxRuntime,
    NUMBERED: NumberedOnnxRuntime,
    OPTIMIZED: OptimizedOnnxRuntime,
    "onnx.reference": Reference,
    "float64": Float64,
}


_MODULES = {runtime: "onnxruntime" if runtime.startswith("onnxruntime") else "onnx.reference" for runtime in _RUNTIMES}
"""The module of each runtime."""


def _prepare(runtime: str) -> None:
    """Import the module of `runtime`. If that is impossible, the first run says why."""
    with suppress(Exception):
        importlib.import_module(_MODULES[runtime])


class _Server:
    """Answers requests. It holds at most one loaded model, so that the memory is that of one model."""

    def __init__(self) -> None:
        self._session = -1
        self._loaded: _Loaded | None = None

    def answer(self, request: RunRequest | PrepareRequest | ForgetRequest | Question[object]) -> object:
        if isinstance(request, PrepareRequest):
            return _prepare(request.runtime)
        if isinstance(request, RunRequest):
            return self._run(request)
        if isinstance(request, ForgetRequest):
            return self._forget()
        return _or_failure(lambda question: question.answer(), request)

    def _run(self, request: RunRequest) -> list[Outputs | Failure] | Failure:
        loaded = _or_failure(self._load, request)
        if isinstance(loaded, Failure):
            return loaded
        begun, held = time.monotonic(), 0
        answers: list[Outputs | Failure] = []
        for inputs in request.samples:
            answer = _or_failure(loaded.run, inputs)
            answers.append(answer)
            held += sum(map(byte_size, answer.values)) if isinstance(answer, Outputs) else 0
            if held > MANY_BYTES or time.monotonic() - begun > _MANY_SECONDS:
                break
        return answers

    def _load(self, request: RunRequest) -> _Loaded:
        loaded = self._loaded if self._session == request.session else None
        if loaded is None:
            self._forget()  # before the next one takes memory
            self._loaded = loaded = _RUNTIMES[request.runtime](request.path, request.probes, request.custom)
            self._session = request.session
        return loaded

    def _forget(self) -> None:
        self._loaded = None


_Answer = TypeVar("_Answer")
_Argument = TypeVar("_Argument")


def _or_failure(call: Callable[[_Argument], _Answer], argument: _Argument) -> _Answer | Failure:
    """What `call` returns, or the failure for the exception that it raises."""
    try:
        return call(argument)
    except RejectedError as rejected:
        return rejected.failure
    except MemoryError:
        return Failure("memory", "out of memory")
    except Exception as error:
        return Failure("invalid", one_line(error))


def serve() -> None:
    """Answer requests, each with the seconds of processor time that it took, until the parent ends or asks nothing for a while."""
    server = _Server()

    def answer(request: memoryview) -> bytes:
        begun = time.process_time()
        answered = server.answer(pickle.loads(request))
        return pickle.dumps((answered, time.process_time() - begun), protocol=5)

    serving.serve(answer, by_processor_time=True, idle_seconds=IDLE_SECONDS)
