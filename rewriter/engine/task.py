"""A node at work: what the engine knows and keeps about a node while rules rewrite it. Rules see it as a `Node`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import NodeProto
from onnx.defs import OpSchema

from ..errors import NotSimplified, Unconvertible
from ..graph.editing import Caution
from ..graph.node import Node
from ..graph.scope import Scope
from ..graph.stored import require_value
from ..opsets.transitions import schema_at

if TYPE_CHECKING:
    from .registry import Way

_OPTIONAL = OpSchema.FormalParameterOption.Optional


class Task(Node):
    """A node, with what the engine asks about it and does to it. The nodes that rules make beside it are of the same class."""

    __slots__ = ("avoided", "casts_back", "generation", "in_vain", "kept", "lineage", "settled", "waits", "wanted")

    def __init__(self, proto: NodeProto, scope: Scope, opset: int, source_index: int | None = None) -> None:
        super().__init__(proto, scope, opset, source_index)
        self.kept: NotSimplified | Unconvertible | None = None
        """The reason why a simplification left the node as it is; part of the message if the node cannot be converted."""
        self.avoided: set[str] = set()
        """The forms for which rules that avoid them have been tried, so that none is tried again and again."""
        self.settled = False
        """Whether the node is done: no rule changes it any more."""
        self.lineage: tuple[str, ...] = ()
        """The names of the ways by which the node came about, since lists of operators did not allow others."""
        self.generation = 0
        """The number of rules behind each other that led from a node of the model to this one."""
        self.waits = False
        """Whether nodes that a rule put before this one are at work."""
        self.casts_back = False
        """Whether the node makes bool or int64 of another type, since a list does not allow these where they are made."""
        self.in_vain = False
        """Whether a node that was made together with this one is refused, so that no other form of this one is sought."""
        self.wanted: Way | None = None
        """The way in which the node is to be written, for a trial."""

    def with_reason_to_stay(self, refusal: Unconvertible) -> Unconvertible:
        """The refusal of the operator of the node, extended by the reason why no simplification removed the node."""
        if self.kept is None:
            return refusal
        return Unconvertible(f"{refusal.reason}; it stays because {self.kept}", getattr(self.kept, "hint", "") or refusal.hint)

    def begin_rule(self, written_for: int) -> None:
        """Prepare for a rule that makes nodes in the form of opset `written_for`."""
        self.written_for = written_for
        self._behind = 0

    # -- where it is

    @property
    def scope(self) -> Scope:
        """The graph that contains the node."""
        return self._scope

    @property
    def source_index(self) -> int | None:
        """The position in the original node list; None for a node that a rule made."""
        return self._source_index

    @property
    def why(self) -> tuple[str, str]:
        """The reason why a rule replaced one node by nodes such as this one, and a hint, for the message if it is refused."""
        return self._why

    # -- what rules did to it

    @property
    def changed(self) -> bool:
        """Whether a rule changed the node, since the engine last set this to False."""
        return self._changed

    @changed.setter
    def changed(self, value: bool) -> None:
        self._changed = value

    @property
    def removed(self) -> bool:
        """Whether the node goes. The engine may decide that, too."""
        return self._removed

    @removed.setter
    def removed(self, value: bool) -> None:
        self._removed = value

    @property
    def cautions(self) -> list[Caution]:
        """The warnings of the current rule."""
        return self._cautions

    def results(self) -> list[Task]:
        """The nodes in the place of this one, in order: those before it, itself unless it was removed, those after it."""
        return [*self._added_before, *([] if self._removed else [self]), *self._added_after]

    def take_results(self) -> list[Task]:
        """As `results`, and then forget the nodes before and after it."""
        found = self.results()
        self._added_before, self._added_after = [], []
        return found

    @property
    def has_company(self) -> bool:
        """Whether a rule put nodes before or after this one."""
        return bool(self._added_before or self._added_after)

    @property
    def reads_new_nodes(self) -> bool:
        """Whether a rule put nodes that compute something before this one."""
        return any(node.inputs for node in self._added_before)

    # -- calls of the function around it

    @property
    def depends_on_call(self) -> bool:
        """Whether an attribute is a parameter of the function around the node, or calls of it may leave out an optional input."""
        return any(attribute.ref_attr_name for attribute in self.proto.attribute) or self.uncertain_input != ""

    def require_values(self) -> None:
        """Raises Unconvertible where the node depends on the call of the function around it."""
        for attribute in self.proto.attribute:
            require_value(attribute)
        name = self.uncertain_input
        if name:
            raise Unconvertible(
                f"calls of the function may leave out its input '{name}', which is optional in the node",
                "remove the function, or inline it before converting",
            )

    @property
    def uncertain_input(self) -> str:
        """The first optional input of the node that calls of the function around it may leave out; "" where there is none."""
        uncertain = self._scope.uncertain
        schema = schema_at(self.op_type, self.opset) if uncertain and not uncertain.isdisjoint(self.proto.input) else None
        if schema is None:
            return ""
        pairs = zip(self.proto.input, schema.inputs, strict=False)
        return next((name for name, known in pairs if name in uncertain and known.option == _OPTIONAL), "")
