"""What runs in a child: its answers and refusals come back, its death is an error, whoever asks gets one, and none stays behind."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import helpers
import onnx
import pytest
from onnx import TensorProto, helper, parser

from split_rewrite.rewriter import convert_version
from split_rewrite.rewriter.process import child_call
from split_rewrite.rewriter.process.child import Crashed, _children, close_children
from split_rewrite.rewriter.process.child_call import Refused

SPLIT = parser.parse_model(
    '<ir_version: 8, opset_import: ["": 13]> g (float[4, 6] x) => (float[4, 2] a, float[4, 4] b)'
    " {s = Constant<value = int64[2] {2, 4}>() a, b = Split<axis = 1>(x, s)}"
)
FINE = SPLIT.SerializeToString()


@pytest.fixture(autouse=True)
def no_idle_children() -> Iterator[None]:
    close_children()
    yield
    close_children()


def pids() -> list[int]:
    return [child._process.pid for child in _children]


def convert(_: object = None) -> int:
    """The opset of the result, which is 11."""
    return convert_version(SPLIT, 11, compare="off").model.opset_import[0].version


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory")
class TestMemory:
    def test_a_model_that_takes_more_than_there_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(child_call, "_MEMORY", 64 << 20)
        monkeypatch.setattr(child_call, "_MEMORY_PER_BYTE", 0)
        model = onnx.ModelProto.FromString(FINE)
        model.doc_string = "x" * (100 << 20)
        with pytest.raises(Crashed, match=r"^out of memory$"):
            child_call.check_model(model.SerializeToString(), full=False)
        child_call.check_model(FINE, full=True)

    def test_a_limit_of_this_process_counts_too(self) -> None:
        program = (
            "import resource\n"
            "from split_rewrite.rewriter.process import child_call\n"
            "from split_rewrite.rewriter.process.child import _children\n"
            "resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, resource.RLIM_INFINITY))\n"
            "child_call.prepare()\n"
            f"child_call.check_model({FINE!r}, full=True)\n"
            "(child,) = _children\n"
            "print(resource.prlimit(child._process.pid, resource.RLIMIT_DATA))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == (f"({400 << 20}, {400 << 20})\n", "")


class TestAnswers:
    def test_a_model_that_passes(self) -> None:
        child_call.check_model(FINE, full=True)

    def test_what_onnx_says_against_a_model(self) -> None:
        wrong = FINE.replace(b"Split", b"Splot")
        with pytest.raises(Refused, match="No Op registered for Splot"):
            child_call.check_model(wrong, full=False)
        child_call.check_model(FINE, full=True)

    def test_what_onnx_says_against_a_node(self) -> None:
        good, bad = helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Relu", [], ["y"])
        child_call.check_nodes([good.SerializeToString()], 13, 8)
        with pytest.raises(Refused, match="Relu"):
            child_call.check_nodes([good.SerializeToString(), bad.SerializeToString()], 13, 8)

    def test_types_of_a_model(self) -> None:
        text = "g (float[2, 3] x) => (float[A, B] y) {t = Transpose(x) y = Relu(t)}"
        inferred = onnx.ModelProto.FromString(child_call.infer_model(helpers.model(text).SerializeToString()))
        assert [dim.dim_value for dim in inferred.graph.value_info[0].type.tensor_type.shape.dim] == [3, 2]

    def test_types_of_a_node(self) -> None:
        node = helper.make_node("Reshape", ["x", "s"], ["y"])
        types = {
            "x": helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 6]).SerializeToString(),
            "s": helper.make_tensor_type_proto(TensorProto.INT64, [1]).SerializeToString(),
        }
        data = {"s": helper.make_tensor("s", TensorProto.INT64, [1], [-1]).SerializeToString()}
        found = child_call.infer_node("Reshape", 13, node.SerializeToString(), types, data, 8)
        assert {name: onnx.TypeProto.FromString(kind) for name, kind in found.items()} == {
            "y": helper.make_tensor_type_proto(TensorProto.FLOAT, [12])
        }

    def test_a_start_imports_little(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`typing` and `pickle` would be a quarter of it."""
        says = 'import sys; sys.exit(" ".join(name for name in ("typing", "pickle", "numpy") if name in sys.modules) or 0)'
        monkeypatch.setattr(child_call, "_PROGRAM", child_call._PROGRAM.replace("serve()", says))
        child = child_call._start()
        assert child._process.wait() == 0
        child.close()

    def test_many_megabytes(self) -> None:
        big = helpers.model("g (float[N] x) => (float[N] y) {y = Relu(x)}")
        big.graph.doc_string = "a" * (9 << 20)
        inferred = onnx.ModelProto.FromString(child_call.infer_model(big.SerializeToString()))
        assert inferred.graph.doc_string == big.graph.doc_string
        assert not _children  # its memory goes
        child_call.check_model(FINE, full=True)


ECHO = f"""
{helpers.IMPORT_AS_HERE}
from split_rewrite.rewriter.process import serving
requests, answers = serving.open_pipes()
"""
DIES = f"{ECHO}import os\nserving.receive(requests)\nos.kill(os.getpid(), 11)"


def plain(program: str) -> str:
    return program.replace("{", "{{").replace("}", "}}")


class TestDeath:
    def test_a_model_that_kills_is_an_error_each_time_and_the_next_call_is_answered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(child_call, "_PROGRAM", plain(DIES))
            for _ in range(2):
                with pytest.raises(Crashed, match="signal SIGSEGV"):
                    child_call.check_model(FINE, full=True)
        child_call.check_model(FINE, full=True)

    def test_a_child_that_dies_for_another_reason_is_not_this_model(self) -> None:
        """What it was asked before may have broken it: the model gets a new one."""
        child_call.check_model(FINE, full=True)
        (pid,) = pids()
        os.kill(pid, signal.SIGSTOP)  # so that it has the request when it dies
        timer = threading.Timer(0.2, os.kill, (pid, signal.SIGKILL))
        timer.start()
        child_call.check_model(FINE, full=True)
        assert pids() != [pid]

    def test_a_child_that_died_in_between_is_replaced(self) -> None:
        child_call.check_model(FINE, full=True)
        (pid,) = pids()
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        child_call.check_model(FINE, full=True)
        assert pids() != [pid]

    def test_a_model_that_never_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is not asked again: that would take as long."""
        monkeypatch.setattr(child_call, "_CPU_SECONDS", 1)
        monkeypatch.setattr(
            child_call,
            "_PROGRAM",
            ECHO.replace("{", "{{").replace("}", "}}")
            + "serving.receive(requests)\nserving.limit_processor_time(1)\nwhile True: pass",
        )
        with pytest.raises(Crashed, match="time limit of 1 s"):
            child_call.check_model(FINE, full=True)

    def test_nobody_waits_for_a_child_that_is_at_work(self) -> None:
        child_call.check_model(FINE, full=True)
        (pid,) = pids()
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
            child_call.check_model(FINE, full=True)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    def test_ctrl_c_of_the_terminal_is_not_for_children(self) -> None:
        child_call.check_model(FINE, full=True)
        (pid,) = pids()
        os.kill(pid, signal.SIGINT)
        child_call.check_model(FINE, full=True)
        assert pids() == [pid]


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    old = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, old)


class TestWhoAsks:
    def test_threads(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            assert set(threads.map(convert, range(80))) == {11}
        assert len(_children) == len(child_call._pool._idle) <= child_call._MOST_IDLE

    def test_asyncio(self) -> None:
        async def both() -> list[int]:
            return await asyncio.gather(*(asyncio.to_thread(convert) for _ in range(8)))

        assert asyncio.run(both()) == [11] * 8

    @pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
    def test_pool_workers(self, method: str) -> None:
        """Of which the forked ones inherit the children of this process, and must not use them."""
        convert()
        (pid,) = pids()
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            assert set(pool.map(convert, range(6))) == {11}
        convert()
        assert pids() == [pid]

    def test_a_daemon(self) -> None:
        """Those may have no children by multiprocessing."""
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.map(convert, range(2)) == [11, 11]

    def test_forks_while_threads_convert(self) -> None:
        """No fork keeps the end of a pipe that another child should see closed."""
        done = threading.Event()

        def fork() -> None:
            while not done.is_set():
                pid = os.fork()
                if pid == 0:
                    os._exit(0 if not _children else 1)
                assert os.waitpid(pid, 0)[1] == 0

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            forks = threads.submit(fork)
            for _ in range(5):
                close_children()
                assert set(threads.map(convert, range(6))) == {11}
            done.set()
            forks.result()

    def test_a_program_that_ignores_sigchld(self, monkeypatch: pytest.MonkeyPatch) -> None:
        old = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            assert convert() == 11
            close_children()
            monkeypatch.setattr(child_call, "_PROGRAM", plain(DIES))
            with pytest.raises(Crashed):
                child_call.check_model(FINE, full=True)
        finally:
            signal.signal(signal.SIGCHLD, old)

    def test_a_program_that_waits_for_all_its_children(self) -> None:
        convert()
        (pid,) = pids()
        os.kill(pid, signal.SIGKILL)
        assert os.wait()[0] == pid
        assert convert() == 11


def python(program: str, *options: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False, **more
    )  # type: ignore[call-overload]


PROGRAM = f"""
{helpers.IMPORT_AS_HERE}
import onnx
from split_rewrite.rewriter import convert_version
from split_rewrite.rewriter.process import child_call
from split_rewrite.rewriter.process.child import _children
source = onnx.ModelProto.FromString({FINE!r})
def convert():
    return convert_version(source, 11, compare="off").model.opset_import[0].version
"""


@pytest.mark.parametrize("options", [("-I",), ("-S",), ("-O",), ("-X", "dev", "-W", "error::ResourceWarning")], ids=" ".join)
def test_options_of_the_interpreter(options: tuple[str, ...]) -> None:
    done = python(PROGRAM + "print(convert())", *options)
    assert (done.stdout, done.stderr) == ("11\n", "")


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]], ids=str)
def test_closed_standard_streams(closed: list[int], tmp_path: Path) -> None:
    """Nothing that native code prints gets into a pipe that has the number of a standard stream."""
    answer = tmp_path / "answer"
    program = f"import os\nfor number in {closed}: os.close(number)\n{PROGRAM}"
    program += "child_call.prepare()\nassert min(child_call._pool._idle[0]._answers.fileno(), child_call._pool._idle[0]._requests.fileno()) > 2\n"
    program += f"open({str(answer)!r}, 'w').write(str(convert()))"
    python(program)
    assert answer.read_text() == "11"


FORBIDDEN = {
    "by-an-audit-hook": (
        "def hook(event, _):\n    if event == 'subprocess.Popen': raise PermissionError('processes are forbidden')\nsys.addaudithook(hook)",
        "processes are forbidden",
    ),
    "an-interpreter-that-is-not-there": ("sys.executable = '/nowhere/python'", "No such file or directory"),
    "a-program-that-does-something-else": (
        "import multiprocessing.spawn\nmultiprocessing.set_executable('/bin/echo')",
        "no child process can be started",
    ),
}


@pytest.mark.parametrize(("how", "reason"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_where_no_child_can_be_started(how: str, reason: str) -> None:
    done = python(PROGRAM + how + "\ntry:\n    convert()\nexcept Exception as error:\n    print(type(error).__name__, error)")
    assert done.stderr == ""
    assert done.stdout.startswith("SystemLimitError no child process can be started, in which onnx checks models: ")
    assert reason in done.stdout


NO_PYTHON = {
    "no-interpreter-is-known": ("sys.executable = None", "sys.executable does not name a Python interpreter"),
    "in-an-embedding-program": ("sys.executable = '/usr/bin/blender'", "'/usr/bin/blender' is not a Python interpreter"),
    "frozen": ("sys.frozen = True", f"'{sys.executable}' is not a Python interpreter"),
}
WARNED = """
result = convert_version(source, 11)
print(result.model.opset_import[0].version, len(_children), result.report.comparison.status)
print(*result.report.warnings, sep="\\n")
try:
    convert_version(onnx.helper.make_model(onnx.GraphProto(name="g", node=[onnx.NodeProto(op_type="Splat")])), 11)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(("how", "reason"), NO_PYTHON.values(), ids=NO_PYTHON)
def test_where_this_program_is_no_interpreter_onnx_runs_in_it_with_a_warning(how: str, reason: str) -> None:
    """Nothing can be compared then, and an invalid model is refused as ever."""
    done = python(PROGRAM + how + WARNED)
    assert done.stderr == ""
    first, checked, compared, refused = done.stdout.splitlines()
    assert first == "11 0 not compared"
    assert f"onnx checks it in this process, which a crash would end: {reason}; name one with" in checked
    assert compared.startswith(f"the result was not compared: models are run in child processes, and {reason}")
    assert refused.startswith("InvalidModelError the input is not a valid model: ")


def test_isolation_in_process_starts_no_process() -> None:
    """An audit hook forbids it. What needs one is refused before a model is read."""
    forbid, _ = FORBIDDEN["by-an-audit-hook"]
    done = python(
        PROGRAM.replace("import convert_version", "import Options, convert_version")
        + forbid
        + """
options = Options(isolation="in-process", for_runtimes=["onnxruntime"])
report = convert_version(source, 11, options=options).report
print(report.comparison.reason)
print(*report.untried)
for wrong in ({"certify": True}, {"verify_with": "onnxruntime"}, {"custom_ops": ["a.py"]}, {"python": "p", "for_runtimes": ["mnn"]}):
    try:
        Options(isolation="in-process", **wrong)
    except Exception as error:
        print(type(error).__name__, error)
try:
    convert_version(source, 11, compare="required", options=options)
except Exception as error:
    print(type(error).__name__, error)
"""
    )
    assert done.stderr == ""
    none = 'isolation="in-process" starts none'
    lines = done.stdout.splitlines()
    assert lines[0] == f"models are run in child processes, and {none}"
    assert lines[1].endswith(f"not tried here: it runs in a child process, and {none}")
    names = ("certify", "verify_with", "custom_ops", "python", "compare='required'")
    assert lines[2:] == [f"ArgumentError {name} needs a child process, and {none}" for name in names]


def test_the_interpreter_that_multiprocessing_was_told_of() -> None:
    how = "import multiprocessing\nmultiprocessing.set_executable(sys.executable)\nsys.executable = '/usr/bin/blender'\n"
    assert python(PROGRAM + how + "print(convert())").stdout == "11\n"


def test_at_the_end_of_the_interpreter() -> None:
    """Where a handler runs that was registered before, the children have been closed."""
    program = "import atexit\natexit.register(lambda: print(convert()))\n" + PROGRAM + "convert()"
    done = python(program, "-X", "dev")
    assert (done.stdout, done.stderr) == ("11\n", "")


END = {"ends": "", "leaves": "os._exit(0)", "is-killed": "os.kill(os.getpid(), 9)"}


@pytest.mark.parametrize("how", END.values(), ids=END)
def test_children_end_with_their_parent(how: str) -> None:
    program = "\nimport os\nconvert()\nchild_call.prepare()\nprint(*[child._process.pid for child in _children], flush=True)\n"
    done = python(PROGRAM + program + how)
    for pid in map(int, done.stdout.split()):
        assert_ends(pid)


def test_a_model_that_runs_ends_with_its_parent(tmp_path: Path) -> None:
    loop = "g (int64 n) => (int64 m) {c = Constant<value = bool {1}>() m = Loop<body = b (int64 i, bool k, int64 v) => (bool k2, int64 w) {k2 = Identity(k) w = Add(v, i)}>(n, c, n)}"
    onnx.save(helpers.model(loop, 13), tmp_path / "m.onnx")
    program = f"""
import numpy, os, pathlib, threading, time
from split_rewrite.rewriter.execution.model_client import Worker
worker = Worker()
inputs = dict(n=numpy.array(1 << 40))
threading.Thread(target=worker.run, args=(pathlib.Path({str(tmp_path / "m.onnx")!r}), inputs), daemon=True).start()
while not (worker._child and worker._child._is_ready):
    time.sleep(0.01)
time.sleep(0.3)
print(worker._child._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    assert_ends(int(python(PROGRAM + program).stdout))


def assert_ends(pid: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":  # nobody may have asked for its status yet
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} is still there")


def children() -> set[str]:
    """The processes that this one started and that are still there; none where the system does not say."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def test_nothing_stays_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    close_children()
    others = children()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    convert()
    close_children()
    with monkeypatch.context() as patch, pytest.raises(Crashed):
        patch.setattr(child_call, "_PROGRAM", plain(DIES))
        child_call.check_model(FINE, full=True)
    assert children() == others
    if before:
        assert len(os.listdir("/proc/self/fd")) == before
