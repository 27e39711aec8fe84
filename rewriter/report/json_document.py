"""The report for programs: one JSON document for each run, whether it succeeded or not. docs/report.md describes every field.

`SCHEMA_VERSION` is increased when a field changes its meaning or is removed; new fields may be added at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import onnx
from onnx import GraphProto, NodeProto, printer

from ..errors import Blocker
from ..graph.protos import shown_name
from .finished import Finished

if TYPE_CHECKING:
    from ..comparison.verdicts import Comparison
    from .summary import Report

SCHEMA = "split-rewrite/report"
SCHEMA_VERSION = 1
LONGEST_TEXT = 2_000
"""The number of characters after which the text of a node is cut; it may contain large constants."""

Document = dict[str, Any]


def make_document(finished: Finished) -> Document:
    """All facts about one conversion, as JSON types."""
    report, error = finished.report, finished.error
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "tool": {"split-rewrite": version("split-rewrite"), "onnx": onnx.__version__},
        "outcome": finished.outcome,
        "exit_status": finished.exit_status,
        "message": "" if error is None else str(error),
        "input": finished.source.facts(),
        "output": None if finished.written is None else finished.written.facts(),
        "blockers": [_blocker(blocker) for blocker in finished.blockers],
        **({} if report is None else _done(report)),
    }


def dump(document: Document) -> str:
    """The document as text."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def dump_line(document: Document) -> str:
    """The document as one line of text. Names that are not valid Unicode are escaped, so that they can be read back."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace").decode() + "\n"


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
        before = rewrite.original
        yield {
            "where": rewrite.scope.where,
            "op_type": before.op_type,
            "node": shown_name(before),
            "before": node_text(before),
            "after": [node_text(node) for node in rewrite.nodes],
        }


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
