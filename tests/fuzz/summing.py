"""What rounding alone may do to a sum: kernels add terms in other orders, and large terms of both signs cancel out or overflow.

1e30 - 1e30 + 5 is 0, 5 or, in a narrower type, NaN, by the order. How much an element may be off does not follow from its value,
but from the sizes of its terms: they are added up by the same model with the signs of all its numbers taken away, in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from conditioning import elements, move_constants
from onnx import ModelProto

from split_rewrite.rewriter.execution.model_client import Worker

SUMS = frozenset(
    {
        *("AveragePool", "GlobalAveragePool", "Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum"),
        *("CumSum", "Mean", "ReduceL1", "ReduceMean", "ReduceSum", "Sum"),
    }
)
"""Operators whose results are sums of operands, or of products of them."""
_ROUNDINGS = 16
"""Last bits of the sum of all sizes that the sum itself may be off by; the enumerated sums have few terms."""


def sizes(model: ModelProto, feeds: Mapping[str, Any], folder: Path, worker: Worker) -> list[np.ndarray] | None:
    """For each output of a model of one node, the sums of the sizes of the finite terms; None for other operators than SUMS."""
    if len(model.graph.node) != 1 or model.graph.node[0].op_type not in SUMS:
        return None
    unsigned = ModelProto.FromString(model.SerializeToString())
    move_constants(unsigned, _size)
    for attribute in unsigned.graph.node[0].attribute:
        attribute.f = abs(attribute.f)  # alpha and beta
    path = folder / "unsigned.onnx"
    onnx.save(unsigned, path)
    fed = {name: _size(value) if isinstance(value, np.ndarray) else value for name, value in feeds.items()}
    return elements(worker.run(path, fed, "float64"))


def _size(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "OUSbiuc":
        return array
    return np.where(np.isfinite(array), np.abs(array), np.zeros_like(array)).astype(array.dtype)


def may_be_rounding(expected: np.ndarray, got: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Which elements differ by no more than the order of a sum may make of terms whose sizes add up to `total`."""
    if expected.dtype.kind in "OUSbiuc" or total.shape != expected.shape:
        return np.zeros(expected.shape, bool)
    limits = ml_dtypes.finfo(expected.dtype)
    a, b = expected.astype(np.float64), got.astype(np.float64)
    is_near = np.abs(a - b) <= _ROUNDINGS * float(limits.eps) * total
    overflows = total > float(limits.max) / 2
    return np.where(np.isfinite(a) & np.isfinite(b), is_near, overflows)
