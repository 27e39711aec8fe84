"""The conversion itself: each node takes its own steps from version to version to the target; nodes that
rules make are converted too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Literal

import numpy as np
from onnx import FunctionProto, NodeProto

from .. import progress
from ..errors import ArgumentError, Blocker, NotSimplified, Unconvertible, Undecided
from ..graph import declarations
from ..graph.model import Model
from ..graph.protos import GRAPH_HOLDERS, GRAPH_TYPES, label_of, may_hold_graphs, subgraphs
from ..graph.scope import Scope
from ..graph.specialization import Key, idle_parameters, key_of
from ..opsets import transitions
from ..opsets.inference import Shape
from ..opsets.transitions import Delta, Transition
from . import cleanup, widening
from .failures import NOT_OF_THE_RULE, raise_rule_error
from .flags import odd_flag
from .operands import make_vectors
from .outcome import Change, Outcome, Remark, Rewrite, all_gone
from .registry import Registry, Rule
from .restrictions import UNRESTRICTED, Restrictions
from .routes import FOREIGN, STAYS, Route, Routes, Step
from .selection import Selection
from .task import Task
from .tidying import Tidying

MAX_EXPANSIONS = 100_000
"""The number of nodes that one node may become: far more than any sensible rewrite needs, and a limit for a
rule that never ends.
"""


NODES_A_STEP = 4096
"""The number of nodes between two progress updates."""


def _excluded(name: str) -> Unconvertible:
    """The refusal of a node that needs the rule `name`, which the user excluded."""
    return Unconvertible(f"rule {name} is needed here, and --only or --skip excludes it")


class Engine:
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
        self._replacements = replacements or {}
        self._model = model
        self._target = target
        self._registry = registry
        self._selection = selection
        self._restrictions = restrictions
        model.refused_operators = restrictions.operators.keys()
        self._types = transitions.possible_types(
            model.survey.graphs, model.survey.operators, {function.domain for function in model.proto.functions}
        )
        self._routes = Routes(registry, selection, restrictions, self._types)
        self._blocked: list[tuple[NodeProto, Blocker]] = []
        self._left: list[tuple[NodeProto, Remark]] = []
        self._at_work = ""
        """The name of the rule or mechanism that was started last."""
        self.outcome = Outcome()

    @np.errstate(all="ignore")  # of infinities in constants numpy warns on standard error
    def run(self) -> Outcome:
        """Convert the main graph and the functions, then clean up. The model is edited in place, also where there are blockers."""
        for scope in (self._model.main, *self._model.functions):
            if scope.opset:
                self._convert(scope, self._target or scope.opset)
        removed = cleanup.clean(self._model)
        for rewrite in self.outcome.rewrites if self._model.aliases or removed else ():
            rewrite.settle(removed)
        self.outcome.remarks += [_contradicted(found) for found in self._model.contradictions]
        alive = [blocker for node, blocker in self._blocked if not all_gone(node, removed)]
        gone = {id(remark) for node, remark in self._left if all_gone(node, removed)}
        self.outcome.remarks = [remark for remark in self.outcome.remarks if id(remark) not in gone]
        self.outcome.remarks += self._avoided()
        self.outcome.blockers = list({(b.where, b.op_type, b.node): b for b in reversed(alive)}.values())[::-1]
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
        original = scope.is_original
        rebuilt: dict[int, list[NodeProto]] = {}
        routes: dict[str, Route] = {}
        tidying = Tidying(scope)
        advance = progress.begin("converting", len(scope.graph.node)) if scope.parent is None else None
        protos = scope.graph.node
        for index, label in enumerate(scope.labels):
            if advance is not None and not index % NODES_A_STEP:
                advance(NODES_A_STEP)
            route = routes.get(label)
            if route is None:
                route = routes[label] = self._routes.of_label(label, scope, target)
            if route is STAYS:
                continue
            proto, tidying.position = protos[index], index
            if route is FOREIGN and label not in self._replacements:
                self._descend(Task(proto, scope, scope.opset, index if original else None), target)
                continue
            is_converted = route is FOREIGN or route.step or route.is_restricted or proto.op_type in GRAPH_HOLDERS
            opset = scope.opset if route is FOREIGN else transitions.form_opset(label, scope.opset)
            node = Task(proto, scope, opset, index if original else None)
            if not (is_converted or route.may_simplify(node)):
                continue
            nodes = self._work(node, target, tidying)
            if node.changed and original:
                self.outcome.rewrites.append(Rewrite(scope, index, label, nodes))
            if len(nodes) != 1 or nodes[0] is not proto:
                if proto.metadata_props:
                    _hand_metadata_on(proto, nodes)
                rebuilt[index] = nodes
        if rebuilt:
            rebuild(scope, rebuilt)

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
            self._walk(node, target, origin)
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
                self._apply_of_user(rule, node)
        except Unconvertible as refusal:
            self._block(node, None, refusal, origin)
        made = node.take_results()
        node.settled = node.proto.domain != ""
        return made

    def _apply_of_user(self, rule: Rule, node: Task) -> None:
        """Run a rule that the user asked for, perhaps one of their own.

        Raises Unconvertible; ArgumentError where the rule itself fails.
        """
        self._require(rule.name)
        try:
            self._apply(rule, node)
        except (Unconvertible, *NOT_OF_THE_RULE):
            raise
        except Exception as error:  # whatever a user's function raises
            what = f"{node.op_type} '{node.name}' ({node.where}): {type(error).__name__}: {error}"
            raise ArgumentError(f"rules: {rule.name} failed on {what}") from error

    def _walk(self, node: Task, target: int, origin: tuple[str, str]) -> None:
        """Convert one node as far as its rules go.

        `origin` is the operator and name of the node of the original model that it comes from.
        """
        tried: set[str] = set()
        avoided: set[str] = set()
        simplified = ""
        made = node.source_index is None
        written = "" if made else node.op_type
        step: Step | None = None
        self._at_work = "conversion"
        try:
            while not node.removed:
                op_type = node.op_type
                if op_type != written:
                    self._gate_written(node, target)
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
                    if self._avoid(node, route, avoided):
                        made = True
                        continue
                    self._require_taken(node, route)
                    return
                step = route.step
                self._take(node, step)
                made = made or node.op_type != op_type or node.has_company
                step = None
        except Unconvertible as refusal:
            self._block(node, step, _with_reason_to_stay(node, step, refusal), origin)
        except NOT_OF_THE_RULE:
            raise
        except Exception as error:
            raise_rule_error(self._at_work, node, "" if step is None else str(step.transition), error)

    def _simplify(self, node: Task, route: Route, tried: set[str]) -> bool:
        """Try each simplification once; True as soon as one changed the node."""
        for rule in route.simplifications:
            if rule.name in tried or (rule.when is not None and not rule.when(node)):
                continue
            tried.add(rule.name)
            scope = node.scope
            try:
                if self._apply(rule, node):
                    if not node.removed:
                        scope.register(node.proto, node.opset)
                    return True
            except (NotSimplified, Unconvertible) as reason:
                node.kept = reason
                self._left.append((node.proto, self._remark("left", node, str(reason))))
        return False

    def _avoid(self, node: Task, route: Route, tried: set[str]) -> bool:
        """Try each rule that avoids a form; True as soon as one changed the node. Rules in `tried` are not tried again.

        Raises Unconvertible, which names the runtime.
        """
        for rule in route.avoidances:
            if rule.form in tried:
                continue
            form = rule.form, node.op_type
            whose = self._restrictions.forms[form]
            try:
                changed = self._apply(rule, node)
            except Unconvertible as refusal:
                if isinstance(refusal, Undecided) and form in self._restrictions.refused:
                    tried.add(rule.form)
                    self._remark("warning", node, f"{whose}, if the node has that form: {refusal.reason}")
                    continue
                refusal.reason = f"{whose}: {refusal.reason}"
                raise
            if changed:
                tried.add(rule.form)
                if not node.removed:
                    node.scope.register(node.proto, node.opset)
                return True
        return False

    def _require_taken(self, node: Task, route: Route) -> None:
        """Raises Unconvertible where a runtime does not accept the operator of the node, or does not accept it with these types."""
        if not route.is_restricted:
            return
        whose = self._restrictions.operators.get(node.op_type)
        if whose:
            raise Unconvertible(
                f"{whose} does not support {node.op_type}", "change the model where it uses it, or choose another runtime"
            )
        for value in (*node.inputs, *node.outputs):
            name = _element(node.type_string(value))
            whose = self._restrictions.types.get(name)
            if whose:
                raise Unconvertible(f"{whose} does not support the type {name}", "cast the model to another type")

    def _avoided(self) -> Iterator[Remark]:
        """A remark for each node that was rewritten because of a runtime."""
        whose_of: dict[tuple[str, str], str] = {}
        for (form, op_type), whose in self._restrictions.forms.items():
            whose_of.update(((rule.name, op_type), whose) for rule in self._registry.avoidances(op_type) if rule.form == form)
        for rule, op_type, node, where in self.outcome.changes if whose_of else ():
            if whose := whose_of.get((rule, op_type)):
                yield Remark("avoided", op_type, node, where, whose)

    def _take(self, node: Task, step: Step) -> None:
        """Take one version step: apply the rule if there is one, then check what the two schemas require."""
        transition = step.transition
        if transition.older is None:
            self._decompose(node, transition)
            return
        self._at_work = f"steps.{transition.op_type}"
        if step.refusal is not None:
            raise Unconvertible(step.refusal.reason, step.refusal.hint)
        opset = node.opset
        if step.rule is not None:
            self._apply(step.rule, node)
            if node.removed or node.op_type != transition.op_type or node.opset not in (opset, transition.opset_after):
                return  # gone, or on another chain now
            node.opset = opset
        self._gate(node, step)
        node.opset = transition.opset_after

    def _gate(self, node: Task, step: Step) -> None:
        """Check what the schemas say about the step, attributes, number of inputs and outputs, and types,
        and adapt the node where possible.
        """
        delta, transition = step.transition.delta, step.transition
        if step.gates_form:
            node.changed |= delta.gate_attributes(node.proto, transition.review or "")
            delta.gate_arity(node.proto)
        if not step.gates_types:
            return
        wrong = delta.wrong_types(node.proto, node.type_string)
        if wrong:
            self._widen(node, wrong, delta, transition.opset_after)

    def _gate_written(self, node: Task, target: int) -> None:
        """Check the types of a node that a rule wrote, and adapt the node where possible: the operator may not accept the types of
        this model.

        On the way up, the node may have the form of an opset that does not accept them yet, while a later one does.
        """
        opset = max(node.opset, transitions.form_opset(node.op_type, target))
        form = self._routes.form_that_loses(node.op_type, opset)
        if form is None:
            return
        refused = form.refused_types(node.proto, node.type_string)
        if refused:
            self._widen(node, refused, form, opset)

    def _widen(self, node: Task, wrong: list[str], delta: Delta, opset: int) -> None:
        """Put Casts around the node, so that it works in types that the target of `delta` accepts.

        Raises Unconvertible where none fits.
        """
        node.begin_rule(opset)
        name = f"widening.{node.op_type}"
        self._require(name)
        self._change(name, node)
        self._at_work = name
        if not widening.widen(node, wrong, delta):
            self.outcome.inexact.add(name)

    def _decompose(self, node: Task, step: Transition) -> None:
        """Replace an operator that is newer than the target: by its constant value, by a rule, or by ONNX's own function body."""
        node.begin_rule(node.opset)
        name = self._at_work = f"expansion.{step.op_type}"
        if self._selection.allows("expansion.constant") and node.fold():
            self._change("expansion.constant", node)
            return
        rule = self._registry.decomposition(step.op_type)
        if rule is not None:
            self._require(rule.name)
            self._apply(rule, node)
            if not node.removed and node.op_type == step.op_type:
                raise RuntimeError(f"{rule.name} left its {step.op_type} in place")
            return
        self._require(name)
        exact = node.expand()
        self._change(name, node)
        if not exact:
            self.outcome.inexact.add(name)

    def _require(self, name: str) -> None:
        """Raises Unconvertible where the user excluded the rule `name`."""
        if not self._selection.allows(name):
            raise _excluded(name)

    def _apply(self, rule: Rule, node: Task) -> bool:
        """Run the rule; True if it changed the node.

        An excluded rule is run too, to see whether it is needed: if so, the node is refused.
        """
        before, node.changed = node.changed, False
        op_type = node.op_type
        node.begin_rule(rule.written_for)
        self._model.sizes_relied_on.clear()
        odd = odd_flag(node.proto)
        self._at_work = rule.name
        if rule.kind in ("upgrade", "downgrade", "decompose"):
            make_vectors(node)
        rule.apply(node)
        if node.changed and odd:
            advice = f"set {odd.partition('=')[0]} to 0 or 1"
            raise Unconvertible(f"{odd} is neither 0 nor 1, and it is not said what that means", advice)
        if node.changed:
            node.cautions.extend([_reliance(name, shape) for name, shape in self._model.sizes_relied_on.items()])
        for message in node.cautions:
            self._remark("warning", node, message, op_type)
        node.cautions.clear()
        changed = node.changed
        node.changed |= before
        if changed:
            self._require(rule.name)
            self._change(rule.name, node, op_type)
            if not rule.exact or node.approximate:
                self.outcome.inexact.add(rule.name)
                self.outcome.sums |= rule.sums
        node.approximate = False
        return changed

    def _block(self, node: Task, step: Step | None, refusal: Unconvertible, origin: tuple[str, str]) -> None:
        """Note a blocker. It names the node of the user's model, `origin`, even if the refused node was made by a rule."""
        transition = "" if step is None else str(step.transition)
        is_origin = node.source_index is not None and node.op_type == origin[0]
        reason = refusal.reason if is_origin else _reason_of_made(node.op_type, refusal.reason)
        why, hint = node.why
        if why:
            reason = f"{why}: {reason}"
        self._blocked.append((node.proto, Blocker(*origin, node.where, transition, reason, hint or refusal.hint)))

    def _change(self, rule: str, node: Task, op_type: str = "") -> None:
        """Note that `rule` changed `node`."""
        self.outcome.changes.append(Change(rule, op_type or node.op_type, node.name, node.where))

    def _remark(self, kind: Literal["left", "warning"], node: Task, message: str, op_type: str = "") -> Remark:
        """Note a remark on `node` for the report."""
        remark = Remark(kind, op_type or node.op_type, node.name, node.where, message)
        self.outcome.remarks.append(remark)
        return remark


def _element(type_string: str | None) -> str:
    """The element type in a type string: "float" for "tensor(float)" and "seq(tensor(float))"; "" where the type is unknown."""
    return "" if type_string is None else type_string.rpartition("(")[2].rstrip(")")


def _hand_metadata_on(proto: NodeProto, nodes: Iterable[NodeProto]) -> None:
    """Copy to `nodes`, which replace `proto`, and to the nodes in their subgraphs, the metadata that says where they come from."""
    for node in nodes:
        if node is not proto and not node.metadata_props:
            node.metadata_props.extend(proto.metadata_props)
            for _, graph in subgraphs(node):
                _hand_metadata_on(proto, graph.node)


def _reliance(name: str, shape: Shape) -> str:
    return (
        f"its rewrite takes the shape of '{name}' to be {declarations.show(shape)}, as the model declares it, and nothing else "
        "confirms that: with another size the result differs"
    )


def _contradicted(found: declarations.Contradiction) -> Remark:
    message = f"the shape {declarations.show(found.declared)} that is declared is not used: by the inputs it is {found.derived}"
    return Remark("warning", "value", found.name, "declared shapes", message)


def rebuild(scope: Scope, replaced: dict[int, list[NodeProto]]) -> None:
    """Replace the node list of the graph by the new nodes. Existing views on old nodes are invalid from here on."""
    nodes: list[NodeProto] = []
    for index, proto in enumerate(scope.graph.node):
        nodes.extend(replaced.get(index, (proto,)))
    del scope.graph.node[:]
    scope.graph.node.extend(nodes)
    scope.__dict__.pop("producers", None)
    scope.nodes_changed()


def _with_reason_to_stay(node: Task, step: Step | None, refusal: Unconvertible) -> Unconvertible:
    """The refusal of an operator that the target lacks, extended by the reason why no simplification removed the node."""
    if step is None or step.transition.older is not None or node.kept is None:
        return refusal
    return Unconvertible(f"{refusal.reason}; it stays because {node.kept}", refusal.hint or getattr(node.kept, "hint", ""))


def _reason_of_made(op_type: str, reason: str) -> str:
    """The reason why a node cannot be converted: it would be rewritten with `op_type`, which is impossible because of `reason`."""
    subject, _, rest = reason.partition(" ")
    if subject == op_type and rest.startswith(("does ", "is ", "has ", "takes ", "cannot ")):
        return f"is rewritten with {op_type}, which {rest}"
    return f"is rewritten with {op_type}: {reason}"
