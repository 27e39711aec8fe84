"""The report on a run as SARIF, for code scanning."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from ..errors import UnconvertibleError
from .summary import likeness
from .totals import Entry, Totals

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_UNREADABLE = "unusable-model"
_FAILED = "failed-conversion"
_WARNING = "conversion-warning"
_CERTIFIED = "certified"


def sarif(totals: Totals) -> str:
    """The run as SARIF.

    There is one result for each blocker, for each warning, for each certificate, and for each model that failed in another way.
    Blockers of the same kind share a SARIF rule.
    """
    rules: dict[str, str] = {}
    results = [result for entry in totals.in_order for result in _results(entry, rules)]
    driver = {
        "name": "split-rewrite",
        "version": version("split-rewrite"),
        "rules": [{"id": name, "shortDescription": {"text": text}} for name, text in rules.items()],
    }
    run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}
    text = json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)
    return text.encode(errors="backslashreplace").decode()


def _results(entry: Entry, rules: dict[str, str]) -> list[dict[str, Any]]:
    found = []
    for blocker in entry.blockers:
        op_type, transition, reason, _ = likeness(blocker)
        rule = f"{op_type}/{transition.replace('→', '-to-')}" if transition else op_type
        rules.setdefault(rule, f"{op_type} cannot be expressed {transition}: {reason}")
        found.append(_result(entry, rule, "error", str(blocker), f"{blocker.where}/{blocker.node}"))
    if entry.exit_status not in (0, UnconvertibleError.exit_status):
        rule = _UNREADABLE if entry.exit_status == 2 else _FAILED
        rules.setdefault(rule, "The model cannot be read or used" if rule == _UNREADABLE else "The conversion failed")
        found.append(_result(entry, rule, "error", entry.message))
    for warning in entry.warnings:
        rules.setdefault(_WARNING, "The model can be converted, with a warning")
        found.append(_result(entry, _WARNING, "warning", warning))
    if entry.certified:
        rules.setdefault(_CERTIFIED, "What is proved for all shapes")
        found.append(_result(entry, _CERTIFIED, "none", entry.certified) | {"kind": "informational"})
    return found


def _result(entry: Entry, rule: str, level: str, message: str, place: str = "") -> dict[str, Any]:
    uri = entry.source if entry.is_at_uri else quote(os.fsencode(entry.source.replace(os.sep, "/")))
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": uri}}}
    if place:
        location["logicalLocations"] = [{"fullyQualifiedName": place}]
    return {"ruleId": rule, "level": level, "message": {"text": message}, "locations": [location]}
