"""Constants as tensors of terms: integers as they are, other elements by what they are equal to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .solver import z3
from .tensors import MOST_ENTRIES, WHOLE, NotModelledError, Tensor, of_entries, opaque
from .terms import DATA, Term

_MOST_OF_DATA = 64
"""The number of elements, other than integers, up to which each has a term of its own: there are many small weights."""


def constant(value: np.ndarray | TensorProto) -> Tensor:
    """The tensor with this value. Equal elements are one term; of others, nothing says that they differ."""
    array = numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
    kind = value.data_type if isinstance(value, TensorProto) else helper.np_dtype_to_tensor_dtype(value.dtype)
    if array.dtype == object:
        raise NotModelledError("it is a constant of strings")
    raw = array.tobytes()
    if array.size > (MOST_ENTRIES if kind in WHOLE else _MOST_OF_DATA):
        return opaque(f"constant {kind} {array.shape} {hashlib.sha256(raw).hexdigest()}", kind, array.shape)
    entries = np.empty(array.shape, object)
    element = element_of(kind)
    for place in np.ndindex(*array.shape):
        entries[place] = element(array[place])
    is_small = kind in WHOLE and all(abs(int(number)) < 1 << 31 for number in array.ravel())
    return of_entries(kind, entries, is_sized=is_small)


def element_of(kind: int) -> Callable[[Any], Term]:
    """What makes a term of an element of this type."""
    if kind in WHOLE:
        return int
    if kind == TensorProto.BOOL:
        return bool
    return lambda element: z3.Const(f"{kind} {np.asarray(element).tobytes().hex()}", DATA)
