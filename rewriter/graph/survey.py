"""The model as rules see it: `Model` (the whole), `Scope` (one graph or function body), `Node` (one node in the form of an opset).

Thin views over onnx protobufs, which stay the only copy of the data. This module knows no rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import onnx

from ..errors import InvalidModelError
from .protos import GraphLike, labels_of, may_hold_graphs, subgraphs


class Survey:
    """What one pass over all nodes of a model tells; a snapshot."""

    def __init__(self, model: onnx.ModelProto, main_labels: list[str] | None = None) -> None:
        """`main_labels` are those of the main graph, where they are known."""
        self.graphs: list[GraphLike] = []
        """The main graph, the function bodies, and every subgraph of them to any depth."""
        self.operators: Counter[str] = Counter()
        """How many nodes of each operator there are, by its label."""
        self.main_labels = main_labels or labels_of(model.graph)
        pending: list[GraphLike] = [*reversed(model.functions), model.graph]
        while pending:
            graph = pending.pop()
            self.graphs.append(graph)
            labels = self.main_labels if graph is model.graph else labels_of(graph)
            counts = Counter(labels)
            _require_text(counts)
            self.operators.update(counts)
            holders = {label for label in counts if may_hold_graphs(label)}
            if holders:
                for node, label in zip(graph.node, labels, strict=True):
                    if label in holders:
                        pending.extend(inner for _, inner in subgraphs(node))


def _require_text(labels: Iterable[str]) -> None:
    """protobuf hands out a string that is not valid UTF-8 as bytes. Raises InvalidModelError for one."""
    for label in labels:
        if not isinstance(label, str):
            raise InvalidModelError(f"the input is not a valid model: the operator {label!r} is not valid UTF-8")


def all_graphs(model: onnx.ModelProto) -> list[GraphLike]:
    """The main graph, the function bodies, and every subgraph of them to any depth."""
    return Survey(model).graphs


def all_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors of all graphs and functions, but for those of sparse initializers."""
    for graph in all_graphs(proto):
        yield from graph.initializer if isinstance(graph, onnx.GraphProto) else ()
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    yield attribute.t
                yield from attribute.tensors
