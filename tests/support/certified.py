"""Checks what the proofs say that operators compute, against onnxruntime, for all small lengths of open dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
import z3
from onnx import ModelProto, helper

from split_rewrite.rewriter.certifying.interpreter import Interpreter
from split_rewrite.rewriter.certifying.prover import Prover
from split_rewrite.rewriter.certifying.tensors import Tensor

LENGTHS = range(4)


def disagreements(model: ModelProto, lengths: range = LENGTHS) -> Iterator[str]:
    """What differs between the meaning of `model` in a proof and in onnxruntime, for all `lengths` of its symbols."""
    inferred = onnx.shape_inference.infer_shapes(model)
    symbols = sorted({dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param})
    has_run = False
    for sizes in product(lengths, repeat=len(symbols)):
        chosen = dict(zip(symbols, sizes, strict=True))
        inputs = dict(_inputs(model, chosen))
        outputs = run_or_none(model, inputs)
        has_run |= outputs is not None
        wrong = _difference(inferred, chosen, inputs, outputs)
        if wrong:
            yield f"{chosen}: {wrong}"
    if not has_run:
        yield "onnxruntime runs it with no lengths"


def run_or_none(model: ModelProto, inputs: Mapping[str, np.ndarray]) -> list[Any] | None:
    """The outputs in onnxruntime, without any optimization; None where it refuses the model or these inputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(
            None, inputs
        )
    except Exception:  # the exceptions of onnxruntime have no common base
        return None


def _inputs(model: ModelProto, chosen: Mapping[str, int]) -> Iterator[tuple[str, np.ndarray]]:
    """Inputs whose elements all differ."""
    start = 1
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [chosen[dim.dim_param] if dim.dim_param else dim.dim_value for dim in kind.shape.dim]
        count = int(np.prod(shape))
        yield value.name, np.arange(start, start + count).reshape(shape).astype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
        start += count


def _difference(model: ModelProto, chosen: Mapping[str, int], inputs: Mapping[str, np.ndarray], outputs: list[Any] | None) -> str:
    prover = Prover(60)
    interpreter = Interpreter(prover)
    interpreter.read_original(model)
    for name, size in chosen.items():
        prover.assume(z3.Int(f"length {name}") == size)
    if outputs is None:
        return "it is valid, and onnxruntime does not run it" if prover.is_possible else ""
    if not prover.is_possible:
        return "it is not valid, and onnxruntime runs it"
    names = {f"length {name}": z3.IntVal(size) for name, size in chosen.items()}
    for value, expected in zip(model.graph.output, outputs, strict=True):
        found = interpreter.original[value.name]
        if not isinstance(found, Tensor):
            return f"{value.name} is not modelled"
        shape = tuple(_number(size, names) for size in found.dims)
        if shape != expected.shape:
            return f"{value.name} has the shape {shape}, not {expected.shape}"
        if helper.tensor_dtype_to_np_dtype(found.elem_type) != expected.dtype:
            return f"{value.name} has another type"
        for place in np.ndindex(*shape):
            element = _element(found.at(place), names, inputs)
            if element != expected[place]:
                return f"{value.name}{list(place)} is {element}, not {expected[place]}"
    return ""


def _filled(term: Any, names: Mapping[str, Any]) -> Any:
    return z3.simplify(z3.substitute(term, *((z3.Int(name), number) for name, number in names.items())))


def _number(size: Any, names: Mapping[str, Any]) -> int:
    return size if isinstance(size, int) else _filled(size, names).as_long()


def _element(term: Any, names: Mapping[str, Any], inputs: Mapping[str, np.ndarray]) -> Any:
    """The number that a term stands for: an integer, an element of an input, or of a constant."""
    if isinstance(term, bool | int):
        return term
    found = _filled(term, names)
    if z3.is_int_value(found):
        return found.as_long()
    if z3.is_true(found) or z3.is_false(found):
        return z3.is_true(found)
    if z3.is_app_of(found, z3.Z3_OP_ITE):
        condition, one, other = found.children()
        return _element(one if _element(condition, names, inputs) else other, names, inputs)
    name = found.decl().name()
    if name.startswith("input "):
        return inputs[name.removeprefix("input ")][tuple(place.as_long() for place in found.children())]
    kind, _, raw = name.partition(" ")
    return np.frombuffer(bytes.fromhex(raw), helper.tensor_dtype_to_np_dtype(int(kind)))[0]
