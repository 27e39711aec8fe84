"""The memory that a model is expected to need."""

from __future__ import annotations

import onnx
from helpers import model
from zoo import GOOD

from split_rewrite.rewriter.batch.memory import memory_need
from split_rewrite.rewriter.batch.task import Request, Task


def test_what_a_model_needs(zoo, tmp_path):
    proto = model(GOOD)
    big = onnx.helper.make_tensor("w", 1, [3 << 20], b"\0" * (12 << 20), raw=True)
    proto.graph.initializer.append(big)
    onnx.save(proto, tmp_path / "big.onnx")
    onnx.save(proto, tmp_path / "external.onnx", save_as_external_data=True)
    small, large, external = (
        memory_need(Task(str(path), "out", ""), Request(13))
        for path in (zoo / "good.onnx", tmp_path / "big.onnx", tmp_path / "external.onnx")
    )
    assert large - small > 24 << 20
    assert abs(external - large) < 1 << 20
    assert memory_need(Task(str(tmp_path / "big.onnx"), "out", ""), Request(13, compare="off")) - small < 1 << 20
