"""The conversion itself: each node takes its own steps from version to version to the target; nodes that
rules make are converted too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from onnx import FunctionProto, NodeProto

from .. import progress
from ..errors import NotSimplified, Unconvertible
from ..graph.model import Model
from ..graph.protos import GRAPH_HOLDERS, GRAPH_TYPES, label_of, may_hold_graphs
from ..graph.scope import Scope
from ..graph.specialization import Key, idle_parameters, key_of
from ..opsets import transitions
from ..opsets.stated_types import possible_types
from . import unused
from .avoidance import Avoidance
from .failures import NOT_OF_THE_RULE, raise_rule_error
from .outcome import Outcome, Rewrite
from .registry import Registry, Rule
from .restrictions import UNRESTRICTED, Restrictions
from .routes import FOREIGN, STAYS, Route, Routes, Step
from .rule_use import RuleUse
from .selection import Selection
from .steps import Steps
from .task import Task
from .tidying import Tidying
from .walk import Walk, hand_metadata_on

MAX_EXPANSIONS = 100_000
"""The number of nodes that one node may become: far more than any sensible rewrite needs, and a limit for a
rule that never ends.
"""


NODES_A_STEP = 4096
"""The number of nodes between two progress updates."""


class Engine(Walk):
    """Converts `model` to opset `target` by the rules of `registry`. With `target` None, each graph keeps its own opset.

    `restrictions` say what the result may not contain because of the runtimes that it is for. `replacements` are rules for
    operators of other domains, by "domain::operator".
    """

    def __init__(
        self,
        model: Model,
        target: int | None,
        registry: Registry,
        selection: Selection,
        restrictions: Restrictions = UNRESTRICTED,
        replacements: Mapping[str, Rule] | None = None,
    ) -> None:
        super().__init__(model)
        self._replacements = replacements or {}
        self._target = target
        model.refused_operators = restrictions.operators.keys()
        domains = {function.domain for function in model.proto.functions}
        types = possible_types(model.survey.graphs, model.survey.operators, domains)
        self._routes = Routes(registry, selection, restrictions, types)
        self._rules = RuleUse(model, selection, self.notes)
        self._steps = Steps(registry, selection, self._routes, self._rules, self.notes)
        self._avoidance = Avoidance(registry, restrictions, self._rules, self.notes)

    @np.errstate(all="ignore")  # of infinities in constants numpy warns on standard error
    def run(self) -> Outcome:
        """Convert the main graph and the functions, then clean up. The model is edited in place, also where there are blockers."""
        for scope in (self._model.main, *self._model.functions):
            if scope.opset:
                self._convert(scope, self._target or scope.opset)
        removed = unused.remove(self._model)
        for rewrite in self.outcome.rewrites if self._model.aliases or removed else ():
            rewrite.settle(removed)
        self.notes.finish(removed, self._model.contradictions)
        self.outcome.remarks += self._avoidance.remarks()
        return self.outcome

    def functions_that_may_change(self) -> dict[Key, set[str]]:
        """The functions that have a node which a rule may change on the way to the target, each with those parameters that decide
        nothing for that. The model is not edited.
        """
        found: dict[Key, set[str]] = {}
        for scope in self._model.functions:
            target = self._target or scope.opset
            if isinstance(scope.graph, FunctionProto) and scope.opset and self._may_change(scope, target):
                stays = partial(self._stays, scope, target)
                found[key_of(scope.graph)] = idle_parameters(scope.graph, stays)
        return found

    def _stays(self, scope: Scope, target: int, node: NodeProto) -> bool:
        return self._routes.of_label(label_of(node), scope, target) is STAYS

    def _may_change(self, scope: Scope, target: int) -> bool:
        return any(self._may_change_node(index, label, scope, target) for index, label in enumerate(scope.labels))

    def _may_change_node(self, index: int, label: str, scope: Scope, target: int) -> bool:
        route, proto = self._routes.of_label(label, scope, target), scope.graph.node[index]
        if any(attribute.ref_attr_name and attribute.type in GRAPH_TYPES for attribute in proto.attribute):
            return True
        if label in self._replacements or route.step or route.is_restricted:
            return True
        if route.may_simplify(Task(proto, scope, scope.opset)):
            return True
        return may_hold_graphs(label) and any(
            self._may_change(inner, target) for inner in scope.children(proto, index, scope.opset)
        )

    # -- graphs

    def _convert(self, scope: Scope, target: int) -> None:
        """Convert every node of the graph to `target`, and replace it by the nodes that it becomes."""
        scope.target = target
        self._walk(scope)

    def _replaced(self, scope: Scope) -> Iterator[tuple[int, list[NodeProto]]]:
        routes: dict[str, Route] = {}
        tidying = Tidying(scope)
        advance = progress.begin("converting", len(scope.graph.node)) if scope.parent is None else None
        protos = scope.graph.node
        for index, label in enumerate(scope.labels):
            if advance is not None and not index % NODES_A_STEP:
                advance(NODES_A_STEP)
            route = routes.get(label)
            if route is None:
                route = routes[label] = self._routes.of_label(label, scope, scope.target)
            if route is STAYS:
                continue
            tidying.position = index
            nodes = self._visit(scope, index, label, route, tidying)
            if len(nodes) != 1 or nodes[0] is not protos[index]:
                yield index, nodes

    def _visit(self, scope: Scope, index: int, label: str, route: Route, tidying: Tidying) -> list[NodeProto]:
        """The nodes that node number `index` of the graph becomes, and that is itself where nothing can change it."""
        proto, source_index = scope.graph.node[index], index if scope.is_original else None
        if route is FOREIGN and label not in self._replacements:
            self._descend(Task(proto, scope, scope.opset, source_index), scope.target)
            return [proto]
        is_converted = route is FOREIGN or route.step or route.is_restricted or proto.op_type in GRAPH_HOLDERS
        opset = scope.opset if route is FOREIGN else transitions.form_opset(label, scope.opset)
        node = Task(proto, scope, opset, source_index)
        if not (is_converted or route.may_simplify(node)):
            return [proto]
        nodes = self._work(node, scope.target, tidying)
        if node.changed and scope.is_original:
            self.outcome.rewrites.append(Rewrite(scope, index, label, nodes))
        if proto.metadata_props:
            hand_metadata_on(proto, nodes)
        return nodes

    def _descend(self, node: Task, target: int) -> None:
        """Convert the subgraphs of `node`."""
        for scope in node.scope.children(node.proto, node.source_index, node.body_opset):
            self._convert(scope, target)

    # -- nodes

    def _work(self, first: Task, target: int, tidying: Tidying) -> list[NodeProto]:
        """The nodes that `first` becomes, all in the form of the target, in topological order."""
        finished: list[NodeProto] = []
        origin = (first.op_type, first.name)
        pending = [first]
        while pending:
            node = pending.pop()
            if node.proto.domain and not node.settled:
                pending.extend(reversed(self._replace(node, origin)))
                continue
            is_made = node is not first or node.op_type != origin[0]
            is_as_made = node.settled and not node.changed  # tidying has seen it
            if is_made and not is_as_made and tidying.dissolves(node):
                continue
            if node.settled or node.proto.domain:  # a rule may move nodes of other domains
                if node.op_type in GRAPH_HOLDERS or node.proto.domain:
                    self._descend(node, target)
                finished.append(node.proto)
                continue
            self._take_steps(node, target, origin)
            node.settled = True
            made = node.results()
            pending.extend(reversed(made))
            if len(finished) + len(pending) > MAX_EXPANSIONS:
                raise RuntimeError(f"the rules for {first.op_type} do not come to an end")
        return finished

    def _replace(self, node: Task, origin: tuple[str, str]) -> list[Task]:
        """The nodes that replace a node of another domain by the user's rule; they are converted further
        from the opset of that rule.
        """
        rule = self._replacements.get(label_of(node.proto))
        try:
            if rule is not None:
                self._rules.apply_of_user(rule, node)
        except Unconvertible as refusal:
            self.notes.block(node, None, refusal, origin)
        made = node.take_results()
        node.settled = node.proto.domain != ""
        return made

    def _take_steps(self, node: Task, target: int, origin: tuple[str, str]) -> None:
        """Convert one node as far as its rules go.

        `origin` is the operator and name of the node of the original model that it comes from.
        """
        tried: set[str] = set()
        avoided: set[str] = set()
        simplified = ""
        made = node.source_index is None
        written = "" if made else node.op_type
        step: Step | None = None
        self._rules.at_work = "conversion"
        try:
            while not node.removed:
                op_type = node.op_type
                if op_type != written:
                    self._steps.gate_written(node, target)
                    written = op_type
                route = self._routes.find(op_type, node.opset, target, made)
                if route is None:
                    return
                if node.depends_on_call:  # nobody calls the function, or a rule moved a node that stays
                    if route.step is not None or route.is_restricted:
                        node.require_values()
                    return
                if op_type != simplified and self._simplify(node, route, tried):
                    continue
                simplified = op_type
                if route.step is None:
                    if self._avoidance.avoid(node, route, avoided):
                        made = True
                        continue
                    self._avoidance.require_taken(node, route)
                    return
                step = route.step
                self._steps.take(node, step)
                made = made or node.op_type != op_type or node.has_company
                step = None
        except Unconvertible as refusal:
            self.notes.block(node, step, _with_reason_to_stay(node, step, refusal), origin)
        except NOT_OF_THE_RULE:
            raise
        except Exception as error:
            raise_rule_error(self._rules.at_work, node, "" if step is None else str(step.transition), error)

    def _simplify(self, node: Task, route: Route, tried: set[str]) -> bool:
        """Try each simplification once; True as soon as one changed the node."""
        for rule in route.simplifications:
            if rule.name in tried or (rule.when is not None and not rule.when(node)):
                continue
            tried.add(rule.name)
            scope = node.scope
            try:
                if self._rules.apply(rule, node):
                    if not node.removed:
                        scope.register(node.proto, node.opset)
                    return True
            except (NotSimplified, Unconvertible) as reason:
                node.kept = reason
                self.notes.left(node, str(reason))
        return False


def _with_reason_to_stay(node: Task, step: Step | None, refusal: Unconvertible) -> Unconvertible:
    """The refusal of an operator that the target lacks, extended by the reason why no simplification removed the node."""
    if step is None or step.transition.older is not None or node.kept is None:
        return refusal
    return Unconvertible(f"{refusal.reason}; it stays because {node.kept}", refusal.hint or getattr(node.kept, "hint", ""))
