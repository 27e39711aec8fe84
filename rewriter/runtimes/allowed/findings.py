"""What was found when a condition was judged: met, not met, or unknown, with the reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Finding(NamedTuple):
    """The judgement of a condition. It is met where there are no reasons at all."""

    against: tuple[str, ...] = ()
    """Why the condition is not met."""
    unknown: tuple[str, ...] = ()
    """Why nobody can tell whether it is met; without meaning where there are reasons against it."""

    @property
    def is_met(self) -> bool:
        return not self.against and not self.unknown

    @property
    def is_unknown(self) -> bool:
        return not self.against and bool(self.unknown)


MET = Finding()


def against(reason: str) -> Finding:
    return Finding((reason,))


def unknown(reason: str) -> Finding:
    return Finding((), (reason,))


def all_of(findings: Iterable[Finding]) -> Finding:
    """All conditions have to be met: the reasons of each."""
    found = [finding for finding in findings if not finding.is_met]
    if not found:
        return MET
    return Finding(
        tuple(dict.fromkeys(reason for finding in found for reason in finding.against)),
        tuple(dict.fromkeys(reason for finding in found for reason in finding.unknown)),
    )


def any_of(findings: Iterable[Finding]) -> Finding:
    """One condition has to be met. Where none is, the reasons of each are given, separated by "or"."""
    found = list(findings)
    if any(finding.is_met for finding in found):
        return MET
    reason = " or ".join(" and ".join(finding.against or finding.unknown) for finding in found)
    return unknown(reason) if any(finding.is_unknown for finding in found) else against(reason)


def negated(finding: Finding, shown: str) -> Finding:
    """The condition, which `shown` describes, must not be met."""
    if finding.is_met:
        return against(f"it has {shown}")
    return MET if finding.against else finding
