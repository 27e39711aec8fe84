"""The runtimes to ask, by the choice of the user and by what is installed."""

from __future__ import annotations

import sys

import pytest

from split_rewrite.rewriter.errors import ArgumentError
from split_rewrite.rewriter.execution.engines import installed, is_installed, other_engine


def test_both_are_installed() -> None:
    assert installed("auto") == installed("both") == ["onnxruntime", "onnx.reference"]
    assert installed("reference") == ["onnx.reference"]
    assert (other_engine("onnxruntime"), other_engine("onnx.reference")) == ("onnx.reference", "onnxruntime")


def test_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert not is_installed("onnxruntime")
    assert installed("auto") == ["onnx.reference"]
    assert other_engine("onnx.reference") is None
    for runtime in ("onnxruntime", "both"):
        with pytest.raises(ArgumentError, match=f"--runtime {runtime}: onnxruntime is not installed"):
            installed(runtime)
