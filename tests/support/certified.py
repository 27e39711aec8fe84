"""Checks what the proofs say that operators compute, against onnxruntime, for all small lengths of open dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
import z3
from helpers import model as build
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
        prover.assume(z3.Int(f"symbol {name}") == size)
    if outputs is None:
        return "it is valid, and onnxruntime does not run it" if prover.is_possible else ""
    if not prover.is_possible:
        return "it is not valid, and onnxruntime runs it"
    names = {f"symbol {name}": z3.IntVal(size) for name, size in chosen.items()}
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


TWO = "float[N,M] x"
THREE = "float[N,M,K] x"
OUT2, OUT3, BOTH = "float[a,b] y", "float[a,b,c] y", "float[a,b] y, float[c,d] z"


class Template(NamedTuple):
    """A model with open dimensions, and the opset that it is converted to.

    In the nodes, `zero` and `one` are int64[1], `pair` is int64[2] {1, 3}, and `c` a condition.
    """

    opset: int
    target: int
    inputs: str
    outputs: str
    nodes: str


_ROWS = (
    # Split
    (18, 17, TWO, BOTH, "y, z = Split<axis = 1, num_outputs = 2>(x)"),
    (18, 11, TWO, "float[a,b] y, float[c,d] z, float[e,f] w", "y, z, w = Split<axis = -1, num_outputs = 3>(x)"),
    (18, 13, "float[N,6] x", BOTH, "y, z = Split<axis = 1, num_outputs = 2>(x)"),
    (18, 13, "float[N,7] x", BOTH, "y, z = Split<axis = 1, num_outputs = 2>(x)"),
    (17, 18, TWO, BOTH, "y, z = Split<axis = 1>(x)"),
    (13, 12, TWO, BOTH, "s = Constant<value_ints = [2, 3]>() y, z = Split<axis = 1>(x, s)"),
    (
        13,
        11,
        TWO,
        BOTH,
        "n = Shape(x) s = Slice(n, zero, one) t = Slice(n, zero, one) q = Concat<axis = 0>(x, x) u = Concat<axis = 0>(s, t) y, z = Split(q, u)",
    ),
    (12, 13, TWO, BOTH, "y, z = Split<axis = 1, split = [2, 3]>(x)"),
    (11, 10, TWO, BOTH, "y, z = Split<axis = -1>(x)"),
    (2, 1, TWO, BOTH, "y, z = Split<split = [2, 3]>(x)"),
    # sequences
    (
        17,
        17,
        TWO,
        OUT2,
        "s = Constant<value_ints = [2, 3]>() p = Constant<value_int = -1>() q = SplitToSequence<axis = 1>(x, s) y = SequenceAt(q, p)",
    ),
    (
        17,
        17,
        "float[N,3,K] x",
        OUT2,
        "p = Constant<value_int = 1>() q = SplitToSequence<axis = 1, keepdims = 0>(x) y = SequenceAt(q, p)",
    ),
    (
        17,
        17,
        "float[N,5] x",
        OUT2,
        "s = Constant<value_int = 2>() p = Constant<value_int = 2>() q = SplitToSequence<axis = 1>(x, s) y = SequenceAt(q, p)",
    ),
    (17, 17, "float[N,3,K] x", OUT3, "q = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 1>(q)"),
    (
        17,
        17,
        "float[N,3,K] x",
        "float[a,b,c,d] y",
        "q = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 0, new_axis = 1>(q)",
    ),
    (
        17,
        17,
        "float[N,3,K] x",
        OUT3,
        "q = SplitToSequence<axis = 1, keepdims = 0>(x) y = ConcatFromSequence<axis = 1, new_axis = 1>(q)",
    ),
    (
        17,
        17,
        f"{TWO}, float[N,K] w",
        OUT2,
        "q = SequenceConstruct(x, w) p = Constant<value_int = 0>() r = SequenceInsert(q, x, p) y = ConcatFromSequence<axis = 1>(r)",
    ),
    (
        17,
        17,
        f"{TWO}, float[N,K] w",
        OUT2,
        "q = SequenceConstruct(x, w, x) p = Constant<value_int = 1>() r = SequenceErase(q, p) y = ConcatFromSequence<axis = -1>(r)",
    ),
    (
        17,
        17,
        f"{TWO}, float[N,K] w",
        OUT2,
        "e = SequenceEmpty() r = SequenceInsert(e, x) s = SequenceInsert(r, w) t = SequenceErase(s) y = ConcatFromSequence<axis = 0>(t)",
    ),
    (17, 17, f"{TWO}, float[N,K] w", "int64 y", "q = SequenceConstruct(x, w) y = SequenceLength(q)"),
    (17, 17, TWO, "int64 y", "s = Constant<value_int = 1>() q = SplitToSequence<axis = 1>(x, s) y = SequenceLength(q)"),
    (17, 17, TWO, OUT2, "q = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 1>(q)"),
    (17, 17, TWO, OUT2, "p = Constant<value_int = -1>() q = SplitToSequence<axis = 1>(x) y = SequenceAt(q, p)"),
    # axes and shapes
    (13, 12, "float[N,1,K] x", OUT2, "y = Squeeze(x, one)"),
    (12, 13, "float[N,1,K] x", OUT2, "y = Squeeze<axes = [1]>(x)"),
    (11, 10, "float[N,1,K] x", OUT2, "y = Squeeze<axes = [-2]>(x)"),
    (13, 12, TWO, OUT3, "y = Unsqueeze(x, one)"),
    (12, 13, TWO, OUT3, "y = Unsqueeze<axes = [1]>(x)"),
    (11, 10, TWO, OUT3, "y = Unsqueeze<axes = [-1]>(x)"),
    (15, 14, THREE, "int64[2] y", "y = Shape<start = 1>(x)"),
    (15, 13, THREE, "int64[1] y", "y = Shape<start = -2, end = -1>(x)"),
    (14, 13, "float[N,2] x", OUT2, "s = Constant<value_ints = [2, -1]>() y = Reshape<allowzero = 1>(x, s)"),
    (
        14,
        13,
        "float[N,4] x",
        OUT3,
        "n = Shape(x) f = Slice(n, zero, one) s = Constant<value_ints = [2, 2]>() u = Concat<axis = 0>(f, s) y = Reshape<allowzero = 1>(x, u)",
    ),
    (5, 4, "float[N,4] x", OUT3, "s = Constant<value = int64[3] {0, 2, 2}>() y = Reshape(x, s)"),
    (4, 5, "float[N,4] x", OUT3, "y = Reshape<shape = [0, 2, 2]>(x)"),
    (11, 10, THREE, OUT2, "y = Flatten<axis = -1>(x)"),
    (9, 8, TWO, OUT2, "s = Shape(x) y = ConstantOfShape(s)"),
    (8, 6, "float[N,1] x", OUT2, "y = Expand(x, pair)"),
    (9, 8, TWO, OUT2, "y = Where(c, x, x)"),
    # moving elements
    (10, 9, TWO, OUT2, "s = Constant<value = int64[1] {1}>() e = Constant<value = int64[1] {-1}>() y = Slice(x, s, e)"),
    (
        10,
        9,
        TWO,
        OUT2,
        "s = Constant<value = int64[1] {1}>() e = Constant<value = int64[1] {9}>() a = Constant<value = int64[1] {1}>() t = Constant<value = int64[1] {2}>() y = Slice(x, s, e, a, t)",
    ),
    (9, 10, TWO, OUT2, "y = Slice<axes = [1], starts = [1], ends = [-1]>(x)"),
    (
        11,
        10,
        TWO,
        OUT2,
        "a = Constant<value = int64[1] {-1}>() s = Constant<value = int64[1] {1}>() e = Constant<value = int64[1] {9}>() y = Slice(x, s, e, a)",
    ),
    (11, 10, TWO, "float[a] y", "i = Constant<value = int64 {-1}>() y = Gather<axis = 1>(x, i)"),
    (11, 10, f"{TWO}, float[N,K] w", OUT2, "y = Concat<axis = -1>(x, w)"),
    (3, 4, f"{TWO}, float[N,K] w", OUT2, "y = Concat(x, w)"),
    (18, 17, TWO, OUT2, "p = Constant<value_ints = [1, 2]>() y = Pad(x, p, , one)"),
    (11, 10, TWO, OUT2, "p = Constant<value_ints = [0, 1, 0, 2]>() y = Pad(x, p)"),
    (10, 11, TWO, OUT2, "y = Pad<pads = [0, 1, 0, 2], value = 1.5>(x)"),
    (2, 1, TWO, OUT2, "y = Pad<pads = [0, 1, 0, 2]>(x)"),
    (1, 2, TWO, OUT2, "y = Pad<paddings = [0, 1, 0, 2]>(x)"),
    (6, 5, TWO, OUT2, "y = Tile(x, pair)"),
)
TEMPLATES = tuple(Template(*row) for row in _ROWS)
"""Models that rules rewrite of Split, of sequences, and of what moves elements or computes shapes."""


def template_model(template: Template) -> ModelProto:
    """The model of a template."""
    constants = "int64[1] zero = {0}, int64[1] one = {1}, int64[2] pair = {1, 3}"
    given = f"{template.inputs}, bool[N,M] c" if "(c," in template.nodes else template.inputs
    return build(f"g ({given}) => ({template.outputs}) <{constants}> {{ {template.nodes} }}", template.opset)
