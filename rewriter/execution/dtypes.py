"""The numpy dtypes of ONNX's element types."""

from __future__ import annotations

import numpy as np
import onnx

from .messages import Failure, RejectedError

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
