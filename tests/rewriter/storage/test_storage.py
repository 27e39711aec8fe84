"""Reading and writing together: random models come back byte for byte, and damaged ones are refused or come back too."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto
from storage_models import everywhere, runnable, tensors_of, to_external

from split_rewrite.rewriter import SplitRewriteError
from split_rewrite.rewriter.storage import Skeleton, read, reading, stage

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
TYPED = {
    "float_data": (TensorProto.FLOAT, 1.5),
    "double_data": (TensorProto.DOUBLE, -2.5),
    "int32_data": (TensorProto.INT32, -3),
    "int64_data": (TensorProto.INT64, 2**40),
    "uint64_data": (TensorProto.UINT64, 2**63),
}


@st.composite
def tensors(draw: st.DrawFn) -> TensorProto:
    """Of no element to some 16 KiB, in any field, with or without a name, doc string and explicit data location."""
    count = draw(st.sampled_from([0, 1, 100, 1023, 1024, 1025, 4000]))
    tensor = TensorProto(name=draw(st.sampled_from(["", "w", "location"])), dims=[count])
    if draw(st.booleans()):
        tensor.doc_string = draw(st.sampled_from(["", "text", "\x08location", "d" * 5000]))
    if draw(st.booleans()):
        tensor.data_location = TensorProto.DEFAULT
    field = draw(st.sampled_from(["raw_data", "string_data", *TYPED]))
    if field == "raw_data":
        tensor.data_type = TensorProto.FLOAT
        tensor.raw_data = draw(st.binary(min_size=4, max_size=4)) * count
    elif field == "string_data":
        tensor.data_type = TensorProto.STRING
        tensor.string_data.extend([b"text"] * count)
    else:
        tensor.data_type, value = TYPED[field]
        getattr(tensor, field).extend([value] * count)
    return tensor


@st.composite
def graphs(draw: st.DrawFn, depth: int = 0) -> onnx.GraphProto:
    graph = onnx.GraphProto(name="g", initializer=draw(st.lists(tensors(), max_size=3)))
    for values in draw(st.lists(tensors(), max_size=1)):
        graph.sparse_initializer.add(values=values, indices=draw(tensors()), dims=[10])
    for _ in range(draw(st.integers(0, 4))):
        graph.node.append(draw(nodes(depth)))
    return graph


@st.composite
def nodes(draw: st.DrawFn, depth: int) -> onnx.NodeProto:
    node = onnx.NodeProto(op_type="Op", input=["x"] * draw(st.integers(0, 50)))
    kind = draw(st.sampled_from(["nothing", "t", "tensors", "sparse", "g", "graphs", "s"]))
    if kind == "t":
        node.attribute.add(name="a", type=onnx.AttributeProto.TENSOR, t=draw(tensors()))
    elif kind == "tensors":
        node.attribute.add(name="a", type=onnx.AttributeProto.TENSORS, tensors=draw(st.lists(tensors(), max_size=3)))
    elif kind == "sparse":
        sparse = onnx.SparseTensorProto(values=draw(tensors()), indices=draw(tensors()))
        node.attribute.add(name="a", type=onnx.AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse)
    elif kind == "s":
        node.attribute.add(name="a", type=onnx.AttributeProto.STRING, s=bytes(draw(st.sampled_from([3, 5000]))))
    elif depth < 2 and kind == "g":
        node.attribute.add(name="a", type=onnx.AttributeProto.GRAPH, g=draw(graphs(depth + 1)))
    elif depth < 2 and kind == "graphs":
        node.attribute.add(name="a", type=onnx.AttributeProto.GRAPHS, graphs=[draw(graphs(depth + 1))])
    return node


@st.composite
def models(draw: st.DrawFn) -> ModelProto:
    model = ModelProto(ir_version=8, graph=draw(graphs()))
    for node in draw(st.lists(nodes(0), max_size=2)):
        function = model.functions.add(name="f", node=[node])
        function.attribute_proto.add(name="default", type=onnx.AttributeProto.TENSOR, t=draw(tensors()))
    for graph in draw(st.lists(graphs(), max_size=1)):
        model.training_info.add(initialization=graph)
    if draw(st.booleans()):
        model.MergeFromString(b"\xfa\x3f\x90\x4e" + bytes(10000))  # a field of a later ONNX: number 1023, 10000 bytes
    return model


def scan(path: Path) -> Skeleton:
    """Read as if the file were a big one."""
    parsed_whole, reading.PARSED_WHOLE = reading.PARSED_WHOLE, 0
    try:
        return read(path)
    finally:
        reading.PARSED_WHOLE = parsed_whole


@SETTINGS
@given(models())
def test_what_is_read_is_written_byte_for_byte(model):
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "model.onnx"), Path(folder, "out.onnx")
        source.write_bytes(model.SerializeToString(deterministic=True))
        skeleton = scan(source)
        assert skeleton.materialize() == model
        with stage(skeleton, target) as staged:
            staged.commit()
        assert target.read_bytes() == source.read_bytes()


@SETTINGS
@given(models())
def test_split_keeps_every_value(model):
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "model.onnx"), Path(folder, "out.onnx")
        source.write_bytes(model.SerializeToString(deterministic=True))
        with stage(scan(source), target, "split") as staged:
            staged.commit()
        skeleton = scan(target)
        for before, after in zip(tensors_of(model), tensors_of(skeleton.proto), strict=True):
            assert (before.name, before.dims, before.doc_string) == (after.name, after.dims, after.doc_string)
            if before.data_type == TensorProto.STRING:
                assert before == after
            else:
                assert skeleton.array(after).tobytes() == skeleton.array(before).tobytes()


def with_external_data() -> ModelProto:
    model = runnable()
    to_external(model, "w.bin")
    return model


SOUND = {make.__name__: make().SerializeToString() for make in (runnable, everywhere, with_external_data)}


def test_a_location_that_is_not_text_is_named(tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    source.write_bytes(SOUND["with_external_data"].replace(b"w.bin", b"\x80.bin", 1))
    with (
        pytest.raises(SplitRewriteError, match=r"its external data has an entry that is not UTF-8"),
        stage(scan(source), tmp_path / "out.onnx", "auto"),
    ):
        pass


@SETTINGS
@given(st.data())
def test_a_damaged_file_is_refused_or_comes_back(data):
    """Whatever a file contains: no other exception, no hang, nothing left behind."""
    content = bytearray(SOUND[data.draw(st.sampled_from(list(SOUND)))])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(content) - 100)))
        kind = data.draw(st.sampled_from(["change", "remove", "insert", "truncate"]))
        if kind == "change":
            content[at : at + 1] = bytes([data.draw(st.integers(0, 255))])
        elif kind == "remove":
            del content[at : at + data.draw(st.integers(1, 20))]
        elif kind == "insert":
            content[at:at] = data.draw(st.binary(min_size=1, max_size=20))
        else:
            del content[at:]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "model.onnx"), Path(folder, "out.onnx")
        Path(folder, "w.bin").write_bytes(bytes(24576))
        source.write_bytes(content)
        try:
            skeleton = scan(source)
            skeleton.checkable()
            for mode in ("auto", "split"):
                with stage(skeleton, target, mode) as staged:
                    staged.commit()
        except SplitRewriteError as error:
            assert "\n" not in str(error)
        strays = {path.name for path in Path(folder).iterdir()} - {"model.onnx", "w.bin", "out.onnx", "out.onnx.data"}
        assert not strays
        if target.exists() and "w.bin" not in content.decode("latin-1"):
            assert read(target).proto.HasField("graph")
