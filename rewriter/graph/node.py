"""The class Node: one node of the model, with everything that a rule may ask about it or do to it; docs/vocabulary.md lists it.

A Node is a thin view of an onnx NodeProto, which holds the data. This module does not know any rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnx import GraphProto, NodeProto

from ..errors import Unconvertible, in_one_line
from ..onnx_model.all_nodes import with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import captured, subgraphs
from ..opsets.folding import MAX_ELEMENTS
from ..opsets.foreign import schemas
from ..opsets.type_protos import Dimension, Shape
from ..structure.inlining import callee, key_of
from . import bodies
from .editing import Caution, Editing
from .hints import MAKE_CONSTANT, SEMANTICS_HINT, constant_hint
from .operators import Operators
from .scope import Scope
from .surroundings import Surroundings
from .values import Value

if TYPE_CHECKING:
    from ..onnx_model.meanings import Semantics

__all__ = ["MAKE_CONSTANT", "Dimension", "Node", "Operators", "Shape", "Subgraph", "Surroundings", "Value"]


class Node(Editing):
    """One node, in the form of `opset`, with everything that a rule may ask about it or do to it.

    Rules edit it in place, put nodes before (`op`) or `after` it, let it `become` another operator, or `remove` it.
    """

    __slots__ = ()

    # -- what is around it

    @property
    def where(self) -> str:
        """The path to the graph that contains the node, for messages."""
        return self._scope.where

    @property
    def target(self) -> int:
        """The opset that the nodes of this graph are converted to."""
        return self._scope.target

    @property
    def graph(self) -> Surroundings:
        """The graph that contains the node."""
        return Surroundings(self._scope)

    def subgraphs(self) -> list[Subgraph]:
        """The graphs in the attributes of the node, such as the branches of an If."""
        scopes = self._scope.children(self.proto, self._source_index, self.body_opset)
        return [Subgraph(self, name, scope) for (name, _), scope in zip(subgraphs(self.proto), scopes, strict=True)]

    def maker(self, value: Value = 0) -> Node | None:
        """The node that makes the value, to be read; None for inputs, initializers, and what an operator of another domain makes.

        A rule changes its own node alone: what it did to this one would not be in the report, nor be compared.
        """
        name = self._name(value)
        return _maker(self._scope, name) if name else None

    @property
    def domain_version(self) -> int:
        """The version in which the model, or the function around the node, imports the domain of the node."""
        return next((entry.version for entry in self._scope.imports[0] if entry.domain == self.proto.domain), 0)

    @property
    def domain_target(self) -> int:
        """The version in which the result imports the domain of the node."""
        return self._scope.model.domain_targets.get(self.proto.domain, self.domain_version)

    def is_read(self, index: int) -> bool:
        """Whether anything reads output `index`."""
        return self.has_output(index) and self._scope.model.is_read(self.output(index))

    def wider(self, elem_type: int) -> int:
        """The element type in which the result holds values of `elem_type`: the same, or a wider one where the target lacks it."""
        return self._scope.model.wider.get(elem_type, elem_type)

    def rounds_to(self, elem_type: int) -> bool:
        """Whether results in place of `elem_type`, which the target lacks, have to be rounded to the numbers of that type."""
        return elem_type not in self._scope.model.unrounded

    # -- replacing it

    def expand(self) -> bool:
        """Replace the node by ONNX's own function body of its operator. Returns whether the result is exact.

        Raises Unconvertible where there is no body, or where it needs types that are unknown.
        """
        return bodies.expand(self)

    def fold(self) -> bool:
        """Replace the node by a Constant if its only output is the same in every run. Returns whether it was replaced."""
        return bodies.fold(self)

    def fold_roughly(self, most: int = MAX_ELEMENTS) -> bool:
        """As `fold`, but also where the operator rounds, in which case the last bits may differ from those of a runtime.

        Values of more than `most` elements are not computed.
        """
        return bodies.fold_roughly(self, most)

    def forward(self, index: int, value: str) -> None:
        """Let everything that reads output `index` read `value` instead. An output of the graph keeps its name."""
        scope, model = self._scope, self._scope.model
        name, value = self.output(index), scope.resolve(value)
        if not name or name == value:
            return
        if name in scope.outputs and scope.rename_made(value, name):
            self.proto.output[index] = ""
            self._changed = True
            return
        if name in scope.outputs or not model.is_unique(name) or not model.is_unique(value):
            self.proto.output[index] = ""
            self.after.Identity(value, output=name)
            return
        self._scope.alias(name, value)
        model.new_uses.add(value)
        model.lost_uses.add(name)
        self._changed = True

    def give(self, value: str) -> None:
        """Give `value` as the only output: the node that makes it takes over the name if a rule made it; else an Identity does."""
        if self._scope.rename_made(value, self.output(0)):
            self.remove()
        else:
            self.become.Identity(value)

    # -- saying things

    def require_known_form(self) -> None:
        """Raises Unconvertible where an operator of onnxruntime does not have the inputs, attributes or types of this node."""
        oddity = schemas.oddity(self.proto, self._scope.type_string)
        if oddity:
            raise Unconvertible(f"{self.op_type} of onnxruntime {oddity}", "correct the model")

    def explain(self, why: str, hint: str = "") -> None:
        """State why the nodes made from here on are needed ("the sizes 's' are computed at run time"),
        unless a reason is known already.

        What has to be constant may be so once the shapes of the inputs are fixed: then the hint names these, too.
        """
        if not self._why[0]:
            self._why = (why, constant_hint(self._scope) if hint == MAKE_CONSTANT else hint)

    def meaning(self, specification: str, onnxruntime: str) -> Semantics:
        """Whose meaning this node has; the arguments say what it does by the specification, and what onnxruntime does instead.

        Raises Unconvertible, which names both, where the caller has not decided that for the model.
        """
        semantics = self.chosen_meaning
        if semantics is None:
            raise Unconvertible(
                f"it has two meanings: by the specification {specification}, and onnxruntime {onnxruntime}", SEMANTICS_HINT
            )
        return semantics

    @property
    def chosen_meaning(self) -> Semantics | None:
        """Whose meaning the caller has chosen for the model; None where nobody did."""
        return self._scope.model.semantics

    def caution(self, message: str, only_if_empty: bool = False) -> None:
        """Add a warning about this node to the report; with --strict it is an error.

        One that is about empty tensors alone (`only_if_empty`) is for the details of the report: few models ever meet one.
        """
        self._cautions.append(Caution(in_one_line(message, most=len(message)), only_if_empty))


class Subgraph(Surroundings):
    """A graph in an attribute of a node."""

    __slots__ = ("_holder", "name")

    def __init__(self, holder: Node, name: str, scope: Scope) -> None:
        super().__init__(scope)
        self._holder = holder
        self.name = name
        """The name of the attribute, such as "then_branch"."""

    @property
    def proto(self) -> GraphProto:
        """The graph as onnx stores it."""
        graph = self._scope.graph
        assert isinstance(graph, GraphProto)
        return graph

    def maker(self, name: str) -> Node | None:
        """As `Node.maker`, for a value that can be read in the subgraph."""
        return _maker(self._scope, name)

    def contains(self, node: Node) -> bool:
        """Whether `node` is in this very graph."""
        return node._scope is self._scope

    @property
    def captured(self) -> set[str]:
        """The values of outer graphs that the subgraph and its own subgraphs read."""
        return captured(self.proto)

    def nodes_that_run(self) -> Iterator[NodeProto]:
        """The nodes of the subgraph, those in its own subgraphs, and those of the functions that any of them calls."""
        unseen = {key_of(function): function for function in self._scope.model.proto.functions}
        pending = list(with_inner(self.proto.node))
        while pending:
            node = pending.pop()
            yield node
            called = unseen.pop(callee(node), None)
            pending += [] if called is None else with_inner(called.node)

    def has_to_change(self) -> bool:
        """Whether a rule has to rewrite a node of the subgraph, at any depth, on the way to the target."""
        return bodies.needs_a_rule(self.proto, self._holder.body_opset, self._holder.target)

    def move_initializers(self) -> dict[str, str]:
        """Move the initializers to the graph around the node. Returns their new names by the old ones."""
        return bodies.move_initializers(self._holder, self.proto)

    def paste(self, names: dict[str, str]) -> None:
        """Put copies of the nodes before the node that holds the subgraph.

        `names` maps names of values in the subgraph to names outside. Values that are not in it get fresh names, which are added.
        """
        bodies.paste_graph(self._holder, self._scope, names)


def _maker(scope: Scope, name: str) -> Node | None:
    """The node of an operator of ONNX that makes `name`, as seen from `scope`; None where there is none."""
    home = scope.find(name)
    proto = None if home is None else home.producers.get(scope.resolve(name))
    if home is None or proto is None or proto.domain not in DEFAULT_DOMAINS:
        return None
    return Node(proto, home, home.target)
