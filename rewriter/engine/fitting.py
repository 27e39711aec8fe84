"""Holds nodes against the lists of operators that runtimes allow, and finds the cheapest form of a node that is allowed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from onnx import NodeProto, TensorProto

from ..errors import Blocker, Unconvertible
from ..graph.model import Model
from ..onnx_model.protos import label_of, shown_name
from ..opsets import facts
from .notes import Notes
from .outcome import Outcome, Remark
from .registry import ITSELF, Way
from .restrictions import OperatorList, Restrictions
from .task import Task
from .trials import READER, Cost, cost_of, likeness, model_of
from .ways import VALUE, Ways

Lineage = tuple[str, ...]
_FLOATS = frozenset((TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE))
DEEPEST = 5
"""The number of ways that may follow each other: a form whose nodes are not allowed either, and so on."""
MOST_REFUSED = 3
"""The number of nodes that are refused in a trial before no forms of its other nodes are sought: one of them may still go.

Those that only reshape do not count: where the nodes between them are written with fewer axes, they go.
"""
MOST_TRIALS = 300
"""The number of trials for one form of a node of the model. The largest that led to one took 220."""
AS_MUCH_AS_A_TRIAL = 1 << 20
"""The bytes that take as long to store as another trial takes."""
MOST_STORED = 1 << 28
"""The bytes that the models of trials may store before those that are no longer used are freed."""
MOST_REASONS = 3
"""The number of other forms that a message names."""


class Plan(NamedTuple):
    """The way to write a node, with its cost; where there is none, the reason for each form that does not fit."""

    way: Way | None = None
    cost: Cost = Cost(0, 0, 0)
    refused: tuple[str, ...] = ()


class Plans:
    """The plans that were found, by what trials depend on and by lineage; refusals count for other lineages, too."""

    def __init__(self) -> None:
        self._found: dict[tuple[Hashable, frozenset[str]], Plan] = {}
        self._refused: dict[Hashable, list[tuple[int, frozenset[str], Plan]]] = {}
        self._passed_over: set[str] = set()
        """The ways that the search under way did not try, because nodes came about by them."""
        self._left = 0
        """The number of trials that are left within that of a node of the model."""
        self._is_cut = False
        """Whether the search under way ended because there were none left, so that its refusal says nothing about other places."""
        self._stored = 0
        """The bytes that models of trials have stored since unused ones were last collected."""

    def begin_trial(self, *, is_first: bool) -> None:
        """Count a trial. `is_first`: it is of a node of the model, and not of one within another trial."""
        self._left = MOST_TRIALS if is_first else self._left - 1

    def end_trial(self, model: Model) -> None:
        """Count a trial that stores much as several, and free the memory of earlier ones, whose models refer to themselves."""
        stored = sum(len(tensor.raw_data) for tensor in model.proto.graph.initializer)
        self._left -= stored // AS_MUCH_AS_A_TRIAL
        self._stored += stored
        if self._stored > MOST_STORED:
            gc.collect()
            self._stored = 0

    def are_spent(self) -> bool:
        """Whether no more trials are left within the one under way."""
        is_spent = self._left <= 0
        self._is_cut |= is_spent
        return is_spent

    def are_scarce(self) -> bool:
        """Whether more than half of the trials are used up, so that the first form that fits is taken."""
        return self._left < MOST_TRIALS // 2

    def find(self, key: Hashable, lineage: Lineage) -> Plan | None:
        """The plan for nodes of this `key` and `lineage`, if it is known.

        None was found for another lineage with as many ways left to follow, and without the ways that it could not try: none is
        found now.
        """
        for depth, passed_over, plan in self._refused.get(key, ()):
            if depth <= len(lineage) and passed_over.issubset(lineage):
                self._passed_over |= passed_over
                return plan
        return self._found.get((key, frozenset(lineage)))

    def search(self, key: Hashable, lineage: Lineage, passed_over: Iterable[str], search: Callable[[], Plan]) -> Plan:
        """The plan that `search` finds, which is kept. `passed_over` are the ways that it may not try."""
        outer, self._passed_over = self._passed_over, set(passed_over)
        was_cut, self._is_cut = self._is_cut, False
        plan = search()
        inner = self._passed_over.intersection(lineage)
        self._passed_over = outer | inner
        if plan.way is None and not self._is_cut:
            self._refused.setdefault(key, []).append((len(lineage), frozenset(inner), plan))
        elif plan.way is not None or not lineage:  # equal nodes of the model have no more trials
            self._found[key, frozenset(lineage)] = plan
        self._is_cut |= was_cut
        return plan


class Trial(NamedTuple):
    """A conversion of a model of one node, which is to be written in the form of `way`."""

    way: Way
    lineage: Lineage
    position: int
    """The number of the node in the graph."""
    plans: Plans


class Hopeless(Unconvertible):
    """The trial of a way made `node`, which cannot be written in a form that is allowed."""

    def __init__(self, node: Task, reason: str, hint: str = "") -> None:
        super().__init__(reason, hint)
        self.node = node


class _Against(NamedTuple):
    """A list that does not allow a node, and why; where there is nothing against it, why nobody can tell."""

    list: OperatorList
    against: tuple[str, ...]
    unknown: tuple[str, ...]

    def __str__(self) -> str:
        if not self.against:
            return f"nobody can tell whether {self.list.title} allows it: {'; '.join(self.unknown)}"
        return f"{self.list.title} does not allow it: {'; '.join(self.against)}"


RunTrial = Callable[[Model, Trial], Outcome]


class Fitting:
    """The search for forms of the nodes of one model that are allowed. `plans` are shared between models of equal restrictions."""

    def __init__(
        self, restrictions: Restrictions, ways: Ways, notes: Notes, run: RunTrial, plans: Plans, trial: Trial | None = None
    ) -> None:
        self._lists = restrictions.lists
        self._ways = ways
        self._notes = notes
        self._run = run
        self._trial = trial
        self._plans = plans
        self._refused = 0

    def begin(self, node: Task) -> None:
        """Prepare a node of the model before its conversion."""
        trial = self._trial
        if trial is not None and node.source_index == trial.position and node.scope.is_main:
            node.lineage = trial.lineage
            node.wanted = trial.way

    def fit(self, node: Task) -> bool:
        """Write the node in an allowed form, where it does not have one; True if it changed.

        Raises Unconvertible where there is none. Nodes of which nobody can tell, or that the runtime leaves to the CPU, are noted.
        """
        if node.wanted is not None:
            way, node.wanted = node.wanted, None
            went = self._ways.go(way, node)
            self._require_forms(node, node.results() if went else ())
            return went
        refusing = self._refusing(node)
        if not refusing:
            return self._notes.outcome.of_numbers and self._ways.assume_numbers(node)
        if self._ways.store_operands(node) or self._ways.leave_out(node):
            return True
        if self._adapt(node, refusing):
            self._notes.remark("avoided", node, str(refusing[0]))
            return True
        plan = self.plan(node)
        if plan.way is not None:
            self._notes.remark("avoided", node, f"{refusing[0]}; written by {plan.way.name} ({plan.cost})")
            if self._ways.go(plan.way, node):
                return True
        if self._ways.narrow(node) or self._ways.count_truths(node) or self._widen(node):
            self._notes.remark("avoided", node, str(refusing[0]))
            return True
        self._refuse(node, refusing, plan)
        return False

    def _require_forms(self, node: Task, made: Sequence[Task]) -> None:
        """Raises Hopeless where a way wrote `node` as nodes of which one is no operator of a list and cannot be written otherwise,
        before forms of others are sought. Stored values are always allowed.
        """
        lacking = [each for each in made if each.inputs and not all(found.has(each.op_type) for found in self._lists)]
        for each in lacking:
            each.lineage = node.lineage
        hopeless = next((each for each in lacking if not self._has_forms(each)), None)
        hopeless = hopeless or next((each for each in lacking if self._is_final(each) and self.plan(each).way is None), None)
        if hopeless is not None:
            self._refused = MOST_REFUSED
            title = next(found.title for found in self._lists if not found.has(hopeless.op_type))
            raise Hopeless(hopeless, f"{title} does not allow it: it is not among the operators")

    def require_pieces(self, node: Task) -> None:
        """Raises Hopeless where a rule made a node of the model into several, of which one is no operator of a list and cannot be
        written otherwise, before forms of the others are sought.
        """
        pieces = node.results()
        if self._trial is not None or node.in_vain or len(pieces) == 1:
            return
        for piece in pieces:
            is_lacking = piece.inputs and not all(each.has(piece.op_type) or each.may_stay for each in self._lists)
            plan = self.plan(piece) if is_lacking and self._is_final(piece) else None
            if plan is not None and plan.way is None:
                node.in_vain = True  # as those that stand in its place will be
                refusal = self._refusal(piece, self._refusing(piece), plan)
                raise Hopeless(piece, refusal.reason, refusal.hint)

    def _is_final(self, node: Task) -> bool:
        """Whether a node of floats stays until a form of it is sought: no rule rewrites it before, and none leaves it out."""
        kinds = {node.elem_type(name) for name in (*node.inputs, *node.outputs) if name}
        if not kinds <= _FLOATS or facts.of(node.op_type).word("merges") or self._ways.may_go(node) or self._ways.may_change(node):
            return False
        most = [limit for each in self._lists if (limit := each.most_axes(node.op_type)) is not None]
        return not most or _most_axes(node) <= min(most)

    def _has_forms(self, node: Task) -> bool:
        """Whether a node that is not constant may be written otherwise, or be left out."""
        return self._ways.may_go(node) or any(way != VALUE and self._may_help(way, node) for way in self._ways.of(node))

    def _adapt(self, node: Task, refusing: list[_Against]) -> bool:
        """Write the node for numbers alone, with fewer dimensions or on int32, where a list asks for that; True if it changed."""
        if self._ways.assume_numbers(node):
            return True
        if not node.casts_back and _has_too_many_axes(node, refusing) and self._ways.merge_axes(node):
            return True  # a Cast back goes where all that read it read the number
        return any(found.list.refuses_type(node.op_type, "int64") for found in refusing) and self._ways.narrow(node)

    def _widen(self, node: Task) -> bool:
        """Let the node work in a wider type that the lists take, where they have Cast; True if it changed."""

        def is_taken(kind: str) -> bool:
            return not any(each.refuses_type(node.op_type, kind) for each in self._lists)

        can_cast = all(each.has("Cast") for each in self._lists) and node.op_type != "Cast"
        return can_cast and self._ways.widen(node, is_taken)

    def require_foreign(self, node: Task) -> None:
        """Note a blocker where a list does not allow the operator of another domain, for which there is no other form."""
        try:
            if refusing := self._refusing(node):
                self._refuse(node, refusing, Plan())
        except Unconvertible as refusal:
            self._notes.block(node, None, refusal, (node.op_type, node.name))

    def note_unchecked(self, model: Model) -> None:
        """Note what the lists say in words of operators that the model has, once for each operator."""
        if self._trial is not None or not any(each.has_notes for each in self._lists):
            return
        first: dict[str, NodeProto] = {}
        for graph in model.graphs:
            for node in graph.node:
                first.setdefault(label_of(node), node)
        for each in self._lists:
            for label, node in first.items():
                for note in each.notes(label):
                    message = f"{each.title}: {note}"
                    self._notes.outcome.remarks.append(Remark("unchecked", label, shown_name(node), "main graph", message))

    def _refusing(self, node: Task) -> list[_Against]:
        """The lists that do not allow the node. Notes those by which nobody can tell."""
        found: list[_Against] = []
        for each in self._lists:
            judged = each.judge(node)
            if judged.against or (judged.unknown and each.must_know):
                found.append(_Against(each, judged.against, judged.unknown))
            elif judged.unknown:
                message = f"nobody can tell whether {each.title} allows it: {'; '.join(judged.unknown)}"
                self._notes.remark("warning", node, message)
        return found

    def _refuse(self, node: Task, refusing: list[_Against], plan: Plan) -> None:
        """Raises Unconvertible, unless each runtime leaves the node to the CPU, which is noted."""
        if self._trial is None and all(found.list.may_stay for found in refusing):
            for found in refusing:
                self._notes.remark("fallback", node, str(found))
            return
        self._refused += node.op_type not in facts.with_word("only-reshapes")
        raise self._refusal(node, refusing, plan)

    def _refusal(self, node: Task, refusing: list[_Against], plan: Plan) -> Unconvertible:
        """Why the node cannot be written for a list that does not leave it to the CPU."""
        found = next(found for found in refusing if self._trial is not None or not found.list.may_stay)
        hint = self._hint(node, found, plan)
        if not found.against:
            return Unconvertible(f"nobody can tell whether {found.list.title} allows it: {'; '.join(found.unknown)}", hint)
        own = f"{found.list.title} does not allow it: {'; '.join(found.against)}"
        others = "; ".join(_others(own, plan.refused)[:MOST_REASONS]) or f"there is no other form of this {node.op_type}"
        return node.with_reason_to_stay(Unconvertible(f"{own}; {others}", hint))

    def _hint(self, node: Task, found: _Against, plan: Plan) -> str:
        """What helps where the node is refused; "" in a trial, whose refusal nobody reads."""
        if self._trial is not None:
            return ""
        if facts.of(node.op_type).word("iterates") == "turns" and node.constant(0) is not None and not self._ways.respells(node):
            return "--static writes out a Loop of a few turns that are known"
        if found.against and found.list.refuses_type(node.op_type, "int64") and _comes_from_wide_input(node):
            return "--allow int32-inputs lets the inputs of the model that are int64 be int32"
        needs_shape = any(" is open" in reason for reason in found.against)  # the words of the key `static`
        if not found.against or plan.refused or needs_shape:
            return _hint(node)
        return "change the model where it uses it, or choose another runtime"

    def plan(self, node: Task) -> Plan:
        """The cheapest way to write the node so that all its nodes are allowed: fewest nodes, then fewest elements.

        One that is heavy is taken only where no other fits.
        """
        if node.in_vain or len(node.lineage) >= DEEPEST or node.subgraphs():
            return Plan()
        helpful = [way for way in self._ways.of(node) if self._may_help(way, node)]
        ways = [way for way in helpful if way.name not in node.lineage]  # so that no two of them follow each other for ever
        if len(ways) == 1 and not node.inputs:  # a stored value: there is nothing to choose
            return Plan(ways[0])
        key, passed_over = likeness(node), [way.name for way in helpful if way not in ways]
        known = self._plans.find(key, node.lineage)
        if known is None and self._trial is not None and (self._refused >= MOST_REFUSED or self._plans.are_spent()):
            return Plan()
        return known or self._plans.search(key, node.lineage, passed_over, lambda: self._search(node, ways))

    def _may_help(self, way: Way, node: Task) -> bool:
        """Whether the lists have the operator without which the way is of no use."""
        wanted = "" if way.rule is None else way.rule.listed
        return not wanted or all(each.has(node.op_type if wanted == ITSELF else wanted) for each in self._lists)

    def _search(self, node: Task, ways: list[Way]) -> Plan:
        best, refused = Plan(), []
        for way in ways:
            if best.way is not None and (self._may_not_look_on() or (_is_heavy(way) and not _is_heavy(best.way))):
                continue
            model = model_of(node)
            if model is None:
                return Plan(refused=("the types of its inputs are unknown",))
            position = len(model.proto.graph.node) - 1 - sum(proto.domain == READER for proto in model.proto.graph.node)
            before = list(model.proto.graph.node)[:position]
            self._plans.begin_trial(is_first=self._trial is None)
            outcome = self._run(model, Trial(way, node.lineage, position, self._plans))
            self._plans.end_trial(model)
            went = not all(self._ways.is_avoidance(change.rule, node.op_type) for change in outcome.changes)
            if not went and not (outcome.blockers and self._is_about_way(outcome.blockers[0], node)):
                continue  # the node does not have the form that the way replaces
            if outcome.blockers:
                refused.append(f"not by {way.name}, since {_shortened(outcome.blockers[0].reason)}")
                continue
            cost = cost_of(model, outcome, before)
            if best.way is None or cost < best.cost:
                best = Plan(way, cost)
            if best.cost.is_least:
                break
        return best if best.way is not None else Plan(refused=tuple(refused))

    def _may_not_look_on(self) -> bool:
        """Whether the trials that are left are for other nodes, where one form of a node has been found."""
        return self._trial is not None and self._plans.are_scarce()

    def _is_about_way(self, blocker: Blocker, node: Task) -> bool:
        """Whether a trial was blocked by what the way wrote, or by what its rule requires, and not by a runtime, as the node was
        before.
        """
        return blocker.op_type != node.op_type or not any(each.title in blocker.reason for each in self._lists)


def _is_heavy(way: Way) -> bool:
    return way.rule is not None and way.rule.heavy


def _has_too_many_axes(node: Task, refusing: Iterable[_Against]) -> bool:
    """Whether a list that does not allow the node limits the number of dimensions, and a value of the node has more."""
    limits = [limit for found in refusing if (limit := found.list.most_axes(node.op_type)) is not None]
    if not limits:
        return False
    return _most_axes(node) > min(limits)


def _most_axes(node: Task) -> int:
    """The largest number of dimensions of a value of the node, as far as they are known."""
    shapes = [node.shape(name) for name in (*node.inputs, *node.outputs) if name]
    return max((len(shape) for shape in shapes if shape is not None), default=0)


def _comes_from_wide_input(node: Task) -> bool:
    """Whether the node reads int64 that is not the same in every run, and the model has an input of int64."""
    wide = [name for name in node.inputs if name and node.elem_type(name) == TensorProto.INT64 and node.constant(name) is None]
    inputs = node.scope.model.proto.graph.input if wide else ()
    return any(value.type.tensor_type.elem_type == TensorProto.INT64 for value in inputs)


def _others(own: str, refused: Iterable[str]) -> list[str]:
    """Why the other forms do not fit, without those that leave the node with the reason `own`, which is not repeated."""
    return [
        reason.replace(f": {own}", ", which is not allowed either") for reason in refused if not reason.endswith(f"since {own}")
    ]


def _hint(node: Task) -> str:
    """Advice on how a shape that is open can become known; "" where none is."""
    for name in filter(None, (*node.inputs, *node.outputs)):
        shape = node.shape(name)
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            return node.shape_hint(name)
    return ""


def _shortened(reason: str) -> str:
    """The reason of a trial without what was tried for its nodes in turn."""
    return reason.partition("; not by ")[0].partition("; there is no other form")[0]
