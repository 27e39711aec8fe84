"""Models of one node, on which it is tried whether another form of the node is allowed, and what it costs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import prod
from typing import NamedTuple

from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto, helper

from ..graph.model import Model
from ..opsets.transitions import schema_at
from ..storage.payload import tensor_of
from ..storage.skeleton import Skeleton
from ..structure.declarations import as_declared
from .outcome import Outcome
from .task import Task

SMALL = 64
"""The number of elements up to which the entries of a constant distinguish nodes."""


READER = "split_rewrite.trial"
"""The domain of the nodes that read the results in a trial, so that these need not keep their names."""


class Cost(NamedTuple):
    """The cost of a form; the smallest is taken."""

    unknown: int
    """The nodes of which nobody can tell whether they are allowed."""
    nodes: int
    elements: int
    """The elements that the nodes write, as far as the sizes are known."""
    changes: int = 0
    """The rules that are used, one after the other."""

    @property
    def is_least(self) -> bool:
        """Whether no form costs less: one rule makes one node of it, which is allowed."""
        return self.unknown == 0 and self.nodes == self.changes == 1

    def __str__(self) -> str:
        return f"{self.nodes} node{'s' * (self.nodes != 1)}, {self.elements:,} elements"


def likeness(node: Task) -> Hashable:
    """What a trial depends on, beside the lineage: equal for nodes that can be written in the same forms at the same cost."""
    names = list(dict.fromkeys(filter(None, node.inputs)))
    attributes = sorted(attribute.SerializeToString(deterministic=True) for attribute in node.proto.attribute)
    read = tuple(node.is_read(index) or node.graph.is_output(name) for index, name in enumerate(node.outputs))
    results = tuple((node.type_string(name), node.shape(name)) for name in node.outputs if name)
    places = tuple(names.index(name) if name else -1 for name in node.inputs)
    operands = tuple(_known(node, name) for name in names)
    schema = schema_at(node.op_type, node.opset)
    version = node.opset if schema is None else schema.since_version
    return node.op_type, version, b"".join(attributes), places, operands, read, results


def _known(node: Task, value: str) -> Hashable:
    shape = node.shape(value)
    is_stored = node.graph.tensor(value) is not None
    count = prod(dim for dim in shape if isinstance(dim, int)) if shape is not None else SMALL + 1
    constant = node.constant(value) if count <= SMALL else None
    return node.type_string(value), shape, is_stored, None if constant is None else str(constant.tolist())


def model_of(node: Task) -> Model | None:
    """A model of nothing but the node, with its constants; None where too little is known of its values.

    It shares the payloads on disk with the model of the node, and nothing else.
    """
    whole = node.scope.model
    proto = ModelProto(ir_version=whole.proto.ir_version)
    proto.opset_import.add(domain="", version=node.scope.target)
    proto.opset_import.add(domain=READER, version=1)
    graph = proto.graph
    graph.name = "trial"
    makers = _dequantized(node)
    made = {name for maker in makers for name in maker.output}
    read = dict.fromkeys(name for proto_ in (*makers, node.proto) for name in proto_.input if name)
    for value in read:
        if value in made:
            continue
        tensor, constant = node.graph.tensor(value), None
        if tensor is not None:
            graph.initializer.add().CopyFrom(tensor)
            graph.initializer[-1].name = value
            continue
        constant = node.constant(value)
        if constant is not None:
            graph.initializer.append(tensor_of(constant, value))
            continue
        kind = _type_of(node, value)
        if kind is None:
            return None
        graph.input.append(ValueInfoProto(name=value, type=kind))
    graph.node.extend([*makers, node.proto])
    types = ((value, _type_of(node, value)) for value in (*made, *node.outputs) if value)
    graph.value_info.extend(ValueInfoProto(name=value, type=kind) for value, kind in types if kind is not None)
    for index, value in enumerate(node.outputs):
        if value and node.graph.is_output(value):
            graph.output.append(ValueInfoProto(name=value, type=_type_of(node, value) or TypeProto()))
        elif node.is_read(index):
            graph.node.add(op_type="Reader", domain=READER, input=[value], output=[f"{value}_is_read"])
            graph.output.append(ValueInfoProto(name=f"{value}_is_read", type=_type_of(node, value) or TypeProto()))
    parent = whole.skeleton
    skeleton = Skeleton(proto, parent.file, parent.base_dir, parent.locations)
    model = Model(skeleton, constants_as_initializers=node.graph.takes_initializers, semantics=whole.semantics)
    model.evidence = as_declared(proto)
    return model


def _dequantized(node: Task) -> list[NodeProto]:
    """The nodes that dequantize stored operands of the node."""
    found: list[NodeProto] = []
    for name in dict.fromkeys(node.inputs):
        maker = node.maker(name) if name and node.graph.tensor(name) is None else None
        if maker is not None and maker.op_type == "DequantizeLinear" and node.graph.tensor(maker.input(0)) is not None:
            found.append(maker.proto)
    return found


def _type_of(node: Task, value: str) -> TypeProto | None:
    kind = node.type(value)
    if kind is not None and kind.WhichOneof("value") not in (None, "tensor_type"):
        return kind
    number = node.elem_type(value)
    return None if number is None else helper.make_tensor_type_proto(number, node.shape(value))


def cost_of(model: Model, outcome: Outcome, before: Iterable[NodeProto]) -> Cost:
    """The cost of the nodes of `model` beside those of `before`."""
    others = {name for node in before for name in node.output}
    nodes = [node for node in model.proto.graph.node if node.domain != READER and others.isdisjoint(node.output)]
    shapes = [model.main.shape(name) for node in nodes for name in node.output if name]
    elements = sum(prod(dim for dim in shape if isinstance(dim, int)) for shape in shapes if shape is not None)
    return Cost(len(outcome.warnings), len(nodes), elements, len(outcome.changes))
