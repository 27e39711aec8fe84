"""Dtypes of element types: numpy's own, those of ml_dtypes, and those that an old ml_dtypes lacks."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from split_rewrite.rewriter.execution.dtypes import numpy_dtype
from split_rewrite.rewriter.execution.messages import RejectedError


@pytest.mark.parametrize(
    ("element_type", "dtype"),
    [(TensorProto.FLOAT, np.float32), (TensorProto.STRING, object), (TensorProto.BFLOAT16, ml_dtypes.bfloat16)],
)
def test_a_dtype(element_type: int, dtype: type) -> None:
    assert numpy_dtype(element_type) == np.dtype(dtype)


def test_a_dtype_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ml_dtypes, "bfloat16")
    with pytest.raises(RejectedError, match="element type bfloat16 needs a newer ml_dtypes"):
        numpy_dtype(TensorProto.BFLOAT16)
