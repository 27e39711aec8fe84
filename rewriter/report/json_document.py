"""The report for programs: one JSON document for each run, whether it succeeded or not. docs/report.md describes every field.

`SCHEMA_VERSION` is increased when a field changes its meaning or is removed; new fields may be added at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import onnx
from onnx import GraphProto, NodeProto, printer

from ..errors import Blocker, SplitRewriteError, UnconvertibleError
from ..graph.protos import has_text_names, shown_name

if TYPE_CHECKING:
    from ..comparison.verdicts import Comparison
    from ..engine.outcome import Rewrite
    from .summary import Report

SCHEMA = "split-rewrite/report"
SCHEMA_VERSION = 1
LONGEST_TEXT = 2_000
"""The number of characters after which the text of a node is cut; it may contain large constants."""

Document = dict[str, Any]


class ModelFile(NamedTuple):
    """A model file: the name that the user gave, and the path where it is at the moment."""

    name: str
    path: str


def make_document(
    source: ModelFile, destination: ModelFile | None, report: Report | None, error: BaseException | None, exit_status: int
) -> Document:
    """All facts about one run, as JSON types. `report` is None where the run failed before a report was made."""
    blockers = error.blockers if isinstance(error, UnconvertibleError) else () if report is None else report.blockers
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "tool": {"split-rewrite": version("split-rewrite"), "onnx": onnx.__version__},
        "outcome": outcome(report, error, destination),
        "exit_status": exit_status,
        "message": "" if error is None else str(error),
        "input": file_facts(source),
        "output": None if destination is None or error is not None else file_facts(destination),
        "blockers": [_blocker(blocker) for blocker in blockers],
        **({} if report is None else _done(report)),
    }


def dump(document: Document) -> str:
    """The document as text."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def outcome(report: Report | None, error: BaseException | None, destination: ModelFile | None) -> str:
    """How the run ended: "converted", "convertible", "not convertible", "unusable", "failed a check" or "failed"."""
    if error is None:
        if destination is not None:
            return "converted"
        return "convertible" if report is not None and not report.blockers else "not convertible"
    names = {1: "not convertible", 2: "unusable", 3: "failed a check"}
    return names[error.exit_status] if isinstance(error, SplitRewriteError) else "failed"


def file_facts(model: ModelFile) -> Document:
    """Name, size in bytes and SHA-256 of a model file; None where it cannot be read. External data is not included."""
    unknown = {"path": model.name, "bytes": None, "sha256": None}
    if not os.path.isfile(model.path):
        return unknown  # a pipe would have to be read to its end
    try:
        with open(model.path, "rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(1 << 20):
                digest.update(chunk)
            return {"path": model.name, "bytes": file.tell(), "sha256": digest.hexdigest()}
    except OSError:
        return unknown


def _blocker(blocker: Blocker) -> Document:
    return blocker._asdict()


def _done(report: Report) -> Document:
    return {
        "opset": {"before": report.source_opset, "after": report.target_opset},
        "ir_version": {"before": report.source_ir_version, "after": report.ir_version},
        "operators": {name: {"before": b, "after": a} for name, (b, a) in report.changed_operators.items() if report.checked},
        "growth": {name: {"before": before, "after": after} for name, before, after in report.growth},
        "rules": dict(sorted(report.applied.items())),
        "inexact_rules": sorted(report.inexact),
        "changes": [change._asdict() for change in report.changes],
        "rewrites": list(_rewrites(report)),
        "warnings": [remark._asdict() for remark in report.remarks if remark.kind == "warning"],
        "not_loaded": report.not_loaded,
        "runtimes": report.runtimes,
        "avoided": [remark._asdict() for remark in report.remarks if remark.kind == "avoided"],
        "data_files": report.notes,
        "left": [remark._asdict() for remark in report.remarks if remark.kind == "left"],
        "check": report.checked,
        "comparison": None if report.comparison is None else _comparison(report.comparison),
        "verified": None if report.verified is None else report.verified._asdict(),
        "reach": None
        if report.reach is None
        else {
            "lowest": report.reach.lowest,
            "highest": report.reach.highest,
            "below": [_blocker(blocker) for blocker in report.reach.below],
            "above": [_blocker(blocker) for blocker in report.reach.above],
        },
    }


def _rewrites(report: Report) -> Iterable[Document]:
    for rewrite in report.rewrites:
        before = original_node(rewrite)
        yield {
            "where": rewrite.scope.where,
            "op_type": before.op_type,
            "node": shown_name(before),
            "before": node_text(before),
            "after": [node_text(node) for node in rewrite.nodes],
        }


def without_unprintable(report: Report) -> Report:
    """`report` without the rewrites of nodes whose names are not valid UTF-8, which text, page and JSON cannot show."""
    printable = [r for r in report.rewrites if all(map(has_text_names, (original_node(r), *r.nodes)))]
    return replace(report, rewrites=printable)


def original_node(rewrite: Rewrite) -> NodeProto:
    """The node as it was read."""
    return rewrite.scope.original_graph.node[rewrite.index]


def node_text(node: NodeProto) -> str:
    """`node` in ONNX's text form, cut if it is long."""
    try:
        graph = printer.to_text(GraphProto(node=[node]))  # onnx 1.17 does not print nodes
    except Exception:  # onnx cannot print text that is not UTF-8, or a tensor whose data does not fit its shape
        return f"{', '.join(node.output)} = {node.op_type} <…> ({', '.join(node.input)})"
    text = " ".join(graph.partition("{")[2].rpartition("}")[0].split())
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " …"


def _comparison(comparison: Comparison) -> Document:
    outputs = [{key: _plain(value) for key, value in asdict(output).items()} for output in comparison.outputs]
    pieces = [{key: _plain(value) for key, value in asdict(piece).items()} for piece in comparison.pieces]
    return {
        "status": comparison.status,
        "runtime": comparison.runtime,
        "reason": comparison.reason,
        "seed": comparison.seed,
        "outputs": outputs,
        "pieces": pieces,
    }


def _plain(value: Any) -> Any:
    """`value` as JSON types. Infinities, which JSON does not have, become text."""
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
