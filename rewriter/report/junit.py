"""The report on a run as JUnit XML, for build servers."""

from __future__ import annotations

import os
from xml.etree import ElementTree

from .totals import Entry, Totals


def junit(totals: Totals) -> str:
    """The run as JUnit XML: one test case for each model.

    A model that the target cannot express, or that failed a check, is a failure; all other problems are errors.
    """
    statuses = [entry.exit_status for entry in totals.entries]
    failures = sum(status in (1, 3) for status in statuses)
    seconds = sum(entry.seconds for entry in totals.entries)
    counts = {"tests": str(len(statuses)), "failures": str(failures), "errors": str(statuses.count(2)), "time": f"{seconds:.3f}"}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "split-rewrite", **counts})
    for entry in totals.in_order:
        suite.append(_test_case(entry))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _test_case(entry: Entry) -> ElementTree.Element:
    folder, name = os.path.split(entry.source)
    attributes = {"name": _xml(name), "classname": _xml(folder or "."), "time": f"{entry.seconds:.3f}"}
    case = ElementTree.Element("testcase", attributes)
    if entry.exit_status:
        kind = "error" if entry.exit_status == 2 else "failure"
        end = ElementTree.SubElement(case, kind, {"type": entry.outcome, "message": _xml(entry.reason)})
        end.text = "\n".join(_xml(line) for line in entry.message.splitlines() or map(str, entry.blockers))
    elif lines := [*entry.warnings, *filter(None, [entry.certified])]:
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(_xml, lines))
    return case


def _xml(text: str) -> str:
    """`text` without control characters and lone surrogates, which XML cannot contain, not even escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
