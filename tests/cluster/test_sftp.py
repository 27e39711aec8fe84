"""Models on a server that speaks SFTP. Needs the extra `cluster`; run by name: pytest tests/cluster."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path

import asyncssh
import onnx
import pytest
from helpers import command_line, model

GOOD = "g (float[6] x) => (float[2] a, float[4] b) { s = Constant<value_ints: ints = [2, 4]> () a, b = Split<axis = 0>(x, s) }"


class _Server(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return False  # anybody may come in


@pytest.fixture
def address(tmp_path, monkeypatch):
    """sftp://… of a server whose files are those of this machine."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def listen() -> asyncssh.SSHAcceptor:
        key = asyncssh.generate_private_key("ssh-ed25519")
        return await asyncssh.listen("127.0.0.1", 0, server_factory=_Server, server_host_keys=[key], sftp_factory=True)

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(30)
    settings = json.dumps({"known_hosts": None, "username": "anybody", "client_keys": None})
    monkeypatch.setenv("FSSPEC_SFTP", settings)
    import fsspec.config

    fsspec.config.set_conf_env(fsspec.config.conf)
    monkeypatch.chdir(tmp_path)
    yield f"sftp://127.0.0.1:{server.get_port()}"
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def test_there_and_back(address, tmp_path):
    Path("in").mkdir()
    onnx.save(model(GOOD), "in/good.onnx")
    ended = command_line("-t", "13", f"{address}{tmp_path}/in", f"{address}{tmp_path}/out/")
    assert ended.status == 0, ended.err
    assert os.listdir("out/in") == ["good.onnx"]
    assert onnx.load("out/in/good.onnx").opset_import[0].version == 13
    ended = command_line("-t", "12", f"{address}{tmp_path}/in", f"{address}{tmp_path}/out/")
    assert ended.status == 0, ended.err
    assert onnx.load("out/in/good.onnx").opset_import[0].version == 12, "an older result is replaced"
