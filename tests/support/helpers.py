"""What the tests share: models from text, runs in a child process, the command line, and what it refuses."""

from __future__ import annotations

import io
import itertools
import multiprocessing
import os
import re
import resource
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx.printer
import pytest
from onnx import numpy_helper, parser

from split_rewrite import rewriter
from split_rewrite.rewriter import InvalidModelError, Options, SplitRewriteError, UnconvertibleError
from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.cli.terminal import one_line
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.execution.messages import Failure, Outputs
from split_rewrite.rewriter.execution.model_client import Worker
from split_rewrite.rewriter.process.child import import_path

# The library's functions without their comparison: a test says itself which numbers it expects, and to run both models each
# time would make the tests four times as long.
convert_version = partial(rewriter.convert_version, compare="off")
simplify = partial(rewriter.simplify, compare="off")
round_trip = partial(rewriter.round_trip, compare="off")


def model(text: str, opset: int = 18, ir_version: int = 8) -> onnx.ModelProto:
    """`text` is a whole model, or just its graph: then `opset` and `ir_version` are put before it.

    Two things that the parser of old onnx releases cannot read are done here: `[name] y = Relu(x)` gives the node a name, and
    an input or output that is written as ABSENT or "" gets the empty name.
    """
    if not text.lstrip().startswith("<"):
        text = f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n{text}'
    names = {output: name for name, output in _NAMED_NODE.findall(text)}
    proto = parser.parse_model(_without_empty_names(_NAMED_NODE.sub(r"\2", text)))
    for node in _nodes((proto.graph, *proto.functions)):
        for output in names.keys() & set(node.output):
            node.name = names[output]
        _empty_names(node)
    return proto


def one_node(text: str) -> onnx.NodeProto:
    """The node that `text` is, as 'y = Pad (x, "", v)'. ABSENT and "" are as in `model`."""
    node = parser.parse_node(_without_empty_names(text))
    _empty_names(node)
    return node


def _without_empty_names(text: str) -> str:
    for listed in (_INPUTS, _OUTPUTS):
        text = listed.sub(lambda found: found[0].replace('""', ABSENT), text)
    return text


def _empty_names(node: onnx.NodeProto) -> None:
    for values in (node.input, node.output):
        for index, value in enumerate(values):
            values[index] = "" if value == ABSENT else value


_FOLDERS = [entry for entry in import_path() if os.path.exists(entry)]
IMPORT_AS_HERE = f"""
import site, sys
sys.path[:] = {_FOLDERS!r}
for folder in {_FOLDERS!r}:
    site.addsitedir(folder)
"""
"""Statements after which a fresh Python finds the modules that this process finds, even one that is started with -S.

They read the .pth files, where an editable installation adds an import hook and the name in `sys.path` that is for it. That name
must not be there before the hook: Python would remember that nobody knows it.
"""


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
_INPUTS = re.compile(r"\([^(){}<>\[\]]*\)")
_OUTPUTS = re.compile(r'(?:(?:[\w.]+|"")\s*,\s*)+(?:[\w.]+|"")\s*=(?=\s*[\w.]+\s*[<(])')
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
    outputs = answer(proto, inputs, runtime)
    assert isinstance(outputs, list), f"{runtime}: {outputs}"
    return outputs


def answer(proto: onnx.ModelProto, inputs: dict[str, Any], runtime: str = "onnxruntime") -> list[Any] | Failure:
    """The outputs of `proto`, computed in a child process, or why the runtime cannot."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(proto, path)
        found = _worker().run(path, inputs, runtime)
    return list(found.values) if isinstance(found, Outputs) else found


class Ended(NamedTuple):
    """How the command line ended."""

    status: int
    out: str
    err: str


def command_line(*arguments: str) -> Ended:
    """`split-rewrite` with these arguments, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = command.run(arguments)
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
    assert ended.err.splitlines() == [one_line(line) for line in _lines_of(message, kind)]
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


def assert_compares_equal(proto: onnx.ModelProto, target: int) -> onnx.ModelProto:
    """Convert `proto` to `target`, and let the program's own comparison judge; returns the result.

    onnxruntime runs nothing below opset 7; there, only a comparison that is not possible is excused.
    """
    result = convert_version(proto, target).model
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "before.onnx"), Path(folder, "after.onnx")
        for path, written in zip(paths, (proto, result), strict=True):
            onnx.save(written, path)
        found = compare(*paths)
    assert found.status == "equal" or (target < 7 and found.status == "not compared"), found.reason
    return result


def assert_rewrites(
    before: str | onnx.ModelProto, after: str, rule: str, opset: int, target: int, options: Options | None = None
) -> onnx.ModelProto:
    """`rule` takes part in converting the graph `before` from `opset` to `target`, and `after` is what is written.

    `before` is text as `model` takes it, or a model where text cannot say it; `after` leaves the interface out, which does not
    change: it is the initializers and the nodes, `<int64[2] sizes = {1, 3}> {a, b = Split (x, sizes)}`. Names are compared for
    the values of the interface only; the others may have any name in `after`, as long as it is the same value wherever it is
    the same name. Returns what is written.
    """
    if not {opset, target} <= set(known(opset, target)):
        pytest.skip(f"onnx has no opset {max(opset, target)}")
    given = model(before, opset) if isinstance(before, str) else before
    result = convert_version(given, target, options=options)
    assert rule in result.report.applied, f"the rules that apply are {sorted(result.report.applied)}"
    expected = model(f"g () => () {after}", target)
    interface = {value.name for value in (*given.graph.input, *given.graph.output)}
    written = rewrite_text(result.model.graph, interface)
    assert written == rewrite_text(expected.graph, interface), f"what is written is\n{written}"
    return result.model


def rewrite_text(graph: onnx.GraphProto, interface: Collection[str]) -> str:
    """The initializers and nodes of `graph`, as text that `onnx.parser` reads and that is the same for the same computation.

    Values outside `interface` are called v1, v2, … in the order in which nodes name them; initializers are in that order, too,
    attributes by name, and what is said of a graph beside its computation is left out.
    """
    shown = onnx.GraphProto(name="g", node=graph.node)
    names = {name: name for name in ("", *interface)}
    new_names = map("v{}".format, itertools.count(1))
    _rename_values(shown, names, new_names)
    tensors = {names[tensor.name]: tensor for tensor in graph.initializer if tensor.name in names}
    order = {name: position for position, name in enumerate(names.values())}
    shown.initializer.extend(_plain_tensor(tensors[name], name) for name in sorted(tensors, key=order.__getitem__))
    _, _, text = onnx.printer.to_text(shown).partition("=> ()")
    return re.sub(" +", " ", text.replace('[""] ', "")).strip()


def _rename_values(graph: onnx.GraphProto, names: dict[str, str], new_names: Iterator[str]) -> None:
    """Renames the values of `graph` and of the graphs in it; `names` holds the new names so far, and gets the others."""

    def renamed(name: str) -> str:
        if name not in names:
            names[name] = next(new_names)
        return names[name]

    for value in graph.input:
        value.name = renamed(value.name)
    for node in graph.node:
        node.ClearField("name")
        node.ClearField("doc_string")
        node.ClearField("metadata_props")
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
        node.ClearField("attribute")
        node.input[:] = map(renamed, node.input)
        for attribute in attributes:
            if attribute.HasField("g"):
                attribute.g.name = "body"
                _rename_values(attribute.g, names, new_names)
            if attribute.HasField("t"):
                attribute.t.CopyFrom(_plain_tensor(attribute.t, ""))
        node.attribute.extend(attributes)
        node.output[:] = map(renamed, node.output)
    for value in graph.output:
        value.name = renamed(value.name)


def _plain_tensor(tensor: onnx.TensorProto, name: str) -> onnx.TensorProto:
    """`tensor` under this name, its elements always in the same field."""
    return numpy_helper.from_array(numpy_helper.to_array(tensor), name)


def optimized(proto: onnx.ModelProto) -> list[str]:
    """The operators that onnxruntime's optimizer leaves of the main graph, in order of their names."""
    return run_isolated(_optimize, proto.SerializeToString())


def _optimize(serialized: bytes) -> list[str]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder, "optimized.onnx"))
        onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
        return sorted(node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node)
