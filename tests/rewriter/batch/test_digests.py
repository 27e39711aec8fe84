"""Digests of models, by which a resumed run sees what has changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.batch.digests import model_digest

pytestmark = pytest.mark.quick


def save(folder: Path) -> Path:
    proto = model("g (float[2000] x) => (float[2000] y) <float[2000] w = {1, 2}> { y = Add(x, w) }")
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ones(2000, np.float32), "w"))
    onnx.save(proto, folder / "m.onnx", save_as_external_data=True, location="w.bin")
    return folder / "m.onnx"


def test_a_digest_changes_with_the_model_and_with_its_data(tmp_path: Path) -> None:
    path = save(tmp_path)
    digests = [model_digest(path), model_digest(path)]
    data = bytearray((tmp_path / "w.bin").read_bytes())
    data[0] ^= 1
    (tmp_path / "w.bin").write_bytes(data)
    digests.append(model_digest(path))
    path.write_bytes(path.read_bytes() + b"\x08\x08")
    digests.append(model_digest(path))
    assert digests[0] == digests[1] and len(set(digests)) == 3


def test_what_is_no_file_has_none(tmp_path: Path) -> None:
    assert model_digest(tmp_path) is None and model_digest(tmp_path / "none") is None


def test_what_is_no_model_has_one(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    assert model_digest(tmp_path / "m.onnx") is not None
