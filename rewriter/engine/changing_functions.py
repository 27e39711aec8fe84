"""Tells before a conversion which functions of the model it may change."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from onnx import FunctionProto, NodeProto

from ..graph.model import Model
from ..graph.scope import Scope
from ..onnx_model.protos import GRAPH_TYPES, label_of
from ..opsets.facts import may_hold_graphs
from ..structure.specialization import Key, idle_parameters, key_of
from .routes import STAYS, Routes
from .task import Task


def changing_functions(model: Model, target: int | None, routes: Routes, replaced: Collection[str]) -> dict[Key, set[str]]:
    """The functions that have a node which a rule may change on the way to `target`, each with those parameters that decide
    nothing for that. With `target` None, each function keeps its own opset. `replaced` has the operators of other domains that
    become others, as "domain::operator".
    """
    found: dict[Key, set[str]] = {}
    for scope in model.functions:
        if isinstance(scope.graph, FunctionProto) and scope.opset:
            changing = _Changing(routes, replaced, target or scope.opset)
            if changing.any_node(scope):
                found[key_of(scope.graph)] = idle_parameters(scope.graph, partial(changing.stays, scope))
    return found


class _Changing(NamedTuple):
    """What a conversion to `target` changes."""

    routes: Routes
    replaced: Collection[str]
    target: int

    def stays(self, scope: Scope, node: NodeProto) -> bool:
        """Whether nothing is ever done with such a node."""
        return self.routes.of_label(label_of(node), scope, self.target) is STAYS

    def any_node(self, scope: Scope) -> bool:
        """Whether a rule may change a node of the graph, or of the graphs in it."""
        return any(self._one_node(index, label, scope) for index, label in enumerate(scope.labels))

    def _one_node(self, index: int, label: str, scope: Scope) -> bool:
        route, proto = self.routes.of_label(label, scope, self.target), scope.graph.node[index]
        if any(attribute.ref_attr_name and attribute.type in GRAPH_TYPES for attribute in proto.attribute):
            return True
        if label in self.replaced or route.step or route.is_restricted or route.respellings:
            return True
        if route.may_simplify(Task(proto, scope, scope.opset)):
            return True
        return may_hold_graphs(label) and any(self.any_node(inner) for inner in scope.children(proto, index, scope.opset))
