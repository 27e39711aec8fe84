"""Runs a model in onnx.reference, as it is or in float64."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx

from ..opsets.cases import default_domain_nodes
from .custom_operators import operators_in
from .dtypes import numpy_dtype
from .float64 import widen, widened
from .messages import Failure, Outputs, RejectedError, one_line
from .strict_reference import SplitSizesError, strict_evaluator


class Reference:
    """onnx.reference, with Split operators that refuse invalid sizes instead of cutting what is there."""

    def __init__(self, path: str, probes: tuple[str, ...], custom: tuple[str, ...]) -> None:
        self._is_custom = bool(custom)
        try:
            model = onnx.load(path)
            _shorten_domains(model)
            _require_known_operators(model)
            self._prepare(model)
            model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in probes)
            self._dtypes = _numeric_dtypes(model.graph.output)
            self._evaluator = strict_evaluator(operators_in(custom))(model)
        except RejectedError:
            raise
        except MemoryError as error:
            raise RejectedError(Failure("memory", one_line(error))) from error
        except Exception as error:
            raise RejectedError(Failure("unsupported", one_line(error))) from error

    def _prepare(self, model: onnx.ModelProto) -> None:
        """A hook that may change the model before it is run."""

    def run(self, inputs: dict[str, Any]) -> Outputs:
        try:
            values = self._evaluator.run(None, inputs)
        except MemoryError as error:
            raise RejectedError(Failure("memory", one_line(error))) from error
        except NotImplementedError as error:
            raise RejectedError(Failure("unsupported", one_line(error))) from error
        except Exception as error:
            certain = isinstance(error, SplitSizesError)
            raise RejectedError(Failure("runtime", self._told(error), certain)) from error
        names = tuple(str(name) for name in self._evaluator.output_names)
        outputs = tuple(map(_as_array, values))
        for name, value in zip(names, outputs, strict=True):
            if message := self._misfit(name, value):
                raise RejectedError(Failure("runtime", message, certain=False))
        return Outputs(names, outputs, f"onnx.reference {onnx.__version__}")

    def _told(self, error: Exception) -> str:
        """The message of `error`; where operators of the user's own may have failed, with the cause that onnx.reference hides."""
        cause = error.__cause__ if self._is_custom else None
        return one_line(error) + (f": {type(cause).__name__}: {one_line(cause)}" if isinstance(cause, Exception) else "")

    def _misfit(self, name: str, value: Any) -> str:
        """What is wrong with the type of an output; "" where it is right."""
        if isinstance(value, np.ndarray) and value.dtype != self._dtypes.get(name, value.dtype):
            return f"it computes output '{name}' as {value.dtype}, which is {self._dtypes[name]}"
        parts = value if isinstance(value, list) else [value]
        strings = (part for part in parts if isinstance(part, np.ndarray) and part.dtype.hasobject)
        if not all(isinstance(element, str | bytes) for part in strings for element in part.flat):
            return f"it puts more than strings into output '{name}'"
        return ""


class Float64(Reference):
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


def _require_known_operators(model: onnx.ModelProto) -> None:
    """Raises RejectedError where an opset does not have an operator: onnx.reference would take it as a later opset means it."""
    for node, opset in default_domain_nodes(model):
        if onnx.defs.has(node.op_type) and not onnx.defs.has(node.op_type, max_inclusive_version=opset):
            raise RejectedError(Failure("unsupported", f"opset {opset} does not have {node.op_type}"))


def _numeric_dtypes(values: Iterable[onnx.ValueInfoProto]) -> dict[str, np.dtype]:
    """The declared dtype of each tensor, except of strings, for which numpy has several dtypes."""
    declared = {value.name: value.type.tensor_type.elem_type for value in values}
    strings = (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING)
    return {name: numpy_dtype(elem_type) for name, elem_type in declared.items() if elem_type not in strings}


def _as_array(value: Any) -> Any:
    """`value`, as an array if it is a numpy scalar, which some operators of onnx.reference return."""
    return np.asarray(value) if isinstance(value, np.generic) else value
