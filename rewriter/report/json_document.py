"""The report for programs: one JSON document for each run, whether it succeeded or not. docs/report.md describes every field.

`SCHEMA_VERSION` is increased when a field changes its meaning or is removed; new fields may be added at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..document import Document, head
from .finished import Finished, ModelFile

if TYPE_CHECKING:
    from ..certifying.certificate import Certificate
    from ..comparison.verdicts import Comparison
    from .data import ReportData


def make_document(finished: Finished) -> Document:
    """All facts about one conversion, as JSON types."""
    report, error, written = finished.report, finished.error, finished.written
    return {
        **head(
            finished.outcome,
            finished.exit_status,
            "" if error is None else str(error),
            finished.source.facts(),
            None if written is None else written.facts(),
            [blocker.to_dict() for blocker in finished.blockers],
        ),
        **({} if report is None else _done(report)),
    }


def document_of(report: ReportData) -> Document:
    """The document of a report alone. A model in memory has no path, and sizes and digests are null."""
    result = ModelFile(report.destination, "") if report.checked else None
    return make_document(Finished.of(ModelFile(report.name, ""), result, report, None))


def dump(document: Document) -> str:
    """The document as text."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def dump_line(document: Document) -> str:
    """The document as one line of text. Names that are not valid Unicode are escaped, so that they can be read back."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace").decode() + "\n"


def _done(report: ReportData) -> Document:
    return {
        "opset": {"before": report.source_opset, "after": report.target_opset},
        "ir_version": {"before": report.source_ir_version, "after": report.ir_version},
        "operators": {name: {"before": b, "after": a} for name, (b, a) in report.changed_operators.items() if report.checked},
        "growth": {name: {"before": before, "after": after} for name, before, after in report.growth},
        "rules": dict(sorted(report.applied.items())),
        "inexact_rules": sorted(report.inexact),
        "changes": [change._asdict() for change in report.changes],
        "rewrites": list(_rewrites(report)),
        "warnings": [remark.to_dict() for remark in report.remarks if remark.kind in ("warning", "empty")],
        "not_loaded": report.not_loaded,
        "runtimes": report.runtimes,
        "about_runtimes": list(report.about_runtimes),
        "avoided": [remark.to_dict() for remark in report.remarks if remark.kind == "avoided"],
        "fallback": [remark.to_dict() for remark in report.remarks if remark.kind == "fallback"],
        "unchecked": [remark.to_dict() for remark in report.remarks if remark.kind == "unchecked"],
        "data_files": list(report.notes),
        "weights": None if report.weights is None else report.weights._asdict(),
        "left": [remark.to_dict() for remark in report.remarks if remark.kind == "left"],
        "check": report.checked,
        "comparison": None if report.comparison is None else _comparison(report.comparison),
        "verified": [verified._asdict() for verified in report.verified],
        "certificate": None if report.certificate is None else _certificate(report.certificate),
        "untried": list(report.untried),
        "reach": None
        if report.reach is None
        else {
            "lowest": report.reach.lowest,
            "highest": report.reach.highest,
            "below": [blocker.to_dict() for blocker in report.reach.below],
            "above": [blocker.to_dict() for blocker in report.reach.above],
        },
    }


def _rewrites(report: ReportData) -> Iterable[Document]:
    for rewrite in report.rewrites:
        yield {
            "where": rewrite.where,
            "op_type": rewrite.op_type,
            "node": rewrite.node,
            "before": rewrite.before,
            "after": list(rewrite.after),
        }


def _comparison(comparison: Comparison) -> Document:
    outputs = [{key: _plain(value) for key, value in asdict(output).items()} for output in comparison.outputs]
    pieces = [{key: _plain(value) for key, value in asdict(piece).items() if key != "values"} for piece in comparison.pieces]
    return {
        "status": comparison.status,
        "runtime": comparison.runtime,
        "reason": comparison.reason,
        "seed": comparison.seed,
        "samples": comparison.samples,
        "evidence": comparison.evidence,
        "outputs": outputs,
        "pieces": pieces,
    }


def _certificate(certificate: Certificate) -> Document:
    return {
        "is_proved": certificate.is_proved,
        "summary": str(certificate),
        "outputs": [asdict(proof) for proof in certificate.outputs],
        "changes": [asdict(proof) for proof in certificate.changes],
        "solver": certificate.solver,
        "reason": certificate.reason,
    }


def _plain(value: Any) -> Any:
    """`value` as JSON types. Infinities, which JSON does not have, become text."""
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
