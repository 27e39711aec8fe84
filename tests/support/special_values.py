"""Values at which operators on numbers go wrong: the limits of types, zeros of both signs, infinities, and what is no number."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import known

SPECIAL_FLOATS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 3e38, -3e38, 1e-45], np.float32)
FLOAT_PAIRS = {"a": np.repeat(SPECIAL_FLOATS, len(SPECIAL_FLOATS)), "b": np.tile(SPECIAL_FLOATS, len(SPECIAL_FLOATS))}
_LONG = np.array([0, 1, -1, 2**32, -(2**32), 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)], np.int64)
LONG_PAIRS = {"a": np.repeat(_LONG, len(_LONG)), "b": np.tile(_LONG, len(_LONG))}
INTEGER_TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def integer_limits(kind: str) -> np.ndarray:
    """The limits of an integer type, and some numbers between them."""
    limits = np.iinfo(kind)
    return np.array(sorted({limits.min, limits.max, 0, 1, 7, limits.max // 3, limits.min // 2}), kind)


def integer_pairs(kind: str, divisors: bool = False) -> dict[str, np.ndarray]:
    """Each of the limits with each; with `divisors`, those pairs whose quotient exists and fits the type."""
    a = integer_limits(kind)
    b = a[a != 0] if divisors else a
    a, b = np.repeat(a, len(b)), np.tile(b, len(a))
    overflow = (a == np.iinfo(kind).min) & (b.astype(object) == -1) if divisors else np.zeros(len(a), bool)
    return {"a": a[~overflow], "b": b[~overflow]}


def quotient_runtime(kind: str) -> str:
    """The runtime that divides `kind`: onnxruntime has no Div of uint64, and the reference of old onnx divides it as double."""
    if kind == "uint64" and not known(24):
        pytest.skip("nothing divides uint64")
    return "onnx.reference" if kind == "uint64" else "onnxruntime"
