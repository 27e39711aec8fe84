"""Collects in one pass over a model what several stages need: all graphs, and the number of nodes of each operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import onnx

from ..errors import InvalidModelError
from ..onnx_model.protos import GraphLike, labels_of, subgraphs
from ..opsets.facts import may_hold_graphs


class Survey:
    """The graphs and operators of a model at the time when the survey is made."""

    def __init__(self, model: onnx.ModelProto, main_labels: list[str] | None = None) -> None:
        """Survey `model`. `main_labels` are the operators of the main graph's nodes, if the caller has them."""
        self.graphs: list[GraphLike] = []
        """The main graph, the function bodies, and all subgraphs of these at any depth."""
        self.operators: Counter[str] = Counter()
        """The number of nodes of each operator, by its label."""
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
    """Raises InvalidModelError where a label is not valid UTF-8; protobuf returns such a string as bytes."""
    for label in labels:
        if not isinstance(label, str):
            raise InvalidModelError(f"the input is not a valid model: the operator {label!r} is not valid UTF-8")


def all_graphs(model: onnx.ModelProto) -> list[GraphLike]:
    """The main graph, the function bodies, and all subgraphs of these at any depth."""
    return Survey(model).graphs


def all_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors in all graphs and functions, except those of sparse initializers."""
    for graph in all_graphs(proto):
        yield from graph.initializer if isinstance(graph, onnx.GraphProto) else ()
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    yield attribute.t
                yield from attribute.tensors
