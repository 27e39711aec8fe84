"""The conversion itself: every node walks its own chain of transitions to the target; nodes that rules make join the work-list.

An operator that did not change between source and target is looked up once for the whole model, not once a node.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

import onnx
from onnx import NodeProto

from . import cleanup, expansion, transitions, widening
from .errors import Blocker
from .graph import Model, Node, Scope, all_graphs
from .rule import Left, Registry, Rule, Unconvertible
from .transitions import Transition

MAX_EXPANSIONS = 100_000
"""Nodes that one node may become: far above any honest rewrite, and an end to a rule that feeds itself."""

GRAPH_HOLDERS = frozenset({"If", "Loop", "Scan", "SequenceMap"})


@dataclass(frozen=True)
class Remark:
    """Something the user should know of one node: a simplification that was left undone, or a caution."""

    kind: Literal["left", "caution"]
    op_type: str
    node: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.op_type} '{self.node}' ({self.where}): {self.message}"

    def as_blocker(self) -> Blocker:
        """What --strict makes of a caution."""
        return Blocker(self.op_type, self.node, self.where, "", self.message, "without --strict this is a warning")


@dataclass
class Outcome:
    """What a conversion did and what it could not do."""

    blockers: list[Blocker] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    applied: Counter[str] = field(default_factory=Counter)
    """How often each rule changed a node, by rule name."""
    inexact: set[str] = field(default_factory=set)
    """Rules among them whose result may differ in the last bits."""


@dataclass(frozen=True)
class Selection:
    """Which rules may run: those that `only` names (all where it is empty), without those that `skip` names.

    A name is a rule ("split.sizes_to_input") or a module ("split").
    """

    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()

    def allows(self, name: str) -> bool:
        names = {name, name.partition(".")[0]}
        return (not self.only or bool(names & self.only)) and not names & self.skip


@dataclass(frozen=True)
class _Route:
    """What may happen to the nodes of one operator in the form of one opset."""

    simplifications: tuple[Rule, ...]
    steps: tuple[Transition, ...]
    """The steps to the target that are not free for this model; up to the last of them."""


class Engine:
    """Converts `model` to opset `target` (None: each graph keeps its own) by the rules of `registry`."""

    def __init__(self, model: Model, target: int | None, registry: Registry, selection: Selection) -> None:
        self._model = model
        self._target = target
        self._registry = registry
        self._selection = selection
        self._types = transitions.possible_types(model.proto, all_graphs(model.proto))
        self._routes: dict[tuple[str, int, int], _Route | None] = {}
        self._blocked: list[tuple[NodeProto, Blocker]] = []
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Convert the main graph and the functions, then clean up. Edits the model in place, blockers or not."""
        for scope in (self._model.main, *self._model.functions):
            if scope.opset:
                self._convert(scope, self._target or scope.opset)
        removed = cleanup.clean(self._model)
        self.outcome.blockers = [
            blocker for node, blocker in self._blocked if not _all_gone(node, removed)
        ]
        return self.outcome

    # -- graphs

    def _convert(self, scope: Scope, target: int) -> None:
        rebuilt: dict[int, list[NodeProto]] = {}
        for index, proto in enumerate(scope.graph.node):
            if proto.domain:
                if proto.attribute:
                    self._descend(Node(proto, scope, scope.opset, index), target)
                continue
            if self._route(proto.op_type, scope.opset, target) is None:
                continue
            nodes = self._work(Node(proto, scope, scope.opset, index), target)
            if len(nodes) != 1 or nodes[0] is not proto:
                rebuilt[index] = nodes
        if rebuilt:
            _rebuild(scope, rebuilt)

    def _descend(self, node: Node, target: int) -> None:
        for scope in node.scope.children(node.proto, node.source_index, node.body_opset):
            self._convert(scope, target)

    # -- nodes

    def _work(self, first: Node, target: int) -> list[NodeProto]:
        """The nodes that `first` becomes, all at the target, in topological order."""
        finished: list[NodeProto] = []
        settled: set[int] = set()
        pending = [first]
        while pending:
            node = pending.pop()
            if id(node) in settled:
                if node.op_type in GRAPH_HOLDERS:
                    self._descend(node, target)
                finished.append(node.proto)
                continue
            self._walk(node, target)
            settled.add(id(node))
            made = [*node.added_before, *([] if node.removed else [node]), *node.added_after]
            pending.extend(reversed(made))
            if len(finished) + len(pending) > MAX_EXPANSIONS:
                raise RuntimeError(f"the rules for {first.op_type} do not come to an end")
        return finished

    def _walk(self, node: Node, target: int) -> None:
        """Take one node as far as its rules go."""
        tried: set[str] = set()
        step: Transition | None = None
        try:
            while not node.removed:
                route = self._route(node.op_type, node.opset, target)
                if route is None:
                    return
                if self._simplify(node, route, tried):
                    continue
                if not route.steps:
                    return
                step = route.steps[0]
                self._take(node, step)
                step = None
        except Unconvertible as refusal:
            self._block(node, step, refusal)

    def _simplify(self, node: Node, route: _Route, tried: set[str]) -> bool:
        """Try each simplification once; True as soon as one changed the node."""
        for rule in route.simplifications:
            if rule.name in tried:
                continue
            tried.add(rule.name)
            try:
                if self._apply(rule, node):
                    return True
            except Left as reason:
                self._remark("left", node, str(reason))
        return False

    def _take(self, node: Node, step: Transition) -> None:
        """One version step: the rule if there is one, then the gates that the schemas imply."""
        if step.older is None:
            self._decompose(node, step)
            return
        rule = self._registry.transition(step.op_type, step.newer, step.up)
        if step.review is None:
            raise Unconvertible(
                f"the installed onnx {onnx.__version__} has a version of {step.op_type} that nobody has reviewed yet",
                "update split-rewrite, or choose a target on this side of it",
            )
        if rule is None and step.review in ("H", "V", "N"):
            raise Unconvertible(f"there is no rule for this step of {step.op_type} yet")
        opset = node.opset
        if rule is not None:
            self._require_selected(rule)
            self._apply(rule, node)
        if node.removed or node.op_type != step.op_type or node.opset not in (opset, step.opset_after):
            return  # gone, or on another chain now
        node.opset = opset
        self._gate(node, step)
        node.opset = step.opset_after

    def _gate(self, node: Node, step: Transition) -> None:
        delta = step.delta
        if delta.target.deprecated and not delta.source.deprecated:
            raise Unconvertible(f"{step.op_type} is deprecated in opset {step.opset_after} and has no rule there")
        if delta.touches_every_node:
            node.changed |= delta.gate_attributes(node.proto, step.review or "")
            delta.gate_arity(node.proto)
        if self._types is not None and not delta.new_ties and delta.lost_types.isdisjoint(self._types):
            return
        if not delta.lost_types and not delta.new_ties:
            return
        wrong = delta.wrong_types(node.proto, node.scope.type_string)
        if wrong:
            node.written_for = step.opset_after
            widening.widen(node, wrong, delta)
            self.outcome.applied["widening.cast_around"] += 1

    def _decompose(self, node: Node, step: Transition) -> None:
        rule = self._registry.decomposition(step.op_type)
        if rule is not None:
            self._require_selected(rule)
            self._apply(rule, node)
            if not node.removed and node.op_type == step.op_type:
                raise RuntimeError(f"{rule.name} left its {step.op_type} in place")
            return
        node.written_for = node.opset
        expansion.expand(node)
        self.outcome.applied["expansion.function_body"] += 1
        self.outcome.inexact.add("expansion.function_body")

    def _require_selected(self, rule: Rule) -> None:
        if not self._selection.allows(rule.name):
            raise Unconvertible(f"rule {rule.name} is needed here, and --only or --skip excludes it")

    def _apply(self, rule: Rule, node: Node) -> bool:
        """Run the rule; True if it changed the node."""
        before, node.changed = node.changed, False
        op_type = node.op_type
        node.written_for = rule.written_for
        rule.apply(node)
        for message in node.cautions:
            self._remark("caution", node, message, op_type)
        node.cautions.clear()
        changed = node.changed
        node.changed |= before
        if changed:
            self.outcome.applied[rule.name] += 1
            if not rule.exact:
                self.outcome.inexact.add(rule.name)
        return changed

    def _block(self, node: Node, step: Transition | None, refusal: Unconvertible) -> None:
        transition = "" if step is None else str(step)
        blocker = Blocker(node.op_type, node.name, node.scope.where, transition, refusal.reason, refusal.hint)
        self._blocked.append((node.proto, blocker))

    def _remark(self, kind: Literal["left", "caution"], node: Node, message: str, op_type: str = "") -> None:
        self.outcome.remarks.append(Remark(kind, op_type or node.op_type, node.name, node.scope.where, message))

    # -- routes

    def _route(self, op_type: str, opset: int, target: int) -> _Route | None:
        """What may happen to `op_type` nodes between `opset` and `target`; None where nothing can."""
        key = (op_type, opset, target)
        if key not in self._routes:
            self._routes[key] = self._make_route(op_type, opset, target)
        return self._routes[key]

    def _make_route(self, op_type: str, opset: int, target: int) -> _Route | None:
        simplifications = tuple(
            rule for rule in self._registry.simplifications(op_type) if self._selection.allows(rule.name)
        )
        steps = transitions.path(op_type, opset, target)
        while steps and self._is_free(steps[0]):
            steps = steps[1:]
        if not steps and not simplifications and op_type not in GRAPH_HOLDERS:
            return None
        return _Route(simplifications, steps)

    def _is_free(self, step: Transition) -> bool:
        if step.older is None or step.review is None or step.review in ("H", "V", "N"):
            return False
        if self._registry.transition(step.op_type, step.newer, step.up) is not None:
            return False
        delta = step.delta
        if delta.target.deprecated or delta.touches_every_node or delta.new_ties:
            return False
        return not delta.lost_types or (self._types is not None and delta.is_free(self._types))


def _rebuild(scope: Scope, replaced: dict[int, list[NodeProto]]) -> None:
    """Put the new node list in place. The views on the old one are stale from here on."""
    nodes: list[NodeProto] = []
    for index, proto in enumerate(scope.graph.node):
        nodes.extend(replaced.get(index, (proto,)))
    del scope.graph.node[:]
    scope.graph.node.extend(nodes)
    scope.__dict__.pop("producers", None)


def _all_gone(node: NodeProto, removed: set[str]) -> bool:
    outputs = [name for name in node.output if name]
    return bool(outputs) and removed.issuperset(outputs)
