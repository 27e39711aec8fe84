"""Runs one model in one runtime, in a child process of its own: a crash or an endless loop ends only that process."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import onnx

from ..errors import ArgumentError, shortened
from ..process.child import child_environment
from ..suggestions import did_you_mean
from . import adapters
from .custom_operators import LIBRARIES, libraries_in_use

Status = Literal["ran", "refused", "crashed", "hung"]
_SECONDS = 300.0


@dataclass(frozen=True)
class Target:
    """A runtime to run models in: the name of an adapter or "module:class", and the Python interpreter of its environment."""

    adapter: str
    python: str = sys.executable
    seconds: float = _SECONDS

    def require(self) -> None:
        """Raises ArgumentError where there is no such adapter or interpreter, or where the runtime is not installed there."""
        module, _, _ = self.adapter.partition(":")
        if ":" in self.adapter and not all(part.isidentifier() for part in module.split(".")):
            reason = "name the module as an import does: 'package.module:Class'"
            raise ArgumentError(f"'{shortened(self.adapter)}' is no adapter: {reason}")
        if ":" not in self.adapter and self.adapter not in adapters.ADAPTERS:
            suggestion = did_you_mean(shortened(self.adapter), adapters.ADAPTERS)
            known = ", ".join(adapters.ADAPTERS)
            raise ArgumentError(
                f"'{shortened(self.adapter)}' is not a runtime that can be run from here{suggestion} "
                f"(these can: {known}; or name a class of your own as module:class)"
            )
        if not self.installed_version():
            raise ArgumentError(f"{self.adapter} is not installed in the environment of {self.python}")

    def installed_version(self) -> str:
        """The version of the runtime's package in the environment of the interpreter; "" where it is not installed.

        Raises: ArgumentError where the interpreter does not run, or the adapter cannot be used.
        """
        program = f"print({_GREETING!r}); import runpy; print(runpy.run_path({adapters.__file__!r})['release']({self.adapter!r}))"
        try:
            done = subprocess.run(
                [self.python, "-c", program], capture_output=True, text=True, errors="replace", env=child_environment()
            )
        except OSError as error:
            raise ArgumentError(f"--python {self.python}: {error.strerror or error}") from None
        greeting, _, version = done.stdout.partition("\n")
        if greeting != _GREETING:
            raise ArgumentError(f"--python {self.python}: it is not a Python interpreter")
        if "PackageNotFoundError" in done.stderr:
            return ""
        if done.returncode:
            raise ArgumentError(f"the adapter '{self.adapter}' cannot be used: {own_message(done.stderr)}")
        return version.strip()


_GREETING = "Python"
"""What an interpreter prints first, and another program does not."""


class Ran(NamedTuple):
    """The outcome of a run: `outputs` where it "ran", otherwise `reason`, which is one line."""

    status: Status
    outputs: tuple[np.ndarray, ...] = ()
    version: str = ""
    reason: str = ""


def run_model(target: Target, model: onnx.ModelProto, inputs: Sequence[np.ndarray]) -> Ran:
    """Run `model`, which contains its weights. `inputs` are the values of its graph inputs without a default, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(model, path)
        return run_file(target, path, interface(model), [inputs])[0]


def run_file(target: Target, path: Path, names: Interface, samples: Sequence[Sequence[np.ndarray]]) -> list[Ran]:
    """Run the model at `path` on each of `samples`, and stop at the first one on which it fails. With none, it is only loaded.

    A file is written beside the model.
    """
    Path(f"{path}.names").write_text("\n".join(map("\t".join, names)), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(Path(folder, f"in{number}.npz"), Path(folder, f"out{number}.npz")) for number in range(len(samples))]
        for (given, _), inputs in zip(pairs, samples, strict=True):
            np.savez(given, *inputs)
        failure = _run_child(target, [str(path), *(str(file) for pair in pairs for file in pair)])
        ran = [_ran(outputs, len(names.outputs)) for _, outputs in pairs if outputs.exists()]
        if failure is None and len(ran) < len(pairs):
            failure = Ran("refused", reason="its process ended without a result and without an error")
        return ran if failure is None else [*ran[: len(pairs) - 1], failure]


def _run_child(target: Target, arguments: Sequence[str]) -> Ran | None:
    """Run the program of the adapters. Returns None where it ended well, otherwise the outcome."""
    command = [target.python, "-W", "ignore", adapters.__file__, target.adapter, *arguments]
    libraries = "\n".join(libraries_in_use())
    quiet = {**child_environment(), "OPENCV_LOG_LEVEL": "SILENT", LIBRARIES: libraries}
    try:
        done = subprocess.run(command, capture_output=True, timeout=target.seconds, text=True, errors="replace", env=quiet)
    except subprocess.TimeoutExpired:
        return Ran("hung", reason=f"not finished within {target.seconds:g} s")
    if done.returncode < 0 or done.returncode > 128:
        return Ran("crashed", reason=f"ended by signal {abs(done.returncode) % 128}")
    return Ran("refused", reason=own_message(done.stderr)) if done.returncode else None


def _ran(outputs: Path, count: int) -> Ran:
    """What a runtime wrote into the file `outputs`: `count` arrays, or none from MNN where it fails without an error."""
    with np.load(outputs) as found:
        arrays = tuple(found[f"arr_{index}"] for index in range(len(found.files) - 1))
        if len(arrays) < count:
            return Ran("refused", reason=f"it gave {len(arrays)} of {count} output{'s' * (count != 1)}, and no error")
        return Ran("ran", arrays, str(found["version"]))


class Interface(NamedTuple):
    """The names of the inputs without a default value, and of the outputs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def with_outputs(self, more: tuple[str, ...]) -> Interface:
        return self._replace(outputs=(*self.outputs, *more))


def interface(model: onnx.ModelProto) -> Interface:
    given = {tensor.name for tensor in model.graph.initializer}
    inputs = (value.name for value in model.graph.input if value.name not in given)
    return Interface(tuple(inputs), tuple(value.name for value in model.graph.output))


_BACKTRACE = re.compile(r"\s*(Stack backtrace|stack backtrace|Backtrace)\b|\s+at \S+:\d+|\s*\d+: (0x[0-9a-f]+|<unknown>)")
"""A line with which a backtrace of native code begins."""


def own_message(text: str) -> str:
    """What a runtime says about its error, on one line: the message of the exception that ended a child, whose standard error
    was `text`, without traceback and backtrace.
    """
    lines = text.rpartition("Traceback (most recent call last):")[2].splitlines()
    if "Traceback (most recent call last):" in text:
        lines = list(dropwhile(lambda line: not line or line[0].isspace(), lines))
    message = takewhile(lambda line: not _BACKTRACE.match(line), lines)
    told = [" ".join(line.split()) for line in message if any(map(str.isalpha, line))]
    return " ".join(told) or "no reason given"
