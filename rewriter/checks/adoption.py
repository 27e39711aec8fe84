"""Finds nodes of ONNX's own domain that the opset of their graph does not have, and that runtimes take all the same.

onnxruntime's optimizer writes LayerNormalization into models of any opset, old exporters wrote experimental operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx
from onnx import NodeProto

from ..engine.outcome import Remark
from ..engine.registry import ADOPTED, registry
from ..onnx_model.all_nodes import with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import default_opset, shown_name
from ..opsets.transitions import schema_at


def adopt(proto: onnx.ModelProto, operators: Iterable[str]) -> list[Remark]:
    """Move nodes that a rule adopts to the domain `ADOPTED`, in place. Returns a warning for each operator.

    `operators` are the labels of all nodes of the model.
    """
    known = {label.removeprefix(f"{ADOPTED}::") for label in registry.replaced}
    wanted = known.intersection(operators)
    found: dict[tuple[str, int | None], list[NodeProto]] = {}
    owners: list[onnx.ModelProto | onnx.FunctionProto] = [proto, *proto.functions] if wanted else []
    for owner in owners:
        opset = default_opset(owner.opset_import)
        lacking = {name for name in wanted if opset and schema_at(name, opset) is None}
        graph = owner.graph if isinstance(owner, onnx.ModelProto) else owner
        for node in with_inner(graph.node) if lacking else ():
            if node.op_type in lacking and node.domain in DEFAULT_DOMAINS:
                node.domain = ADOPTED
                found.setdefault((node.op_type, opset), []).append(node)
        if lacking and all(entry.domain != ADOPTED for entry in owner.opset_import):
            owner.opset_import.add(domain=ADOPTED, version=1)
    return list(_remarks(found))


def leave(proto: onnx.ModelProto) -> None:
    """Remove the imports of `ADOPTED` from a model whose nodes have all found their meaning."""
    for owner in (proto, *proto.functions):
        for entry in [entry for entry in owner.opset_import if entry.domain == ADOPTED]:
            owner.opset_import.remove(entry)


def _remarks(found: Mapping[tuple[str, int | None], list[NodeProto]]) -> Iterator[Remark]:
    for (op_type, opset), nodes in found.items():
        more = f", and so is every other ({len(nodes) - 1})" if len(nodes) > 1 else ""
        message = f"opset {opset} of ONNX does not have {op_type}: it is taken as runtimes take it{more}"
        yield Remark("warning", op_type, shown_name(nodes[0]), "model", message)
