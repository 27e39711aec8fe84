"""Divides what a conversion changed into regions that are compared one by one. A region has nodes of the original, and the nodes of
the result that make the same values.

Values keep their names when the nodes around them are rewritten, so regions can be cut at values that both models have. If every
region makes equal values from equal values, and everything else is the same in both models, the models are equal. `changed_nodes`
finds the nodes by comparing the graphs. Values that the engine found to be equal to others (`aliases`) are compared too.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import onnx
from onnx import FunctionProto, NodeProto, TensorProto, TypeProto

from ...onnx_model.domains import DEFAULT_DOMAINS
from ...onnx_model.protos import GRAPH_TYPES, subgraphs
from ...opsets.facts import of
from ...structure.inlining import Key
from ..original import Original
from .changed_nodes import ChangedNode, GraphPair, NodeChanges
from .dependence import MANY

MAX_NODES = 2000
"""The largest number of nodes of the original in a region."""
_SEARCHED = 512
"""The largest number of nodes that are searched for a path from one value to others."""


class Input(NamedTuple):
    """A value that a region reads: the graph that reads it, and its name in the original ("" if only the result has it)."""

    pair: GraphPair
    name: str


@dataclass
class Region:
    """Nodes of the original and of the result that make the same `outputs` from the same `inputs`, in topological order.

    `inputs` have their names in the result; `renamed` maps them to their names in the original where these differ. `aliases` maps
    outputs that the result does not have to the values of the result that should be equal. `rewritten` is False for a node that did
    not change while the definition of its operator did. `foreign` are inputs of the result's nodes that the original's nodes do not
    read. `problem` says why the region is not run: because it is certainly wrong (`is_wrong`), or because it cannot be run.
    """

    pair: GraphPair
    old: list[NodeProto] = field(default_factory=list)
    new: list[NodeProto] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    inputs: dict[str, Input] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    rewritten: bool = True
    problem: str = ""
    is_wrong: bool = False
    members: list[ChangedNode] = field(default_factory=list)

    @property
    def starts_from_inputs(self) -> bool:
        """Whether the region reads only graph inputs and constants, so that each of its inputs may have any value."""
        return all(pair.old_maker(name) is None for pair, name in self.inputs.values())

    @property
    def cut_sequence(self) -> str:
        """A sequence that is an input of the region, so that random values may be impossible; "" if there is none."""
        cut = (name for name, (pair, old) in self.inputs.items() if old and pair.is_sequence(old) and pair.old_maker(old))
        return next(cut, "")


class RegionFinder:
    """Finds the regions of a conversion from the unconverted `original` to `result`. `units` are as for `NodeChanges`."""

    def __init__(
        self, original: Original, result: onnx.ModelProto, aliases: Mapping[str, str], units: frozenset[Key] = frozenset()
    ) -> None:
        self._nodes = NodeChanges(original, result, aliases, units)
        laid_out = {name for name in aliases if any(pair.lays_out(name) for pair in self._nodes.pairs)}
        self._aliases = {name: value for name, value in aliases.items() if name not in laid_out}
        self._resolve = self._nodes.resolve
        self._targets = set(map(self._resolve, self._aliases))
        self.pairs = self._nodes.pairs
        """The graphs that both models have, at any depth."""
        self.kept = self._nodes.kept
        """Nodes that did not change, apart from names, while the definition of their operator did."""

    def rewritten(self) -> Iterator[Region]:
        """The regions of the nodes that were rewritten."""
        for pair, name in self._nodes.changed_tensors():
            problem = f"the stored tensor '{name}' is another one in the result"
            yield Region(pair, outputs=[name], problem=problem, is_wrong=True)
        self._join()
        groups: dict[int, list[ChangedNode]] = {}
        for changed in self._nodes.changed.values():
            groups.setdefault(id(changed.root()), []).append(changed)
        for members in groups.values():
            region = self.cut(members)
            if region.outputs:
                yield region

    def widened(self, region: Region) -> Region | None:
        """The region together with the nodes that make its inputs; None where all inputs are graph inputs or constants."""
        known = {changed.place for changed in region.members}
        more = [maker for pair, name in region.inputs.values() if (maker := self._context(pair, name)) is not None]
        members = {changed.place: changed for changed in [*region.members, *more]}
        return None if members.keys() == known else self.cut(list(members.values()))

    # -- what belongs together

    def _join(self) -> None:
        """Join nodes that are connected by a value that only one of the models has, unless each region can compute it anew."""
        for changed in self._nodes.changed.values():
            pair, node = changed.pair, changed.node
            for name in free_reads(node):
                if self._is_gone(pair, name) and not _is_size(pair, name):
                    changed.join(self._find(self._nodes.changed, pair.old_maker(name)))
            for name in filter(None, node.output):
                value = self._resolve(name)
                if value == name or not pair.in_old(value):
                    changed.join(self._find(self._nodes.added, pair.new_maker(value)))
        for added in self._nodes.added.values():
            pair = added.pair
            for name in free_reads(pair.new_nodes[added.index]):
                maker = None if name in self._targets or pair.in_old(name) else pair.new_maker(name)
                if maker is not None and maker[0].new_nodes[maker[1]].op_type != "Constant":
                    added.join(self._find(self._nodes.added, maker))

    def _is_gone(self, pair: GraphPair, name: str) -> bool:
        """Whether a node of the original, not a Constant, makes `name`, and the result has nothing in its place."""
        maker = pair.old_maker(name)
        is_made = maker is not None and maker[0].old_nodes[maker[1]].op_type != "Constant"
        return is_made and name not in self._aliases and not pair.in_new(name)

    def _find(self, where: dict[tuple[int, int], ChangedNode], place: tuple[GraphPair, int] | None) -> ChangedNode | None:
        return None if place is None else where.get((id(place[0]), place[1]))

    # -- cutting

    def cut(self, members: list[ChangedNode]) -> Region:
        """The region of these nodes of the original, and of further nodes that are needed to compare them."""
        members = sorted(members, key=lambda changed: changed.place)
        region = Region(members[0].pair, outputs=self._outputs_of(members), rewritten=not members[0].redefined)
        if not region.outputs:
            return region
        while len(members) <= MAX_NODES:
            self._fill(region, members)
            more = self._needed(region, members)
            if not more:
                break
            members = sorted([*members, *more], key=lambda changed: changed.place)
        region.members = members
        region.problem = region.problem or _problem(region)
        return region

    def _outputs_of(self, members: Iterable[ChangedNode]) -> list[str]:
        return [
            name
            for changed in members
            for name in filter(None, changed.node.output)
            if not changed.pair.lays_out(name) and changed.pair.in_new(self._resolve(name))
        ]

    def _fill(self, region: Region, members: list[ChangedNode]) -> None:
        """Fill the region with the nodes and inputs that follow from its nodes of the original, `members`."""
        region.old = [changed.node for changed in members]
        made = {name: changed.pair for changed in members for name in changed.node.output if name}
        region.aliases = {name: self._resolve(name) for name in region.outputs if name in self._aliases}
        region.inputs, region.renamed = {}, {}
        for changed in members:
            for name in free_reads(changed.node):
                if name not in made:
                    self._read(region, name, changed.pair, made)
        before = set(region.inputs)
        self._slice(region, made)
        region.foreign = [name for name in region.inputs if name not in before and region.inputs[name].name]

    def _read(self, region: Region, name: str, pair: GraphPair, made: Container[str]) -> None:
        """Make `name` of the original an input of the region, unless it is another name for a value that the region makes."""
        value = self._resolve(name)
        if value != name:
            region.renamed[name] = value
        if value not in made:
            region.inputs.setdefault(value, Input(pair, name))

    def _slice(self, region: Region, made: dict[str, GraphPair]) -> None:
        """Find the nodes of the result that compute the region's outputs from values that are equal in both models."""
        nodes: dict[tuple[int, ...], NodeProto] = {}
        own = made.keys() | {value for name, value in region.aliases.items() if not made[name].in_old(value)}
        pending = [(region.aliases.get(name, name), made[name]) for name in region.outputs]
        while pending:
            name, pair = pending.pop()
            if name in region.inputs:
                continue
            is_old = pair.in_old(name)
            maker = pair.new_maker(name)
            if (is_old or name in self._targets) and name not in own:
                region.inputs[name] = Input(pair, name if is_old else "")
            elif maker is not None:
                home, index = maker
                place = (*home.place, index)
                if place not in nodes:
                    nodes[place] = home.new_nodes[index]
                    pending += [(value, home) for value in free_reads(nodes[place])]
            elif is_old and name not in made:
                region.inputs[name] = Input(pair, name)
        region.new = [nodes[place] for place in sorted(nodes)]

    def _needed(self, region: Region, members: list[ChangedNode]) -> list[ChangedNode]:
        """Further nodes that the region needs: makers of sequences that it reads, makers of sizes that the result lacks, and nodes
        that lead to values that only new nodes read.
        """
        inner = [value for value in region.inputs.values() if value.pair.is_sequence(value.name) or self._is_gone(*value)]
        if not inner and not region.foreign:
            return []
        makers = [maker for pair, name in inner if (maker := self._context(pair, name)) is not None]
        for name in region.foreign:
            makers += self._way(name, region)
        known = {changed.place for changed in members}
        return list({maker.place: maker for maker in makers if maker.place not in known}.values())

    def _context(self, pair: GraphPair, name: str) -> ChangedNode | None:
        """The node of the original that makes `name`; None where there is none, or where its subgraphs or
        domain exclude it from regions.
        """
        maker = pair.old_maker(name)
        if maker is None:
            return None
        node = maker[0].old_nodes[maker[1]]
        may_be_run = node.domain in DEFAULT_DOMAINS or of(node.op_type, node.domain).has("blocks")
        if not may_be_run or any(True for _ in subgraphs(node)):
            return None
        return ChangedNode(*maker)

    def _way(self, start: str, region: Region) -> list[ChangedNode]:
        """The nodes of the original between the value `start` and the inputs of the region's old nodes;
        empty if there are too many.
        """
        read = [value for name, value in region.inputs.items() if name not in region.foreign]
        pending = [maker for pair, name in read if (maker := self._context(pair, name)) is not None]
        seen: dict[tuple[int, ...], ChangedNode] = {}
        while pending and len(seen) < _SEARCHED:
            changed = pending.pop(0)
            if changed.place in seen:
                continue
            seen[changed.place] = changed
            makers = (self._context(changed.pair, name) for name in free_reads(changed.node))
            pending += [maker for maker in makers if maker is not None]
        reached, way = {start}, []
        for place in sorted(seen):
            if reached.intersection(free_reads(seen[place].node)):
                reached.update(seen[place].node.output)
                way.append(seen[place])
        return way


def free_reads(node: NodeProto) -> list[str]:
    """The names that `node` reads, including those that its subgraphs capture, each once."""
    if not node.attribute or not any(attribute.type in GRAPH_TYPES for attribute in node.attribute):
        return [name for name in dict.fromkeys(node.input) if name]
    names = dict.fromkeys(filter(None, node.input))
    for _, graph in subgraphs(node):
        inner = dict.fromkeys(name for child in graph.node for name in free_reads(child))
        inner.update(dict.fromkeys(value.name for value in graph.output))
        local = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        local.update(name for child in graph.node for name in child.output)
        names.update(dict.fromkeys(name for name in inner if name not in local))
    return list(names)


_WHOLE_NUMBERS = frozenset(
    {
        TensorProto.BOOL,
        TensorProto.INT8,
        TensorProto.UINT8,
        TensorProto.INT16,
        TensorProto.UINT16,
        TensorProto.INT32,
        TensorProto.UINT32,
        TensorProto.INT64,
        TensorProto.UINT64,
    }
)


def _is_size(pair: GraphPair, name: str) -> bool:
    """Whether the value is sizes, axes or the like that follow from constants and lengths alone."""
    return is_small_whole_numbers(pair.type(name)) and not pair.depends_on_data(name)


def is_small_whole_numbers(kind: TypeProto | None) -> bool:
    """Whether a value may be sizes, axes, positions or the like: it has integers, and few elements as far as is known."""
    if kind is None or kind.WhichOneof("value") != "tensor_type" or kind.tensor_type.elem_type not in _WHOLE_NUMBERS:
        return False
    return element_count(kind) <= MANY


def element_count(kind: TypeProto) -> int:
    """The number of elements of a tensor type; unknown dimensions count as one."""
    return math.prod([dim.dim_value for dim in kind.tensor_type.shape.dim if dim.HasField("dim_value") and dim.dim_value > 0])


def _problem(region: Region) -> str:
    """Why the region need not or cannot be run; "" where it can."""
    if len(region.members) > MAX_NODES:
        return f"it belongs together with {len(region.members):,} other nodes"
    made = [name for node in region.old for name in node.output if name]
    if len(set(made)) < len(made):
        return "it belongs together with nodes of two subgraphs that have values of the same name"
    if isinstance(region.pair.new, FunctionProto):
        for node in (*region.old, *region.new):
            if any(attribute.ref_attr_name for attribute in node.attribute):
                return "an attribute is a parameter of the function"
    return ""
