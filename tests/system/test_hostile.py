"""Hostile files through the command line, each in a child with bounded memory and time: one clear line, an exit status, no file."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import helpers
import numpy as np
import onnx
import pytest
from helpers import Ended, model, run_isolated
from hostile_models import functions, functions_with_a_constant, nested_graphs
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper
from storage_models import field

from split_rewrite.rewriter.execution import model_client
from split_rewrite.rewriter.execution.model_client import Worker

MEMORY = 2 << 30
SECONDS = 60
"""Of processor time and of time; all but one of these take well under a second."""
COMPARISON_SECONDS = 3.0


def command_line(folder: Path, *arguments: str) -> Ended:
    """`split-rewrite` in a child that may use MEMORY and SECONDS. Fails the test by ForkDied where that does not do."""
    return run_isolated(_run, folder, arguments, cpu_seconds=SECONDS)


def _run(folder: Path, arguments: tuple[str, ...]) -> Ended:
    limit = _address_space() + MEMORY  # of this child, which is a copy of a process that ran other tests
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.alarm(SECONDS)
    os.chdir(folder)
    model_client._idle[:] = [Worker(COMPARISON_SECONDS)]
    return helpers.command_line(*arguments)


def _address_space() -> int:
    """Bytes that this process has mapped; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


# -- what the files below are made of


def graph(text: str, opset: int = 18, **more: int) -> Callable[[], bytes]:
    return lambda: model(text, opset, **more).SerializeToString()


def changed(text: str, change: Callable[[ModelProto], object], opset: int = 18) -> Callable[[], bytes]:
    def make() -> bytes:
        proto = model(text, opset)
        change(proto)
        return proto.SerializeToString()

    return make


def replaced(text: str, old: bytes, new: bytes) -> Callable[[], bytes]:
    """Bytes of the serialized model replaced by as many others."""
    assert len(old) == len(new)
    return lambda: model(text).SerializeToString().replace(old, new)


RELU = "g (float[4] x) => (float[4] y) {y = Relu(x)}"
SPLIT = "g (float[4] x) => (float[P] a, float[Q] b) {a, b = Split<num_outputs = 2>(x)}"
SIZES = "g (float[4] x) => (float[P] a, float[Q] b) <int64[2] s = {1, 3}> {a, b = Split(x, s)}"


def with_initializer(tensor: TensorProto) -> Callable[[], bytes]:
    return changed(RELU, lambda proto: proto.graph.initializer.append(tensor))


def with_node(text: str = RELU, **fields: object) -> Callable[[], bytes]:
    def change(proto: ModelProto) -> None:
        node = proto.graph.node[0]
        for name, value in fields.items():
            setattr(node, name, value)

    return changed(text, change)


def external(location: str, **entries: str) -> TensorProto:
    tensor = TensorProto(name="w", dims=[4], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def nested_types(levels: int) -> bytes:
    kind = b""
    for _ in range(levels):
        kind = field(4, field(1, kind))
    return field(7, field(11, field(1, b"x") + field(2, kind)))


def many_sizes(count: int) -> bytes:
    proto = model(f"g (float[{count + 1}] x) => (float[1] p0) {{p0, p1 = Split(x, s)}}")
    proto.graph.node[0].output[:] = [f"p{i}" for i in range(count)]
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(count, np.int64), "s"))
    return proto.SerializeToString()


def sparse(indices: list[int], dims: list[int], index_dims: list[int] | None = None) -> Callable[[], bytes]:
    def change(proto: ModelProto) -> None:
        values = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0])
        where = helper.make_tensor("", TensorProto.INT64, index_dims or [len(indices)], indices)
        proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, where, dims))

    return changed(RELU, change)


def typed(kind: int) -> Callable[[ModelProto], None]:
    """The first attribute of the first node gets another type."""

    def change(proto: ModelProto) -> None:
        proto.graph.node[0].attribute[0].type = kind  # type: ignore[assignment]

    return change


def unknown_attribute_type() -> bytes:
    """An attribute of type 99, which the Python classes would not take."""
    attribute = field(1, b"alpha") + b"\xa0\x01\x63"
    node = field(1, b"x") + field(2, b"y") + field(4, b"Elu") + field(5, attribute)
    proto = model(RELU)
    del proto.graph.node[:]
    return proto.SerializeToString() + field(7, field(1, node))


BIG = 10**9
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "cycle": (graph("g (float[4] x) => (float[4] y) {a = Add(x, y)\n y = Relu(a)}"), "must be topologically sorted"),
    "cycle-of-one-node": (graph("g (float[4] x) => (float[4] y) {y = Add(x, y)}"), "must be topologically sorted"),
    "cycle-in-the-sizes-of-a-split": (
        graph("g (float[4] x) => (float[P] a, float[Q] b) {s = Identity(t)\n t = Identity(s)\n a, b = Split(x, s)}"),
        "must be topologically sorted",
    ),
    "output-that-nothing-makes": (graph("g (float[4] x) => (float[4] nowhere) {y = Relu(x)}"), "'nowhere'"),
    "two-nodes-make-one-name": (graph("g (float[4] x) => (float[4] y) {y = Relu(x)\n y = Abs(x)}"), "y"),
    "two-inputs-of-one-name": (changed(RELU, lambda m: m.graph.input.append(m.graph.input[0])), "x"),
    "two-initializers-of-one-name": (changed(SIZES, lambda m: m.graph.initializer.append(m.graph.initializer[0])), "s"),
    "an-attribute-twice": (changed(SPLIT, lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0])), "num_outputs"),
    "a-function-twice": (lambda: functions({"f0": ["Relu"]}) + field(25, functions_proto()), "f0"),
    "function-that-calls-itself": (lambda: functions({"f0": ["Relu", "f0"]}), "function 'f0' calls itself"),
    "functions-that-call-each-other": (lambda: functions({"f0": ["f1"], "f1": ["f2"], "f2": ["f0"]}), "calls itself"),
    "functions-10000-deep": (
        lambda: functions({f"f{i}": [f"f{i + 1}"] for i in range(9_999)} | {"f9999": ["Relu"]}),
        "more than 200 deep",
    ),
    "functions-that-stand-for-2-to-the-60-nodes": (
        lambda: functions({f"f{i}": [f"f{i + 1}"] * 2 for i in range(60)} | {"f60": ["Relu"]}),
        "stand for over 2^61 nodes",
    ),
    "functions-that-stand-for-a-gigabyte": (lambda: functions_with_a_constant(11, 250_000), "stand for 976 MiB, and up to 64 more"),
    "subgraphs-10000-deep": (lambda: nested_graphs(10_000), "nested more than 100 deep"),
    "types-10000-deep": (lambda: nested_types(10_000), "is corrupt or not an ONNX model"),
    "a-varint-of-30-bytes": (lambda: b"\x08" + b"\xff" * 30, "more than ten bytes"),
    "a-length-of-2-to-the-63": (lambda: b"\x3a" + b"\xff" * 8 + b"\x7f", "the file ends inside the field"),
    "an-ir-version-of-2-to-the-63": (changed(RELU, lambda m: setattr(m, "ir_version", 2**63 - 1)), "IR version"),
    "a-negative-ir-version": (changed(RELU, lambda m: setattr(m, "ir_version", -1)), "IR version"),
    "no-graph": (lambda: field(2, b"producer"), "has no graph"),
    "no-opset": (changed(RELU, lambda m: m.ClearField("opset_import")), "opset"),
    "opset-of-2-to-the-62": (changed(RELU, lambda m: setattr(m.opset_import[0], "version", 2**62)), "is unknown"),
    "opset-negative": (changed(RELU, lambda m: setattr(m.opset_import[0], "version", -18)), "is unknown"),
    "two-opsets": (changed(RELU, lambda m: m.opset_import.append(helper.make_opsetid("", 17))), "twice, as opset 17 and 18"),
    "num-outputs-of-a-billion": (
        graph(SPLIT.replace("= 2", f"= {BIG}").replace("[4] x", "[N] x")),
        "num_outputs is 1000000000, and only 2 of the parts",
    ),
    "num-outputs-of-2-to-the-63": (graph(SPLIT.replace("= 2", f"= {2**63 - 1}").replace("[4] x", "[N] x")), "num_outputs is"),
    "num-outputs-of-a-billion-and-no-more-outputs": (graph(SPLIT.replace("= 2", f"= {BIG}")), "and only 2 of the parts"),
    "dims-that-overflow": (with_initializer(TensorProto(name="w", dims=[2**32, 2**32], data_type=1, raw_data=b"1234")), "w"),
    "dims-that-overflow-to-nothing": (with_initializer(TensorProto(name="w", dims=[2**32, 2**32], data_type=1, raw_data=b"")), "w"),
    "dims-that-are-negative": (with_initializer(TensorProto(name="w", dims=[-1], data_type=1, raw_data=b"1234")), "w"),
    "a-billion-elements-without-data": (with_initializer(TensorProto(name="w", dims=[BIG], data_type=1, raw_data=b"1234")), "w"),
    "an-input-of-an-undefined-type": (
        changed(RELU, lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 0)),
        "'x' is of an unknown element type, 0",
    ),
    "a-tensor-of-an-unknown-type": (
        with_initializer(TensorProto(name="w", dims=[1], data_type=999, raw_data=b"1234")),
        "unknown element type, 999",
    ),
    "a-tensor-without-a-type": (with_initializer(TensorProto(name="w", dims=[1], raw_data=b"1234")), "data_type"),
    "sizes-that-overflow": (
        changed(
            SIZES,
            lambda m: m.graph.initializer[0].CopyFrom(TensorProto(name="s", dims=[2**62, 4], data_type=7, raw_data=bytes(16))),
        ),
        "s",
    ),
    "sizes-of-a-billion-elements": (
        changed(
            SIZES, lambda m: m.graph.initializer[0].CopyFrom(TensorProto(name="s", dims=[BIG], data_type=7, raw_data=bytes(16)))
        ),
        "s",
    ),
    "data-outside-of-the-folder": (with_initializer(external("../secret")), "leaves the model's folder"),
    "data-at-an-absolute-path": (with_initializer(external("/etc/passwd")), "is an absolute path"),
    "data-in-a-device": (with_initializer(external("/dev/zero")), "is an absolute path"),
    "data-in-a-link": (with_initializer(external("link")), "is a symbolic link"),
    "data-in-a-fifo": (with_initializer(external("fifo")), "is not a regular file"),
    "data-in-the-folder-itself": (with_initializer(external(".")), "is not a"),
    "data-that-is-missing": (with_initializer(external("nowhere.bin")), "there is no such file"),
    "data-beyond-the-end": (with_initializer(external("data.bin", offset=str(2**62))), "which has 16"),
    "data-at-no-number": (with_initializer(external("data.bin", offset="-1")), "not a byte count"),
    "data-of-another-length": (with_initializer(external("data.bin", length="8")), "has 8 bytes"),
    "sparse-index-out-of-range": (sparse([1, 99], [4]), "index"),
    "sparse-index-negative": (sparse([-1, 2], [4]), "index"),
    "sparse-of-negative-dims": (sparse([1, 2], [-4]), "dim"),
    "sparse-with-indices-of-another-rank": (sparse([1, 2], [4], [1, 1, 2]), "indices"),
    "operator-that-does-not-exist": (with_node(op_type="Splitt"), "Splitt"),
    "operator-without-a-name": (with_node(op_type=""), "op_type"),
    "loop-without-a-body": (graph("g (int64 n, bool c, float[4] x) => (float[4] y) {y = Loop(n, c, x)}"), "body"),
    "attribute-of-an-unknown-type": (unknown_attribute_type, "'type' of 'attr'"),
    "attribute-of-no-type": (changed(SPLIT, typed(AttributeProto.UNDEFINED)), "num_outputs"),
    "attribute-of-another-type": (changed(SPLIT, typed(AttributeProto.TENSOR)), "num_outputs"),
    "name-that-is-not-utf-8": (
        replaced(SPLIT.replace("(x)", "(xxxx)").replace("[4] x", "[N] xxxx"), b"xxxx", b"\xff\xfe\xfd\xfc"),
        "UTF-8",
    ),
    "dimension-that-is-not-utf-8": (
        replaced("g (float[dddd] x) => (float[A] y) {y = Relu(x)}", b"dddd", b"\xff\xfe\xfd\xfc"),
        "UTF-8",
    ),
    "name-between-that-is-not-utf-8": (
        replaced(
            "g (float[N] x, bool[N] c) => (float[A] a, float[B] b) {tttt = Compress(x, c)\n a, b = Split<num_outputs = 2>(tttt)}",
            b"tttt",
            b"\xff\xfe\xfd\xfc",
        ),
        "UTF-8",
    ),
    "function-output-that-is-not-utf-8": (
        replaced(
            '<ir_version: 8, opset_import: ["" : 18, "f" : 1]> g (float[N] x) => (float[A] y) {u, y = f.f(x)}\n'
            '<domain: "f", opset_import: ["" : 18]> f (x) => (oooo, y) {y, z = Split<num_outputs = 2>(x)}',
            b"oooo",
            b"\xff\xfe\xfd\xfc",
        ),
        "UTF-8",
    ),
    "operator-that-is-not-utf-8": (replaced(RELU, b"Relu", b"\xff\xfe\xfd\xfc"), "UTF-8"),
    "domain-without-import-that-is-not-utf-8": (
        replaced("g (float[4] x) => (float[4] y) {y = ffff.f(x)}", b"ffff", b"\xff\xfe\xfd\xfc"),
        "UTF-8",
    ),
    "an-input-without-a-name": (changed(RELU, lambda m: setattr(m.graph.input[0], "name", "")), "name"),
    "an-initializer-without-a-name": (with_initializer(TensorProto(dims=[1], data_type=1, raw_data=b"1234")), "name"),
    "name-of-5-megabytes": (with_node(op_type="Relu" * 1_300_000), "…"),
}


def functions_proto() -> bytes:
    return ModelProto.FromString(functions({"f0": ["Relu"]})).functions[0].SerializeToString()


def contents(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.bin").write_bytes(bytes(16))
    (tmp_path / "link").symlink_to(tmp_path / "data.bin")
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


UNSEEN_BY_AN_OLD_ONNX = {"dims-that-overflow-to-nothing", "a-billion-elements-without-data"}
"""Initializers that nothing reads, and whose data does not fit: the checker looks at them from onnx 1.18 on."""


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(folder: Path, name: str) -> None:
    if name in UNSEEN_BY_AN_OLD_ONNX and onnx.__version__.startswith("1.17."):
        pytest.skip("this onnx does not look at it")
    make, message = REFUSED[name]
    (folder / "m.onnx").write_bytes(make())
    before = contents(folder)
    status, out, err = command_line(folder, "m.onnx", "o.onnx", "-t", "13")
    assert (status, out) == (2, ""), err[:2000]
    assert err.startswith("error: ") and err.count("\n") == 1 and len(err) < 3000
    assert message in err
    assert contents(folder) == before


# -- files that are odd, and valid: the right answer, in bounded time


def chain(operator: str, length: int) -> Callable[[], bytes]:
    """A Split whose sizes go through `length` nodes."""

    def make() -> bytes:
        proto = model(SIZES)
        nodes = [helper.make_node(operator, ["s" if i == 0 else f"s{i}"], [f"s{i + 1}"]) for i in range(length)]
        proto.graph.node[0].input[1] = f"s{length}"
        proto.graph.node.extend(nodes)
        proto.graph.node.append(proto.graph.node[0])
        del proto.graph.node[0]
        return proto.SerializeToString()

    return make


def many_outputs(count: int) -> bytes:
    """A Split into `count` parts, by a constant input."""
    names = [f"p{index}" for index in range(count)]
    outputs = [helper.make_tensor_value_info("p0", TensorProto.FLOAT, [1])]
    sizes = numpy_helper.from_array(np.ones(count, np.int64), "s")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [count])
    body = helper.make_graph([helper.make_node("Split", ["x", "s"], names)], "g", [x], outputs, [sizes])
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()


BOMB = "g (float[4] x) => (float[P] a, float[Q] b) <int64[2] n = {100000, 100000}, int64[1] one = {1}, int64[1] far = {1000000000000}, int64 zero = {0}, int64 end = {1000000000000}, int64 step = {1}> "
ANSWERED: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "no-nodes": (graph("g (float[4] x) => (float[4] x) {}"), 0, "opset       18 → 11"),
    "a-shape-of-10-to-the-18-elements": (
        graph(f"g (float[{BIG},{BIG}] x) => (float[P,{BIG}] a, float[Q,{BIG}] b) {{a, b = Split<num_outputs = 2>(x)}}"),
        0,
        "node by node",
    ),
    "a-billion-parts-in-a-sequence": (
        graph(f"g (float[{BIG}] x, int64 i) => (float[P] y) {{s = SplitToSequence(x)\n y = SequenceAt(s, i)}}"),
        0,
        "",
    ),
    "sizes-that-come-a-long-way": (chain("Identity", 3000), 0, ""),
    "sizes-through-a-long-computation": (chain("Abs", 3000), 0, ""),
    "sizes-of-a-tensor-of-10-to-the-10-elements": (
        graph(BOMB + "{c = ConstantOfShape(n)\n s = Cast<to = 7>(c)\n a, b = Split(x, s)}"),
        0,
        "not be compared",
    ),
    "sizes-of-a-range-of-10-to-the-12": (
        graph(BOMB + "{s = Range(zero, end, step)\n a, b = Split(x, s)}"),
        2,
        "split has 1000000000000 sizes and the node 2 outputs",
    ),
    "sizes-tiled-10-to-the-12-times": (
        graph(BOMB + "{s = Tile(one, far)\n a, b = Split(x, s)}"),
        2,
        "split has 1000000000000 sizes and the node 2 outputs",
    ),
    "sizes-expanded-to-10-to-the-12": (
        graph(BOMB + "{s = Expand(one, far)\n a, b = Split(x, s)}"),
        2,
        "split has 1000000000000 sizes and the node 2 outputs",
    ),
    "ten-thousand-outputs": (lambda: many_outputs(10_000), 0, ""),
    "a-loop-without-end": (
        graph(
            "g (float[4] x) => (float[4] y, float[P] a) <int64 n = {4000000000000000000}, bool c = {1}> {"
            "y = Loop(n, c, x) <body = b (int64 i, bool k, float[4] v) => (bool l, float[4] w) {l = Identity(k)\n w = Abs(v)}>\n"
            "a, b = Split<num_outputs = 2>(x)}"
        ),
        0,
        "not finished within 4 s of processor time",
    ),
    "attributes-that-are-not-numbers": (
        changed(
            "g (float[4] x) => (float[4] y) {y = Elu<alpha = 1.0>(x)}",
            lambda m: setattr(m.graph.node[0].attribute[0], "f", float("nan")),
        ),
        0,
        "",
    ),
    "scales-that-are-not-numbers": (
        changed(
            "g (float[1,1,4,4] x) => (float[A,B,C,D] y) <float[4] s = {1, 1, 2, 2}> {y = Resize(x, , s)}",
            lambda m: m.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.full(4, np.nan, np.float32), "s")),
        ),
        0,
        "",
    ),
    "names-that-clear-the-screen": (with_node(SPLIT, name="\x1b[2J\n\r"), 0, ""),
    "function-of-an-opset-beyond-any": (
        changed(
            '<ir_version: 8, opset_import: ["" : 18, "f" : 1]> g (float[N] x) => (float[A] y) {y = f.f(x)}\n'
            '<domain: "f", opset_import: ["" : 18]> f (x) => (y) {y = Relu(x)}',
            lambda m: setattr(m.functions[0].opset_import[0], "version", 2**31),
        ),
        2,
        "opset 2147483648 is unknown",
    ),
    "a-node-name-of-5-megabytes": (with_node(SPLIT, name="n" * 5_000_000), 0, ""),
    "a-doc-string-of-20-megabytes": (changed(SPLIT, lambda m: setattr(m, "doc_string", "d" * 20_000_000)), 0, ""),
    "names-that-nobody-touches-and-are-not-utf-8": (
        replaced("g (float[4] x) => (float[4] y) {aaaa = Relu(x)\n y = Relu(aaaa)}", b"aaaa", b"\xff\xfe\xfd\xfc"),
        0,
        "",
    ),
    "metadata-without-end": (
        changed(SPLIT, lambda m: [m.metadata_props.add(key=f"k{i}", value="v") for i in range(100_000)]),
        0,
        "",
    ),
}


@pytest.mark.parametrize(("make", "expected", "message"), ANSWERED.values(), ids=ANSWERED)
def test_odd_and_valid(folder: Path, make: Callable[[], bytes], expected: int, message: str) -> None:
    (folder / "m.onnx").write_bytes(make())
    before = contents(folder)
    status, out, err = command_line(folder, "m.onnx", "o.onnx", "-t", "11")
    assert status == expected, err[:2000]
    assert message in out + err
    assert all(len(line) < 3000 and line.isprintable() for line in (out + err).splitlines())
    assert contents(folder) == before | ({"o.onnx"} if status == 0 else set())


SPECIAL_FILES = {
    "/dev/zero": "is not a regular file",
    "/dev/null": "is not a regular file",
    "/dev/stdin": "",
    "link/m.onnx": "cannot be read",
    "zeros": "is corrupt or not an ONNX model",
    "n" * 5000: "nnn",
}


@pytest.mark.parametrize(("name", "message"), SPECIAL_FILES.items(), ids=[name[:10] for name in SPECIAL_FILES])
def test_what_is_no_model_file(folder: Path, name: str, message: str) -> None:
    with open(folder / "zeros", "wb") as file:
        file.truncate(3 << 30)  # takes no room on the disk
    before = contents(folder)
    status, out, err = command_line(folder, name, "o.onnx", "-t", "13")
    assert (status, out) == (2, ""), err
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err
    assert contents(folder) == before
