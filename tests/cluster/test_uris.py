"""Models at URIs, on a server that speaks S3. Needs the extra `remote` with s3fs, and moto; run by name: pytest tests/cluster."""

from __future__ import annotations

import os
from pathlib import Path

import fsspec
import numpy as np
import onnx
import pytest
from helpers import command_line, model
from moto.server import ThreadedMotoServer

GOOD = "g (float[6] x) => (float[2] a, float[4] b) { s = Constant<value_ints: ints = [2, 4]> () a, b = Split<axis = 0>(x, s) }"


@pytest.fixture(scope="module")
def store():
    """The file system of a server with the bucket "zoo"."""
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = dict(os.environ)
    os.environ.update(settings)
    system = fsspec.filesystem("s3")
    system.mkdir("zoo")
    yield system
    os.environ.clear()
    os.environ.update(before)
    server.stop()


@pytest.fixture
def models(store, tmp_path, monkeypatch):
    """Two models in the bucket, one with external data, and one file that is none."""
    monkeypatch.chdir(tmp_path)
    onnx.save(model(GOOD), "good.onnx")
    proto = model("g (float[2000] x) => (float[2000] y) { y = Add(x, w) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2000, np.float32), "w"))
    onnx.save(proto, "heavy.onnx", save_as_external_data=True, location="weights.bin")
    store.put_file("good.onnx", "zoo/in/good.onnx")
    store.put_file("heavy.onnx", "zoo/in/deep/heavy.onnx")
    store.put_file("weights.bin", "zoo/in/deep/weights.bin")
    store.pipe_file("zoo/in/bad.onnx", b"no model")
    yield store
    store.invalidate_cache()
    store.rm("zoo/in", recursive=True)
    if store.exists("zoo/out"):
        store.rm("zoo/out", recursive=True)


def test_what_is_not_there_is_one_line(models):
    ended = command_line("-t", "13", "s3://zoo/no.onnx", "out/")
    assert (ended.status, ended.err) == (2, "error: s3://zoo/no.onnx: there is no such file, folder or bucket\n")
    ended = command_line("-t", "13", "good.onnx", "s3://no-such-bucket/out/")
    assert ended.status == 2
    assert (
        ended.err.startswith("error: good.onnx: s3://no-such-bucket/out/good.onnx: there is no such") and ended.err.count("\n") == 1
    )


def test_from_the_server_and_back(models):
    ended = command_line("-t", "13", "s3://zoo/in", "s3://zoo/out/", "--resume", "run.jsonl")
    assert ended.status == 2, ended.err
    (refused,) = ended.err.splitlines()
    assert refused.startswith("error: s3://zoo/in/bad.onnx: ") and "is text, not an ONNX model" in refused
    models.invalidate_cache()
    made = ["zoo/out/in/deep/heavy.onnx", "zoo/out/in/deep/heavy.onnx.data", "zoo/out/in/good.onnx"]
    assert sorted(models.find("zoo/out")) == made, "nothing half written"
    models.get_file(made[0], "heavy13.onnx")
    models.get_file(made[1], "heavy.onnx.data")
    loaded = onnx.load("heavy13.onnx")
    assert loaded.opset_import[0].version == 13
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(loaded.graph.initializer[0]), np.ones(2000, np.float32))
    ended = command_line("-t", "13", "s3://zoo/in", "s3://zoo/out/", "--resume", "run.jsonl")
    assert ["done", "before", "2"] in [line.split() for line in ended.out.splitlines()]


def test_from_the_server_to_the_disk_and_up_again(models):
    assert command_line("-t", "13", "s3://zoo/in/g*.onnx", "here/").status == 0
    assert onnx.load("here/good.onnx").opset_import[0].version == 13
    assert command_line("-t", "14", "here/good.onnx", "s3://zoo/out/one.onnx").status == 0
    models.invalidate_cache()
    assert models.find("zoo/out") == ["zoo/out/one.onnx"]
    assert sorted(os.listdir(Path("here"))) == ["good.onnx"]


def test_a_data_file_that_is_there_is_never_replaced(models):
    convert = ("s3://zoo/in/deep/heavy.onnx", "s3://zoo/out/heavy.onnx")
    models.pipe_file("zoo/out/heavy.onnx.data", b"of another model")
    for target in ("14", "13"):  # the second time the data of the first result is used again
        assert command_line("-t", target, *convert).status == 0
        models.invalidate_cache()
        made = ["zoo/out/heavy.onnx", "zoo/out/heavy.onnx.1.data", "zoo/out/heavy.onnx.data"]
        assert sorted(models.find("zoo/out")) == made
        assert models.cat_file("zoo/out/heavy.onnx.data") == b"of another model"
    models.get("zoo/out/", "here/", recursive=True)
    loaded = onnx.load("here/heavy.onnx")
    assert loaded.opset_import[0].version == 13
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(loaded.graph.initializer[0]), np.ones(2000, np.float32))
