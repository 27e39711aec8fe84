"""Rewritten nodes as plain data: what a report keeps of a rewrite once the model is gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from onnx import GraphProto, NodeProto, printer

from ..engine.outcome import Rewrite
from ..onnx_model.protos import has_text_names, labels_of_nodes, shown_name

LONGEST_TEXT = 2_000
"""The number of characters after which the text of a node is cut; it may contain large constants."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """One node of the original that changed, and the nodes that replace it. `where` is the path to its graph."""

    where: str
    op_type: str
    """The operator that the node had."""
    node: str
    stored_before: bytes
    """The node as a serialized NodeProto: its text is made when it is asked for, because that takes longer than the conversion."""
    stored_after: tuple[bytes, ...]
    made: tuple[str, ...]
    """The operators of the nodes that replace it."""

    @property
    def before(self) -> str:
        """The node in ONNX's text form, cut after 2,000 characters."""
        return node_text(NodeProto.FromString(self.stored_before))

    @property
    def after(self) -> tuple[str, ...]:
        """The nodes that replace it, likewise; empty if it was removed."""
        return tuple(node_text(NodeProto.FromString(node)) for node in self.stored_after)


def detached(rewrites: Iterable[Rewrite]) -> tuple[Rewritten, ...]:
    """The rewrites as data that holds nothing of the model; without nodes whose names are not valid UTF-8."""
    return tuple(
        Rewritten(
            rewrite.scope.where,
            rewrite.op_type,
            shown_name(rewrite.original),
            rewrite.original.SerializeToString(),
            tuple(node.SerializeToString() for node in rewrite.nodes),
            tuple(labels_of_nodes(rewrite.nodes)),
        )
        for rewrite in printable(rewrites)
    )


def printable(rewrites: Iterable[Rewrite]) -> list[Rewrite]:
    """The rewrites of nodes whose names are valid UTF-8, which text, page and JSON can show."""
    return [rewrite for rewrite in rewrites if all(map(has_text_names, (rewrite.original, *rewrite.nodes)))]


def node_text(node: NodeProto) -> str:
    """`node` in ONNX's text form, cut if it is long."""
    try:
        graph = printer.to_text(GraphProto(node=[node]))  # onnx 1.17 does not print nodes
    except Exception:  # onnx cannot print text that is not UTF-8, or a tensor whose data does not fit its shape
        return f"{', '.join(node.output)} = {node.op_type} <…> ({', '.join(node.input)})"
    text = " ".join(graph.partition("{")[2].rpartition("}")[0].split())
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " …"
