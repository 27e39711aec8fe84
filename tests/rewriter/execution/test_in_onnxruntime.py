"""onnxruntime in the child: what it is fed, and how its errors are read."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from helpers import model, run

from split_rewrite.rewriter.execution.in_onnxruntime import _onnxruntime_failure
from split_rewrite.rewriter.execution.messages import Failure
from split_rewrite.rewriter.execution.model_client import Worker


def test_a_scalar_that_onnxruntime_takes_by_its_bits_stays_a_scalar() -> None:
    proto = model("g (bfloat16 x) => (bfloat16 y) {y = Identity(x)}", 18)
    assert run(proto, {"x": np.array(1.5, ml_dtypes.bfloat16)})[0].shape == ()


def test_onnxruntime_rejects_its_own_work_before_opset_7(tmp_path: Path) -> None:
    """It puts Casts of opset 6 around operators that it has no float16 kernels for."""
    proto = model("g (float16[1,8,1,1] x) => (float16[1,2,2,2] y) {y = DepthToSpace<blocksize = 2>(x)}", 2, ir_version=3)
    onnx.save(proto, tmp_path / "m.onnx")
    with Worker() as worker:
        failure = worker.run(tmp_path / "m.onnx", {"x": np.ones((1, 8, 1, 1), np.float16)})
    assert isinstance(failure, Failure)
    assert not failure.certain


def test_a_message_of_onnxruntime_that_is_no_text_is_read_all_the_same() -> None:
    """Names of nodes come into its messages as they are."""
    message = b"[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : no kernel for node \xff"
    failure = _onnxruntime_failure(UnicodeDecodeError("utf-8", message, 62, 63, "invalid start byte"), "invalid")
    assert failure.kind == "unsupported" and "no kernel for node \ufffd" in failure.message


def test_a_cast_of_its_own_that_onnxruntime_refuses_is_a_kernel_that_it_lacks() -> None:
    message = (
        "[ONNXRuntimeError] : 1 : FAIL : Type Error: Type (tensor(float)) of output arg (InsertedPrecisionFreeCast_y) of node ()"
    )
    assert _onnxruntime_failure(RuntimeError(message), "invalid").kind == "unsupported"
