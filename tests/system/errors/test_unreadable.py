"""Inputs that cannot be read: the whole message, as docs/errors.md lists it, and exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from documentation import unseen
from failures import (
    Row,
    a_pipe_that_ends_at_once,
    a_skeleton_is_too_big,
    an_endless_pipe,
    an_old_ml_dtypes,
    another_writes_the_input,
    assert_fails,
    conversion_ends_with,
    fails,
    module,
    no_printer,
    nobody_may_open,
    prepare,
    scanned,
    the_disk_is_broken,
    the_file_ends_early,
    the_file_is_gone,
)
from library_failures import LIBRARY

from split_rewrite.rewriter.storage.payload import MARK

UNREADABLE: dict[str, Row] = {
    "missing": Row("nosuch.onnx o.onnx", "nosuch.onnx: there is no such file"),
    "link-to-itself": Row("loop.onnx o.onnx", "loop.onnx: cannot be read: Too many levels of symbolic links"),
    "nothing-at-a-uri": Row(
        "s3://zoo/m.onnx new/",
        "s3://zoo/m.onnx: there is no such file, folder or bucket",
        module("fsspec.core", url_to_fs=fails(FileNotFoundError("zoo"))),
    ),
    "nobody-at-a-uri": Row(
        "s3://zoo/m.onnx new/",
        "s3://zoo/m.onnx: cannot be accessed: refused by all",
        module("fsspec.core", url_to_fs=fails(RuntimeError("refused\nby all"))),
    ),
    "unprintable": Row("--text m.onnx", "onnx cannot print the model as text: no", no_printer),
    "device": Row("/dev/null o.onnx", "/dev/null: is not a regular file"),
    "pipe-that-nobody-may-open": Row("fifo o.onnx", "fifo: cannot be opened: Permission denied", nobody_may_open),
    "pipe-without-a-model": Row("writerless o.onnx", "writerless: is empty", a_pipe_that_ends_at_once),
    "pipe-without-an-end": Row(
        "writerless o.onnx", "writerless: has more than 2 GiB, too much for a pipe; name the file instead", an_endless_pipe
    ),
    "not-allowed": Row("m.onnx o.onnx", "m.onnx: cannot be opened: Permission denied", nobody_may_open),
    "broken-disk": Row("m.onnx o.onnx", "m.onnx: cannot be read: Input/output error", the_disk_is_broken),
    "empty": Row("empty.onnx o.onnx", "empty.onnx: is empty"),
    "half": Row(
        "half.onnx o.onnx",
        "half.onnx: is corrupt or not an ONNX model: the file ends inside the field at byte …; perhaps its download or copy is incomplete",
    ),
    "beyond-the-end-of-its-graph": Row(
        "overlong.onnx o.onnx",
        "overlong.onnx: is corrupt or not an ONNX model: the field at byte … reaches beyond the end of its message at byte …",
    ),
    "cut-inside-a-header": Row(
        "header.onnx o.onnx",
        "header.onnx: is corrupt or not an ONNX model: the file ends inside the field at byte …; perhaps its download or copy is incomplete",
    ),
    "ends-while-it-is-read": Row(
        "m.onnx o.onnx", "m.onnx: is corrupt or not an ONNX model: the file ends at byte 0, … bytes early", the_file_ends_early
    ),
    "emptied-while-it-is-read": Row(
        "m.onnx o.onnx", "m.onnx: changed on disk while it was being converted; try again", the_file_is_gone
    ),
    "wire-type": Row(
        "group.onnx o.onnx", "group.onnx: is corrupt or not an ONNX model: wire type 3 at byte … does not occur in ONNX", scanned
    ),
    "field-0": Row(
        "zero.onnx o.onnx", "zero.onnx: is corrupt or not an ONNX model: the field at byte 0 has the number 0, which is not allowed"
    ),
    "endless-number": Row("varint.onnx o.onnx", "varint.onnx: is corrupt or not an ONNX model: a number has more than ten bytes"),
    "nested": Row("nested.onnx o.onnx", "nested.onnx: is corrupt or not an ONNX model: messages are nested more than 100 deep"),
    "another-protobuf": Row("other.onnx o.onnx", "other.onnx: has no graph, so it is not an ONNX model"),
    "text": Row(
        "text.onnx o.onnx",
        "text.onnx: is text, not an ONNX model; it may say what went wrong when the model was downloaded or exported",
    ),
    "git-lfs": Row(
        "pointer.onnx o.onnx", "pointer.onnx: is a Git LFS pointer, not the model; fetch the file itself with 'git lfs pull'"
    ),
    "zip": Row("archive.onnx o.onnx", "archive.onnx: is a zip archive, not an ONNX model; if the model is in it, unpack it first"),
    "changed-meanwhile": Row(
        "weights.onnx o.onnx", "weights.onnx: changed on disk while it was being converted; try again", another_writes_the_input
    ),
    "external-data-missing": Row(
        "nowhere.onnx o.onnx", "tensor 'w': data file 'nowhere.bin': there is no such file in the folder of the model"
    ),
    "data-outside": Row("outside.onnx o.onnx", "tensor 'w': data file '../data.bin': leaves the model's folder"),
    "data-is-a-link": Row(
        "linked.onnx o.onnx", "tensor 'w': data file 'link': link is a symbolic link; put the file itself into the model's folder"
    ),
    "data-without-a-place": Row("placeless.onnx o.onnx", "tensor 's': its external data has no location"),
    "data-at-no-text": Row("no_place.onnx o.onnx", "tensor 'w': its external data has an entry that is not UTF-8"),
    "data-placed-twice": Row("placed_twice.onnx o.onnx", "tensor 'w': its external data has two entries 'location'"),
    "data-at-no-number": Row("no_offset.onnx o.onnx", "tensor 'w': the offset of its external data is 'x', not a byte count"),
    "data-beyond-the-end": Row("beyond.onnx o.onnx", "tensor 'w': needs bytes 8 to 24 of data file 'data.bin', which has 16"),
    "data-of-another-length": Row("misfit.onnx o.onnx", "tensor 'w': has 8 bytes of data, but its type and shape [4] take 16"),
    "data-of-no-type": Row("typeless.onnx o.onnx", "tensor 'w': element type 0 cannot be stored as bytes"),
    "too-few-bytes": Row("short.onnx o.onnx", "tensor 's': has 12 bytes of data, but its type and shape [2] take 16"),
    "too-many-bytes-to-split-off": Row(
        "long.onnx o.onnx --external-data split:0", "tensor 'w': has 20 bytes of data, but its type and shape [4] take 16"
    ),
    "too-many-bytes-of-a-constant": Row(
        "longconstant.onnx o.onnx --external-data split:0", "tensor 'w': its data does not fit its type and shape [4]"
    ),
    "shape-that-no-array-has": Row("shape.onnx o.onnx -t 2", "tensor 's': its shape [0, 4611686018427387904, 4]: …"),
    "too-many-packed-integers": Row(
        "packed.onnx o.onnx", "tensor 'w': has 8001 packed integers, its type and shape take 2000", scanned
    ),
    "endless-packed-integer": Row("endless.onnx o.onnx", "tensor 'w': has a packed integer of more than ten bytes", scanned),
    "data-in-another-field": Row(
        "field.onnx o.onnx", "tensor 'w': has its data in a field that is not for its element type", scanned
    ),
    "number-beyond-its-bits": Row(
        "wide.onnx o.onnx -t 13", "tensor 'w': has the number 256 in its data, which does not fit 8 bits"
    ),
    "two-payloads": Row("two_payloads.onnx o.onnx", "tensor 'w': has two payloads", scanned),
    "three-strings-of-two": Row("three_strings.onnx o.onnx -t 10", "tensor 'v': has 3 strings for shape [2]"),
    "string-of-no-text": Row("no_text.onnx o.onnx -t 10", "tensor 'v': string b'\\xff' is not UTF-8"),
    "segment": Row("segment.onnx o.onnx", "tensor 's': is one segment of a tensor, which is not supported"),
    "reserved-location": Row(
        "reserved.onnx o.onnx", f"reserved.onnx: has external data at the location {MARK!r}, which is reserved"
    ),
    "skeleton-too-big": Row("m.onnx o.onnx", "m.onnx: has more than 2 GiB apart from its tensors", a_skeleton_is_too_big),
    "old-ml_dtypes": Row(
        "bfloat16.onnx o.onnx -t 2", "tensor 's': element type bfloat16 needs a newer ml_dtypes", an_old_ml_dtypes
    ),
    "out-of-memory": Row("m.onnx o.onnx", "out of memory", conversion_ends_with(MemoryError())),
    "nested-too-deeply": Row("m.onnx o.onnx", "the model is nested too deeply", conversion_ends_with(RecursionError())),
}


@pytest.mark.parametrize("row", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable(folder: Path, monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    prepare(folder, row.arguments)
    row.circumstance(monkeypatch)
    assert_fails(folder, row.arguments, 2, row.message)


def test_no_message_is_missing() -> None:
    messages = [*(row.message for row in UNREADABLE.values()), *(message for _, message in LIBRARY.values())]
    assert unseen("The input cannot be read (status 2)", messages) == set()
