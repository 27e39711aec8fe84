"""The other side of `child`: a process says that it is ready, answers requests within their limits, and ends with its parent.

Messages are bytes; those to a child begin with the limits on time and memory. Only the standard library is imported here, and
little of it: the child that checks models starts in 30 ms; importing `typing` and `pickle` would add 8 ms.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from io import FileIO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    Receive = Callable[[], bytearray]

OUT_OF_MEMORY = 12
"""The exit status of a child whose memory does not suffice."""
READY = b"\0split-rewrite: ready\0"
"""The first bytes that a child sends. Anything before them was printed by the program that was started."""
NO_LIMIT = (1 << 63) - 1
"""The limit of a request that may take any time, in milliseconds, or any memory, in bytes."""


def send(pipe: FileIO, *parts: bytes) -> None:
    """Write a message of these parts to `pipe`: its length in 8 bytes, and then the parts."""
    for part in (sum(map(len, parts)).to_bytes(8, "little"), *parts):
        left = memoryview(part)
        while left:
            left = left[pipe.write(left) :]


def send_request(pipe: FileIO, request: bytes, seconds: float | None, memory: int) -> None:
    """Send `request` behind its limits: how long the answer may take, None for any time, and with how much memory."""
    milliseconds = NO_LIMIT if seconds is None else max(int(seconds * 1000), 1)
    send(pipe, milliseconds.to_bytes(8, "little") + memory.to_bytes(8, "little"), request)


def receive(pipe: FileIO) -> bytearray:
    """Read the next message from `pipe`. Raises EOFError where the other end is closed before the message is complete."""
    return _read(pipe, int.from_bytes(_read(pipe, 8), "little"))


def _read(pipe: FileIO, length: int) -> bytearray:
    """Read exactly `length` bytes from `pipe`. Raises EOFError where there are fewer."""
    data = bytearray(length)
    left = memoryview(data)
    while left:
        count = pipe.readinto(left)
        if not count:
            raise EOFError
        left = left[count:]
    return data


def serve(
    answer: Callable[[memoryview], bytes],
    *,
    by_processor_time: bool = False,
    watches_parent: bool = True,
    idle_seconds: float | None = None,
) -> NoReturn:
    """Answer requests until the parent is gone, each by what `answer` returns for it.

    With `by_processor_time`, only that counts for the limit on time, where the platform can limit it. A child that
    `watches_parent` ends with it also while it is at work; this takes a thread, whose module is slow to import. Such a child also
    ends after `idle_seconds` without a request.
    """
    requests, answers = open_pipes()
    following = _following_parent(requests, idle_seconds) if watches_parent else lambda: receive(requests)
    try:
        while True:
            request = following()
            send(answers, _within_limits(answer, request, by_processor_time))
    except (EOFError, OSError):
        leave()
    except MemoryError:
        leave(OUT_OF_MEMORY)


def _within_limits(answer: Callable[[memoryview], bytes], request: bytearray, by_processor_time: bool) -> bytes:
    """The answer to `request`, within the limits that it states."""
    milliseconds, memory = (int.from_bytes(request[start : start + 8], "little") for start in (0, 8))
    limit_memory(memory)
    is_timed = milliseconds != NO_LIMIT and not (by_processor_time and limit_processor_time(milliseconds / 1000))
    if is_timed:
        limit_time(milliseconds / 1000)
    try:
        return answer(memoryview(request)[16:])
    except MemoryError:
        leave(OUT_OF_MEMORY)
    except Exception:  # nobody is to wait for an answer that cannot come
        leave(1)
    finally:
        if is_timed:
            lift_time_limit()
        elif by_processor_time:
            lift_processor_time_limit()


def _following_parent(requests: FileIO, idle_seconds: float | None) -> Receive:
    """A function that returns the next request. A thread reads them, even while one is answered, so that this process notices the
    end of its parent at once.
    """
    from queue import Empty, SimpleQueue
    from threading import Thread

    inbox: SimpleQueue[bytearray] = SimpleQueue()

    def read() -> None:
        try:
            while True:
                inbox.put(receive(requests))
        except MemoryError:
            leave(OUT_OF_MEMORY)
        except (EOFError, OSError):
            _end_with_parent()

    Thread(target=read, daemon=True).start()

    def following() -> bytearray:
        try:
            return inbox.get(timeout=idle_seconds)
        except Empty:
            leave()

    return following


def _end_with_parent() -> NoReturn:
    """End this process, and if it leads a group, all that it started."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    leave()


def open_pipes() -> tuple[FileIO, FileIO]:
    """Return the pipe for requests and the pipe for answers, and tell the parent that this process is ready.

    The pipes are moved away from descriptors 0 and 1, where a library that reads or prints would corrupt the messages. Ctrl-C is
    ignored: on a terminal it reaches all processes, but the parent decides when this one ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _write_no_core_files()
    _keep_memory_limit()
    requests, answers = FileIO(os.dup(0), "rb"), FileIO(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for as long as the process lives)
    answers.write(READY)
    return requests, answers


def leave(status: int = 0) -> NoReturn:
    """End this process at once, without the interpreter's clean-up, which is not needed here."""
    os._exit(status)


def limit_time(seconds: float) -> None:
    """End this process after `seconds`, even if it is in native code or its parent does not wait for it any more."""
    faulthandler.dump_traceback_later(max(seconds, 0.001), exit=True)


def lift_time_limit() -> None:
    """Cancel the limit of `limit_time`."""
    faulthandler.cancel_dump_traceback_later()


def limit_processor_time(seconds: float) -> bool:
    """End this process with SIGPROF after `seconds` more of processor time. Returns False where the platform cannot do this."""
    if not hasattr(signal, "setitimer"):
        return False
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001))
    return True


def lift_processor_time_limit() -> None:
    """Cancel the limit of `limit_processor_time`."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, 0)


def limit_memory(count: int) -> None:
    """From now on an allocation fails where this process would get more than `count` bytes, or than its parent may have."""
    resource = _resource()
    if resource is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if count != NO_LIMIT:
        resource.setrlimit(resource.RLIMIT_DATA, (count if most == resource.RLIM_INFINITY else min(count, most), most))
    else:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _keep_memory_limit() -> None:
    """Note the limit of the parent, which is the most that `limit_memory` can give."""
    resource = _resource()
    if resource is None:
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, soft))


def _write_no_core_files() -> None:
    """Make sure that a crash of this process does not write a core file."""
    resource = _resource()
    if resource is None:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _resource() -> Any:
    """The module that sets limits, or None on platforms other than POSIX."""
    try:
        import resource
    except ImportError:
        return None
    return resource
