"""Checks that the result computes in another runtime what the original computes in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..comparison.judging.first_difference import Models, Side, first_difference, run_by_worker
from ..comparison.runs import Run
from ..comparison.verification import Verified
from ..errors import CompareError
from ..execution.agreement import USUAL, Bounds, difference_of
from ..execution.model_client import lent_worker
from ..execution.other_runtimes import Interface, Ran, Target, interface, run_file
from ..process.child import interpreter
from .known_messages import find_messages
from .naming import common_name
from .profiles import known_runtimes

_NARROW = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def target_of(adapter: str, python: str) -> Target:
    """The runtime of `adapter` in the environment of the interpreter `python`, or in this one."""
    return Target(adapter_name(adapter), python or interpreter())


def adapter_name(given: str) -> str:
    """The name in `ADAPTERS` of the runtime that a user named, in any spelling; a class of the user's own stays as it is."""
    return given if ":" in given else common_name(given)


def bounds_of(adapter: str, rtol: float | None, atol: float | None) -> Bounds:
    """The bounds in the profile of `adapter`, except those that the user gave."""
    runtime = known_runtimes().get(adapter_name(adapter))
    bounds = USUAL if runtime is None else runtime.tolerance
    return Bounds(bounds.rtol if rtol is None else rtol, bounds.atol if atol is None else atol)


def verify_in(target: Target, original: Path, result: Path, runs: Sequence[Run], bounds: Bounds) -> Verified:
    """Run the model file `result` in `target` on the inputs of `runs`, in which the original ran in onnxruntime, and compare the
    outputs.

    Where products saturate in kernels for this processor, and where the model computes in 8-bit integers or 16-bit floats, which
    each runtime rounds in its own way, a result is right, too, that gives what the original gives in `target`.
    Files are written beside `result`. Raises: CompareError with one line, where outputs differ, naming the node where the
    difference begins, where they cannot be compared, or where the runtime does not run the model.
    """
    model = onnx.load(result, load_external_data=False)
    names, is_narrow, as_original = interface(model), _is_narrow(model.graph), False
    samples = [_inputs(target, run, names) for run in runs]
    for run in runs:
        _require_comparable(target, run)
    found = run_file(target, result, names, samples)
    for run, ran in zip(runs, found, strict=False):
        _require_ran(target, ran)
        for name, expected, got in zip(names.outputs, run.outputs.values, ran.outputs, strict=True):
            difference = _difference(expected, got, bounds)
            if not difference:
                continue
            as_original = bool(is_narrow or run.outputs.saturated) and _is_as_original(target, original, run, ran, bounds)
            if not as_original:
                begins = _begins(target, result, run, names, name, bounds)
                raise CompareError(f"output '{name}' of the result in {target.adapter} {ran.version} {difference}{begins}")
    return Verified(f"{target.adapter} {found[0].version}", len(found), *bounds, as_original)


def require_loaded(target: Target, result: Path) -> None:
    """Load the model file `result` in `target`. Raises CompareError with one line where the runtime refuses it."""
    for ran in run_file(target, result, interface(onnx.load(result, load_external_data=False)), []):
        _require_ran(target, ran)


def is_plain(run: Run) -> bool:
    """Whether all inputs and outputs of a run are arrays of numbers, which other runtimes can be given and asked for."""
    values = [*run.inputs.values(), *run.outputs.values]
    return all(map(_is_plain, values))


def _is_plain(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"


def _is_narrow(graph: onnx.GraphProto) -> bool:
    """Whether `graph` mentions 8-bit integers or 16-bit floats: for an input, output or constant, or in a Cast."""
    kinds = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
    kinds.update(tensor.data_type for tensor in graph.initializer)
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        kinds.add(attribute.i if attribute.name in ("to", "dtype") else attribute.t.data_type)
    return not kinds.isdisjoint(_NARROW)


def _is_as_original(target: Target, original: Path, run: Run, ran: Ran, bounds: Bounds) -> bool:
    """Whether `target` gives what it gave of the result, `ran`, of the original, too."""
    names = interface(onnx.load(original, load_external_data=False))
    (there,) = run_file(target, original, names, [_inputs(target, run, names)])
    if there.status != "ran":
        return False
    return not any(_difference(expected, got, bounds) for expected, got in zip(there.outputs, ran.outputs, strict=True))


def _inputs(target: Target, run: Run, names: Interface) -> list[np.ndarray]:
    """The inputs of one run, in the model's order. Raises CompareError where one is not a NumPy array of numbers."""
    values = [run.inputs[name] for name in names.inputs]
    for name, value in zip(names.inputs, values, strict=True):
        if not _is_plain(value):
            raise CompareError(f"the result cannot be run in {target.adapter}: the input '{name}' is not a NumPy array of numbers")
    return values


def _require_comparable(target: Target, run: Run) -> None:
    """Raises CompareError where an output of the original is something else than an array of numbers, as strings and maps are."""
    for name, value in zip(run.outputs.names, run.outputs.values, strict=True):
        if not _is_plain(value):
            raise CompareError(f"the result cannot be verified with {target.adapter}: its output '{name}' is {_kind(value)}")


def _kind(value: Any) -> str:
    """What a value is that is not an array of numbers, with an article."""
    if value is None or isinstance(value, (list, tuple, dict)):
        kind = "an empty optional" if value is None else "a map" if isinstance(value, dict) else "a sequence"
    else:
        kind = "an array of strings" if np.asarray(value).dtype.kind in "OUS" else "an array of a type that NumPy lacks"
    return f"{kind}, not an array of numbers"


def _require_ran(target: Target, ran: Ran) -> None:
    verbs = {"refused": "refuses", "crashed": "crashes on", "hung": "hangs on"}
    if ran.status != "ran":
        meant = next((f". It means: {place.meaning}" for place in find_messages(ran.reason)), "")
        raise CompareError(f"{target.adapter} {verbs[ran.status]} the result: {ran.reason}{meant}")


def _difference(expected: Any, got: np.ndarray, bounds: Bounds) -> str:
    if not (_is_plain(expected) and _is_plain(got)):
        return "cannot be compared: it is not a NumPy array of numbers"
    return difference_of(expected, got, bounds)


def _begins(target: Target, result: Path, run: Run, names: Interface, output: str, bounds: Bounds) -> str:
    """The first node of the result that gives other values than in onnxruntime, as "; it begins with Softmax 'probs'", or ""."""

    def differs(_: str, expected: Any, got: Any) -> bool:
        return bool(_difference(expected, got, bounds))

    inputs = _inputs(target, run, names)
    with lent_worker() as worker:
        here = _Recorded(run_by_worker(result, "onnxruntime", worker, dict(zip(names.inputs, inputs, strict=True))))
        there = _There(target, result, names, inputs, here.seen)
        found = first_difference(Models(Side(result, here.values_of), Side(result, there.values_of), differs), [output])
    if not found.node:
        return ""
    return f"; it begins with {found.node}" + (f", or before it: {target.adapter} does not show all values" if there.hidden else "")


class _Recorded:
    """A run in onnxruntime that keeps all values that were asked for, because their types are needed."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self.seen: dict[str, Any] = {}

    def values_of(self, wanted: tuple[str, ...]) -> Mapping[str, Any]:
        self.seen |= self._side.values_of(wanted)
        return self.seen


class _There:
    """A run of the result in the other runtime. `types` has values of its main graph in onnxruntime, whose types are used."""

    def __init__(self, target: Target, result: Path, names: Interface, inputs: list[np.ndarray], types: Mapping[str, Any]) -> None:
        self._target = target
        self._result = result
        self._names = names
        self._inputs = inputs
        self._types = types
        self.hidden = False
        """Whether there was a value that the runtime could not return."""

    def values_of(self, wanted: tuple[str, ...]) -> Mapping[str, np.ndarray]:
        """The values of `wanted` that the runtime can return. If it cannot return all in one run, each half is tried."""
        shown = tuple(name for name in wanted if _is_plain(self._types.get(name)))
        (ran,) = run_file(self._target, self._showing(shown), self._names.with_outputs(shown), [self._inputs])
        if ran.status == "ran":
            return dict(zip(shown, ran.outputs[len(self._names.outputs) :], strict=True))
        middle = len(shown) // 2
        self.hidden |= not middle
        return {**self.values_of(shown[:middle]), **self.values_of(shown[middle:])} if middle else {}

    def _showing(self, values: Sequence[str]) -> Path:
        """A copy of the model file, beside it, with `values` of its main graph as additional outputs.

        These are appended to the file: protobuf merges messages that follow each other.
        """
        types = ((self._types[name].dtype, self._types[name].shape) for name in values)
        kinds = (onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(dtype), shape) for dtype, shape in types)
        more = onnx.GraphProto(output=[onnx.ValueInfoProto(name=n, type=k) for n, k in zip(values, kinds, strict=True)])
        copy = self._result.with_name("showing.onnx")
        copy.write_bytes(self._result.read_bytes() + onnx.ModelProto(graph=more).SerializeToString())
        return copy
