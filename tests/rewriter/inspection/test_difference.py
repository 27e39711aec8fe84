"""The differences between two models."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.inspection.difference import differences

pytestmark = pytest.mark.quick

BEFORE = "g (float[1,4] x) => (float[1,4] y) <float[4] w = {1, 2, 3, 4}> { [a] t = Add(x, w) [s] u = Softmax<axis = 1>(t) [r] y = Relu(u) }"


def between(folder: Path, before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    paths = [str(folder / name) for name in ("a.onnx", "b.onnx")]
    for path, proto in zip(paths, (before, after), strict=True):
        onnx.save(proto, path)
    return [str(one) for one in differences(*paths)]


def test_equal_models_have_none(tmp_path: Path) -> None:
    assert between(tmp_path, model(BEFORE), model(BEFORE)) == []


def test_all_that_is_different(tmp_path: Path) -> None:
    after = BEFORE.replace("[r] y = Relu(u)", "[n] y = Neg(u)").replace("axis = 1", "axis = 0").replace("float[4] w", "float[4] v")
    after = after.replace("Add(x, w)", "Mul(x, v)").replace("float[1,4] x", "float[N,4] x")
    assert between(tmp_path, model(BEFORE), model(after, 17)) == [
        "changed: opset 'ai.onnx': 18 → 17",
        "changed: input 'x': float[1,4] → float[N,4]",
        "changed: Add 'a': Add → Mul; inputs x, w → x, v",
        "changed: Softmax 's': attributes axis",
        "removed: Relu 'r'",
        "added: Neg 'n'",
        "removed: initializer 'w'",
        "added: initializer 'v'",
    ]
