"""Errors of the library that the command line does not meet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from documentation import as_regex
from failures import prepare, scanned
from library_failures import LIBRARY

from split_rewrite.rewriter import SplitRewriteError
from split_rewrite.rewriter.storage import skeleton


@pytest.mark.parametrize(("call", "message"), LIBRARY.values(), ids=LIBRARY)
def test_of_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[], object], message: str) -> None:
    prepare(folder, "weights.onnx folder")
    scanned(monkeypatch)
    monkeypatch.setattr(skeleton, "LARGEST_PROTOBUF", 20_000)
    with pytest.raises(SplitRewriteError) as caught:
        call()
    assert as_regex(message).fullmatch(str(caught.value)), str(caught.value)
