"""Runs models in each runtime: one class with two methods for each, which needs only numpy and the runtime itself.

This file is also the program of the child process that runs a model. Its interpreter may belong to another environment, so this
file imports nothing of this project, and has nothing that Python 3.8 lacks:

    python adapters.py ADAPTER MODEL INPUTS.npz OUTPUTS.npz [INPUTS.npz OUTPUTS.npz ...]

`ADAPTER` is a name in `ADAPTERS`, or `module:class` for a class of your own. The inputs are called arr_0, arr_1, … in the order of
the model's inputs, and so are the outputs; `version` among the outputs is the release of the runtime. The model is loaded again for
each pair, because shapes may differ.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Any, Protocol

import numpy as np


def _together(*several: Iterable[Any]) -> Iterator[Any]:
    """What is at the same place in sequences of one length."""
    return zip(*several)  # noqa: B905 - Python 3.8 has no `strict`


class Adapter(Protocol):
    """The methods that an adapter class needs. `package` is the Python package whose version is that of the runtime."""

    package: str

    def load(self, path: str) -> None:
        """Load the model file at `path`. Any exception means that the runtime refuses it."""
        ...

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[Any]:
        """Run the loaded model and return its outputs, as arrays or anything that numpy turns into arrays.

        Both are in the model's order.
        """
        ...


class OnnxRuntime:
    package = "onnxruntime"

    def load(self, path: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        for library in os.environ.get("SPLIT_REWRITE_CUSTOM_OPS", "").splitlines():
            options.register_custom_ops_library(library)
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[Any]:
        names = [value.name for value in self._session.get_inputs()]
        return self._session.run(None, dict(_together(names, inputs)))


class OpenVino:
    package = "openvino"

    def load(self, path: str) -> None:
        import openvino  # type: ignore[import-not-found]

        core = openvino.Core()
        # On some processors CPU kernels compute in bfloat16 unless told not to.
        self._model = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[Any]:
        found = self._model(dict(enumerate(inputs)))  # by position: names get lost
        return [found[index] for index in range(len(self._model.outputs))]


class OpenCv:
    package = "opencv-python-headless"

    def load(self, path: str) -> None:
        import cv2  # type: ignore[import-not-found]

        self._net = cv2.dnn.readNetFromONNX(path)
        self._names = _interface(path)

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[Any]:
        names, outputs = self._names
        for name, value in _together(names, inputs):
            self._net.setInput(value, name)
        return self._net.forward(list(outputs))


class Mnn:
    package = "MNN"

    def load(self, path: str) -> None:
        import _tools  # type: ignore[import-not-found]
        import MNN.expr as expr  # type: ignore[import-not-found]
        import MNN.nn as nn  # type: ignore[import-not-found]

        self._expr = expr
        self._names = _interface(path)
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "model.mnn")
            files = ["--modelFile", path, "--MNNModel", result]
            # Not by the module mnnconvert, which tells a server of every conversion.
            with _native_output(folder) as told:
                _tools.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "probe", "--keepInputFormat=1"])
            if not os.path.exists(result):
                raise RuntimeError(f"mnnconvert refuses the model: {_telling(told)}")
            self._module = nn.load_module_from_file(result, *map(list, self._names))

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[Any]:
        expr = self._expr
        kinds = {"float32": expr.float, "int32": expr.int, "int64": expr.int, "bool": expr.int, "uint8": expr.uint8}
        given = []
        for value in inputs:
            as_mnn = value.astype(np.int32) if value.dtype.name in ("int64", "bool") else value
            variable = expr.placeholder(list(value.shape), expr.NCHW, kinds[value.dtype.name])
            variable.write(np.ascontiguousarray(as_mnn))
            given.append(variable)
        outputs = self._module.onForward(given)  # forward() gives the first one alone
        return [np.array(expr.convert(output, expr.NCHW).read()) for output in outputs]


class Tract:
    package = "tract"

    def load(self, path: str) -> None:
        import tract  # type: ignore[import-not-found]

        self._model = tract.onnx().load(path).into_model().into_runnable()

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[Any]:
        return [output.to_numpy() for output in self._model.run(list(inputs))]


class Tinygrad:
    package = "tinygrad"

    def load(self, path: str) -> None:
        os.environ.setdefault("DEV", "PYTHON")  # needs neither a compiler nor a GPU
        from tinygrad import Tensor  # type: ignore[import-not-found]
        from tinygrad.nn.onnx import OnnxRunner  # type: ignore[import-not-found]

        self._tensor = Tensor
        self._model = OnnxRunner(path)
        self._names = _interface(path)

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[Any]:
        names, outputs = self._names
        found = self._model({name: self._tensor(value) for name, value in _together(names, inputs)})
        return [found[name].numpy() for name in outputs]


class Ncnn:
    """The runtime ncnn, with the model converted by pnnx, which also needs the shapes of the inputs.

    pnnx decides for each input and output which axis is the batch, and states that only in a Python program that it writes.
    """

    package = "pnnx"

    def load(self, path: str) -> None:
        import pnnx  # type: ignore[import-not-found]

        self._pnnx = pnnx.EXEC_PATH
        self._path = path

    def run(self, inputs: Sequence[np.ndarray]) -> Sequence[Any]:
        import ncnn  # type: ignore[import-not-found]

        with tempfile.TemporaryDirectory() as folder:
            base = os.path.join(folder, "model")
            self._convert(inputs, base)
            with open(f"{base}_ncnn.py", encoding="utf-8") as program:
                text = program.read()
            given, wanted = (re.findall(rf"{name}\d+\.numpy\(.*?batch_index=(\d+)\)", text) for name in ("in", "out"))
            with ncnn.Net() as net:
                if net.load_param(f"{base}.ncnn.param") or net.load_model(f"{base}.ncnn.bin"):
                    raise RuntimeError("ncnn cannot load what pnnx made of the model")
                with net.create_extractor() as extractor:
                    for index, (value, batch) in enumerate(_together(inputs, given)):
                        extractor.input(f"in{index}", ncnn.Mat(np.ascontiguousarray(value), batch_index=int(batch)).clone())
                    found = [extractor.extract(f"out{index}") for index in range(len(wanted))]
                    if any(status for status, _ in found):
                        raise RuntimeError("ncnn does not compute an output")
                    return [np.array(mat.numpy(batch_index=int(batch))) for (_, mat), batch in _together(found, wanted)]

    def _convert(self, inputs: Sequence[np.ndarray], base: str) -> None:
        """Convert the model with pnnx to files whose names begin with `base`.

        They are named here, because pnnx would derive their names from that of the model, with other characters in it.
        """
        kinds = {"b": "u", "u": "u", "i": "i", "f": "f"}
        types = (f"{kinds[value.dtype.kind]}{8 * value.itemsize}" for value in inputs)
        shapes = (str(list(value.shape)).replace(" ", "") for value in inputs)
        inputshape = ",".join(map("".join, _together(shapes, types)))
        suffixes = {"pnnxparam": ".pnnx.param", "pnnxbin": ".pnnx.bin", "pnnxpy": "_pnnx.py", "pnnxonnx": ".pnnx.onnx"}
        suffixes |= {"ncnnparam": ".ncnn.param", "ncnnbin": ".ncnn.bin", "ncnnpy": "_ncnn.py"}
        files = [f"{key}={base}{suffix}" for key, suffix in suffixes.items()]
        command = [self._pnnx, self._path, f"inputshape={inputshape}", *files]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        finally:
            with contextlib.suppress(OSError):
                os.remove(f"{os.path.splitext(self._path)[0]}.pnnxsim.onnx")  # pnnx leaves it beside the model
        if not os.path.exists(f"{base}_ncnn.py"):
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            told = lines[0] if lines else f"it ends with status {done.returncode}"
            raise RuntimeError(f"pnnx does not convert the model: {told}")


ADAPTERS = {
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "opencv": OpenCv,
    "mnn": Mnn,
    "ncnn": Ncnn,
    "tract": Tract,
    "tinygrad": Tinygrad,
}


@contextlib.contextmanager
def _native_output(folder: str) -> Iterator[list[str]]:
    """The lines that native code prints within a `with`, on either stream; known behind it. A file in `folder` holds them."""
    lines: list[str] = []
    with open(os.path.join(folder, "printed.txt"), "w+b") as file:
        kept = os.dup(1), os.dup(2)
        try:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
            yield lines
        finally:
            for stream, old in _together((1, 2), kept):
                os.dup2(old, stream)
                os.close(old)
            file.seek(0)
            lines += [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]


def _telling(lines: Sequence[str]) -> str:
    """The first line that speaks of an error, else the last one."""
    about = (line for line in lines if re.search("not support|error|failed|empty input|no data", line, re.IGNORECASE))
    return next(about, lines[-1] if lines else "it says nothing").strip()


def _interface(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the inputs without a default value, and of the outputs, which are in a text file beside the model."""
    with open(f"{path}.names", encoding="utf-8") as file:
        inputs, outputs = (tuple(line.rstrip("\n").split("\t")) if line.strip() else () for line in file)
    return inputs, outputs


def find_adapter(spec: str) -> type[Adapter]:
    """The class that `spec` names. Raises: ImportError, AttributeError."""
    if spec in ADAPTERS:
        return ADAPTERS[spec]
    module, _, name = spec.partition(":")
    return getattr(import_module(module), name)


def release(spec: str) -> str:
    """The installed version of a runtime. Raises an exception where there is no such adapter, or where it is not installed."""
    return installed_version(find_adapter(spec).package)


def _numbers(outputs: Sequence[Any]) -> list[np.ndarray]:
    """The outputs as arrays. Raises TypeError where one is something else, as strings and maps are."""
    arrays = [np.asarray(value) for value in outputs]
    for number, array in enumerate(arrays):
        if array.dtype.kind in "OUS":
            raise TypeError(f"output {number} is not an array of numbers")
    return arrays


def main(spec: str, model: str, *files: str) -> None:
    kind = find_adapter(spec)
    version = np.array(release(spec))
    for inputs, outputs in _together(files[::2], files[1::2]):
        adapter = kind()
        adapter.load(model)
        with np.load(inputs) as given:
            found = adapter.run([given[f"arr_{index}"] for index in range(len(given.files))])
        part = f"{outputs}.part.npz"
        np.savez(part, *_numbers(found), version=version)
        os.replace(part, outputs)  # a child that is ended leaves none by halves
    if not files:
        kind().load(model)


if __name__ == "__main__":
    sys.path[0] = os.getcwd()  # not the folder of this file, whose modules are this project's
    main(*sys.argv[1:])
