"""Random models that compute shapes as exporters do: vectors of sizes that are cut, joined and computed with, and tensors shaped by
them.

Each node is tried on the first sample when it is added, so that the model runs on that one; on the other samples it may fail.
"""

from __future__ import annotations

import os
from functools import cache
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

MOST_ELEMENTS = 4096
"""The elements of the largest value that is kept."""
_CLAIMS: tuple[list[int | str | None] | None, ...] = (
    ["N"],
    ["N", "N"],
    ["N", "N", 4],
    [2],
    [3],
    [1],
    [],
    [2, 4],
    ["N", 5],
    [None, 1, 2],
)


@cache
def _runtime() -> Any:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    return onnxruntime


def runtime_session(model: ModelProto) -> Any:
    """A session of onnxruntime, which optimizes nothing; None where it refuses the model."""
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # of whatever type onnxruntime throws
        return None


class _Builder:
    """A model under construction, with the value of everything on the first sample."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.opset = random.choice((9, 11, 13, 15, 18, 21))
        self.values: dict[str, np.ndarray] = {}
        self.nodes: list[Any] = []
        self.inputs: list[ValueInfoProto] = []
        self.stored: list[TensorProto] = []
        self.samples: list[dict[str, np.ndarray]] = [{}, {}, {}, {}]

    def add_input(self, name: str, arrays: list[np.ndarray], dims: list[int | str | None] | None) -> None:
        number = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
        self.inputs.append(ValueInfoProto(name=name, type=helper.make_tensor_type_proto(number, dims)))
        for sample, array in zip(self.samples, arrays, strict=True):
            sample[name] = array
        self.values[name] = arrays[0]

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        name, array = f"c{len(self.stored)}", np.array(value, dtype)
        self.stored.append(numpy_helper.from_array(array, name))
        self.values[name] = array
        return name

    def add(self, op_type: str, inputs: list[str], **attributes: Any) -> str | None:
        """Add a node if it runs on the first sample; its output, or None."""
        if op_type == "Squeeze" and len(inputs) > 1 and self.values[inputs[1]].size == 0:
            return None  # by ONNX this removes no axis, and by onnxruntime all of length 1
        name = f"v{len(self.nodes)}"
        node = helper.make_node(op_type, inputs, [name], **attributes)
        graph = helper.make_graph(
            [node], "g", [_untyped(n, self.values[n]) for n in dict.fromkeys(inputs) if n], [ValueInfoProto(name=name)]
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        session = runtime_session(model)
        try:
            (value,) = session.run(None, {n: self.values[n] for n in inputs if n})
        except Exception:  # of whatever type onnxruntime throws, or there is no session
            return None
        if value.size > MOST_ELEMENTS or value.dtype == object:
            return None
        self.nodes.append(node)
        self.values[name] = value
        return name

    def pick(self, *kinds: str, ranks: tuple[int, ...] = (0, 1, 2, 3, 4)) -> str:
        found = [name for name, value in self.values.items() if value.dtype.name in kinds and value.ndim in ranks]
        return self.random.choice(found[-8:] if self.random.random() < 0.5 else found)

    def whole(self, *ranks: int) -> str:
        return self.pick("int64", ranks=ranks or (0, 1))


def _untyped(name: str, value: np.ndarray) -> ValueInfoProto:
    number = helper.np_dtype_to_tensor_dtype(value.dtype)
    return ValueInfoProto(name=name, type=helper.make_tensor_type_proto(number, None))


def random_shapes(random: Random) -> tuple[ModelProto, list[dict[str, np.ndarray]]]:
    """A model, and samples that its declared inputs allow."""
    b = _Builder(random)
    sizes = [(2, 3, 4), (3, 1, 4), (1, 5, 4), (4, 4, 4)]
    if random.random() < 0.3:
        sizes = [(0, 3, 4), (2, 0, 4), (1, 1, 4), (3, 3, 4)]
    dims = random.choice((["B", "L", 4], [None, "L", 4], ["B", None, None], ["B", "L", None], None, ["N", "L", 4]))
    b.add_input("x", [np.zeros(size, np.float32) for size in sizes], dims)
    b.add_input(
        "z",
        [np.zeros(size[1:], np.float32) for size in sizes],
        random.choice((["L", 4], ["M", 4], [None, None], ["N", 4] if dims and "N" not in dims else None)),
    )
    b.add_input("n", [np.array(value) for value in (2, 1, 3, -1)], random.choice(([], None)))
    vectors = [np.array(value) for value in ([1], [2], [-1], [0])]
    b.add_input("m", vectors, random.choice(([1], ["V"], [None])))
    b.add_input("v", [np.array(value) for value in ([2, 1], [1, 2, 2], [1], [0, -1])], random.choice((["W"], [None], None)))
    b.add_input("k", [np.array(value) for value in ([2], [1], [-1], [1, 1])], random.choice((["U"], [None], None)))
    b.add_input("t", [np.array(value) for value in (True, False, True, False)], random.choice(([], None)))
    for name in ("x", "z"):
        b.add("Shape", [name])
    for value in (0, 1, 2, -1, [0], [1], [2], [-1], [0, 1], [4], [1, -1], [2, 1, 1]):
        b.constant(value)
    for _ in range(random.randint(6, 22)):
        _step(b)
    if random.random() < 0.5:
        b.add("Shape", [b.pick("float32")])
        _shape_something(b)
    outputs = [ValueInfoProto(name=name, type=_untyped(name, b.values[name]).type) for node in b.nodes for name in node.output]
    graph = helper.make_graph(b.nodes, "shapes", b.inputs, outputs[-1:], b.stored)
    if random.random() < 0.5:
        for node in b.nodes[:-1]:
            if random.random() < 0.4:
                number = helper.np_dtype_to_tensor_dtype(b.values[node.output[0]].dtype)
                graph.value_info.append(helper.make_tensor_value_info(node.output[0], number, random.choice(_CLAIMS)))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", b.opset)], ir_version=8)
    return model, b.samples


def _step(b: _Builder) -> None:
    random = b.random
    kind = random.choice(("gather", "slice", "concat", "arithmetic", "axes", "cast", "where", "shape", "shape", "size", "vector"))
    if kind == "gather":
        b.add("Gather", [b.whole(1, 1, 2), b.whole()], **random.choice(({}, {"axis": 0}, {"axis": -1})))
    elif kind == "slice":
        _slice(b, b.whole(1))
    elif kind == "concat":
        b.add("Concat", [b.whole(1) for _ in range(random.randint(1, 3))], axis=random.choice((0, 0, -1)))
    elif kind == "arithmetic":
        b.add(random.choice(("Add", "Sub", "Mul", "Div", "Max", "Min", "Mod")), [b.whole(), b.whole()])
    elif kind == "axes":
        op_type = random.choice(("Squeeze", "Unsqueeze"))
        source = b.whole()
        if b.opset >= 13:
            axes = (
                [b.constant([0])]
                if random.random() < 0.5
                else [b.whole(1)]
                if op_type == "Unsqueeze" or random.random() < 0.5
                else []
            )
            b.add(op_type, [source, *axes])
        else:
            b.add(op_type, [source], axes=[0])
    elif kind == "cast":
        source = b.pick("int64", "int32", "bool", "float32", ranks=(0, 1))
        b.add("Cast", [source], to=random.choice((6, 7, 7, 1, 9)))
    elif kind == "where":
        condition = b.add(random.choice(("Equal", "Less")), [b.whole(), b.whole()]) if random.random() < 0.7 else b.pick("bool")
        if condition is not None:
            b.add("Where", [condition, b.whole(), b.whole()])
    elif kind == "shape":
        _shape_something(b)
    elif kind == "size":
        tensor = b.pick("float32")
        attributes = {} if b.opset < 15 or random.random() < 0.4 else {"start": random.randint(-4, 3), "end": random.randint(-3, 5)}
        if random.random() < 0.8:
            b.add("Shape", [tensor], **attributes)
        else:
            b.add("Size", [tensor])
    elif random.random() < 0.5:
        b.add("Reshape", [b.whole(), b.constant(random.choice(([1], [-1], [0], [1, -1])))])
    else:
        b.add(random.choice(("Identity", "Neg", "Abs", "ReduceProd")), [b.whole()])


def _slice(b: _Builder, source: str) -> None:
    random = b.random
    if b.opset == 9:
        b.add("Slice", [source], starts=[random.randint(-2, 2)], ends=[random.choice((-1, 1, 2, 99))])
        return
    options = [b.whole(1), b.whole(1)]
    if random.random() < 0.6:
        options.append(random.choice(("", b.constant([0]), b.whole(1), b.constant([-1]))))
        if random.random() < 0.6:
            options.append(random.choice((b.constant([1]), b.constant([-1]), b.constant([2]), "k", "m", b.whole(1))))
    b.add("Slice", [source, *options])


def _shape_something(b: _Builder) -> None:
    random = b.random
    kind = random.choice(
        ("Reshape", "Expand", "ConstantOfShape", "Range", "Unsqueeze", "Squeeze", "Slice", "Tile", "NonZero", "Transpose", "Add")
    )
    tensor = b.pick("float32")
    if kind in ("Reshape", "Expand", "Tile"):
        attributes = {"allowzero": random.randint(0, 1)} if kind == "Reshape" and b.opset >= 14 else {}
        b.add(kind, [tensor, b.whole(1)], **attributes)
    elif kind == "ConstantOfShape":
        b.add(kind, [b.whole(1)])
    elif kind == "Range" and b.opset >= 11:
        zero, one = b.constant(0), b.constant(1)
        b.add(kind, [random.choice((zero, b.whole(0))), b.whole(0), random.choice((one, b.whole(0)))])
    elif kind in ("Unsqueeze", "Squeeze"):
        if b.opset >= 13:
            b.add(kind, [tensor, b.whole(1)])
        else:
            b.add(kind, [tensor], axes=[random.randint(0, 2)])
    elif kind == "Slice":
        _slice(b, tensor)
    elif kind == "NonZero":
        b.add(kind, [b.pick("float32", ranks=(1, 2, 3))])  # of scalars onnxruntime makes another shape than ONNX says
    elif kind == "Transpose":
        b.add(kind, [tensor])
    elif kind == "Add":
        b.add(kind, [tensor, b.pick("float32")])
