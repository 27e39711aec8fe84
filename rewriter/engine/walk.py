"""The walk over the nodes of a model, in which each node may become others: conversion and wider types are passes over it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from onnx import NodeProto

from ..graph.model import Model
from ..graph.scope import Scope
from ..onnx_model.protos import subgraphs
from .notes import Notes
from .outcome import Outcome


class Walk(ABC):
    """A pass over all nodes of `model`, which is edited in place. `notes` has what happened to its nodes."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.notes = Notes()

    @property
    def outcome(self) -> Outcome:
        """The changes that the pass made, and those that it could not make."""
        return self.notes.outcome

    @abstractmethod
    def _replaced(self, scope: Scope) -> Iterator[tuple[int, list[NodeProto]]]:
        """Visit the nodes of one graph: yields the position of each node that becomes others, and these others."""

    def _walk(self, scope: Scope) -> None:
        """Take the nodes of one graph through the pass, and replace those that become others."""
        replaced = dict(self._replaced(scope))
        if replaced:
            _rebuild(scope, replaced)


def hand_on(proto: NodeProto, nodes: Sequence[NodeProto]) -> None:
    """Copy what says where they come from to `nodes`, which replace `proto`: metadata to all of them, and to the nodes in their
    subgraphs; the documentation to the last one, which makes the last output.
    """
    _hand_metadata_on(proto, nodes)
    if proto.doc_string and nodes and not any(node.doc_string for node in nodes):
        nodes[-1].doc_string = proto.doc_string


def _hand_metadata_on(proto: NodeProto, nodes: Iterable[NodeProto]) -> None:
    for node in nodes:
        if node is not proto and not node.metadata_props:
            node.metadata_props.extend(proto.metadata_props)
            for _, graph in subgraphs(node):
                _hand_metadata_on(proto, graph.node)


def _rebuild(scope: Scope, replaced: dict[int, list[NodeProto]]) -> None:
    """Replace the node list of the graph by the new nodes. Existing views on old nodes are invalid from here on."""
    nodes: list[NodeProto] = []
    for index, proto in enumerate(scope.graph.node):
        nodes.extend(replaced.get(index, (proto,)))
    del scope.graph.node[:]
    scope.graph.node.extend(nodes)
    for index in ("producers", "_reading"):
        scope.__dict__.pop(index, None)
    scope.nodes_changed()
