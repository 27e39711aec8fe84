"""Run a small model: onnxruntime where it has kernels, else onnx.reference with the old operator versions put right.

Both engines get the model as it is, except for two neutral edits that onnxruntime needs: a model stamped beyond its
newest opset is restamped when every operator in it is unchanged since then, and the IR version is capped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_roi_align import RoiAlign as ReferenceRoiAlign

os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported

Value = Any
"""A numpy array, a list of values (sequence) or None (empty optional)."""

ENGINES = ("onnxruntime", "reference")

HIGHEST_IR_FOR_ONNXRUNTIME = 10

LACKING_IN_ONNXRUNTIME = "NOT_IMPLEMENTED|can't be converted to MLDataType|No corresponding Numpy type"

MISREAD_BY_ONNXRUNTIME = {"RoiAlign": 16}
"""Operators that onnxruntime computes by the text of the opset given here even in older models."""


class CannotRunError(Exception):
    """The engine lacks something (a kernel, a type, an opset), or `failed` in a model whose operators it knows."""

    def __init__(self, message: str, failed: bool = False) -> None:
        super().__init__(message)
        self.failed = failed


def default_opset(model: ModelProto | FunctionProto) -> int:
    """The opset of the default domain; 0 when the model or function does not import it."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """Every node of `graph` and of its subgraphs."""
    for node in graph.node:
        yield node
        for subgraph in subgraphs_of(node):
            yield from nodes_of(subgraph)


def subgraphs_of(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def all_nodes(model: ModelProto) -> list[NodeProto]:
    """Every node of the model: main graph, subgraphs, functions."""
    nodes = list(nodes_of(model.graph))
    for function in model.functions:
        for node in function.node:
            nodes.append(node)
            for subgraph in subgraphs_of(node):
                nodes.extend(nodes_of(subgraph))
    return nodes


def unchanged(op_type: str, opset: int, other: int) -> bool:
    """Does the operator mean the same at both opsets? Equal version, or the same text with other types allowed."""
    try:
        first, second = (onnx.defs.get_schema(op_type, version, "") for version in (opset, other))
    except onnx.defs.SchemaError:
        return False
    return first.since_version == second.since_version or _text(first) == _text(second)


def _text(schema: onnx.defs.OpSchema) -> tuple[Any, ...]:
    """A schema without the types that it allows."""
    formals = [(f.name, f.description, f.option, f.type_str) for f in (*schema.inputs, *schema.outputs)]
    attributes = [
        (name, a.description, a.type, a.required, a.default_value.SerializeToString())
        for name, a in sorted(schema.attributes.items())
    ]
    return schema.doc, schema.deprecated, formals, attributes


def run(engine: str, model: ModelProto, feeds: Mapping[str, Value]) -> list[Value]:
    """The model's outputs, in the order of the graph. Raises CannotRunError."""
    return _run_onnxruntime(model, feeds) if engine == "onnxruntime" else _run_reference(model, feeds)


def _run_onnxruntime(model: ModelProto, feeds: Mapping[str, Value]) -> list[Value]:
    import onnxruntime

    opset = default_opset(model)
    misread = {node.op_type for node in all_nodes(model) if opset < MISREAD_BY_ONNXRUNTIME.get(node.op_type, 0)}
    if misread:
        raise CannotRunError(f"onnxruntime misreads {', '.join(misread)} of opset {opset}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        payload = for_onnxruntime(model).SerializeToString()
        session = onnxruntime.InferenceSession(payload, options, providers=["CPUExecutionProvider"])
        wanted = {entry.name for entry in session.get_inputs()}
        outputs = session.run(None, {name: value for name, value in feeds.items() if name in wanted})
    except CannotRunError:
        raise
    except Exception as error:  # onnxruntime's exceptions have no common base below Exception
        text = _first_line(error)
        raise CannotRunError(f"onnxruntime: {text}", failed=not re.search(LACKING_IN_ONNXRUNTIME, text)) from error
    return [_typed(value, entry.type) for value, entry in zip(outputs, model.graph.output, strict=True)]


def _typed(value: Value, kind: TypeProto) -> Value:
    """onnxruntime hands out types that numpy lacks (bfloat16, float8) as unsigned integers of the same width."""
    if not isinstance(value, np.ndarray) or not kind.tensor_type.elem_type or value.dtype.kind != "u":
        return value
    declared = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
    return value.view(declared) if declared.itemsize == value.itemsize else value


def for_onnxruntime(model: ModelProto) -> ModelProto:
    known = newest_onnxruntime_opset()
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = min(copy.ir_version, HIGHEST_IR_FOR_ONNXRUNTIME)
    for owner in (copy, *copy.functions):
        for entry in owner.opset_import:
            if entry.domain in ("", "ai.onnx") and entry.version > known:
                _require_unchanged(model, entry.version, known)
                entry.version = known
    return copy


def _require_unchanged(model: ModelProto, opset: int, known: int) -> None:
    for node in all_nodes(model):
        if node.domain in ("", "ai.onnx") and not unchanged(node.op_type, opset, known):
            raise CannotRunError(f"onnxruntime knows opsets up to {known}, {node.op_type} changed after it")


@cache
def newest_onnxruntime_opset() -> int:
    """The newest opset that onnxruntime officially supports or still loads, found by loading one Identity."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    tensor = helper.make_tensor_value_info
    for opset in range(onnx.defs.onnx_opset_version(), 6, -1):
        graph = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["y"])],
            "probe",
            [tensor("x", TensorProto.FLOAT, [1])],
            [tensor("y", TensorProto.FLOAT, [1])],
        )
        probe = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        try:
            onnxruntime.InferenceSession(probe.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception:
            continue
        return opset
    raise CannotRunError("onnxruntime loads no model at all")


def _run_reference(model: ModelProto, feeds: Mapping[str, Value]) -> list[Value]:
    try:
        evaluator = _Evaluator(model)
        outputs = evaluator.run(None, {name: value for name, value in feeds.items() if name in evaluator.input_names})
    except Exception as error:  # the reference raises whatever numpy raises
        raise CannotRunError(f"onnx.reference: {_first_line(error)}") from error
    return list(outputs)


class _Evaluator(ReferenceEvaluator):
    """onnx.reference with the old operator versions put right, in functions too."""

    def __init__(self, proto: Any, **options: Any) -> None:
        is_old = isinstance(proto, ModelProto | FunctionProto) and "new_ops" not in options
        super().__init__(proto, **options, **({"new_ops": _old_versions(default_opset(proto))} if is_old else {}))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


# What onnx.reference computes by the newest text whatever the opset.


def _attribute(op: OpRun, name: str, default: Any) -> Any:
    """The node's own attribute; OpRun would fill in the newest version's default."""
    found = [attribute for attribute in op.onnx_node.attribute if attribute.name == name]
    return helper.get_attribute_value(found[0]) if found else default


def _as_matrix(op: OpRun, x: np.ndarray) -> np.ndarray:
    axis = _attribute(op, "axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(int(np.prod(x.shape[:axis], dtype=np.int64)), -1)


class Softmax(OpRun):
    """Below 13: over everything from `axis` (default 1) on."""

    op_domain = ""

    def _run(self, x, **_):  # type: ignore[override]
        matrix = _as_matrix(self, x)
        powers = np.exp(matrix - matrix.max(axis=1, keepdims=True))
        return ((powers / powers.sum(axis=1, keepdims=True)).reshape(x.shape).astype(x.dtype),)


class LogSoftmax(OpRun):
    """Below 13: as Softmax."""

    op_domain = ""

    def _run(self, x, **_):  # type: ignore[override]
        matrix = _as_matrix(self, x)
        shifted = matrix - matrix.max(axis=1, keepdims=True)
        result = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return (result.reshape(x.shape).astype(x.dtype),)


class Hardmax(OpRun):
    """Below 13: as Softmax; the first of equal maxima wins."""

    op_domain = ""

    def _run(self, x, **_):  # type: ignore[override]
        matrix = _as_matrix(self, x)
        result = np.zeros_like(matrix)
        result[np.arange(matrix.shape[0]), matrix.argmax(axis=1)] = 1
        return (result.reshape(x.shape),)


class BatchNormalization(OpRun):
    """Below 14: with one output, it is inference; training is not computed here."""

    op_domain = ""

    def _run(self, x, scale, bias, mean, variance, **_):  # type: ignore[override]
        if len(self.onnx_node.output) != 1:
            raise NotImplementedError("BatchNormalization below 14 in training mode")
        along_channels = (-1, *[1] * (x.ndim - 2))
        factor = scale / np.sqrt(variance + _attribute(self, "epsilon", 1e-5))
        shift = bias - mean * factor
        return ((x * factor.reshape(along_channels) + shift.reshape(along_channels)).astype(x.dtype),)


class Split(OpRun):
    """Below 18: without sizes, the parts must be equal."""

    op_domain = ""

    def _run(self, x, sizes=None, **_):  # type: ignore[override]
        axis, parts = _attribute(self, "axis", 0), len(self.onnx_node.output)
        sizes = _attribute(self, "split", None) if sizes is None else sizes.tolist()
        if sizes is None:
            if x.shape[axis] % parts:
                raise ValueError(f"Split: {x.shape[axis]} is no multiple of {parts}")
            sizes = [x.shape[axis] // parts] * parts
        if len(sizes) != parts or sum(sizes) != x.shape[axis]:
            raise ValueError(f"Split: sizes {sizes} do not fit {parts} outputs of {x.shape[axis]}")
        return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


class RoiAlign(ReferenceRoiAlign):
    """Below 16: no half-pixel shift of the region."""

    op_domain = ""

    def _run(self, *inputs, coordinate_transformation_mode=None, **rest):  # type: ignore[override]
        return super()._run(*inputs, coordinate_transformation_mode="output_half_pixel", **rest)


def _old_versions(opset: int) -> list[type[OpRun]]:
    limits: dict[type[OpRun], int] = {
        **dict.fromkeys((Softmax, LogSoftmax, Hardmax), 13),
        BatchNormalization: 14,
        RoiAlign: 16,
        Split: 18,
    }
    return [implementation for implementation, below in limits.items() if opset < below]
