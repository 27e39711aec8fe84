"""Lets onnx.reference round what it computes of float16 once, as runtimes do.

Its operators round each step: the square of 300 is infinite in float16, and so is the variance of 300 and -300.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto
from onnx.defs import OpSchema

from ..onnx_model.domains import DEFAULT_DOMAINS
from . import facts
from .facts import Kind

_COMPUTING = frozenset({Kind.ELEMENTWISE, *facts.COMBINING})


def round_once(evaluator: Any) -> Any:
    """The same onnx.reference.ReferenceEvaluator, whose nodes compute with float16 in float32 and round their results. Those that
    quantize stay.
    """
    for node in evaluator.rt_nodes_:
        proto = node.onnx_node
        if proto.domain in DEFAULT_DOMAINS and facts.of(proto.op_type).kind in _COMPUTING:
            node.run = _in_float32(node.run, proto)
    return evaluator


def _in_float32(run: Callable[..., Sequence[Any]], proto: NodeProto) -> Callable[..., Sequence[Any]]:
    def run_in_float32(*inputs: Any, **options: Any) -> Sequence[Any]:
        halves = [index for index, value in enumerate(inputs) if _is_of(value, np.float16)]
        if not halves:
            return run(*inputs, **options)
        results = run(*(value.astype(np.float32) if index in halves else value for index, value in enumerate(inputs)), **options)
        are_halves = _are_halves(onnx.defs.get_schema(proto.op_type), halves)
        with np.errstate(over="ignore"):
            return tuple(
                result.astype(np.float16) if is_half and _is_of(result, np.float32) else result
                for result, is_half in zip(results, are_halves, strict=False)
            )

    return run_in_float32


def _is_of(value: Any, dtype: type[np.generic]) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype == dtype


def _are_halves(schema: OpSchema, places: Sequence[int]) -> list[bool]:
    """For each output whether it has the type of one of the inputs at `places`."""
    types = {schema.inputs[min(place, len(schema.inputs) - 1)].type_str for place in places}
    return [output.type_str in types for output in schema.outputs]
