"""Imports of domains that a model uses and does not state, or states twice, where runtimes know what is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import onnx
from onnx import NodeProto

from ..engine.outcome import Remark
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import default_opset, subgraphs
from ..opsets.transitions import is_restamp, newest_opset, path

_ML = "ai.onnx.ml"
_FIRST_IR_WITH_IMPORTS = 3
_MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's own operators; those of its layouts have names behind it."""


def complete(proto: onnx.ModelProto, newest: Callable[[], int | None]) -> Iterator[Remark]:
    """Import the domains of onnxruntime and of ONNX that nodes use, as onnxruntime does, and state ONNX's own by its short name.

    `newest` finds the newest opset that the installed onnxruntime loads, which it takes where a model imports other domains and not
    ONNX's own; None where there is no onnxruntime. Yields a warning for each domain.
    """
    for where, owner, nodes in _owners(proto):
        used = Counter(node.domain for node in nodes)
        yield from _import_own(proto, owner, where, used, newest)
        if used["ai.onnx"]:
            for node in nodes:
                node.domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
            for entry in owner.opset_import if isinstance(owner, onnx.FunctionProto) else ():
                entry.domain = "" if entry.domain in DEFAULT_DOMAINS else entry.domain
            yield _warning("ai.onnx", where, f"{_nodes(used['ai.onnx'])} it by its long name: the short one stands there now")
        for domain in used.keys() - {entry.domain for entry in owner.opset_import} - set(DEFAULT_DOMAINS):
            version = _version(domain, nodes)
            if version:
                owner.opset_import.add(domain=domain, version=version)
                yield _warning(domain, where, f"it is not imported, though {_nodes(used[domain])} it: its version {version} is now")
        if isinstance(owner, onnx.FunctionProto):
            yield from _take_opset_of_model(proto, owner, where, nodes)


def _take_opset_of_model(
    proto: onnx.ModelProto, function: onnx.FunctionProto, where: str, nodes: Iterable[NodeProto]
) -> Iterator[Remark]:
    """Give a function of another opset that of the model, which onnx.checker wants, where its nodes mean the same at both."""
    own, wanted = default_opset(function.opset_import), default_opset(proto.opset_import)
    if own is None or wanted is None or own == wanted or not 1 <= min(own, wanted) <= max(own, wanted) <= newest_opset():
        return
    if all(_means_the_same(node.op_type, own, wanted) for node in nodes if node.domain in DEFAULT_DOMAINS):
        for entry in function.opset_import:
            entry.version = wanted if entry.domain in DEFAULT_DOMAINS else entry.version
        message = f"it is of opset {own}, and the model of {wanted}, where its nodes mean the same: it is taken as one of {wanted}"
        yield _warning("ai.onnx", where, message)


def _means_the_same(op_type: str, own: int, wanted: int) -> bool:
    """Whether a node means the same at both opsets, whatever its attributes are."""
    if not is_restamp(op_type, own, wanted):
        return False
    return all(step.review == "R" for step in path(op_type, min(own, wanted), max(own, wanted)))


def _import_own(
    proto: onnx.ModelProto,
    owner: onnx.ModelProto | onnx.FunctionProto,
    where: str,
    used: Counter[str],
    newest: Callable[[], int | None],
) -> Iterator[Remark]:
    """Import ONNX's own domain where nodes use it and nothing says its opset."""
    if any(entry.domain in DEFAULT_DOMAINS for entry in owner.opset_import) or not any(used[name] for name in DEFAULT_DOMAINS):
        return
    if owner is not proto:
        return
    loaded = newest() if owner.opset_import else None
    if not owner.opset_import and proto.ir_version < _FIRST_IR_WITH_IMPORTS:
        version, why = 1, f"which IR version {proto.ir_version} means"
    elif loaded is not None:
        version, why = loaded, "the newest of the installed onnxruntime, which takes that"
    else:
        return
    owner.opset_import.add(domain="", version=version)
    proto.ir_version = max(proto.ir_version, _FIRST_IR_WITH_IMPORTS)
    yield _warning("ai.onnx", where, f"it is not imported: the model is taken as one of opset {version}, {why}")


def _version(domain: str, nodes: Iterable[NodeProto]) -> int:
    """The version to import of a domain that onnxruntime knows, the newest in which none of the nodes is deprecated; else 0."""
    if domain == _MICROSOFT or domain.startswith(f"{_MICROSOFT}."):
        return 1
    if domain != _ML:
        return 0
    newest = max(schema.since_version for schema in onnx.defs.get_all_schemas() if schema.domain == _ML)
    op_types = {node.op_type for node in nodes if node.domain == _ML}
    return next((version for version in range(newest, 0, -1) if all(_has(op_type, version) for op_type in op_types)), 0)


def _has(op_type: str, version: int) -> bool:
    return onnx.defs.has(op_type, version, _ML) and not onnx.defs.get_schema(op_type, version, _ML).deprecated


def _owners(proto: onnx.ModelProto) -> Iterator[tuple[str, onnx.ModelProto | onnx.FunctionProto, list[NodeProto]]]:
    yield "model", proto, list(_with_inner(proto.graph.node))
    for function in proto.functions:
        yield f"function '{function.name}'", function, list(_with_inner(function.node))


def _with_inner(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for _, graph in subgraphs(node):
            yield from _with_inner(graph.node)


def _nodes(count: int) -> str:
    return "a node uses" if count == 1 else f"{count} nodes use"


def _warning(domain: str, where: str, message: str) -> Remark:
    return Remark("warning", "Domain", domain, where, message)
