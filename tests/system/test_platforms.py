"""The command line and the library where the platform has nothing of POSIX: what Windows lacks is taken away first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import helpers
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

TAKE_AWAY = """
import os, signal, sys
for name in ("fork", "forkpty", "register_at_fork", "pread", "pwrite", "preadv", "sendfile", "copy_file_range", "O_NONBLOCK",
             "O_CLOEXEC", "fchmod", "sysconf", "getuid", "geteuid", "getgid", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGALRM", "SIGPROF", "SIGXFSZ", "SIGPIPE", "SIGCHLD", "alarm", "setitimer", "SIGUSR1"):
    if hasattr(signal, name):
        delattr(signal, name)
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
"""

# Windows opens no folders, replaces no open file, and renames over none.
RESTRICT = """
import shutil
shutil._use_fd_functions = False
opened, replaced, _ = os.open, os.replace, os.rename
def open_no_folder(path, flags, *more, **options):
    if os.path.isdir(path) and not flags & getattr(os, "O_DIRECTORY", 0):
        raise PermissionError(13, "Permission denied", path)
    return opened(path, flags, *more, **options)
def require_closed(*paths):
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        for path in paths:
            if os.path.exists(path) and os.path.realpath("/proc/self/fd/" + number) == os.path.realpath(path):
                raise PermissionError(13, "The process cannot access the file", path)
def replace(source, target):
    require_closed(source, target)
    replaced(source, target)
def rename(source, target):
    if os.path.exists(target):
        raise FileExistsError(17, "File exists", target)
    replace(source, target)
os.open, os.replace, os.rename = open_no_folder, replace, rename
"""

START = f"""
{helpers.IMPORT_AS_HERE}
from split_rewrite.rewriter.process import child, child_call
from split_rewrite.rewriter.execution import model_client
taken = {TAKE_AWAY!r}
child_call._PROGRAM = taken.replace("{{", "{{{{").replace("}}", "}}}}") + child_call._PROGRAM
model_client.serving_program = lambda module: taken + child.serving_program(module)
"""

COMMAND = TAKE_AWAY + START + RESTRICT + "from split_rewrite.rewriter.cli.command import main\nmain()"


def run(program: str, *arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def large() -> onnx.ModelProto:
    """12 MiB, so that its weights stay in the file while it is converted. Newlines and 0x1A are bytes like others."""
    model = helpers.model("g (float[4, 6] x) => (float[4, 2] a, float[4, 4] b) {a, b = Split<axis = 1, split = [2, 4]>(x) }", 11)
    weights = np.full(3 << 20, 0x1A0D0A0D, np.int32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save(large(), tmp_path / "m.onnx")
    return tmp_path


def weights_of(path: Path) -> np.ndarray:
    return numpy_helper.to_array(next(tensor for tensor in onnx.load(path).graph.initializer if tensor.name == "w"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("data", ["inline", "split"])
def test_a_conversion(folder: Path, data: str) -> None:
    done = run(COMMAND, "-t", "13", "m.onnx", "o.onnx", "--external-data", data, "--report", "r.json", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "comparison  equal" in done.stdout
    onnx.checker.check_model(str(folder / "o.onnx"), full_check=True)
    np.testing.assert_array_equal(weights_of(folder / "o.onnx"), weights_of(folder / "m.onnx"))
    assert json.loads((folder / "r.json").read_text())["exit_status"] == 0
    assert names(folder) == ["m.onnx", "o.onnx", *(["o.onnx.data"] if data == "split" else []), "r.json"]


@pytest.mark.parametrize("data", ["inline", "split"])
def test_a_conversion_in_place(folder: Path, data: str) -> None:
    for target in ("13", "18"):
        done = run(COMMAND, "-t", target, "m.onnx", "m.onnx", "--external-data", data, folder=folder)
        assert (done.returncode, done.stderr) == (0, "")
    assert onnx.load(folder / "m.onnx").opset_import[0].version == 18
    np.testing.assert_array_equal(weights_of(folder / "m.onnx"), np.full(3 << 20, 0x1A0D0A0D, np.int32))


def test_a_comparison_of_nodes(folder: Path) -> None:
    done = run(COMMAND, "-t", "13", "m.onnx", "o.onnx", "--compare", "nodes", "--runtime", "both", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_refusal_leaves_nothing(folder: Path) -> None:
    (folder / "m.onnx").write_bytes((folder / "m.onnx").read_bytes()[:-1000])
    done = run(COMMAND, "-t", "13", "m.onnx", "o.onnx", folder=folder)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert names(folder) == ["m.onnx"]


def test_the_library(folder: Path) -> None:
    program = TAKE_AWAY + START + RESTRICT + "from split_rewrite.rewriter import convert_file, convert_version\n"
    program += "print(convert_version('m.onnx', 13, compare='required').model.opset_import[0].version)\n"
    program += "print(convert_file('m.onnx', 'o.onnx', 18, compare='required').target_opset)"
    done = run(program, folder=folder)
    assert (done.stdout, done.stderr) == ("13\n18\n", "")


def test_time_is_limited(folder: Path) -> None:
    """By a watchdog in the child, where the platform does not limit processor time."""
    program = (
        TAKE_AWAY
        + START
        + "child_call._PROGRAM = child_call._PROGRAM.replace('\\nserve()', '\\nfrom {package} import onnx_child as child\\n')\n"
    )
    program += (
        "child_call._PROGRAM += 'def spin(*_):\\n    while True: pass\\nchild.OPERATIONS[\"check_model\"] = spin\\nserve()'\n"
    )
    program += "child_call._CPU_SECONDS = 1\n"
    program += "try:\n    child_call.check_model(b'', True)\nexcept child_call.Crashed as crash:\n    print(crash)"
    done = run(program, folder=folder)
    assert (done.stdout, done.stderr) == ("time limit of 1 s\n", "")
