"""Models that no exporter writes: too deep, functions that call each other, and what a runtime dies of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from helpers import model
from onnx import helper, numpy_helper
from storage_models import field


def nested_graphs(levels: int) -> bytes:
    """A model whose graph holds a graph, and so on, `levels` deep."""
    content = b""
    for _ in range(levels):
        content = field(1, field(5, field(6, content)))
    return field(7, content)


def functions(calls: dict[str, list[str]], start: str = "f0") -> bytes:
    """A model that calls function `start`; each function calls those that it is given, one after the other."""
    proto = model(f'<ir_version: 8, opset_import: ["" : 18, "f" : 1]> g (float[4] x) => (float[4] y) {{y = f.{start}(x)}}')
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    for name, callees in calls.items():
        nodes = [helper.make_node(c, [f"v{i}"], [f"v{i + 1}"], domain="f" if c in calls else "") for i, c in enumerate(callees)]
        proto.functions.append(helper.make_function("f", name, ["v0"], [f"v{len(callees)}"], nodes, imports))
    return proto.SerializeToString()


def functions_with_a_constant(depth: int, count: int) -> bytes:
    """Functions that call each other twice, `depth` of them; the last has a Constant of this many numbers."""
    calls = {f"f{i}": [f"f{i + 1}"] * 2 for i in range(depth - 1)} | {f"f{depth - 1}": ["Relu"]}
    proto = onnx.ModelProto.FromString(functions(calls))
    numbers = numpy_helper.from_array(np.ones(count, np.float32))
    proto.functions[-1].node.append(helper.make_node("Constant", [], ["numbers"], value=numbers))
    return proto.SerializeToString()


def deadly_model(save: Callable[[str], Path]) -> Path:
    """A Split with an unnamed output, on which onnxruntime dies; `save` writes a model of this text to a file."""
    path = save("g (float[n] x) => (float[a] a, float[b] b) { a, b = Split<num_outputs = 2>(x) }")
    proto = onnx.load(path)
    proto.graph.node[0].output[1] = ""
    del proto.graph.output[1]
    onnx.save(proto, path)
    return path
