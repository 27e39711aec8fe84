"""What ends with an error that is no refusal: the whole message and the exit status, by the command line.

The tables follow docs/errors.md, section by section, and no message of these sections may be missing. What a target cannot
express is in test_refusals.
"""

from __future__ import annotations

import errno
import importlib.util
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from documentation import as_regex, unseen
from helpers import command_line, convert_version, model
from hostile_models import functions, functions_with_a_constant, nested_graphs
from onnx import ModelProto, TensorProto, helper
from storage_models import field, runnable, to_external

from split_rewrite.rewriter import SplitRewriteError, convert_file, convert_many
from split_rewrite.rewriter.batch import inputs
from split_rewrite.rewriter.checks import validity
from split_rewrite.rewriter.conversion import driver
from split_rewrite.rewriter.opsets.transitions import newest_opset
from split_rewrite.rewriter.storage import layout, reading, skeleton, spool, staging
from split_rewrite.rewriter.storage.payload import MARK
from split_rewrite.rewriter.storage.skeleton import Skeleton
from split_rewrite.rules import split as split_rules

NEWEST = newest_opset()
KNOWN = f"onnx {onnx.__version__} knows 1 to {NEWEST}"

# -- the files that the rows name: each is made where its name is in the arguments

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
    "no_offset.onnx": external(("location", "data.bin"), ("offset", "x")),
    "beyond.onnx": external(("location", "data.bin"), ("offset", "8")),
    "misfit.onnx": external(("location", "data.bin"), ("length", "8")),
    "typeless.onnx": external(("location", "data.bin"), data_type=TensorProto.UNDEFINED),
    # tensors
    "short.onnx": sizes(raw_data=bytes(12)),
    "long.onnx": with_initializer(TensorProto(name="w", data_type=1, dims=[4], raw_data=bytes(20))),
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


# -- what is in the way beside the files, which a test has to bring about

Circumstance = Callable[[pytest.MonkeyPatch], object]


def nothing(_: pytest.MonkeyPatch) -> None:
    pass


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def conversion_ends_with(error: BaseException) -> Circumstance:
    return lambda patch: patch.setattr(driver, "convert_file", raising(error))


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
    answers = iter(["", "it is broken", ""])
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


# -- the tables

USAGE: dict[str, Row] = {
    "no-arguments": Row("", "Missing argument 'INPUT'."),
    "no-output": Row("m.onnx", "Missing argument 'OUTPUT': name the file to write."),
    "empty-output": Row("m.onnx --output=", "Missing argument 'OUTPUT': name the file to write."),
    "output-twice": Row("m.onnx o.onnx -o p.onnx", "OUTPUT is given twice, as an argument and by -o."),
    "output-of-a-dry-run": Row("m.onnx o.onnx --dry-run", "--dry-run writes nothing: leave OUTPUT out."),
    "three-files": Row("m.onnx o.onnx p.onnx", "p.onnx: is not a folder; name one for the results of several models"),
    "many-without-output": Row("folder", "Missing argument 'OUTPUT': name the folder to write to, or say --in-place."),
    "in-place-and-output": Row(
        "m.onnx --in-place -o folder", "--in-place writes where the models are: leave -o and --dry-run out."
    ),
    "several-to-standard-output": Row(
        "m.onnx weights.onnx -", "- reads one model, but there are several inputs; @- reads a list of paths from standard input"
    ),
    "a-report-in-the-place-of-a-model": Row(
        "m.onnx model.xml new/ --report model.xml", "model.xml: a report would replace INPUT, model.xml; choose another name"
    ),
    "no-models": Row("folder new/", "there are no models (.onnx files) in folder"),
    "no-match": Row("no*.onnx new/", "no*.onnx: nothing matches"),
    "no-list": Row("@no.txt new/", "@no.txt: the list cannot be read: No such file or directory"),
    "long-list": Row("@- new/", "@-: the list is longer than 0 MiB; split it", an_endless_list),
    "list-of-itself": Row("@- new/", "@-: there are more than 0 lists; does one name itself?", a_list_of_lists),
    "file-and-folder": Row(
        "m.onnx r_pages new/ --report new/r.html",
        "new/r_pages/00001.html: the page of a model needs a folder where the result of r_pages, new/r_pages, would be; "
        "choose another name",
    ),
    "two-to-one": Row("m.onnx folder/m.onnx new/", "new/m.onnx: would be the result of both m.onnx and folder/m.onnx"),
    "over-an-input": Row(
        "m.onnx folder/m.onnx folder",
        "folder/m.onnx: the result of m.onnx would replace it, and it belongs to the input folder/m.onnx",
    ),
    "over-itself": Row(
        "m.onnx .",
        "m.onnx: its result in the folder '.' would replace it; "
        "name another folder, or use --in-place without a folder (in_place=True in Python)",
    ),
    "stdin-among-many": Row(
        "- m.onnx new/", "- reads one model, but there are several inputs; @- reads a list of paths from standard input"
    ),
    "json-of-many": Row(
        "m.onnx new/ --report r.json", "--report: of many models FILE.jsonl has a line for each; FILE.json is for one."
    ),
    "bare-shape-of-many": Row(
        "m.onnx new/ --test-input-shape 1,2",
        "--test-input-shape: put NAME: before the shape; each model has inputs of its own.",
    ),
    "resume-by-another-file": Row("m.onnx new/ --resume m.onnx", "expected a name that ends with .jsonl, not 'm.onnx'"),
    "resume-by-other-lines": Row(
        "m.onnx new/ --resume other.jsonl", "other.jsonl: line 1 is not the report of a model; name a report to resume"
    ),
    "resume-by-a-device": Row("m.onnx new/ --resume null.jsonl", "null.jsonl: is not a regular file, and cannot be resumed"),
    "no-dask": Row(
        "m.onnx new/ --scheduler tcp://host:1", "--scheduler needs Dask: pip install 'split-rewrite[dask]'", module("distributed")
    ),
    "no-scheduler": Row(
        "m.onnx new/ --scheduler tcp://host:1",
        "--scheduler tcp://host:1: no Dask scheduler answers there: timed out",
        module("distributed", Client=fails(OSError("timed out"))),
    ),
    "no-fsspec": Row(
        "s3://zoo/m.onnx new/",
        "s3://zoo/m.onnx: URIs need fsspec; pip install 'split-rewrite[remote]'",
        module("fsspec.core"),
    ),
    "text-of-two": Row("--text m.onnx two.onnx", "--text prints one model."),
    "no-such-option": Row("m.onnx o.onnx --fast", "No such option…--fast…"),
    "quiet-and-verbose": Row("m.onnx o.onnx -q -v", "-q and -v exclude each other."),
    "opset-0": Row("m.onnx o.onnx -t 0", f"the target opset 0 is unknown: {KNOWN}"),
    "opset-negative": Row("m.onnx o.onnx -t -1", f"the target opset -1 is unknown: {KNOWN}"),
    "opset-too-new": Row("m.onnx o.onnx -t 99", f"the target opset 99 is unknown: {KNOWN} (a newer onnx may know it)"),
    "opset-of-a-newer-onnx": Row("young.onnx o.onnx", f"the model's opset 99 is unknown: {KNOWN} (a newer onnx may know it)"),
    "opset-no-number": Row("m.onnx o.onnx --opset abc", "expected a number or 'latest', not 'abc'"),
    "assumed-opset-0": Row("m.onnx o.onnx --assume-opset 0", "0 is not in the range x>=1."),
    "ir-version-too-low": Row("m.onnx o.onnx --ir-version 2", "--ir-version 2: this model needs at least IR version 3"),
    "ir-version-too-new": Row(
        "m.onnx o.onnx --ir-version 99", f"--ir-version 99: the installed onnx knows IR versions up to {onnx.IR_VERSION}"
    ),
    "only-no-such-rule": Row("m.onnx o.onnx --only nosuch", "there is no rule 'nosuch': --list-rules shows all"),
    "skip-no-such-rule": Row("m.onnx o.onnx --skip split.nosuch", "there is no rule 'split.nosuch': --list-rules shows all"),
    "compare-no-such-way": Row(
        "m.onnx o.onnx --compare maybe", "'maybe' is not one of 'auto', 'model', 'nodes', 'required', 'off'."
    ),
    "compare-nodes-with-data": Row(
        "m.onnx o.onnx --compare nodes --input-data x:good.npy",
        "--compare nodes: given inputs, and tolerances of named outputs, need the whole model",
    ),
    "compare-nodes-with-a-bound": Row(
        "m.onnx o.onnx --compare nodes --atol a:1",
        "--compare nodes: given inputs, and tolerances of named outputs, need the whole model",
    ),
    "runtime-no-such": Row(
        "m.onnx o.onnx --runtime tensorrt", "'tensorrt' is not one of 'auto', 'onnxruntime', 'reference', 'both'."
    ),
    "runtime-not-installed": Row(
        "m.onnx o.onnx -t 13 --runtime onnxruntime",
        "--runtime onnxruntime: onnxruntime is not installed; pip install onnxruntime",
        without_onnxruntime,
    ),
    "one-of-both-not-installed": Row(
        "m.onnx o.onnx -t 13 --runtime both",
        "--runtime both: onnxruntime is not installed; pip install onnxruntime",
        without_onnxruntime,
    ),
    "rtol-negative": Row("m.onnx o.onnx --rtol -1", "expected a number from 0 on, or OUTPUT:NUMBER, not '-1'"),
    "rtol-nan": Row("m.onnx o.onnx --rtol nan", "expected a number from 0 on, or OUTPUT:NUMBER, not 'nan'"),
    "rtol-twice": Row("m.onnx o.onnx --rtol 0 --rtol 1", "--rtol is given twice for all outputs."),
    "atol-infinite": Row("m.onnx o.onnx --atol inf", "expected a number from 0 on, or OUTPUT:NUMBER, not 'inf'"),
    "atol-twice-for-one": Row("m.onnx o.onnx --atol a:0 --atol a:1", "--atol is given twice for a."),
    "atol-no-such-output": Row("m.onnx o.onnx -t 13 --atol d:1", "--atol d: no such output; the outputs are a, b, c"),
    "seed-negative": Row("m.onnx o.onnx --seed -1", "-1 is not in the range x>=0."),
    "external-data-no-such-way": Row(
        "m.onnx o.onnx --external-data away", "external data: expected auto, keep, copy, inline, split or split:BYTES, not 'away'"
    ),
    "external-data-size": Row(
        "m.onnx o.onnx --external-data split:1k",
        "external data: expected auto, keep, copy, inline, split or split:BYTES, not 'split:1k'",
    ),
    "report-no-such-format": Row(
        "m.onnx o.onnx --report r.txt", "'r.txt' is neither - nor a name that ends with .json or .html or .jsonl or .xml or .sarif."
    ),
    "report-is-a-folder": Row("m.onnx o.onnx --report folder.json", "folder.json: is a folder; name the file to write"),
    "both-to-standard-output": Row("m.onnx - --report -", "OUTPUT and --report are both -: only one can be standard output."),
    "data-to-standard-output": Row(
        "m.onnx - --external-data split",
        "OUTPUT is -, so there can be no data file: use --external-data inline, or name a file.",
    ),
    "from-a-terminal": Row("- o.onnx", "INPUT is -, but standard input is a terminal: send a model to it.", on_a_terminal),
    "to-a-terminal": Row(
        "m.onnx -", "OUTPUT is -, but standard output is a terminal: send it to a file or a program.", on_a_terminal
    ),
    "report-in-no-folder": Row("m.onnx o.onnx --report no/r.json", "no/r.json: the folder no does not exist"),
    "shape-no-number": Row("m.onnx o.onnx --test-input-shape x:2,q", "expected whole numbers as in 1,3,224,224, not 'q'"),
    "shape-empty": Row("m.onnx o.onnx --test-input-shape=", "expected NAME:1,3,224,224, not ''"),
    "shape-no-name": Row("m.onnx o.onnx --test-input-shape :2,7", "expected NAME:1,3,224,224, not ':2,7'"),
    "shape-no-such-input": Row(
        "m.onnx o.onnx -t 13 --test-input-shape y:2,7", "--test-input-shape y: no such input; the inputs are x float32[N,7]"
    ),
    "shape-wrong-rank": Row(
        "m.onnx o.onnx -t 13 --test-input-shape 7", "--test-input-shape x: shape [7] does not fit the declared float32[N,7]"
    ),
    "shape-wrong-size": Row(
        "m.onnx o.onnx -t 13 --test-input-shape x:2,8", "--test-input-shape x: shape [2,8] does not fit the declared float32[N,7]"
    ),
    "shape-negative": Row(
        "m.onnx o.onnx -t 13 --test-input-shape x:-1,7", "--test-input-shape x: shape [-1,7] does not fit the declared float32[N,7]"
    ),
    "shape-twice": Row(
        "m.onnx o.onnx --test-input-shape x:2,7 --test-input-shape 3,7", "--test-input-shape: input 'x' is given twice."
    ),
    "shape-of-which-input": Row(
        "two.onnx o.onnx --test-input-shape 2,7", "--test-input-shape: put NAME: before the shape; the inputs are x, z."
    ),
    "fixed-shape-no-such-input": Row(
        "m.onnx o.onnx --overwrite-input-shape y:2,7", "--overwrite-input-shape: there is no input 'y'; inputs are x"
    ),
    "fixed-shape-no-tensor": Row(
        "sequence.onnx o.onnx --overwrite-input-shape x:2", "--overwrite-input-shape: input 'x' is not a tensor"
    ),
    "fixed-shape-wrong-rank": Row(
        "m.onnx o.onnx --overwrite-input-shape x:7", "--overwrite-input-shape: input 'x' has rank 2, and 1 dimensions were given"
    ),
    "fixed-shape-known-size": Row(
        "m.onnx o.onnx --overwrite-input-shape x:2,8", "--overwrite-input-shape: dimension 1 of input 'x' is 7, not 8"
    ),
    "fixed-shape-negative": Row(
        "m.onnx o.onnx --overwrite-input-shape x:-1,7", "--overwrite-input-shape: input 'x' cannot have a dimension of -1"
    ),
    "fixed-shape-two-sizes": Row(
        "square.onnx o.onnx --overwrite-input-shape x:2,3", "--overwrite-input-shape: 'N' is 2 and 3 at once, dimension 1 of 'x'"
    ),
    "declared-not-split": Row("m.onnx o.onnx --declare float[2,7]", "expected NAME:float[N,64], not 'float[2,7]'"),
    "declared-twice": Row("m.onnx o.onnx --declare y:float --declare y:float", "--declare: value 'y' is given twice."),
    "declared-no-such-value": Row(
        "m.onnx o.onnx --declare q:float[2]", "--declare: there is no value 'q' in the graphs of the model"
    ),
    "declared-no-type": Row("m.onnx o.onnx --declare x:flaot[2]", "--declare: 'flaot[2]' of 'x' is not a type as in float[N,64]"),
    "declared-two-types": Row(
        "m.onnx o.onnx --declare x:float[2]q,int64", "--declare: 'float[2]q,int64' of 'x' is not a type as in float[N,64]"
    ),
    "declared-otherwise": Row("m.onnx o.onnx --declare x:int64[N,7]", "--declare: 'x' is float[N,7], not int64[N,7]"),
    "declared-number-for-a-symbol": Row("m.onnx o.onnx --declare x:float[2,7]", "--declare: 'x' is float[N,7], not float[2,7]"),
    "fixed-shape-of-which-input": Row(
        "two.onnx o.onnx --overwrite-input-shape 2,7", "--overwrite-input-shape: put NAME: before the shape; the inputs are x, z."
    ),
    "data-no-name": Row("m.onnx o.onnx --input-data good.npy", "expected NAME:FILE.npy or FILE.npz, not 'good.npy'"),
    "data-no-array-file": Row("m.onnx o.onnx --input-data x:m.onnx", "expected NAME:FILE.npy or FILE.npz, not 'x:m.onnx'"),
    "data-missing": Row("m.onnx o.onnx --input-data x:nosuch.npy", "nosuch.npy cannot be read: No such file or directory"),
    "data-npz-missing": Row("m.onnx o.onnx --input-data nosuch.npz", "nosuch.npz cannot be read: No such file or directory"),
    "data-empty": Row("m.onnx o.onnx --input-data x:empty.npy", "empty.npy cannot be read: …"),
    "data-garbage": Row("m.onnx o.onnx --input-data x:garbage.npy", "garbage.npy cannot be read: …"),
    "data-npz-garbage": Row("m.onnx o.onnx --input-data garbage.npz", "garbage.npz cannot be read: …"),
    "data-npz-truncated": Row("m.onnx o.onnx --input-data cut.npz", "cut.npz cannot be read: …"),
    "data-objects": Row("m.onnx o.onnx --input-data x:objects.npy", "objects.npy cannot be read: …"),
    "data-npy-in-npz": Row(
        "m.onnx o.onnx --input-data array.npz", "array.npz cannot be read: the contents do not match the ending of the name"
    ),
    "data-twice": Row(
        "m.onnx o.onnx --input-data x:good.npy --input-data x:good.npy", "--input-data: input 'x' is given twice in one sample."
    ),
    "data-no-such-input": Row(
        "m.onnx o.onnx -t 13 --input-data y:good.npy", "--input-data y: no such input; the inputs are x float32[N,7]"
    ),
    "data-wrong-type": Row(
        "m.onnx o.onnx -t 13 --input-data x:double.npy", "--input-data x: float64 does not fit the declared float32[N,7]"
    ),
    "data-wrong-shape": Row(
        "m.onnx o.onnx -t 13 --input-data x:flat.npy", "--input-data x: shape [14] does not fit the declared float32[N,7]"
    ),
    "data-of-a-sequence": Row(
        "sequence.onnx o.onnx --input-data x:flat.npy", "--input-data x: an array does not fit the declared seq(float32[N])"
    ),
}

UNREADABLE: dict[str, Row] = {
    "missing": Row("nosuch.onnx o.onnx", "nosuch.onnx: cannot be read: No such file or directory"),
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
        "half.onnx: is corrupt or not an ONNX model: the field at byte … reaches beyond the end of its message at byte …",
    ),
    "cut-inside-a-header": Row(
        "header.onnx o.onnx", "header.onnx: is corrupt or not an ONNX model: the file ends inside the field at byte …"
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
    "another-protobuf": Row("other.onnx o.onnx", "other.onnx: has no graph; is it an ONNX model?"),
    "text": Row("text.onnx o.onnx", "text.onnx: is corrupt or not an ONNX model: …"),
    "git-lfs": Row(
        "pointer.onnx o.onnx", "pointer.onnx: is a Git LFS pointer, not the model; fetch the file itself with 'git lfs pull'"
    ),
    "zip": Row("archive.onnx o.onnx", "archive.onnx: is a zip archive (a PyTorch checkpoint or a packed model), not an ONNX model"),
    "changed-meanwhile": Row(
        "weights.onnx o.onnx", "weights.onnx: changed on disk while it was being converted; try again", another_writes_the_input
    ),
    "external-data-missing": Row("nowhere.onnx o.onnx", "tensor 'w': data file 'nowhere.bin': does not exist in ."),
    "data-outside": Row("outside.onnx o.onnx", "tensor 'w': data file '../data.bin': leaves the model's folder"),
    "data-is-a-link": Row(
        "linked.onnx o.onnx", "tensor 'w': data file 'link': link is a symbolic link; put the file itself into the model's folder"
    ),
    "data-without-a-place": Row("placeless.onnx o.onnx", "tensor 's': its external data has no location"),
    "data-placed-twice": Row("placed_twice.onnx o.onnx", "tensor 'w': its external data has two entries 'location'"),
    "data-at-no-number": Row("no_offset.onnx o.onnx", "tensor 'w': the offset of its external data is 'x', not a byte count"),
    "data-beyond-the-end": Row("beyond.onnx o.onnx", "tensor 'w': needs bytes 8 to 24 of data file 'data.bin', which has 16"),
    "data-of-another-length": Row("misfit.onnx o.onnx", "tensor 'w': has 8 bytes of data, but its type and shape [4] take 16"),
    "data-of-no-type": Row("typeless.onnx o.onnx", "tensor 'w': element type 0 cannot be stored as bytes"),
    "too-few-bytes": Row("short.onnx o.onnx", "tensor 's': has 12 bytes of data, but its type and shape [2] take 16"),
    "too-many-bytes-to-split-off": Row(
        "long.onnx o.onnx --external-data split:0", "tensor 'w': its data does not fit its type and shape [4]"
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

UNWRITABLE: dict[str, Row] = {
    "no-folder-for-the-record": Row(
        "m.onnx new/ --resume no/run.jsonl", "no/run.jsonl: the report cannot be written: No such file or directory"
    ),
    "in-no-folder": Row("m.onnx nowhere/o.onnx", "nowhere/o.onnx: the folder nowhere does not exist"),
    "is-a-fifo": Row("m.onnx fifo", "fifo: exists and is not a regular file"),
    "name-too-long": Row(f"m.onnx {'o' * 260}", f"{'o' * 260}: cannot be written: File name too long"),
    "disk-full": Row("m.onnx o.onnx", "o.onnx: cannot be written: No space left on device", the_disk_is_full),
    "data-of-the-input": Row(
        "beside.onnx w.bin", "w.bin: OUTPUT would replace the external data of INPUT, w.bin; choose another name"
    ),
    "report-by-a-link": Row(
        "m.onnx o.onnx --report later.json",
        "later.json: is a link to o.onnx.data, which is no .json file; choose another name",
        a_report_that_leads_to_data,
    ),
    "name-is-not-unicode": Row(
        "weights.onnx o\udcff.onnx --external-data split",
        "'o\\udcff.onnx.data' cannot be the name of a data file: it is not valid Unicode",
    ),
    "name-is-a-path-elsewhere": Row(
        "weights.onnx c:o.onnx --external-data split",
        "'c:o.onnx.data' cannot be the name of a data file: it is an absolute path; external data has to lie in the model's folder",
    ),
    "link-into-another-folder": Row(
        "weights.onnx leads/away.onnx --external-data split",
        "leads/away.onnx: is a link into another folder, and runtimes look for data files beside the link; name …",
        a_link_into_another_folder,
    ),
    "link-to-itself": Row("m.onnx loop.onnx", "loop.onnx: cannot be written: Too many levels of symbolic links"),
    "report-is-a-pipe": Row("m.onnx o.onnx --report pipe.json", "pipe.json: exists and is not a regular file"),
    "kept-in-another-folder": Row(
        "beside.onnx folder/o.onnx --external-data keep",
        "external data can only be kept if the result is written to the folder of the input",
    ),
    "too-big-for-one-file": Row(
        "weights.onnx o.onnx --external-data inline",
        "the result has more than the 2 GiB that one file can hold; split its data off",
        a_result_is_too_big,
    ),
    "data-file-ends-early": Row(
        "beside.onnx o.onnx --external-data copy", "a data file became shorter while it was being copied", files_end_early
    ),
}


def fake_runtimes(patch: pytest.MonkeyPatch) -> None:
    """A runtime that refuses all models, and one that is wrong, as modules in the working folder, of which no bytecode is kept."""
    patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    patch.setattr(sys, "dont_write_bytecode", True)
    Path("fake_adapters.py").write_bytes((Path(__file__).parent / "runtimes" / "fake_adapters.py").read_bytes())


WRONG: dict[str, Row] = {
    "refused-by-a-runtime": Row(
        "lone.onnx o.onnx --verify-with fake_adapters:Refuse",
        "fake_adapters:Refuse refuses the result: no Relu here",
        fake_runtimes,
    ),
    "differs-in-a-runtime": Row(
        "abs.onnx o.onnx --verify-with fake_adapters:WrongAbs",
        "output 'y' of the result in fake_adapters:WrongAbs … …; it begins with Abs 'y'",
        fake_runtimes,
    ),
    "text-for-a-runtime": Row(
        "words.onnx o.onnx --verify-with fake_adapters:Right",
        "the result cannot be run in fake_adapters:Right: the input 'x' is not a numpy array of numbers",
        fake_runtimes,
    ),
    "random-numbers-for-a-runtime": Row(
        "random.onnx o.onnx --verify-with fake_adapters:Right",
        "the result cannot be verified with fake_adapters:Right: …",
        fake_runtimes,
    ),
    "fails-the-check": Row(
        "m.onnx o.onnx -t 13",
        "the result failed onnx.checker: it is broken (the model was not written; if the input runs, please report this)",
        a_rule_makes_an_invalid_model,
    ),
    "declares-something-else": Row(
        "belied.onnx o.onnx --compare off",
        "the model declares another shape of output 'y' than the result has, and no comparison shows that the result is right: "
        "correct the declaration, or let the models be compared",
    ),
    "computes-something-else": Row(
        "open.onnx o.onnx -t 17", "outputs differ (onnxruntime …): output 'b' differs: …", a_rule_is_wrong
    ),
    "cannot-be-compared": Row("foreign.onnx o.onnx -t 13 --compare required", "the result could not be compared: …"),
    "bug-in-a-rule": Row(
        "open.onnx o.onnx -t 17",
        "internal error: rule split.spell_out_parts failed on Split 'cut' (main graph) 18→17: KeyError: 0; please report this "
        "(-v shows where it is from)",
        a_rule_fails,
    ),
    "bug": Row(
        "m.onnx o.onnx",
        "internal error: KeyError: 'x'; please report it (-v shows where it is from)",
        conversion_ends_with(KeyError("x")),
    ),
}


def split(opset: int, node: str, more: str = "") -> bytes:
    head = "g (float[N] x, float[4] f, float[3] odd, int32[2] j) => (float[A] a, float[B] b)"
    constants = "int64[2] s = {1, 3}, int64[3] three = {1, 1, 2}, int64[2] negative = {-1, 5}, int64[1,2] square = {1, 3}, float[2] real = {1, 3}"
    return bytes_of(f"{head} <{constants}> {{[cut] a, b = {node}}}", opset)


def to_sequence(sizes: str) -> bytes:
    return bytes_of(f"g (float[N] x) => (seq(float[M]) y) <int64{sizes}> {{[cut] y = SplitToSequence(x, s)}}", 13)


def imported_twice() -> bytes:
    return edited(LONE, lambda proto: proto.opset_import.append(helper.make_opsetid("ai.onnx", 17)))


def redefined() -> bytes:
    return bytes_of(
        """<ir_version: 8, opset_import: ["" : 18]> g (float[4] x) => (float[4] y) {y = Mish(x)}
        <domain: "", opset_import: ["" : 18]> Mish (v) => (w) {w = Relu(v)}"""
    )


def function_twice() -> bytes:
    proto = ModelProto.FromString(functions({"f0": ["Relu"]}))
    proto.functions.append(proto.functions[0])
    return proto.SerializeToString()


def quantize(opset: int, attributes: str, scale: str = "", zero: str = "int8", shape: str = "") -> bytes:
    head = f"g (float[4,6] x, float{scale} s, {zero}{shape or scale} z) => ({zero}[4,6] y)"
    return bytes_of(f"{head} {{[q] y = QuantizeLinear {attributes} (x, s, z)}}", opset)


def beyond_its_type() -> bytes:
    proto = ModelProto.FromString(quantize(21, ""))
    del proto.graph.input[2]
    proto.graph.initializer.add(name="z", data_type=TensorProto.INT8, int32_data=[128])
    return proto.SerializeToString()


CONTRADICTION = bytes_of("g (float[2,3] x, float[4] s) => (float[2,3] y) { y = LayerNormalization(x, s) }", 17)
CONTRADICTED = "the input is not a valid model: onnxruntime cannot run it on any inputs tried (…): …Scale…"
CUT = "Split 'cut' (main graph) is invalid: "
Q = "QuantizeLinear 'q' (main graph) is invalid: "
ROTARY = "g (float[1,2,3,8] x, float[5,2] c{}) => (float[1,2,3,8] y) {{ [s] y = RotaryEmbedding (x, c, c{}) }}"
GRAMS = (
    'g (int64[6] x) => (float[N] y) {{ [s] y = TfIdfVectorizer <mode = "TF", min_gram_length = {}, max_gram_length = {}, max_skip_count = {},'
    " ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool_int64s = [1, 2, 3, 4]> (x) }}"
)
HEADS = "g (float[1,2,4] x, float[1,2,3,2] p) => (float[1,2,4] y) {{ [s] y{} = Attention <q_num_heads = {}, kv_num_heads = 2{}> (x, x, x{}) }}"
OPERANDS = {
    "Attention": [
        (23, HEADS.format("", -2, "", ""), "the number of heads q_num_heads is -2"),
        (23, HEADS.format("", 2, ", scale = 0.0", ""), "scale is 0, and has to be positive"),
        (23, HEADS.format(", k, v", 2, "", ", , p"), "it has only one of past_key and past_value"),
    ],
    "GroupNormalization": [
        (
            21,
            "g (float[1,2] x, float[2] b) => (float[1,2] y) { [s] y = GroupNormalization <num_groups = 1, stash_type = 2> (x, b, b) }",
            "stash_type is 2, which is no floating-point type",
        )
    ],
    "RotaryEmbedding": [
        (23, ROTARY.format(", int64[1,3] p", ", p"), "cos_cache has 2 columns for 8 rotated elements, which need 4"),
        (23, ROTARY.format("", ""), "cos_cache has rank 2, and needs 3 without position_ids"),
    ],
    "TfIdfVectorizer": [
        (9, GRAMS.format(0, 2, 1), "min_gram_length is 0, and has to be positive"),
        (9, GRAMS.format(2, 1, 1), "max_gram_length is 1, below min_gram_length, which is 2"),
        (9, GRAMS.format(1, 2, -1), "max_skip_count is -1"),
    ],
    "CenterCropPad": [
        (18, "g (float[4,5] x, int64[1] i) => (float[A,B] y) { [s] y = CenterCropPad (x, i) }", "shape has 1 entries for 2 axes"),
    ],
}
"""Operands and attributes that no runtime takes: the opset, the model, and the message."""


INVALID: dict[str, tuple[bytes, str]] = {
    **{
        f"{op_type}-{number}": (bytes_of(text, opset), f"{op_type} 's' (main graph) is invalid: {message}")
        for op_type, rows in OPERANDS.items()
        for number, (opset, text, message) in enumerate(rows)
        if opset <= newest_opset()
    },
    "word-of-no-opset": (
        bytes_of(
            'g (float[4] x, int64[2] i, float[2] u) => (float[4] y) {[s] y = ScatterElements<reduction = "sum">(x, i, u)}', 16
        ),
        "ScatterElements 's' (main graph) is invalid: reduction is 'sum'; ScatterElements has only none, add, mul, max, min",
    ),
    "type-of-no-number": (quantize(21, "<output_dtype = 99>"), Q + "output_dtype is 99, which is no type"),
    "blocks-and-scales": (quantize(21, "<block_size = 2>", "[4,2]"), Q + "a dimension of 6 has 3 blocks of 2, and the scale has 2"),
    "scales-beside-blocks": (quantize(21, "<block_size = 2>", "[3,3]"), Q + "dimension 0 of x is 4, and the scale has 3"),
    "scale-of-another-rank": (
        quantize(21, "<block_size = 2>", "[6]"),
        Q + "with block_size the scale has the rank of x, which is 2, and not 1",
    ),
    "block-of-no-size": (quantize(21, "<block_size = -2>", "[4,3]"), Q + "block_size is -2"),
    "scales-without-blocks": (quantize(21, "", "[4,3]"), Q + "the scale has rank 2 and there is no block_size"),
    "scale-of-rank-2": (quantize(13, "", "[4,3]"), Q + "the scale has rank 2"),
    "scales-for-an-axis": (quantize(13, "", "[5]"), Q + "axis 1 of x has a length of 6, and the scale 5 elements"),
    "scales-before-there-are-some": (quantize(10, "", "[6]"), Q + "the scale has 6 elements, and before opset 13 it is a scalar"),
    "zero-points-for-other-scales": (
        quantize(13, "", "[6]", shape="[5]"),
        Q + "the shape of the zero point is (5), and that of the scale (6)",
    ),
    "zero-point-beyond-its-type": (beyond_its_type(), Q + "the zero point is 128, beyond int8"),
    "zero-point-of-another-type": (quantize(21, "<output_dtype = 2>", "[6]"), Q + "output_dtype is uint8 and the zero point int8"),
    "checker": (bytes_of(LONE.replace("Relu", "Rellu")), "the input is not a valid model: …Rellu…"),
    "attribute-of-another-type": (
        bytes_of(SPLIT.replace("axis = 1", 'axis = "x"')),
        "the input is not a valid model: Mismatched attribute type…",
    ),
    "operator-of-no-text": (
        WHOLE.replace(b"Split", b"Spl\xeft"),
        "the input is not a valid model: the operator b'Spl\\xeft' is not valid UTF-8",
    ),
    "form-of-another-opset": (
        split(12, "Split(x, s)"),
        "the input is not a valid model: Split 'cut': it has 2 inputs, and the form of opset 11 has 1, though the model says opset 12; …",
    ),
    "no-such-opset": (imported_twice(), "the model imports the default domain twice, as opset 17 and 18"),
    "training": (
        edited(LONE, lambda proto: proto.training_info.add()),
        "the model has training_info, which is not converted; remove it (inference does not need it)",
    ),
    "redefined": (redefined(), "the local function 'Mish' redefines an operator of ONNX's own domain; give it another domain"),
    "function-twice": (function_twice(), "there are 2 functions 'f0'"),
    "recursion": (functions({"f0": ["Relu", "f0"]}), "function 'f0' calls itself, at once or through others"),
    "calls-too-deep": (
        functions({f"f{i}": [f"f{i + 1}"] for i in range(300)} | {"f300": ["Relu"]}),
        "its functions call each other more than 200 deep",
    ),
    "calls-too-many": (
        functions({f"f{i}": [f"f{i + 1}"] * 2 for i in range(40)} | {"f40": ["Relu"]}),
        "its functions call each other so often that they stand for over 2^41 nodes, and up to 100,000 more than in the file are "
        "accepted: call the inner ones less often, or inline those with few nodes",
    ),
    "calls-with-too-much": (
        functions_with_a_constant(11, 250_000),
        "its functions call each other so often that they stand for 976 MiB, and up to 64 more than in the file are accepted: let "
        "them have their constants as inputs",
    ),
    "both": (split(18, "Split<num_outputs = 2>(x, s)"), f"{CUT}it has both split and num_outputs"),
    "neither": (split(18, "Split(x)"), f"{CUT}it has neither split nor num_outputs"),
    "attribute-and-input": (
        split(1, "Split<axis = 0, split = [1, 3]>(x, real)"),
        f"{CUT}it has both the attribute and the input split",
    ),
    "no-part": (split(18, "Split<num_outputs = 0>(x)"), f"{CUT}num_outputs is 0"),
    "a-billion-parts": (
        split(18, "Split<num_outputs = 1000000000>(x)"),
        f"{CUT}num_outputs is 1000000000, and only 2 of the parts are outputs",
    ),
    "more-outputs-than-parts": (split(18, "Split<num_outputs = 1>(x)"), f"{CUT}it has 2 outputs and num_outputs is 1"),
    "nothing-for-the-last": (
        split(18, "Split<num_outputs = 5>(odd)"),
        f"{CUT}a dimension of 3 cannot make 5 parts: parts of 1 leave nothing for the last",
    ),
    "more-sizes-than-outputs": (split(13, "Split(x, three)"), f"{CUT}split has 3 sizes and the node 2 outputs"),
    "negative-size": (split(13, "Split(x, negative)"), f"{CUT}split has negative sizes: [-1, 5]"),
    "sizes-of-rank-2": (split(13, "Split(x, square)"), f"{CUT}split must be 1-D and has rank 2"),
    "sizes-of-int32": (split(13, "Split(x, j)"), f"{CUT}split must be int64 and is int32"),
    "uneven-at-1": (split(1, "Split<axis = 0>(odd)"), f"{CUT}a dimension of 3 does not divide into 2 equal parts"),
    "wrong-sum-at-1": (split(1, "Split<axis = 0, split = [1, 1]>(f)"), f"{CUT}the sizes [1, 1] do not add up to the dimension 4"),
    "sequence-of-sizes-0": (
        to_sequence(" s = {0}"),
        f"{CUT.replace('Split', 'SplitToSequence')}a scalar split must be positive and is 0",
    ),
    "sequence-of-nothing": (to_sequence("[0] s = {}"), f"{CUT.replace('Split', 'SplitToSequence')}split is empty"),
    "position-beyond-the-end": (
        bytes_of("g (float[2] x) => (float[M] y) <int64 i = {7}> {s = SequenceConstruct(x, x) [at] y = SequenceAt(s, i)}"),
        "SequenceAt 'at' (main graph) is invalid: position 7 is out of range of a sequence of 2 elements",
    ),
}


class TooBig:
    def SerializeToString(self, deterministic: bool) -> bytes:  # noqa: N802 - as protobuf calls it
        raise ValueError("it has over 2 GiB")


def in_memory(location: str) -> ModelProto:
    """A Split whose sizes are external data."""
    return ModelProto.FromString(
        sizes(data_location=1, external_data=[onnx.StringStringEntryProto(key="location", value=location)])
    )


def held(*attributes: ir.Attr, shape: tuple[int, ...] = (), read: Callable[[], ir.Tensor] = lambda: ir.tensor(1.0)) -> ir.Model:
    """A model of onnx_ir whose Relu has `attributes`, and whose initializer "w" is read by `read`."""
    found = ir.from_proto(model("g (float[4] x) => (float[4] y) <float[1] w = {1.0}> {h = Relu(x) y = Mul(h, w)}"))
    for attribute in attributes:
        found.graph[0].attributes[attribute.name] = attribute
    lazy = ir.LazyTensor(read, dtype=ir.DataType.FLOAT, shape=ir.Shape(shape), name="w")
    found.graph.initializers["w"].const_value = lazy
    return found


LIBRARY: dict[str, tuple[Callable[[], object], str]] = {
    "external-data-without-a-folder": (
        lambda: convert_version(in_memory("data.bin"), 12),
        "tensor 's': has external data, but the folder of the model is not known",
    ),
    "a-folder-to-read": (lambda: convert_version("folder", 12), "folder: is a folder; name the .onnx file in it"),
    "a-folder-to-write": (
        lambda: convert_file("weights.onnx", "folder", None),
        "folder: is a folder; name the file to write",
    ),
    "two-places": (
        lambda: convert_many(["weights.onnx"], 13, into="folder", in_place=True),
        "into and in_place exclude each other",
    ),
    "reserved-location": (lambda: convert_version(in_memory(MARK), 12), "tensor 's': has no data in this model"),
    "result-too-big": (
        lambda: convert_version("weights.onnx", None),
        "the model has over 2 GiB, too much for one protobuf in memory; write it to a file",
    ),
    "model-too-big": (
        lambda: Skeleton.of(TooBig()).with_references(),
        "the model cannot be serialized: it has over 2 GiB",  # type: ignore[arg-type]
    ),
    "attribute-of-another-type": (
        lambda: convert_version(held(ir.Attr("a", ir.AttributeType.STRING, 5)), 17),
        "onnx_ir cannot serialize the model: …",
    ),
    "tensor-of-another-size": (
        lambda: convert_version(held(shape=(4,)), 17, compare="required"),
        "tensor 'w': has 4 bytes of data, but declares 16",
    ),
    "tensor-that-is-gone": (
        lambda: convert_version(held(read=raising(OSError("it is gone"))), 17, compare="required"),
        "tensor 'w': cannot be read: it is gone",
    ),
}
"""What the command line does not meet: it reads files, writes files, and takes folders for many models."""


# -- the tests


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


def assert_fails(folder: Path, arguments: str, status: int, message: str) -> None:
    """One line that says `message`, as text of an error or in the frame that wrong usage has, and no file that was not there."""
    before = contents(folder)
    ended = command_line(*arguments.split())
    assert (ended.status, ended.out) == (status, ""), ended.err
    line = re.fullmatch(r"(?:error: )?(?:Invalid value for '[^\n]*?': )?([^\n]*?)(?: \(--help shows the usage\))?\n", ended.err)
    assert line is not None, ended.err
    assert as_regex(message).fullmatch(line[1]), line[1]
    assert contents(folder) == before


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "row", [*USAGE.values(), *UNREADABLE.values(), *UNWRITABLE.values()], ids=[*USAGE, *UNREADABLE, *UNWRITABLE]
)
def test_unusable(folder: Path, monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    prepare(folder, row.arguments)
    row.circumstance(monkeypatch)
    assert_fails(folder, row.arguments, 2, row.message)


@pytest.mark.parametrize(("content", "message"), INVALID.values(), ids=INVALID)
def test_invalid(folder: Path, content: bytes, message: str) -> None:
    Path("m.onnx").write_bytes(content)
    assert_fails(folder, "m.onnx o.onnx", 2, message)


def test_a_model_that_contradicts_itself(folder: Path) -> None:
    """Nobody sees it before a rule fails; then the model is run."""
    Path("m.onnx").write_bytes(CONTRADICTION)
    assert_fails(folder, "m.onnx o.onnx -t 16", 2, CONTRADICTED)


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG)
def test_wrong_results(folder: Path, monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    prepare(folder, row.arguments)
    row.circumstance(monkeypatch)
    assert_fails(folder, row.arguments, 3, row.message)


@pytest.mark.parametrize(("call", "message"), LIBRARY.values(), ids=LIBRARY)
def test_of_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[], object], message: str) -> None:
    prepare(folder, "weights.onnx folder")
    scanned(monkeypatch)
    monkeypatch.setattr(skeleton, "LARGEST_PROTOBUF", 20_000)
    with pytest.raises(SplitRewriteError) as caught:
        call()
    assert as_regex(message).fullmatch(str(caught.value)), str(caught.value)


SECTIONS = {
    "Wrong usage (status 2)": [row.message for row in USAGE.values()] + [message for _, message in LIBRARY.values()],
    "The input cannot be read (status 2)": [row.message for row in UNREADABLE.values()]
    + [message for _, message in LIBRARY.values()],
    "The input is not a valid model (status 2)": [message for _, message in INVALID.values()]
    + [message for rows in OPERANDS.values() for _, _, message in rows]
    + [CONTRADICTED],
    "The output cannot be written (status 2)": [row.message for row in UNWRITABLE.values()]
    + [message for _, message in LIBRARY.values()],
    "The result is not right (status 3)": [row.message for row in WRONG.values()],
}


@pytest.mark.parametrize(("section", "messages"), SECTIONS.items(), ids=SECTIONS)
def test_no_message_is_missing(section: str, messages: list[str]) -> None:
    assert unseen(section, messages) == set()
