"""A model that comes through a pipe is copied, and a file is read where it is."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.storage import spool
from split_rewrite.rewriter.storage.spool import SpooledFile, spooled, spooled_stream

pytestmark = [pytest.mark.quick, pytest.mark.skipif(os.name == "nt", reason="named pipes")]


def test_a_file_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"model")
    with spooled(path) as readable:
        assert readable == path


def test_a_pipe_is_copied_and_the_copy_goes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = Thread(target=path.write_bytes, args=(b"model" * 1000,))
    writer.start()
    with spooled(path) as copy:
        writer.join()
        assert isinstance(copy, SpooledFile) and str(copy) == str(path)
        assert Path(copy).read_bytes() == b"model" * 1000
    assert not Path(copy).exists()


def test_more_than_a_protobuf_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "LARGEST_PROTOBUF", 3)
    reader, writer = os.pipe()
    os.write(writer, b"model")
    os.close(writer)
    with (
        pytest.raises(InvalidModelError, match="standard input: has more than 2 GiB, too much for a pipe"),
        spooled_stream(reader, "standard input"),
    ):
        pass
    os.close(reader)
