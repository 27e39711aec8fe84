"""Writes a model as text that can be read and compared line by line, for example by `git diff`. Large tensors become digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper, printer

from ..errors import InvalidModelError
from ..storage import Skeleton

_MOST_ELEMENTS = 16
"""The number of elements up to which a tensor is written out."""


def text_form(skeleton: Skeleton) -> str:
    """The model in ONNX's text form, followed by a line for each tensor that is too large for it, in the order of the graph.

    The digest of a tensor does not depend on where its bytes are, in the model file or in external data, or on the field that holds
    them.
    Raises: InvalidModelError where a payload cannot be read, or onnx cannot print the model.
    """
    proto = ModelProto()
    proto.CopyFrom(skeleton.proto)
    weights = [line for graph in (proto.graph, *proto.functions) for line in _shortened(graph.node, skeleton)]
    weights = [*_without_large_initializers(proto.graph, skeleton), *weights]
    try:
        text = printer.to_text(proto)
    except Exception as error:  # which one depends on the release of onnx
        raise InvalidModelError(f"onnx cannot print the model as text: {error}") from error
    return "\n".join([text.rstrip("\n"), *weights])


def _without_large_initializers(graph: GraphProto, skeleton: Skeleton) -> Iterator[str]:
    large = [tensor for tensor in graph.initializer if _is_large(tensor)]
    yield from (f"weights {tensor.name} = {_summary(tensor, skeleton)}" for tensor in large)
    small = [tensor for tensor in graph.initializer if not _is_large(tensor)]
    del graph.initializer[:]
    graph.initializer.extend(small)
    for sparse in graph.sparse_initializer:
        parts = (_summary(sparse.values, skeleton), _summary(sparse.indices, skeleton))
        yield f"sparse weights {sparse.values.name} = {list(sparse.dims)} {' at '.join(parts)}"
    del graph.sparse_initializer[:]


def _shortened(nodes: Iterable, skeleton: Skeleton) -> Iterator[str]:
    """Replace the large tensors in the attributes of `nodes` by text. Yields lines for the initializers of subgraphs."""
    for node in nodes:
        for attribute in node.attribute:
            graphs = [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]
            for graph in graphs:
                yield from _without_large_initializers(graph, skeleton)
                yield from _shortened(graph.node, skeleton)
            if attribute.HasField("t") and _is_large(attribute.t):
                summary = _summary(attribute.t, skeleton)
                attribute.ClearField("t")
                attribute.type, attribute.s = AttributeProto.STRING, summary.encode()


def _is_large(tensor: TensorProto) -> bool:
    elements = 1
    for dim in tensor.dims:
        elements *= dim
    return elements > _MOST_ELEMENTS or tensor.data_location == TensorProto.EXTERNAL


def _summary(tensor: TensorProto, skeleton: Skeleton) -> str:
    """A line for one tensor, "float[64,3] sha256:…", with the digest of its values in C order."""
    try:
        kind = helper.tensor_dtype_to_string(tensor.data_type).rpartition(".")[2].lower()
    except (KeyError, ValueError):
        kind = f"type {tensor.data_type}"
    values = skeleton.array(tensor)
    if values.dtype == object:
        data = "\0".join(map(str, values.ravel())).encode(errors="surrogateescape")
    else:
        data = values.tobytes()
    return f"{kind}[{','.join(map(str, tensor.dims))}] sha256:{hashlib.sha256(data).hexdigest()}"
