"""The common part of all child processes: they report that they are ready, answer requests one by one, and end with their parent.

Messages are bytes. Only the standard library is imported here, and little of it: the child that checks models starts in 30 ms;
importing `typing` and `pickle` would add 8 ms.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from io import FileIO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

OUT_OF_MEMORY = 12
"""The exit status of a child whose memory does not suffice."""
READY = b"\0split-rewrite: ready\0"
"""The first bytes that a child sends. Anything before them was printed by the program that was started."""


def send(pipe: FileIO, message: bytes) -> None:
    """Write the length of `message` in 8 bytes to `pipe`, and then the message."""
    for part in (len(message).to_bytes(8, "little"), message):
        left = memoryview(part)
        while left:
            left = left[pipe.write(left) :]


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


def limit_processor_time(seconds: int) -> bool:
    """End this process with SIGXCPU after `seconds` more of processor time. Returns False where the platform cannot do this."""
    resource = _resource()
    if resource is None:
        return False
    usage = resource.getrusage(resource.RUSAGE_SELF)
    until = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until if most == resource.RLIM_INFINITY else min(until, most), most))
    return True


def limit_memory(count: int) -> None:
    """From now on an allocation fails where this process would get more than `count` bytes, or than its parent may have."""
    resource = _resource()
    if resource is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (count if most == resource.RLIM_INFINITY else min(count, most), most))


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
