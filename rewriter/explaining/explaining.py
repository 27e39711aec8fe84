"""Explains a message or a log: which tool said it, what it means, what it names, and the command that helps."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onnx import NodeProto

from ..boundary import public
from ..bridge.opening import open_model
from ..conversion.arguments import check_path
from ..document import Document
from ..errors import WrongTypeError
from ..onnx_model.protos import default_opset
from ..runtimes.known_messages import Known, Place, filled, find_messages, line_of
from ..structure.survey import all_graphs
from .remedies import Remedy, attempts, operator_of, remedies

MOST_LETTERS = 16 << 20
"""The letters of a log that are searched, from its end."""
_MOST_OTHERS = 3
"""The number of further messages that are named."""
_MOST_NODES = 3
"""The number of nodes of the model that are named."""


@dataclass(frozen=True)
class Explanation:
    """What one message means.

    `tools` are those that say it. `line` is the line of the log where it begins, and `number` the number of that line. `names` is
    what it names: "op" an operator, "opset", "ir", "attribute", "node", … `remedies` are the commands that may help, the best
    first; on a model, those that were tried, up to the first that works. `nodes` are the nodes of the model that are meant.
    `others` say what the further messages in the log mean.
    """

    tools: tuple[str, ...]
    number: int
    line: str
    means: str
    names: Mapping[str, str]
    remedies: tuple[Remedy, ...]
    advice: str
    evidence: str
    source: str
    nodes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    model: str = "model.onnx"

    @property
    def remedy(self) -> Remedy | None:
        """The remedy to show: the first that works, or where none was tried, the first."""
        return next((one for one in self.remedies if one.works is not False), None)

    def to_dict(self) -> Document:
        """The explanation as JSON types."""
        return {
            "schema": "split-rewrite/explanation",
            "schema_version": 1,
            "tools": list(self.tools),
            "line": self.line,
            "line_number": self.number,
            "means": self.means,
            "names": dict(self.names),
            "commands": [{"command": one.command(self.model), "works": one.works, "refusal": one.refusal} for one in self.remedies],
            "advice": self.advice,
            "evidence": self.evidence,
            "source": self.source,
            "nodes": list(self.nodes),
            "others": list(self.others),
        }


@public
def explain(text: str, model: str | os.PathLike[str] | None = None) -> Explanation | None:
    """Explain the most telling message in `text`, which may be a long log; None where none is known.

    With the path of a `model`, its nodes that are meant are named, and the commands are tried in dry runs until one works. Nothing
    is written.
    Raises: InvalidModelError, FileNotFoundError where the model cannot be read.
    """
    if not isinstance(text, str):
        raise WrongTypeError(f"text has to be a str, not {type(text).__name__}")
    if model is not None:
        check_path("model", model)
    end = text[-MOST_LETTERS:]
    places = find_messages(end)
    if not places:
        return None
    path = None if model is None else os.fspath(model)
    first, *others = places
    number, line = line_of(end, first)
    known = first.known
    return Explanation(
        tools=_tools(known, text),
        number=number + text.count("\n", 0, len(text) - len(end)),
        line=line,
        means=first.meaning,
        names=first.values,
        remedies=tuple(_remedies(first, text, path)),
        advice=filled(known.advice, first.values),
        evidence=known.evidence,
        source=known.source,
        nodes=() if path is None else _nodes(path, first.values),
        others=tuple(other.meaning for other in others[:_MOST_OTHERS]),
        model=path or "model.onnx",
    )


def _tools(known: Known, text: str) -> tuple[str, ...]:
    """The tools that say the message: those that the text names, else all."""
    lower = text.lower()
    named = tuple(tool for tool in known.by if tool in lower)
    return named or known.by


def _remedies(place: Place, text: str, model: str | None) -> Iterator[Remedy]:
    """The remedies; on a model, those that were tried, up to the first that works."""
    values, opset = dict(place.values), 0
    if model is not None and (opset := default_opset(open_model(model).skeleton.proto.opset_import) or 0):
        values["declared"] = str(opset)
    for remedy in remedies(place.known, values, text):
        for shown in (remedy,) if model is None else attempts(remedy, model, opset):
            yield shown
            if shown.works:
                return


def _nodes(model: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """The nodes of the model that have the name or the operator that a message names, and the number of others."""
    op_type = operator_of(values)
    name = values.get("node", "")
    pairs = [(node, graph.name) for graph in all_graphs(open_model(model).skeleton.proto) for node in graph.node]
    named = [(node, graph) for node, graph in pairs if name and name in (node.name, *node.output)]
    found = named or [(node, graph) for node, graph in pairs if node.op_type == op_type]
    shown = [_shown(node, graph) for node, graph in found[:_MOST_NODES]]
    return (*shown, *([f"{len(found) - len(shown):,} more"] if len(found) > len(shown) else []))


def _shown(node: NodeProto, graph: str) -> str:
    name = node.name or next(filter(None, node.output), "")
    return f"{node.op_type} '{name}' in graph '{graph}'"
