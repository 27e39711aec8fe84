"""Whether a difference says anything about a rule that rounds otherwise: some models make much of the last bits.

The reciprocal of a sum that is 0 but for its rounding, the floor of one that is a whole number but for it: there the model
itself gives something else as soon as its numbers move by a little. Such a difference proves nothing; any other does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

from split_rewrite.rewriter.comparison.judging.differences import dtype_name
from split_rewrite.rewriter.comparison.judging.tolerance import Bounds, Tolerance
from split_rewrite.rewriter.execution.messages import Outputs
from split_rewrite.rewriter.execution.model_client import Worker

TRIES = 24
_MOVES = {np.dtype(np.float16): 2.0**-9, np.dtype(np.float32): 2.0**-20, np.dtype(np.float64): 2.0**-49}
"""By how much of itself a number moves at most: 2 to 8 units in the last place, far less than is allowed to an inexact rule."""
_APPROXIMATE = {
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), _MOVES[np.dtype(np.float32)]),
    **dict.fromkeys(("DFT", "STFT"), 2.0**-17),
}
"""By how much of itself a number moves that onnxruntime itself computes roughly, or of integers."""
_TENSORS = (TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE)


def is_amplified(
    original: Path, result: Path, inputs: dict[str, np.ndarray], tolerance: Tolerance, runtime: str, worker: Worker, random: Random
) -> bool:
    """Whether each element that differs in the two models also differs in the original with its numbers moved by last bits."""
    expected, got = (elements(worker.run(path, inputs, runtime)) for path in (original, result))
    if expected is None or got is None or not comparable(expected, got):
        return False
    bounds = [tolerance.of("", dtype_name(array)) for array in expected]
    left = list(map(differs, expected, got, bounds))
    source = np.random.default_rng(random.getrandbits(32))
    for _ in range(TRIES):
        model = onnx.load(original)
        move_constants(model, lambda array: moved(array, source))
        move_approximate(model, source)
        path = original.with_name("moved.onnx")
        onnx.save(model, path)
        values = elements(worker.run(path, {name: moved(array, source) for name, array in inputs.items()}, runtime))
        path.unlink()
        if values is not None and comparable(expected, values):
            left = [mask & ~differs(*entry) for mask, *entry in zip(left, expected, values, bounds, strict=True)]
        if not any(mask.any() for mask in left):
            return True
    return False


def moved(array: np.ndarray, source: np.random.Generator) -> np.ndarray:
    """Upward, so that what is rounded down to a size stays: a scale of 1.5 makes 3 of 2."""
    if array.dtype not in _MOVES:
        return array
    return np.asarray(
        array * (1 + source.random(array.shape) * _MOVES[array.dtype]), array.dtype
    )  # of a scalar, numpy makes a number


def move_constants(model: onnx.ModelProto, move: Callable[[np.ndarray], np.ndarray]) -> None:
    for tensor in _stored([model.graph, *model.functions]):
        if tensor.data_type in _TENSORS:
            tensor.CopyFrom(numpy_helper.from_array(move(numpy_helper.to_array(tensor)), tensor.name))


def move_approximate(model: onnx.ModelProto, source: np.random.Generator) -> None:
    """Multiply what the operators of `_APPROXIMATE` give by a number near 1; windows, whose elements may tie, by one for each."""
    for graph in (model.graph, *model.functions):
        for index in reversed([index for index, node in enumerate(graph.node) if node.op_type in _APPROXIMATE]):
            node = graph.node[index]
            name, exact, factor = node.output[0], f"{node.output[0]}_exact", f"{node.output[0]}_factor"
            node.output[0] = exact
            move = _APPROXIMATE[node.op_type]
            if node.op_type in ("DFT", "STFT"):  # RandomUniformLike of opset 22 has no kernel
                number = helper.make_node("Constant", [], [f"{factor}_float"], value_float=source.uniform(1 - move, 1 + move))
                made = [number, helper.make_node("CastLike", [f"{factor}_float", exact], [factor])]
            else:
                random = {"low": 1 - move, "high": 1 + move, "seed": float(source.integers(2**20))}
                made = [helper.make_node("RandomUniformLike", [exact], [factor], **random)]
            for new in reversed([*made, helper.make_node("Mul", [exact, factor], [name])]):
                graph.node.insert(index + 1, new)


def _stored(graphs: list[Any]) -> Iterator[TensorProto]:
    for graph in graphs:
        yield from graph.initializer if isinstance(graph, GraphProto) else ()
        for attribute in (attribute for node in graph.node for attribute in _attributes(node)):
            if attribute.type == AttributeProto.TENSOR:
                yield attribute.t
            yield from _stored([attribute.g] if attribute.type == AttributeProto.GRAPH else [])


def _attributes(node: NodeProto) -> list[AttributeProto]:
    return [attribute for attribute in node.attribute if not attribute.ref_attr_name]


def elements(answer: Any) -> list[np.ndarray] | None:
    """All tensors that a model gave, those in sequences too; None where it gave nothing."""
    if not isinstance(answer, Outputs) or any(value is None for value in answer.values):
        return None
    arrays = [np.asarray(part) for value in answer.values for part in (value if isinstance(value, list) else [value])]
    return [array.astype(object) if array.dtype.kind in "US" else array for array in arrays]


def comparable(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    return [(array.shape, array.dtype) for array in some] == [(array.shape, array.dtype) for array in others]


def differs(expected: np.ndarray, got: np.ndarray, bounds: Bounds) -> np.ndarray:
    if bounds == Bounds():
        return np.asarray(expected != got) & ~(_is_nan(expected) & _is_nan(got))
    return ~np.isclose(got.astype(np.complex128), expected.astype(np.complex128), bounds.rtol, bounds.atol, equal_nan=True)


def _is_nan(array: np.ndarray) -> np.ndarray:
    return np.asarray(array != array) if array.dtype.kind not in "OUSbiu" else np.zeros(array.shape, bool)
