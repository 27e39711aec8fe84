"""Run one model in one runtime, in a child process of its own: a crash or an endless loop there ends that child alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import onnx

from ..errors import ArgumentError
from . import adapters

Status = Literal["ran", "refused", "crashed", "hung"]
_SECONDS = 120.0


@dataclass(frozen=True)
class Target:
    """Which runtime: an adapter's name or "module:class", and the interpreter of the environment that has it."""

    adapter: str
    python: str = sys.executable
    seconds: float = _SECONDS

    def require(self) -> None:
        """Raises ArgumentError where there is no such adapter or interpreter."""
        if ":" not in self.adapter and self.adapter not in adapters.ADAPTERS:
            known = ", ".join(adapters.ADAPTERS)
            raise ArgumentError(f"there is no adapter for '{self.adapter}'; there are {known}, or name your own as module:class")
        program = f"import runpy, sys; runpy.run_path({adapters.__file__!r})['find_adapter']({self.adapter!r})"
        try:
            done = subprocess.run([self.python, "-c", program], capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise ArgumentError(f"--python {self.python}: {error.strerror or error}") from None
        if done.returncode:
            raise ArgumentError(f"the adapter '{self.adapter}' cannot be used: {last_line(done.stderr)}")


class Ran(NamedTuple):
    """What became of a run: `outputs` where it "ran", else `reason`, one line."""

    status: Status
    outputs: tuple[np.ndarray, ...] = ()
    version: str = ""
    reason: str = ""


def run_model(target: Target, model: onnx.ModelProto, inputs: Sequence[np.ndarray]) -> Ran:
    """Run `model`, whose weights are in it, on `inputs`, those of its graph inputs that have no value, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(model, path)
        names = ["\t".join(input_names(model)), "\t".join(value.name for value in model.graph.output)]
        Path(f"{path}.names").write_text("\n".join(names), encoding="utf-8")
        np.savez(Path(folder, "inputs.npz"), *inputs)
        outputs = Path(folder, "outputs.npz")
        files = [str(path), str(Path(folder, "inputs.npz")), str(outputs)]
        command = [target.python, "-W", "ignore", adapters.__file__, target.adapter, *files]
        quiet = {**os.environ, "OPENCV_LOG_LEVEL": "SILENT"}
        try:
            done = subprocess.run(command, capture_output=True, timeout=target.seconds, text=True, errors="replace", env=quiet)
        except subprocess.TimeoutExpired:
            return Ran("hung", reason=f"not finished within {target.seconds:g} s")
        if done.returncode < 0 or done.returncode > 128:
            return Ran("crashed", reason=f"ended by signal {abs(done.returncode) % 128}")
        if not outputs.exists():
            return Ran("refused", reason=last_line(done.stderr))
        with np.load(outputs) as found:
            arrays = tuple(found[f"arr_{index}"] for index in range(len(found.files) - 1))
            return Ran("ran", arrays, str(found["version"]))


def input_names(model: onnx.ModelProto) -> list[str]:
    """Of the inputs that have to be given."""
    given = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in given]


def last_line(text: str) -> str:
    """The last line with a word in it: what an exception says."""
    lines = [line.strip() for line in text.splitlines() if any(map(str.isalpha, line))]
    return lines[-1] if lines else "no reason given"
