"""Asks the installed onnxruntime how many channels its kernels for this processor take together."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from .loadable import can_be_asked


class _ChannelBlock(NamedTuple):
    """The question, which a child answers by the shape that one node gives to a few channels."""

    def answer(self) -> int:
        import onnxruntime

        value = helper.make_tensor_value_info
        node = helper.make_node("ReorderInput", ["x"], ["y"], domain="com.microsoft.nchwc")
        x, y = value("x", TensorProto.FLOAT, [1, 4, 1, 1]), value("y", TensorProto.FLOAT, None)
        imports = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft.nchwc", 1)]
        model = helper.make_model(helper.make_graph([node], "blocks", [x], [y]), opset_imports=imports, ir_version=7)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return np.asarray(session.run(None, {"x": np.ones((1, 4, 1, 1), np.float32)})[0]).shape[1]


def block_of_processor() -> int | None:
    """The number of channels in a block of com.microsoft.nchwc; None where onnxruntime has no such blocks here, or is missing."""
    return _asked() if can_be_asked() else None


@cache
def _asked() -> int | None:
    from .messages import Failure
    from .model_client import lent_worker  # with all that runs models

    with lent_worker() as worker:
        found = worker.ask(_ChannelBlock())
    return None if isinstance(found, Failure) else found
