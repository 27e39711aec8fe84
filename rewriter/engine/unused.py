"""Removes what lost its last use to a rule, or is read by nothing and in the way, and renames uses of forwarded values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnx import FunctionProto, GraphProto, NodeProto, StringStringEntryProto

from ..graph.model import Model
from ..onnx_model.all_nodes import with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GraphLike, defined_names, reads, subgraphs
from ..opsets import facts

HAVE_EFFECTS = facts.of_kind(facts.Kind.RANDOM)
"""Operators that draw random numbers. Removing one would change the numbers that the others in the model draw."""


def remove(model: Model) -> set[str]:
    """Rename uses of forwarded values, and remove nodes and initializers that lost their last use to a rule.

    Returns the removed names.
    """
    lost = model.lost_uses | (model.unread - model.new_uses)
    if not model.aliases and not lost:
        return set()
    graphs = model.graphs
    if model.aliases:
        _rename_uses(model, graphs)
    candidates = lost.union(map(model.main.resolve, lost))
    unused = candidates - _used_among(graphs, candidates)
    if not unused:
        return set()
    removed = _remove_dead(graphs, set(unused))
    if not unused <= removed:
        removed |= _undefined(graphs, unused)
    _forget(model, removed)
    return removed


def remove_unread(model: Model, made: set[str]) -> set[str]:
    """Remove the nodes that make the values `made`, or read them, if nothing needs them, and then what only these read.

    Returns the removed names.
    """
    graphs = model.graphs
    depending = set(made)
    for node in (node for graph in graphs for node in graph.node):
        inner = {name for each in with_inner([node]) for name in each.output}
        if not (depending.isdisjoint(reads(node)) and depending.isdisjoint(inner)):
            depending.update(filter(None, node.output))
    removed = _remove_dead(graphs, depending - _used_among(graphs, depending))
    _forget(model, removed)
    return removed


def _forget(model: Model, removed: set[str]) -> None:
    """Let nothing else in the model tell of the `removed` values."""
    if len(model.main.labels) != len(model.proto.graph.node):
        model.main.nodes_changed()
    _forget_annotations(model.graphs, removed)


def _undefined(graphs: list[GraphLike], unused: set[str]) -> set[str]:
    """The names among `unused` that nothing defines any more, because a rule removed or renamed what made them."""
    left = set(unused)
    for graph in graphs:
        left.difference_update(defined_names(graph))
    return left


def _rename_uses(model: Model, graphs: list[GraphLike]) -> None:
    """Replace each use of a forwarded value by the value that it stands for."""
    final = {name: model.main.resolve(name) for name in model.aliases}
    for graph in graphs:
        for node in graph.node:
            for index, name in enumerate(node.input):
                if name in final:
                    node.input[index] = final[name]
        if isinstance(graph, GraphProto):
            for value in graph.output if graph is not model.proto.graph else ():
                value.name = final.get(value.name, value.name)
            for entry in _parameters(graph):
                entry.value = final.get(entry.value, entry.value)


def _parameters(graph: GraphLike) -> Iterator[StringStringEntryProto]:
    """The values that quantization annotations name as scale or zero point, each behind its role."""
    for annotation in graph.quantization_annotation if isinstance(graph, GraphProto) else ():
        yield from annotation.quant_parameter_tensor_names


def _remove_dead(graphs: list[GraphLike], unused: set[str]) -> set[str]:
    """Remove what makes the `unused` names, and then what only these nodes used. Returns the names that are gone."""
    stored = {tensor.name for graph in graphs if isinstance(graph, GraphProto) for tensor in graph.initializer}
    if unused <= stored:
        return _sweep(graphs, unused, set())
    uses = Counter(name for graph in graphs for name in _used_names(graph))
    producers: dict[str, list[NodeProto]] = {}  # sibling subgraphs may use a name twice
    for graph in graphs:
        for node in graph.node:
            for name in node.output:
                producers.setdefault(name, []).append(node)
    names: set[str] = set()
    dead: dict[int, NodeProto] = {}
    while unused:
        name = unused.pop()
        names.add(name)
        for node in producers.get(name, ()):
            if id(node) in dead or not _is_removable(node, uses):
                continue
            names.update(filter(None, node.output))
            for lost in _end(node, dead):
                uses[lost] -= 1
                if not uses[lost]:
                    unused.add(lost)
    gone = _sweep(graphs, names, set(dead))
    return gone if len(graphs) == 1 else _undefined(graphs, gone)  # sibling subgraphs may use a name twice


def _end(node: NodeProto, dead: dict[int, NodeProto]) -> Iterator[str]:
    """Add `node` and the nodes in its subgraphs to `dead`. Yields each name that they read, once for each use."""
    if id(node) in dead:
        return
    dead[id(node)] = node
    yield from filter(None, node.input)
    for _, graph in subgraphs(node):
        yield from (value.name for value in graph.output)
        for inner in graph.node:
            yield from _end(inner, dead)


def _is_removable(node: NodeProto, uses: Counter[str]) -> bool:
    """Whether nothing uses the node's outputs, and removing the node does not affect other nodes."""
    if node.domain not in DEFAULT_DOMAINS or any(each.op_type in HAVE_EFFECTS for each in with_inner([node])):
        return False
    return not any(uses[name] for name in node.output if name)


def _used_among(graphs: list[GraphLike], names: set[str]) -> set[str]:
    """The names among `names` that something reads."""
    used: set[str] = set()
    for graph in graphs:
        for node in graph.node:
            inputs = node.input[:]
            if not names.isdisjoint(inputs):
                used.update(inputs)
        used.update(graph.output if isinstance(graph, FunctionProto) else [value.name for value in graph.output])
        used.update(entry.value for entry in _parameters(graph))
    return used & names


def _used_names(graph: GraphLike) -> Iterator[str]:
    """The names that `graph` reads, its annotations included, and the names of its outputs."""
    for node in graph.node:
        yield from node.input
    yield from (entry.value for entry in _parameters(graph))
    yield from graph.output if isinstance(graph, FunctionProto) else (value.name for value in graph.output)


def _sweep(graphs: list[GraphLike], names: set[str], dead: set[int]) -> set[str]:
    """Delete the dead nodes, and the unused initializers called `names`. Returns the names that were really removed."""
    gone: set[str] = set()
    for graph in graphs:
        for index in reversed(range(len(graph.node))) if dead else ():
            # In place: a new list would hold copies of the nodes, and of their subgraphs, which come later in `graphs`.
            if id(graph.node[index]) in dead:
                gone.update(filter(None, graph.node[index].output))
                del graph.node[index]
        if isinstance(graph, GraphProto):
            inputs = {value.name for value in graph.input}
            for index in reversed(range(len(graph.initializer))):
                name = graph.initializer[index].name
                if name in names and name not in inputs:
                    del graph.initializer[index]
                    gone.add(name)
    return gone


def _forget_annotations(graphs: list[GraphLike], removed: set[str]) -> None:
    """Remove the types and quantization annotations of values that are gone."""
    for graph in graphs:
        infos = getattr(graph, "value_info", [])
        for index in reversed(range(len(infos))):
            if infos[index].name in removed:
                del infos[index]
        annotations = getattr(graph, "quantization_annotation", [])
        for index in reversed(range(len(annotations))):
            if annotations[index].tensor_name in removed:
                del annotations[index]
