"""Replaces element types that the target opset or runtime lacks by wider types that hold the same numbers, before any node is
converted.

This is done for the whole model at its own opset: for stored tensors, for the values between nodes, and for attributes that name a
type. Nodes that only move or compare data stay as they are; for others there are rules, which `widen` registers. Afterwards none of
these types is left, and the model is converted as usual. The inputs and outputs of the model keep their types, so the model is
refused if one of these has a type that the target lacks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from onnx import ModelProto, NodeProto

from ..errors import Blocker, Unconvertible
from ..graph import hints
from ..graph.model import Model
from ..graph.scope import Scope
from ..opsets import facts, transitions, type_protos
from ..opsets.facts import Kind, Work
from ..opsets.stated_types import stated_types
from ..opsets.transitions import unknown_version
from ..opsets.unread import is_hidden
from ..structure.survey import Survey, all_graphs
from . import unused
from .between_casts import first_opset, reduces
from .failures import NOT_OF_THE_RULE, raise_rule_error
from .outcome import Outcome, Remark
from .registry import Registry
from .retyping import NAME, Retyping
from .selection import Selection
from .task import Task
from .walk import Walk

_WIDER = {
    **dict.fromkeys(("int4", "int2"), ("int8",)),
    **dict.fromkeys(("uint4", "uint2"), ("uint8",)),
    **dict.fromkeys(("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"), ("float16", "float")),
    **dict.fromkeys(("float6e2m3", "float6e3m2", "float4e2m1"), ("float16", "float")),
    **dict.fromkeys(("float8e8m0", "bfloat16"), ("float",)),
}
"""For each narrow type, the types that every opset has and that hold all its values, the smallest first."""
NARROW_TYPES = frozenset(_WIDER)
"""The names of the types that can be replaced."""
_ALSO_KEEP = frozenset({Kind.MOVES, Kind.FILLS, Kind.SEQUENCE, Kind.CONTROL})
"""The kinds of operators that make no new values but zeros and ones, beside those whose work is to move or to order."""
FLOAT32_FOR_BFLOAT16 = "float32-for-bfloat16"
"""The value of --allow that permits to compute in float what the model computes in bfloat16, without its rounding."""
INT32_INPUTS = "int32-inputs"
ALLOWANCES = (FLOAT32_FOR_BFLOAT16, INT32_INPUTS)
UNROUNDED = f"{NAME}.unrounded_bfloat16"
"""The name under which the outcome lists this change among those that are not exact."""
_BFLOAT16 = "bfloat16"
_NOTHING: Mapping[str, str] = {}
_HINT = "change the model's inputs and outputs to a type that the target has, and let the caller convert"


class Wishes(NamedTuple):
    """The user's wishes for the widening of types.

    `unrounded_bfloat16`: operations in bfloat16 become operations in float, whose results are not rounded to bfloat16.
    `unpack_at_run_time`: stored tensors with less than 16 bits for an element stay packed, and nodes of the graph unpack them.
    """

    unrounded_bfloat16: bool = False
    unpack_at_run_time: bool = False


def widen_types(
    model: Model, target: int, registry: Registry, selection: Selection, wishes: Wishes, refused: Mapping[str, str] = _NOTHING
) -> Outcome | None:
    """Widen, in place, the types of `model` that the target lacks. Returns None where it has no such type, and nothing changed.

    `refused` maps types that a runtime does not accept, whatever the opset, to the name of the runtime. `model` does not know about
    the changes: the caller has to make a new Model of its skeleton. Where the outcome has blockers, the skeleton is only partly
    changed.
    """
    wider = _absent_types(model, target, refused)
    if not wider or not selection.allows(NAME):
        return None
    model.wider = wider
    if wishes.unrounded_bfloat16:
        model.unrounded = wider.keys() & {_number(_BFLOAT16)}
    return Widening(model, registry, wishes, refused).run()


def _absent_types(model: Model, target: int, refused: Collection[str]) -> dict[int, int]:
    """The types that `model` has and the target lacks, mapped to the wider types, both as numbers of TensorProto.DataType.

    One that the model's own opset lacks, too, is for operators of other domains, which take it at any opset.
    """
    source = model.main.opset
    absent = {kind for kind in _WIDER if kind in refused or (_is_absent(kind, target) and not _is_absent(kind, source))}
    present = stated_types(model.survey.graphs, model.survey.operators) if absent else frozenset()
    return {_number(kind): _number(_wider(kind, refused)) for kind in sorted(absent & present)}


def lost_types(original: Survey, result: ModelProto) -> set[int]:
    """The types in the `original` that were replaced by wider ones in `result`, as numbers of TensorProto.DataType."""
    narrow = NARROW_TYPES & stated_types(original.graphs, original.operators)
    graphs = all_graphs(result) if narrow else []
    left = stated_types(graphs, {node.op_type for graph in graphs for node in graph.node})
    return {_number(kind) for kind in narrow - left}


def _wider(kind: str, refused: Collection[str]) -> str:
    """The smallest type that holds the values of `kind` and is not `refused`; where all are refused, the smallest."""
    return next((wide for wide in _WIDER[kind] if wide not in refused), _WIDER[kind][0])


def _number(kind: str) -> int:
    return type_protos.tensor_type(f"tensor({kind})")


@cache
def _is_absent(kind: str, target: int) -> bool:
    born = first_opset(kind)
    return born is not None and born > target


class Widening(Walk):
    """Widens the types of one model: a pass over its nodes, after which they compute in wider types, and then what states types."""

    def __init__(self, model: Model, registry: Registry, wishes: Wishes, refused: Mapping[str, str]) -> None:
        super().__init__(model)
        self._registry = registry
        self._wishes = wishes
        self._refused = refused
        self._narrow = {f"tensor({type_protos.elem_type_name(number)})" for number in model.wider}
        self._functions = {(function.domain, function.name) for function in model.proto.functions}
        self._may_take: dict[tuple[str, int], bool] = {}

    def run(self) -> Outcome:
        """Widen all types. Where there are blockers, the model is only partly changed."""
        interface = list(self._refused_ends())
        for scope in (self._model.main, *self._model.functions):
            self._walk(scope)
        self.outcome.blockers = [*interface, *self.notes.blockers]
        if not self.outcome.blockers:
            unused.remove(self._model)
            retyping = Retyping(self._model, self.outcome, unpacks=self._wishes.unpack_at_run_time)
            for graph in reversed(all_graphs(self._model.proto)):  # the inner ones first: a graph that gets nodes copies its own
                retyping.retype(graph)
            self._note_lost_rounding()
        return self.outcome

    def _note_lost_rounding(self) -> None:
        if self._model.unrounded:
            self.outcome.inexact.add(UNROUNDED)
            message = "what was bfloat16 is computed in float: numbers differ by the rounding of bfloat16"
            self.outcome.remarks.append(Remark("warning", "model", self._model.proto.graph.name, "all graphs", message))

    def _refused_ends(self) -> Iterator[Blocker]:
        """Blockers for inputs and outputs of the model, which keep their types."""
        graph = self._model.proto.graph
        for what, values in (("input", graph.input), ("output", graph.output)):
            for value in values:
                kind = self._narrow_kind(type_protos.type_string(value.type))
                if kind:
                    reason = f"the model's {what} is {kind}, which {self._lacks(kind)}"
                    yield Blocker(what.capitalize(), value.name, "main graph", "", reason, _HINT)

    def _replaced(self, scope: Scope) -> Iterator[tuple[int, list[NodeProto]]]:
        """Let the nodes of one graph, and before them those of its subgraphs, compute in wider types."""
        for index, proto in enumerate(scope.graph.node):
            for child in scope.children(proto, index, scope.opset):
                self._walk(child)
            node = Task(proto, scope, scope.opset, index)
            self._visit(node)
            if node.has_company:
                yield index, [made.proto for made in node.results()]

    def _visit(self, node: Task) -> None:
        """Let one node compute in wider types, or note why it cannot."""
        origin = (node.op_type, node.name)
        try:
            self._widen_node(node)
        except Unconvertible as refusal:
            self.notes.block(node, None, refusal, origin)
        except NOT_OF_THE_RULE:
            raise
        except Exception as error:
            rule = self._registry.widening(node.op_type)
            raise_rule_error(NAME if rule is None else rule.name, node, "", error)

    def _widen_node(self, node: Task) -> None:
        """Let one node compute in wider types. Raises Unconvertible where that is impossible, or not certain to be right."""
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
                self.notes.change(rule.name, node, op_type)
                for text in node.cautions:
                    self.notes.remark("warning", node, text.message, op_type)
                if not rule.exact:
                    self.outcome.inexact.add(rule.name)
        elif not _keeps_values(node):
            self._require_known(node)
            for kind in sorted(kinds - self._unrounded):
                self._refuse_computing(node, kind)

    def _refuse_computing(self, node: Task, kind: str) -> None:
        raise Unconvertible(
            f"it computes in {kind}, which {self._lacks(kind)}, "
            "and in a wider type the result would not be the same to the last bit",
            f"--allow {FLOAT32_FOR_BFLOAT16} computes in float" if kind == _BFLOAT16 else "",
        )

    @property
    def _unrounded(self) -> set[str]:
        """The types to which results need not be rounded."""
        return {_BFLOAT16} if self._model.unrounded else set()

    @staticmethod
    def _require_known(node: Task) -> None:
        """Raises Unconvertible where the type of a value of `node` is unknown, so that it may be a narrow one."""
        for name in node.inputs:
            if name and node.type_string(name) is None:
                reason = f"the type of '{name}' is unknown, and may be one that the target does not have"
                raise Unconvertible(reason, hints.type_hint(node.scope, name))

    def _require_wide(self, node: Task) -> None:
        """Raises Unconvertible where a node of another domain has a value of a narrow type."""
        if (node.proto.domain, node.op_type) in self._functions:
            return
        for kind in sorted(self._narrow_kinds(node)):
            if is_hidden(node.proto.domain):
                raise unknown_version(node.op_type)
            raise Unconvertible(
                f"it is of the domain {node.proto.domain} and takes {kind}, which {self._lacks(kind)}; "
                "what it does with another type is not known"
            )

    def _lacks(self, kind: str) -> str:
        """The end of a message, behind "which": who lacks the type `kind`, the opset or a runtime."""
        whose = self._refused.get(kind)
        return f"{whose} does not take" if whose else f"does not exist before opset {first_opset(kind)}"

    def _may_be_narrow(self, op_type: str, opset: int) -> bool:
        """Whether the operator accepts one of the narrow types, or has an attribute that can name one."""
        key = op_type, opset
        if key not in self._may_take:
            schema = transitions.schema_at(op_type, opset)
            parameters = () if schema is None else (*schema.inputs, *schema.outputs)
            self._may_take[key] = any(not self._narrow.isdisjoint(parameter.types) for parameter in parameters)
        return self._may_take[key]

    def _narrow_kinds(self, node: Task) -> set[str]:
        """The narrow types of the values that `node` reads and makes."""
        names = filter(None, (*node.inputs, *node.outputs))
        return {kind for name in names if (kind := self._narrow_kind(node.type_string(name)))}

    def _narrow_kind(self, type_string: str | None) -> str:
        """The narrow element type in a type string, also of sequences; "" where there is none."""
        kind = "" if type_string is None else type_string.rpartition("(")[2].rstrip(")")
        return kind if f"tensor({kind})" in self._narrow else ""


def _keeps_values(node: Task) -> bool:
    """Whether each output value of the node is in any type that holds its inputs: it only moves or compares
    data, or its results always fit.
    """
    if reduces(node):
        return False
    if node.op_type == "Dropout":
        training = node.constant(2)
        return not node.has_input(2) or (training is not None and not training.any())
    fact = facts.of(node.op_type)
    return fact.work in (Work.MOVES, Work.ORDERS) or fact.kind in _ALSO_KEEP or fact.has("stays-narrow")
