"""Recognizes files that are not binary ONNX models, so that the message says what they are, and what to do instead."""

from __future__ import annotations

import codecs

from .source_file import SourceFile

_HEAD = 64
"""The number of bytes at the beginning of a file that are looked at."""
_PAGE = 4096
"""The number of bytes at the beginning of a file that have to be text for it to count as text."""
_MOST_UNPRINTABLE = 0.02
"""The share of characters of a text that may be neither printable nor white space."""
_DIRECTORY = 1 << 16
"""The number of bytes at the end of a zip archive that are searched for the names of its entries."""
_TAR, _TAR_AT = b"ustar", 257
"""The mark of a tar archive, and the place where it is."""
_TEXT = "is text, not a binary ONNX model"
_PLAIN = "is text, not an ONNX model; it may say what went wrong when the model was downloaded or exported"
_EXPORT = "load it in the framework that wrote it, and export the model to ONNX"
_BEGINNINGS = {
    b"version https://git-lfs": "is a Git LFS pointer, not the model; fetch the file itself with 'git lfs pull'",
    b"\x89HDF": f"is an HDF5 file, such as a Keras model, not an ONNX model; {_EXPORT}",
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"BZh": "is compressed with bzip2; unpack it first",
    b"\xfd7zXZ": "is compressed with xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; unpack it first",
    b"\x93NUMPY": "is a NumPy array, not an ONNX model",
    b"GGUF": "is a GGUF file of llama.cpp, which holds weights and no graph; export the original model to ONNX",
    b"ftrt": "is a TensorRT engine, which cannot be converted back; use the ONNX model it was built from",
    b"ir_version": f"{_TEXT}; load it with onnx.load(format='textproto') and save the result",
    b"{": f"{_TEXT}; load it with onnx.load(format='json') and save the result",
}
"""The first bytes of files of other kinds, and what the message says about each."""
_PAGES = (b"<!doctype html", b"<html", b"<head", b"<body")
_IN_ARCHIVES = (
    (b"archive_format", f"is a PyTorch export archive (.pt2), not an ONNX model; {_EXPORT}"),
    (b"models/model.json", f"is a PyTorch export archive (.pt2), not an ONNX model; {_EXPORT}"),
    (b"serialized_exported_program.json", f"is a PyTorch export archive (.pt2), not an ONNX model; {_EXPORT}"),
    (b"data.pkl", f"is a PyTorch file (.pt, .pth), not an ONNX model; {_EXPORT}"),
    (b".onnx", "is a zip archive with an ONNX model in it; unpack it first"),
    (b".npy", "is an archive of NumPy arrays, not an ONNX model"),
    (b"config.json", f"is a Keras file, not an ONNX model; {_EXPORT}"),
)
"""Entries by which zip archives are told apart, the most telling first."""


def foreign_format(file: SourceFile) -> str | None:
    """What the file is and what to do with it, if it is of a known kind other than a binary ONNX model; else None."""
    head = file.read(0, min(_HEAD, file.size))
    if head.startswith(b"PK\x03\x04"):
        return _archive(file)
    if file.read(_TAR_AT, min(len(_TAR), max(0, file.size - _TAR_AT))) == _TAR:
        return "is a tar archive; unpack it first"
    if found := _by_signature(head):
        return found
    beginning = file.read(0, min(_PAGE, file.size)) if _is_plain(head) else head
    return _text(beginning.lstrip(b"\xef\xbb\xbf \t\r\n"))


def _archive(file: SourceFile) -> str:
    start = max(0, file.size - _DIRECTORY)
    directory = file.read(start, file.size - start)
    kinds = (text for entry, text in _IN_ARCHIVES if entry in directory)
    return next(kinds, "is a zip archive, not an ONNX model; if the model is in it, unpack it first")


def _by_signature(head: bytes) -> str | None:
    if head[4:8] == b"ORTM":
        return "is in the ORT format of onnxruntime, which cannot be converted; use the ONNX model it was made from"
    if head[4:8] == b"TFL3":
        return "is a TensorFlow Lite model; convert it with 'python -m tf2onnx.convert --tflite FILE --output model.onnx'"
    if head[8:10] == b'{"' and not any(head[5:8]):
        return "is a safetensors file, which holds weights and no graph; export the model to ONNX with the framework that uses them"
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return f"is a Python pickle, such as a checkpoint of PyTorch or scikit-learn, not an ONNX model; {_EXPORT}"
    return None


def _text(head: bytes) -> str | None:
    """What is known about a file that begins with the text `head`."""
    if head[:20].lower().startswith(_PAGES):
        return "is an HTML page, such as the error or login page of a website, not the model; download the file itself"
    if head.startswith(b"<?xml"):
        return "is an XML file, such as the IR of OpenVINO, not an ONNX model; use the ONNX model it was made from"
    if head.startswith(b"<") and (b"ir_version" in head or b"=>" in head):
        return f"{_TEXT}; parse it with onnx.parser and save the result"
    known = next((text for beginning, text in _BEGINNINGS.items() if head.startswith(beginning)), None)
    return known or (_PLAIN if head and _is_plain(head) else None)


def _is_plain(head: bytes) -> bool:
    """Whether a file that begins with `head` is text: UTF-8 without NUL, of which nearly all is printable."""
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)  # its last character may be cut
    except UnicodeDecodeError:
        return False
    odd = sum(not (character.isprintable() or character.isspace()) for character in text)
    return "\0" not in text and odd <= _MOST_UNPRINTABLE * len(text)
