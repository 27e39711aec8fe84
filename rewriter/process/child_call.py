"""Runs calls that may crash or never end in child processes. If a child dies, the caller gets an ordinary Python error.

A child is a new interpreter, connected by two pipes that no other process inherits. It is never a fork of this process, whose other
threads may hold locks at that moment. It ends when the pipes are closed, so at the latest when this process ends. The children that
check models are kept for the next call. Each serves one thread at a time, so threads do not wait for each other. They import
little, so that a child is ready before this process has imported onnx.
"""

from __future__ import annotations

import atexit
import marshal
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from importlib.util import find_spec
from io import FileIO
from typing import Any

from ..errors import SplitRewriteError
from .serving import OUT_OF_MEMORY, READY, receive, send

_CPU_SECONDS = 30
"""Seconds of processor time for each request, because onnx may loop forever. Checking 100,000 nodes, 10 MiB, takes one second."""
_CPU_SECONDS_PER_MIB = 10
"""Further seconds of processor time for each MiB of the request."""
_MEMORY = 1 << 30
"""Bytes of memory for any request: onnx may write down all numbers of a Range. Checking 100,000 nodes takes 0.3 GiB."""
_MEMORY_PER_BYTE = 128
"""Further bytes of memory for each byte of the request."""
_MOST_IDLE = 4
"""The largest number of idle children that are kept for the next call."""
_KEPT_AFTER = 8 << 20
"""Bytes of the largest request after which a child is kept: after a larger one it holds hundreds of megabytes of freed memory."""


class Crashed(Exception):
    """The child ended without an answer. `str()` names the cause ("signal SIGSEGV", "time limit of 60 s")."""

    def __init__(self, reason: str, is_timeout: bool = False) -> None:
        super().__init__(reason)
        self.is_timeout = is_timeout


class NotReady(Exception):
    """The child ended before it could take a request."""


class Refused(Exception):
    """onnx rejected the model; `str()` is its complaint on one line."""


def check_model(model: bytes, full: bool) -> None:
    """Run onnx.checker on a serialized model, with `full` also shape inference.

    Raises Refused where onnx rejects the model, Crashed where the child dies, SplitRewriteError where no child can be started.
    """
    _call("check_model", model, full)


def check_nodes(nodes: Sequence[bytes], opset: int, ir_version: int) -> None:
    """Run onnx.checker on serialized nodes of the default domain. Raises as `check_model`."""
    _call("check_nodes", nodes, opset, ir_version)


def infer_model(model: bytes) -> bytes:
    """The serialized model with the value_info of all its graphs filled in. Raises as `check_model`."""
    return _call("infer_model", model)


def infer_node(
    op_type: str, opset: int, node: bytes, types: dict[str, bytes], data: dict[str, bytes], ir_version: int
) -> dict[str, bytes]:
    """The types of the outputs of one node of the default domain, by name, all serialized.

    `types` are those of its inputs, `data` the TensorProtos of inputs that are constants. Raises as `check_model`.
    """
    return _call("infer_node", op_type, opset, node, types, data, ir_version)


def _call(operation: str, *arguments: Any) -> Any:
    """Run `operation` with its arguments in a child and return the result. Raises as `check_model`."""
    size = sum(len(argument) for argument in arguments if isinstance(argument, bytes))
    seconds = _CPU_SECONDS + _CPU_SECONDS_PER_MIB * (size >> 20)
    request = marshal.dumps((operation, arguments, seconds, _MEMORY + _MEMORY_PER_BYTE * size))
    is_kept = size <= _KEPT_AFTER
    child = _take()
    was_used = child.has_answered
    try:
        succeeded, value = _ask(child, request, seconds, is_kept)
    except (Crashed, NotReady) as death:
        is_to_blame = isinstance(death, Crashed) and (death.is_timeout or not was_used)
        if is_to_blame:
            raise
        # What it was asked before may have broken it; and what ends a child before it is asked is not the model.
        try:
            succeeded, value = _ask(_start(), request, seconds, is_kept)
        except NotReady as end:
            raise _cannot_start(str(end)) from None
    if not succeeded:
        raise Refused(value)
    return value


def _ask(child: Child, request: bytes, seconds: float, is_kept: bool) -> Any:
    """Send `request` to `child` and return the answer. The child is kept for the next call if `is_kept` and nothing went wrong."""
    try:
        answer = child.ask(request, seconds)
    except BaseException:  # also Ctrl-C: half a message is on its way
        child.close()
        raise
    if is_kept and len(_idle) < _MOST_IDLE:
        _idle.append(child)
    else:
        child.close()
    return marshal.loads(answer)


_idle: list[Child] = []
"""The idle children that check models.

Calls of a list's methods are atomic in Python, so no lock is needed.
"""


def prepare() -> None:
    """Start a child that checks models, unless one is idle. It gets ready while this process does other work."""
    if not _idle:
        with suppress(SplitRewriteError):  # whoever needs it says so
            _idle.append(_start())


def _take() -> Child:
    """A child that checks models: an idle one, or a new one."""
    while _idle:
        with suppress(IndexError):  # another thread was faster
            child = _idle.pop()
            if child.is_alive():
                return child
            child.close()
    return _start()


_PACKAGE = __package__ or ""
_FOLDER = os.path.dirname(os.path.abspath(__file__))


def child_environment(missing: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: that of this process, completed by `missing`, and with the telemetry of onnxruntime turned off.

    From 1.32 on, onnxruntime reports its use over HTTPS and keeps an identifier of the device in the user's cache folder, unless
    this variable is set before it is imported. Models are confidential, so what the user's environment says does not count.
    """
    return {**(missing or {}), **os.environ, **_PRIVATE}


_PRIVATE = {"ORT_DISABLE_TELEMETRY": "1"}


def _start() -> Child:
    """Start a child that checks models. It imports onnx's modules without onnx's own `__init__`, which takes 0.2 s."""
    onnx = find_spec("onnx")
    assert onnx is not None and onnx.submodule_search_locations is not None
    packages = {_PACKAGE: [_FOLDER], "onnx": list(map(os.path.abspath, onnx.submodule_search_locations))}
    return Child(_PROGRAM.format(packages=packages, package=_PACKAGE), "-I", "-S", environment=_ENVIRONMENT)


_ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.mxfast=0"}
"""Without this setting, glibc merges small freed blocks whenever onnx asks for a large one: 12 % of the check of 100,000 nodes."""
_PROGRAM = """\
import sys
for name, folders in {packages!r}.items():
    sys.modules[name] = package = type(sys)(name)
    package.__path__ = folders
from {package}.onnx_child import serve
serve()
"""


class Child:
    """A Python process that runs `program`, which answers requests as `serving` does. One thread at a time may ask it.

    Its environment is the one of `child_environment`, with `environment` for variables that are missing in this process.
    Raises SplitRewriteError where no process can be started.
    """

    def __init__(self, program: str, *options: str, environment: Mapping[str, str] | None = None) -> None:
        command = [interpreter(), *options, "-c", program]
        self.has_answered = False
        self._is_ready = False
        with _fork_lock:
            try:
                self._process, self._requests, self._answers = _open(command, child_environment(environment))
            except Exception as error:  # an audit hook may raise anything
                raise _cannot_start(str(error) or type(error).__name__) from error
            _children.add(self)

    def ask(self, request: bytes, seconds: float) -> bytearray:
        """Send `request` and return the answer. The child makes sure that this takes at most `seconds`.

        Raises Crashed or NotReady, after which the child has to be closed.
        """
        self._await_ready()
        start = time.monotonic()
        try:
            send(self._requests, request)
            answer = receive(self._answers)
        except (EOFError, OSError):
            raise _crash(self._process.wait(), seconds, time.monotonic() - start) from None
        self.has_answered = True
        return answer

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return not self._requests.closed and self._process.poll() is None

    def close(self) -> None:
        """End the process at once, even if it is at work."""
        _children.discard(self)
        if self._requests.closed:
            return
        self._close_pipes()
        with suppress(OSError):  # this process gave up the right to; the child ends because its pipes are closed
            self._process.kill()
        self._process.wait()

    def abandon(self) -> None:
        """Forget the process, after a fork: it belongs to the parent of this process."""
        self._close_pipes()
        self._process.returncode = 0

    def _close_pipes(self) -> None:
        self._requests.close()
        self._answers.close()

    def _await_ready(self) -> None:
        """Wait until the child says that it is ready. Raises NotReady where it ends before."""
        said = b""
        while not self._is_ready:
            part = self._answers.read(4096)
            if not part:
                last_line = said.decode(errors="replace").strip().rpartition("\n")[2]
                raise NotReady(last_line or f"it ended with status {self._process.wait()}")
            said += part
            self._is_ready = said.endswith(READY)


def _open(command: list[str], environment: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], FileIO, FileIO]:
    """Start `command` in `environment`; returns the process, the pipe for requests and the pipe for answers."""
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


def close_children() -> None:
    """End all children. A later call starts new ones."""
    _idle.clear()
    for child in list(_children):
        child.close()


def _abandon_children() -> None:
    """Forget all children, after a fork of this process."""
    _idle.clear()
    for child in _children:
        child.abandon()
    _children.clear()
    _fork_lock.release()


atexit.register(close_children)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork_lock.acquire, after_in_parent=_fork_lock.release, after_in_child=_abandon_children)


def _cannot_start(reason: str) -> SplitRewriteError:
    """The error for a child that cannot be started."""
    return SplitRewriteError(
        f"no child process can be started, in which onnx checks models: {reason} (allow this process to start others)"
    )


def interpreter() -> str:
    """The path of the Python interpreter that children run, chosen as multiprocessing does.

    Raises SplitRewriteError where this process is not a plain Python interpreter and no other was set: starting the program that
    Python is embedded in would run that program again.
    """
    spawn = sys.modules.get("multiprocessing.spawn")
    chosen = os.fsdecode(spawn.get_executable() or "") if spawn is not None else sys.executable or ""
    if chosen == (sys.executable or "") and (getattr(sys, "frozen", False) or "py" not in os.path.basename(chosen).lower()):
        what = f"'{chosen}' is not a Python interpreter" if chosen else "sys.executable does not name a Python interpreter"
        raise SplitRewriteError(
            f"no child process can be started, in which onnx checks models: {what}; "
            "name one with multiprocessing.set_executable(...)"
        )
    return chosen


def _pipe() -> tuple[FileIO, FileIO]:
    """Open a pipe; returns the end to read from and the end to write to. Only the child that is given an end inherits it."""
    reader, writer = map(_above_standard, os.pipe())
    return FileIO(reader, "rb"), FileIO(writer, "wb")


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


def _crash(status: int, seconds: float, elapsed: float) -> Crashed:
    """The error for a child that ended with `status` after `elapsed` seconds of the `seconds` that it was allowed."""
    has_ended_itself = status in (0, 1) and elapsed >= seconds
    if has_ended_itself or status == -getattr(signal, "SIGXCPU", 0):
        return Crashed(f"time limit of {seconds:g} s", is_timeout=True)
    if status == OUT_OF_MEMORY:
        return Crashed("out of memory")
    if status >= 0:
        return Crashed(f"exit status {status}" if status else "no answer")
    try:
        return Crashed(f"signal {signal.Signals(-status).name}")
    except ValueError:
        return Crashed(f"signal {-status}")
