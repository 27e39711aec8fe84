"""What is different between two models, node by node: added, removed and changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from onnx import GraphProto, ModelProto, NodeProto

from ..onnx_model.protos import label_of, shown_name
from ..storage import read
from ..structure.survey import all_graphs


class Difference(NamedTuple):
    """One difference between two models."""

    kind: Literal["added", "removed", "changed"]
    what: str
    """The operator of a node, or "input", "output", "initializer", "opset"."""
    name: str
    detail: str
    """What is different of something that both have."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.what} '{self.name}'{f': {self.detail}' if self.detail else ''}"


def differences(before: str, after: str) -> list[Difference]:
    """The differences between the models in two files; nodes are the same if they have one name. Raises: as `read`."""
    old, new = read(before).proto, read(after).proto
    return [
        *_of_tables("opset", _opsets(old), _opsets(new)),
        *_of_tables("input", _interface(old, "input"), _interface(new, "input")),
        *_of_tables("output", _interface(old, "output"), _interface(new, "output")),
        *_of_nodes(_nodes(old), _nodes(new)),
        *_of_tables("initializer", _initializers(old), _initializers(new)),
    ]


def _opsets(model: ModelProto) -> dict[str, str]:
    return {entry.domain or "ai.onnx": str(entry.version) for entry in model.opset_import}


def _interface(model: ModelProto, kind: Literal["input", "output"]) -> dict[str, str]:
    from .inspecting import value_of

    return {value.name: value_of(value).type for value in getattr(model.graph, kind)}


def _initializers(model: ModelProto) -> dict[str, str]:
    """Type and shape of each stored tensor; the values are not read."""
    tensors = [tensor for graph in all_graphs(model) if isinstance(graph, GraphProto) for tensor in graph.initializer]
    return {tensor.name: f"type {tensor.data_type}, shape {list(tensor.dims)}" for tensor in tensors}


def _nodes(model: ModelProto) -> dict[str, NodeProto]:
    """The nodes of all graphs by name; the second one of a name gets a number."""
    found: dict[str, NodeProto] = {}
    for graph in all_graphs(model):
        for node in graph.node:
            name, number = shown_name(node), 1
            while name in found:
                number += 1
                name = f"{shown_name(node)}#{number}"
            found[name] = node
    return found


def _of_nodes(old: dict[str, NodeProto], new: dict[str, NodeProto]) -> Iterator[Difference]:
    for name, node in old.items():
        if name not in new:
            yield Difference("removed", label_of(node), name, "")
        elif detail := "; ".join(_between(node, new[name])):
            yield Difference("changed", label_of(node), name, detail)
    for name, node in new.items():
        if name not in old:
            yield Difference("added", label_of(node), name, "")


def _between(old: NodeProto, new: NodeProto) -> Iterator[str]:
    """What is different between two nodes of one name."""
    if label_of(old) != label_of(new):
        yield f"{label_of(old)} → {label_of(new)}"
    for kind in ("input", "output"):
        before, after = list(getattr(old, kind)), list(getattr(new, kind))
        if before != after:
            yield f"{kind}s {', '.join(before)} → {', '.join(after)}"
    first, second = ({a.name: a.SerializeToString(deterministic=True) for a in node.attribute} for node in (old, new))
    changed = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    if changed:
        yield f"attributes {', '.join(changed)}"


def _of_tables(what: str, old: dict[str, str], new: dict[str, str]) -> Iterator[Difference]:
    for name, value in old.items():
        if name not in new:
            yield Difference("removed", what, name, "")
        elif new[name] != value:
            yield Difference("changed", what, name, f"{value} → {new[name]}")
    yield from (Difference("added", what, name, "") for name in new if name not in old)
