"""Any child process: its limits on time and memory, the time that it gets to clean up, and what is left of it."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import sys
import time
from pathlib import Path

import helpers
import pytest

from split_rewrite.rewriter.process.child import Child, Crashed, Pool, close_children, import_path

SERVES = f"""
{helpers.IMPORT_AS_HERE}
import os, signal, subprocess, time
from split_rewrite.rewriter.process import serving
def answer(request):
    word = bytes(request).decode()
    if word == "spin":
        while True: pass
    if word == "much":
        return bytes(1 << 27)
    if word == "wrong":
        raise ValueError(word)
    if word == "child":
        return str(subprocess.Popen(["sleep", "60"]).pid).encode()
    return word.encode()
"""
SERVE = SERVES + "serving.serve(answer)"
BY_PROCESSOR_TIME = SERVES + "serving.serve(answer, by_processor_time=True, watches_parent=False)"
TIDY = SERVES + "signal.signal(signal.SIGTERM, lambda *_: (os.unlink({path!r}), sys.exit(143)))\nserving.serve(answer)"


@pytest.mark.parametrize("program", [SERVE, BY_PROCESSOR_TIME], ids=["by-elapsed-time", "by-processor-time"])
def test_time_is_limited(program: str) -> None:
    child = Child(program)
    with pytest.raises(Crashed, match=r"^time limit of 1 s$") as caught:
        child.ask(b"spin", 1)
    assert caught.value.is_timeout
    child.close()


def test_the_limit_on_time_is_lifted_after_the_answer() -> None:
    child = Child(SERVE)
    child.ask(b"a", 0.1)
    time.sleep(0.3)
    assert child.ask(b"b", 0.1) == b"b"
    child.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory")
def test_memory_is_limited_for_each_request() -> None:
    child = Child(SERVE)
    assert len(child.ask(b"much")) == 1 << 27
    with pytest.raises(Crashed, match=r"^out of memory$"):
        child.ask(b"much", 60, 1 << 26)
    child.close()


def test_a_request_that_cannot_be_answered_is_not_waited_for() -> None:
    child = Child(SERVE)
    with pytest.raises(Crashed, match=r"^no answer$") as caught:
        child.ask(b"wrong")
    assert caught.value.status == 1
    child.close()


@pytest.mark.skipif(os.name == "nt", reason="processes are told to end by signals")
class TestGrace:
    def test_time_to_clean_up(self, tmp_path: Path) -> None:
        path = tmp_path / "temporary"
        path.touch()
        child = Child(TIDY.format(path=str(path)), grace=5)
        with pytest.raises(Crashed) as caught:
            child.ask(b"spin", 0.2)
        assert (caught.value.is_timeout, caught.value.status, path.exists()) == (True, 128 + signal.SIGTERM, False)
        child.close()

    def test_what_it_started_ends_with_it(self) -> None:
        child = Child(SERVE, grace=5)
        pid = int(child.ask(b"child"))
        child.close()
        state = Path(f"/proc/{pid}/stat")
        for _ in range(100):
            if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
                return
            time.sleep(0.02)
        raise AssertionError(f"process {pid} is still there")


class TestPool:
    def test_threads_share_children(self) -> None:
        pool = Pool(lambda: Child(SERVE), most_idle=2)

        def ask(number: int) -> bytes:
            with pool.lent() as child:
                return bytes(child.ask(str(number).encode()))

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            assert list(threads.map(ask, range(20))) == [str(number).encode() for number in range(20)]
        assert 0 < len(pool._idle) <= 2
        pool.close()
        with pool.lent() as child:
            pass
        assert not child.is_open

    def test_a_closed_child_is_not_lent_again(self) -> None:
        pool = Pool(lambda: Child(SERVE), most_idle=2)
        pool.prepare()
        close_children()
        with pool.lent() as child:
            assert child.ask(b"a") == b"a"
        pool.close()


def test_a_child_that_is_asked_nothing_ends() -> None:
    program = (
        f"import sys; sys.path[:] = {import_path()!r}; from split_rewrite.rewriter.process import serving; "
        "serving.serve(bytes, idle_seconds=0.2)"
    )
    kept = Child(program)
    assert kept.ask(b"here") == b"here"
    assert kept._process.wait(20) == 0
    kept.close()
