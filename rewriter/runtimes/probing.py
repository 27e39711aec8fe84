"""Finds out what an installed runtime accepts and computes wrongly, by running the models of
`probe_models`, and writes a profile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import numpy as np

from .. import progress
from ..errors import SplitRewriteError
from ..execution.agreement import disagreement
from ..execution.other_runtimes import Ran, Target, run_model
from .probe_models import Probe, probes
from .profiles import Effect

NO_FORMS = ("opset", "ir_version", "functions", "operators")
"""The values of `Probe.form` that are not forms of nodes."""
_USUAL_OPSETS = (9, 13, 17)
Verdict = Literal["right", "wrong", "refused", "crash", "hang"]
_EFFECTS: dict[Verdict, Effect] = {"wrong": "wrong", "refused": "refused", "crash": "crash", "hang": "crash"}


class Finding(NamedTuple):
    """The result of one probe. `reason` is one line; it is empty where the verdict is "right"."""

    probe: Probe
    verdict: Verdict
    reason: str = ""


class Findings(NamedTuple):
    """The results of all probes, and the release of the runtime that was probed."""

    release: str
    found: tuple[Finding, ...]


def probe_runtime(target: Target) -> Findings:
    """Run every probe in `target` and, for comparison, in the onnxruntime of this environment.

    Raises: ArgumentError where the runtime is not installed; SplitRewriteError where it runs none of the usual models.
    """
    target.require()
    reference = Target("onnxruntime")
    reference.require()
    models = list(probes())
    release = _release_that_runs(target, models)
    advance = progress.begin("probing", len(models))

    def judge(probe: Probe) -> Finding:
        inputs = probe.inputs()
        expected = _expected(probe, reference, inputs)
        ran = run_model(target, probe.model, inputs)
        advance(1)
        return _judged(probe, ran, expected)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return Findings(release, tuple(pool.map(judge, models)))


def _release_that_runs(target: Target, models: Iterable[Probe]) -> str:
    """The release of the runtime, which it reports with the first model of one node that it runs.

    Raises SplitRewriteError where it runs none of them, or hangs.
    """
    ran = Ran("refused")
    for probe in (probe for probe in models if probe.form == "opset" and probe.about in _USUAL_OPSETS):
        ran = run_model(target, probe.model, probe.inputs())
        if ran.status == "ran":
            return ran.version
        if ran.status == "hung":
            break
    raise SplitRewriteError(f"{target.adapter} runs no model, not even one of a single node: {ran.reason}")


def _expected(probe: Probe, reference: Target, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    if probe.form in ("opset", "ir_version"):
        return [inputs[0] + inputs[0]]
    ran = run_model(reference, probe.plain or probe.model, inputs)
    if ran.status != "ran":
        raise SplitRewriteError(f"the installed onnxruntime does not run the probe '{probe.form}': {ran.reason}")
    return ran.outputs


def _judged(probe: Probe, ran: Ran, expected: Sequence[np.ndarray]) -> Finding:
    if ran.status != "ran":
        verdicts: dict[str, Verdict] = {"refused": "refused", "crashed": "crash", "hung": "hang"}
        return Finding(probe, verdicts[ran.status], ran.reason)
    difference = disagreement(expected, ran.outputs)
    return Finding(probe, "wrong", difference) if difference else Finding(probe, "right")


def as_toml(name: str, findings: Findings) -> str:
    """The findings as a profile in TOML, which `--for` can read."""
    release, evidence = _short(findings.release), f'evidence = "by probe of {findings.release}"'
    opsets, irs = (_right_from_first(findings.found, form) for form in ("opset", "ir_version"))
    refused = _refused(findings.found)
    lines = [f'title = "{name}"', f'package = "{name}"', "", "[[release]]", f'from = "{release}"', f'to = "{release}"']
    if opsets:
        lines.append(f"opset = {{ min = {opsets[0]}, max = {opsets[-1]} }}")
    if irs:
        lines.append(f"ir_max = {irs[-1]}")
    if refused:
        lines.append("operators_refused = [" + ", ".join(f'"{op}"' for op in refused) + "]")
    if any(f.probe.form == "functions" and f.verdict != "right" for f in findings.found):
        lines.append("functions_refused = true")
    lines += [evidence, 'source = "split-rewrite probe"']
    for form, effect, operators in _quirks(f for f in findings.found if f.probe.about not in refused):
        listed = ", ".join(f'"{op}"' for op in operators)
        lines += ["", "[[quirk]]", f'form = "{form}"', f"operators = [{listed}]", f'effect = "{effect}"', evidence]
    return "\n".join(lines) + "\n"


def _refused(found: Iterable[Finding]) -> list[str]:
    """The operators that are not right in their plain form. Where a probe has two sequence operators, both are listed."""
    return sorted({op for f in found if f.probe.form == "operators" and f.verdict != "right" for op in _names(f.probe)})


def _short(release: str) -> str:
    """The first two numbers of a release; further ones seldom matter."""
    return ".".join(release.split(".")[:2])


def _right_from_first(found: Iterable[Finding], form: str) -> list[int]:
    """The numbers from the first one that is right up to the one before the next that is not."""
    numbers: list[int] = []
    for finding in found:
        if finding.probe.form != form:
            continue
        if finding.verdict == "right":
            assert isinstance(finding.probe.about, int)
            numbers.append(finding.probe.about)
        elif numbers:
            break
    return numbers


def _quirks(found: Iterable[Finding]) -> Iterable[tuple[str, Effect, list[str]]]:
    groups: dict[tuple[str, Effect], list[str]] = {}
    for finding in found:
        if finding.verdict != "right" and finding.probe.form not in NO_FORMS:
            groups.setdefault((finding.probe.form, _EFFECTS[finding.verdict]), []).extend(_names(finding.probe))
    for (form, effect), operators in groups.items():
        yield form, effect, sorted(set(operators))


def _names(probe: Probe) -> tuple[str, ...]:
    return probe.about if isinstance(probe.about, tuple) else (str(probe.about),)


def as_table(findings: Findings) -> Iterable[tuple[str, str, str, str]]:
    """A row for each probe: the form, the operator or number, the verdict, the reason."""
    for finding in findings.found:
        yield finding.probe.form, ", ".join(_names(finding.probe)), finding.verdict, finding.reason
