"""Types of the values of a large flat model, each distinct node inferred once.

onnx infers all nodes, whatever they repeat, and its answer is as large as the model: 100,000 nodes of four forms take it and its
reader 0.8 s, and this module 0.3 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import GraphProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

from .. import child_call
from ..opsets import folding, inference, transitions
from ..opsets.inference import Shape
from ..storage.payload import tensor_of
from .declarations import contradict

_LONGEST_SHAPE = 64
"""Elements of a constant that may say a shape."""
_ABSENT = -1


def most_kinds(nodes: int) -> int:
    """The most kinds of nodes, which differ in more than names, that a model of so many nodes may have and repeats itself enough.

    To infer one of each takes 0.2 ms a kind, which is lost where there are more.
    """
    return min(500, max(100, nodes // 40))


class Propagated:
    """What all values are."""

    def __init__(self, numbers: Mapping[str, int], types: Sequence[TypeProto]) -> None:
        """`numbers` say which of `types` each value has."""
        self._numbers = numbers
        self._types = types
        self._shapes = [shape if inference.is_known(shape := inference.shape_of(kind)) else None for kind in types]
        self._strings = [inference.type_string(kind) for kind in types]

    def type(self, name: str) -> TypeProto | None:
        """That of the value `name`; None where there is none."""
        number = self._numbers.get(name)
        return None if number is None else self._types[number]

    def type_string(self, name: str) -> str | None:
        """That of the value `name`, as `inference.type_string`."""
        number = self._numbers.get(name)
        return None if number is None else self._strings[number]

    def shape(self, name: str) -> Shape | None:
        """That of the value `name`, if it is all numbers."""
        number = self._numbers.get(name)
        return None if number is None else self._shapes[number]


def propagate(graph: GraphProto, op_types: Sequence[str], opset: int, ir_version: int) -> Propagated | None:
    """What the values of `graph` are, whose nodes, of these `op_types`, are all of the default domain and have no subgraphs.

    None unless each type is known down to the last dimension, a number or a symbol of the author. Where it is, inference of the
    whole model, which asks the same of each node, can know neither better nor otherwise.
    """
    try:
        return _Propagation(graph, op_types, opset, ir_version).run()
    except _Unknown:
        return None


class _Unknown(Exception):
    """A type is not fully known, or there is too little repetition."""


class _Kind:
    """What is known of a value: its type, and what it is if it may say a shape."""

    def __init__(self, type_: TypeProto, constant: TensorProto | None) -> None:
        self.type = type_
        self.constant = constant


class _Propagation:
    def __init__(self, graph: GraphProto, op_types: Sequence[str], opset: int, ir_version: int) -> None:
        self._graph = graph
        self._op_types = op_types
        self._opset = opset
        self._ir_version = ir_version
        self._kinds: list[_Kind] = []
        self._numbers: dict[tuple[bytes, bytes], int] = {}
        self._values: dict[str, int] = {"": _ABSENT}
        """The number of the kind of each value."""

    def run(self) -> Propagated:
        self._take_interface()
        self._take_nodes()
        for declared in (*self._graph.output, *self._graph.value_info):
            known = self._values.get(declared.name, _ABSENT)
            if known == _ABSENT or not _agree(declared.type, self._kinds[known].type):
                raise _Unknown
        del self._values[""]
        return Propagated(self._values, [kind.type for kind in self._kinds])

    def _take_interface(self) -> None:
        for value in self._graph.input:
            self._values[value.name] = self._number(value.type)
        for tensor in self._graph.initializer:
            if tensor.name not in self._values:
                kind = helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
                self._values[tensor.name] = self._number(kind, tensor)
            elif self._ir_version < 4:  # a constant all the same
                self._values[tensor.name] = self._number(self._kinds[self._values[tensor.name]].type, tensor)

    def _take_nodes(self) -> None:
        values = self._values
        answers: dict[tuple[object, ...], list[int]] = {}
        most = most_kinds(len(self._op_types))
        takes_attributes = {op_type: _takes_attributes(op_type, self._opset) for op_type in set(self._op_types)}
        for op_type, node in zip(self._op_types, self._graph.node, strict=True):
            outputs = node.output[:]  # a slice is a list, at half the price of list()
            try:
                read = [values[name] for name in node.input[:]]
            except KeyError:  # a sparse initializer, or nothing that there is
                raise _Unknown from None
            key: tuple[object, ...] = (op_type, len(outputs), *read)
            if takes_attributes[op_type]:
                key = (*key, *[attribute.SerializeToString() for attribute in node.attribute[:]])
            answer = answers.get(key)
            if answer is None:
                if len(answers) == most:
                    raise _Unknown
                answer = answers[key] = self._infer(node)
            for name, number in zip(outputs, answer, strict=True):
                values[name] = number
        if values[""] != _ABSENT:  # an absent output is rare
            raise _Unknown

    def _infer(self, node: NodeProto) -> list[int]:
        if inference.keeps_its_input(node.op_type, self._opset) and len(node.output) == 1:
            return [self._values[node.input[0]]]
        read = {name: self._kinds[self._values[name]] for name in node.input if name}
        types = {name: kind.type.SerializeToString() for name, kind in read.items()}
        data = {name: kind.constant.SerializeToString() for name, kind in read.items() if kind.constant is not None}
        serialized = node.SerializeToString()
        try:
            found = child_call.infer_node(node.op_type, self._opset, serialized, types, data, self._ir_version)
        except (child_call.Crashed, child_call.Refused):
            raise _Unknown from None
        constant = _constant_of(node) if node.op_type == "Constant" else None
        return [self._number(TypeProto.FromString(found.get(name, b"")), constant) for name in node.output]

    def _number(self, kind: TypeProto, value: TensorProto | None = None) -> int:
        """Of a value of this type, that is `value`. Raises _Unknown where the type is not fully known."""
        tensor = kind.tensor_type
        if not tensor.elem_type or not tensor.HasField("shape") or not all(dim.WhichOneof("value") for dim in tensor.shape.dim):
            raise _Unknown
        constant = value if value is not None and _may_say_a_shape(value) else None
        key = kind.SerializeToString(), b"" if constant is None else _content(constant)
        if key not in self._numbers:
            self._numbers[key] = len(self._kinds)
            self._kinds.append(_Kind(kind, constant))
        return self._numbers[key]


def _agree(declared: TypeProto, derived: TypeProto) -> bool:
    """Whether nothing that is declared contradicts what follows from the inputs; another name of a dimension does not."""
    if declared.tensor_type.elem_type != derived.tensor_type.elem_type:
        return False
    shapes = inference.shape_of(declared), inference.shape_of(derived)
    return shapes[0] is None or shapes[1] is None or not contradict(shapes[0], shapes[1])


def _takes_attributes(op_type: str, opset: int) -> bool:
    """Whether valid nodes of this operator can differ in attributes; the check of the result finds invalid ones."""
    schema = transitions.schema_at(op_type, opset)
    return schema is None or bool(schema.attributes)


def _constant_of(node: NodeProto) -> TensorProto | None:
    stored = next((attribute.t for attribute in node.attribute if attribute.name == "value"), None)
    if stored is not None:
        return stored
    value = folding.constant_value(node, numpy_helper.to_array)
    return None if value is None or value.dtype == object else tensor_of(value, "")


def _may_say_a_shape(tensor: TensorProto) -> bool:
    is_short = len(tensor.dims) < 2 and max(tensor.dims, default=1) <= _LONGEST_SHAPE
    return is_short and tensor.data_location != TensorProto.EXTERNAL and tensor.data_type != TensorProto.STRING


def _content(tensor: TensorProto) -> bytes:
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.ClearField("name")
    copy.ClearField("doc_string")
    return copy.SerializeToString()
