"""Is a converted model right? Valid at the target by the letter, same interface, same numbers.

The judge knows no converter. Numbers: onnxruntime runs the result where it has kernels, else onnx.reference.
The result is right if it gives the expected outputs or what the same engine computes for the original. Tolerance: the
given rtol and atol, but never finer than one unit in the last place of the output's own floating type, of the element
and of the largest element; integers, booleans, strings and 8-bit floats compare exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import validity
from engines import ENGINES, CannotRunError, Value, all_nodes, default_opset, run, unchanged
from onnx import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto

RANDOM_OPERATORS = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}


@dataclass(frozen=True)
class Verdict:
    """`outcome` is ok, wrong, invalid, broken or unrun; `engine` decided about the numbers.

    Broken: right by onnx.reference, but onnxruntime, which ran the original and knows the result's operators, fails on it.
    `reason` says what is wrong; for ok, why the engines before this one could not run it.
    """

    outcome: str
    reason: str = ""
    engine: str = ""


@dataclass
class Original:
    """A model, inputs by name, the outputs they must give (None: what the engines compute), and the tolerance."""

    model: ModelProto
    feeds: Mapping[str, Value]
    expected: Sequence[Value] | None = None
    rtol: float = 1e-3
    atol: float = 1e-7
    _computed: dict[str, Sequence[Value] | str] = field(default_factory=dict, repr=False)
    _problems: list[str] | None = field(default=None, repr=False)

    def outputs(self, engine: str) -> Sequence[Value] | None:
        """What `engine` computes for the original, once; None where it cannot."""
        if engine not in self._computed:
            try:
                self._computed[engine] = run(engine, self.model, self.feeds)
            except CannotRunError as error:
                self._computed[engine] = str(error)
        computed = self._computed[engine]
        return None if isinstance(computed, str) else computed

    def problems(self) -> list[str]:
        """What is invalid in the original itself."""
        if self._problems is None:
            self._problems = validity.problems(self.model)
        return self._problems

    @property
    def random(self) -> bool:
        return any(node.op_type in RANDOM_OPERATORS for node in all_nodes(self.model))


def judge(original: Original, result: ModelProto, target: int) -> Verdict:
    """Is `result` the original at opset `target`?"""
    if default_opset(result) != target:
        return Verdict("invalid", f"opset_import says {default_opset(result)}")
    if difference := interface_difference(original.model.graph, result.graph):
        return Verdict("invalid", difference)
    if found := [text for text in validity.problems(result) if text not in original.problems()]:
        return Verdict("invalid", found[0])
    return _judge_numbers(original, result)


def interface_difference(before: GraphProto, after: GraphProto) -> str | None:
    """What differs in names, order, types or shapes of the graph's inputs or outputs; None if nothing."""
    for kind, ours, theirs in (("input", before.input, after.input), ("output", before.output, after.output)):
        names, new_names = [entry.name for entry in ours], [entry.name for entry in theirs]
        if names != new_names:
            return f"graph {kind}s changed from {names} to {new_names}"
        for entry, new_entry in zip(ours, theirs, strict=True):
            if entry.type != new_entry.type:
                old, new = _type_text(entry.type), _type_text(new_entry.type)
                return f"graph {kind} {entry.name} changed from {old} to {new}"
    return None


def difference(expected: Value, actual: Value, rtol: float, atol: float) -> str | None:
    """How two values differ; None if they are equal within the tolerance (see the module)."""
    if expected is None or actual is None:
        return None if expected is actual else "one of the two is empty"
    if isinstance(expected, list | tuple):
        return _sequence_difference(expected, actual, rtol, atol)
    if isinstance(actual, list | tuple):
        return "a sequence where a tensor belongs"
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.dtype.kind in "OSU" or actual.dtype.kind in "OSU":
        same = expected.shape == actual.shape and expected.astype(str).tolist() == actual.astype(str).tolist()
        return None if same else "strings differ"
    if expected.dtype != actual.dtype:
        return f"type {actual.dtype}, not {expected.dtype}"
    if expected.shape != actual.shape:
        return f"shape {actual.shape}, not {expected.shape}"
    return _number_difference(expected, actual, rtol, atol)


def _judge_numbers(original: Original, result: ModelProto) -> Verdict:
    reasons: list[str] = []
    broken = False
    for engine in ENGINES:
        try:
            actual, probes = _run_with_probes(engine, result, original.feeds)
        except CannotRunError as error:
            reasons.append(str(error))
            broken = broken or (error.failed and original.outputs(engine) is not None)
            continue
        if found := validity.text_problems(result, probes):
            return Verdict("wrong", f"at run time: {found[0]}", engine)
        mismatch = _mismatch(original, engine, actual)
        if mismatch:
            return Verdict("wrong", mismatch, engine)
        return Verdict("broken" if broken else "ok", " | ".join(reasons), engine)
    if _same_by_definition(original.model, result):
        return Verdict("ok", " | ".join(reasons), "identity")
    return Verdict("unrun", " | ".join(reasons))


def _run_with_probes(engine: str, model: ModelProto, feeds: Mapping[str, Value]) -> tuple[list[Value], dict[str, Value]]:
    """The outputs, and the values of `validity.names_worth_knowing`."""
    names = validity.names_worth_knowing(model)
    known = {name: feeds[name] for name in names if name in feeds}
    probes = [name for name in names if name not in known and name not in {entry.name for entry in model.graph.output}]
    outputs = [entry.name for entry in model.graph.output]
    probed = ModelProto()
    probed.CopyFrom(model)
    probed.graph.output.extend(ValueInfoProto(name=name) for name in probes)
    values = run(engine, probed, feeds)
    by_name = dict(zip([*outputs, *probes], values, strict=True))
    return values[: len(outputs)], known | {name: by_name[name] for name in names if name in by_name}


def _mismatch(original: Original, engine: str, actual: Sequence[Value]) -> str | None:
    if original.random:
        return _kind_mismatch(original, actual)
    first = None
    for expected in (original.expected, original.outputs(engine)):
        if expected is None:
            continue
        found = _outputs_difference(original, expected, actual)
        if found is None:
            return None
        first = first or found
    return first or "nothing to compare with"


def _outputs_difference(original: Original, expected: Sequence[Value], actual: Sequence[Value]) -> str | None:
    if len(expected) != len(actual):
        return f"{len(actual)} outputs, not {len(expected)}"
    for entry, ours, theirs in zip(original.model.graph.output, expected, actual, strict=True):
        if found := difference(ours, theirs, original.rtol, original.atol):
            return f"output {entry.name}: {found}"
    return None


def _kind_mismatch(original: Original, actual: Sequence[Value]) -> str | None:
    """Random outputs: only shapes and types can be compared."""
    for expected, value in zip(original.expected or (), actual, strict=True):
        expected, value = np.asarray(expected), np.asarray(value)
        if (expected.shape, expected.dtype) != (value.shape, value.dtype):
            return f"random output of {value.dtype}{value.shape}, not {expected.dtype}{expected.shape}"
    return None


def _sequence_difference(expected: Iterable[Value], actual: Value, rtol: float, atol: float) -> str | None:
    if not isinstance(actual, list | tuple):
        return "a tensor where a sequence belongs"
    expected = list(expected)
    if len(expected) != len(actual):
        return f"{len(actual)} elements, not {len(expected)}"
    found = (difference(ours, theirs, rtol, atol) for ours, theirs in zip(expected, actual, strict=True))
    return next((text for text in found if text), None)


def _number_difference(expected: np.ndarray, actual: np.ndarray, rtol: float, atol: float) -> str | None:
    step = _unit_in_the_last_place(expected.dtype)
    if step is None:
        unequal = int(np.sum((expected != actual) & ~((expected != expected) & (actual != actual))))
        return f"{unequal} of {expected.size} elements differ" if unequal else None
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    left, right = expected.astype(wide), actual.astype(wide)
    largest = np.max(np.abs(left), initial=0.0, where=np.isfinite(left))
    close = np.isclose(right, left, rtol=max(rtol, step), atol=max(atol, step * largest), equal_nan=True)
    if close.all():
        return None
    worst = np.nanmax(np.abs(left - right)[~close])
    return f"{int((~close).sum())} of {close.size} elements differ, by up to {worst:.3g}"


def _unit_in_the_last_place(dtype: np.dtype) -> float | None:
    """Relative; None for types that compare exactly."""
    if dtype in (np.float16, np.float32, np.float64, np.complex64, np.complex128):
        return float(np.finfo(dtype).eps)
    return 2.0**-7 if dtype.name == "bfloat16" else None


def _same_by_definition(before: ModelProto, after: ModelProto) -> bool:
    """The same nodes, and none of their operators changed its meaning between the two opsets: nothing has to be run."""
    if before.graph.node != after.graph.node or before.graph.initializer != after.graph.initializer:
        return False
    if before.functions != after.functions:
        return False
    opsets = default_opset(before), default_opset(after)
    operators = {node.op_type for node in all_nodes(before) if node.domain in ("", "ai.onnx")}
    return all(unchanged(name, *opsets) for name in operators)


def _type_text(kind: TypeProto) -> str:
    which = kind.WhichOneof("value")
    if which in ("sequence_type", "optional_type"):
        return f"{which.split('_')[0]}({_type_text(getattr(kind, which).elem_type)})"
    tensor = kind.tensor_type
    dims = [dim.dim_param or dim.dim_value or "?" for dim in tensor.shape.dim] if tensor.HasField("shape") else "?"
    return f"{TensorProto.DataType.Name(tensor.elem_type).lower()}{dims}"


def admitted_types(opset: int) -> tuple[set[str], set[str]]:
    """Types that some default-domain operator of `opset` takes, and types that some operator gives."""
    taken: set[str] = set()
    given: set[str] = set()
    for name in {schema.name for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""}:
        try:
            schema: Any = onnx.defs.get_schema(name, opset, "")
        except onnx.defs.SchemaError:
            continue
        if not schema.deprecated:
            taken |= {kind for formal in schema.inputs for kind in formal.types}
            given |= {kind for formal in schema.outputs for kind in formal.types}
    return taken, given
