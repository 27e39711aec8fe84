"""Models that runtimes run although they are not quite valid: what can be repaired without touching what they mean.

Whatever is not repaired here stays refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping, Sequence

import onnx
from onnx import GraphProto, NodeProto, TypeProto, ValueInfoProto

from ..engine.conversion import Remark
from ..graph.protos import DEFAULT_DOMAINS, GraphLike, reads, shown_name
from ..graph.survey import all_graphs
from ..opsets import inference
from ..storage.skeleton import Skeleton
from .function_calls import check_calls


def tidy(proto: onnx.ModelProto, graphs: Sequence[GraphLike]) -> Iterator[Remark]:
    """Repair in place what onnx.checker does not mind, and some runtimes do: what there is twice. `graphs` are all of `proto`."""
    yield from _import_once(proto, graphs)
    for graph in graphs:
        yield from _name_once(graph, _where(proto, graph))
        yield from _declare_once(graph, _where(proto, graph))


def repair(skeleton: Skeleton, refusal: str, replaced: Container[str]) -> list[Remark]:
    """Repair in place what onnx.checker refuses and runtimes run; a warning for everything that was wrong.

    `refusal` is why the model was refused: inference, which may take all memory on a model that is wrong, runs only where it helps.
    `replaced` are the operators of other domains that the user's rules replace, as "domain::operator".
    Raises: InvalidModelError where functions call each other without an end, which nothing else here survives.
    """
    proto = skeleton.proto
    check_calls(proto)
    found = list(_let_initializers_be_no_inputs(proto))
    found += _move_to_their_domain(proto, replaced)
    for graph in reversed(all_graphs(proto)):  # what is inside first: the nodes around it are copied
        found += _sort(graph, _where(proto, graph))
    return [*found, *_forget_stale_shapes(skeleton)] if found or _STALE in refusal else []


_MICROSOFT = "com.microsoft"
_IN_THE_WRONG_DOMAIN = frozenset({"SimplifiedLayerNormalization"})
"""Operators that onnxruntime has in ONNX's own domain, in which ONNX has none of that name."""


def _move_to_their_domain(proto: onnx.ModelProto, replaced: Container[str]) -> Iterator[Remark]:
    """Operators of onnxruntime that say that they are ONNX's get the domain of all others, where a rule replaces them there."""
    wanted = {op_type for op_type in _IN_THE_WRONG_DOMAIN if f"{_MICROSOFT}::{op_type}" in replaced}
    for graph in all_graphs(proto) if wanted else ():
        for node in graph.node:
            if node.op_type in wanted and node.domain in DEFAULT_DOMAINS:
                node.domain = _MICROSOFT
                message = f"{node.op_type} is an operator of onnxruntime and not of ONNX: its domain is {_MICROSOFT} now"
                yield _warning("Node", shown_name(node), _where(proto, graph), message)
    for imports in (proto.opset_import, *(function.opset_import for function in proto.functions)) if wanted else ():
        if all(entry.domain != _MICROSOFT for entry in imports):
            imports.add(domain=_MICROSOFT, version=1)


def _name_once(graph: GraphLike, where: str) -> Iterator[Remark]:
    """Nodes with the name of an earlier one get a number: onnxruntime does not load the model otherwise, but for Constants."""
    names = [node.name for node in graph.node]
    taken = set(names)
    if len(taken - {""}) == len(names) - names.count(""):
        return
    seen: set[str] = set()
    for node in graph.node:
        name = "" if node.op_type == "Constant" else node.name
        if name in seen:
            node.name = next(free for number in itertools.count(2) if (free := f"{name}_{number}") not in taken)
            taken.add(node.name)
            yield _warning("Node", name, where, "another node has its name: it has a number behind it now")
        elif name:
            seen.add(name)


def _warning(what: str, name: str, where: str, message: str) -> Remark:
    return Remark("warning", what, name, where, message)


def _where(proto: onnx.ModelProto, graph: GraphLike) -> str:
    if graph is proto.graph:
        return "main graph"
    return f"{'function' if isinstance(graph, onnx.FunctionProto) else 'graph'} '{graph.name}'"


def _let_initializers_be_no_inputs(proto: onnx.ModelProto) -> Iterator[Remark]:
    """Before IR 4 each initializer has to be an input, and is a constant all the same; from then on those that are none are."""
    inputs = {value.name for value in proto.graph.input}
    version = proto.ir_version
    for tensor in proto.graph.initializer if version < 4 else ():
        if tensor.name not in inputs:
            proto.ir_version = 4
            message = f"it is no input, as it has to be in IR version {version}: the IR version is raised"
            yield _warning("Initializer", tensor.name, "main graph", message)


def _import_once(proto: onnx.ModelProto, graphs: Sequence[GraphLike]) -> Iterator[Remark]:
    """A domain that is imported twice is once, if both say the same version or nothing uses it."""
    owners = [("model", proto), *((f"function '{function.name}'", function) for function in proto.functions)]
    for where, owner in owners:
        first: dict[str, onnx.OperatorSetIdProto] = {}
        for entry in list(owner.opset_import):
            kept = first.setdefault(entry.domain, entry)
            if kept is not entry and (kept.version == entry.version or not _uses(graphs, entry.domain)):
                owner.opset_import.remove(entry)
                yield _warning("Domain", kept.domain or "ai.onnx", where, "it is imported twice: one import is left")


def _uses(graphs: Sequence[GraphLike], domain: str) -> bool:
    return any(node.domain == domain for graph in graphs for node in graph.node)


def _declare_once(graph: GraphLike, where: str) -> Iterator[Remark]:
    """Of equal declarations of one value the first stays; of others none, for nobody knows which is right."""
    if not isinstance(graph, GraphProto) or len({info.name for info in graph.value_info}) == len(graph.value_info):
        return
    declared: dict[str, list[ValueInfoProto]] = {}
    for info in graph.value_info:
        declared.setdefault(info.name, []).append(info)
    for name, infos in declared.items():
        if len(infos) > 1:
            are_equal = all(info == infos[0] for info in infos)
            for info in infos[1:] if are_equal else infos:
                graph.value_info.remove(info)
            yield _warning("Value", name, where, f"it is declared twice: {'one' if are_equal else 'no'} declaration is left")


def _sort(graph: GraphLike, where: str) -> Iterator[Remark]:
    """Let each node come after those that make what it reads, and otherwise where it was."""
    order = _sorted(graph)
    moved = next((node for before, node in zip(graph.node, order, strict=True) if before is not node), None)
    if moved is None:
        return
    yield _warning("Node", shown_name(moved), where, "it comes behind a node that reads what it makes: the nodes are sorted now")
    copies = [NodeProto.FromString(node.SerializeToString()) for node in order]
    del graph.node[:]
    graph.node.extend(copies)


def _sorted(graph: GraphLike) -> list[NodeProto]:
    """The nodes of `graph` in such an order; as they are where they are in a circle."""
    nodes = list(graph.node)
    makers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    done: dict[int, None] = {}
    path: dict[int, Iterator[int]] = {}
    for start in range(len(nodes)):
        pending = [start]
        while pending:
            index = pending[-1]
            if index in done:
                pending.pop()
                continue
            needed = path.setdefault(
                index, iter(sorted({makers[name] for name in reads(nodes[index]) if name in makers} - {index}))
            )
            missing = next((other for other in needed if other not in done), None)
            if missing is None:
                done[index] = None
                pending.pop()
            elif missing in path:
                return nodes
            else:
                pending.append(missing)
    return [nodes[index] for index in done]


_STALE = "existing shape differ"
"""What onnx says of a declared shape that inference contradicts."""


def _forget_stale_shapes(skeleton: Skeleton) -> Iterator[Remark]:
    """Declared shapes of values in between go where inference, which does not look at them, finds others."""
    proto = skeleton.proto
    bare = onnx.ModelProto.FromString(skeleton.checkable())
    for graph in all_graphs(bare):
        if isinstance(graph, GraphProto):
            del graph.value_info[:]
    inferred = inference.infer_model(bare)
    if inferred is None:
        return
    for graph, known in zip(all_graphs(proto), all_graphs(inferred), strict=True):
        if isinstance(graph, GraphProto) and isinstance(known, GraphProto):
            types = {value.name: value.type for value in known.value_info}
            for info in [info for info in graph.value_info if _contradicts(info, types)]:
                graph.value_info.remove(info)
                message = "its declared shape is none that it can have: the declaration is gone"
                yield _warning("Value", info.name, _where(proto, graph), message)


def _contradicts(info: ValueInfoProto, types: Mapping[str, TypeProto]) -> bool:
    """Whether inference finds another number of dimensions, or another number in one of them, for a tensor of the same type."""
    known = types.get(info.name)
    if known is None or inference.type_string(known) != inference.type_string(info.type):
        return False
    declared, found = inference.shape_of(info.type), inference.shape_of(known)
    if declared is None or found is None:
        return False
    numbers = [(a, b) for a, b in zip(declared, found, strict=False) if isinstance(a, int) and isinstance(b, int)]
    return len(declared) != len(found) or any(a != b for a, b in numbers)
