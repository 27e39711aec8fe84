"""Failures that the command line does not meet: it reads files, writes files, and takes folders for many models."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx_ir as ir
from failures import raising, sizes
from helpers import convert_version, model
from onnx import ModelProto

from split_rewrite.rewriter import convert_file, convert_many
from split_rewrite.rewriter.storage.payload import MARK
from split_rewrite.rewriter.storage.skeleton import Skeleton


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
        "tensor 's': has external data, but the folder of the model is not known; give its path",
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
