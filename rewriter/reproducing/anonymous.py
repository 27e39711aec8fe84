"""Takes out of a model what its owner may not want to show: names, numbers, and remarks of the program that made it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
from google.protobuf.message import Message
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto

from ..engine.stamp import drop_imports
from ..execution.dtypes import numpy_dtype
from ..execution.messages import RejectedError
from ..onnx_model.all_nodes import with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import label_of
from ..opsets import type_protos
from ..opsets.foreign import schemas
from ..opsets.ml_types import ML
from ..storage.payload import tensor_of
from ..structure.survey import all_graphs, all_tensors

SMALL = 64
"""The number of elements up to which whole numbers stay: they may be axes, sizes or positions, on which a failure depends."""
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
_PLAIN = (TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL)
"""The types of axes, sizes, positions and conditions."""
_OWN = "com.example"
"""The domain that stands for domains which nobody else knows."""


def tensors_of(proto: ModelProto) -> Iterator[TensorProto]:
    """All tensors that the model stores, and the values of sparse ones."""
    yield from all_tensors(proto)
    for graph in all_graphs(proto):
        if isinstance(graph, GraphProto):
            yield from (sparse.values for sparse in graph.sparse_initializer)
        for attribute in (attribute for node in graph.node for attribute in node.attribute):
            if attribute.type == AttributeProto.SPARSE_TENSOR:
                yield attribute.sparse_tensor.values
    for attribute in (attribute for function in proto.functions for attribute in function.attribute_proto):
        if attribute.type == AttributeProto.TENSOR:
            yield attribute.t


def is_telling(tensor: TensorProto) -> bool:
    """Whether the numbers of the tensor may be somebody's own: floats, strings, and more than SMALL elements of any type."""
    count = math.prod(tensor.dims)
    return count > 0 and (tensor.data_type not in _PLAIN or count > SMALL)


def generate(tensor: TensorProto) -> None:
    """Replace the elements, in place: floats between 0.1 and 1, whole numbers of 1, strings that are all the same."""
    dims, kind = tuple(tensor.dims), tensor.data_type
    if kind == TensorProto.STRING:
        made = TensorProto(data_type=kind, dims=dims, string_data=[b"text"] * math.prod(dims))
    else:
        numbers = np.random.default_rng(zlib.crc32(repr(dims).encode())).uniform(0.1, 1, dims) if kind in _FLOATS else np.ones(dims)
        made = _tensor(numbers, kind) or TensorProto(data_type=kind, dims=dims, raw_data=bytes(len(tensor.raw_data)))
    made.name = tensor.name
    tensor.CopyFrom(made)


def _tensor(numbers: np.ndarray, kind: int) -> TensorProto | None:
    """`numbers` as a tensor of the element type `kind`; None where nothing here has this type."""
    try:
        return tensor_of(numbers.astype(numpy_dtype(kind)), "")
    except RejectedError:
        return None


def without_training(proto: ModelProto) -> None:
    """Remove what a model says about training and quantization beside its graphs, in place: it is full of names."""
    proto.ClearField("training_info")
    for graph in all_graphs(proto):
        if isinstance(graph, GraphProto):
            graph.ClearField("quantization_annotation")


def strip(proto: ModelProto) -> None:
    """Remove descriptions, metadata, denotations and the names of producers, in place."""
    for field in ("producer_name", "producer_version", "domain", "model_version"):
        proto.ClearField(field)  # type: ignore[arg-type]
    pending: list[Message] = [proto]
    while pending:
        message = pending.pop()
        for field, value in message.ListFields():
            if field.name in ("doc_string", "denotation", "metadata_props"):
                message.ClearField(field.name)
            elif field.message_type is not None:
                pending.extend([value] if isinstance(value, Message) else value)


def rename(proto: ModelProto, kept: Iterable[str] = ()) -> None:
    """Give new names to values, dimensions, graphs, functions and their parameters, and none to nodes, in place. Values that have a
    name of `kept` keep it.
    """
    values, dims, functions = _Names("v", kept), _Names("d"), _Names("F")
    _rename_parameters(proto)
    own = {(function.domain, function.name) for function in proto.functions}
    for number, graph in enumerate(all_graphs(proto)):
        if isinstance(graph, GraphProto):
            graph.name = f"g{number}"
            for value in chain(graph.input, graph.output):
                value.name = values.of(value.name)
            for tensor in graph.initializer:
                tensor.name = values.of(tensor.name)
            for sparse in graph.sparse_initializer:
                sparse.values.name = values.of(sparse.values.name)
                sparse.indices.ClearField("name")
        else:
            _rename_all(graph.input, values)
            _rename_all(graph.output, values)
        for value in graph.value_info:
            value.name = values.of(value.name)
        for value in chain(graph.value_info, *([graph.input, graph.output] if isinstance(graph, GraphProto) else [])):
            for dim in (dim for tensor in type_protos.tensors_in(value.type) for dim in tensor.shape.dim if dim.dim_param):
                dim.dim_param = dims.of(dim.dim_param)
        for node in graph.node:
            node.name = ""
            _rename_all(node.input, values)
            _rename_all(node.output, values)
            if (node.domain, node.op_type) in own:
                node.op_type = functions.of(node.op_type)
    for function in proto.functions:
        function.name = functions.of(function.name)
    for attribute in _attributes(proto):  # these tensors are not read by their names
        if attribute.type == AttributeProto.TENSOR:
            attribute.t.ClearField("name")
        elif attribute.type == AttributeProto.SPARSE_TENSOR:
            attribute.sparse_tensor.values.ClearField("name")
            attribute.sparse_tensor.indices.ClearField("name")


def _attributes(proto: ModelProto) -> Iterator[AttributeProto]:
    for function in proto.functions:
        yield from function.attribute_proto
    for graph in all_graphs(proto):
        yield from (attribute for node in graph.node for attribute in node.attribute)


def generate_attributes(proto: ModelProto) -> None:
    """Replace the numbers and words in attributes of Constants, of operators of ai.onnx.ml, and of functions, in place."""
    own = {(function.domain, function.name) for function in proto.functions}
    attributes = [attribute for function in proto.functions for attribute in function.attribute_proto]
    for node in (node for graph in all_graphs(proto) for node in graph.node):
        if node.op_type == "Constant" or node.domain == ML or (node.domain, node.op_type) in own:
            attributes.extend(node.attribute)
    for attribute in attributes:
        attribute.floats[:] = [1.0] * len(attribute.floats)
        attribute.strings[:] = [f"text {number}".encode() for number in range(len(attribute.strings))]
        if attribute.type == AttributeProto.FLOAT:
            attribute.f = 1.0
        if attribute.s:
            attribute.s = b"text"


def without_own_attributes(proto: ModelProto) -> None:
    """Remove the attributes of operators of domains that nobody else knows, in place."""
    known = _known_domains()
    for node in (node for graph in all_graphs(proto) for node in graph.node if node.domain not in known):
        del node.attribute[:]


def _known_domains() -> set[str]:
    return {*DEFAULT_DOMAINS, ML, *schemas.known_domains()}


def rename_operators(proto: ModelProto) -> dict[str, str]:
    """Give new names to operators and functions of domains that nobody else knows, in place. Returns the new names by the old."""
    known = _known_domains()
    names = _Names("Op")
    for node in (node for graph in all_graphs(proto) for node in graph.node if node.domain not in known):
        is_function = any((function.domain, function.name) == (node.domain, node.op_type) for function in proto.functions)
        node.op_type = node.op_type if is_function else names.of(node.op_type)
    domains = [
        entry for imports in (proto.opset_import, *(function.opset_import for function in proto.functions)) for entry in imports
    ]
    for part in chain(domains, proto.functions, (node for graph in all_graphs(proto) for node in graph.node)):
        if part.domain not in known:
            part.domain = _OWN
    return names.given


def _rename_parameters(proto: ModelProto) -> None:
    """Give new names to the attributes of functions, and to overloads, in place."""
    names, overloads = _Names("a"), _Names("o")
    own = {(function.domain, function.name) for function in proto.functions}
    for function in proto.functions:
        _rename_all(function.attribute, names)
        for default in function.attribute_proto:
            default.name = names.of(default.name)
        for node in with_inner(function.node):
            for attribute in node.attribute:
                attribute.ref_attr_name = names.of(attribute.ref_attr_name)
        function.overload = overloads.of(function.overload)
    for node in (node for graph in all_graphs(proto) for node in graph.node if (node.domain, node.op_type) in own):
        node.overload = overloads.of(node.overload)
        for attribute in node.attribute:
            attribute.name = names.of(attribute.name)


class _Names:
    """New names for old ones: v1, v2, … Those of `kept` stay."""

    def __init__(self, letter: str, kept: Iterable[str] = ()) -> None:
        self._letter = letter
        self.given: dict[str, str] = {name: name for name in kept}

    def of(self, name: str) -> str:
        return self.given.setdefault(name, f"{self._letter}{len(self.given) + 1}") if name else ""


def _rename_all(names: object, values: _Names) -> None:
    names[:] = [values.of(name) for name in names]  # type: ignore[index, attr-defined]


def without_unread_imports(proto: ModelProto) -> None:
    """Remove the imports of domains of which the model has no node, in place."""
    imported = [f"{entry.domain}::" for entry in proto.opset_import]
    drop_imports(proto, imported, [label_of(node) for graph in all_graphs(proto) for node in graph.node])
