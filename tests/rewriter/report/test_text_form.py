"""A model as text, with digests in place of large tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.report.text_form import text_form
from split_rewrite.rewriter.storage import read

pytestmark = pytest.mark.quick


def shown(folder: Path, weights: np.ndarray, **more: object) -> str:
    proto = model(
        "g (float[100] x) => (float[100] y) <float[1] small = {7}, float[100] w = {1}> { h = Add(x, w) y = Add(h, small) }"
    )
    proto.graph.initializer[1].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(proto, folder / "m.onnx", **more)
    return text_form(read(folder / "m.onnx"))


def test_small_tensors_are_written_out_and_large_ones_are_a_line(tmp_path: Path) -> None:
    *_, last = shown(tmp_path, np.ones(100, np.float32)).splitlines()
    assert "w" in last and "small" not in last
    assert max(map(len, last.split())) >= 16, "a digest"


def test_the_digest_is_that_of_the_elements_wherever_they_are(tmp_path: Path) -> None:
    ones, twos = np.ones(100, np.float32), np.full(100, 2, np.float32)
    inside = shown(tmp_path, ones)
    outside = shown(tmp_path, ones, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert inside.splitlines()[-1] == outside.splitlines()[-1]
    assert shown(tmp_path, twos).splitlines()[-1] != inside.splitlines()[-1]
