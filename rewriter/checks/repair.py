"""Repairs models that runtimes accept although they are not quite valid. A repair never changes what the model computes.

A mistake that is not repaired here leads to the refusal of the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorShapeProto, TypeProto, ValueInfoProto, helper

from ..engine.outcome import Remark
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GraphLike, default_opset, reads, shown_name
from ..opsets import inference, type_protos
from ..opsets.transitions import newest_opset, schema_at
from ..opsets.type_protos import Shape
from ..storage.skeleton import Skeleton
from ..structure.declarations import show
from ..structure.function_calls import check_calls
from ..structure.inlining import nodes_within
from ..structure.survey import all_graphs
from . import constants, dense, imports, interface
from .mixed_forms import unmix


def without_duplicates(proto: onnx.ModelProto, graphs: Sequence[GraphLike]) -> Iterator[Remark]:
    """Repair duplicates in place, which onnx.checker accepts but some runtimes do not. `graphs` are all graphs of `proto`."""
    yield from _import_once(proto, graphs)
    for graph in graphs:
        yield from _name_once(graph, _where(proto, graph))
        yield from _declare_once(graph, _where(proto, graph))


def with_open_sizes(proto: onnx.ModelProto, graphs: Sequence[GraphLike]) -> Iterator[Remark]:
    """Let negative sizes in declared shapes be unknown ones, in place: exporters write -1 so, and onnx takes it for a number.

    So are dimensions with a name which is none, as "?", if several dimensions of the inputs have it: onnx takes them for equal.
    `graphs` are all graphs of `proto`.
    """
    shared = type_protos.shared_no_names(proto.graph)
    unknown: dict[str, list[tuple[str, TensorShapeProto.Dimension]]] = {}
    for graph in graphs:
        for value in _declared(graph):
            for dim in _unknown_sizes(value.type):
                unknown.setdefault(dim.dim_param, []).append((value.name, dim))
    for called, found in unknown.items():
        if called and called not in shared:
            continue
        for _, dim in found:
            dim.ClearField("value")
        names = list(dict.fromkeys(name for name, _ in found))
        others = f", and {len(names) - 1} more" if len(names) > 1 else ""
        what = f"a dimension called '{called}'" if called else "a negative size"
        yield _warning("Value", names[0], "model", f"{what} in its declared shape counts as unknown{others}")


def with_typed_references(proto: onnx.ModelProto) -> Iterator[Remark]:
    """State the types of attributes that are parameters of a function, in place: onnxruntime takes them from the operator."""
    for function in proto.functions:
        opset = default_opset(function.opset_import)
        untyped = [reference for node in nodes_within(function) for reference in _untyped(node, opset)]
        for reference, kind in untyped:
            reference.type = kind  # type: ignore[assignment]
        if untyped:
            message = f"the attribute {untyped[0][0].name} in it, a parameter, has no type: it is that of the operator"
            yield _warning("Function", function.name, "model", message)


def _untyped(node: NodeProto, opset: int | None) -> Iterator[tuple[AttributeProto, int]]:
    """The attributes of a node of ONNX's own that are parameters without a type, with the types that they have."""
    if opset not in range(1, newest_opset() + 1) or node.domain not in DEFAULT_DOMAINS:
        return
    schema = schema_at(node.op_type, opset)
    for attribute in node.attribute if schema is not None else ():
        known = schema.attributes.get(attribute.name)  # pyright: ignore[reportOptionalMemberAccess]
        if attribute.ref_attr_name and not attribute.type and known is not None:
            yield attribute, int(known.type.value)  # type: ignore[attr-defined]


def _declared(graph: GraphLike) -> Iterator[ValueInfoProto]:
    if isinstance(graph, GraphProto):
        yield from graph.input
        yield from graph.output
    yield from graph.value_info


def _unknown_sizes(kind: TypeProto) -> Iterator[TensorShapeProto.Dimension]:
    """The dimensions in `kind` that have a negative size, or a name which is none."""
    for tensor in type_protos.tensors_in(kind):
        yield from filter(type_protos.is_unknown_size, tensor.shape.dim)


def repair(skeleton: Skeleton, refusal: str, newest_taken: Callable[[], int | None]) -> list[Remark]:
    """Repair in place what onnx.checker refuses although runtimes run it. Returns a warning for each repair.

    `refusal` is the error for which the model was refused: inference may take all memory on an invalid model, so it runs only where
    it can help. `newest_taken` finds the newest opset that the installed onnxruntime loads, None where there is none.
    Raises: InvalidModelError where functions call each other endlessly, since nothing else here could handle such a model.
    """
    proto = skeleton.proto
    check_calls(proto)
    graphs = all_graphs(proto)
    found = [*_let_initializers_be_no_inputs(proto), *imports.complete(proto, newest_taken), *interface.name_graphs(graphs)]
    found += _state_metadata_once(proto)
    found += constants.in_known_form(proto, graphs)
    found += dense.make_dense(skeleton, graphs)
    for graph in reversed(graphs):  # what is inside first: the nodes around it are copied
        found += _sort(graph, _where(proto, graph))
    found += unmix(skeleton)
    found += interface.state_shapes(skeleton)
    return [*found, *_correct_stale_shapes(skeleton)] if found or _STALE in refusal else []


def _state_metadata_once(proto: onnx.ModelProto) -> Iterator[Remark]:
    """Leave only the last entry of each key in the metadata of the model, which is the one that onnxruntime returns."""
    last = {entry.key: index for index, entry in enumerate(proto.metadata_props)}
    for index in reversed(range(len(proto.metadata_props))):
        key = proto.metadata_props[index].key
        if last[key] != index:
            del proto.metadata_props[index]
            yield _warning("Metadata", key, "model", "it is stated twice: the last value is left")


def _name_once(graph: GraphLike, where: str) -> Iterator[Remark]:
    """Append a number to the name of each node whose name an earlier node has: onnxruntime does not load such models.

    Constant nodes stay as they are, because onnxruntime accepts equal names there.
    """
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
    """Raise the IR version to 4 where initializers are not inputs, which earlier versions require but runtimes do not."""
    inputs = {value.name for value in proto.graph.input}
    version = proto.ir_version
    for tensor in proto.graph.initializer if version < 4 else ():
        if tensor.name not in inputs:
            proto.ir_version = 4
            message = f"it is not an input, as IR version {version} requires, so the IR version was raised"
            yield _warning("Initializer", tensor.name, "main graph", message)


def _import_once(proto: onnx.ModelProto, graphs: Sequence[GraphLike]) -> Iterator[Remark]:
    """Remove duplicate imports of a domain, if all state the same version or nothing uses the domain."""
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
    """Remove duplicate declarations of a value.

    If they are equal, one stays; if they differ, none, as nobody knows which is right.
    """
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
    """Sort the nodes so that each comes after those whose outputs it reads; otherwise the order stays."""
    order = _sorted(graph)
    moved = next((node for before, node in zip(graph.node, order, strict=True) if before is not node), None)
    if moved is None:
        return
    yield _warning("Node", shown_name(moved), where, "it comes behind a node that reads what it makes: the nodes are sorted now")
    copies = [NodeProto.FromString(node.SerializeToString()) for node in order]
    del graph.node[:]
    graph.node.extend(copies)


def _sorted(graph: GraphLike) -> list[NodeProto]:
    """The nodes of `graph` in topological order; in their old order where they form a cycle."""
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
"""The words with which onnx reports that inference contradicts a declared shape."""


def correct_outputs(skeleton: Skeleton, failure: str) -> list[Remark]:
    """Correct declared outputs if onnx.checker refuses the result `skeleton` because of them. Returns a warning for each
    correction.

    `failure` is the complaint of onnx.checker. Only a comparison that finds the result equal to the original shows that the
    declaration was wrong, and not the result.
    """
    return list(_correct_stale_shapes(skeleton)) if _STALE in failure else []


def _correct_stale_shapes(skeleton: Skeleton) -> Iterator[Remark]:
    """Remove declared shapes that contradict what inference finds without them. Outputs lose only the sizes that contradict.

    No other size is written instead, because what inference finds is not always what runtimes compute.
    """
    proto = skeleton.proto
    bare = onnx.ModelProto.FromString(skeleton.checkable())
    for graph in all_graphs(bare):
        if isinstance(graph, GraphProto):
            del graph.value_info[:]
            for info in graph.output:
                info.type.CopyFrom(_without_shape(info.type))
    inferred = inference.infer_model(bare)
    if inferred is None:
        return
    for graph, known in zip(all_graphs(proto), all_graphs(inferred), strict=True):
        if isinstance(graph, GraphProto) and isinstance(known, GraphProto):
            types = {value.name: value.type for values in (known.value_info, known.output) for value in values}
            where = _where(proto, graph)
            for info in [info for info in graph.value_info if _contradicts(info, types)]:
                graph.value_info.remove(info)
                message = "its declared shape is none that it can have: the declaration is gone"
                yield _warning("Value", info.name, where, message)
            for info in graph.output:
                if _contradicts(info, types):
                    declared, found = (type_protos.shape_of(kind) or () for kind in (info.type, types[info.name]))
                    left = _in_common(declared, found)
                    info.type.CopyFrom(helper.make_tensor_type_proto(info.type.tensor_type.elem_type, left))
                    message = f"its declared shape {show(declared)} contradicts {show(found)}, which inference finds"
                    yield _warning("Output", info.name, where, f"{message}: {show(left)} is left")


def _without_shape(kind: TypeProto) -> TypeProto:
    """`kind` with an unknown shape if it is a tensor type, else unchanged."""
    if kind.WhichOneof("value") != "tensor_type":
        return kind
    return TypeProto(tensor_type=TypeProto.Tensor(elem_type=kind.tensor_type.elem_type))


def _in_common(declared: Shape, found: Shape) -> Shape:
    """The dimensions of `declared`, without the numbers that differ from those in `found`.

    If the ranks differ, only the rank of `found`.
    """
    if len(declared) != len(found):
        return (None,) * len(found)
    both = zip(declared, found, strict=True)
    return tuple(None if isinstance(said, int) and isinstance(size, int) and said != size else said for said, size in both)


def _contradicts(info: ValueInfoProto, types: Mapping[str, TypeProto]) -> bool:
    """Whether inference finds another rank, or another number for a dimension, for a tensor with the declared element type."""
    known = types.get(info.name)
    if known is None or type_protos.type_string(known) != type_protos.type_string(info.type):
        return False
    declared, found = type_protos.shape_of(info.type), type_protos.shape_of(known)
    if declared is None or found is None:
        return False
    numbers = [(a, b) for a, b in zip(declared, found, strict=False) if isinstance(a, int) and isinstance(b, int)]
    return len(declared) != len(found) or any(a != b for a, b in numbers)
