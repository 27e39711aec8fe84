"""Starts, asks and ends child processes. If a child dies, the caller gets an ordinary Python error.

A child is a new interpreter, connected by two pipes that no other process inherits. It is never a fork of this process, whose other
threads may hold locks at that moment. It ends when the pipes are closed, so at the latest when this process ends. `serving` is the
other side: it sets the limits on time and memory that each request states.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.machinery import PathFinder
from io import FileIO

from .. import calls
from ..errors import SystemLimitError
from .serving import NO_LIMIT, OUT_OF_MEMORY, READY, receive, send_request


class Crashed(Exception):
    """The child ended without an answer. `str()` names the cause ("signal SIGSEGV", "time limit of 60 s").

    `status` is its exit status as `subprocess` gives it, negative for a signal.
    """

    def __init__(self, reason: str, status: int = 0, is_timeout: bool = False) -> None:
        super().__init__(reason)
        self.status = status
        self.is_timeout = is_timeout


class NotReady(Exception):
    """The child ended before it could take a request. `str()` is the last line that it printed, or its exit status."""


class Child:
    """A Python process that runs `program`, which answers requests as `serving.serve` does. One thread at a time may ask it.

    Its environment is the one of `child_environment`, with `environment` for variables that are missing in this process.
    A child with `grace` is told to end before it is killed while it is at work, and gets that many seconds to clean up. All that
    it started ends with it, and Ctrl-C on a terminal does not reach it.

    Raises SystemLimitError where no process can be started.
    """

    def __init__(
        self, program: str, *options: str, environment: Mapping[str, str] | None = None, grace: float | None = None
    ) -> None:
        if not are_started():
            raise SystemLimitError(f"this needs a child process, and {NONE_STARTED}")
        command = [interpreter(), *options, "-c", program]
        self.has_answered = False
        self._grace = grace
        self._is_ready = False
        self._is_busy = False
        self._is_expired = False
        self._closing = threading.Lock()
        with _fork_lock:
            try:
                self._process, self._requests, self._answers = _open(command, child_environment(environment), grace is not None)
            except Exception as error:  # an audit hook may raise anything
                raise cannot_start(str(error) or type(error).__name__) from error
            _children.add(self)

    def ask(self, request: bytes, seconds: float | None = None, memory: int = NO_LIMIT) -> bytearray:
        """Send `request` and return the answer, for which the child may take `seconds` and `memory` bytes at most.

        Raises Crashed or NotReady, after which the child has to be closed; and Stopped where the call for which it is has to end.
        """
        self._await_ready()
        self._is_busy = True
        start = time.monotonic()
        try:
            with self._told_to_end_after(seconds):
                send_request(self._requests, request, None if self._grace is not None else seconds, memory)
                self._wait()
                answer = receive(self._answers)
        except (EOFError, OSError, ValueError):  # ValueError: another thread closed the child
            raise self._crash(seconds, time.monotonic() - start) from None
        self._is_busy = False
        self.has_answered = True
        return answer

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.is_open and self._process.poll() is None

    @property
    def is_open(self) -> bool:
        """Whether the child can be asked, unless its process died."""
        return not self._requests.closed

    def close(self) -> None:
        """End the process. Only a child with `grace` that is at work gets that time; others end at once, whatever they do.

        Several threads may come here at the same time.
        """
        _children.discard(self)
        with self._closing:
            if not self.is_open:
                return
            self._tell_to_end()
            with suppress(OSError):  # this process gave up the right to; the child ends because its pipes are closed
                self._kill()
            self._close_pipes()
            self._process.wait()

    def abandon(self) -> None:
        """Forget the process, after a fork: it belongs to the parent of this process."""
        self._closing = threading.Lock()  # another thread of the parent may have held it
        self._close_pipes()
        self._process.returncode = 0

    def _close_pipes(self) -> None:
        self._requests.close()
        self._answers.close()

    def _kill(self) -> None:
        """Kill the process; where it has grace, also all that it started."""
        if self._grace is not None and hasattr(os, "killpg"):
            os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()

    def _tell_to_end(self) -> None:
        """Tell the process to end if it is at work, and wait for its grace."""
        if self._grace is not None and self._is_busy and self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(self._grace)

    @contextmanager
    def _told_to_end_after(self, seconds: float | None) -> Iterator[None]:
        """End a child with grace after `seconds`. Other children limit their time themselves."""
        if self._grace is None or seconds is None:
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
        self._tell_to_end()
        with suppress(OSError):
            self._kill()

    def _await_ready(self) -> None:
        """Wait until the child says that it is ready. Raises NotReady where it ends before."""
        said = b""
        while not self._is_ready:
            self._wait()
            part = self._answers.read(4096)
            if not part:
                last_line = said.decode(errors="replace").strip().rpartition("\n")[2]
                raise NotReady(last_line or f"it ended with status {self._process.wait()}")
            said += part
            self._is_ready = said.endswith(READY)

    def _wait(self) -> None:
        """Wait until the child says something, while the caller can stop that. Raises Stopped."""
        while calls.is_watched() and not can_be_read(self._answers, _BEAT):
            calls.beat()

    def _crash(self, seconds: float | None, elapsed: float) -> Crashed:
        """The error for a child that ended after `elapsed` seconds of the `seconds` that it was allowed."""
        status = self._process.wait()
        has_ended_itself = seconds is not None and elapsed >= seconds and status in (0, 1)
        is_out_of_time = seconds is not None and status == -getattr(signal, "SIGPROF", 0)
        if self._is_expired or has_ended_itself or is_out_of_time:
            return Crashed(f"time limit of {seconds:g} s", status, is_timeout=True)
        if status == OUT_OF_MEMORY:
            return Crashed("out of memory", status)
        if status >= 0:
            return Crashed(f"exit status {status}" if status > 1 else "no answer", status)
        try:
            return Crashed(f"signal {signal.Signals(-status).name}", status)
        except ValueError:
            return Crashed(f"signal {-status}", status)


class Pool:
    """Children that wait for the next request, each for any thread.

    Calls of a list's methods are atomic in Python, so no lock is needed.
    """

    def __init__(self, start: Callable[[], Child], most_idle: int) -> None:
        self._start = start
        self._most_idle = most_idle
        self._idle: list[Child] = []
        self._lent: set[Child] = set()
        self._is_closed = False

    def prepare(self) -> None:
        """Start a child, unless one is idle. Raises SystemLimitError where that is not possible."""
        with self.lent():
            pass

    @contextmanager
    def lent(self, child: Child | None = None) -> Iterator[Child]:
        """An idle child or a new one, or this `child`, for the time of a `with`. It is closed if that ends with an exception."""
        child = child or self._take()
        self._lent.add(child)
        try:
            yield child
        except BaseException:  # also Ctrl-C: half a message is on its way
            child.close()
            raise
        finally:
            self._lent.discard(child)
        if child.is_open and not self._is_closed and len(self._idle) < self._most_idle:
            self._idle.append(child)
        else:
            child.close()

    def close(self) -> None:
        """End all children of the pool, whether they are at work or idle."""
        self._is_closed = True
        for child in [*self._lent, *self._idle]:
            child.close()

    def _take(self) -> Child:
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                child = self._idle.pop()
                if child.is_alive():
                    return child
                child.close()
        return self._start()


NONE_STARTED = 'isolation="in-process" starts none'
_are_started: ContextVar[bool] = ContextVar("are_started", default=True)


@contextmanager
def starting_none() -> Iterator[None]:
    """For the time of a `with`, this thread starts no children: what they would do is done here, or not at all."""
    token = _are_started.set(False)
    try:
        yield
    finally:
        _are_started.reset(token)


def are_started() -> bool:
    """Whether this thread may start children."""
    return _are_started.get()


def serving_program(module: str) -> str:
    """A program that calls `serve` of `module`. It sees the modules that this process sees, and not those of its working folder."""
    return f"import sys; sys.path[:] = {import_path()!r}; from {module} import serve; serve()"


def child_environment(missing: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: that of this process, completed by `missing`, and with the telemetry of onnxruntime turned off.

    From 1.32 on, onnxruntime reports its use over HTTPS and keeps an identifier of the device in the user's cache folder, unless
    this variable is set before it is imported. Models are confidential, so what the user's environment says does not count.
    """
    return {**(missing or {}), **os.environ, **_PRIVATE}


_PRIVATE = {"ORT_DISABLE_TELEMETRY": "1"}


def _open(command: list[str], environment: Mapping[str, str], has_session: bool) -> tuple[subprocess.Popen[bytes], FileIO, FileIO]:
    """Start `command` in `environment`, if `has_session` in a session of its own; returns the process, the pipe for requests and
    the pipe for answers.
    """
    requests, to_child = _pipe()
    from_child, answers = _pipe()
    with requests, answers:
        process = subprocess.Popen(
            command,
            stdin=requests,
            stdout=answers,
            stderr=subprocess.STDOUT,  # what it says before it is ready says why it did not get there
            env=environment,
            cwd=os.path.dirname(command[0]) or None,  # Windows does not remove a folder that a process is in
            start_new_session=has_session,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    return process, to_child, from_child


_children: set[Child] = set()
"""All children that are running."""
_fork_lock = threading.RLock()
"""A lock that is held while pipes to a child are open in this process: a fork meanwhile would keep a copy of them open."""


def import_path() -> list[str]:
    """`sys.path` with absolute paths, for a child with another working folder.

    Entries that are not paths belong to import hooks and stay.
    """
    return [os.path.abspath(entry) if not entry or os.path.exists(entry) else entry for entry in sys.path]


def module_files(name: str) -> list[str]:
    """The files that a child reads to import the module `name` of the current folder or of `sys.path`, packages included."""
    files: list[str] = []
    folders: Sequence[str] = [os.getcwd(), *import_path()]
    for part in name.split("."):
        found = PathFinder.find_spec(part, folders)
        if found is None:
            break
        if found.origin is not None and found.has_location:
            files.append(found.origin)
        folders = found.submodule_search_locations or []
    return files


def core_count() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def close_children() -> None:
    """End all children. A later call starts new ones."""
    for child in list(_children):
        child.close()


def _abandon_children() -> None:
    """Forget all children, after a fork of this process."""
    for child in _children:
        child.abandon()
    _children.clear()
    _fork_lock.release()


atexit.register(close_children)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork_lock.acquire, after_in_parent=_fork_lock.release, after_in_child=_abandon_children)


def cannot_start(reason: str) -> SystemLimitError:
    """The error for a child that cannot be started."""
    return SystemLimitError(
        f"no child process can be started, in which onnx checks models: {reason} (allow this process to start others; from Python, "
        'isolation="in-process" needs none)'
    )


def interpreter() -> str:
    """The path of the Python interpreter that children run, chosen as multiprocessing does.

    Raises SystemLimitError where there is none.
    """
    if reason := no_interpreter():
        raise SystemLimitError(f"no child process can be started: {reason}")
    return _chosen_interpreter()


def no_interpreter() -> str:
    """Why children cannot run the program of this process; "" where they can.

    It is not a plain Python interpreter, and no other was set: starting the program that Python is embedded in would run that
    program again.
    """
    chosen = _chosen_interpreter()
    if chosen != (sys.executable or "") or not (getattr(sys, "frozen", False) or "py" not in os.path.basename(chosen).lower()):
        return ""
    what = f"'{chosen}' is not a Python interpreter" if chosen else "sys.executable does not name a Python interpreter"
    return f"{what}; name one with multiprocessing.set_executable(...)"


def _chosen_interpreter() -> str:
    spawn = sys.modules.get("multiprocessing.spawn")
    return os.fsdecode(spawn.get_executable() or "") if spawn is not None else sys.executable or ""


def _pipe() -> tuple[FileIO, FileIO]:
    """Open a pipe; returns the end to read from and the end to write to. Only the child that is given an end inherits it."""
    reader, writer = map(_above_standard, os.pipe())
    return FileIO(reader, "rb"), FileIO(writer, "wb")


_BEAT = 0.1
"""The seconds between two looks at whether the caller stops what waits for a child."""


def can_be_read(pipe: FileIO, seconds: float) -> bool:
    """Whether `pipe` has data, or its other end is closed, within `seconds`."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(pipe.fileno(), select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    return _can_be_read_on_windows(pipe, seconds)


def _can_be_read_on_windows(pipe: FileIO, seconds: float) -> bool:
    import _winapi
    import msvcrt

    handle: int = msvcrt.get_osfhandle(pipe.fileno())  # pyright: ignore[reportAttributeAccessIssue]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if _winapi.PeekNamedPipe(handle, 0)[0]:  # pyright: ignore[reportAttributeAccessIssue]
                return True
        except OSError:  # the other end is closed
            return True
        time.sleep(0.005)
    return False


def _above_standard(descriptor: int) -> int:
    """A duplicate of `descriptor` above 2. If 0, 1 or 2 are closed, a pipe may get their number, and native
    code that prints would write into it.
    """
    low = []
    while descriptor < 3:
        low.append(descriptor)
        descriptor = os.dup(descriptor)
    for each in low:
        os.close(each)
    return descriptor
