"""The files with weights, as a report names them."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.storage.data_files import DataFiles

pytestmark = pytest.mark.quick


def test_files_of_the_input_stay() -> None:
    assert str(DataFiles(("a.bin", "b.bin"), 12_000_000, is_new=False)) == "stay in a.bin, b.bin (12 MB)"


def test_a_new_file() -> None:
    assert str(DataFiles(("out.onnx.data",), 1_500, is_new=True)) == "in out.onnx.data (1.5 kB)"
