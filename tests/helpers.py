"""What the tests share: models from text, runs in a child process, and the refusals of a conversion."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import parser
from split_rewrite.rewriter import UnconvertibleError, convert_version
from split_rewrite.rewriter.runner import Outputs
from split_rewrite.rewriter.worker import Worker


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


def refusal(proto: onnx.ModelProto, target: int) -> str:
    """The blockers of converting `proto` to `target`, one a line. Fails the test where it converts."""
    try:
        convert_version(proto, target)
    except UnconvertibleError as error:
        return str(error)
    raise AssertionError(f"converted to opset {target}, and should have been refused")


def assert_same(proto: onnx.ModelProto, target: int, inputs: dict[str, Any], rtol: float = 0.0, atol: float = 0.0) -> onnx.ModelProto:
    """Convert `proto` to `target`, run both, and compare the outputs; returns the result. Exact by default."""
    result = convert_version(proto, target).model
    for expected, got in zip(run(proto, inputs), run(result, inputs), strict=True):
        assert np.asarray(expected).dtype == np.asarray(got).dtype
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, equal_nan=True)
    return result
