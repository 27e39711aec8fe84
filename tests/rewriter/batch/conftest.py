"""A folder of models: one is converted, one refused, one is no model."""

from __future__ import annotations

import onnx
import pytest
from helpers import model
from zoo import GOOD, REFUSED


@pytest.fixture
def zoo(tmp_path):
    folder = tmp_path / "zoo"
    folder.mkdir()
    onnx.save(model(GOOD), folder / "good.onnx")
    onnx.save(model(REFUSED), folder / "refused.onnx")
    (folder / "garbage.onnx").write_bytes(b"no model")
    return folder
