"""Operators of other domains that the user gives, so that models with them can be run: shared libraries for onnxruntime, and Python
files for onnx.reference.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, NamedTuple

from .messages import Failure, RejectedError, one_line

_files: ContextVar[tuple[str, ...]] = ContextVar("files", default=())


@contextmanager
def using(files: Sequence[str]) -> Iterator[None]:
    """For the time of a `with`, models that this thread runs may have the operators of these files."""
    token = _files.set(tuple(files))
    try:
        yield
    finally:
        _files.reset(token)


def in_use() -> tuple[str, ...]:
    """The files with custom operators in this thread."""
    return _files.get()


class Loading(NamedTuple):
    """A question to a child: can these files be loaded?"""

    files: tuple[str, ...]

    def answer(self) -> None:
        """Raises RejectedError where a file cannot be loaded."""
        operators_in(self.files)
        if not all(map(_is_python, self.files)):
            import onnxruntime

            register_libraries(onnxruntime.SessionOptions(), self.files)


def register_libraries(options: Any, files: Sequence[str]) -> None:
    """Register the libraries among `files` with `options`, SessionOptions of onnxruntime.

    Raises RejectedError where one cannot be loaded.
    """
    for path in files:
        if not _is_python(path):
            try:
                options.register_custom_ops_library(path)
            except Exception as error:
                reason = one_line(re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error)))
                raise RejectedError(Failure("unsupported", f"{path} cannot be loaded: {reason}")) from error


def operators_in(files: Sequence[str]) -> list[Any]:
    """The subclasses of onnx.reference.op_run.OpRun that the Python files among `files` define, each with an `op_domain`.

    Raises RejectedError where a file cannot be run, or defines none.
    """
    return [operator for path in files if _is_python(path) for operator in _defined_in(path)]


def _defined_in(path: str) -> list[Any]:
    from onnx.reference.op_run import OpRun

    module = ModuleType(f"custom operators of {path}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # where decorators look up annotations
    try:
        with open(path, "rb") as file:
            exec(compile(file.read(), path, "exec", dont_inherit=True), vars(module))
    except Exception as error:
        raise RejectedError(
            Failure("unsupported", f"{path} cannot be loaded: {type(error).__name__}: {one_line(error)}")
        ) from error
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, OpRun)]
    found = [operator for operator in classes if getattr(operator, "op_domain", "")]
    if not found:
        raise RejectedError(Failure("unsupported", f"{path} defines no subclass of onnx.reference.op_run.OpRun with an op_domain"))
    return found


def _is_python(path: str) -> bool:
    return os.path.splitext(path)[1] == ".py"
