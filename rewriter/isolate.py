"""Run a function where it cannot hurt: in a forked child, whose crash becomes an ordinary Python error.

onnx's C++ (checker, shape inference) can abort, overflow the stack or loop on odd models. Forking costs about a millisecond and
inherits the imported modules; where the platform cannot fork, a fresh interpreter does the same.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any


class Crashed(Exception):
    """The child died without an answer; `str()` says of what ("signal SIGSEGV", "time limit of 60 s")."""


def run_isolated(function: Callable[..., Any], *args: Any, cpu_seconds: int = 600) -> Any:
    """`function(*args)`, computed in a child process.

    Args and result must be picklable. `cpu_seconds` bounds the child's processor time.
    Raises: whatever `function` raises; `Crashed` when the child dies or runs out of time.
    """
    if not hasattr(os, "fork"):
        return _run_in_new_interpreter(function, args, cpu_seconds)
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # numpy's idle BLAS threads make CPython warn of fork; the child never enters BLAS.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _child(function, args, write_end, cpu_seconds)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    return _unpack(answer, _death(status, cpu_seconds))


def _child(function: Callable[..., Any], args: tuple[Any, ...], write_end: int, cpu_seconds: int) -> None:
    """Answer on `write_end` and leave without running any of the parent's exit handlers."""
    try:
        _limit(cpu_seconds)
        _silence_stderr()
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(_answer(function, args))
    finally:
        os._exit(0)


def _limit(cpu_seconds: int) -> None:
    import resource  # POSIX only, like fork

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    soft, hard = (seconds if most == resource.RLIM_INFINITY else min(seconds, most) for seconds in (cpu_seconds, cpu_seconds + 5))
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _silence_stderr() -> None:
    """C++ aborts print to file descriptor 2; the user gets our line instead."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)


def _answer(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps((True, function(*args)))
    except Exception as error:
        try:
            packed = pickle.dumps((False, error))
            pickle.loads(packed)  # some C++ exceptions pickle but cannot be built again
            return packed
        except Exception:
            return pickle.dumps((False, RuntimeError(str(error))))


def _unpack(answer: bytes, death: str) -> Any:
    if not answer or death:
        raise Crashed(death or "no answer")
    try:
        ok, value = pickle.loads(answer)
    except (EOFError, pickle.UnpicklingError) as error:
        raise Crashed(death or "broken answer") from error
    if ok:
        return value
    raise value


def _death(status: int, cpu_seconds: int) -> str:
    if not os.WIFSIGNALED(status):
        return ""
    number = os.WTERMSIG(status)
    if number == signal.SIGXCPU:
        return f"time limit of {cpu_seconds} s"
    return f"signal {signal.Signals(number).name}"


def _run_in_new_interpreter(function: Callable[..., Any], args: tuple[Any, ...], cpu_seconds: int) -> Any:
    program = (
        "import pickle, sys; from split_rewrite.rewriter import isolate; "
        "f, a = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(isolate._answer(f, a))"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps((function, args)),
            capture_output=True,
            timeout=cpu_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Crashed(f"time limit of {cpu_seconds} s") from error
    return _unpack(done.stdout, "" if done.returncode == 0 else f"exit status {done.returncode}")
