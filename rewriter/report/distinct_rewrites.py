"""The distinct rewrites of a conversion: equal rewrites of many nodes are collected, so that one drawing shows them all."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from onnx import AttributeProto, NodeProto

from ..cached import cached_property
from ..engine.outcome import Rewrite
from ..graph.names import Names
from ..graph.scope import Scope
from ..onnx_model.protos import defined_names, resolved, shown_name
from ..opsets.facts import GRAPH_HOLDERS
from ..structure.survey import all_graphs

MAX_PLACES = 40
"""The number of nodes that are listed by name for each distinct rewrite."""


@dataclass
class DistinctRewrite:
    """Nodes of the original (`before`) and the nodes that replace them (`after`), as in the first of several equal rewrites.

    `scope` is the graph of the first rewrite. The nodes belong together: they are connected by values that the result does not
    have. `constants` are the Constant nodes that they read. `renamed` maps outputs of `after` to their names in the original.
    `places` are operator, name and graph of the first of the `count` rewrites. `variants` are the different attributes that occur;
    the first of them are shown.
    """

    scope: Scope
    before: list[NodeProto]
    after: list[NodeProto]
    constants: dict[str, NodeProto]
    renamed: dict[str, str]
    count: int = 0
    variants: set[Hashable] = field(default_factory=set)
    places: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def added(self) -> int:
        """The number of nodes that the rewrites add to the model; negative if they remove some."""
        return self.count * (len(self.after) - len(self.before))


def distinct_rewrites(rewrites: Sequence[Rewrite]) -> list[DistinctRewrite]:
    """Collect equal rewrites of one conversion, first those that add most nodes, and among these the most frequent.

    Rewrites are equal if they have the same operators and connections before and after; the values of attributes do not matter.
    """
    if not rewrites:
        return []
    found: dict[Hashable, DistinctRewrite] = {}
    scopes: dict[int, list[Rewrite]] = {}
    for rewrite in rewrites:
        scopes.setdefault(id(rewrite.scope), []).append(rewrite)
    made = _made_names(rewrites[0].scope.model)
    for group in scopes.values():
        graph = _Graph(group[0].scope)
        for before, after in _connected(group, graph, made):
            structure, attributes = _signature(before, after, graph.scope.model.aliases)
            if structure not in found:
                constants, renamed = graph.constants([*before, *after]), _renamed(before, graph.scope)
                found[structure] = DistinctRewrite(graph.scope, before, after, constants, renamed)
            rewrite = found[structure]
            rewrite.count += 1
            rewrite.variants.add(attributes)
            if len(rewrite.places) < MAX_PLACES:
                rewrite.places += [(node.op_type, shown_name(node), graph.scope.where) for node in before]
    return sorted(found.values(), key=lambda rewrite: (-rewrite.added, -rewrite.count))


def _made_names(model: Names) -> set[str]:
    """The names of all values that the nodes of the result make, in any graph."""
    return {name for graph in all_graphs(model.proto) for name in defined_names(graph)}


class _Graph:
    """A graph as it was read."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.nodes = list(scope.original_graph.node)

    @cached_property
    def makers(self) -> dict[str, int]:
        """The index of the node that makes each value."""
        return {name: index for index, node in enumerate(self.nodes) for name in node.output if name}

    def constants(self, readers: list[NodeProto]) -> dict[str, NodeProto]:
        """The Constant nodes that `readers` read, by the names of their values."""
        makers = {name: self.makers[name] for node in readers for name in node.input if name in self.makers}
        return {name: self.nodes[index] for name, index in makers.items() if self.nodes[index].op_type == "Constant"}


def _renamed(before: list[NodeProto], scope: Scope) -> dict[str, str]:
    """The outputs that have another name in the result, with their names in the original."""
    return {scope.resolve(name): name for node in before for name in node.output if name in scope.model.aliases}


def _connected(rewrites: list[Rewrite], graph: _Graph, made: set[str]) -> Iterator[tuple[list[NodeProto], list[NodeProto]]]:
    """The rewrites of one graph, joined where they belong together: the nodes before, and those nodes after
    that are in the result.
    """
    scope, nodes = graph.scope, graph.nodes
    results = {rewrite.index: rewrite.nodes for rewrite in rewrites}
    groups = _Groups()
    pending = list(results)
    while pending:
        index = pending.pop()
        if made.issuperset(filter(None, nodes[index].input[:])):
            continue
        for name in nodes[index].input:
            if name in made or name in scope.model.aliases:
                continue
            maker = graph.makers.get(name)
            if maker is None or nodes[maker].op_type == "Constant":
                continue
            if maker not in groups and maker not in results:
                pending.append(maker)
            groups.join(index, maker)
    alone = ([index] for index in results if index not in groups)
    for members in chain(alone, groups):
        before = [nodes[index] for index in members]
        after = [_settled(node, scope) for index in members for node in results.get(index, ()) if _is_left(node, made)]
        yield before, after


class _Groups:
    """Groups of numbers that belong together: a union-find forest."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._parents

    def __iter__(self) -> Iterator[list[int]]:
        groups: dict[int, list[int]] = {}
        for number in sorted(self._parents):
            groups.setdefault(self._root(number), []).append(number)
        yield from groups.values()

    def join(self, one: int, other: int) -> None:
        """Join the sets of `one` and `other`."""
        self._parents.setdefault(one, one)
        self._parents.setdefault(other, other)
        self._parents[self._root(one)] = self._root(other)

    def _root(self, number: int) -> int:
        """The number that represents the group of `number`."""
        while self._parents[number] != number:
            self._parents[number] = self._parents[self._parents[number]]
            number = self._parents[number]
        return number


def _is_left(node: NodeProto, made: set[str]) -> bool:
    """Whether the node is still in the result, and was not removed because nothing reads it."""
    return not made.isdisjoint(node.output[:]) or not node.output


def _settled(node: NodeProto, scope: Scope) -> NodeProto:
    """A copy of the node whose inputs have their names in the result."""
    aliases = scope.model.aliases
    if not aliases or not any(name in aliases for name in node.input):
        return node
    settled = NodeProto()
    settled.CopyFrom(node)
    for index, name in enumerate(node.input):
        settled.input[index] = scope.resolve(name)
    return settled


def _signature(before: list[NodeProto], after: list[NodeProto], aliases: Mapping[str, str]) -> tuple[Hashable, Hashable]:
    """A key that is equal for equal rewrites, and the attributes, which may differ.

    Slices of protobuf's lists take half the time of iterating over them: a quarter of a second for 100,000 rewrites.
    """
    names: list[str] = []
    operators: list[Hashable] = []
    attributes: list[list[Hashable]] = []
    for node in chain(before, after):
        operators.append(node.op_type)
        names += node.input[:]
        operators.append(len(names))
        names += node.output[:]
        operators.append(len(names))
        key = _without_graphs if node.op_type in GRAPH_HOLDERS else AttributeProto.SerializeToString
        attributes.append([key(attribute) for attribute in node.attribute[:]])
    structure = (len(before), *operators, _pattern(names, aliases))
    return structure, tuple(map(tuple, attributes))


def _pattern(names: list[str], aliases: Mapping[str, str]) -> tuple[int, ...]:
    """For each name, the position where it occurs first. This tells which names are equal, and nothing else about them."""
    first: dict[str, int] = {"": -1}
    if aliases and not aliases.keys().isdisjoint(names):
        names = [resolved(name, aliases) for name in names]
    return tuple([first.setdefault(name, place) for place, name in enumerate(names)])


def _without_graphs(attribute: AttributeProto) -> Hashable:
    """A key for an attribute, without its subgraphs."""
    if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
        return attribute.name, tuple(len(graph.node) for graph in (attribute.g, *attribute.graphs))
    return attribute.SerializeToString()
