"""Models in files, for the tests of reports."""

from __future__ import annotations

from pathlib import Path

import helpers
import onnx
import pages
import pytest


@pytest.fixture
def save(tmp_path: Path):
    def make(text: str, opset: int = 18) -> str:
        path = tmp_path / "in.onnx"
        onnx.save(helpers.model(text, opset), path)
        return str(path)

    return make


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return pages.kinds(tmp_path_factory.mktemp("pages"))
