"""Element types that the target does not have give way to wider ones that hold the same numbers, before any node is converted.

This is done to the whole model at its own opset: to stored tensors, to the values between nodes, and to what nodes say of types.
Nodes that only move or compare data stay as they are; for others there are rules, which `widen` registers. Afterwards no such type
is left, and the way to the target is the usual one. The inputs and outputs of the model keep their types, so one that the target
does not have is refused there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from ..errors import Blocker, Unconvertible
from ..graph import hints
from ..graph.model import Model
from ..graph.node import Node
from ..graph.operators import Operators
from ..graph.protos import GRAPH_HOLDERS, GraphLike
from ..graph.scope import Scope
from ..graph.survey import all_graphs
from ..opsets import folding, inference, transitions
from ..storage.payload import tensor_of
from ..storage.widened import elements_of_bytes
from .conversion import Change, Outcome, Remark, Selection, rebuild
from .registry import Registry
from .widening import CLASSES, Class, first_opset, reduces

NAME = "narrow_types"
"""What --only and --skip call it."""
_WIDER = {
    **dict.fromkeys(("int4", "int2"), "int8"),
    **dict.fromkeys(("uint4", "uint2"), "uint8"),
    **dict.fromkeys(("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float4e2m1"), "float16"),
    **dict.fromkeys(("float8e8m0", "bfloat16"), "float"),
}
"""The smallest type that every opset has, and that holds all values of the narrow one."""
_ALSO_MOVE = GRAPH_HOLDERS | {
    *("Constant", "ConstantOfShape", "EyeLike", "TensorScatter", "Optional", "OptionalGetElement", "OptionalHasElement"),
    *("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength"),
    *("SplitToSequence", "ConcatFromSequence"),
}
"""Operators that copy elements, or make zeros and ones, and are not in `CLASSES`."""
_EXACT = frozenset({"Abs", "Neg", "Mod"})
"""Operators that compute, with results that the narrow type always holds."""
FLOAT32_FOR_BFLOAT16 = "float32-for-bfloat16"
"""What the user can allow: to compute in float what the model computes in bfloat16, without its rounding."""
ALLOWANCES = (FLOAT32_FOR_BFLOAT16,)
UNROUNDED = f"{NAME}.unrounded_bfloat16"
"""The name under which the outcome lists that this was done, among what is not exact."""
_BFLOAT16 = "bfloat16"
_HINT = "change the model's inputs and outputs to a type that the target has, and let the caller convert"


class Wishes(NamedTuple):
    """How types are to be widened.

    `unrounded_bfloat16`: what was computed in bfloat16 is computed in float, without rounding each result to bfloat16.
    `unpack_at_run_time`: stored tensors of less than 16 bits an element stay packed, and nodes of the graph unpack them.
    """

    unrounded_bfloat16: bool = False
    unpack_at_run_time: bool = False


def widen_types(model: Model, target: int, registry: Registry, selection: Selection, wishes: Wishes) -> Outcome | None:
    """Widen the types of `model` that `target` does not have, in place; None where it has none of them, and nothing changed.

    `model` knows nothing of what became of it: the caller makes another one of its skeleton. Where there are blockers, the skeleton
    is left half done.
    """
    wider = absent_types(model, target)
    if not wider or not selection.allows(NAME):
        return None
    model.wider = wider
    if wishes.unrounded_bfloat16:
        model.unrounded = wider.keys() & {_number(_BFLOAT16)}
    return _Widening(model, registry, wishes).run()


def absent_types(model: Model, target: int) -> dict[int, int]:
    """The types that `model` has and opset `target` does not, with the wider types, as numbers of TensorProto.DataType."""
    absent = [kind for kind in _WIDER if _is_absent(kind, target)] if target < model.main.opset else []
    present = transitions.stated_types(model.survey.graphs, model.survey.operators) if absent else ()
    return {_number(kind): _number(_WIDER[kind]) for kind in absent if kind in present}


def _number(kind: str) -> int:
    return inference.tensor_type(f"tensor({kind})")


@cache
def _is_absent(kind: str, target: int) -> bool:
    born = first_opset(kind)
    return born is not None and born > target


class _Widening:
    """The work on one model."""

    def __init__(self, model: Model, registry: Registry, wishes: Wishes) -> None:
        self._model = model
        self._registry = registry
        self._wishes = wishes
        self._narrow = {f"tensor({inference.elem_type_name(number)})" for number in model.wider}
        self._functions = {(function.domain, function.name) for function in model.proto.functions}
        self._may_take: dict[tuple[str, int], bool] = {}
        self.outcome = Outcome()

    def run(self) -> Outcome:
        self._refuse_interface()
        for scope in (self._model.main, *self._model.functions):
            self._widen_nodes(scope)
        if not self.outcome.blockers:
            for graph in reversed(all_graphs(self._model.proto)):  # the inner ones first: a graph that gets nodes copies its own
                self._retype(graph)
            self._note_lost_rounding()
        return self.outcome

    def _note_lost_rounding(self) -> None:
        if self._model.unrounded:
            self.outcome.inexact.add(UNROUNDED)
            message = "what was bfloat16 is computed in float: numbers differ by the rounding of bfloat16"
            self.outcome.remarks.append(Remark("warning", "model", self._model.proto.graph.name, "all graphs", message))

    # -- nodes

    def _refuse_interface(self) -> None:
        graph = self._model.proto.graph
        for what, values in (("input", graph.input), ("output", graph.output)):
            for value in values:
                kind = self._narrow_kind(inference.type_string(value.type))
                if kind:
                    reason = f"the model's {what} is {kind}, which does not exist before opset {first_opset(kind)}"
                    self.outcome.blockers.append(Blocker(what.capitalize(), value.name, "main graph", "", reason, _HINT))

    def _widen_nodes(self, scope: Scope) -> None:
        """Let the nodes of one graph, and of the graphs in it, compute in wider types."""
        replaced: dict[int, list[NodeProto]] = {}
        for index, proto in enumerate(scope.graph.node):
            for child in scope.children(proto, index, scope.opset):
                self._widen_nodes(child)
            node = Node(proto, scope, scope.opset, index)
            try:
                self._widen_node(node)
            except Unconvertible as refusal:
                blocker = Blocker(node.op_type, node.name, node.where, "", refusal.reason, refusal.hint)
                self.outcome.blockers.append(blocker)
            if node.added_before or node.added_after:
                nodes = (*node.added_before, *(() if node.removed else (node,)), *node.added_after)
                replaced[index] = [made.proto for made in nodes]
        if replaced:
            rebuild(scope, replaced)

    def _widen_node(self, node: Node) -> None:
        """Let one node compute in wider types. Raises Unconvertible where it cannot, or where that is not sure."""
        if node.proto.domain:
            self._require_wide(node)
            return
        if not self._may_be_narrow(node.op_type, node.opset):
            return
        kinds = self._narrow_kinds(node)
        rule = self._registry.widening(node.op_type)
        if rule is not None:
            node.begin_rule(node.opset)
            op_type = node.op_type
            rule.apply(node)
            if node.changed:
                self.outcome.changes.append(Change(rule.name, op_type, node.name, node.where))
                self.outcome.remarks += [Remark("warning", op_type, node.name, node.where, text) for text in node.cautions]
                if not rule.exact:
                    self.outcome.inexact.add(rule.name)
        elif not _keeps_values(node):
            self._require_known(node)
            for kind in sorted(kinds - self._unrounded):
                self._refuse_computing(node, kind)

    def _refuse_computing(self, node: Node, kind: str) -> None:
        raise Unconvertible(
            f"it computes in {kind}, which does not exist before opset {first_opset(kind)}, and in a wider type the result would "
            "not be the same to the last bit",
            f"--allow {FLOAT32_FOR_BFLOAT16} computes in float" if kind == _BFLOAT16 else "",
        )

    @property
    def _unrounded(self) -> set[str]:
        """The types to which results need not be rounded."""
        return {_BFLOAT16} if self._model.unrounded else set()

    @staticmethod
    def _require_known(node: Node) -> None:
        """Raises Unconvertible where a value of `node` may be of a narrow type, for all that is known."""
        for index, name in enumerate(node.inputs):
            if name and node.type_of_slot(index) is None:
                reason = f"the type of '{name}' is unknown, and may be one that the target does not have"
                raise Unconvertible(reason, hints.type_hint(node.scope, name))

    def _require_wide(self, node: Node) -> None:
        """Raises Unconvertible where a node of another domain has a value of a narrow type."""
        if (node.proto.domain, node.op_type) in self._functions:
            return
        for kind in sorted(self._narrow_kinds(node)):
            raise Unconvertible(
                f"it is of the domain {node.proto.domain} and takes {kind}, which does not exist before opset {first_opset(kind)}; "
                "what it does with another type is not known"
            )

    def _may_be_narrow(self, op_type: str, opset: int) -> bool:
        """Whether the operator takes or names any of the narrow types."""
        key = op_type, opset
        if key not in self._may_take:
            schema = transitions.schema_at(op_type, opset)
            parameters = () if schema is None else (*schema.inputs, *schema.outputs)
            self._may_take[key] = any(not self._narrow.isdisjoint(parameter.types) for parameter in parameters)
        return self._may_take[key]

    def _narrow_kinds(self, node: Node) -> set[str]:
        """The narrow types that values of `node` have."""
        names = filter(None, (*node.inputs, *node.outputs))
        return {kind for name in names if (kind := self._narrow_kind(node.type_string(name)))}

    def _narrow_kind(self, type_string: str | None) -> str:
        """The narrow element type in a type string, also of sequences; "" where there is none."""
        kind = "" if type_string is None else type_string.rpartition("(")[2].rstrip(")")
        return kind if f"tensor({kind})" in self._narrow else ""

    # -- what states types

    def _retype(self, graph: GraphLike) -> None:
        """Write the wider types wherever `graph` states a narrow one, and widen its tensors. Its subgraphs are not looked into."""
        for value in _stated_values(graph):
            self._retype_type(value.type)
        if isinstance(graph, GraphProto):
            for tensor in list(graph.initializer):
                if self._stays_packed(tensor):
                    self._unpack(graph, tensor)
                else:
                    self._retype_tensor(tensor)
            for sparse in graph.sparse_initializer:
                self._retype_tensor(sparse.values)
        for node in graph.node:
            for attribute in node.attribute:
                self._retype_attribute(attribute)

    def _retype_attribute(self, attribute: AttributeProto) -> None:
        if attribute.name == "stash_type":
            return  # what a normalization computes in, which a wider type would change
        if attribute.type == AttributeProto.INT and attribute.name in transitions.TYPE_ATTRIBUTES:
            attribute.i = self._model.wider.get(attribute.i, attribute.i)
        elif attribute.type == AttributeProto.TENSOR:
            self._retype_tensor(attribute.t)
        elif attribute.type == AttributeProto.SPARSE_TENSOR:
            self._retype_tensor(attribute.sparse_tensor.values)
        elif attribute.type == AttributeProto.TYPE_PROTO:
            self._retype_type(attribute.tp)
        for tensor in attribute.tensors:
            self._retype_tensor(tensor)

    def _retype_tensor(self, tensor: TensorProto) -> None:
        """Raises InvalidModelError where the data does not fit type and shape."""
        wide = self._model.wider.get(tensor.data_type)
        if wide is None:
            return
        kind = inference.elem_type_name(tensor.data_type)
        tensor.CopyFrom(self._model.skeleton.widened(tensor, wide))
        self.outcome.changes.append(Change(f"{NAME}.{kind}", "tensor", tensor.name, "stored"))

    def _stays_packed(self, tensor: TensorProto) -> bool:
        """Whether the graph is to unpack `tensor`; what is so small that it would be folded is not worth it."""
        is_narrow = tensor.data_type in self._model.wider and tensor.data_type != TensorProto.BFLOAT16
        return self._wishes.unpack_at_run_time and is_narrow and math.prod(tensor.dims) > folding.MAX_ELEMENTS

    def _unpack(self, graph: GraphProto, tensor: TensorProto) -> None:
        """Store the bytes of `tensor`, and let nodes in front of all others of `graph` look up what each byte stands for."""
        narrow, dims, name = tensor.data_type, list(tensor.dims), tensor.name
        tensor.CopyFrom(self._model.skeleton.packed(tensor))
        tensor.name = self._model.fresh_name(f"{name}_packed")
        table = elements_of_bytes(narrow, self._model.wider[narrow])
        per_byte, count = table.shape[1], math.prod(dims)
        made = _Maker(self._model, graph, name)
        op = made.op
        value = op.Gather(op.const(table, table.dtype), op.Cast(tensor.name, to=TensorProto.INT32))
        if count % per_byte:
            value = op.Slice(op.Reshape(value, op.int64([-1])), op.int64([0]), op.int64([count]))
        op.Reshape(value, op.int64(dims), output=name)
        made.put_first()
        kind = inference.elem_type_name(narrow)
        self.outcome.changes.append(Change(f"{NAME}.unpack_{kind}", "tensor", name, "stored"))

    def _retype_type(self, kind: TypeProto) -> None:
        which = kind.WhichOneof("value")
        if which in ("tensor_type", "sparse_tensor_type"):
            tensor = getattr(kind, which)
            tensor.elem_type = self._model.wider.get(tensor.elem_type, tensor.elem_type)
        elif which in ("sequence_type", "optional_type"):
            self._retype_type(getattr(kind, which).elem_type)


class _Maker:
    """Makes nodes and constants in the place of the tensor called `name` of `graph`."""

    def __init__(self, model: Model, graph: GraphProto, name: str) -> None:
        self._model = model
        self._graph = graph
        self._name = name
        self._nodes: list[NodeProto] = []

    @property
    def op(self) -> Operators:
        return Operators(self._make, self._add_constant)

    def _add_constant(self, value: Any, dtype: Any) -> str:
        name = self._model.fresh_name(f"{self._name}_constant")
        self._graph.initializer.append(tensor_of(np.array(value, dtype), name))
        return name

    def _make(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str] | int, attributes: dict[str, Any], opset: int | None
    ) -> list[str]:
        fresh = self._model.fresh_name
        names = [fresh(f"{self._name}_{op_type.lower()}") for _ in range(outputs)] if isinstance(outputs, int) else list(outputs)
        self._nodes.append(helper.make_node(op_type, inputs, names, name=self._model.node_name(names[0]), **attributes))
        return names

    def put_first(self) -> None:
        """Put the new nodes before all others of the graph."""
        others = list(self._graph.node)
        del self._graph.node[:]
        self._graph.node.extend([*self._nodes, *others])


def _stated_values(graph: GraphLike) -> Iterator[ValueInfoProto]:
    """What states the types of values in `graph`; before onnx 1.16, a function had nothing that did."""
    if isinstance(graph, GraphProto):
        yield from graph.input
        yield from graph.output
    yield from getattr(graph, "value_info", ())


def _keeps_values(node: Node) -> bool:
    """Whether the node only moves or compares data, or gives what every type holds that holds its input."""
    if reduces(node):
        return False
    return CLASSES.get(node.op_type) in (Class.MOVES, Class.ORDERS) or node.op_type in _ALSO_MOVE | _EXACT
