"""The conversion itself: each node takes its own steps from version to version to the target; nodes that
rules make are converted too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from onnx import NodeProto

from .. import calls, progress
from ..errors import NotSimplified, Unconvertible
from ..graph.model import Model
from ..graph.scope import Scope
from ..onnx_model.domains import ONNX_DOMAINS
from ..onnx_model.protos import label_of
from ..opsets import transitions
from ..opsets.facts import GRAPH_HOLDERS
from ..opsets.stated_types import possible_types
from ..opsets.unread import is_hidden
from ..structure.specialization import Key
from . import unused
from .avoidance import Avoidance
from .changing_functions import changing_functions
from .failures import NOT_OF_THE_RULE, raise_rule_error
from .fitting import Fitting, Hopeless, Plans, Trial
from .outcome import Outcome, Rewrite
from .registry import Registry, Rule
from .restrictions import UNRESTRICTED, Restrictions
from .routes import FOREIGN, STAYS, Route, Routes, Step
from .rule_use import RuleUse
from .selection import Selection
from .steps import Steps
from .task import Task
from .tidying import Tidying
from .trials import READER
from .walk import Walk, hand_on
from .ways import Ways

MAX_EXPANSIONS = 100_000
"""The number of nodes that one node may become: far more than any sensible rewrite needs, and a limit for a
rule that never ends.
"""
MOST_GENERATIONS = 1_000
"""The number of rules that may lead from a node to one that it became: as far, for rules that make each other's nodes."""


NODES_A_STEP = 64
"""The number of nodes between two announcements of progress."""


class Engine(Walk):
    """Converts `model` to opset `target` by the rules of `registry`. With `target` None, each graph keeps its own opset.

    `restrictions` say what the result may not contain because of the runtimes that it is for. `plans` are those of earlier
    conversions of the same model with all of these, which may be reused.
    """

    def __init__(
        self,
        model: Model,
        target: int | None,
        registry: Registry,
        selection: Selection,
        restrictions: Restrictions = UNRESTRICTED,
        plans: Plans | None = None,
        trial: Trial | None = None,
    ) -> None:
        super().__init__(model)
        self._registry = registry
        self._target = target
        self._only_onnx = restrictions.only_onnx
        self._functions = {(function.domain, function.name) for function in model.proto.functions}
        model.refused_operators = restrictions.operators.keys()
        domains = {function.domain for function in model.proto.functions}
        types = possible_types(model.survey.graphs, model.survey.operators, domains)
        self._routes = Routes(registry, selection, restrictions, types)
        self._rules = RuleUse(model, selection, self.notes)
        self._steps = Steps(registry, selection, self._routes, self._rules, self.notes)
        self._avoidance = Avoidance(registry, restrictions, self._rules, self.notes)
        self._fitting: Fitting | None = None
        if restrictions.lists:
            ways = Ways(registry, selection, self._routes, self._steps, self._rules, self.notes)
            run = partial(_run_trial, target, registry, selection, restrictions)
            self._fitting = Fitting(restrictions, ways, self.notes, run, plans or Plans(), trial)

    @np.errstate(all="ignore")  # of infinities in constants numpy warns on standard error
    def run(self) -> Outcome:
        """Convert the main graph and the functions, then clean up. The model is edited in place, also where there are blockers."""
        for scope in (self._model.main, *self._model.functions):
            if scope.opset:
                self._convert(scope, self._target or scope.opset)
        removed = unused.remove(self._model)
        self.notes.finish(removed, self._model.contradictions)
        if self.outcome.blockers:
            unread = unused.remove_unread(self._model, self.notes.blocked_values())
            self.notes.forget_unread(unread)
            removed |= unread
        for rewrite in self.outcome.rewrites if self._model.aliases or removed else ():
            rewrite.settle(removed)
        self.outcome.remarks += self._avoidance.remarks()
        if self._fitting is not None:
            self._fitting.note_unchecked(self._model)
        return self.outcome

    def functions_that_may_change(self) -> dict[Key, set[str]]:
        """The functions that the conversion may change; see `changing_functions`. The model is not edited."""
        return changing_functions(self._model, self._target, self._routes, self._registry.replaced)

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
            if not index % NODES_A_STEP:
                calls.check()
                if advance is not None:
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
        if route is FOREIGN and label not in self._registry.replaced:
            node = Task(proto, scope, scope.opset, source_index)
            if is_hidden(proto.domain):
                self._require_same_form(node, scope.target)
            else:
                self._require_allowed(node)
            self._descend(node, scope.target)
            return [proto]
        is_demanded = route.is_restricted or route.respellings
        is_converted = route is FOREIGN or route.step or is_demanded or proto.op_type in GRAPH_HOLDERS
        opset = scope.opset if route is FOREIGN else transitions.form_opset(label, scope.opset)
        node = Task(proto, scope, opset, source_index)
        if not (is_converted or route.may_simplify(node)):
            return [proto]
        if self._fitting is not None:
            self._fitting.begin(node)
        outputs = proto.output[:]
        nodes = self._work(node, scope.target, tidying)
        if node.changed and _was_read(scope, index, outputs):
            self.outcome.rewrites.append(Rewrite(scope, index, label, nodes))
        if proto.metadata_props or proto.doc_string:
            hand_on(proto, nodes)
        return nodes

    def _require_allowed(self, node: Task) -> None:
        """Block a node of another domain than ONNX's, if the result may have none, or a list does not name it."""
        if node.proto.domain == READER:
            return
        is_onnx = node.proto.domain in ONNX_DOMAINS or (node.proto.domain, node.op_type) in self._functions
        if self._only_onnx and not is_onnx:
            reason = f"{label_of(node.proto)} is not an ONNX operator, and no rule replaced it"
            refusal = Unconvertible(reason, "leave out --standard, or give a rule for it with Options(rules=…)")
            self.notes.block(node, None, refusal, (node.op_type, node.name))
        elif self._fitting is not None:
            self._fitting.require_foreign(node)

    def _require_same_form(self, node: Task, target: int) -> None:
        """Block a node of a version that nobody has read, if the target has another version of its operator."""
        if not transitions.has_same_form(node.op_type, node.opset, target):
            self.notes.block(node, None, transitions.unknown_version(node.op_type), (node.op_type, node.name))

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
        for _ in range(MAX_EXPANSIONS):
            if not pending:
                break
            calls.check()
            node = pending.pop()
            node.waits = False
            if node.proto.domain and not node.settled:
                pending += self._queue(node, self._replace(node, origin), origin)
                continue
            is_made = node is not first or node.op_type != origin[0]
            is_as_made = node.settled and not node.changed  # tidying has seen it
            if is_made and not is_as_made and tidying.dissolves(node):
                continue
            if node.settled or node.proto.domain:  # a rule may move nodes of other domains
                if node.proto.domain:
                    self._require_allowed(node)
                if node.op_type in GRAPH_HOLDERS or node.proto.domain:
                    self._descend(node, target)
                finished.append(node.proto)
                continue
            is_done = self._take_steps(node, target, origin)
            node.settled = is_done and label_of(node.proto) not in self._registry.replaced
            pending += self._queue(node, node.results() if is_done else node.take_results(), origin)
        else:
            self._rules.raise_endless(origin[0])
        return finished

    def _queue(self, node: Task, results: list[Task], origin: tuple[str, str]) -> list[Task]:
        """The nodes that stand in the place of `node` now, the last of them first."""
        if node.generation >= MOST_GENERATIONS and (results != [node] or not node.settled):
            self._rules.raise_endless(origin[0])
        node.waits = results[:1] != [node]
        for each in results:
            if each is not node:
                each.lineage, each.generation, each.in_vain = node.lineage, node.generation + 1, node.in_vain
        return results[::-1]

    def _replace(self, node: Task, origin: tuple[str, str]) -> list[Task]:
        """The nodes that replace a node of another domain by the user's rule, or one that ONNX does not have by the rule that
        adopts it; they are converted further from the opset of that rule.
        """
        label = label_of(node.proto)
        rule = self._registry.replacement(label)
        try:
            if rule is not None:
                self._rules.require(rule.name)
                is_changed = self._rules.apply(rule, node)
                if rule.of_caller and is_changed and not node.removed and label_of(node.proto) == label:
                    self._rules.raise_left_in_place(rule, label)
        except Unconvertible as refusal:
            self.notes.block(node, None, refusal, origin)
        except NOT_OF_THE_RULE:
            raise
        except Exception as error:
            raise_rule_error(self._rules.at_work, node, "", error)
        made = node.take_results()
        became = label_of(node.proto)
        node.generation += 1
        node.settled = node.proto.domain != "" and (became == label or became not in self._registry.replaced)
        return made

    def _take_steps(self, node: Task, target: int, origin: tuple[str, str]) -> bool:
        """Convert one node as far as its rules go. False where nodes that were put before it have to be converted first.

        `origin` is the operator and name of the node of the original model that it comes from.
        """
        tried: set[Rule] = set()
        avoided = node.avoided
        simplified = ""
        made = node.source_index is None
        written = "" if made else node.op_type
        step: Step | None = None
        self._rules.at_work = "conversion"
        try:
            for _ in range(MOST_GENERATIONS):
                if node.removed or node.proto.domain:
                    break
                op_type = node.op_type
                if op_type != written:
                    self._steps.gate_written(node, target)
                    written = op_type
                route = self._routes.find(op_type, node.opset, target, made)
                if route is None:
                    return True
                if node.depends_on_call:  # nobody calls the function, or a rule moved a node that stays
                    if route.step is not None or route.is_restricted:
                        node.require_values()
                    return True
                if op_type != simplified and self._simplify(node, route, tried):
                    continue
                simplified = op_type
                if route.step is None:
                    if self._respell(node, route):
                        made = True
                        continue
                    if self._avoidance.avoid(node, route, avoided):
                        made = True
                        continue
                    if self._fitting is not None and self._fitting.fit(node):
                        if not node.removed:
                            node.scope.register(node.proto, node.opset)
                        if node.reads_new_nodes:
                            return False
                        made = True
                        continue
                    self._avoidance.require_taken(node, route)
                    return True
                step = route.step
                self._steps.take(node, step)
                if self._fitting is not None:
                    self._fitting.require_pieces(node)
                made = made or node.op_type != op_type or node.has_company
                step = None
            else:
                self._rules.raise_endless(origin[0])
        except Hopeless as refusal:
            self.notes.block(refusal.node, step, refusal, origin)
        except Unconvertible as refusal:
            self.notes.block(node, step, _with_reason_to_stay(node, step, refusal), origin)
        except NOT_OF_THE_RULE:
            raise
        except Exception as error:
            raise_rule_error(self._rules.at_work, node, "" if step is None else str(step.transition), error)
        return True

    def _simplify(self, node: Task, route: Route, tried: set[Rule]) -> bool:
        """Try each simplification once; True as soon as one changed the node."""
        needed = route.step is not None or node.source_index is None
        for rule in route.simplifications:
            if rule in tried or (rule.when is not None and not rule.when(node)):
                continue
            tried.add(rule)
            scope = node.scope
            try:
                if self._rules.apply(rule, node, needed=needed):
                    if not node.removed:
                        scope.register(node.proto, node.opset)
                    return True
            except (NotSimplified, Unconvertible) as reason:
                node.kept = reason
                self.notes.left(node, str(reason))
        return False

    def _respell(self, node: Task, route: Route) -> bool:
        """Try each rule that spells the node otherwise; True as soon as one did."""
        for rule in route.respellings:
            if self._rules.apply(rule, node):
                if not node.removed:
                    node.scope.register(node.proto, node.opset)
                return True
        return False


def _run_trial(
    target: int | None, registry: Registry, selection: Selection, restrictions: Restrictions, model: Model, trial: Trial
) -> Outcome:
    """Convert a model of one node, which is to be written in the form of `trial`."""
    return Engine(model, target, registry, selection, restrictions, trial.plans, trial).run()


def _with_reason_to_stay(node: Task, step: Step | None, refusal: Unconvertible) -> Unconvertible:
    """The refusal; that of an operator that the target lacks extended by the reason why no simplification removed the node."""
    return refusal if step is None or step.transition.older is not None else node.with_reason_to_stay(refusal)


def _was_read(scope: Scope, index: int, outputs: Sequence[str]) -> bool:
    """Whether node number `index`, which has these `outputs`, stands there in the model as it was read: rules may have made the
    graph, or put other nodes into it before they were visited.
    """
    if not scope.is_original or scope.parent is None:
        return scope.is_original
    nodes = scope.original_graph.node
    return index < len(nodes) and nodes[index].output[:] == outputs
