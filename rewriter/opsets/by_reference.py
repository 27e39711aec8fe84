"""Computes integers from integers, and moves elements of any type, with ONNX's reference implementation.

`folding` does the same ten times faster for the operators by which sizes are usually computed. Operators whose results are random,
or in an order that the specification leaves open, are not computed here, and those that round only where that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, helper, numpy_helper

from . import facts, folding, inference, type_protos
from .facts import Kind, Work
from .one_rounding import round_once

Inputs = Sequence["np.ndarray | None"]

_INTEGERS = frozenset({"tensor(int64)", "tensor(int32)", "tensor(bool)"})


@cache
def evaluates(op_type: str) -> bool:
    """Whether this module can compute nodes of this operator of the default domain, of any opset, from integers to integers."""
    schema = _schema(op_type)
    if schema is None or facts.of(op_type).has("unfolded"):
        return False
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    read = [parameter for parameter in schema.inputs if parameter.option != optional]
    return all(_INTEGERS & set(parameter.types) for parameter in (*read, *schema.outputs))


def _schema(op_type: str) -> onnx.defs.OpSchema | None:
    """The newest schema of an operator that computes something of its inputs; None for others."""
    try:
        schema = onnx.defs.get_schema(op_type)
    except onnx.defs.SchemaError:
        return None
    fact = facts.of(op_type)
    if not schema.inputs or schema.deprecated or fact.kind is Kind.RANDOM or fact.has("may-draw"):
        return None
    has_graphs = any(attribute.type == onnx.defs.OpSchema.AttrType.GRAPH for attribute in schema.attributes.values())
    return None if has_graphs else schema


def evaluate(node: NodeProto, opset: int, inputs: Inputs, most: int) -> list[np.ndarray] | None:
    """The outputs of `node`, in the form of `opset`, for constant `inputs` (None where one is absent); None where they are unknown.

    All inputs and outputs are integers or bools, or also finite floats for an operator that moves or compares elements. Outputs
    with more than `most` elements are not computed.
    """
    if not evaluates(node.op_type) or not _is_exact_in_double(node, inputs):
        return None
    is_exact = facts.of(node.op_type).work in (Work.MOVES, Work.ORDERS)
    floats = [value for value in inputs if value is not None and value.dtype.kind not in "iub"]
    if _holds_floats(node) or not all(is_exact and value.dtype.kind == "f" and np.isfinite(value).all() for value in floats):
        return None
    return _evaluate(node, opset, inputs, most)


def evaluate_roughly(node: NodeProto, opset: int, inputs: Inputs, most: int) -> list[np.ndarray] | None:
    """As `evaluate`, but for operators that round, too: the last bits of the outputs are those of numpy.

    Those that quantize are left alone: what is stored in 8 bits stays so.
    """
    fact = facts.of(node.op_type)
    if _schema(node.op_type) is None or fact.kind is Kind.QUANTIZES or fact.word("unfolded") not in ("", "rare", "rounds"):
        return None
    given = [value for value in inputs if value is not None]
    if not all(value.dtype.kind in "iubf" for value in given) or not _is_exact_in_double(node, inputs):
        return None
    if fact.word("unfolded") == "rounds" and any(value.dtype.kind != "f" for value in given[:1]):
        return None  # what is beyond the integers is no matter of last bits
    if fact.kind in facts.COMBINING and not (given and given[0].size and _are_finite(given)):
        return None  # in sums, an infinity may meet another one, or a weight of 0; the mean of nothing is open
    if (fact.has("sorts") or fact.work is Work.ORDERS) and any(np.isnan(value.astype(np.float64)).any() for value in given):
        return None
    return _evaluate(node, opset, inputs, most)


def _is_exact_in_double(node: NodeProto, inputs: Inputs) -> bool:
    """Whether a reduction of integers is the same in double, in which runtimes compute it; true of all other nodes."""
    fact, data = facts.of(node.op_type), inputs[0] if inputs else None
    if fact.kind is not Kind.REDUCES or fact.work is not Work.COMPUTES or data is None or data.dtype.kind not in "iu":
        return True
    values = data.astype(np.float64)
    with np.errstate(over="ignore"):
        largest = np.prod(np.maximum(np.abs(values), 1)) if fact.word("folds") == "reduce_prod" else np.square(values).sum()
    return float(largest) <= folding.most_exact(data.dtype)


def _are_finite(values: Sequence[np.ndarray]) -> bool:
    return all(np.isfinite(value.astype(np.float64)).all() for value in values)


def _evaluate(node: NodeProto, opset: int, inputs: Inputs, most: int) -> list[np.ndarray] | None:
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return None
    given = {name: value for name, value in zip(node.input, inputs, strict=True) if name and value is not None}
    types = {name: helper.make_tensor_type_proto(_number(value), value.shape) for name, value in given.items()}
    data = {name: numpy_helper.from_array(value, name) for name, value in given.items()}
    expected = [inference.infer_node(node, opset, types, data, onnx.IR_VERSION).get(name) for name in node.output]
    if any(kind is None or not _is_small(node, kind, most) for kind in expected):
        return None
    results = _run(node, opset, types, given)
    fits = len(results) == len(expected) and all(
        kind is not None and _is_one(result, kind) for result, kind in zip(results, expected, strict=True)
    )
    return results if fits else None


def _number(value: np.ndarray) -> int:
    return helper.np_dtype_to_tensor_dtype(value.dtype)


def _holds_floats(node: NodeProto) -> bool:
    return any(attribute.type in (AttributeProto.FLOAT, AttributeProto.FLOATS) for attribute in node.attribute)


def _is_small(node: NodeProto, kind: onnx.TypeProto, most: int) -> bool:
    if facts.of(node.op_type).has("bounded"):
        return True
    shape = type_protos.shape_of(kind)
    numbers = [dim for dim in shape or () if isinstance(dim, int)]
    return shape is not None and len(numbers) == len(shape) and math.prod(numbers) <= most


def _is_one(result: Any, kind: onnx.TypeProto) -> bool:
    """Whether `result` is an array of the type `kind`."""
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "iubf" or _number(result) != kind.tensor_type.elem_type:
        return False
    shape = type_protos.shape_of(kind)
    return shape is None or (
        len(shape) == result.ndim
        and all(not isinstance(dim, int) or dim == size for dim, size in zip(shape, result.shape, strict=True))
    )


def _run(node: NodeProto, opset: int, types: dict[str, onnx.TypeProto], given: dict[str, np.ndarray]) -> list[Any]:
    """The result of the reference implementation; empty where it fails, whatever exception it raises."""
    from onnx.reference import ReferenceEvaluator  # 0.2 s, which few models need

    inputs = [onnx.ValueInfoProto(name=name, type=kind) for name, kind in types.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = onnx.GraphProto(name="node", node=[node], input=inputs, output=outputs)
    try:
        return list(round_once(ReferenceEvaluator(graph, opsets={"": opset})).run(None, given))
    except Exception:
        return []
