"""Operators of other domains that the user gives, so that models with them can be run: shared libraries for onnxruntime, and Python
files for onnx.reference.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, NamedTuple

from .messages import Failure, RejectedError, one_line

LIBRARIES = "SPLIT_REWRITE_CUSTOM_OPS"
"""The environment variable with which a child that runs another runtime is told of the libraries, one on each line."""

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


def libraries_in_use() -> list[str]:
    """The shared libraries among the files with custom operators in this thread."""
    return [path for path in in_use() if not _is_python(path)]


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
                raise _rejected(f"{path} cannot be loaded: {reason}") from error


def operators_in(files: Sequence[str]) -> list[Any]:
    """The subclasses of onnx.reference.op_run.OpRun that the Python files among `files` define, each with an `op_domain`.

    Raises RejectedError where a file cannot be run, defines none, or one that another file or class defines as well.
    """
    found = [operator for path in files if _is_python(path) for operator in _defined_in(path)]
    own = [operator for operator in found if operator.__module__.startswith(_MODULE)]  # others are imported by them
    for (domain, name), number in Counter((operator.op_domain, operator.__name__) for operator in own).items():
        if number > 1:
            raise _rejected(f"the files define {name} of domain {domain} {number} times")
    defined = {(operator.op_domain, operator.__name__) for operator in own}
    imported = (operator for operator in found if (operator.op_domain, operator.__name__) not in defined)
    return [*own, *{(operator.op_domain, operator.__name__): operator for operator in imported}.values()]


_MODULE = "custom operators of "
"""What the names of the modules begin with that files become."""


def _defined_in(path: str) -> list[Any]:
    from onnx.reference.op_run import OpRun

    module = ModuleType(f"{_MODULE}{path}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # where decorators look up annotations
    if (folder := os.path.dirname(path)) not in sys.path:
        sys.path.append(folder)  # for the modules beside the file; last, so that it hides none of others
    try:
        with open(path, "rb") as file:
            exec(compile(file.read(), path, "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as error:
        raise _rejected(f"{path} cannot be loaded: {type(error).__name__}: {one_line(error)}") from error
    values = dict.fromkeys(value for value in vars(module).values() if isinstance(value, type))
    classes = [value for value in values if issubclass(value, OpRun) and value is not OpRun]
    found = [kind for kind in classes if kind.op_domain]
    if not found and classes:
        raise _rejected(f"{path}: {classes[0].__name__} has no op_domain, the domain of the operator")
    if not found:
        raise _rejected(f"{path} defines no subclass of onnx.reference.op_run.OpRun with an op_domain")
    return found


def _rejected(message: str) -> RejectedError:
    return RejectedError(Failure("unsupported", message))


def _is_python(path: str) -> bool:
    return os.path.splitext(path)[1].lower() == ".py"
