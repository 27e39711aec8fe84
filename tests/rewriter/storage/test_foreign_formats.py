"""Files of other kinds are named as what they are; what is a model, or nothing known, is not."""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from helpers import model

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.storage import read
from split_rewrite.rewriter.storage.foreign_formats import foreign_format
from split_rewrite.rewriter.storage.source_file import model_file

pytestmark = pytest.mark.quick


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in names:
            file.writestr(name, "content")
    return buffer.getvalue()


def array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


def tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        file.addfile(tarfile.TarInfo("model.onnx"))
    return buffer.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4)


PLAIN = "is text, not an ONNX model; it may say what went wrong when the model was downloaded or exported"
KNOWN = {
    "a Git LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    "a checkpoint": (archive("net/data.pkl", "net/data/0"), "is a PyTorch file (.pt, .pth)"),
    "a torch.export archive": (archive("net/archive_format", "net/models/model.json"), "is a PyTorch export archive (.pt2)"),
    "a Keras file": (archive("metadata.json", "config.json"), "is a Keras file"),
    "arrays": (archive("x.npy"), "is an archive of NumPy arrays"),
    "a packed model": (archive("zoo/net.onnx"), "is a zip archive with an ONNX model in it; unpack it first"),
    "another zip archive": (archive("readme.txt"), "is a zip archive, not an ONNX model"),
    "a damaged zip archive": (b"PK\x03\x04\x00\x00\x08\x08\x00\x00", "is a zip archive, not an ONNX model"),
    "gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "is compressed with gzip; unpack it first"),
    "tar": (tar(), "is a tar archive; unpack it first"),
    "the ORT format": (b"\x18\x00\x00\x00ORTM\x00\x00\x00\x00", "is in the ORT format of onnxruntime"),
    "TensorFlow Lite": (b"\x1c\x00\x00\x00TFL3\x14\x00 \x00", "is a TensorFlow Lite model; convert it with 'python -m tf2onnx"),
    "safetensors": (safetensors(), "is a safetensors file, which holds weights and no graph"),
    "a pickle": (pickle.dumps({"weights": [1.0, 2.0]}), "is a Python pickle"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
    "an array": (array(), "is a NumPy array"),
    "an error page": (b"\n<!DOCTYPE html>\n<html><title>404</title></html>", "is an HTML page, such as the error or login page"),
    "a page in small letters": (b"<html><head><title>Sign in</title>", "is an HTML page"),
    "OpenVINO's IR": (b'<?xml version="1.0"?>\n<net name="m" version="11">', "is an XML file, such as the IR of OpenVINO"),
    "onnx's text format": (b"<ir_version: 8>\ng (float x) => (float y) { y = Relu(x) }", "parse it with onnx.parser"),
    "a sentence": (b"hello world", PLAIN),
    "words of others": (b"\xef\xbb\xbf" + "nicht gefunden: größer als erlaubt, 見つかりません\r\n\t".encode() * 90, PLAIN),
    "a character at the end of what is read": (b"a" * 4095 + "ö".encode() + b"\0", PLAIN),
    "tags of no known kind": (b"<error>no such key</error>", PLAIN),
    "onnx's text format without a version": (
        b'<opset_import: ["" : 8]>\ng (float x) => (float y) { y = Relu(x) }',
        "parse it with",
    ),
    "JSON": (b'{"irVersion": "8", "graph": {}}', "load it with onnx.load(format='json')"),
}


def test_a_model_is_of_no_other_kind(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model("g (float[4] x) => (float[4] y) {y = Relu(x)}", 13).SerializeToString())
    assert foreign_format(model_file(path)) is None


@pytest.mark.parametrize("content", [b"\x12", b"\x80", b"\x12\x08producer", b"a\0b" * 200, bytes(600)])
def test_what_is_not_known_gets_no_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert foreign_format(model_file(path)) is None


@pytest.mark.parametrize(("content", "message"), KNOWN.values(), ids=KNOWN)
def test_a_file_of_another_kind_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(InvalidModelError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {message}") or (
        str(caught.value).startswith(f"{path}: is ") and message in str(caught.value)
    )
