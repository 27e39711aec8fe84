"""Failures to bring about: files, and what stands in the way beside them; and the check of one line of error."""

from __future__ import annotations

import errno
import importlib.util
import io
import os
import re
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

import ml_dtypes
import numpy as np
import onnx
import pytest
from documentation import as_regex
from helpers import command_line, model
from hostile_models import nested_graphs
from onnx import ModelProto, TensorProto
from storage_models import field, runnable, to_external

from split_rewrite.rewriter.batch import inputs
from split_rewrite.rewriter.checks import validity
from split_rewrite.rewriter.conversion import driver
from split_rewrite.rewriter.opsets.transitions import newest_opset
from split_rewrite.rewriter.storage import layout, reading, spool, staging
from split_rewrite.rewriter.storage.payload import MARK
from split_rewrite.rules import split as split_rules

NEWEST = newest_opset()


KNOWN = f"onnx {onnx.__version__} knows 1 to {NEWEST}"


SPLIT = """split_in_three (float[N, 7] x) => (float[N, 3] a, float[N, 3] b, float[N, 1] c) {
    [cut] a, b, c = Split <axis = 1, num_outputs = 3> (x)
}"""


TWO = "two (float[N, 4] x, float[M, 4] z) => (float[N, 4] a, float[M, 4] b) {a = Relu(x) b = Relu(z)}"


LONE = "g (float[4] x) => (float[4] y) {y = Relu(x)}"


MAXIMUM = '<ir_version: 8, opset_import: ["" : 13]> g (int32[N] x, int32[N] w) => (int32[N] y) { y = Max(x, w) }'
"""onnxruntime has no kernel for what this is below opset 8."""


FOREIGN = """<ir_version: 8, opset_import: ["" : 18, "com.example" : 1]>
foreign (float[N, 4] x) => (float[N, 2] a, float[N, 2] b) {
    y = com.example.Mystery (x)
    a, b = Split <axis = 1, num_outputs = 2> (y)
}"""


SIZES = "g (float[4] x) => (float[P] a, float[Q] b) <int64[2] s = {1, 3}> {[cut] a, b = Split(x, s)}"


def bytes_of(text: str, opset: int = 18) -> bytes:
    return model(text, opset).SerializeToString()


def sizes(**fields: object) -> bytes:
    """A Split whose sizes are a tensor of these fields."""
    proto = model(SIZES)
    proto.graph.initializer[0].CopyFrom(TensorProto(**{"name": "s", "data_type": 7, "dims": [2], **fields}))
    return proto.SerializeToString()


def external(*entries: tuple[str, str], data_type: int = TensorProto.FLOAT) -> Callable[[Path], object]:
    """An initializer with these entries of external data, and 16 bytes in data.bin."""
    tensor = TensorProto(name="w", dims=[4], data_type=data_type, data_location=TensorProto.EXTERNAL)
    for key, value in entries:
        tensor.external_data.add(key=key, value=value)

    def make(path: Path) -> None:
        path.with_name("data.bin").write_bytes(bytes(16))
        path.write_bytes(with_initializer(tensor))

    return make


def with_initializer(tensor: TensorProto) -> bytes:
    return edited("g (float[4] x) => (float[4] y) {y = Add(x, w)}", lambda proto: proto.graph.initializer.append(tensor))


def constant(elem_type: str, *payloads: TensorProto) -> bytes:
    """A Constant of 2000 elements whose value is on the wire in so many pieces, which protobuf merges."""
    value = b"".join(field(5, tensor.SerializeToString()) for tensor in payloads)
    node = field(2, b"y") + field(4, b"Constant") + field(5, field(1, b"value") + value + b"\xa0\x01\x04")
    proto = model(f"g () => ({elem_type}[2000] y) {{}}")
    return proto.SerializeToString() + field(7, field(1, node))


def edited(text: str, edit: Callable[[ModelProto], object], opset: int = 18) -> bytes:
    proto = model(text, opset)
    edit(proto)
    return proto.SerializeToString()


def beside(data: str) -> Callable[[Path], object]:
    """A model whose data is in the file `data`."""

    def make(path: Path) -> None:
        proto = runnable()
        path.with_name(data).write_bytes(to_external(proto, data))
        path.write_bytes(proto.SerializeToString())

    return make


def endless_integer() -> bytes:
    """Among the packed integers of an initializer, which protobuf does not see where they stay on disk."""
    head = TensorProto(name="w", data_type=TensorProto.INT32, dims=[8000]).SerializeToString()
    packed = b"\x80" * 10 + b"\x01" + bytes(7999)
    return bytes_of(LONE) + field(7, field(5, head + field(TensorProto.INT32_DATA_FIELD_NUMBER, packed)))


def in_opset_1(**fields: object) -> bytes:
    """A Split of opset 1, whose sizes are an input of floating-point numbers, of these fields."""
    proto = model("g (float[4] x) => (float[P] a, float[Q] b) {a, b = Split<axis = 0>(x, s)}", 1)
    proto.graph.initializer.append(TensorProto(**{"name": "s", "data_type": 1, "dims": [2], **fields}))
    return proto.SerializeToString()


def strings(*values: bytes) -> bytes:
    """A OneHot between these values, of which there should be two."""
    proto = model("g (int64[N] x) => (string[N, 2] y) <int64 d = {2}> {y = OneHot(x, d, v)}", 11)
    proto.graph.initializer.append(TensorProto(name="v", data_type=TensorProto.STRING, dims=[2], string_data=values))
    return proto.SerializeToString()


def linked(path: Path) -> None:
    path.with_name("link").symlink_to("data.bin")
    external(("location", "link"))(path)


def array(value: Any) -> Callable[[Path], object]:
    return lambda path: np.save(path, value)


def cut_archive(path: Path) -> None:
    np.savez(path, x=np.ones((2, 7), np.float32))
    path.write_bytes(path.read_bytes()[:100])


def array_as_archive(path: Path) -> None:
    np.save(path.with_name("array.npy"), np.ones((2, 7), np.float32))
    path.with_name("array.npy").rename(path)


BIG = TensorProto(name="w", data_type=1, dims=[2000], raw_data=bytes(8000))


WHOLE = bytes_of(SPLIT)


FILES: dict[str, bytes | Callable[[Path], object]] = {
    # models
    "m.onnx": WHOLE,
    "two.onnx": bytes_of(TWO),
    "square.onnx": bytes_of("g (float[N, N] x) => (float[N, N] y) {y = Relu(x)}"),
    "sequence.onnx": bytes_of("g (seq(float[N]) x) => (int64 y) {y = SequenceLength(x)}"),
    "lone.onnx": bytes_of(LONE),
    "abs.onnx": bytes_of(LONE.replace("Relu", "Abs")),
    "random.onnx": bytes_of(LONE.replace("Relu", "RandomNormalLike")),
    "words.onnx": bytes_of("g (string[4] x) => (string[4] y) {y = Identity(x)}"),
    "young.onnx": edited(LONE, lambda proto: setattr(proto.opset_import[0], "version", 99)),
    "belied.onnx": bytes_of(
        """agraph (float[9] x) => (float[2] y) <int64[1] size = {3}, int64 last = {-1}>
        { sizes = Tile(size, size) parts = SplitToSequence <axis = 0> (x, sizes) y = SequenceAt(parts, last) }"""
    ),
    "open.onnx": bytes_of(SPLIT.replace("float[N, 3] b, float[N, 1] c", "float[N, K] b, float[N, L] c")),
    "foreign.onnx": bytes_of(FOREIGN),
    "maximum.onnx": bytes_of(MAXIMUM),
    "weights.onnx": runnable().SerializeToString(),
    "beside.onnx": beside("w.bin"),
    # what is no model file
    "folder": Path.mkdir,
    "folder.json": Path.mkdir,
    "fifo": os.mkfifo,
    "null.jsonl": lambda path: path.symlink_to("/dev/null"),
    "other.jsonl": b"no report",
    "pipe.json": os.mkfifo,
    "writerless": os.mkfifo,
    "loop.onnx": lambda path: path.symlink_to(path.name),
    "empty.onnx": b"",
    "text.onnx": b"graph: see the attachment\n",
    "half.onnx": WHOLE[: len(WHOLE) // 2],
    "overlong.onnx": b"\x3a\x04\x0a\x64ab\x42\x02\x10\x0d",
    "header.onnx": WHOLE + b"\x3a",
    "varint.onnx": b"\x08" + b"\xff" * 30,
    "zero.onnx": b"\x02\x01a",
    "group.onnx": WHOLE + b"\x9b\x06\x9c\x06",
    "nested.onnx": nested_graphs(200),
    "other.onnx": field(2, b"producer"),
    "pointer.onnx": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "archive.onnx": b"PK\x03\x04\x00\x00\x08\x08\x00\x00",
    # external data
    "reserved.onnx": external(("location", MARK)),
    "nowhere.onnx": external(("location", "nowhere.bin")),
    "outside.onnx": external(("location", "../data.bin")),
    "linked.onnx": linked,
    "placeless.onnx": sizes(data_location=1, external_data=[onnx.StringStringEntryProto(key="offset", value="0")]),
    "placed_twice.onnx": external(("location", "data.bin"), ("location", "data.bin")),
    "no_place.onnx": with_initializer(
        TensorProto(
            name="w",
            dims=[4],
            data_type=1,
            data_location=1,
            external_data=[onnx.StringStringEntryProto(key="location", value="w.bin")],
        )
    ).replace(b"w.bin", b"\xff.bin"),
    "no_offset.onnx": external(("location", "data.bin"), ("offset", "x")),
    "beyond.onnx": external(("location", "data.bin"), ("offset", "8")),
    "misfit.onnx": external(("location", "data.bin"), ("length", "8")),
    "typeless.onnx": external(("location", "data.bin"), data_type=TensorProto.UNDEFINED),
    # tensors
    "short.onnx": sizes(raw_data=bytes(12)),
    "long.onnx": with_initializer(TensorProto(name="w", data_type=1, dims=[4], raw_data=bytes(20))),
    "longconstant.onnx": constant("float", TensorProto(name="w", data_type=1, dims=[4], raw_data=bytes(20))),
    "shape.onnx": in_opset_1(dims=[0, 2**62, 4]),
    "bfloat16.onnx": in_opset_1(data_type=TensorProto.BFLOAT16, raw_data=bytes(4)),
    "packed.onnx": constant("int32", TensorProto(name="w", data_type=6, dims=[2000], int32_data=[1] * 8001)),
    "endless.onnx": endless_integer(),
    "field.onnx": constant("double", TensorProto(name="w", data_type=11, dims=[2000], float_data=[1] * 4000)),
    "wide.onnx": edited(
        "g () => (float[4] y) <float s = {1.0}> {y = DequantizeLinear(w, s)}",
        lambda m: m.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.INT4, dims=[4], int32_data=[256, 0])),
        21,
    ),
    "two_payloads.onnx": constant("float", BIG, TensorProto(float_data=[1.0])),
    "three_strings.onnx": strings(b"a", b"b", b"c"),
    "no_text.onnx": strings(b"\xff", b"a"),
    "segment.onnx": sizes(raw_data=bytes(16), segment={"begin": 0, "end": 1}),
    # arrays
    "good.npy": array(np.ones((2, 7), np.float32)),
    "double.npy": array(np.ones((2, 7))),
    "flat.npy": array(np.ones(14, np.float32)),
    "objects.npy": array(np.array([{}], object)),
    "empty.npy": b"",
    "garbage.npy": bytes(range(200)),
    "garbage.npz": bytes(range(200)),
    "cut.npz": cut_archive,
    "array.npz": array_as_archive,
}


Circumstance = Callable[[pytest.MonkeyPatch], object]


def nothing(_: pytest.MonkeyPatch) -> None:
    pass


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def conversion_ends_with(error: BaseException) -> Circumstance:
    return lambda patch: patch.setattr(driver, "convert_path", raising(error))


def scanned(patch: pytest.MonkeyPatch) -> None:
    """As files of more than 8 MiB are: big tensors stay on disk."""
    patch.setattr(reading, "PARSED_WHOLE", 0)


def nobody_may_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "open", raising(PermissionError(errno.EACCES, os.strerror(errno.EACCES))))


def the_disk_is_broken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "pread", raising(OSError(errno.EIO, os.strerror(errno.EIO))))


def the_disk_is_full(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(staging, "create", raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))


def another_writes_the_input(patch: pytest.MonkeyPatch) -> None:
    """When the skeleton was read, and the tensors were not."""
    scanned(patch)
    check_input = validity.check_input

    def write(*arguments: Any) -> None:
        check_input(*arguments)
        Path("weights.onnx").write_bytes(b"another model")

    patch.setattr(validity, "check_input", write)


def on_a_terminal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "isatty", lambda _: True)


def a_pipe_that_ends_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(spool, "_is_pipe", lambda path: path == "writerless")
    Path("writerless").unlink()
    Path("writerless").touch()


def an_endless_pipe(patch: pytest.MonkeyPatch) -> None:
    a_pipe_that_ends_at_once(patch)
    Path("writerless").write_bytes(WHOLE)
    patch.setattr(spool, "LARGEST_PROTOBUF", 100)


def a_link_into_another_folder(_: pytest.MonkeyPatch) -> None:
    Path("elsewhere").mkdir()
    Path("leads").mkdir()
    Path("leads/away.onnx").symlink_to("../elsewhere/o.onnx")


def a_file_among_the_pages(_: pytest.MonkeyPatch) -> None:
    Path("r_pages").mkdir()
    Path("r_pages/00001.html").write_text("mine")


def a_report_that_leads_to_data(_: pytest.MonkeyPatch) -> None:
    Path("later.json").symlink_to("o.onnx.data")


def an_endless_list(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"m.onnx\n" * 100)))
    patch.setattr(inputs, "_MOST_BYTES", 100)


def a_list_of_lists(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(inputs, "_MOST_LISTS", 0)


def files_end_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "copy_file_range", lambda *_: 0)


def the_file_ends_early(patch: pytest.MonkeyPatch) -> None:
    """After the first bytes, which tell known formats."""
    pread = os.pread
    patch.setattr(os, "pread", lambda file, length, at: pread(file, length, at) if length <= 64 else b"")


def the_file_is_gone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "pread", lambda *_: b"")


def a_skeleton_is_too_big(patch: pytest.MonkeyPatch) -> None:
    scanned(patch)
    patch.setattr(reading, "LARGEST_PROTOBUF", 100)


def a_result_is_too_big(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(layout, "LARGEST_PROTOBUF", 20_000)


def without_onnxruntime(patch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    patch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else find(name))


def an_old_ml_dtypes(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(ml_dtypes, "bfloat16")
    patch.delitem(np.sctypeDict, "bfloat16", raising=False)


def a_rule_makes_an_invalid_model(patch: pytest.MonkeyPatch) -> None:
    answers = cycle(["", "it is broken", ""])
    patch.setattr(validity, "checker_failure", lambda *_, **__: next(answers))


def a_rule_fails(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(split_rules, "equal_sizes", fails(KeyError(0)))


def a_rule_is_wrong(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(split_rules, "equal_sizes", lambda dimension, parts: [3, 1, 3])


def module(name: str, **contents: object) -> Circumstance:
    """`name` is a module with these contents, or without any, not installed."""
    return lambda patch: patch.setitem(sys.modules, name, SimpleNamespace(**contents) if contents else None)


def fails(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def no_printer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(onnx.printer, "to_text", fails(RuntimeError("no")))


class Row(NamedTuple):
    arguments: str
    message: str
    """All of it; … for what differs from release to release."""
    circumstance: Circumstance = nothing
    written: frozenset[str] = frozenset()
    """The files that are there afterwards, and were not before."""


def prepare(folder: Path, arguments: str) -> None:
    """Make the files that are named in `arguments`."""
    for name, content in FILES.items():
        if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", arguments):
            if isinstance(content, bytes):
                (folder / name).write_bytes(content)
            else:
                content(folder / name)


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def assert_fails(folder: Path, arguments: str, status: int, message: str, written: frozenset[str] = frozenset()) -> None:
    """One line that says `message`, as text of an error or in the frame that wrong usage has, and no file that was not there,
    but those in `written`.
    """
    before = contents(folder)
    ended = command_line(*arguments.split())
    assert (ended.status, ended.out) == (status, ""), ended.err
    line = re.fullmatch(r"(?:error: )?(?:Invalid value for '[^\n]*?': )?([^\n]*?)(?: \(--help shows the usage\))?\n", ended.err)
    assert line is not None, ended.err
    assert as_regex(message).fullmatch(line[1]), line[1]
    assert contents(folder) == before | written
