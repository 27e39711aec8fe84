"""What the tests share: models from text, runs in a child process, the command line, and what it refuses."""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import parser

from split_rewrite import rewriter
from split_rewrite.rewriter import InvalidModelError, SplitRewriteError, UnconvertibleError, cli
from split_rewrite.rewriter.comparison.model_client import Worker
from split_rewrite.rewriter.comparison.model_server import Outputs

# The library's functions without their comparison: a test says itself which numbers it expects, and to run both models each
# time would make the tests four times as long.
convert_version = partial(rewriter.convert_version, compare="off")
simplify = partial(rewriter.simplify, compare="off")
round_trip = partial(rewriter.round_trip, compare="off")


def model(text: str, opset: int = 18, ir_version: int = 8) -> onnx.ModelProto:
    """`text` is a whole model, or just its graph: then `opset` and `ir_version` are put before it.

    Two things that the parser of old onnx releases cannot read are done here: `[name] y = Relu(x)` gives the node a name, and
    an input or output called ABSENT gets the empty name.
    """
    if not text.lstrip().startswith("<"):
        text = f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n{text}'
    names = {output: name for name, output in _NAMED_NODE.findall(text)}
    proto = parser.parse_model(_NAMED_NODE.sub(r"\2", text))
    for node in _nodes((proto.graph, *proto.functions)):
        for output in names.keys() & set(node.output):
            node.name = names[output]
        for values in (node.input, node.output):
            for index, value in enumerate(values):
                values[index] = "" if value == ABSENT else value
    return proto


def run_isolated(function: Callable[..., Any], *args: Any, cpu_seconds: int = 60) -> Any:
    """`function(*args)` in a fork of this process, whose limits, user and crashes are its own.

    Raises: whatever `function` raises; ForkDied where there is no answer.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of numpy that do nothing
        process = context.Process(target=_answer, args=(theirs, function, args, cpu_seconds))
        process.start()
    theirs.close()
    try:
        succeeded, value = ours.recv()
    except EOFError:
        process.join()
        raise ForkDied(f"exit status {process.exitcode}") from None
    finally:
        ours.close()
    process.join()
    if succeeded:
        return value
    raise value


class ForkDied(Exception):
    """The process that `run_isolated` made ended without an answer."""


def _answer(pipe: Connection, function: Callable[..., Any], args: tuple[Any, ...], cpu_seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    try:
        pipe.send((True, function(*args)))
    except Exception as error:
        pipe.send((False, error))


ABSENT = "ABSENT"
_NAMED_NODE = re.compile(r"(?<!\w)\[(\w+)\]\s+(\w+)(?=[\w\s,]*=)")


def _nodes(graphs: Iterable[Any]) -> Iterator[onnx.NodeProto]:
    for graph in graphs:
        for node in graph.node:
            yield node
            yield from _nodes(attribute.g for attribute in node.attribute if attribute.HasField("g"))


def known(*opsets: int) -> tuple[int, ...]:
    """Those of `opsets` that the installed onnx knows."""
    return tuple(opset for opset in opsets if opset <= onnx.defs.onnx_opset_version())


def without(proto: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """`proto` with the empty name wherever a node of the main graph says `name`: old parsers cannot read it."""
    for node in proto.graph.node:
        for names in (node.input, node.output):
            for index, value in enumerate(names):
                names[index] = "" if value == name else value
    return proto


@cache
def _worker() -> Worker:
    return Worker()


def run(proto: onnx.ModelProto, inputs: dict[str, Any], runtime: str = "onnxruntime") -> list[Any]:
    """The outputs of `proto`, computed in a child process. Fails the test where the runtime cannot."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(proto, path)
        answer = _worker().run(path, inputs, runtime)
    assert isinstance(answer, Outputs), f"{runtime}: {answer}"
    return list(answer.values)


class Ended(NamedTuple):
    """How the command line ended."""

    status: int
    out: str
    err: str


def command_line(*arguments: str) -> Ended:
    """`split-rewrite` with these arguments, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.run(arguments)
    return Ended(status, out.getvalue(), err.getvalue())


def refusal(proto: onnx.ModelProto, target: int) -> str:
    """The blockers of converting `proto` to `target`, one a line. Fails the test where it converts."""
    return _failure(proto, target, UnconvertibleError)


def invalidity(proto: onnx.ModelProto, target: int) -> str:
    """Why `proto` is no valid model. Fails the test where it converts to `target`."""
    return _failure(proto, target, InvalidModelError)


def _failure(proto: onnx.ModelProto, target: int, kind: type[SplitRewriteError]) -> str:
    """What the library raises, which has to be what the command line says, with the exit status of `kind` and no output file."""
    try:
        convert_version(proto, target)
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"converted to opset {target}, and should have been refused")
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(proto, Path(folder, "m.onnx"))
        ended = command_line(f"{folder}/m.onnx", f"{folder}/o.onnx", "-t", str(target), "-v")
        assert os.listdir(folder) == ["m.onnx"]
    assert (ended.status, ended.out) == (kind.exit_status, "")
    assert ended.err.splitlines() == [cli._one_line(line) for line in _lines_of(message, kind)]
    return message


def _lines_of(message: str, kind: type[SplitRewriteError]) -> list[str]:
    """What the command line makes of `message`: a line, or for blockers one each, and before them how many there are."""
    if kind is not UnconvertibleError:
        return [f"error: {message}"]
    blockers = [f"  {line}" for line in message.splitlines()]
    count = "1 node" if len(blockers) == 1 else f"{len(blockers):,} nodes"
    return [f"error: {count} cannot be converted:", *blockers]


def assert_same(
    proto: onnx.ModelProto, target: int, inputs: dict[str, Any], rtol: float = 0.0, atol: float = 0.0
) -> onnx.ModelProto:
    """Convert `proto` to `target`, run both, and compare the outputs; returns the result. Exact by default."""
    result = convert_version(proto, target).model
    for expected, got in zip(run(proto, inputs), run(result, inputs), strict=True):
        assert np.asarray(expected).dtype == np.asarray(got).dtype
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, equal_nan=True)
    return result
