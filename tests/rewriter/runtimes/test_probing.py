"""Probes: a runtime that is wrong, refuses, crashes or hangs is a line each; what was found is a profile that --for reads."""

from __future__ import annotations

from pathlib import Path

import fake_adapters
import numpy as np
import pytest
from helpers import command_line, model

from split_rewrite.rewriter import SplitRewriteError
from split_rewrite.rewriter.engine.registry import registry
from split_rewrite.rewriter.execution.other_runtimes import Target
from split_rewrite.rewriter.runtimes.naming import find_profile
from split_rewrite.rewriter.runtimes.probe_models import Probe, probes
from split_rewrite.rewriter.runtimes.probing import Finding, Findings, as_toml, probe_runtime

RELU = model("agraph (float[2] x) => (float[2] y) { y = Relu(x) }", 13)
INPUT = [np.array([-1, 2], np.float32)]


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(fake_adapters.__file__).parent)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("probe",), "name a RUNTIME, or --adapter MODULE:CLASS."),
        (
            ("probe", "opnvino"),
            "'opnvino' is not a runtime that can be run from here; did you mean 'openvino'? (these can: onnxruntime, openvino, opencv, mnn, ncnn, tract, tinygrad; or name a class",
        ),
        (
            ("probe", "--adapter", "nowhere:Npu"),
            "the adapter 'nowhere:Npu' cannot be used: ModuleNotFoundError: No module named 'nowhere'",
        ),
        (("probe", "mnn", "--python", "/nowhere/python"), "--python /nowhere/python: No such file or directory"),
    ],
)
def test_what_cannot_be_probed_is_told_in_a_line(arguments: tuple[str, ...], message: str) -> None:
    ended = command_line(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {message}") and ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("adapter", "seconds", "reason"),
    [
        ("Crash", 60, "ended by signal 11"),
        ("Refuse", 60, "RuntimeError: first line no Relu here"),
        ("Hang", 3, "not finished within 3 s"),
    ],
)
def test_a_runtime_that_runs_nothing_is_told_in_a_line(adapter: str, seconds: int, reason: str) -> None:
    """At once where it hangs: nobody waits for each of the models."""
    with pytest.raises(SplitRewriteError) as caught:
        probe_runtime(Target(f"fake_adapters:{adapter}", seconds=seconds))
    assert str(caught.value) == f"fake_adapters:{adapter} runs no model, not even one of a single node: {reason}"


def test_there_is_a_probe_for_each_form_but_those_that_need_a_run_time_input() -> None:
    forms = {rule.form for rule in registry if rule.kind == "avoid"}
    probed = {probe.form for probe in probes()}
    unprobed = {"Operator on constants", "Reduce axes computed at run time", "Squeeze axes computed at run time"}
    assert forms - probed == unprobed | {"Split sizes computed at run time"}
    assert len(list(probes())) >= 140


def findings(*wrong: str) -> Findings:
    """Opsets from 8 to 17 and IR versions to 9 are right, and `wrong` forms are wrong."""

    def verdict(probe: Probe) -> str:
        if probe.form == "opset":
            return "right" if 8 <= probe.about <= 17 else "refused"
        if probe.form == "ir_version":
            return "right" if probe.about <= 9 else "crash"
        return "wrong" if probe.form in wrong else "refused" if "SequenceAt" in str(probe.about) else "right"

    return Findings("1.4.2", tuple(Finding(probe, verdict(probe)) for probe in probes()))


def test_findings_are_a_profile_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(as_toml("npu", findings("Negative index", "Round")), encoding="utf-8")
    profile = find_profile(str(path))
    assert (profile.title, profile.facts.opset[:2], profile.facts.ir_max) == ("npu 1.4", (8, 17), 9)
    assert "SequenceAt" in profile.facts.operators_refused
    assert {quirk.form for quirk in profile.quirks} == {"Negative index", "Round"}
    assert not profile.facts.functions_refused
    assert all(quirk.evidence == "by probe of 1.4.2" for quirk in profile.quirks)


def test_forms_of_an_operator_that_is_not_taken_are_no_quirks(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    none = {"OneHot", ("OneHot",), 1}
    found = tuple(Finding(probe, "refused" if probe.about in none else "right") for probe in probes())
    path.write_text(as_toml("npu", Findings("1.4.2", found)), encoding="utf-8")
    profile = find_profile(str(path))
    assert (profile.facts.operators_refused, profile.quirks) == ({"OneHot"}, ())
    assert profile.facts.functions_refused


def test_a_profile_of_an_onnxruntime_is_what_its_documentation_says(tmp_path: Path) -> None:
    """Opset 7 to 17 and IR version up to 8, which is what it says of 1.13, no layout of 1, which no release takes, and nothing else."""

    def is_taken(p: Probe) -> bool:
        if p.form in ("opset", "ir_version"):
            return p.about <= {"opset": 17, "ir_version": 8}[p.form]
        return p.form != "Recurrent operator with the batch first"

    found = tuple(Finding(p, "right" if is_taken(p) else "refused") for p in probes())
    path = tmp_path / "onnxruntime.toml"
    path.write_text(as_toml("onnxruntime", Findings("1.13.1", found)), encoding="utf-8")
    probed, documented = find_profile(str(path)), find_profile("onnxruntime-1.13")
    assert (probed.name, probed.facts.opset, probed.facts.ir_max) == (
        documented.name,
        documented.facts.opset,
        documented.facts.ir_max,
    )
    quirks = [[(quirk.form, quirk.effect) for quirk in profile.quirks] for profile in (probed, documented)]
    assert quirks[0] == quirks[1] == [("Recurrent operator with the batch first", "refused")]
    assert probed.facts.operators_refused == documented.facts.operators_refused
