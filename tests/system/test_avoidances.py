"""A sample of the models that have a form which a runtime gets wrong. The long form is `tests/fuzz/avoidances.py`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import avoidances
import numpy as np
import pytest
from avoidances import FINDINGS, OUTCOMES, Form, explore, forms
from enumeration import NOT_ENUMERATED, versions

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version
from split_rewrite.rewriter.engine.registry import EVERY_OPERATOR, registry
from split_rewrite.rewriter.runtimes.probe_models import probes
from split_rewrite.rewriter.runtimes.probing import NO_FORMS

SAMPLE = 40
"""Forms with an operator, of each of which a few models of one version are tried."""
ALWAYS = ("Pad by negative numbers", "Softmax before opset 13, axis not last", "Reduce over three axes or more", "Shrink")
"""Forms that are tried besides, because types and lengths decide in their rules."""


def _form(name: str, op_type: str) -> Form:
    return next(form for form in forms() if form[:2] == (name, op_type))


def _newest(form: Form) -> int:
    return versions()[form.op_type][-1]


def test_a_sample_is_right_or_refused() -> None:
    chance = Random(0)
    everything = list(forms())
    chosen = [*chance.sample(everything, SAMPLE), *(form for form in everything if form.name in ALWAYS)]
    pairs = [(form, chance.choice([each for each in versions()[form.op_type] if each >= 7] or [_newest(form)])) for form in chosen]
    findings = [finding for form, version in pairs for finding in explore(form, version, seed=0, limit=2)]
    assert [finding for finding in findings if finding.outcome in FINDINGS] == []
    assert sum(finding.outcome == "equal" for finding in findings) > SAMPLE / 2


def test_every_avoidance_is_tried() -> None:
    found = {(form.name, form.op_type) for form in forms()}
    for rule in registry:
        if rule.kind == "avoid":
            is_left_out = rule.op_type == EVERY_OPERATOR or rule.op_type in NOT_ENUMERATED
            assert is_left_out or (rule.form, rule.op_type) in found


@pytest.mark.parametrize(
    ("name", "op_type", "version", "outcomes"),
    [
        ("Pad by negative numbers", "Pad", 13, {"equal", "refused", "not applied"}),
        ("Div of integers", "Div", 14, {"refused", "not applied"}),
        ("Squeeze axes computed at run time", "Squeeze", 13, {"equal", "refused", "not applied"}),
    ],
)
def test_what_becomes_of_models(name: str, op_type: str, version: int, outcomes: set[str]) -> None:
    found = {finding.outcome for finding in explore(_form(name, op_type), version, seed=0, limit=20)}
    assert found - {"unjudged"} == outcomes
    assert found <= {*OUTCOMES}


def test_lengths_of_open_dimensions_are_tried() -> None:
    form = _form("Pad by negative numbers", "Pad")
    tried = avoidances.cases_of(form, 13, 0, 40)
    case = next(case for case in tried if case.choice["dims"] == "symbolic" and np.size(case.feeds.get("x0", ())))
    lengths = {length for feeds in avoidances.other_feeds(case) for length in feeds["x0"].shape}
    assert {0, 1} <= lengths


def test_a_rule_that_errs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less with its operands swapped is Greater, and not LessOrEqual."""
    right = avoidances.convert_version

    def as_less_or_equal(*arguments: object, **options: object) -> object:
        result = right(*arguments, **options)  # type: ignore[arg-type]
        result.model.graph.node[-1].op_type = "GreaterOrEqual"
        return result

    monkeypatch.setattr(avoidances, "convert_version", as_less_or_equal)
    assert "wrong" in {finding.outcome for finding in explore(_form("Less", "Less"), 13, seed=0, limit=10)}


QUIRK = """
[[quirk]]
form = "{}"
effect = "wrong"
evidence = "tried"
"""


def test_rules_do_not_follow_each_other_for_ever(tmp_path: Path) -> None:
    """For a runtime that gets every form wrong, each probe is written in another form, or refused, in time."""
    profile = tmp_path / "all.toml"
    head = 'title = "All"\n[[release]]\nfrom = "1"\nopset = { min = 7, max = 22 }\nevidence = "tried"\n'
    profile.write_text(head + "".join(QUIRK.format(form) for form in sorted({rule.form for rule in registry if rule.form})))
    for probe in probes():
        if probe.form not in NO_FORMS:
            with suppress(UnconvertibleError):
                convert_version(probe.model, compare="off", timeout=20, options=Options(for_runtimes=[str(profile)]))
