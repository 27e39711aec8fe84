"""Runs a model in onnxruntime, and says what its errors mean."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
from typing import Any

import numpy as np
import onnx

from ..onnx_model.protos import subgraphs
from .custom_operators import register_libraries
from .dtypes import numpy_dtype
from .exact_products import may_join_products, with_exact_products
from .messages import Failure, Kind, Outputs, RejectedError, one_line


class OnnxRuntime:
    """An onnxruntime session in one thread and without optimizations, which computes the nodes as they are,
    so that results are exact.
    """

    numbers_nodes = False
    optimizes = False

    def __init__(self, path: str, probes: tuple[str, ...], custom: tuple[str, ...] = ()) -> None:
        try:
            import onnxruntime
        except Exception as error:
            raise RejectedError(Failure("unsupported", f"onnxruntime cannot be imported: {one_line(error)}")) from error
        self._onnxruntime = onnxruntime
        options = onnxruntime.SessionOptions()
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_ENABLE_ALL if self.optimizes else levels.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        register_libraries(options, custom)
        model: str | bytes = path
        if probes:
            model = _with_outputs(path, probes)
        if self.numbers_nodes:
            model = _with_numbers(path)
        self._exact = with_exact_products(model)
        model = self._exact.model if self._exact else model
        if isinstance(model, bytes):
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.path.dirname(path))
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            if self.optimizes and may_join_products(model):
                # it loads; what is fused to products of integers would be inexact, and is run as it stands
                options.add_session_config_entry("session.disable_quant_qdq", "1")
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
        runtime = f"onnxruntime {self._onnxruntime.__version__}"
        if self._exact is None:
            return Outputs(names, tuple(values), runtime)
        shown = len(names) - self._exact.added
        return Outputs(names[:shown], tuple(values[:shown]), runtime, self._exact.saturated(dict(zip(names, values, strict=True))))

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


class NumberedOnnxRuntime(OnnxRuntime):
    """An onnxruntime session whose failures say which node failed."""

    numbers_nodes = True


class OptimizedOnnxRuntime(OnnxRuntime):
    """An onnxruntime session with all optimizations, as sessions have them by default."""

    optimizes = True


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
    message = one_line(re.sub(_NOISE, "", text))
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
