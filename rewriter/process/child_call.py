"""Calls of onnx's checker and shape inference, which may crash or never end, in child processes, or here where none are started.

The children are kept for the next call. Each serves one thread at a time, so threads do not wait for each other. They import
little (see `onnx_child`), so that a child is ready before this process has imported onnx.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from ..errors import SystemLimitError
from .child import Child, Crashed, NotReady, Pool, are_started, cannot_start

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


class Refused(Exception):
    """onnx rejected the model; `str()` is its complaint on one line."""


def check_model(model: bytes, full: bool) -> None:
    """Run onnx.checker on a serialized model, with `full` also shape inference.

    Raises Refused where onnx rejects the model, Crashed where the child dies, SystemLimitError where no child can be started.
    """
    _call("check_model", model, full)


def check_nodes(nodes: Sequence[bytes], opset: int, ir_version: int) -> None:
    """Run onnx.checker on serialized nodes of the default domain. Raises as `check_model`."""
    _call("check_nodes", nodes, opset, ir_version)


def infer_model(model: bytes) -> bytes:
    """The serialized model with the value_info of all its graphs filled in. Raises as `check_model`."""
    return _call("infer_model", model)


def infer_without_entries(model: bytes) -> bytes:
    """As `infer_model`, but no entries of shapes are followed through what computes with them. Raises as `check_model`."""
    return _call("infer_without_entries", model)


def inline_functions(model: bytes) -> bytes:
    """The serialized model with the nodes of its functions in place of their calls, where both are of the same opset. onnx does not
    know the defaults that functions have for attributes: calls have to state these. Raises as `check_model`.
    """
    return _call("inline_functions", model)


def infer_strictly(model: bytes) -> None:
    """Run shape inference as the full check does. Raises as `check_model`, Refused where it disputes a type or shape."""
    _call("infer_strictly", model)


def infer_node(
    op_type: str, opset: int, node: bytes, types: dict[str, bytes], data: dict[str, bytes], ir_version: int
) -> dict[str, bytes]:
    """The types of the outputs of one node of the default domain, by name, all serialized.

    `types` are those of its inputs, `data` the TensorProtos of inputs that are constants. Raises as `check_model`.
    """
    return _call("infer_node", op_type, opset, node, types, data, ir_version)


def prepare() -> None:
    """Start a child, unless one is idle. It gets ready while this process does other work."""
    if not are_started():
        return
    with suppress(SystemLimitError):  # whoever needs it says so
        _pool.prepare()


def _call(operation: str, *arguments: Any) -> Any:
    """Run `operation` with its arguments in a child and return the result. Raises as `check_model`."""
    if not are_started():
        return _call_here(operation, arguments)
    was_used = False
    try:
        with _pool.lent() as child:
            was_used = child.has_answered
            succeeded, value = _ask(child, operation, arguments)
    except (Crashed, NotReady) as death:
        is_to_blame = isinstance(death, Crashed) and (death.is_timeout or not was_used)
        if is_to_blame:
            raise
        # What it was asked before may have broken it; and what ends a child before it is asked is not the model.
        succeeded, value = _ask_anew(operation, arguments)
    if not succeeded:
        raise Refused(value)
    return value


def _call_here(operation: str, arguments: tuple[Any, ...]) -> Any:
    """Run `operation` in this process. Raises Refused where onnx rejects the model."""
    from .onnx_child import answer  # imports onnx, which a program that only starts children need not do

    succeeded, value = answer(operation, arguments)
    if not succeeded:
        raise Refused(value)
    return value


def _ask_anew(operation: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """The answer of a new child. Raises Crashed, or SystemLimitError where that child ends before it takes a request, too."""
    try:
        with _pool.lent(_start()) as child:
            return _ask(child, operation, arguments)
    except NotReady as end:
        raise cannot_start(str(end)) from None


def _ask(child: Child, operation: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """The answer of `child`: (True, the result) or (False, onnx's complaint). After a large request, the child is closed."""
    size = sum(len(argument) for argument in arguments if isinstance(argument, bytes))
    seconds = _CPU_SECONDS + _CPU_SECONDS_PER_MIB * (size >> 20)
    answer = child.ask(marshal.dumps((operation, arguments)), seconds, _MEMORY + _MEMORY_PER_BYTE * size)
    if size > _KEPT_AFTER:
        child.close()
    return marshal.loads(answer)


_PACKAGE = __package__ or ""
_FOLDER = os.path.dirname(os.path.abspath(__file__))


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


_pool = Pool(_start, _MOST_IDLE)
