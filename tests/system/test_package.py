"""The package `split_rewrite`: the names under which users import, and what becomes of public objects in other processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

import split_rewrite
from split_rewrite import rewriter

pytestmark = pytest.mark.quick


def test_the_package_offers_what_its_rewriter_does() -> None:
    assert split_rewrite.__all__ == [*rewriter.__all__, "__version__"]
    for name in rewriter.__all__:
        assert getattr(split_rewrite, name) is getattr(rewriter, name)
    assert {*split_rewrite.__all__, "rewriter"} <= {*dir(split_rewrite)}
    assert set(rewriter.__all__) <= {*dir(rewriter)}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'convert'"):
        _ = split_rewrite.convert


def test_importing_the_package_does_not_import_onnx() -> None:
    code = "import sys, split_rewrite; split_rewrite.__version__; dir(split_rewrite); sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_package_is_the_program() -> None:
    run = subprocess.run([sys.executable, "-m", "split_rewrite", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"split-rewrite {split_rewrite.__version__}")
