"""Turns an onnx_ir.Model into a skeleton, and the converted skeleton into an onnx_ir.Model with everything that protobuf cannot
hold.

Tensors are not read: the skeleton has references in their places, and afterwards the tensors replace the references again. Python
objects in the `meta` of values are carried over by name; those of a node are given to all nodes that replace it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx_ir as ir

from ..errors import InvalidModelError
from ..storage.foreign_tensors import ForeignTensors
from ..storage.payload import MARK, RAW_DATA, raw_length, refer_to_cut
from ..storage.skeleton import Skeleton
from ..storage.widened import as_stored, drop_mark, refer_widened
from ..structure.survey import all_tensors

_ORIGIN = "split_rewrite.origin"
"""The metadata key that says which node with `meta` a node comes from. It is removed before the result is returned."""

_Body: TypeAlias = ir.Graph | ir.Function
_Key: TypeAlias = tuple[object, ...]
"""The position of a body: its function or None, then for each level the node's first output, the attribute,
and the graph's number.
"""


class HeldModel:
    """An onnx_ir.Model, `model`, and the `skeleton` that is converted in its place. `model` does not change before
    `replace_contents`.

    Raises: InvalidModelError where onnx_ir cannot serialize it.
    """

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._bodies = list(bodies_of(model))
        self._tensors = ForeignTensors()
        try:
            with swapped_tensors([body for _, body in self._bodies], self._stand_in):
                proto = ir.to_proto(model)
        except Exception as error:  # onnx_ir wraps whatever goes wrong in errors of its own
            raise InvalidModelError(f"onnx_ir cannot serialize the model: {first_line(error)}") from error
        self._origins = [node for _, body in self._bodies for node in body if node.meta]
        _mark_origins(model, proto, {id(node): str(number) for number, node in enumerate(self._origins)})
        self._before = proto.SerializeToString(deterministic=True)
        self.skeleton = Skeleton(proto, self._tensors)

    def _stand_in(self, tensor: Any) -> Any:
        return tensor if _is_plain(tensor) else _reference(tensor, self._tensors.add(tensor))

    @property
    def is_changed(self) -> bool:
        """Whether the skeleton has been changed and now differs from the model."""
        return self.skeleton.proto.SerializeToString(deterministic=True) != self._before

    def converted(self, skeleton: Skeleton) -> ir.Model:
        """`skeleton`, the own or a copy, as a new onnx_ir.Model that shares tensors and Python objects with the old one."""
        model = ir.from_proto(_without_marks(skeleton.proto))
        old = dict(self._bodies)
        model.meta.update(self._model.meta)
        for key, body in bodies_of(model):
            self._take_tensors_back(body, old.get(key))
            for node in body:
                self._take_meta_over(node)
            if key in old:
                body.meta.update(old[key].meta)
                _take_values_over(body, old[key])
        return model

    def replace_contents(self) -> None:
        """Replace the contents of the model itself by those of the skeleton."""
        new = self.converted(self.skeleton)
        self._model.graph = new.graph
        self._model.ir_version = new.ir_version
        self._model.functions.clear()
        self._model.functions.update(new.functions)
        if hasattr(new, "device_configurations"):  # the younger releases of onnx_ir have them
            self._model.device_configurations = new.device_configurations

    def _take_meta_over(self, node: ir.Node) -> None:
        origin = node.metadata_props.pop(_ORIGIN, None)
        if origin is not None:
            node.meta.update(self._origins[int(origin)].meta)

    def _take_tensors_back(self, body: _Body, old: _Body | None) -> None:
        stored = old.initializers if isinstance(old, ir.Graph) else {}
        for name, value in body.initializers.items() if isinstance(body, ir.Graph) else ():
            before = stored[name].const_value if name in stored else None
            value.const_value = self._resolved(value.const_value, before)
        for node in body:
            for attribute in _with_tensors(node):
                if attribute.type == ir.AttributeType.TENSOR:
                    value = self._resolved(attribute.value)
                else:
                    value = [self._resolved(tensor) for tensor in attribute.value]
                node.attributes[attribute.name] = ir.Attr(attribute.name, attribute.type, value, doc_string=attribute.doc_string)

    def _resolved(self, tensor: Any, before: Any = None) -> Any:
        """The tensor that `tensor` refers to; or `before`, the old tensor of the same name, where that is the same one."""
        if not (isinstance(tensor, ir.ExternalTensor) and tensor.location == MARK):
            is_same = before is not None and before.dtype == tensor.dtype and before.shape == tensor.shape
            return before if is_same else tensor
        offset, length = tensor.offset or 0, tensor.length or 0
        whole: Any = self._tensors.at(offset, length)
        is_whole = whole is not None and (whole.dtype, whole.shape) == (tensor.dtype, tensor.shape)
        return whole if is_whole else self._made_of(tensor, offset, length)

    def _made_of(self, tensor: Any, offset: int, length: int) -> ir.LazyTensor:
        """A tensor that a rule made from these bytes, a part of `tensor` or its elements in a wider type.

        It is read when it is needed.
        """
        proto = _proto_without_data(tensor)
        stored: Any = self._tensors.holding(offset)
        is_widened = raw_length(proto) != length
        proto.data_type = stored.dtype.value if is_widened else tensor.dtype.value
        refer_to_cut(proto, offset, length, RAW_DATA)
        if is_widened:
            proto = refer_widened(proto, tensor.dtype.value)

        def read() -> ir.Tensor[Any]:
            return ir.Tensor(np.asarray(self.skeleton.array(proto)), dtype=tensor.dtype, name=proto.name)

        return ir.LazyTensor(read, dtype=tensor.dtype, shape=tensor.shape, name=tensor.name)


def bodies_of(model: ir.Model) -> Iterator[tuple[_Key, _Body]]:
    """The main graph, the functions, and all their subgraphs, each with its position."""
    pending: list[tuple[_Key, _Body]] = [((), model.graph), *(((name,), function) for name, function in model.functions.items())]
    while pending:
        key, body = pending.pop()
        yield key, body
        for node in body:
            for attribute in node.attributes.values() if node.attributes else ():
                for number, graph in enumerate(_graphs_of(attribute)):
                    first = next((value.name for value in node.outputs if value.name), None)
                    pending.append(((*key, first, attribute.name, number), graph))


def _graphs_of(attribute: ir.Attr) -> Iterator[ir.Graph]:
    if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
        yield attribute.as_graph()
    elif attribute.type == ir.AttributeType.GRAPHS and not attribute.is_ref():
        yield from attribute.as_graphs()


def _with_tensors(node: ir.Node) -> list[ir.Attr]:
    if not node.attributes:
        return []
    kinds = (ir.AttributeType.TENSOR, ir.AttributeType.TENSORS)
    return [attribute for attribute in node.attributes.values() if attribute.type in kinds and not attribute.is_ref()]


@contextmanager
def swapped_tensors(bodies: Iterable[_Body], swapped: Callable[[Any], Any]) -> Iterator[None]:
    """For the time of a `with`, replace the tensors of `bodies` by what `swapped` returns for them."""
    undo: list[Callable[[], None]] = []
    try:
        for body in bodies:
            for value in body.initializers.values() if isinstance(body, ir.Graph) else ():
                if value.const_value is not None:
                    undo.append(lambda value=value, tensor=value.const_value: setattr(value, "const_value", tensor))
                    value.const_value = swapped(value.const_value)
            for node in body:
                for attribute in _with_tensors(node):
                    is_one = attribute.type == ir.AttributeType.TENSOR
                    held = swapped(attribute.value) if is_one else [swapped(tensor) for tensor in attribute.value]
                    undo.append(lambda node=node, attribute=attribute: node.attributes.__setitem__(attribute.name, attribute))
                    node.attributes[attribute.name] = ir.Attr(attribute.name, attribute.type, held, doc_string=attribute.doc_string)
        yield
    finally:
        for restore in undo:
            restore()


def _is_plain(tensor: Any) -> bool:
    """Whether protobuf may get a copy of the tensor: it is small and in memory, or has strings, which
    cannot be referred to as bytes.
    """
    if tensor.dtype == ir.DataType.STRING:
        return True
    return type(tensor) in _IN_MEMORY and tensor.nbytes < _SMALL


_IN_MEMORY = (ir.Tensor, ir.serde.TensorProtoTensor)
_SMALL = 1024
"""The number of bytes up to which a tensor is copied, because making a reference takes longer."""


def _reference(tensor: Any, offset: int) -> ir.serde.TensorProtoTensor:
    proto = _proto_without_data(tensor)
    refer_to_cut(proto, offset, tensor.nbytes, RAW_DATA)
    return ir.serde.TensorProtoTensor(proto)


def _without_marks(proto: onnx.ModelProto) -> onnx.ModelProto:
    """`proto` without the marks on tensors whose elements are widened when they are read: onnx_ir warns
    about entries it does not know.
    """
    if not any(as_stored(tensor) is not tensor for tensor in all_tensors(proto)):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in all_tensors(copy):
        drop_mark(tensor)
    return copy


def _proto_without_data(tensor: Any) -> onnx.TensorProto:
    proto = onnx.TensorProto(name=tensor.name, doc_string=tensor.doc_string, data_type=tensor.dtype.value)
    proto.dims.extend(tensor.shape.numpy())
    return proto


def _mark_origins(model: ir.Model, proto: onnx.ModelProto, marks: dict[int, str]) -> None:
    """Mark the nodes of `proto`, the serialized `model`, that have `meta`. `marks` has the mark of each node by its id."""
    if not marks:
        return
    pending: list[tuple[_Body, Any]] = [(model.graph, proto.graph)]
    pending += zip(model.functions.values(), proto.functions, strict=True)
    while pending:
        body, body_proto = pending.pop()
        for node, node_proto in zip(body, body_proto.node, strict=True):
            if id(node) in marks:
                node_proto.metadata_props.add(key=_ORIGIN, value=marks[id(node)])
            graphs = [graph for attribute in node.attributes.values() for graph in _graphs_of(attribute)]
            if graphs:
                inner = [graph for a in node_proto.attribute for graph in (*([a.g] if a.HasField("g") else []), *a.graphs)]
                pending.extend(zip(graphs, inner, strict=True))


def _values_of(body: _Body) -> dict[str | None, ir.Value]:
    values = {value.name: value for value in body.inputs}
    if isinstance(body, ir.Graph):
        values.update(body.initializers)
    values.update((value.name, value) for node in body for value in node.outputs)
    return values


def _take_values_over(body: _Body, old: _Body) -> None:
    """Copy to the values of `body` what protobuf does not hold, or only for some values, from the values of
    the same names in `old`.
    """
    before = _values_of(old)
    for name, value in _values_of(body).items():
        known = before.get(name)
        if known is None or not name:
            continue
        if known.meta:
            value.meta.update(known.meta)
        if known.metadata_props:
            value.metadata_props.update(known.metadata_props)
        if value.const_value is None:
            value.const_value = known.const_value


def first_line(error: BaseException) -> str:
    """The first line of the original error: onnx_ir adds one error around it for each level of the model."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return " ".join(str(cause).split()) or type(cause).__name__
