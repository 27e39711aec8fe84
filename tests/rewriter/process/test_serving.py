"""Messages between a process and its child, and the limits that the child sets itself."""

from __future__ import annotations

import os
import subprocess
import sys
from io import FileIO

import pytest

from split_rewrite.rewriter.process import serving


def pipe() -> tuple[FileIO, FileIO]:
    """Both ends of a pipe, the reading one first."""
    reading, writing = os.pipe()
    return FileIO(reading, "rb"), FileIO(writing, "wb")


@pytest.mark.parametrize("parts", [(), (b"",), (b"abc",), (b"a", b"", b"bc" * 1000)])
def test_a_message_arrives_whole(parts: tuple[bytes, ...]) -> None:
    reading, writing = pipe()
    serving.send(writing, *parts)
    assert serving.receive(reading) == b"".join(parts)


@pytest.mark.parametrize("sent", [b"", b"\x05\0\0", b"\x05\0\0\0\0\0\0\0ab"])
def test_a_message_that_breaks_off_is_an_end(sent: bytes) -> None:
    reading, writing = pipe()
    writing.write(sent)
    writing.close()
    with pytest.raises(EOFError):
        serving.receive(reading)


def test_a_request_begins_with_its_limits() -> None:
    reading, writing = pipe()
    serving.send_request(writing, b"work", 1.5, 1 << 30)
    request = serving.receive(reading)
    assert [int.from_bytes(request[start : start + 8], "little") for start in (0, 8)] == [1500, 1 << 30]
    assert request[16:] == b"work"
    serving.send_request(writing, b"", None, serving.NO_LIMIT)
    assert int.from_bytes(serving.receive(reading)[:8], "little") == serving.NO_LIMIT


@pytest.mark.parametrize(
    ("work", "status"), [("return bytes(request)", 0), ("raise ValueError", 1), ("raise MemoryError", serving.OUT_OF_MEMORY)]
)
def test_a_child_answers_and_ends_with_its_pipe(work: str, status: int) -> None:
    program = f"from split_rewrite.rewriter.process.serving import serve\ndef answer(request):\n    {work}\nserve(answer)"
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    assert child.stdout.read(len(serving.READY)) == serving.READY
    serving.send_request(FileIO(child.stdin.fileno(), "wb", closefd=False), b"hello", 30, serving.NO_LIMIT)
    if status == 0:
        assert serving.receive(FileIO(child.stdout.fileno(), "rb", closefd=False)) == b"hello"
        child.stdin.close()
    assert child.wait(60) == status
    child.stdin.close()
    child.stdout.close()
