"""The child process of a comparison: it loads one model at a time, runs it, and answers with its outputs or with a failure.

The output that native code prints is discarded, and a crash there affects no other process.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import pickle
import re
import threading
import time
from collections.abc import Callable, Iterable
from io import FileIO
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import onnx

from ...graph.protos import subgraphs
from ...graph.specialization import with_values
from ...process.serving import leave, lift_time_limit, limit_memory, limit_time, open_pipes, receive, send
from ..inputs.readers import NO_READINGS, Readings, readings
from ..judging.differences import byte_size
from ..judging.runtime_defects import (
    Doubt,
    default_domain_nodes,
    disputed_node,
    doubt,
    known_defects,
    lax_operator,
    random_operator,
)
from .float64 import widen, widened
from .strict_reference import SplitSizesError, strict_evaluator

Kind = Literal["unsupported", "invalid", "runtime", "crashed", "timeout", "memory"]

# Element types that numpy does not have, as ml_dtypes calls them.
ML_DTYPES = {
    "BFLOAT16": "bfloat16",
    "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
    "FLOAT8E5M2": "float8_e5m2",
    "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
    "FLOAT8E8M0": "float8_e8m0fnu",
    "FLOAT4E2M1": "float4_e2m1fn",
    "FLOAT6E2M3": "float6_e2m3fn",
    "FLOAT6E3M2": "float6_e3m2fn",
    "INT4": "int4",
    "UINT4": "uint4",
    "INT2": "int2",
    "UINT2": "uint2",
}
"""Element types that numpy does not have, and their names in ml_dtypes."""


NUMBERED = "onnxruntime with numbers"
"""onnxruntime, whose failures state the number of the node."""


class Failure(NamedTuple):
    """Why a model did not run.

    `kind` is "unsupported" where the runtime lacks something; "invalid" where it rejects the model; "runtime" where it rejects the
    inputs or the run failed; "crashed" where the process died; "timeout" or "memory" where a limit was reached. `certain` is False
    where the cause may only be that the runtime is incomplete. `node` is the number of the node that failed, counted through all
    graphs; -1 where it is unknown.
    """

    kind: Kind
    message: str
    certain: bool = True
    node: int = -1


class Outputs(NamedTuple):
    """The outputs of one run: arrays, lists (sequences), dicts (maps) or None (an empty optional).

    `runtime` is "name version".
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    runtime: str


class Description(NamedTuple):
    """The interface of a model: serialized ValueInfoProtos of the required and the optional inputs, and the names of the outputs.

    `random` names a node that draws random numbers. `defects` maps runtimes to the reason why they cannot be trusted on this model.
    `disputed` names a node that onnxruntime computes differently from the specification. `lax` says what onnxruntime accepts in
    this model although the specification forbids it. `doubt` says why onnxruntime may give other numbers for another graph that
    computes the same. `readings` says what is done with the values of the inputs. `declared` has serialized ValueInfoProtos of the
    outputs.
    """

    required: tuple[bytes, ...]
    overridable: tuple[bytes, ...]
    outputs: tuple[str, ...]
    random: str
    defects: dict[str, str]
    disputed: str
    lax: str
    doubt: Doubt | None
    readings: Readings = NO_READINGS
    declared: tuple[bytes, ...] = ()


class DescribeRequest(NamedTuple):
    """Read the interface of the model at `path`."""

    path: str


class RunRequest(NamedTuple):
    """Run a model on each of `samples`. The answer may contain fewer results; the rest has to be requested again.

    `session` identifies one loading of `path`: the model stays loaded until another session is requested. `probes` are values of
    the main graph that are returned as well.
    """

    session: int
    path: str
    runtime: str
    samples: tuple[dict[str, Any], ...]
    probes: tuple[str, ...] = ()


class ForgetRequest(NamedTuple):
    """Drop the loaded model."""


class _Loaded(Protocol):
    def run(self, inputs: dict[str, Any]) -> Outputs: ...


class RejectedError(Exception):
    """An error whose kind of failure is known already."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def numpy_dtype(elem_type: int) -> np.dtype:
    """The numpy dtype of a TensorProto.DataType, from ml_dtypes where numpy has none; object for strings.

    Raises: RejectedError where ml_dtypes is too old to have it, and where there is no element type.
    """
    name = onnx.TensorProto.DataType.Name(elem_type)
    if name == "UNDEFINED":
        raise RejectedError(Failure("invalid", "an input has no element type"))
    if name not in ML_DTYPES:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(elem_type))
    import ml_dtypes  # comes with onnxscript; needed for these types alone

    if not hasattr(ml_dtypes, ML_DTYPES[name]):
        raise RejectedError(Failure("unsupported", f"element type {ML_DTYPES[name]} needs a newer ml_dtypes"))
    return np.dtype(getattr(ml_dtypes, ML_DTYPES[name]))


def describe(path: str) -> Description:
    """The interface of the model at `path`; external data is not read."""
    model = with_values(onnx.load(path, load_external_data=False))
    given = {tensor.name for tensor in model.graph.initializer}
    given |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    inputs = model.graph.input
    return Description(
        required=tuple(value.SerializeToString() for value in inputs if value.name not in given),
        overridable=tuple(value.SerializeToString() for value in inputs if value.name in given),
        outputs=tuple(value.name for value in model.graph.output),
        random=random_operator(model),
        defects=known_defects(model),
        disputed=disputed_node(model),
        lax=lax_operator(model),
        doubt=doubt(model),
        readings=readings(model),
        declared=tuple(value.SerializeToString() for value in model.graph.output),
    )


class _OnnxRuntime:
    """An onnxruntime session in one thread and without optimizations, which computes the nodes as they are,
    so that results are exact.
    """

    numbers_nodes = False

    def __init__(self, path: str, probes: tuple[str, ...]) -> None:
        try:
            import onnxruntime
        except Exception as error:
            raise RejectedError(Failure("unsupported", f"onnxruntime cannot be imported: {_one_line(error)}")) from error
        self._onnxruntime = onnxruntime
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        model: str | bytes = path
        if probes:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.path.dirname(path))
            model = _with_outputs(path, probes)
        if self.numbers_nodes:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.path.dirname(path))
            model = _with_numbers(path)
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            failure = _onnxruntime_failure(error, "invalid")
            raise RejectedError(failure._replace(certain=not _is_before_onnxruntime(path))) from error
        values = [*self._session.get_inputs(), *self._session.get_outputs()]
        self._by_bits = any(value.type[7:-1] in _BY_BITS for value in values)

    def run(self, inputs: dict[str, Any]) -> Outputs:
        try:
            values = self._run_by_bits(inputs) if self._by_bits else self._session.run(None, inputs)
        except Exception as error:
            raise RejectedError(_onnxruntime_failure(error, "runtime")) from error
        names = tuple(output.name for output in self._session.get_outputs())
        return Outputs(names, tuple(values), f"onnxruntime {self._onnxruntime.__version__}")

    def _run_by_bits(self, inputs: dict[str, Any]) -> list[Any]:
        """Run with inputs as bit patterns, because numpy cannot pass bfloat16 and float8 to onnxruntime."""
        types = {value.name: value.type for value in self._session.get_inputs()}
        values = {name: self._to_ort_value(value, types[name]) for name, value in inputs.items()}
        return [self._from_ort_value(value) for value in self._session.run_with_ort_values(None, values)]

    def _to_ort_value(self, array: Any, declared: str) -> Any:
        if not isinstance(array, np.ndarray):
            raise RejectedError(Failure("unsupported", f"{declared} cannot be fed beside bfloat16 or float8"))
        make = self._onnxruntime.OrtValue
        if declared[7:-1] not in _BY_BITS:
            return make.ortvalue_from_numpy(array)
        elem_type = onnx.TensorProto.DataType.Value(declared[7:-1].upper())
        bits = np.asarray(array, order="C").view(f"u{array.itemsize}")  # ascontiguousarray would give a scalar a dimension
        return make.ortvalue_from_numpy_with_onnx_type(bits, elem_type)

    def _from_ort_value(self, value: Any) -> Any:
        if not value.is_tensor() or value.data_type()[7:-1] not in _BY_BITS:
            return value.numpy()
        dtype = numpy_dtype(value.element_type())
        data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
        return np.frombuffer(data, dtype).reshape(value.shape())


class _Numbered(_OnnxRuntime):
    """An onnxruntime session whose failures say which node failed."""

    numbers_nodes = True


def _with_numbers(path: str) -> bytes:
    """The bytes of the model file, with the number of each node as its name."""
    model = onnx.load(path, load_external_data=False)
    numbers = itertools.count()
    graphs = [model.graph]
    while graphs:
        for node in graphs.pop(0).node:
            node.name = str(next(numbers))
            graphs.extend(graph for _, graph in subgraphs(node))
    return model.SerializeToString()


def _is_before_onnxruntime(path: str) -> bool:
    """Whether the opset of the model is older than those that onnxruntime supports, though it loads some such models.

    It may insert nodes there that the opset does not have, and then reject its own graph.
    """
    imports = onnx.load(path, load_external_data=False).opset_import
    return any(entry.domain in ("", "ai.onnx") and entry.version < _FIRST_OPSET for entry in imports)


def _with_outputs(path: str, names: tuple[str, ...]) -> bytes:
    """The bytes of the model file with more graph outputs, which are appended: protobuf merges messages that follow each other."""
    more = onnx.ModelProto(graph=onnx.GraphProto(output=[onnx.ValueInfoProto(name=name) for name in names]))
    with open(path, "rb") as file:
        return file.read() + more.SerializeToString()


_BY_BITS = frozenset({"bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"})
_FIRST_OPSET = 7
"""The oldest opset that onnxruntime supports."""
# Patterns are compiled when a failure has to be read: never in the parent, which starts faster for it.
_LACKS = (
    r"(?i)NOT_IMPLEMENTED|is not a registered function/op|under development and support|Unsupported model IR version"
    r"|not (?:yet |currently )?(?:registered or )?(?:implemented|supported)|unsupported|only supports?\b"
    r"|can't be converted to MLDataType|No corresponding Numpy type"
    r"|InsertedPrecisionFreeCast"  # where it has no kernel for half precision, it inserts casts, and may refuse its own work
)
_NO_OPERATOR = r'\(".*?", (\w+), "(.*?)", .* No Op registered for \w+ with domain_version of (\d+)'
_OUT_OF_MEMORY = r"(?i)Failed to allocate memory|bad_alloc|out of memory"
# What stands in front of what went wrong: status codes, paths, source positions, C++ signatures, failed assertions.
_NOISE = (
    r"^\[ONNXRuntimeError\] : \d+ : \w+ : |Load model from .*? failed:\s*|Non-zero status code returned while running "
    r"|/onnxruntime_src/\S+ [^()]*\([^()]*\)(?: const)?(?: \[with [^]]*\])? (?:.* was false\. )?"
    r"|Name:'' |Status Message: |This is an invalid model\. |ONNX Runtime only \*guarantees\*.*?versions\. "
)


def _onnxruntime_failure(error: Exception, otherwise: Kind) -> Failure:
    """The failure for an error of onnxruntime: "unsupported" where it lacks something, else of kind `otherwise`."""
    if isinstance(error, RejectedError):
        return error.failure
    # onnxruntime puts names into its messages that may not be UTF-8.
    text = error.object.decode(errors="replace") if isinstance(error, UnicodeDecodeError) else str(error)
    message = _one_line(re.sub(_NOISE, "", text))
    if isinstance(error, MemoryError) or re.search(_OUT_OF_MEMORY, text):
        return Failure("memory", message)
    if unknown := re.search(_NO_OPERATOR, text):
        name, domain, version = unknown.groups()
        return Failure("unsupported" if _exists(name, domain, int(version)) else "invalid", message)
    numbers = re.findall(r"Name:'(\d{1,9})'", text)
    return Failure("unsupported" if re.search(_LACKS, text) else otherwise, message, node=int(numbers[-1]) if numbers else -1)


def _exists(operator: str, domain: str, opset: int) -> bool:
    """Whether ONNX has the operator at that opset. If so, it is only this onnxruntime that lacks it."""
    if not onnx.defs.has(operator, max_inclusive_version=opset, domain=domain):
        return False
    return not onnx.defs.get_schema(operator, opset, domain).deprecated


class _Reference:
    """onnx.reference, with Split operators that refuse invalid sizes instead of cutting what is there."""

    def __init__(self, path: str, probes: tuple[str, ...]) -> None:
        try:
            model = onnx.load(path)
            _shorten_domains(model)
            self._prepare(model)
            model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in probes)
            self._dtypes = _numeric_dtypes(model.graph.output)
            self._evaluator = strict_evaluator()(model)
        except MemoryError as error:
            raise RejectedError(Failure("memory", _one_line(error))) from error
        except Exception as error:
            raise RejectedError(Failure("unsupported", _one_line(error))) from error

    def _prepare(self, model: onnx.ModelProto) -> None:
        """A hook that may change the model before it is run."""

    def run(self, inputs: dict[str, Any]) -> Outputs:
        try:
            values = self._evaluator.run(None, inputs)
        except MemoryError as error:
            raise RejectedError(Failure("memory", _one_line(error))) from error
        except NotImplementedError as error:
            raise RejectedError(Failure("unsupported", _one_line(error))) from error
        except Exception as error:
            certain = isinstance(error, SplitSizesError)
            raise RejectedError(Failure("runtime", _one_line(error), certain)) from error
        names = tuple(str(name) for name in self._evaluator.output_names)
        outputs = tuple(map(_as_array, values))
        for name, value in zip(names, outputs, strict=True):
            if message := self._misfit(name, value):
                raise RejectedError(Failure("runtime", message, certain=False))
        return Outputs(names, outputs, f"onnx.reference {onnx.__version__}")

    def _misfit(self, name: str, value: Any) -> str:
        """What is wrong with the type of an output; "" where it is right."""
        if isinstance(value, np.ndarray) and value.dtype != self._dtypes.get(name, value.dtype):
            return f"it computes output '{name}' as {value.dtype}, which is {self._dtypes[name]}"
        parts = value if isinstance(value, list) else [value]
        strings = (part for part in parts if isinstance(part, np.ndarray) and part.dtype.hasobject)
        if not all(isinstance(element, str | bytes) for part in strings for element in part.flat):
            return f"it puts more than strings into output '{name}'"
        return ""


class _Float64(_Reference):
    """onnx.reference, which computes in float64 instead of the narrower floats of the model."""

    def _prepare(self, model: onnx.ModelProto) -> None:
        widen(model)

    def run(self, inputs: dict[str, Any]) -> Outputs:
        return super().run(widened(inputs))


def _shorten_domains(model: onnx.ModelProto) -> None:
    """Replace the domain "ai.onnx" by "", the only name of the default domain that onnx.reference knows."""
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            entry.domain = "" if entry.domain == "ai.onnx" else entry.domain
    for node, _ in default_domain_nodes(model):
        node.domain = ""


def _numeric_dtypes(values: Iterable[onnx.ValueInfoProto]) -> dict[str, np.dtype]:
    """The declared dtype of each tensor, except of strings, for which numpy has several dtypes."""
    declared = {value.name: value.type.tensor_type.elem_type for value in values}
    strings = (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING)
    return {name: numpy_dtype(elem_type) for name, elem_type in declared.items() if elem_type not in strings}


def _as_array(value: Any) -> Any:
    """`value`, as an array if it is a numpy scalar, which some operators of onnx.reference return."""
    return np.asarray(value) if isinstance(value, np.generic) else value


_RUNTIMES: dict[str, Callable[[str, tuple[str, ...]], _Loaded]] = {
    "onnxruntime": _OnnxRuntime,
    NUMBERED: _Numbered,
    "onnx.reference": _Reference,
    "float64": _Float64,
}


def _one_line(error: object) -> str:
    """The first meaningful line of an error message, cut to 240 characters."""
    text = str(error) or type(error).__name__
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return line if len(line) <= 240 else f"{line[:239]}…"


MANY_BYTES = 1 << 20
"""Bytes of inputs, or of outputs, after which no further sample is put into a message."""
_MANY_SECONDS = 0.1
"""Seconds after which an answer is sent even if samples are missing."""


class _Server:
    """Answers requests. It holds at most one loaded model, so that the memory is that of one model."""

    def __init__(self) -> None:
        self._session = -1
        self._loaded: _Loaded | None = None

    def answer(self, request: object) -> list[Outputs | Failure] | Description | Failure | None:
        if isinstance(request, DescribeRequest):
            return _or_failure(describe, request.path)
        if isinstance(request, RunRequest):
            return self._run(request)
        return self._forget()

    def _run(self, request: RunRequest) -> list[Outputs | Failure] | Failure:
        loaded = _or_failure(self._load, request)
        if isinstance(loaded, Failure):
            return loaded
        begun, held = time.monotonic(), 0
        answers: list[Outputs | Failure] = []
        for inputs in request.samples:
            answer = _or_failure(loaded.run, inputs)
            answers.append(answer)
            held += sum(map(byte_size, answer.values)) if isinstance(answer, Outputs) else 0
            if held > MANY_BYTES or time.monotonic() - begun > _MANY_SECONDS:
                break
        return answers

    def _load(self, request: RunRequest) -> _Loaded:
        loaded = self._loaded if self._session == request.session else None
        if loaded is None:
            self._forget()  # before the next one takes memory
            self._loaded = loaded = _RUNTIMES[request.runtime](request.path, request.probes)
            self._session = request.session
        return loaded

    def _forget(self) -> None:
        self._loaded = None


_Answer = TypeVar("_Answer")
_Argument = TypeVar("_Argument")


def _or_failure(call: Callable[[_Argument], _Answer], argument: _Argument) -> _Answer | Failure:
    """What `call` returns, or the failure for the exception that it raises."""
    try:
        return call(argument)
    except RejectedError as rejected:
        return rejected.failure
    except MemoryError:
        return Failure("memory", "out of memory")
    except Exception as error:
        return Failure("invalid", _one_line(error))


def serve(memory_bytes: int) -> None:
    """Answer requests, each with its time limit in seconds, until the parent process ends."""
    requests, answers = open_pipes()
    limit_memory(memory_bytes)
    inbox: SimpleQueue[tuple[object, float]] = SimpleQueue()
    threading.Thread(target=_feed, args=(requests, inbox), daemon=True).start()
    server = _Server()
    while True:
        request, seconds = inbox.get()
        limit_time(seconds)
        answer = server.answer(request)
        lift_time_limit()
        send(answers, pickle.dumps(answer, protocol=5))


def _feed(requests: FileIO, inbox: SimpleQueue[tuple[object, float]]) -> None:
    """Read requests in a thread, even while a model runs, so that this process notices the end of its parent at once."""
    try:
        while True:
            inbox.put(pickle.loads(receive(requests)))
    finally:  # the parent is gone, or there is no memory for what it asks: nobody waits for an answer that cannot come
        leave()
