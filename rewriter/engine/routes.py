"""Finds the changes that are possible for nodes of each operator on the way to the target, once for a model."""

from __future__ import annotations

from ..errors import Unconvertible
from ..graph import bodies
from ..graph.node import Node
from ..graph.scope import Scope
from ..opsets import transitions
from ..opsets.delta import Delta
from ..opsets.facts import GRAPH_HOLDERS
from ..opsets.transitions import Transition
from .registry import Registry, Rule
from .restrictions import Restrictions
from .selection import Selection


class Step:
    """One version step of an operator in this model, with everything that is the same for all its nodes."""

    __slots__ = ("delta", "gates_form", "gates_types", "refusal", "rule", "transition")

    def __init__(self, transition: Transition, registry: Registry, types: frozenset[str] | None) -> None:
        self.transition = transition
        self.rule = registry.transition(transition.op_type, transition.newer, transition.up)
        self.delta = None if transition.older is None else transition.delta
        self.refusal = self._refusal()
        self.gates_form = self.delta is not None and self.delta.touches_every_node
        self.gates_types = self.delta is not None and not self.delta.fits(types)

    def _refusal(self) -> Unconvertible | None:
        """The refusal, if no node of the operator can take this step."""
        step = self.transition
        if step.older is None:
            return None
        if step.review is None:
            return transitions.unknown_version(step.op_type)
        if self.rule is None and step.review in ("H", "V", "N"):
            return Unconvertible(f"there is no rule for this step of {step.op_type} yet")
        if self.rule is None and step.delta.target.deprecated:
            return Unconvertible(f"{step.op_type} is deprecated in opset {step.opset_after}")
        return None

    @property
    def is_free(self) -> bool:
        """Whether every node can take this step without any change."""
        birth = self.delta is None
        return not (birth or self.refusal or self.rule or self.gates_form or self.gates_types)


class Route:
    """The changes that are possible for the nodes of one operator, starting in the form of one opset.

    `step` is the first step that may change a node.
    """

    __slots__ = ("avoidances", "conditions", "is_always_simplified", "is_restricted", "respellings", "simplifications", "step")

    def __init__(
        self,
        simplifications: tuple[Rule, ...],
        step: Step | None,
        avoidances: tuple[Rule, ...] = (),
        is_restricted: bool = False,
        respellings: tuple[Rule, ...] = (),
    ) -> None:
        self.simplifications = simplifications
        self.avoidances = avoidances
        self.respellings = respellings
        self.is_restricted = is_restricted
        """Whether a runtime may refuse these nodes in the form that they have at the target."""
        self.conditions = {rule.when: None for rule in simplifications if rule.when is not None}
        self.is_always_simplified = len(self.conditions) < len({rule.when for rule in simplifications})
        self.step = step

    def may_simplify(self, node: Node) -> bool:
        """Whether the simplifications have to be tried on this node."""
        if self.is_always_simplified:
            return True
        for condition in self.conditions:  # noqa: SIM110 - any() of a generator takes twice as long, for each node
            if condition(node):
                return True
        return False


STAYS = Route((), None)
"""The route of an operator whose nodes always stay as they are."""
FOREIGN = Route((), None)
"""The route of an operator of another domain, whose nodes stay but may have subgraphs."""


class Routes:
    """The routes of a model. `types` are the types that its values can have, or None where they can have any."""

    def __init__(self, registry: Registry, selection: Selection, restrictions: Restrictions, types: frozenset[str] | None) -> None:
        self._registry = registry
        self._selection = selection
        self._restrictions = restrictions
        self._types = types
        self._found: dict[tuple[str, int, int, bool], Route | None] = {}
        self._forms: dict[tuple[str, int], Delta | None] = {}

    def of_label(self, label: str, scope: Scope, target: int) -> Route:
        """The route of the nodes called `label` in the graph's list of operators ("Split", "com.example::Op")."""
        if "::" in label:
            return FOREIGN
        made = not scope.is_original
        return self.find(label, transitions.form_opset(label, scope.opset), target, made) or STAYS

    def find(self, op_type: str, opset: int, target: int, made: bool) -> Route | None:
        """The changes that are possible for `op_type` nodes between `opset` and `target`; None where there are none.

        Nodes `made` by rules, or put between Casts, may have types that the model did not have.
        """
        key = (op_type, opset, target, made)
        if key not in self._found:
            simplifications = () if self._selection.is_minimal and not made else self._simplifications(op_type)
            self._found[key] = self._make(op_type, opset, target, None if made else self._types, simplifications)
        return self._found[key]

    def form_that_refuses(self, op_type: str, opset: int) -> Delta | None:
        """The form of `op_type` at `opset` if it may not take a type that the model may have; None where it takes them all."""
        key = (op_type, opset)
        if key not in self._forms:
            form = transitions.form_of_rules(op_type, opset)
            is_strict = form is not None and (form.loses(self._types) or form.refuses(self._types))
            self._forms[key] = form if is_strict else None
        return self._forms[key]

    def _simplifications(self, op_type: str) -> tuple[Rule, ...]:
        return tuple(rule for rule in self._registry.simplifications(op_type) if self._selection.allows(rule.name))

    def _make(
        self, op_type: str, opset: int, target: int, types: frozenset[str] | None, simplifications: tuple[Rule, ...]
    ) -> Route | None:
        """Compute the route of an operator. `types` are the types that its values can have, None where they can have any."""
        step = self._first_step(op_type, opset, target, types)
        rules = self._registry.avoidances(op_type)
        forms = self._restrictions.forms
        avoidances = tuple(rule for rule in rules if (rule.form, op_type) in forms and not self._selection.skips(rule.name))
        restrictions = self._restrictions
        is_restricted = bool(avoidances or restrictions.may_refuse(op_type))
        respellings = tuple(rule for rule in self._registry.respellings(op_type) if self._selection.allows(rule.name))
        if step is None and not (simplifications or is_restricted or respellings) and op_type not in GRAPH_HOLDERS:
            return None
        return Route(simplifications, step, avoidances, is_restricted, respellings)

    def _first_step(self, op_type: str, opset: int, target: int, types: frozenset[str] | None) -> Step | None:
        """The first step that may change a node; None where every node reaches the target unchanged."""
        path = transitions.path(op_type, opset, target)
        if path and path[-1].older is None and self._reads_any_version(op_type, opset):
            path = path[-1:]
        steps = (Step(transition, self._registry, types) for transition in path)
        return next((step for step in steps if not step.is_free), None)

    def _reads_any_version(self, op_type: str, opset: int) -> bool:
        """Whether a rule replaces nodes of an operator that the target lacks directly from the form that they have."""
        rule = self._registry.decomposition(op_type)
        return bodies.has_body(op_type, opset) if rule is None else rule.any_version
